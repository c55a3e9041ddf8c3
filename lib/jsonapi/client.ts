import { Failure } from '../errors.ts'
import { abortable, type Signal } from '../http/aborter.ts'
import { callOf, type Caller } from '../http/calls.ts'
import { upstream, type Http } from '../http/client.ts'
import type { HttpAnswer } from '../http/exchange.ts'
import { isJson, JSONAPI } from '../http/media-type.ts'
import { createSingleFlight } from '../http/single-flight.ts'
import type { Account } from './accounts.ts'
import { hasSession, readKey, sessionCookies } from './credentials.ts'
import { documentIn, type Document } from './document.ts'
import { createDocuments } from './documents.ts'

export interface JsonapiRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PATCH'
  /** Below the JSON:API prefix, percent-encoded, such as `/node/article`; empty for the entry point. */
  path: string
  query?: Iterable<readonly [string, string]>
  body?: Document | object
  caller: Caller
  /** What Drupal is to answer in instead of the caller's language, if not undefined. */
  language?: string | undefined
}

export interface JsonapiAnswer {
  /** 200 to 299, or 400 to 499. */
  status: number
  document: Document
  /** The CMS's `WWW-Authenticate`, of a 401. */
  challenge?: string
  /** The session cookies that the CMS sets or takes back, as `Set-Cookie` has them. */
  cookies?: string[]
}

export interface Jsonapi {
  /**
   * One request to the CMS. A refusal (4xx with a JSON:API document) is an answer like any other. Reads of one caller for
   * the same at the same time are one request with one answer, and where what he reads again has not changed, the
   * document is one object (documents.ts): neither is to be changed. It counts for the caller's call (calls.ts) and ends with
   * it; a write that was sent does not.
   * @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (503 and 429, and where the circuit breaker let
   *   nothing through), CMS_FAILED (other 5xx), CMS_INVALID_RESPONSE (redirects, HTML, broken JSON, too much of it). Their
   *   messages hold nothing that the CMS said.
   */
  request (request: JsonapiRequest): Promise<JsonapiAnswer>
}

export interface JsonapiOptions {
  http: Http
  /** Path of JSON:API below the address of the CMS, such as `/jsonapi`. */
  jsonapiPath: string
  /** The service account that all requests are made with, if any. */
  account?: Account
  /** Given the session cookies that an answer has for a caller who came with a cookie. */
  renewed?: (caller: Caller, cookies: string[]) => void
}

const RETRY_AFTER_SECONDS = '30'
/** RFC 9110 section 10.2.3: seconds, or a date. */
const RETRY_AFTER = /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{17,24} GMT)$/

/** A client of Drupal's JSON:API. */
export function createJsonapi ({ http, jsonapiPath, account, renewed }: JsonapiOptions): Jsonapi {
  const reads = createSingleFlight<JsonapiAnswer>()
  const documents = createDocuments()

  async function request ({ method = 'GET', path, query = [], body, caller, language }: JsonapiRequest): Promise<JsonapiAnswer> {
    const parameters = new URLSearchParams([...query] as Array<[string, string]>).toString()
    const target = jsonapiPath + path + (parameters && `?${parameters}`)
    const key = method === 'GET' ? readKey(target, caller) : undefined
    const call = callOf(caller)
    call?.spend()
    const answer = key === undefined ? await ask(call?.waiting).finally(written) : await reads.share(key, ask, call?.signal)
    // Callers without one may share this answer, whoever they are: none of them is given what would be the session of all.
    if (answer.cookies && hasSession(caller)) renewed?.(caller, answer.cookies)
    return answer

    /** @param signal of who waits; once a write is sent it is not heeded any more */
    async function ask (signal: Signal | undefined): Promise<JsonapiAnswer> {
      if (signal?.aborted) throw signal.reason
      if (!account) return answerOf(await send({}, signal), documentOf)
      const credentials = await abortable(account.credentials(), signal)
      const answer = await send(credentials, signal)
      // A refused request has changed nothing, so it can be made again with credentials that are not worn out.
      const isRefused = answer.status === 401 || answer.status === 403
      if (!isRefused || !await abortable(account.renew(credentials, answer.status), signal)) return answerOf(answer, documentOf)
      const renewed = await abortable(account.credentials(), signal)
      call?.retry()
      return answerOf(await send(renewed, signal), documentOf)
    }

    function written (): void {
      reads.forgetAll()
      call?.endWrite()
    }

    function documentOf (body: Buffer): Document | undefined {
      return key === undefined ? documentIn(body) : documents.read(key, body)
    }

    function send (credentials: Record<string, string>, signal: Signal | undefined): Promise<HttpAnswer> {
      return http.send({
        method,
        path: target,
        headers: { ...caller, ...(language !== undefined && { 'accept-language': language }), ...credentials, accept: JSONAPI, ...(body && { 'content-type': JSONAPI }) },
        ...(body && { body: JSON.stringify(body) }),
        ...(method === 'GET' ? { repeatable: true, repeated: call?.retry, signal } : { isWrite: true })
      })
    }
  }

  return { request }
}

/** @param read gives the document in a body, if there is one */
function answerOf ({ status, headers, body }: HttpAnswer, read: (body: Buffer) => Document | undefined): JsonapiAnswer {
  if (status === 503 || status === 429) {
    const retryAfter = String(headers['retry-after'])
    throw new Failure('CMS_UNAVAILABLE', 'The CMS takes no requests at the moment (maintenance or overload); try again later', {
      headers: { 'retry-after': RETRY_AFTER.test(retryAfter) ? retryAfter : RETRY_AFTER_SECONDS },
      cause: Object.assign(upstream(status, body), { isDrupals: isJson(headers) })
    })
  }
  if (status >= 500) throw new Failure('CMS_FAILED', 'The CMS failed to answer', { cause: upstream(status, body) })
  const document = (status < 300 || status >= 400) && isJson(headers) ? read(body) : undefined
  if (!document || (status < 300 && document.data === undefined)) {
    throw new Failure('CMS_INVALID_RESPONSE', "The CMS answered something that is not JSON:API; are CMS_URL and CMS_JSONAPI_PATH right and is Drupal's module jsonapi on?", {
      cause: Object.assign(upstream(status, body), { location: headers.location })
    })
  }
  const challenge = headers['www-authenticate']
  const cookies = sessionCookies(headers)
  return { status, document, ...(challenge !== undefined && { challenge: [challenge].flat().join(', ') }), ...(cookies.length > 0 && { cookies }) }
}
