import { QuoinError } from './error.ts'
import type { createFeed, Listener } from './feed.ts'
import { hold, type Field, type Granted, type Held } from './held.ts'
import type { Abortable, Answer, Http } from './http.ts'
import type { Later } from './later.ts'
import type { Draft, LockedEntity, LockRecord } from './wire.ts'

/** Who locks. `uid` and `name` are shown to the others; more members are kept. */
export interface User { uid: string | number, name?: string, [more: string]: unknown }

export interface AcquireOptions extends Abortable {
  /** The field's text, to be kept in the lock. */
  payload?: string
  /** Hears, once, that the lock is not this one any more, unless this page took it anew: `error.lock` says whose it is, if anybody's. */
  onLost? (error: QuoinError): void
}

export interface LocksDeps {
  http: Http
  user: User | undefined
  feed: ReturnType<typeof createFeed>
  later: Later
}

export type Locks = ReturnType<typeof createLocks>

/** How often a lock of the user's own is asked for that another tab keeps changing. */
const ATTEMPTS = 3

/** What a lock is to hold, and since when its user has it; without that the service takes the time. */
interface Text { payload: string | undefined, since?: number | undefined }

/** Field locks, as one page holds them. */
export function createLocks ({ http, user, feed, later }: LocksDeps) {
  const uid = user && String(user.uid)
  const kept = new Set<ReturnType<typeof hold>>()

  /** Writes a lock. */
  async function write (method: 'POST' | 'PUT', { type, id, fieldName }: Field, text: Text, headers: Record<string, string>, signal?: AbortSignal): Promise<Granted> {
    return grantedBy(await http.send(method, pathOf({ type, id }), { body: bodyOf(fieldName, text), headers, signal }))
  }

  function bodyOf (fieldName: string, { payload, since }: Text): object {
    return { fieldName, ...(user && { userData: user }), ...(payload !== undefined && { payload }), ...(since !== undefined && { timestamp: since }) }
  }

  function keep (field: Field, granted: Granted, payload: string | undefined, { onLost, found }: { onLost: AcquireOptions['onLost'], found?: string | undefined }): Held {
    // The one of before is over, be it that nobody here has noticed yet.
    for (const { held, drop } of kept) if (isSame(held, field)) drop()
    const lock = hold({
      field: { type: field.type, id: field.id, fieldName: field.fieldName },
      granted,
      payload,
      found,
      onLost,
      later,
      write: (payload, version) => write('POST', field, { payload, since: granted.since }, ifMatch(version)),
      // One that has expired, and that nobody has taken since, is listed among the drafts alone.
      read: async () => (await list(field)).at(0) ?? (await drafts(field, field)).at(0),
      remove: (version) => remove(field, version),
      onEnd: () => kept.delete(lock)
    })
    kept.add(lock)
    return lock.held
  }

  /** What the page has not been able to send to a lock, or to one that is gone by now. */
  function newerHere (field: Field, lock: LockRecord | undefined): string | undefined {
    for (const { held, newerThan } of kept) if (isSame(held, field)) return newerThan(lock)
  }

  /**
   * Locks a field that nobody holds. A lock that the user has already, in another tab or left by a closed one, is taken
   * over with its text, and this page's own with what it could not send yet: see `found`.
   * @throws {QuoinError} FIELD_LOCKED when another holds the field: see `lock`
   */
  async function acquire (field: Field, { payload, onLost, signal }: AcquireOptions = {}): Promise<Held> {
    let own: LockRecord | undefined
    async function take (): Promise<Held> {
      const text = newerHere(field, own) ?? own?.payload ?? payload
      const granted = await write('POST', field, { payload: text, since: sinceOf(own) }, own ? stillAs(own) : { 'if-none-match': '*' }, signal)
      return keep(field, granted, text, { onLost, found: text === payload ? undefined : text })
    }
    for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
      try {
        return await take()
      } catch (error) {
        if (!isChanged(error)) throw error
        // By the time of the answer it may be another's.
        const mine = uid ?? (error as QuoinError).lock?.userData.uid
        own = (await list(field, { signal })).find(({ userData }) => userData.uid === mine)
      }
    }
    return take()
  }

  /**
   * Locks a field, whoever holds it; the text of another's lock is kept as a draft.
   * @param options.version only if the lock is still the one that was seen
   * @throws {QuoinError} LOCK_CHANGED when it is not
   */
  async function overwrite (field: Field, { payload, onLost, version, signal }: AcquireOptions & { version?: string | undefined } = {}): Promise<Held> {
    return keep(field, await write('PUT', field, { payload }, version === undefined ? {} : ifMatch(version), signal), payload, { onLost })
  }

  async function remove ({ type, id, fieldName }: LockedEntity & { fieldName?: string }, version?: string, signal?: AbortSignal): Promise<void> {
    await http.send('DELETE', pathOf({ type, id }), { query: { fieldName, uid }, signal, ...(version !== undefined && { headers: ifMatch(version) }) })
  }

  /**
   * Releases the user's own lock of a field or, without `fieldName`, all of the entity, this page's or not.
   * @param options.version of a field: only if the lock is still the one that was seen, which may have expired
   */
  async function release (what: LockedEntity & { fieldName?: string }, { version, signal }: Abortable & { version?: string | undefined } = {}): Promise<void> {
    await remove(what, version, signal).catch((error) => { if (!isChanged(error)) throw error })
  }

  /**
   * The locks of an entity, or that of one field, by field.
   * @param options.payload false leaves the texts out
   */
  async function list ({ type, id, fieldName }: LockedEntity & { fieldName?: string }, { payload = true, signal }: Abortable & { payload?: boolean } = {}): Promise<LockRecord[]> {
    const { body } = await http.send<{ data: { Items: LockRecord[] } }>('GET', pathOf({ type, id }), { query: { fieldName, payload: payload ? undefined : 0 }, signal })
    return body.data.Items
  }

  /** The user's texts that somebody else displaced, or whose locks have expired, the newest first. */
  async function drafts ({ type, id }: LockedEntity, { fieldName, signal }: Abortable & { fieldName?: string } = {}): Promise<Draft[]> {
    const { body } = await http.send<{ data: { Items: Draft[] } }>('GET', `${pathOf({ type, id })}/drafts`, { query: { fieldName, uid }, signal })
    return body.data.Items
  }

  /** Discards the user's drafts of a field or, without `fieldName`, all of the entity; with `draft`, only the one with this id. */
  async function discard ({ type, id, fieldName, draft }: LockedEntity & { fieldName?: string, draft?: string }, { signal }: Abortable = {}): Promise<void> {
    await http.send('DELETE', `${pathOf({ type, id })}/drafts`, { query: { fieldName, uid, draft }, signal })
  }

  /** Follows the locks of an entity until what it returns is called. */
  function subscribe ({ type, id }: LockedEntity, listener: Listener): () => void {
    return feed(`${pathOf({ type, id })}/events`, listener)
  }

  /**
   * Releases what is held when the page closes, until what it returns is called. A lock with a typed text stays, so that
   * the text is there when the user comes back, and is kept as a draft when somebody else takes the field; what is not in
   * it yet of the text is sent. Should the browser show the page again as it was left, onLost has told what was released.
   */
  function releaseOnPageHide (page: Page = globalThis as unknown as Page): () => void {
    function release (): void {
      for (const { held: { type, id, fieldName, isTyped, version }, since, leave, unsent } of kept) {
        const left = isTyped ? unsent() : undefined
        if (left) http.outlive(pathOf({ type, id }), bodyOf(fieldName, { payload: left.text, since }), left.version === undefined ? {} : ifMatch(left.version))
        if (isTyped) continue
        // In this one: by now the lock, and a text in it, may be that of another window of the same user.
        http.outlive(`${pathOf({ type, id })}/release`, { fieldName, uid }, ifMatch(version))
        leave()
      }
    }
    page.addEventListener('pagehide', release)
    return () => page.removeEventListener('pagehide', release)
  }

  return { acquire, overwrite, release, list, drafts, discard, subscribe, releaseOnPageHide }
}

/** What is used of a window. */
interface Page {
  addEventListener (type: string, listener: () => void): void
  removeEventListener (type: string, listener: () => void): void
}

function isSame (one: Field, other: Field): boolean {
  return one.type === other.type && one.id === other.id && one.fieldName === other.fieldName
}

function pathOf ({ type, id }: LockedEntity): string {
  return `/api/cloud/data-state/${encodeURIComponent(type)}/${encodeURIComponent(id)}`
}

function ifMatch (version: string): Record<string, string> {
  return { 'if-match': `"${version}"` }
}

/** What something else than Quoin has written has no version. */
function stillAs ({ version }: LockRecord): Record<string, string> {
  return version === undefined ? {} : ifMatch(version)
}

/** Since when a lock is its user's; records of others may say it in another way. */
function sinceOf (lock: LockRecord | undefined): number | undefined {
  return Number.isSafeInteger(lock?.timestamp) && lock!.timestamp >= 0 ? lock!.timestamp : undefined
}

function isChanged (error: unknown): boolean {
  return (error as QuoinError).code === 'LOCK_CHANGED'
}

/** A proxy that compresses makes an entity tag a weak one; a lock's version it is all the same. */
function grantedBy ({ headers }: Answer<unknown>): Granted {
  const version = /"([^"]+)"/.exec(headers.get('etag') ?? '')?.[1]
  if (version === undefined) throw new QuoinError(200, 'INVALID_RESPONSE', 'The answer has no ETag')
  const since = headers.get('lock-since')
  const granted = { version, since: since === null ? undefined : Number(since) }
  const expires = headers.get('lock-expires')
  if (expires === null) return { ...granted, expiresAt: undefined, leaseMs: undefined }
  const expiresAt = Number(expires)
  const date = Date.parse(headers.get('date') ?? '') || Date.now()
  return { ...granted, expiresAt, leaseMs: expiresAt * 1000 - date }
}
