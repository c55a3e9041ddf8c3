import { newCaller, type Caller } from '../http/calls.ts'
import { readKey } from '../drupal/credentials.ts'
import { systemTime } from '../time.ts'

/** One reader of a shared read. */
export interface SharedRead<T> {
  /**
   * The newest answer; a new one if that is too old or was forgotten. A failure counts as an
   * answer.
   */
  ask(): Promise<T>
  /** Makes the next reader ask again. */
  forget(): void
  leave(): void
}

/**
 * Joins the readers of something.
 * @param name of what is read
 * @param lastsMs milliseconds for which an answer serves, from its question on
 */
export type JoinRead<T> = (
  name: string,
  caller: Caller,
  lastsMs: number,
  read: (caller: Caller) => Promise<T>
) => SharedRead<T>

interface SharedEntry<T> {
  readers: number
  answer?: Promise<T>
  askedAt: number
}

/**
 * Shares one read among all readers of the same thing with the same credentials and language. With
 * a service account that is all callers. Answers are dropped when the last reader leaves.
 */
export function createSharedReads<T>(time = systemTime): JoinRead<T> {
  const reads = new Map<string, SharedEntry<T>>()

  return function join(name, caller, lastsMs, read) {
    const key = readKey(name, caller)
    const entry = reads.get(key) ?? { readers: 0, askedAt: 0 }
    // Of its own: a read for many must not end when the one who began it hangs up.
    const reader = newCaller(caller.headers)
    let isJoined = true
    entry.readers++
    reads.set(key, entry)

    return {
      ask() {
        if (entry.answer && time.monotonic() - entry.askedAt < lastsMs) return entry.answer
        entry.askedAt = time.monotonic()
        entry.answer = read(reader)
        return entry.answer
      },
      forget() {
        delete entry.answer
      },
      leave() {
        if (!isJoined) return
        isJoined = false
        if (--entry.readers === 0) reads.delete(key)
      }
    }
  }
}
