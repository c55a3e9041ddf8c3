import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import type { Site } from './site.ts'
import { type Entity, valueOf } from './store.ts'

interface LoginSession {
  uid: number
  seed: string
  csrf: string
  rest: string
  logout: string
}

/**
 * Who sent a request, and how: `challenged` when no credentials came along, so that a refusal
 * becomes 401.
 */
export interface RequestUser {
  viewer: Viewer
  challenged: boolean
  session: LoginSession | undefined
  sessionCookie: boolean
  staleCookie: string | undefined
}

export interface Login {
  caller: (headers: IncomingHttpHeaders, address: string) => RequestUser
  checkCsrf: (caller: RequestUser, headers: IncomingHttpHeaders) => void
  login: (body: unknown, caller: RequestUser, address: string) => { body: object; cookie: string }
  logout: (token: unknown, caller: RequestUser) => string
  token: (caller: RequestUser) => string
}

const token = () => randomBytes(32).toString('base64url')

const floodLimit = 5
const floodWindow = 6 * 3600 * 1000

const epoch = 'expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly'

/**
 * Basic authentication, cookie sessions and CSRF tokens as Drupal does them: a wrong password makes
 * a request anonymous, five of them lock the account for that address, and a session cookie asks
 * for a token even when Basic credentials came along.
 */
export function createLogin(
  site: Site,
  passwords: ReadonlyMap<string, string>,
  roles: Record<string, string[]>
): Login {
  const cookieName = `SESS${createHash('sha256').update(site.name).digest('hex').slice(0, 32)}`
  const sessions = new Map<string, LoginSession>()
  const failures = new Map<string, number[]>()
  const anonymousToken = token()

  const permissions = (names: string[]) => new Set(names.flatMap((name) => roles[name] ?? []))
  const anonymous: Viewer = {
    uid: 0,
    uuid: undefined,
    name: '',
    admin: false,
    permissions: permissions(['anonymous'])
  }

  const viewerOf = (user: Entity): Viewer => {
    const names = (user.fields.roles ?? []).map((item) => String(item.target_id))
    const admin = user.id === 1 || names.includes('administrator')
    return {
      uid: Number(user.id),
      uuid: user.uuid,
      name: String(valueOf(user, 'name')),
      admin,
      permissions: permissions(['authenticated', ...names])
    }
  }

  const recent = (key: string) =>
    (failures.get(key) ?? []).filter((time) => site.now() - time < floodWindow)

  const findUser = (name: string) =>
    site.store
      .all('user')
      .find((user) => String(valueOf(user, 'name')).toLowerCase() === name.toLowerCase())

  const isActive = (user: Entity) => valueOf(user, 'status') === true

  /**
   * The user whose password it is, or undefined; wrong ones are counted per account and address.
   */
  const verify = (
    kind: string,
    name: string,
    password: string,
    address: string
  ): Entity | undefined => {
    const user = findUser(name)
    if (!user || !isActive(user)) return undefined
    const key = `${kind} ${user.id} ${address}`
    if (recent(key).length >= floodLimit) return undefined
    if (passwords.get(String(valueOf(user, 'name'))) === password) {
      failures.delete(key)
      return user
    }
    failures.set(key, [...recent(key), site.now()])
    return undefined
  }

  const basic = (header: string | undefined) => {
    const encoded = /^basic +(.+)$/i.exec(header ?? '')?.[1]
    const [, name, password] =
      /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
    return name === undefined || password === undefined ? undefined : { name, password }
  }

  return {
    caller: (headers, address) => {
      const cookie = new RegExp(`${cookieName}=([^;\\s]+)`).exec(headers.cookie ?? '')?.[1]
      const session = cookie === undefined ? undefined : sessions.get(cookie)
      const credentials = basic(headers.authorization)
      const sessionUser = session && site.store.byId('user', session.uid)
      const user = credentials
        ? verify('basic', credentials.name, credentials.password, address)
        : sessionUser
      return {
        viewer: user ? viewerOf(user) : anonymous,
        challenged: credentials === undefined && cookie === undefined,
        session,
        sessionCookie: cookie !== undefined,
        staleCookie:
          cookie !== undefined && !session ? `${cookieName}=deleted; ${epoch}` : undefined
      }
    },

    checkCsrf: ({ viewer, session, sessionCookie }, headers) => {
      if (viewer.uid === 0 || !sessionCookie) return
      const csrfToken = headers['x-csrf-token']
      if (csrfToken === undefined) throw new CmsError(403, 'X-CSRF-Token request header is missing')
      if (!session || (csrfToken !== session.csrf && csrfToken !== session.rest)) {
        throw new CmsError(403, 'X-CSRF-Token request header is invalid')
      }
    },

    login: (body, caller, address) => {
      if (caller.viewer.uid !== 0) {
        throw new CmsError(403, 'This route can only be accessed by anonymous users.')
      }
      const { name, pass } = (body ?? {}) as { name?: unknown; pass?: unknown }
      if (!name && !pass) throw new CmsError(400, 'Missing credentials.')
      if (!name) throw new CmsError(400, 'Missing credentials.name.')
      if (!pass) throw new CmsError(400, 'Missing credentials.pass.')
      const account = findUser(String(name))
      if (account && !isActive(account)) {
        throw new CmsError(400, 'The user has not been activated or is blocked.')
      }
      if (account && recent(`http ${account.id} ${address}`).length >= floodLimit) {
        throw new CmsError(
          403,
          'Too many failed login attempts from your IP address. This IP address is temporarily blocked.'
        )
      }
      const user = verify('http', String(name), String(pass), address)
      if (!user) throw new CmsError(400, 'Sorry, unrecognized username or password.')
      const seed = token()
      const session = { uid: Number(user.id), seed, csrf: token(), rest: token(), logout: token() }
      sessions.set(seed, session)
      const expires = new Date(site.now() + 2_000_000_000).toUTCString()
      return {
        body: {
          current_user: { uid: String(user.id), name: valueOf(user, 'name') },
          csrf_token: session.csrf,
          logout_token: session.logout
        },
        cookie: `${cookieName}=${seed}; expires=${expires}; Max-Age=2000000; path=/; HttpOnly; SameSite=Lax`
      }
    },

    logout: (logoutToken, { session }) => {
      if (!session) {
        throw new CmsError(403, 'This route can only be accessed by authenticated users.')
      }
      if (logoutToken !== session.logout) {
        throw new CmsError(403, "'csrf_token' URL query argument is invalid.")
      }
      sessions.delete(session.seed)
      return `${cookieName}=deleted; ${epoch}`
    },

    token: ({ session }) => session?.rest ?? anonymousToken
  }
}
