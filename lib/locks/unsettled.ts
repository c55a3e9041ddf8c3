/**
 * The writes at one field: how many are under way, and until when one that got no answer may still
 * be carried out.
 */
interface WriteState {
  underWay: number
  until: number
}

/**
 * The fields at which this instance has writes whose outcome it does not know: those under way, and
 * those that ended without an answer, for as long as they may still reach the store. A release of
 * such a field leaves a tombstone.
 * @param now Unix time in seconds
 */
export function createUnsettled(now: () => number, fenceSeconds: number) {
  const states = new Map<string, WriteState>()

  /**
   * Drops the fields whose writes are settled. The map has them in the order in which they came.
   */
  function forget(): void {
    for (const [name, { underWay, until }] of states) {
      if (underWay > 0 || until > now()) return
      states.delete(name)
    }
  }

  /** Does a write at a field. */
  async function during<T>(name: string, write: () => Promise<T>): Promise<T> {
    forget()
    const state = states.get(name) ?? { underWay: 0, until: 0 }
    states.set(name, state)
    state.underWay++
    return write()
      .catch((error) => {
        state.until = now() + fenceSeconds
        throw error
      })
      .finally(() => {
        state.underWay--
        if (state.underWay === 0 && state.until <= now()) states.delete(name)
      })
  }

  /** Until when a write at a field may still be carried out, in Unix time; 0 where none may. */
  function until(name: string): number {
    const state = states.get(name)
    if (!state) return 0
    return state.underWay > 0 ? now() + fenceSeconds : state.until > now() ? state.until : 0
  }

  return { during, until, size: () => states.size }
}
