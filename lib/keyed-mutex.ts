import type { Signal } from './http/aborter.ts'

/** Does work on one key one at a time, in the order of asking, within this process. */
export interface KeyedMutex {
  /**
   * @param work gets whether it had to wait for others
   * @param signal aborts the wait; work that has begun goes on
   * @throws the refusal where too many wait already, or the wait is too long; the signal's reason
   */
  run<T>(key: string, work: (hasWaited: boolean) => Promise<T>, signal?: Signal): Promise<T>
}

/** Runs something after so many milliseconds. @returns a function that cancels it */
export type Later = (ms: number, run: () => void) => () => void

export interface KeyedMutexOptions {
  /** How many may wait for one key; any number by default. */
  waitersMax?: number
  /** The longest wait, in milliseconds. */
  waitMs: number
  /** Makes the error for work that may not wait, or not any longer. */
  refusal: (why: 'too many wait' | 'waited too long') => Error
  later?: Later
}

export function createKeyedMutex({
  waitersMax = Infinity,
  waitMs,
  refusal,
  later = timeout
}: KeyedMutexOptions): KeyedMutex {
  /** Who waits, for each key that is worked on. */
  const queues = new Map<string, Set<() => void>>()

  async function run<T>(
    key: string,
    work: (hasWaited: boolean) => Promise<T>,
    signal?: Signal
  ): Promise<T> {
    const queue = queues.get(key)
    if (queue) await admission(queue, signal)
    else queues.set(key, new Set())
    try {
      return await work(queue !== undefined)
    } finally {
      release(key)
    }
  }

  function admission(queue: Set<() => void>, signal: Signal | undefined): Promise<void> {
    if (queue.size >= waitersMax) throw refusal('too many wait')
    if (signal?.aborted) throw signal.reason
    return new Promise((resolve, reject) => {
      const cancel = later(waitMs, () => leave(refusal('waited too long')))
      const abort = () => leave(signal!.reason)
      signal?.addEventListener('abort', abort)
      queue.add(enter)

      function enter(): void {
        settle()
        resolve()
      }

      function leave(reason: unknown): void {
        settle()
        reject(reason)
      }

      function settle(): void {
        queue.delete(enter)
        cancel()
        signal?.removeEventListener('abort', abort)
      }
    })
  }

  /** Admits the one that has waited longest. */
  function release(key: string): void {
    const [next] = queues.get(key)!
    if (next) next()
    else queues.delete(key)
  }

  return { run }
}

function timeout(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
