import { unlessAborted, type Abortable } from './abort.ts'
import { QuoinError } from './error.ts'
import { backoff, type Later } from './later.ts'

/** A field: of which entity, and its name. */
export interface Field {
  type: string
  id: string
  fieldName: string
}

/** What the service says of a lock that it granted. */
export interface Grant {
  version: string
  /** The lock's `timestamp`: since when the user has it. Every renewal sends it again. */
  timestamp: number | undefined
  /** Unix time in seconds when the lock ends unless it is renewed. */
  expiresAt: number | undefined
  /** By how much the service's clock is ahead of this machine's, in milliseconds. */
  aheadMs: number
}

/** A lock that this client holds, and renews until it is released or lost. */
export interface Held extends Field {
  /** Another one after every write. */
  readonly version: string
  /** Unix time in seconds, of the service's clock, when the lock ends unless it is renewed. */
  readonly expiresAt: number | undefined
  /**
   * The text that this lock took over instead of the given one: from the user's earlier lock, in
   * another tab or in one that was closed, or from this page, which could not send it yet.
   */
  readonly found: string | undefined
  /**
   * Whether the lock has a typed text: given to `save`, or found. A closing page does not release
   * such a lock, so that the text stays.
   */
  readonly isTyped: boolean
  /**
   * Keeps the text in the lock. The client sends one text at a time; of those that are typed
   * meanwhile, the last follows. A text that could not be sent for the moment is sent again. An
   * aborted one gives way to the text before it; if it was on its way already, it may be in the
   * lock until the next write.
   * @param options.age how long ago it was typed, in milliseconds; by default it was just now
   * @throws {QuoinError} FIELD_LOCKED, LOCK_CHANGED when the lock is not this one any more: nothing
   *   was written
   */
  save(payload: string, options?: Abortable & { age?: number }): Promise<void>
  /**
   * Releases the field. A lock that has become another's is left alone. A release that fails for
   * the moment is tried again, unless it is aborted.
   * @throws {QuoinError} when that could not be done; it may be called again
   */
  release(options?: Abortable): Promise<void>
}

/** The lock that the table has: this one, or another. */
interface Lock {
  version?: string
  payload?: string
}

/** What a lock is written with. */
export interface Content {
  /** Its text. */
  payload?: string | undefined
  /**
   * When its user last typed, in seconds of the service's clock; undefined where nothing was typed.
   */
  typedAt?: unknown
  /** Since when the user has it, in seconds: by default the service's present time. */
  timestamp?: number | undefined
}

/**
 * A text to be written to the lock in this version. Without one, in any: a write under way makes a
 * version that is not known yet.
 */
interface Unsent {
  text: Content
  version: string | undefined
}

export interface HeldDeps {
  field: Field
  grant: Grant
  text: Content
  found: string | undefined
  onLost: ((error: QuoinError) => void) | undefined
  later: Later
  /** Writes the lock if it is still in this version. */
  write(text: Content, version: string): Promise<Grant>
  /** The present lock, if there is one. It may have expired. */
  read(): Promise<Lock | undefined>
  /** Deletes the user's own lock if it is still in this version. */
  remove(version: string, signal?: AbortSignal): Promise<void>
  /** Called once, when the lock is held no longer. */
  onEnd(): void
}

/** The shortest time between two renewals, whatever the clocks say. */
const SHORTEST_MS = 250

/** A lock as the page that holds it sees it. */
export interface Hold {
  held: Held
  /** Ends it, when the page has released the lock on its way out. */
  leave(): void
  /** Ends it, when the page has taken the lock again. `onLost` is not called. */
  drop(): void
  /** Writes the lock soon. */
  renew(): void
  /** Takes a lock with this text for this one, since the page writes it in another way. */
  expect(text: Content): void
  /** The text that may not be in the lock yet, once, to be sent in another way. */
  unsent(): Unsent | undefined
  /** The text that is newer than the one in this lock, if this one is there still, or none is. */
  newerThan(lock?: Lock): Content | undefined
}

/** Keeps a lock that was granted. */
export function hold({
  field,
  grant,
  text: firstText,
  found,
  onLost,
  later,
  write,
  read,
  remove,
  onEnd
}: HeldDeps): Hold {
  let present = grant
  /** The text to be in the lock, and that which is. */
  let text = { ...firstText, timestamp: grant.timestamp }
  let storedText = text
  let isTyped = found !== undefined
  /** The writes whose outcome is not known. */
  const openWrites: Content[] = []
  let failures = 0
  let retryAfter: number | undefined
  let end: QuoinError | 'released' | undefined
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined
  let cancel = () => {}

  /** The service's present time, in milliseconds. */
  function now(): number {
    return Date.now() + present.aheadMs
  }

  function plan(): void {
    cancel()
    if (end) return
    if (failures > 0) cancel = later(backoff(failures, retryAfter), renew)
    else if (present.expiresAt) {
      cancel = later(Math.max(SHORTEST_MS, (present.expiresAt * 1000 - now()) / 3), renew)
    }
  }

  function renew(): void {
    flush().catch(() => {})
  }

  function flush(): Promise<void> {
    if (!current) {
      return (current = attempt().finally(() => {
        current = undefined
        plan()
      }))
    }
    return (next ??= Promise.allSettled([current]).then(() => {
      next = undefined
      return flush()
    }))
  }

  async function attempt(): Promise<void> {
    if (end) throw over()
    const newText = text
    const count = openWrites.length
    try {
      present = await write(newText, present.version).catch(async (error: QuoinError) =>
        write(newText, await versionAfter(error))
      )
      storedText = newText
      openWrites.splice(0, count)
      failures = 0
    } catch (error) {
      handleFailure(error as QuoinError, newText)
      throw error
    }
  }

  /**
   * The version that an own write has made whose answer did not come.
   * @throws the error, where there is none
   */
  async function versionAfter(error: QuoinError): Promise<string> {
    if (error.code !== 'LOCK_CHANGED' || openWrites.length === 0) throw error
    const lock = await read()
    if (lock?.version === undefined || !isUnanswered(lock)) throw error
    return lock.version
  }

  function handleFailure(error: QuoinError, newText: Content): void {
    if (error.code === 'FIELD_LOCKED' || error.code === 'LOCK_CHANGED') {
      if (!end) lose(error)
      // The same text would be refused again.
    } else if ([400, 413].includes(error.status)) {
      // A refused text must not stop the renewals.
      failures = 0
      if (text === newText) text = storedText
    } else {
      failures++
      retryAfter = error.retryAfter
      expect(newText)
    }
  }

  function expect(text: Content): void {
    openWrites.push(text)
  }

  function isUnanswered(lock: Lock): boolean {
    return openWrites.some(({ payload }) => payload === lock.payload)
  }

  function finish(how: QuoinError | 'released'): void {
    end = how
    cancel()
    onEnd()
  }

  function lose(error: QuoinError): void {
    finish(error)
    onLost?.(error)
  }

  function over(): QuoinError {
    return end instanceof QuoinError
      ? end
      : new QuoinError(0, 'LOCK_CHANGED', 'The lock was released')
  }

  async function save(
    payload: string,
    { signal, age = 0 }: Abortable & { age?: number } = {}
  ): Promise<void> {
    signal?.throwIfAborted()
    if (end) throw over()
    const before = text
    const typedAt =
      isTyped && payload === before.payload ? before.typedAt : Math.floor((now() - age) / 1000)
    const own = (text = { ...before, payload, typedAt })
    isTyped = true
    return unlessAborted(flush(), signal).catch((error) => {
      if (signal?.aborted && text === own) text = before
      throw error
    })
  }

  async function release({ signal }: Abortable = {}): Promise<void> {
    signal?.throwIfAborted()
    if (end instanceof QuoinError) return
    finish('released')
    await unlessAborted(Promise.allSettled([current]), signal)
    try {
      await remove(present.version, signal).catch(async (error: QuoinError) =>
        remove(await versionAfter(error), signal)
      )
    } catch (error) {
      if ((error as QuoinError).code === 'LOCK_CHANGED') return
      // Only in a known version: otherwise this could release a lock that the user has taken again.
      if ((error as QuoinError).passes && openWrites.length === 0) {
        cancel = later(backoff(++failures), () => {
          release().catch(() => {})
        })
      }
      throw error
    }
  }

  function unsent(): Unsent | undefined {
    const newer = newerThan()
    if (!newer) return undefined
    expect(newer)
    return { text: newer, version: current ? undefined : present.version }
  }

  function newerThan(lock?: Lock): Content | undefined {
    const isNewer = lock
      ? lock.version === present.version || isUnanswered(lock)
      : text.payload !== storedText.payload
    return isNewer ? text : undefined
  }

  plan()
  return {
    held: {
      ...field,
      get version() {
        return present.version
      },
      get expiresAt() {
        return present.expiresAt
      },
      get isTyped() {
        return isTyped
      },
      found,
      save,
      release
    },
    leave: () => lose(over()),
    drop: () => finish(over()),
    renew,
    expect,
    unsent,
    newerThan
  }
}
