import { Failure } from '../errors.ts'
import type { Http } from '../http/client.ts'
import { isJson, type HttpAnswer } from '../http/exchange.ts'
import { documentIn, objectIn, scalarText, userIn } from './document.ts'
import { foreign, secretsIn } from './foreign.ts'
import {
  createLoginContext,
  LOCKED_OUT_MS,
  LONGEST_PAUSE_MS,
  tryLogin,
  type AccountHeaders,
  type LoginContext,
  type LoginOptions,
  type LoginResult
} from './login.ts'
import { systemTime, type Time } from '../time.ts'

/** A service account at the CMS. */
export interface Account {
  /**
   * Header fields that identify the account, once Drupal has accepted them.
   * @throws {Failure} CMS_LOGIN_REFUSED, from then on always, after Drupal has refused these
   *   credentials once: after five refusals its flood control locks out this service's address, and
   *   all who share it. For a minute, where Drupal takes a new session or token for nobody's.
   *   CMS_UNAVAILABLE with Retry-After in the pause after a lockout, after another instance's
   *   refusal, or after an answer that says nothing about the credentials. CMS_FAILED, CMS_TIMEOUT
   *   or CMS_UNREACHABLE where that try itself has failed.
   */
  credentials(): Promise<AccountHeaders>
  /**
   * Call this after a refused request (401 or 403).
   * @returns whether there are other credentials now, for a second request
   */
  renew(used: AccountHeaders, status: number): Promise<boolean>
}

export interface AccountOptions extends Partial<LoginOptions> {
  http: Http
  /** Path of JSON:API, such as `/jsonapi`. */
  jsonapiPath: string
}

/** How long Quoin relies on a session or a Basic account after its last check, in milliseconds. */
const CHECK_MS = 60_000

/** A check so recent means that the request was refused for another reason. */
const JUST_CHECKED_MS = 1000

/** How long before it expires a token is replaced, in milliseconds. */
const TOKEN_MARGIN_MS = 30_000

/** What an account works with. */
interface AccountContext {
  http: Http
  jsonapiPath: string
  time: Time
  login: LoginContext
  /** The header fields of the session or the token, if there is one. */
  headers: AccountHeaders | undefined
  /** When Drupal was last seen to accept them. */
  seenAt: number
}

function createAccountContext({
  http,
  jsonapiPath,
  time = systemTime,
  joinPeers
}: AccountOptions): AccountContext {
  return {
    http,
    jsonapiPath,
    time,
    login: createLoginContext({ time, joinPeers }),
    headers: undefined,
    seenAt: -Infinity
  }
}

/** Whether Drupal was seen to accept the header fields so recently. */
function isSeenWithin({ time, seenAt }: AccountContext, ms: number): boolean {
  return time.monotonic() - seenAt < ms
}

/**
 * Whether Drupal knows a session or a token. Where an answer does not tell, it is asked again
 * before they are used.
 */
async function isAlive(context: AccountContext, headers: AccountHeaders): Promise<boolean> {
  context.seenAt = -Infinity
  const isAlive = await isKnown(context, headers)
  if (isAlive) context.seenAt = context.time.monotonic()
  return isAlive
}

/**
 * Whether Drupal accepts the credentials. It does not where it answers as to anonymous, or refuses
 * in its own words.
 * @throws {Failure} CMS_FAILED where the answer is not Drupal's, or Drupal fails
 */
async function isKnown(
  { http, jsonapiPath }: AccountContext,
  credentials: AccountHeaders
): Promise<boolean> {
  const answer = await http.send({ method: 'GET', path: jsonapiPath, headers: credentials })
  const { status, headers, body } = answer
  const document = isJson(headers) ? documentIn(body) : undefined
  if (status === 200 && Array.isArray(document?.data)) return userIn(document) !== undefined
  if (
    (status === 401 || status === 403) &&
    document?.errors?.some(({ detail }) => typeof detail === 'string')
  ) {
    return false
  }
  throw unclear(jsonapiPath, answer, secretsIn(credentials))
}

/** @param secrets what was sent there to log in */
function unclear(path: string, answer: HttpAnswer, secrets: readonly string[]): Failure {
  const { what, said } = foreign(answer, secrets)
  return new Failure(
    'CMS_FAILED',
    `The CMS did not say whether it accepts this service's account, but answered ${what}`,
    {
      cause: new Error(`${path} answered ${answer.status}, but not as Drupal does: ${said}`)
    }
  )
}

interface BasicContext extends AccountContext {
  headers: AccountHeaders
  /** Whether Drupal has accepted the account before. */
  wasKnown: boolean
}

/**
 * HTTP Basic authentication (RFC 7617). Drupal treats rejected credentials as anonymous, without an
 * error. So Quoin checks them at first, every minute, and whenever a request was refused. The
 * reason may be another password, a blocked account or flood control, so an account that Drupal
 * knew before is tried again after an hour.
 * Source: Drupal\basic_auth\Authentication\Provider\BasicAuth::authenticate().
 */
export function basicAccount(options: AccountOptions, user: string, password: string): Account {
  const credentials = Buffer.from(`${user}:${password}`).toString('base64')
  const context: BasicContext = {
    ...createAccountContext(options),
    headers: { authorization: `Basic ${credentials}` },
    wasKnown: false
  }
  return {
    credentials: () => checkedBasic(context, CHECK_MS),
    renew: async () => {
      await checkedBasic(context, JUST_CHECKED_MS)
      return false
    }
  }
}

/** The header fields, checked within this time. */
async function checkedBasic(context: BasicContext, withinMs: number): Promise<AccountHeaders> {
  if (isSeenWithin(context, withinMs)) return context.headers
  return tryLogin(context.login, (mayTry) => checkBasic(context, mayTry))
}

async function checkBasic(context: BasicContext, mayTry: () => void): Promise<LoginResult> {
  const { headers, wasKnown, time } = context
  mayTry()
  if (!(await isKnown(context, headers))) {
    context.seenAt = -Infinity
    return {
      refused:
        'user name and password (CMS_USER, CMS_PASSWORD; is the module basic_auth on, and the account neither blocked nor locked out?)',
      pauseMs: wasKnown ? LOCKED_OUT_MS : Infinity
    }
  }
  context.seenAt = time.monotonic()
  context.wasKnown = true
  return { accepted: headers }
}

interface SessionContext extends AccountContext {
  user: string
  password: string
}

/**
 * A session. Quoin logs in once, however many requests wait for it, and again when the session has
 * ended. Drupal treats a dead session as anonymous, without an error, so Quoin checks it at first,
 * every minute, and whenever a request was refused.
 * Source: Drupal\user\Controller\UserAuthenticationController::login().
 */
export function sessionAccount(options: AccountOptions, user: string, password: string): Account {
  const context: SessionContext = { ...createAccountContext(options), user, password }
  return {
    credentials: () => checkedSession(context, CHECK_MS),
    renew: async (used) => {
      if (context.headers && context.headers !== used) return true
      return (await checkedSession(context, JUST_CHECKED_MS)) !== used
    }
  }
}

/** The session, checked within this time. */
async function checkedSession(context: SessionContext, withinMs: number): Promise<AccountHeaders> {
  if (context.headers && isSeenWithin(context, withinMs)) return context.headers
  return tryLogin(context.login, (mayTry) => openSession(context, mayTry))
}

/** The session, if it is alive, or else a new one. */
async function openSession(context: SessionContext, mayTry: () => void): Promise<LoginResult> {
  const { http, user, password } = context
  if (context.headers && (await isAlive(context, context.headers))) {
    return { accepted: context.headers }
  }
  context.headers = undefined
  mayTry()
  const answer = await http.send({
    method: 'POST',
    path: '/user/login?_format=json',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ name: user, pass: password })
  })
  const refusal = sessionRefusal(answer)
  if (refusal) return refusal
  const session = sessionIn(answer)
  if (!session) throw unclear('/user/login', answer, [password])
  context.headers = session
  if (await isAlive(context, session)) return { accepted: session }
  context.headers = undefined
  return { refused: UNHEEDED_SESSION, pauseMs: LONGEST_PAUSE_MS }
}

/** What Drupal says against logging in, if it does. */
function sessionRefusal({ status, headers, body }: HttpAnswer): LoginResult | undefined {
  const { message } = isJson(headers) ? (objectIn(body) ?? {}) : {}
  if (typeof message !== 'string') return undefined
  if (status === 400 && REFUSED_LOGIN.test(message)) {
    return {
      refused: 'user name and password (CMS_USER, CMS_PASSWORD)',
      status,
      pauseMs: Infinity
    }
  }
  return status === 403 && LOCKED_OUT.test(message) ? { isLockedOut: true } : undefined
}

/** The header fields of the session that Drupal has begun, if it has. */
function sessionIn({ status, headers, body }: HttpAnswer): AccountHeaders | undefined {
  const { csrf_token: token } = isJson(headers) ? (objectIn(body) ?? {}) : {}
  const cookie = [headers['set-cookie'] ?? []]
    .flat()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ')
  if (status !== 200 || typeof token !== 'string' || !TOKEN.test(token) || !cookie) {
    return undefined
  }
  return { cookie, 'x-csrf-token': token }
}

const UNHEEDED_SESSION =
  "session, which it takes for nobody's (does what stands before Drupal hand on cookies?)"

/**
 * The words of Drupal 10 and 11 for a wrong name or password, and for a blocked user; they do not
 * translate them.
 */
const REFUSED_LOGIN = /^(?:Sorry, u|U)nrecognized |^The user has not been activated or is blocked/

/** Drupal's words for a lockout. Source: UserAuthenticationController::floodControl(). */
const LOCKED_OUT = /flood prevention|failed login attempts/

interface OauthContext extends AccountContext {
  clientId: string
  clientSecret: string
  /** When the token is to be replaced. */
  expires: number
}

/**
 * OAuth 2.0 client credentials (RFC 6749 section 4.4) as Drupal's module simple_oauth grants them.
 * A token that does not reach Drupal, since a web server drops Authorization, or that it no longer
 * knows, may be answered as anonymous, without an error. So Quoin checks each new token, and then
 * every minute, and whenever a request was refused.
 */
export function oauthAccount(
  options: AccountOptions,
  clientId: string,
  clientSecret: string
): Account {
  const context: OauthContext = {
    ...createAccountContext(options),
    clientId,
    clientSecret,
    expires: 0
  }
  return {
    credentials: () => checkedToken(context, CHECK_MS),
    renew: (used, status) => renewToken(context, used, status)
  }
}

async function renewToken(
  context: OauthContext,
  used: AccountHeaders,
  status: number
): Promise<boolean> {
  if (context.headers !== used) return true
  if (status === 401) {
    context.headers = undefined
    return true
  }
  // After a 403 another token would not help (RFC 6750 section 3.1), unless Drupal takes this one
  // for nobody's.
  return (await checkedToken(context, JUST_CHECKED_MS)) !== used
}

/** The token, checked within this time. */
async function checkedToken(context: OauthContext, withinMs: number): Promise<AccountHeaders> {
  const { headers: token } = context
  if (token && isCurrent(context) && isSeenWithin(context, withinMs)) return token
  return tryLogin(context.login, (mayTry) => openToken(context, mayTry))
}

function isCurrent({ time, expires }: OauthContext): boolean {
  return time.monotonic() < expires
}

/** The token, if it is alive, or else a new one. */
async function openToken(context: OauthContext, mayTry: () => void): Promise<LoginResult> {
  const { headers: token, clientSecret } = context
  if (token && isCurrent(context) && (await isAlive(context, token))) return { accepted: token }
  context.headers = undefined
  mayTry()
  const answer = await requestToken(context)
  const { status, headers, body } = answer
  const { access_token: accessToken, token_type: type = BEARER, ...rest } = objectIn(body) ?? {}
  if (status >= 400 && status <= 403 && isJson(headers) && REFUSED_CLIENT.has(rest.error)) {
    return { refused: 'client (CMS_USER, CMS_PASSWORD)', status, pauseMs: Infinity }
  }
  if (status !== 200 || typeof accessToken !== 'string') {
    throw unclear('/oauth/token', answer, [clientSecret])
  }
  if (!TOKEN.test(accessToken) || scalarText(type).toLowerCase() !== BEARER) {
    return { refused: UNUSABLE_TOKEN, pauseMs: LONGEST_PAUSE_MS }
  }
  const newToken = { authorization: `Bearer ${accessToken}` }
  context.headers = newToken
  context.expires = expiryOf(Number(rest.expires_in), context.time.monotonic())
  if (await isAlive(context, newToken)) return { accepted: newToken }
  context.headers = undefined
  return { refused: UNHEEDED_TOKEN, pauseMs: LONGEST_PAUSE_MS }
}

function requestToken({ http, clientId, clientSecret }: OauthContext): Promise<HttpAnswer> {
  return http.send({
    method: 'POST',
    path: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret
    }).toString()
  })
}

/**
 * When a token is to be replaced. One that does not say how long it lives is used until it is
 * refused.
 */
function expiryOf(seconds: number, now: number): number {
  const lifeMs = seconds * 1000
  return lifeMs > 0 ? now + lifeMs - Math.min(TOKEN_MARGIN_MS, lifeMs / 2) : Infinity
}

const BEARER = 'bearer'

/**
 * What may be sent as a token, and is short enough for a header field that web servers take.
 * Source: RFC 6749 appendix A.12.
 */
const TOKEN = /^[\x21-\x7e]{1,8000}$/

const UNUSABLE_TOKEN = 'client: its token endpoint gives tokens that cannot be sent as Bearer'

const UNHEEDED_TOKEN =
  "token, which it takes for nobody's (does the web server hand on Authorization, and has the client an active user?)"

/**
 * The errors by which a token endpoint refuses this client. Source: RFC 6749 sections 4.1.2.1 and
 * 5.2.
 */
const REFUSED_CLIENT = new Set<unknown>([
  'invalid_client',
  'unauthorized_client',
  'invalid_grant',
  'access_denied'
])
