/** Has work on one thing done by one at a time, in the order of asking; within this process. */
export interface Turns {
  /** @param work told whether others went before it */
  take<T> (key: string, work: (waited: boolean) => Promise<T>): Promise<T>
}

export function createTurns (): Turns {
  const last = new Map<string, Promise<unknown>>()

  async function take<T> (key: string, work: (waited: boolean) => Promise<T>): Promise<T> {
    const before = last.get(key)
    const mine = before ? before.then(() => work(true), () => work(true)) : work(false)
    last.set(key, mine)
    try {
      return await mine
    } finally {
      if (last.get(key) === mine) last.delete(key)
    }
  }

  return { take }
}
