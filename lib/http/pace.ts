/** How fast bytes have to move. */
export interface LeastPace {
  /** How long they may not move at all, in milliseconds. */
  graceMs: number
  /** The least rate beyond that. */
  bytesPerSecond: number
}

export interface Pace {
  /** Counts bytes that have moved. */
  moved(bytes: number): void
  /** Stops watching. */
  end(): void
}

/**
 * Watches that bytes move at a least pace. Each byte gives its time at the least rate, and nobody
 * saves up more than the grace: a peer who sends much and then nothing is too slow after the grace.
 * `size` bytes take at most the grace and size / rate.
 *
 * Time in which this process itself was busy does not count: what has arrived meanwhile is looked
 * at first.
 *
 * @param onTooSlow called once at most
 */
export function watchPace({ graceMs, bytesPerSecond }: LeastPace, onTooSlow: () => void): Pace {
  let deadline = performance.now() + graceMs
  let isOver = false
  let timer = setTimeout(look, graceMs)

  function look(): void {
    const leftMs = deadline - performance.now()
    if (leftMs > 0) {
      timer = setTimeout(look, leftMs)
      return
    }
    deadline = performance.now()
    setImmediate(decide)
  }

  function decide(): void {
    if (isOver) return
    if (deadline > performance.now()) return look()
    isOver = true
    onTooSlow()
  }

  return {
    moved(bytes) {
      deadline = Math.min(performance.now() + graceMs, deadline + (bytes * 1000) / bytesPerSecond)
    },
    end() {
      isOver = true
      clearTimeout(timer)
    }
  }
}
