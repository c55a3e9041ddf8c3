import type { ClientOptions } from '../lib/client/client.ts'
import { seatOf } from './address.ts'
import type { Settings } from './settings.ts'

/** Who sits at the page, and how its client says so. */
export interface Seat {
  auth: Settings['auth']
  user?: { uid: string, name?: string }
  options: ClientOptions
  /** Why nobody is known, or no more, in the service's words. */
  reason?: string | undefined
  /** Begins, or goes on where the session of the same user had ended; with AUTH=jwt with this token. */
  resume: (token?: string) => Promise<void>
}

/** How long Drupal may take to give its token, in milliseconds. */
const TOKEN_MS = 10_000

/** Where a bearer token is kept: by the tab alone, until it is closed. */
const TOKEN = 'quoin-token'

/**
 * Who sits here. With AUTH=none it is whoever `?as=` names; with AUTH=drupal the session cookie tells, and with AUTH=jwt
 * a token that the reader gives.
 * @param changed told when the session has ended, or goes on
 */
export async function seat ({ auth }: Settings, changed: () => void): Promise<Seat> {
  if (auth === 'none') {
    const user = seatOf(location.search)
    return { auth, options: user ? { user } : {}, ...(user && { user }), resume: async () => {} }
  }
  let csrf: Promise<Record<string, string>> | undefined
  /** Whether nobody could say who sits here: then any good answer tells that the caller is known. */
  let isUnknown = false
  const headers = auth === 'jwt' ? bearer : () => (csrf ??= csrfToken())
  const here: Seat = { auth, options: { headers, fetch: watched }, resume }

  async function watched (...request: Parameters<typeof fetch>): Promise<Response> {
    const answer = await fetch(...request)
    // A token is that of one session: after another login it is refused.
    if (answer.status === 401 || answer.status === 403) csrf = undefined
    if (answer.status === 401) {
      here.reason = 'Your session has ended.'
      changed()
    }
    if (isUnknown && answer.ok) {
      isUnknown = false
      here.reason = undefined
      changed()
    }
    return answer
  }

  async function identify (): Promise<Pick<Seat, 'user' | 'reason'>> {
    const answer = await fetch('/api/desk/me', { headers: await headers() }).catch(() => undefined)
    const body = await answer?.json().catch(() => undefined) as { user?: { uid: string, name?: string }, message?: string } | undefined
    isUnknown = !answer?.ok && answer?.status !== 401
    return answer?.ok && body?.user ? { user: body.user } : { reason: body?.message ?? 'The service cannot be reached.' }
  }

  async function resume (token?: string): Promise<void> {
    if (token !== undefined) sessionStorage.setItem(TOKEN, token.trim().replace(/^Bearer +/i, ''))
    csrf = undefined
    if (!here.user) return location.reload()
    const { user, reason } = await identify()
    // What stands in the page is of the one who sat here.
    if (user && user.uid !== here.user.uid) return location.reload()
    here.reason = reason
    changed()
  }

  const isUntried = auth === 'jwt' && sessionStorage.getItem(TOKEN) === null
  return Object.assign(here, isUntried ? {} : await identify())
}

/** Asks for what only the desk needs. @throws {Error} where there is no good answer */
export async function ask<Body> (path: string, { options: { headers } }: Seat): Promise<Body> {
  const answer = await fetch(path, { headers: await headers?.() ?? {} })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
  return await answer.json()
}

function bearer (): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN)
  return token ? { authorization: `Bearer ${token}` } : {}
}

/** Drupal wants a token of its own with whatever is written under a session; it is to be had where Drupal is of the same origin. */
async function csrfToken (): Promise<Record<string, string>> {
  const answer = await fetch('/session/token', { signal: AbortSignal.timeout(TOKEN_MS) }).catch(() => undefined)
  const token = answer?.ok && answer.headers.get('content-type')?.startsWith('text/plain') ? await answer.text().catch(() => '') : ''
  return token ? { 'x-csrf-token': token } : {}
}
