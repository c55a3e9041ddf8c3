import { Failure } from '../errors.ts'
import type { Http } from './client.ts'
import { objectIn, userIn } from './document.ts'

type Headers = Record<string, string>

/** A service account at the CMS. */
export interface Account {
  /**
   * Header fields that identify it, once they are known to be accepted.
   * @throws {Failure} CMS_LOGIN_REFUSED, for good, after one refusal: Drupal's flood control locks out this service's
   *   address, and so all who share it, after five. A Basic account that was known before is tried again, rarely enough.
   */
  credentials (): Promise<Headers>
  /** After a request that was refused (401 or 403): whether other credentials than these are there now, to ask again with. */
  renew (used: Headers, status: number): Promise<boolean>
}

export interface AccountOptions {
  http: Http
  /** Path of JSON:API, such as `/jsonapi`. */
  jsonapiPath: string
  /** Clock, in milliseconds. */
  now?: () => number
}

/** How long a session, or a Basic account, is believed to be known after it was last seen to be, in milliseconds. */
const CHECK_MS = 60_000

/** How long a Basic account that was known rests once it is not; Drupal takes fifty failures of an address in an hour. */
const REST_MS = 600_000

/** One that was seen so recently was not what a request was refused for. */
const JUST_CHECKED_MS = 1000

/** How long before its end a token is replaced, in milliseconds. */
const TOKEN_MARGIN_MS = 30_000

/**
 * HTTP Basic authentication (RFC 7617), tried out at first, every minute, and whenever a request was refused: whom Drupal
 * knows no more, by another password, blocked, or locked out by flood control, it answers as anybody.
 * Source: Drupal\basic_auth\Authentication\Provider\BasicAuth::authenticate().
 */
export function basicAccount ({ http, jsonapiPath, now = Date.now }: AccountOptions, user: string, password: string): Account {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  let seen: number | undefined
  let tried = 0
  const accepted = remembering<Headers>(async () => {
    tried = now()
    if (!await isKnown(http, jsonapiPath, { authorization })) throw loginRefused('user name and password (CMS_USER, CMS_PASSWORD; is the module basic_auth on, and the account neither blocked nor locked out?)')
    seen = now()
    return { authorization }
  }, () => seen !== undefined && now() - tried >= REST_MS)

  async function checked (after: number): Promise<Headers> {
    const current = await accepted.get()
    if (now() - seen! >= after) accepted.forget(current)
    return accepted.get()
  }

  async function renew (): Promise<boolean> {
    await checked(JUST_CHECKED_MS)
    return false
  }

  return { credentials: () => checked(CHECK_MS), renew }
}

/**
 * A session: logged in once, whoever asks at the same time, and again when it has ended. A dead session is not refused
 * but taken for anonymous, so it is looked at again every minute, and whenever a request was refused.
 * Source: Drupal\user\Controller\UserAuthenticationController::login().
 */
export function sessionAccount ({ http, jsonapiPath, now = Date.now }: AccountOptions, user: string, password: string): Account {
  let seenAlive = 0
  let checking: Promise<boolean> | undefined
  const session = remembering<Headers>(async () => {
    const { status, headers, body } = await http.send({
      method: 'POST',
      path: '/user/login?_format=json',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ name: user, pass: password })
    })
    if (status >= 400 && status < 500 && status !== 429) throw loginRefused('user name and password (CMS_USER, CMS_PASSWORD)', status)
    const token = status === 200 ? objectIn(body)?.csrf_token : undefined
    const cookie = [headers['set-cookie'] ?? []].flat().map((one) => one.split(';', 1)[0]).join('; ')
    if (typeof token !== 'string' || !cookie) throw new Failure('CMS_FAILED', 'The CMS did not open a session for the service account', { cause: new Error(`login answered ${status}`) })
    seenAlive = now()
    return { cookie, 'x-csrf-token': token }
  })

  async function credentials (): Promise<Headers> {
    const current = await session.get()
    if (now() - seenAlive >= CHECK_MS) await renew(current)
    return session.get()
  }

  async function renew (used: Headers): Promise<boolean> {
    if (await session.get() !== used) return true
    if (now() - seenAlive < JUST_CHECKED_MS) return false
    checking ??= isKnown(http, jsonapiPath, used).finally(() => { checking = undefined })
    if (!await checking) {
      session.forget(used)
      return true
    }
    seenAlive = now()
    return false
  }

  return { credentials, renew }
}

/** OAuth 2.0 client credentials (RFC 6749 section 4.4) as Drupal's module simple_oauth grants them. */
export function oauthAccount ({ http, now = Date.now }: AccountOptions, clientId: string, clientSecret: string): Account {
  let expires = 0
  const token = remembering<Headers>(async () => {
    const { status, body } = await http.send({
      method: 'POST',
      path: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }).toString()
    })
    if (status === 400 || status === 401 || status === 403) throw loginRefused('client (CMS_CLIENT_ID, CMS_CLIENT_SECRET)', status)
    const { access_token: accessToken, expires_in: seconds } = objectIn(body) ?? {}
    if (status !== 200 || typeof accessToken !== 'string') throw new Failure('CMS_FAILED', 'The CMS did not give a token to the service account', { cause: new Error(`/oauth/token answered ${status}`) })
    // A token that does not say how long it lives (NaN) is used until it is refused.
    expires = now() + Number(seconds) * 1000 - TOKEN_MARGIN_MS
    return { authorization: `Bearer ${accessToken}` }
  })

  async function credentials (): Promise<Headers> {
    const current = await token.get()
    if (now() >= expires) token.forget(current)
    return token.get()
  }

  /** What a token may not do (403, RFC 6750 section 3.1) another one may not either, and Drupal keeps each until it expires. */
  async function renew (used: Headers, status: number): Promise<boolean> {
    if (status === 401) token.forget(used)
    return status === 401
  }

  return { credentials, renew }
}

/**
 * Makes a value once for all who ask, again after a failure; but a refused login stays refused.
 * @param mayTry whether a login that was refused may be tried again all the same
 */
function remembering<T> (make: () => Promise<T>, mayTry = () => false): { get: () => Promise<T>, forget: (value: T) => void } {
  let pending: Promise<T> | undefined
  let current: T | undefined
  let isRefused = false
  return {
    get () {
      if (isRefused && mayTry()) {
        pending = undefined
        isRefused = false
      }
      pending ??= make().then((value) => { current = value; return value }, (error: unknown) => {
        isRefused = error instanceof Failure && error.code === 'CMS_LOGIN_REFUSED'
        if (!isRefused) pending = undefined
        throw error
      })
      return pending
    },
    forget (value) {
      if (value === current) pending = current = undefined
    }
  }
}

/** Whether the CMS knows who is asking. */
async function isKnown (http: Http, jsonapiPath: string, headers: Headers): Promise<boolean> {
  const { status, body } = await http.send({ method: 'GET', path: jsonapiPath, headers })
  if (status >= 500 || status === 429) throw new Failure('CMS_FAILED', 'The CMS could not say whether it knows the service account', { cause: new Error(`${jsonapiPath} answered ${status}`) })
  const entry = status === 200 ? objectIn(body) : undefined
  return entry !== undefined && userIn(entry) !== undefined
}

function loginRefused (what: string, status?: number): Failure {
  return new Failure('CMS_LOGIN_REFUSED', "The CMS does not accept this service's account; its operator has to correct the settings and restart it", {
    cause: new Error(`the CMS refused the service account's ${what}${status ? ` with status ${status}` : ''}; not tried again, since Drupal locks an address out after five wrong tries`)
  })
}
