import { Failure } from '../errors.ts'
import type { Http } from '../http/client.ts'
import { isJson, type HttpAnswer } from '../http/exchange.ts'
import { documentIn, objectIn, scalarText, userIn } from './document.ts'
import { foreign, secretsIn } from './foreign.ts'

type Headers = Record<string, string>

/** A service account at the CMS. */
export interface Account {
  /**
   * Header fields that identify the account, once Drupal has accepted them.
   * @throws {Failure} CMS_LOGIN_REFUSED, from then on always, after Drupal has refused these credentials once: after five
   *   refusals its flood control locks out this service's address, and all who share it. For a minute, where Drupal takes a
   *   new session or token for nobody's. CMS_UNAVAILABLE with Retry-After in
   *   the pause after a lockout, after another instance's refusal, or after an answer that says nothing about the credentials.
   *   CMS_FAILED, CMS_TIMEOUT or CMS_UNREACHABLE where that try itself has failed.
   */
  credentials(): Promise<Headers>
  /** Call this after a refused request (401 or 403). @returns whether there are other credentials now, for a second request */
  renew(used: Headers, status: number): Promise<boolean>
}

export interface AccountOptions {
  http: Http
  /** Path of JSON:API, such as `/jsonapi`. */
  jsonapiPath: string
  /** Clock, in milliseconds. */
  now?: () => number
  /** From 0 to 1, for the length of pauses. */
  random?: () => number
  /**
   * Joins the instances that have the same account.
   * @param hear to be called when one of them says that Drupal has refused it
   * @returns tells them so
   */
  joinPeers?: ((hear: () => void) => () => void) | undefined
}

/** How long Quoin relies on a session or a Basic account after its last check, in milliseconds. */
const CHECK_MS = 60_000

/** A check so recent means that the request was refused for another reason. */
const JUST_CHECKED_MS = 1000

/** How long before it expires a token is replaced, in milliseconds. */
const TOKEN_MARGIN_MS = 30_000

/**
 * HTTP Basic authentication (RFC 7617). Drupal treats rejected credentials as anonymous, without an error. So Quoin checks them
 * at first, every minute, and whenever a request was refused. The reason may be another password, a blocked account or
 * flood control, so an account that Drupal knew before is tried again after an hour.
 * Source: Drupal\basic_auth\Authentication\Provider\BasicAuth::authenticate().
 */
export function basicAccount(
  {
    http,
    jsonapiPath,
    now = () => performance.now(),
    random = Math.random,
    joinPeers
  }: AccountOptions,
  user: string,
  password: string
): Account {
  const headers = {
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  }
  const tryOnce = createTries<Headers>({ now, random, joinPeers })
  let checkedAt = -Infinity
  let wasKnown = false

  async function check(mayTry: () => void): Promise<LoginAttempt<Headers>> {
    mayTry()
    if (!(await isKnown(http, jsonapiPath, headers))) {
      checkedAt = -Infinity
      return {
        refused:
          'user name and password (CMS_USER, CMS_PASSWORD; is the module basic_auth on, and the account neither blocked nor locked out?)',
        pauseMs: wasKnown ? LOCKED_OUT_MS : Infinity
      }
    }
    checkedAt = now()
    wasKnown = true
    return { accepted: headers }
  }

  const checkedHeaders = async (afterMs: number) =>
    now() - checkedAt < afterMs ? headers : tryOnce(check)

  async function renew(): Promise<boolean> {
    await checkedHeaders(JUST_CHECKED_MS)
    return false
  }

  return { credentials: () => checkedHeaders(CHECK_MS), renew }
}

/**
 * A session. Quoin logs in once, however many requests wait for it, and again when the session has ended. Drupal treats a dead
 * session as anonymous, without an error, so Quoin checks it at first, every minute, and whenever a request was refused.
 * Source: Drupal\user\Controller\UserAuthenticationController::login().
 */
export function sessionAccount(
  {
    http,
    jsonapiPath,
    now = () => performance.now(),
    random = Math.random,
    joinPeers
  }: AccountOptions,
  user: string,
  password: string
): Account {
  const tryOnce = createTries<Headers>({ now, random, joinPeers })
  let session: Headers | undefined
  const { isAlive, isSeenWithin } = createSighting(http, jsonapiPath, now)

  /** The session, if it is alive, or else a new one. */
  async function open(mayTry: () => void): Promise<LoginAttempt<Headers>> {
    if (session && (await isAlive(session))) return { accepted: session }
    session = undefined
    mayTry()
    const answer = await http.send({
      method: 'POST',
      path: '/user/login?_format=json',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ name: user, pass: password })
    })
    const { status, headers, body } = answer
    const { message, csrf_token: token } = isJson(headers) ? (objectIn(body) ?? {}) : {}
    if (status === 400 && typeof message === 'string' && REFUSED_LOGIN.test(message)) {
      return {
        refused: 'user name and password (CMS_USER, CMS_PASSWORD)',
        status,
        pauseMs: Infinity
      }
    }
    if (status === 403 && typeof message === 'string' && LOCKED_OUT.test(message)) {
      return { isLockedOut: true }
    }
    const cookie = [headers['set-cookie'] ?? []]
      .flat()
      .map((cookie) => cookie.split(';', 1)[0])
      .join('; ')
    if (status !== 200 || typeof token !== 'string' || !TOKEN.test(token) || !cookie) {
      throw unclear('/user/login', answer, [password])
    }
    session = { cookie, 'x-csrf-token': token }
    if (await isAlive(session)) return { accepted: session }
    session = undefined
    return { refused: UNHEEDED_SESSION, pauseMs: LONGEST_PAUSE_MS }
  }

  const openSession = async (afterMs: number) =>
    session && isSeenWithin(afterMs) ? session : tryOnce(open)

  async function renew(usedHeaders: Headers): Promise<boolean> {
    if (session && session !== usedHeaders) return true
    return (await openSession(JUST_CHECKED_MS)) !== usedHeaders
  }

  return { credentials: () => openSession(CHECK_MS), renew }
}

const UNHEEDED_SESSION =
  "session, which it takes for nobody's (does what stands before Drupal hand on cookies?)"

/** The words of Drupal 10 and 11 for a wrong name or password, and for a blocked user; they do not translate them. */
const REFUSED_LOGIN = /^(?:Sorry, u|U)nrecognized |^The user has not been activated or is blocked/

/** Drupal's words for a lockout. Source: UserAuthenticationController::floodControl(). */
const LOCKED_OUT = /flood prevention|failed login attempts/

/**
 * OAuth 2.0 client credentials (RFC 6749 section 4.4) as Drupal's module simple_oauth grants them. A token that does not reach
 * Drupal, since a web server drops Authorization, or that it no longer knows, may be answered as anonymous, without an error.
 * So Quoin checks each new token, and then every minute, and whenever a request was refused.
 */
export function oauthAccount(
  {
    http,
    jsonapiPath,
    now = () => performance.now(),
    random = Math.random,
    joinPeers
  }: AccountOptions,
  clientId: string,
  clientSecret: string
): Account {
  const tryOnce = createTries<Headers>({ now, random, joinPeers })
  let token: Headers | undefined
  let expires = 0
  const { isAlive, isSeenWithin } = createSighting(http, jsonapiPath, now)

  /** The token, if it is alive, or else a new one. */
  async function open(mayTry: () => void): Promise<LoginAttempt<Headers>> {
    if (token && isCurrent() && (await isAlive(token))) return { accepted: token }
    token = undefined
    mayTry()
    const answer = await http.send({
      method: 'POST',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret
      }).toString()
    })
    const { status, headers, body } = answer
    const {
      access_token: accessToken,
      token_type: type = BEARER,
      expires_in: seconds,
      error
    } = objectIn(body) ?? {}
    if (status >= 400 && status <= 403 && isJson(headers) && REFUSED_CLIENT.has(error)) {
      return { refused: 'client (CMS_CLIENT_ID, CMS_CLIENT_SECRET)', status, pauseMs: Infinity }
    }
    if (status !== 200 || typeof accessToken !== 'string') {
      throw unclear('/oauth/token', answer, [clientSecret])
    }
    if (!TOKEN.test(accessToken) || scalarText(type).toLowerCase() !== BEARER) {
      return { refused: UNUSABLE_TOKEN, pauseMs: LONGEST_PAUSE_MS }
    }
    const lifeMs = Number(seconds) * 1000
    // A token that does not say how long it lives is used until it is refused.
    expires = lifeMs > 0 ? now() + lifeMs - Math.min(TOKEN_MARGIN_MS, lifeMs / 2) : Infinity
    token = { authorization: `Bearer ${accessToken}` }
    if (await isAlive(token)) return { accepted: token }
    token = undefined
    return { refused: UNHEEDED_TOKEN, pauseMs: LONGEST_PAUSE_MS }
  }

  const isCurrent = () => now() < expires
  const checkedToken = async (afterMs: number) =>
    token && isCurrent() && isSeenWithin(afterMs) ? token : tryOnce(open)

  async function renew(usedHeaders: Headers, status: number): Promise<boolean> {
    if (token !== usedHeaders) return true
    if (status === 401) {
      token = undefined
      return true
    }
    // After a 403 another token would not help (RFC 6750 section 3.1), unless Drupal takes this one for nobody's.
    return (await checkedToken(JUST_CHECKED_MS)) !== usedHeaders
  }

  return { credentials: () => checkedToken(CHECK_MS), renew }
}

const BEARER = 'bearer'

/** What may be sent as a token, and is short enough for a header field that web servers take. Source: RFC 6749 appendix A.12. */
const TOKEN = /^[\x21-\x7e]{1,8000}$/

const UNUSABLE_TOKEN = 'client: its token endpoint gives tokens that cannot be sent as Bearer'

const UNHEEDED_TOKEN =
  "token, which it takes for nobody's (does the web server hand on Authorization, and has the client an active user?)"

/** The errors by which a token endpoint refuses this client. Source: RFC 6749 sections 4.1.2.1 and 5.2. */
const REFUSED_CLIENT = new Set<unknown>([
  'invalid_client',
  'unauthorized_client',
  'invalid_grant',
  'access_denied'
])

/** What one try says about the credentials; every other outcome is thrown. */
type LoginAttempt<T> =
  | { accepted: T }
  /** @property pauseMs for how long they are not tried again */
  | { refused: string; status?: number; pauseMs: number }
  | { isLockedOut: true }

/** The pause after a lockout, or a refusal that may be one. Drupal allows fifty failures of one address in an hour. */
const LOCKED_OUT_MS = 3_600_000

/** The pause after the first try that says nothing about the credentials, in milliseconds. It doubles up to the longest. */
const PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000

type TriesDeps = Required<Pick<AccountOptions, 'now' | 'random'>> &
  Pick<AccountOptions, 'joinPeers'>

/**
 * Makes one try at a time, and shares it among all who ask in the meantime. A failed try is followed by a pause: for ever
 * where Drupal refused the credentials, an hour where it locked them out, else one second, doubling to 60. Each of these
 * seconds is shortened at random by up to a half, so that several instances do not return at the same moment.
 *
 * After another instance's refusal this one pauses too: for up to an hour, or a minute where Drupal has accepted the
 * credentials before. The notice of a refusal may be wrong. So Quoin heeds one, and the next one not before an hour after the
 * next try here.
 */
function createTries<T>({
  now,
  random,
  joinPeers
}: TriesDeps): (attempt: (mayTry: () => void) => Promise<LoginAttempt<T>>) => Promise<T> {
  let currentTry: Promise<T> | undefined
  let currentPause: { until: number; tell: () => Failure } | undefined
  let failures = 0
  let wasAccepted = false
  /** The end of the pause after another instance's refusal, and of the time in which no further refusal is heeded. */
  let heededUntil = -Infinity
  let deafUntil = -Infinity
  const tellPeers = joinPeers?.(() => {
    if (now() < deafUntil) return
    heededUntil = now() + (wasAccepted ? LONGEST_PAUSE_MS : LOCKED_OUT_MS) * (1 - random() / 2)
    deafUntil = Infinity
  })

  /** Call this right before trying credentials. @throws {Failure} CMS_UNAVAILABLE while another instance's refusal is heeded */
  function mayTry(): void {
    if (now() < heededUntil) {
      throw resting(heededUntil, "The CMS has refused this service's account to another instance")
    }
    if (deafUntil === Infinity) deafUntil = now() + LOCKED_OUT_MS
  }

  /** The failure of a request in a pause. */
  function resting(
    until: number,
    message: string,
    cause = new Error('flood control of the CMS')
  ): Failure {
    const seconds = String(Math.max(1, Math.ceil((until - now()) / 1000)))
    return new Failure(
      'CMS_UNAVAILABLE',
      `${message}: nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`,
      {
        headers: { 'retry-after': seconds },
        cause
      }
    )
  }

  async function run(attempt: (mayTry: () => void) => Promise<LoginAttempt<T>>): Promise<T> {
    const result = await attempt(mayTry).catch((error: Failure) => {
      // Nothing was sent: the circuit breaker is open, or another instance's refusal is heeded.
      if (error.code === 'CMS_UNAVAILABLE') throw error
      const pause = Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** failures++) * (1 - random() / 2)
      throw pausing(pause, notLoggedIn(error), "The CMS could not log in this service's account")
    })
    failures = 0
    currentPause = undefined
    if ('accepted' in result) {
      wasAccepted = true
      return result.accepted
    }
    if ('isLockedOut' in result) {
      throw pausing(
        LOCKED_OUT_MS,
        undefined,
        "The CMS has locked out this service's account after wrong tries to log in"
      )
    }
    // A token locks nobody out.
    if (result.pauseMs > LONGEST_PAUSE_MS) tellPeers?.()
    const refusal = loginRefused(result)
    currentPause = { until: now() + result.pauseMs, tell: () => refusal }
    throw refusal
  }

  /** Begins a pause. @returns the failure of the try itself, or else the one of the pause */
  function pausing(ms: number, failure: Failure | undefined, message: string): Failure {
    const until = now() + ms
    const tell = () => resting(until, message, failure?.cause as Error | undefined)
    currentPause = { until, tell }
    return failure ?? tell()
  }

  return async (attempt) => {
    if (currentTry) return currentTry
    if (currentPause && now() < currentPause.until) throw currentPause.tell()
    currentTry = run(attempt).finally(() => {
      currentTry = undefined
    })
    return currentTry
  }
}

/** When Drupal was last seen to know a session or a token. Where an answer does not tell, it is asked again before they are used. */
function createSighting(http: Http, jsonapiPath: string, now: () => number) {
  let seenAt = -Infinity

  async function isAlive(headers: Headers): Promise<boolean> {
    seenAt = -Infinity
    const isAlive = await isKnown(http, jsonapiPath, headers)
    if (isAlive) seenAt = now()
    return isAlive
  }

  return { isAlive, isSeenWithin: (ms: number) => now() - seenAt < ms }
}

/**
 * Whether Drupal accepts the credentials. It does not where it answers as to anonymous, or refuses in its own words.
 * @throws {Failure} CMS_FAILED where the answer is not Drupal's, or Drupal fails
 */
async function isKnown(http: Http, jsonapiPath: string, credentials: Headers): Promise<boolean> {
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

/** The failure of a try. The request that needs the account was not sent. */
function notLoggedIn({ code, message, cause }: Failure): Failure {
  return new Failure(code, message, {
    cause: Object.assign(new Error((cause as Error).message, { cause }), { code: 'NOT_SENT' })
  })
}

function loginRefused({
  refused,
  status,
  pauseMs
}: {
  refused: string
  status?: number
  pauseMs: number
}): Failure {
  const isPassing = pauseMs <= LONGEST_PAUSE_MS
  const next = isPassing
    ? `tried again in ${pauseMs / 1000} s`
    : 'not tried again, since Drupal locks an address out after five wrong tries'
  return new Failure(
    'CMS_LOGIN_REFUSED',
    `The CMS does not accept this service's account; its operator has to ${isPassing ? 'see to it' : 'correct the settings and restart it'}`,
    {
      cause: Object.assign(
        new Error(
          `the CMS refused the service account's ${refused}${status ? ` with status ${status}` : ''}; ${next}`
        ),
        { isPassing }
      )
    }
  )
}
