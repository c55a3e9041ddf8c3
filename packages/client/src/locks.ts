import { unlessAborted, type Abortable } from './abort.ts'
import { errorOf, type QuoinError } from './error.ts'
import type { Listener, Subscribe } from './feed.ts'
import { hold, type Field, type Grant, type Held, type Hold, type Content } from './held.ts'
import type { Answer, Http, Request } from './http.ts'
import type { Later } from './later.ts'
import type { Draft, LockedEntity, LockRecord, Proposal } from './wire.ts'

/** Who locks. `uid` and `name` are shown to the others; more members are kept. */
export interface User {
  uid: string | number
  name?: string
  [more: string]: unknown
}

export interface AcquireOptions extends Abortable {
  /** The field's text, to be kept in the lock. */
  payload?: string | undefined
  /**
   * Called once when the lock is lost, unless this page took it anew. `error.lock` says who has the
   * field now, if anybody has.
   */
  onLost?(error: QuoinError): void
}

export interface LocksDeps {
  http: Http
  user: User | undefined
  feed: Subscribe
  later: Later
}

/** Field locks, as one page holds them, and what users tell one another of fields. */
export interface Locks {
  /**
   * Locks a field that nobody holds. A lock that the user has already, in another tab or left by a
   * closed one, is taken over with its text, and this page's own with what it could not send yet:
   * see `found`. When the call is aborted the user has the locks that they had before, and no
   * other.
   * @throws {QuoinError} FIELD_LOCKED when another holds the field: see `lock`
   */
  acquire(field: Field, options?: AcquireOptions): Promise<Held>
  /**
   * Locks a field, whoever holds it; the text of another's lock is kept as a draft.
   * @param options.version only if the lock is still the one that was seen
   * @throws {QuoinError} LOCK_CHANGED when it is not
   */
  overwrite(
    field: Field,
    options?: AcquireOptions & { version?: string | undefined }
  ): Promise<Held>
  /**
   * Releases the user's own lock of a field or, without `fieldName`, all of the entity, this page's
   * or not.
   * @param options.version of a field: only if the lock is still the one that was seen, which may
   *   have expired
   */
  release(
    what: LockedEntity & { fieldName?: string },
    options?: Abortable & { version?: string | undefined }
  ): Promise<void>
  /**
   * The locks of an entity, or that of one field, by field.
   * @param options.payload false leaves the texts out
   */
  list(
    what: LockedEntity & { fieldName?: string },
    options?: Abortable & { payload?: boolean | undefined }
  ): Promise<LockRecord[]>
  /**
   * The user's texts that somebody else displaced, or whose locks have expired, the newest first.
   */
  drafts(entity: LockedEntity, options?: Abortable & { fieldName?: string }): Promise<Draft[]>
  /**
   * Discards the user's drafts of a field or, without `fieldName`, all of the entity; with
   * `draft`, only the one with this id.
   */
  discard(
    what: LockedEntity & { fieldName?: string; draft?: string },
    options?: Abortable
  ): Promise<void>
  /**
   * Asks the holder of a field for it, for 60 seconds or until `withdraw`; called again it goes
   * on. Nothing is taken from them.
   * @throws {QuoinError} FIELD_NOT_LOCKED when nobody else holds the field; TOO_MANY_REQUESTS
   */
  ask(field: Field, options?: Abortable): Promise<void>
  /** Asks for a field no longer. */
  withdraw(field: Field, options?: Abortable): Promise<void>
  /**
   * Tells those who follow an entity that the user has it open, for 90 seconds or until `leave`;
   * called again it goes on.
   * @throws {QuoinError} TOO_MANY_REQUESTS when as many users as are shown have it open
   */
  attend(entity: LockedEntity, options?: Abortable): Promise<void>
  /** Has the entity open no longer. */
  leave(entity: LockedEntity, options?: Abortable): Promise<void>
  /**
   * Proposes a text for a field, whoever holds it. It is open until somebody takes or discards it,
   * or the user withdraws it.
   * @param options.base the state that it was made from: the edition's `etag`, or a lock's `version`
   * @throws {QuoinError} TOO_MANY_REQUESTS when as many are open as may be: settle one of them
   */
  propose(
    field: Field,
    payload: string,
    options?: Abortable & { base?: string; reason?: string }
  ): Promise<Proposal>
  /**
   * The open proposals for an entity or a field, the newest first.
   * @param options.settled what became of the user's own, in place of those that are open
   */
  proposals(
    what: LockedEntity & { fieldName?: string },
    options?: Abortable & { settled?: boolean }
  ): Promise<Proposal[]>
  /**
   * Says that a proposal was taken: save its text as any other.
   * @throws {QuoinError} CONFLICT when it is settled already
   */
  takeProposal(entity: LockedEntity, id: string, options?: Abortable): Promise<void>
  /** Discards a proposal of somebody else's. */
  discardProposal(entity: LockedEntity, id: string, options?: Abortable): Promise<void>
  /** Withdraws the user's own proposal. */
  withdrawProposal(entity: LockedEntity, id: string, options?: Abortable): Promise<void>
  /**
   * Follows the locks of an entity until `signal` is aborted, or the returned function is called.
   */
  subscribe(entity: LockedEntity, listener: Listener, options?: Abortable): () => void
  /**
   * Releases what is held when the page closes, until `signal` is aborted or the returned function
   * is called. A lock with a typed text stays, so that the user finds the text again; the service
   * keeps it as a draft when somebody else takes the field. What is not in the lock yet is sent.
   * `onLost` tells what was released, in case the browser shows the page again. On a server there is
   * no page, and nothing to do.
   * @param page by default the window
   */
  releaseOnPageHide(page?: PageEvents, options?: Abortable): () => void
}

/** How often to ask for a lock that another tab of the user keeps changing. */
const ATTEMPTS = 3

/** The locks of one page. Every operation throws a QuoinError. */
export function createLocks({ http, user, feed, later }: LocksDeps): Locks {
  const uid = user && String(user.uid)
  /** What this page holds, by field. */
  const holds = new Map<string, Hold>()

  /** Writes a lock. */
  async function write(
    method: 'POST' | 'PUT',
    field: Field,
    content: Content,
    headers: Record<string, string>
  ): Promise<Grant> {
    return grantedBy(
      await http.send(method, pathOf(field), { body: bodyOf(field, content), headers })
    )
  }

  /**
   * Takes a lock. An abort does not end the request, since its answer alone tells whether it was
   * granted. A lock that is granted after that is released. One that the user had before stays, and
   * so does what this page holds of it.
   */
  async function take(
    method: 'POST' | 'PUT',
    field: Field,
    content: Content,
    headers: Record<string, string>,
    { signal, isOwn = false }: Abortable & { isOwn?: boolean }
  ): Promise<Grant> {
    signal?.throwIfAborted()
    holds.get(keyOf(field))?.expect(content)
    const request = write(method, field, content, headers)
    return unlessAborted(request, signal).catch((error) => {
      if (signal?.aborted) {
        request.then(
          (grant) => giveBack(field, grant, isOwn),
          () => {}
        )
      }
      throw error
    })
  }

  function giveBack(field: Field, grant: Grant, isOwn: boolean): void {
    const present = holds.get(keyOf(field))
    if (present) present.renew()
    else if (!isOwn) {
      keep(field, grant, {})
        .release()
        .catch(() => {})
    }
  }

  function bodyOf({ fieldName }: Partial<Field>, { typedAt, ...content }: Content = {}): object {
    return { fieldName, userData: { ...user, typedAt }, ...content }
  }

  function keep(
    field: Field,
    grant: Grant,
    text: Content,
    onLost?: AcquireOptions['onLost'],
    earlierText?: string
  ): Held {
    const key = keyOf(field)
    // A lock of before is over, even if nothing has noticed yet.
    holds.get(key)?.drop()
    const lock = hold({
      field: { type: field.type, id: field.id, fieldName: field.fieldName },
      grant,
      text,
      found: earlierText,
      onLost,
      later,
      write: (text, version) => write('POST', field, text, ifMatch(version)),
      // One that has expired, and that nobody has taken since, is listed among the drafts alone.
      read: async () => (await list(field)).at(0) ?? (await drafts(field, field)).at(0),
      remove: (version, signal) => remove(field, version, signal),
      onEnd: () => holds.delete(key)
    })
    holds.set(key, lock)
    return lock.held
  }

  async function acquire(
    field: Field,
    { payload, onLost, signal }: AcquireOptions = {}
  ): Promise<Held> {
    let ownLock: LockRecord | undefined
    for (let tries = 1; ; tries++) {
      const {
        payload: text = ownLock?.payload ?? payload,
        typedAt = ownLock?.userData['typedAt']
      } = holds.get(keyOf(field))?.newerThan(ownLock) ?? {}
      const content = { payload: text, typedAt, timestamp: sinceOf(ownLock) }
      try {
        const grant = await take(
          'POST',
          field,
          content,
          ownLock ? ifMatch(ownLock.version) : { 'if-none-match': '*' },
          { signal, isOwn: ownLock !== undefined }
        )
        return keep(field, grant, content, onLost, text === payload ? undefined : text)
      } catch (error) {
        if (tries === ATTEMPTS || !isChanged(error)) throw error
        // By the time of the answer it may be another's.
        const mine = uid ?? (error as QuoinError).lock?.userData.uid
        ownLock = (await list(field, { signal })).find(({ userData }) => userData.uid === mine)
      }
    }
  }

  async function overwrite(
    field: Field,
    { payload, onLost, version, signal }: AcquireOptions & { version?: string | undefined } = {}
  ): Promise<Held> {
    return keep(
      field,
      await take('PUT', field, { payload }, ifMatch(version), { signal }),
      { payload },
      onLost
    )
  }

  /** A call that posts who the user is to a path of an entity. */
  function poster<What extends LockedEntity>(path: string) {
    return async (what: What, options?: Abortable): Promise<void> => {
      await http.send('POST', pathOf(what) + path, { ...options, body: bodyOf(what) })
    }
  }

  /** A call that deletes what is this user's at a path of an entity. */
  function dropper<
    What extends LockedEntity & { fieldName?: string; draft?: string },
    Options extends Request = Abortable
  >(path = '') {
    return async (what: What, options?: Options): Promise<void> => {
      await http.send('DELETE', pathOf(what) + path, { ...ownOf(what), ...options })
    }
  }

  const drop = dropper<LockedEntity & { fieldName?: string }, Request>()

  function remove(
    what: LockedEntity & { fieldName?: string },
    version?: string,
    signal?: AbortSignal
  ): Promise<void> {
    return drop(what, { signal, headers: ifMatch(version) })
  }

  /** What of an entity is this user's. */
  function ownOf({
    fieldName,
    draft
  }: {
    fieldName?: string
    draft?: string
  }): Pick<Request, 'query'> {
    return { query: { fieldName, uid, draft } }
  }

  async function itemsOf<Item>(path: string, request: Request): Promise<Item[]> {
    return (await http.send<{ data: { Items: Item[] } }>('GET', path, request)).body.data.Items
  }

  async function release(
    what: LockedEntity & { fieldName?: string },
    { version, signal }: Abortable & { version?: string | undefined } = {}
  ): Promise<void> {
    await remove(what, version, signal).catch((error) => {
      if (!isChanged(error)) throw error
    })
  }

  async function list(
    what: LockedEntity & { fieldName?: string },
    { payload = true, signal }: Abortable & { payload?: boolean | undefined } = {}
  ): Promise<LockRecord[]> {
    return itemsOf(pathOf(what), {
      query: { fieldName: what.fieldName, payload: payload ? undefined : 0 },
      signal
    })
  }

  async function drafts(
    entity: LockedEntity,
    { signal, ...what }: Abortable & { fieldName?: string } = {}
  ): Promise<Draft[]> {
    return itemsOf(`${pathOf(entity)}/drafts`, { ...ownOf(what), signal })
  }

  async function propose(
    field: Field,
    payload: string,
    { base, reason, signal }: Abortable & { base?: string; reason?: string } = {}
  ): Promise<Proposal> {
    const body = { ...bodyOf(field, { payload }), base, reason }
    const path = `${pathOf(field)}/proposals`
    return (await http.send<{ data: Proposal }>('POST', path, { body, signal })).body.data
  }

  async function proposals(
    { fieldName, ...entity }: LockedEntity & { fieldName?: string },
    { settled, signal }: Abortable & { settled?: boolean } = {}
  ): Promise<Proposal[]> {
    const query = settled ? { fieldName, uid, settled } : { fieldName }
    return itemsOf(`${pathOf(entity)}/proposals`, { query, signal })
  }

  /** A call that settles a proposal. The service knows the author's, and notes it as withdrawn. */
  function settler(taken?: boolean) {
    return async (entity: LockedEntity, id: string, { signal }: Abortable = {}): Promise<void> => {
      const query = { uid, name: user?.name, taken }
      await http.send('DELETE', `${pathOf(entity)}/proposals/${encodeURIComponent(id)}`, {
        query,
        signal
      })
    }
  }

  function subscribe(entity: LockedEntity, listener: Listener, options?: Abortable): () => void {
    return feed(`${pathOf(entity)}/events`, listener, options)
  }

  function releaseOnPageHide(
    page: PageEvents = globalThis as unknown as PageEvents,
    { signal }: Abortable = {}
  ): () => void {
    function release(): void {
      for (const { held: handle, leave, unsent } of holds.values()) {
        if (handle.isTyped) {
          const left = unsent()
          if (left) http.outlive(pathOf(handle), bodyOf(handle, left.text), ifMatch(left.version))
        } else {
          // In this version: by now the lock, and a text in it, may be that of another window of
          // the same user.
          http.outlive(
            `${pathOf(handle)}/release`,
            { fieldName: handle.fieldName, uid },
            ifMatch(handle.version)
          )
          leave()
        }
      }
    }
    page.addEventListener?.('pagehide', release, { signal } as { signal: AbortSignal })
    return () => page.removeEventListener?.('pagehide', release)
  }

  return {
    acquire,
    overwrite,
    release,
    list,
    drafts,
    discard: dropper('/drafts'),
    ask: poster<Field>('/requests'),
    withdraw: dropper<Field>('/requests'),
    attend: poster<LockedEntity>('/presence'),
    leave: dropper<LockedEntity>('/presence'),
    propose,
    proposals,
    takeProposal: settler(true),
    discardProposal: settler(),
    withdrawProposal: settler(),
    subscribe,
    releaseOnPageHide
  }
}

/** The part of a window that the client uses. */
export interface PageEvents {
  addEventListener(type: string, listener: () => void, options: { signal?: AbortSignal }): void
  removeEventListener(type: string, listener: () => void): void
}

function keyOf(field: Field): string {
  return `${pathOf(field)}#${field.fieldName}`
}

function pathOf({ type, id }: LockedEntity): string {
  return `/api/cloud/data-state/${encodeURIComponent(type)}/${encodeURIComponent(id)}`
}

/**
 * The condition that a lock is in this version still; none for a record without one, which another
 * program has written.
 */
function ifMatch(version: string | undefined): Record<string, string> {
  return version === undefined ? {} : { 'if-match': `"${version}"` }
}

/**
 * Since when a lock is its user's, in seconds. Records of other programs may have anything there.
 */
function sinceOf(lock: LockRecord | undefined): number | undefined {
  return Number.isSafeInteger(lock?.timestamp) && lock!.timestamp >= 0 ? lock!.timestamp : undefined
}

function isChanged(error: unknown): boolean {
  return (error as QuoinError).code === 'LOCK_CHANGED'
}

/**
 * What an answer says of the lock that it granted. A proxy that compresses makes the entity tag
 * weak; it names the version all the same.
 */
function grantedBy({ headers }: Answer<unknown>): Grant {
  const version = /"([^"]+)"/.exec(headers.get('etag') ?? '')?.[1]
  if (version === undefined) throw errorOf(200)
  const [timestamp, expiresAt] = ['lock-since', 'lock-expires'].map(
    (name) => Number(headers.get(name)) || undefined
  )
  return {
    version,
    timestamp,
    expiresAt,
    aheadMs: Date.parse(headers.get('date') ?? '') - Date.now() || 0
  }
}
