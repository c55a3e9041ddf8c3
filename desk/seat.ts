import type { ClientOptions } from '../lib/client/client.ts'
import { seatOf } from './address.ts'
import type { Settings } from './settings.ts'

/** Who sits at the page, and how its client says so; without a user, why nobody does. */
export interface Seat {
  auth: Settings['auth']
  user?: { uid: string, name?: string }
  options: ClientOptions
  /** Why nobody is known, in the service's words. */
  reason?: string
}

/** Where a bearer token is kept: by the tab alone, until it is closed. */
const TOKEN = 'quoin-token'

/**
 * Who sits here. With AUTH=none it is whoever `?as=` names; with AUTH=drupal the session cookie tells, and with AUTH=jwt
 * a token that the reader gives.
 */
export async function seat ({ auth }: Settings): Promise<Seat> {
  if (auth === 'none') {
    const user = seatOf(location.search)
    return { auth, options: user ? { user } : {}, ...(user && { user }) }
  }
  const headers = auth === 'jwt' ? bearer() : await csrf()
  const answer = await fetch('/api/desk/me', { headers }).catch(() => undefined)
  const body = await answer?.json().catch(() => undefined) as { user?: { uid: string, name?: string }, message?: string } | undefined
  const options = Object.keys(headers).length === 0 ? {} : { headers: () => headers }
  if (answer?.ok && body?.user) return { auth, user: body.user, options }
  const isUntried = auth === 'jwt' && !headers['authorization']
  return { auth, options, ...(!isUntried && { reason: body?.message ?? 'The service cannot be reached.' }) }
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

/** Takes a token and begins again with it. */
export function signIn (token: string): void {
  sessionStorage.setItem(TOKEN, token.trim().replace(/^Bearer +/i, ''))
  location.reload()
}

/** Drupal wants a token of its own with whatever is written under a session; it is to be had where Drupal is of the same origin. */
async function csrf (): Promise<Record<string, string>> {
  const answer = await fetch('/session/token').catch(() => undefined)
  const token = answer?.ok && answer.headers.get('content-type')?.startsWith('text/plain') ? await answer.text() : ''
  return token ? { 'x-csrf-token': token } : {}
}
