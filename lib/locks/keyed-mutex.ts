/** Has work on one thing done by one at a time, in the order of asking; within this process. */
export interface KeyedMutex {
  /**
   * @param work told whether others went before it
   * @param late makes the error for whoever waits too long; his work is not done
   */
  run<T> (key: string, work: (waited: boolean) => Promise<T>, late: () => Error): Promise<T>
}

/** @param waitMs how long one may wait for his turn, in milliseconds */
export function createKeyedMutex (waitMs: number): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>()

  async function run<T> (key: string, work: (waited: boolean) => Promise<T>, late: () => Error): Promise<T> {
    const before = tails.get(key)
    const mine = before ? inTime(before, waitMs, late).then(() => work(true)) : work(false)
    const tail = Promise.allSettled([before, mine])
    tails.set(key, tail)
    tail.then(() => { if (tails.get(key) === tail) tails.delete(key) })
    return mine
  }

  return { run }
}

function inTime (before: Promise<unknown>, ms: number, late: () => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    before.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
