import type { ClientOptions, QuoinError } from '../../client/src/client.ts'
import { seatOf } from './address.ts'
import { bearer, TOKEN, tokenOfTab, withAnswers } from './early-answers.ts'
import { signInReason } from './reasons.ts'
import type { Settings } from './settings.ts'
import { say } from './texts.ts'

/** Somebody as the service knows them. */
interface Person {
  uid: string
  name?: string
}

/** Who sits at the page, and how its client says so. */
export interface Seat {
  auth: Settings['auth']
  user?: Person
  /**
   * Who is signed in by now, if it is somebody else: then the page sends nothing, and shows nothing
   * of its user.
   */
  other?: Person | undefined
  options: ClientOptions
  /** Why nobody is signed in, or no longer, in words for the reader. */
  reason?: string | undefined
  /**
   * Begins, or goes on where the session of the same user had ended; with AUTH=jwt with this token.
   */
  resume: (token?: string) => Promise<void>
  /** Looks who is signed in now. */
  check: () => Promise<void>
  /** Begins anew as whoever is signed in by now. */
  leave: () => void
  /** Forgets the token, with AUTH=jwt, and begins anew. */
  signOut: () => void
}

/** Fetches. It hands out early answers in the place of a request. */
export const fetchOnce = withAnswers(window.early ?? new Map(), location.href)

/** How long Drupal may take to give its token, in milliseconds. */
const TOKEN_MS = 10_000

/** How long to wait before the owner of a token is asked for again, in milliseconds. */
const AGAIN_MS = 3000

/**
 * How long leaving the page may take, in milliseconds. No time passes while the browser asks its
 * reader.
 */
const LEAVING_MS = 10_000

/** What Drupal wants with each write under a session. */
const CSRF = 'x-csrf-token'

/**
 * After these somebody else may be signed in: nobody is, the caller may not, or another holds the
 * field.
 */
const SUSPECT = new Set([401, 403, 423])

/** The addresses of lock writes and reads. */
const LOCKS = /\/api\/cloud\/data-state\//

/**
 * Who sits here. With AUTH=none it is whoever `?as=` names; with AUTH=drupal the session cookie
 * tells, and with AUTH=jwt a token that the reader gives.
 * @param onChange told when the session has ended, or goes on
 */
export async function seat({ auth }: Settings, onChange: () => void): Promise<Seat> {
  if (auth === 'none') {
    const user = seatOf(location.search)
    return {
      auth,
      options: user ? { user } : {},
      ...(user && { user }),
      resume: async () => {},
      check: async () => {},
      leave: () => {},
      signOut: () => {}
    }
  }
  let csrf: Promise<Record<string, string>> | undefined
  /**
   * Whether nobody could say who sits here: then any good answer tells that the caller is known.
   */
  let isUnknown = false
  let checking: Promise<void> | undefined
  /** The token to go on with once the page is left; null for none. */
  let next: string | null | undefined
  const headers = auth === 'jwt' ? () => bearer(tokenOfTab()) : () => (csrf ??= csrfToken())
  const here: Seat = {
    auth,
    options: { headers, fetch: fetchWatched },
    resume,
    check,
    leave: () => location.reload(),
    signOut
  }

  async function fetchWatched(...request: Parameters<typeof fetch>): Promise<Response> {
    if (here.other) throw new TypeError('Somebody else is signed in')
    const answer = await fetchInSession(...request)
    if (answer.status === 401) {
      here.reason = say('sessionEnded')
      onChange()
    }
    if (isUnknown && answer.ok) {
      isUnknown = false
      here.reason = undefined
      onChange()
    }
    if (SUSPECT.has(answer.status) || (await isRefusal(answer))) check()
    return answer
  }

  /**
   * Drupal refuses the token of an earlier session, and does nothing. After another login the
   * request is sent again with the token of the new one.
   */
  async function fetchInSession(
    url: Parameters<typeof fetch>[0],
    init: RequestInit = {}
  ): Promise<Response> {
    const answer = await fetchOnce(url, init)
    if (answer.status !== 401 && answer.status !== 403) return answer
    csrf = undefined
    if (answer.status === 401 || auth !== 'drupal') return answer
    const fresh = await headers()
    const { [CSRF]: token } = fresh
    const isSame = token === undefined || token === new Headers(init.headers).get(CSRF)
    return isSame ? answer : fetchOnce(url, { ...init, headers: { ...init.headers, ...fresh } })
  }

  async function identify(headers: HeadersInit): Promise<Pick<Seat, 'user' | 'reason'>> {
    const answer = await fetch('api/desk/me', { headers }).catch(() => undefined)
    const body = (await answer?.json().catch(() => undefined)) as
      { user?: Person; code: QuoinError['code']; message: string } | undefined
    isUnknown = !answer?.ok && answer?.status !== 401
    return answer?.ok && body?.user ? { user: body.user } : { reason: signInReason(body) }
  }

  /** Notes who is signed in now. The page shows what belongs to `here.user`. */
  function become(user: Person): void {
    here.other = user.uid === here.user!.uid ? undefined : user
    if (!here.other) here.reason = undefined
    onChange()
  }

  function check(): Promise<void> {
    checking ??= look().finally(() => {
      checking = undefined
    })
    return checking
  }

  async function look(): Promise<void> {
    if (!here.user) return
    const { user } = await identify(await headers())
    // A token that waits for the reload belongs to somebody else already.
    if (user && next === undefined) become(user)
  }

  async function resume(token?: string): Promise<void> {
    const newToken = token?.trim().replace(/^Bearer +/i, '')
    csrf = undefined
    if (!here.user) {
      if (newToken !== undefined) sessionStorage.setItem(TOKEN, newToken)
      return location.reload()
    }
    const { user, reason } = await identify(
      newToken === undefined ? await headers() : bearer(newToken)
    )
    if (!user) {
      here.reason = reason
      // The owner of the token is asked for again soon.
      if (isUnknown) setTimeout(resume, AGAIN_MS, token)
      return onChange()
    }
    next = undefined
    if (newToken !== undefined) {
      if (user.uid === here.user.uid) sessionStorage.setItem(TOKEN, newToken)
      else next = newToken
    }
    become(user)
  }

  function signOut(): void {
    next = null
    location.reload()
    // The reader may stay when the browser asks: then the token stays too.
    setTimeout(() => {
      next = undefined
    }, LEAVING_MS)
  }

  const isUntried = auth === 'jwt' && sessionStorage.getItem(TOKEN) === null
  Object.assign(here, isUntried ? {} : await identify(await headers()))
  if (here.user) {
    here.options.user = { ...here.user }
    addEventListener('pagehide', () => {
      if (next === null) sessionStorage.removeItem(TOKEN)
      else if (next !== undefined) sessionStorage.setItem(TOKEN, next)
    })
    addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') check()
    })
  }
  return here
}

/** Asks for what only the desk needs. @throws {Error} where there is no good answer */
export async function ask<Body>(
  path: string,
  { options: { headers } }: Seat,
  signal?: AbortSignal
): Promise<Body> {
  const answer = await fetchOnce(path, {
    headers: (await headers?.()) ?? {},
    ...(signal && { signal })
  })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`)
  return await answer.json()
}

/** Whether a lock was refused with the status 200, as LOCK_REFUSED_STATUS=200 has it. */
async function isRefusal(answer: Response): Promise<boolean> {
  if (answer.status !== 200 || !LOCKS.test(answer.url)) return false
  const body = (await answer
    .clone()
    .json()
    .catch(() => undefined)) as { success?: boolean } | undefined
  return body?.success === false
}

/**
 * Drupal wants a token of its own with whatever is written under a session; it is to be had where
 * Drupal is of the same origin.
 */
async function csrfToken(): Promise<Record<string, string>> {
  const answer = await fetch('/session/token', { signal: AbortSignal.timeout(TOKEN_MS) }).catch(
    () => undefined
  )
  const token =
    answer?.ok && answer.headers.get('content-type')?.startsWith('text/plain')
      ? await answer.text().catch(() => '')
      : ''
  return token ? { [CSRF]: token } : {}
}
