import { createClient, QuoinError } from '../../client/src/client.ts'
import { outlive } from '../page/petitions.ts'
import type { Settings } from '../page/settings.ts'
import type { Connection } from './context.ts'

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 30_000

/** Header fields with the credentials of each request. */
export type Headers = () => Record<string, string> | Promise<Record<string, string>>

export interface Wish {
  url: string
  /** Needed where Quoin knows no callers (AUTH=none). */
  user: Connection['user'] | undefined
  headers: Headers
}

interface Shared {
  connection: Promise<Connection>
  /** Takes the credentials of the element that came last. */
  take: (headers: Headers) => void
}

/** By address and user. They stay as long as the page. */
const shared = new Map<string, Shared>()

/**
 * Connects with a Quoin, once for all elements of a page: they have one client, and so one event
 * stream for what is the same.
 * @throws {QuoinError} where Quoin does not answer, or does not know the caller
 */
export function connect({ url, user, headers }: Wish): Promise<Connection> {
  const key = `${url} ${user?.uid ?? ''}`
  const present = shared.get(key)
  if (present) {
    present.take(headers)
    return present.connection
  }
  let newest = headers
  const connection = begin(url, user, () => newest())
  const take = (headers: Headers) => {
    newest = headers
  }
  shared.set(key, { connection, take })
  connection.catch(() => shared.delete(key))
  return connection
}

async function begin(
  url: string,
  wished: Connection['user'] | undefined,
  headers: Headers
): Promise<Connection> {
  const ask = <Body>(path: string, signal?: AbortSignal) => get<Body>(url, path, headers, signal)
  const { user: caller, ...settings } = await ask<Settings & { user: Connection['user'] | null }>(
    'api/desk/settings'
  )
  const user = caller ?? wished
  if (!user) {
    throw new QuoinError(401, 'UNAUTHENTICATED', 'The element needs the attribute user-id')
  }
  const client = createClient({
    url,
    headers,
    user,
    fetch: outlive(fetch.bind(globalThis)),
    entityType: settings.model.entityType
  })
  client.locks.releaseOnPageHide()
  return { url, settings, user, client, ask }
}

async function get<Body>(
  url: string,
  path: string,
  headers: Headers,
  signal?: AbortSignal
): Promise<Body> {
  const patience = AbortSignal.timeout(ANSWER_MS)
  let answer: Response
  let body: unknown
  try {
    answer = await fetch(`${url}/${path}`, {
      credentials: 'include',
      headers: await headers(),
      signal: signal ? AbortSignal.any([signal, patience]) : patience
    })
    body = await answer.json()
  } catch (cause) {
    signal?.throwIfAborted()
    throw new QuoinError(0, 'UNREACHABLE', 'Quoin could not be reached', { cause })
  }
  if (answer.ok) return body as Body
  const { code = 'INVALID_RESPONSE', message = `${answer.status}` } = body as Partial<QuoinError>
  throw new QuoinError(answer.status, code, message)
}
