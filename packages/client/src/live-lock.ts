import type { QuoinError } from './error.ts'
import type { Field, Held } from './held.ts'
import { createLive, type Live, type LiveState } from './live-state.ts'
import type { AcquireOptions, Locks } from './locks.ts'
import type { Holder } from './wire.ts'

export interface LockState {
  /** What the user has typed; undefined while the user does not hold the field. */
  text: string | undefined
  /**
   * Why the user does not hold the field, with `lock`: who does. While they hold it: why the text
   * is not in the lock, or not stored.
   */
  error: QuoinError | undefined
}

/** A field as a page shows it, by the state of its lock and what is stored. */
export interface ShownLock {
  /** What is typed while the user holds the field, else what is stored. */
  text: string
  isHeld: boolean
  /** Who has the field in the user's place. */
  holder: Holder | undefined
  /** As in `LockState`. */
  error: QuoinError | undefined
}

/** A field that is locked while it has the focus. */
export interface LiveLock extends Live<LockState> {
  /**
   * Locks the field, unless somebody else holds it.
   * @param text the stored text, from which the user goes on, unless the lock has one: see `found`
   */
  focus(text: string): void
  /** Locks the field, whoever holds it; their text is kept as a draft. */
  takeOver(text: string): void
  /** Keeps in the lock what the user has typed. */
  change(text: string): void
  /**
   * Stores a typed text, and releases the field. The field stays locked while the text could not be
   * stored: see `error`.
   */
  blur(store: (text: string) => Promise<unknown>): Promise<void>
}

/** What of a client locks fields. */
export interface LockClient {
  locks: Pick<Locks, 'acquire' | 'overwrite'>
}

interface Session {
  locks: LockClient['locks']
  field: Field
  live: LiveState<LockState>
  held: Held | undefined
  attempt: AbortController | undefined
  /** How often the field was focused. */
  visits: number
  isStoring: boolean
}

/**
 * A field that is locked while it has the focus. What is typed is kept in the lock until it is
 * stored. When the last subscriber leaves, the lock is released, unless it has a typed text: its
 * user finds the text again.
 */
export function liveLock({ locks }: LockClient, field: Field): LiveLock {
  const session: Session = {
    locks,
    field,
    live: createLive<LockState>({ text: undefined, error: undefined }, (signal) => {
      signal.addEventListener('abort', () => end(session))
    }),
    held: undefined,
    attempt: undefined,
    visits: 0,
    isStoring: false
  }
  const { get, subscribe } = session.live
  return {
    get,
    subscribe,
    focus(text) {
      session.visits++
      if (session.held) session.live.put({ text: get().text ?? text })
      else if (!session.attempt) take(session, 'acquire', text)
    },
    takeOver(text) {
      session.visits++
      session.attempt?.abort()
      take(session, 'overwrite', text)
    },
    change: (text) => {
      change(session, text)
    },
    blur: (store) => blur(session, store)
  }
}

async function take(session: Session, verb: 'acquire' | 'overwrite', text: string): Promise<void> {
  const { locks, field, live } = session
  const attempt = (session.attempt = new AbortController())
  live.put({ error: undefined })
  const options: AcquireOptions = {
    signal: attempt.signal,
    onLost(error) {
      if (attempt === session.attempt) lose(session, error)
    }
  }
  try {
    const held = await locks[verb](field, options)
    if (attempt.signal.aborted) return letGo(held)
    session.held = held
    live.put({ text: held.found ?? text })
  } catch (error) {
    if (!attempt.signal.aborted) lose(session, error as QuoinError)
  }
}

function lose(session: Session, error: QuoinError): void {
  session.held = session.attempt = undefined
  session.live.put({ text: undefined, error })
}

async function change(session: Session, text: string): Promise<void> {
  const { held, live } = session
  if (!held) return
  live.put({ text })
  // A failure that may pass is tried again by the client.
  const error = await held.save(text).then(
    () => undefined,
    (error: QuoinError) => error
  )
  if (held === session.held && error !== live.get().error) live.put({ error })
}

async function blur(session: Session, store: (text: string) => Promise<unknown>): Promise<void> {
  const { visits, held, live } = session
  const { text } = live.get()
  if (!held || text === undefined) {
    session.attempt?.abort()
    session.attempt = undefined
    return
  }
  try {
    if (held.isTyped) await keepStoring(session, store(text))
    // Whoever came back meanwhile goes on with the lock.
    if (visits !== session.visits || session.held !== held) return
    session.held = session.attempt = undefined
    live.put({ text: undefined, error: undefined })
    await held.release()
  } catch (error) {
    live.put({ error: error as QuoinError })
  }
}

/** Lets a text be stored, also when the field is not shown any more. */
async function keepStoring(session: Session, stored: Promise<unknown>): Promise<void> {
  session.isStoring = true
  await stored.finally(() => {
    session.isStoring = false
  })
}

/** The field is not shown any more. */
function end(session: Session): void {
  const { held, attempt, isStoring } = session
  if (isStoring) return
  session.held = session.attempt = undefined
  if (held) letGo(held)
  else attempt?.abort()
}

/** A lock with a typed text stays. */
function letGo(held: Held): void {
  if (!held.isTyped) held.release().catch(() => {})
}
