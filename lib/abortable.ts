/** Tells that nobody waits any more: what is needed of an AbortSignal, which is one. */
export interface Signal {
  readonly aborted: boolean
  /** Why; once it is aborted. */
  readonly reason: unknown
  addEventListener (type: 'abort', listener: () => void): void
  removeEventListener (type: 'abort', listener: () => void): void
}

/**
 * A signal, and what aborts it. Instead of AbortController, of which a read would make two, at 3 us of CPU each (of 170).
 */
export class Aborter implements Signal {
  aborted = false
  reason: unknown
  readonly #listeners = new Set<() => void>()

  addEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener (_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }

  abort (reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}

/** What a promise gives; or, where a signal is aborted before, its reason. What the promise stands for goes on. */
export function abortable<T> (promise: Promise<T>, signal: Signal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave)
    promise.then((value) => {
      signal.removeEventListener('abort', leave)
      resolve(value)
    }, (error) => {
      signal.removeEventListener('abort', leave)
      reject(error)
    })
    if (signal.aborted) leave()
  })
}
