import { Failure, texts } from '../errors.ts'
import { abortable, type Signal } from '../http/aborter.ts'
import { LARGE_ANSWER } from '../http/answer-memory.ts'
import { callOf, type Caller } from '../http/calls.ts'
import { upstream, type Http, type HttpRequest } from '../http/client.ts'
import { isJson, JSONAPI, type HttpAnswer } from '../http/exchange.ts'
import { createSingleFlight } from '../http/single-flight.ts'
import type { Account } from './accounts.ts'
import { hasSession, readKey, sessionCookies } from './credentials.ts'
import { documentIn, weightOf, type Document } from './document.ts'
import { createDocuments } from './documents.ts'
import { notJsonapi } from './foreign.ts'
import { createLanguages } from './languages.ts'
import { restAfter } from '../slices.ts'
import { tellRefusal, type RefusalListener } from './refusals.ts'

export interface JsonapiRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PATCH'
  /** Below the JSON:API prefix, percent-encoded, such as `/node/article`; empty for the entry point. */
  path: string
  query?: Iterable<readonly [string, string]>
  body?: Document | object
  caller: Caller
  /** The language that Drupal is to answer in, instead of the caller's. Its prefix goes into the path, where the site has prefixes. */
  language?: string | undefined
  /** Of a read: whether it has to begin now, rather than share one that is under way. */
  isFresh?: boolean
}

export interface JsonapiAnswer {
  /** 200 to 299, or 400 to 499. */
  status: number
  document: Document
  /** The CMS's `WWW-Authenticate`, of a 401. */
  challenge?: string
  /** How many bytes it came in, or more where it has many short values. */
  bytes?: number
  /** Whether this request went under the prefix of another language, where Drupal may show other entities too. */
  isElsewhere?: boolean
  /** The session cookies that the CMS sets, as `Set-Cookie` has them. */
  cookies?: string[]
}

export interface Jsonapi {
  /**
   * Sends one request to the CMS. A refusal (4xx with a JSON:API document) is an answer like any other.
   *
   * Reads by one caller of the same target at the same time are one request with one answer. As long as the CMS answers with
   * the same bytes, the document is the same object (documents.ts). Neither must be changed. A request counts for the caller's
   * call (lib/http/calls.ts) and ends with it, except a write that was sent.
   * @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (503 and 429, and where the circuit breaker let
   *   nothing through), CMS_FAILED (other 5xx), CMS_INVALID_RESPONSE (redirects, HTML, broken JSON, too large). Their
   *   messages have no text of the CMS, except for the title of a page.
   */
  request(request: JsonapiRequest): Promise<JsonapiAnswer>
}

export interface JsonapiOptions {
  http: Http
  /** Path of JSON:API below the address of the CMS, such as `/jsonapi`. */
  jsonapiPath: string
  /** The languages of the site and their prefixes in paths, if they are known. */
  languages?: Readonly<Record<string, string>> | undefined
  /** The service account that makes all requests, if there is one. */
  account?: Account
  /** Called with the session cookies of an answer to a caller who has a session. */
  onRenewal?: (caller: Caller, cookies: string[]) => void
  /** Told of every refusal that the CMS answers with, also of the service account. */
  onRefusal?: RefusalListener | undefined
}

const RETRY_AFTER_SECONDS = '30'
/** RFC 9110 section 10.2.3: seconds, or a date. */
const RETRY_AFTER = /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{17,24} GMT)$/

/** A client of Drupal's JSON:API. */
export function createJsonapi({
  http,
  jsonapiPath,
  languages: prefixes,
  account,
  onRenewal,
  onRefusal = () => {}
}: JsonapiOptions): Jsonapi {
  const languages = createLanguages(jsonapiPath, prefixes)
  const reads = createSingleFlight<JsonapiAnswer>()
  const documents = createDocuments()
  let loginRefusal: Failure | undefined

  async function request(request: JsonapiRequest): Promise<JsonapiAnswer> {
    const { method = 'GET', path, caller } = request
    const answer = await exchange(request).catch((error: Failure) => {
      // In the pause after it every request gets the same failure.
      if (error.code === 'CMS_LOGIN_REFUSED' && error !== loginRefusal) onRefusal(caller)
      if (error.code === 'CMS_LOGIN_REFUSED') loginRefusal = error
      throw error
    })
    tellRefusal({ method, path, caller, status: answer.status }, onRefusal)
    return answer
  }

  async function exchange({
    method = 'GET',
    path,
    query = [],
    body,
    caller,
    language,
    isFresh
  }: JsonapiRequest): Promise<JsonapiAnswer> {
    const parameters = new URLSearchParams([...query] as Array<[string, string]>).toString()
    const place = path + (parameters && `?${parameters}`)
    const root = language === undefined ? jsonapiPath : languages.pathOf(language)
    const target = root + place
    let isElsewhere = root !== jsonapiPath
    const key = method === 'GET' ? readKey(target, caller) : undefined
    const call = callOf(caller)
    call?.spend()
    const answer =
      key === undefined
        ? await ask(call?.waiting).finally(endWrite)
        : await (isFresh ? ask(call?.signal) : reads.share(key, ask, call?.signal))
    if (answer.bytes! >= LARGE_ANSWER) call?.take(answer.bytes!)
    // Callers without a session may share an answer. None of them gets its cookies, which would make one session of all.
    if (answer.cookies && hasSession(caller)) onRenewal?.(caller, answer.cookies)
    return isElsewhere ? { ...answer, isElsewhere } : answer

    /** @param signal aborts the wait; a write that was sent goes on */
    async function ask(signal: Signal | undefined): Promise<JsonapiAnswer> {
      if (signal?.aborted) throw signal.reason
      let credentials = account && (await abortable(account.credentials(), signal))
      let answer = await send(credentials, signal)
      const isRefused = answer.status === 401 || answer.status === 403
      if (
        credentials &&
        isRefused &&
        (await abortable(account!.renew(credentials, answer.status), signal))
      ) {
        // A refused request has changed nothing, so it can be sent again with new credentials.
        credentials = await abortable(account!.credentials(), signal)
        call?.retry()
        answer = await send(credentials, signal)
      }
      const parsed = answerOf(answer, key, { ...caller, ...credentials })
      // Before the calls that share it go on, which keeps them in their order: the first of them asks for what comes next.
      await restAfter(parsed.bytes)
      return parsed
    }

    function endWrite(): void {
      reads.forgetAll()
      call?.endWrite()
    }

    /** Sends it, and once more under another path where Drupal refuses to save it under that one. */
    async function send(
      credentials: Record<string, string> | undefined,
      signal: Signal | undefined
    ): Promise<HttpAnswer> {
      const message: HttpRequest = {
        method,
        path: target,
        headers: {
          ...caller,
          ...(language !== undefined && { 'accept-language': language }),
          ...credentials,
          accept: JSONAPI,
          ...(body && { 'content-type': JSONAPI })
        },
        ...(body && { body: JSON.stringify(body) }),
        take: method === 'GET' ? call?.take : call?.takeOutcome,
        free: call?.free,
        ...(method === 'GET'
          ? { repeatable: true, onRetry: call?.retry, signal }
          : { isWrite: true })
      }
      const answer = await http.send(message)
      const guess =
        answer.status === 405
          ? languages.guess(language, documentIn(answer.body)?.errors)
          : undefined
      if (guess === undefined) return answer
      call?.retry()
      const second = await http.send({ ...message, path: guess + place })
      const isNoPath = !isJson(second.headers) && second.status >= 300 && second.status < 500
      if (isNoPath) return answer
      languages.learn(language, guess)
      isElsewhere = true
      return second
    }
  }

  /**
   * @param key of a read, whose document may be one that came before
   * @param sent the header fields of the request
   */
  function answerOf(answer: HttpAnswer, key: string | undefined, sent: object): JsonapiAnswer {
    const { status, headers, body } = answer
    if (status === 503 || status === 429) {
      const retryAfter = String(headers['retry-after'])
      throw new Failure('CMS_UNAVAILABLE', texts.cmsUnavailable, {
        headers: { 'retry-after': RETRY_AFTER.test(retryAfter) ? retryAfter : RETRY_AFTER_SECONDS },
        cause: Object.assign(upstream(status, body), { isDrupals: isJson(headers) })
      })
    }
    if (status >= 500) {
      throw new Failure('CMS_FAILED', texts.cmsFailed, { cause: upstream(status, body) })
    }
    const isDocument = (status < 300 || status >= 400) && isJson(headers)
    const document = !isDocument
      ? undefined
      : key === undefined
        ? documentIn(body)
        : documents.read(key, body)
    if (!document || (status < 300 && document.data === undefined)) throw notJsonapi(answer, sent)
    const challenge = headers['www-authenticate']
    const cookies = headers['set-cookie'] && sessionCookies(headers)
    return {
      status,
      document,
      bytes: weightOf(document),
      ...(challenge !== undefined && { challenge: [challenge].flat().join(', ') }),
      ...(cookies && cookies.length > 0 && { cookies })
    }
  }

  return { request }
}
