import { Failure, texts } from '../errors.ts'
import { abortable, type Signal } from '../http/aborter.ts'
import { LARGE_ANSWER } from '../http/answer-memory.ts'
import type { Budget, Caller, CallerHeaders } from '../http/calls.ts'
import { upstream, type Http, type HttpRequest } from '../http/client.ts'
import { isJson, JSONAPI, type HttpAnswer } from '../http/exchange.ts'
import { createSingleFlight, type SingleFlight } from '../http/single-flight.ts'
import { restAfter } from '../slices.ts'
import type { Account } from './accounts.ts'
import { hasSession, readKey, sessionCookies } from './credentials.ts'
import { documentIn, weightOf, type Document } from './document.ts'
import { createDocuments, type Documents } from './documents.ts'
import { notJsonapi } from './foreign.ts'
import { createLanguages, type Languages } from './languages.ts'
import { createDrupalModule, type DrupalModule } from './module.ts'
import { tellRefusal, type RefusalListener } from './refusals.ts'

export interface JsonapiRequest {
  /** Default GET. */
  method?: 'GET' | 'POST' | 'PATCH'
  /**
   * Below the JSON:API prefix, percent-encoded, such as `/node/article`; empty for the entry point.
   */
  path: string
  query?: Iterable<readonly [string, string]>
  body?: Document | object
  caller: Caller
  /**
   * The language that Drupal is to answer in, instead of the caller's. Its prefix goes into the
   * path, where the site has prefixes.
   */
  language?: string | undefined
  /**
   * Of a PATCH: the revision that it may be saved over. Only Quoin's module compares it, and answers
   * 412 where another one is the latest.
   */
  revision?: number | undefined
  /** Of a PATCH: references to what is gone that its lists keep, for Quoin's module. */
  keptReferences?: string | undefined
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
  /**
   * Whether this request went under the prefix of another language, where Drupal may show other
   * entities too.
   */
  isElsewhere?: boolean
  /** The session cookies that the CMS sets, as `Set-Cookie` has them. */
  cookies?: string[]
}

export interface Jsonapi {
  /**
   * Sends one request to the CMS. A refusal (4xx with a JSON:API document) is an answer like any
   * other.
   *
   * Reads by one caller of the same target at the same time are one request with one answer. As
   * long as the CMS answers with the same bytes, the document is the same object (documents.ts).
   * Neither must be changed. A request counts for the caller's call (lib/http/calls.ts) and ends
   * with it, except a write that was sent.
   * @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (503 and 429, and where the
   *   circuit breaker let nothing through), CMS_FAILED (other 5xx), CMS_INVALID_RESPONSE
   *   (redirects, HTML, broken JSON, too large). Their messages have no text of the CMS, except for
   *   the title of a page.
   */
  request(request: JsonapiRequest): Promise<JsonapiAnswer>
  /** What the answers have shown of Quoin's module. */
  module?: DrupalModule
}

/** A client that shares reads among its callers. */
export interface JsonapiClient extends Jsonapi {
  /** Call this when somebody else has saved: no read shares one that began before. */
  forgetReads(): void
}

export interface JsonapiOptions {
  http: Http
  /** Path of JSON:API below the address of the CMS, such as `/jsonapi`. */
  jsonapiPath: string
  /** The languages of the site and their prefixes in paths, if they are known. */
  languages?: Readonly<Record<string, string>> | undefined
  /** The service account that makes all requests, if there is one. */
  account?: Account
  /** Told of every refusal that the CMS answers with, also of the service account. */
  onRefusal?: RefusalListener | undefined
  /** Signs each save, where the CMS is to know by its header field that it comes from here. */
  signSave?: SignSave | undefined
}

/** Signs a save. @param uuid of the entity, where it is known before the save */
export type SignSave = (uuid: string | undefined) => Promise<string>

const RETRY_AFTER_SECONDS = '30'
/** RFC 9110 section 10.2.3: seconds, or a date. */
const RETRY_AFTER = /^(?:\d{1,9}|[A-Z][a-z]{2}, [\w :]{17,24} GMT)$/

/** What requests to Drupal's JSON:API work with. */
interface JsonapiContext {
  http: Http
  jsonapiPath: string
  account: Account | undefined
  languages: Languages
  /** The reads that are under way, by their keys. */
  reads: SingleFlight<JsonapiAnswer>
  documents: Documents
  module: DrupalModule
  onRefusal: RefusalListener
  signSave: SignSave | undefined
  /** The last refusal of the service account that the listener was told of. */
  loginRefusal: Failure | undefined
}

/** A request, and what follows from it for the way it goes. */
interface OutgoingRequest extends JsonapiRequest {
  method: NonNullable<JsonapiRequest['method']>
  /** The path of JSON:API in the language asked for. */
  root: string
  /** The path below it, with the query. */
  place: string
  /** The key of a read (credentials.ts); undefined for a write. */
  key: string | undefined
  /** What the request counts towards. */
  budget: Budget | undefined
  /** The token of a save, for Drupal's module. */
  saveToken?: string
}

/** A client of Drupal's JSON:API. */
export function createJsonapi({
  http,
  jsonapiPath,
  languages,
  account,
  onRefusal = () => {},
  signSave
}: JsonapiOptions): JsonapiClient {
  const context: JsonapiContext = {
    http,
    jsonapiPath,
    account,
    languages: createLanguages(jsonapiPath, languages),
    reads: createSingleFlight(),
    documents: createDocuments(),
    module: createDrupalModule(),
    onRefusal,
    signSave,
    loginRefusal: undefined
  }
  return {
    request: (request) => requestJsonapi(context, request),
    module: context.module,
    forgetReads: context.reads.forgetAll
  }
}

/** Sends one request to the CMS, and tells of a refusal (`Jsonapi`). */
export async function requestJsonapi(
  context: JsonapiContext,
  request: JsonapiRequest
): Promise<JsonapiAnswer> {
  const { method = 'GET', path, caller } = request
  const answer = await exchangeJsonapi(context, request).catch((error: Failure) => {
    tellLoginRefusal(context, caller, error)
    throw error
  })
  tellRefusal({ method, path, caller, status: answer.status }, context.onRefusal)
  return answer
}

/**
 * Tells of a refusal of the service account. In the pause after it every request gets the same
 * failure.
 */
function tellLoginRefusal(context: JsonapiContext, caller: Caller, failure: Failure): void {
  if (failure.code !== 'CMS_LOGIN_REFUSED' || failure === context.loginRefusal) return
  context.onRefusal(caller)
  context.loginRefusal = failure
}

async function exchangeJsonapi(
  context: JsonapiContext,
  request: JsonapiRequest
): Promise<JsonapiAnswer> {
  const outgoing = outgoingOf(context, request)
  const { key, caller, budget } = outgoing
  budget?.spend()
  const answer =
    key === undefined ? await write(context, outgoing) : await read(context, outgoing, key)
  if (answer.bytes! >= LARGE_ANSWER) budget?.take(answer.bytes!)
  // Callers without a session may share an answer. None of them gets its cookies, which would make
  // one session of all.
  if (answer.cookies && hasSession(caller.headers)) caller.onRenewal?.(answer.cookies)
  return answer
}

function outgoingOf(
  { jsonapiPath, languages }: JsonapiContext,
  request: JsonapiRequest
): OutgoingRequest {
  const { method = 'GET', path, query = [], caller, language } = request
  const parameters = new URLSearchParams([...query] as Array<[string, string]>).toString()
  const root = language === undefined ? jsonapiPath : languages.pathOf(language)
  const place = path + (parameters && `?${parameters}`)
  return {
    ...request,
    method,
    root,
    place,
    key: method === 'GET' ? readKey(root + place, caller) : undefined,
    budget: caller.budget
  }
}

/** Reads that begin after the write do not share the answer of one that began before. */
async function write(context: JsonapiContext, request: OutgoingRequest): Promise<JsonapiAnswer> {
  const { budget } = request
  try {
    const saveToken = await context.signSave?.(savedUuid(request))
    const outgoing = { ...request, ...(saveToken !== undefined && { saveToken }) }
    return await ask(context, outgoing, budget?.waiting)
  } finally {
    context.reads.forgetAll()
    budget?.endWrite()
  }
}

/** The uuid of what a write saves. */
function savedUuid({ body }: JsonapiRequest): string | undefined {
  const { data } = body as { data?: { id?: unknown } }
  return typeof data?.id === 'string' ? data.id : undefined
}

function read(
  context: JsonapiContext,
  request: OutgoingRequest,
  key: string
): Promise<JsonapiAnswer> {
  const { budget, isFresh } = request
  if (isFresh) return ask(context, request, budget?.signal)
  return context.reads.share(key, (signal) => ask(context, request, signal), budget?.signal)
}

/**
 * Sends a request with the credentials of the service account, if there is one, and once more where
 * they were refused and others are to be had.
 * @param signal aborts the wait; a write that was sent goes on
 */
async function ask(
  context: JsonapiContext,
  request: OutgoingRequest,
  signal: Signal | undefined
): Promise<JsonapiAnswer> {
  if (signal?.aborted) throw signal.reason
  const { account } = context
  let credentials = account && (await abortable(account.credentials(), signal))
  let answer = await send(context, request, credentials, signal)
  const { status } = answer
  const isRefused = status === 401 || status === 403
  if (credentials && isRefused && (await abortable(account!.renew(credentials, status), signal))) {
    // A refused request has changed nothing, so it can be sent again with new credentials.
    credentials = await abortable(account!.credentials(), signal)
    request.budget?.retry()
    answer = await send(context, request, credentials, signal)
  }
  const parsed = answerOf(context, request, answer, { ...request.caller.headers, ...credentials })
  // Before the calls that share it go on, which keeps them in their order: the first of them asks
  // for what comes next.
  await restAfter(parsed.bytes)
  return parsed
}

/** An answer of the CMS, and whether it was asked under the prefix of another language. */
type SentAnswer = HttpAnswer & { isElsewhere: boolean }

/**
 * Sends a request, and once more under another path where Drupal refuses to save it under that one.
 */
async function send(
  { http, jsonapiPath, languages, module }: JsonapiContext,
  request: OutgoingRequest,
  credentials: Record<string, string> | undefined,
  signal: Signal | undefined
): Promise<SentAnswer> {
  const { root, place, language, budget } = request
  const message = messageOf(request, credentials, signal)
  const answer = { ...(await http.send(message)), isElsewhere: root !== jsonapiPath }
  module.learn(answer.headers)
  if (answer.status !== 405) return answer
  const guess = languages.guess(language, documentIn(answer.body)?.errors)
  if (guess === undefined) return answer
  budget?.retry()
  const second = await http.send({ ...message, path: guess + place })
  const isNoPath = !isJson(second.headers) && second.status >= 300 && second.status < 500
  if (isNoPath) return answer
  languages.learn(language, guess)
  module.learn(second.headers)
  return { ...second, isElsewhere: true }
}

function messageOf(
  request: OutgoingRequest,
  credentials: Record<string, string> | undefined,
  signal: Signal | undefined
): HttpRequest {
  const { method, root, place, body, caller, language, revision, keptReferences } = request
  const { budget, saveToken } = request
  return {
    method,
    path: root + place,
    headers: {
      ...caller.headers,
      ...(language !== undefined && { 'accept-language': language }),
      ...credentials,
      ...(saveToken !== undefined && { 'quoin-save': saveToken }),
      accept: JSONAPI,
      ...(body && { 'content-type': JSONAPI }),
      ...(revision !== undefined && { 'quoin-revision': String(revision) }),
      ...(keptReferences !== undefined && { 'quoin-keep-references': keptReferences })
    },
    ...(body && { body: JSON.stringify(body) }),
    take: method === 'GET' ? budget?.take : budget?.takeOutcome,
    free: budget?.free,
    ...(method === 'GET' ? { repeatable: true, onRetry: budget?.retry, signal } : { isWrite: true })
  }
}

/** @param sent the header fields of the request */
function answerOf(
  context: JsonapiContext,
  { key }: OutgoingRequest,
  answer: SentAnswer,
  sent: CallerHeaders
): JsonapiAnswer {
  const { status, headers, isElsewhere } = answer
  if (status >= 500 || status === 429) throw failureOf(answer)
  const document = documentOf(context, answer, key)
  if (!document || (status < 300 && document.data === undefined)) throw notJsonapi(answer, sent)
  const challenge = headers['www-authenticate']
  const cookies = headers['set-cookie'] && sessionCookies(headers)
  return {
    status,
    document,
    bytes: weightOf(document),
    ...(isElsewhere && { isElsewhere }),
    ...(challenge !== undefined && { challenge: [challenge].flat().join(', ') }),
    ...(cookies && cookies.length > 0 && { cookies })
  }
}

/** The failure that the CMS answers with. */
function failureOf({ status, headers, body }: HttpAnswer): Failure {
  if (status !== 503 && status !== 429) {
    return new Failure('CMS_FAILED', texts.cmsFailed, { cause: upstream(status, body) })
  }
  const retryAfter = String(headers['retry-after'])
  return new Failure('CMS_UNAVAILABLE', texts.cmsUnavailable, {
    headers: { 'retry-after': RETRY_AFTER.test(retryAfter) ? retryAfter : RETRY_AFTER_SECONDS },
    cause: Object.assign(upstream(status, body), { isDrupals: isJson(headers) })
  })
}

/** @param key of a read, whose document may be one that came before */
function documentOf(
  { documents }: JsonapiContext,
  { status, headers, body }: HttpAnswer,
  key: string | undefined
): Document | undefined {
  const isRedirect = status >= 300 && status < 400
  if (isRedirect || !isJson(headers)) return undefined
  return key === undefined ? documentIn(body) : documents.read(key, body)
}
