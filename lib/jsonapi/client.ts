import { Pool, type Dispatcher } from 'undici'
import { Failure } from '../errors.ts'
import type { Caller } from './credentials.ts'
import { isObject, type Document } from './document.ts'

export interface JsonapiRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PATCH'
  /** Below the JSON:API prefix, percent-encoded, such as `/node/article`; empty for the entry point. */
  path: string
  query?: Iterable<readonly [string, string]>
  body?: Document | object
  caller: Caller
}

export interface JsonapiAnswer {
  /** 200 to 299, or 400 to 499. */
  status: number
  document: Document
  /** The CMS's `WWW-Authenticate`, of a 401. */
  challenge?: string
}

export interface Jsonapi {
  /**
   * One request to the CMS. A refusal (4xx with a JSON:API document) is an answer like any other.
   * @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (503 and 429), CMS_FAILED (other 5xx),
   *   CMS_INVALID_RESPONSE (redirects, HTML, broken JSON). Their messages hold nothing that the CMS said.
   */
  request (request: JsonapiRequest): Promise<JsonapiAnswer>
  close (): Promise<void>
}

export interface JsonapiOptions {
  /** Origin, with a path if Drupal lives under one; no slash at the end. */
  url: string
  /** Path of JSON:API below it, such as `/jsonapi`. */
  jsonapiPath: string
  /** Deadline of a whole call, in milliseconds. */
  timeoutMs: number
}

const MEDIA_TYPE = 'application/vnd.api+json'
const LARGEST_BODY = 64 * 1024 * 1024
const RETRY_AFTER_SECONDS = '30'

/** A client of Drupal's JSON:API. Nothing connects before the first request. */
export function createJsonapi ({ url, jsonapiPath, timeoutMs }: JsonapiOptions): Jsonapi {
  const { origin, pathname } = new URL(url)
  const prefix = pathname.replace(/\/+$/, '') + jsonapiPath
  const pool = new Pool(origin, {
    connections: 64,
    connect: { timeout: timeoutMs },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: LARGEST_BODY
  })

  async function request ({ method = 'GET', path, query = [], body, caller }: JsonapiRequest): Promise<JsonapiAnswer> {
    const parameters = new URLSearchParams([...query] as Array<[string, string]>).toString()
    try {
      const response = await pool.request({
        method,
        path: prefix + path + (parameters && `?${parameters}`),
        headers: { ...caller, accept: MEDIA_TYPE, ...(body && { 'content-type': MEDIA_TYPE }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs)
      })
      return answerOf(response, await response.body.text())
    } catch (error) {
      throw error instanceof Failure ? error : transportFailure(error, timeoutMs)
    }
  }

  return { request, close: () => pool.destroy() }
}

function answerOf ({ statusCode: status, headers }: Dispatcher.ResponseData, text: string): JsonapiAnswer {
  if (status === 503 || status === 429) {
    const retryAfter = headers['retry-after']
    throw new Failure('CMS_UNAVAILABLE', 'The CMS takes no requests at the moment (maintenance or overload); try again later', {
      headers: { 'retry-after': typeof retryAfter === 'string' ? retryAfter : RETRY_AFTER_SECONDS },
      cause: upstream(status, text)
    })
  }
  if (status >= 500) throw new Failure('CMS_FAILED', 'The CMS failed to answer', { cause: upstream(status, text) })
  const document = status < 300 || status >= 400 ? parse(mediaType(headers['content-type']), text) : undefined
  if (!document) {
    throw new Failure('CMS_INVALID_RESPONSE', "The CMS answered something that is not JSON:API; are CMS_URL and CMS_JSONAPI_PATH right and is Drupal's module jsonapi on?", {
      cause: upstream(status, text)
    })
  }
  const challenge = headers['www-authenticate']
  return { status, document, ...(typeof challenge === 'string' && { challenge }) }
}

function parse (mediaType: string, text: string): Document | undefined {
  if (mediaType !== MEDIA_TYPE && mediaType !== 'application/json') return undefined
  try {
    const document: unknown = JSON.parse(text)
    return isObject(document) ? document : undefined
  } catch {
    return undefined
  }
}

function mediaType (contentType: string | string[] | undefined): string {
  return String(contentType).split(';', 1)[0]!.trim().toLowerCase()
}

/** What the CMS said, for the log. */
function upstream (status: number, text: string): Error {
  return new Error(`the CMS answered ${status}: ${text.slice(0, 1000)}`)
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

function transportFailure (error: unknown, timeoutMs: number): Failure {
  const { name, code = '' } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError' || TIMEOUTS.has(code)) {
    return new Failure('CMS_TIMEOUT', `The CMS did not answer within ${timeoutMs} ms`, { cause: error })
  }
  return new Failure('CMS_UNREACHABLE', 'The CMS could not be reached', { cause: error })
}
