import type { Caller } from '../http/calls.ts'
import { readKey } from '../jsonapi/credentials.ts'

/** One reader's share. */
export interface SharedRead<T> {
  /** The newest answer, or a new one where that is too old or forgotten; a failure is an answer, too. */
  ask (): Promise<T>
  /** Has whoever asks next get a new answer. */
  forget (): void
  leave (): void
}

interface Shared<T> {
  readers: number
  answer?: Promise<T>
  askedAt: number
}

/**
 * Reads that are made once for all who want the same, with the same credentials and language: with a service account for
 * all callers, with their own for each of them. Nothing is kept of what nobody reads any more.
 * @param now milliseconds, from any moment on
 */
export function createSharedReads<T> (read: (id: string, caller: Caller) => Promise<T>, now = () => performance.now()) {
  const reads = new Map<string, Shared<T>>()

  /** @param lastsMs milliseconds for which an answer serves, from its question on */
  return function join (id: string, caller: Caller, lastsMs: number): SharedRead<T> {
    const key = readKey(id, caller)
    const entry = reads.get(key) ?? { readers: 0, askedAt: 0 }
    // Header fields alone: a read for many must not end when the one who began it hangs up.
    const headers = Object.fromEntries(Object.entries(caller))
    let isJoined = true
    entry.readers++
    reads.set(key, entry)

    return {
      ask () {
        if (entry.answer && now() - entry.askedAt < lastsMs) return entry.answer
        entry.askedAt = now()
        entry.answer = read(id, headers)
        return entry.answer
      },
      forget () { delete entry.answer },
      leave () {
        if (!isJoined) return
        isJoined = false
        if (--entry.readers === 0) reads.delete(key)
      }
    }
  }
}
