import type { IncomingHttpHeaders } from 'node:http'
import Pool from 'undici/lib/dispatcher/pool.js'
import { abortable, type Signal } from '../http/aborter.ts'
import { Failure, type FailureCode } from '../errors.ts'
import { exchange } from '../http/exchange.ts'
import type { Observe } from '../observe.ts'
import type { Account } from './accounts.ts'
import { createBreaker, type Breaker } from '../http/breaker.ts'
import { callOf } from '../http/calls.ts'
import { hasSession, readKey, sessionCookies, type Caller } from './credentials.ts'
import { documentIn, textOf, type Document } from './document.ts'
import { createDocuments } from './documents.ts'
import { createFlights } from '../http/single-flight.ts'
import { isJson, JSONAPI } from '../http/media-type.ts'
import { observed } from '../http/observed.ts'
import { twice } from '../http/retry-once.ts'

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

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH'
  /** Below the address of the CMS, with the query. */
  path: string
  headers: Record<string, string>
  body?: string
  /** Whether it may be sent a second time; never a write, nor what tries a password out. */
  repeatable?: boolean
  /** Whether it changes something, so that it is counted among the writes (breaker.ts). */
  isWrite?: boolean
  /** Called when it is sent a second time. */
  repeated?: (() => void) | undefined
  /** Ends it when nobody waits for it any more. */
  signal?: Signal | undefined
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** HTTP to the CMS. */
export interface Http {
  /** @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (not sent), CMS_INVALID_RESPONSE (too large). */
  send (request: HttpRequest): Promise<HttpAnswer>
  close (): Promise<void>
}

export interface HttpOptions {
  /** Origin, with a path if Drupal lives under one; no slash at the end. */
  url: string
  /** Deadline of a whole call, a second try included, in milliseconds. */
  timeoutMs: number
  breaker?: Breaker
  /** Hears of every request that is sent, second tries included. */
  observe?: Observe
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

const LARGEST_BODY = 16 * 1024 * 1024
const RETRY_AFTER_SECONDS = '30'
/** RFC 9110 section 10.2.3: seconds, or a date. */
const RETRY_AFTER = /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{17,24} GMT)$/

/** A connection pool to the CMS. Nothing connects before the first request; redirects are not followed. */
export function createHttp ({ url, timeoutMs, breaker = createBreaker(), observe }: HttpOptions): Http {
  const { origin, pathname } = new URL(url)
  const base = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    connections: 64,
    // Sooner than the deadline, so that it is known of a write that it was not sent.
    connect: { timeout: timeoutMs / 2 },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: LARGEST_BODY
  })

  async function send (request: HttpRequest): Promise<HttpAnswer> {
    const deadline = performance.now() + timeoutMs
    const once = (request: HttpRequest) => told(request, deadline - performance.now())
    return breaker.run(() => {
      // What tries out a CMS that has failed is one request, which tells even if nobody waits for it any more.
      if (breaker.state() !== 'closed') return once({ ...request, signal: undefined })
      return request.repeatable ? twice(() => once(request), deadline, request.repeated) : once(request)
    }, request.isWrite)
  }

  async function sendOnce ({ method, path, headers: fields, body: content, signal }: HttpRequest, ms: number): Promise<HttpAnswer> {
    try {
      const { statusCode, headers, body } = await exchange(pool, { method, path: base + path, headers: fields, body: content ?? null }, { ms, signal })
      return { status: statusCode, headers, body }
    } catch (error) {
      throw transportFailure(error, timeoutMs)
    }
  }

  const told = observe ? observed(sendOnce, observe) : sendOnce
  return { send, close: () => pool.destroy() }
}

/** A client of Drupal's JSON:API. */
export function createJsonapi ({ http, jsonapiPath, account, renewed }: JsonapiOptions): Jsonapi {
  const reads = createFlights<JsonapiAnswer>()
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
      reads.part()
      call?.written()
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

/** In so many characters at the start of an answer its title is looked for. */
const HEAD = 10_000

/** What the CMS said, for the log: the title of the page or of the error alone, since the rest may repeat what was asked or sent. */
export function upstream (status: number, body: Buffer): Error {
  const text = textOf(body)
  const [, title = `${text.length} characters`] = /(?:<title[^>]*>|"errors":\s*\[\s*\{\s*"title":\s*")\s*([^<"]{1,200})/i.exec(text.slice(0, HEAD)) ?? []
  return Object.assign(new Error(`the CMS answered ${status}: ${title.trim()}`), { status })
}

/** Whether a failure says that the CMS is away, slow or failing (5xx), rather than that it refuses or is not understood. */
export function isDown (error: unknown): error is Failure {
  return error instanceof Failure && DOWN.includes(error.code) && (error.cause as { status?: number } | undefined)?.status !== 429
}

const DOWN: readonly FailureCode[] = ['CMS_TIMEOUT', 'CMS_UNREACHABLE', 'CMS_FAILED', 'CMS_UNAVAILABLE']
const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])
const TOO_LARGE = new Set(['UND_ERR_RES_EXCEEDED_MAX_SIZE', 'UND_ERR_HEADERS_OVERFLOW'])

function transportFailure (error: unknown, timeoutMs: number): Failure {
  const { name, code = '', cause } = error as NodeJS.ErrnoException
  for (const reason of [error, cause]) if (reason instanceof Failure) return reason
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new Failure('CMS_TIMEOUT', `The CMS did not accept a connection within ${timeoutMs / 2} ms`, { cause: error })
  if (code === 'NOT_SENT') return new Failure('CMS_TIMEOUT', `No connection to the CMS was free within ${timeoutMs} ms`, { cause: error })
  if (name === 'TimeoutError' || TIMEOUTS.has(code)) {
    return new Failure('CMS_TIMEOUT', `The CMS did not answer within ${timeoutMs} ms`, { cause: error })
  }
  if (TOO_LARGE.has(code)) return new Failure('CMS_INVALID_RESPONSE', 'The CMS answered with more than is taken', { cause: error })
  return new Failure('CMS_UNREACHABLE', 'The CMS could not be reached', { cause: error })
}
