import { abortable, createAborter, type Aborter, type Signal } from './aborter.ts'
import { CALLER_GONE } from './calls.ts'

/** Does work once for all who ask for the same thing at the same time. */
export interface SingleFlight<T> {
  /**
   * @param work its signal is aborted when nobody waits any more
   * @param signal aborts the wait of this one
   * @throws the signal's reason
   */
  share(key: string, work: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T>
  /**
   * Starts new work for the next caller. Callers that wait already get the result of the old work.
   */
  forgetAll(): void
}

interface Flight<T> {
  result: Promise<T>
  waiting: number
  isOver: boolean
  aborter: Aborter
  /** From now on nobody joins it. */
  end(): void
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()

  async function share(
    key: string,
    work: (signal: Signal) => Promise<T>,
    signal?: Signal
  ): Promise<T> {
    if (signal?.aborted) throw signal.reason
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting++
    try {
      return await abortable(flight.result, signal)
    } finally {
      if (--flight.waiting === 0 && !flight.isOver) {
        flight.end()
        flight.aborter.abort(CALLER_GONE)
      }
    }
  }

  function start(key: string, work: (signal: Signal) => Promise<T>): Flight<T> {
    const aborter = createAborter()
    function end(): void {
      flight.isOver = true
      if (flights.get(key) === flight) flights.delete(key)
    }
    const flight: Flight<T> = {
      result: work(aborter).finally(end),
      waiting: 0,
      isOver: false,
      aborter,
      end
    }
    flights.set(key, flight)
    return flight
  }

  return { share, forgetAll: () => flights.clear() }
}
