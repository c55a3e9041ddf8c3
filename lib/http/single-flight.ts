import { abortable, createAborter, type Aborter, type Signal } from './aborter.ts'
import { GONE } from './calls.ts'

/** Work that is under way, shared by those who ask for the same meanwhile. */
export interface SingleFlight<T> {
  /**
   * @param work told by a signal when nobody waits for it any more
   * @param signal of one who may stop waiting
   * @throws the signal's reason
   */
  share (key: string, work: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T>
  /** From now on everybody asks anew; who has asked before still gets what is under way. */
  forgetAll (): void
}

interface Flight<T> {
  result: Promise<T>
  waiting: number
  isOver: boolean
  aborter: Aborter
}

export function createSingleFlight<T> (): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()

  async function share (key: string, work: (signal: Signal) => Promise<T>, signal?: Signal): Promise<T> {
    if (signal?.aborted) throw signal.reason
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting++
    try {
      return await abortable(flight.result, signal)
    } finally {
      if (--flight.waiting === 0 && !flight.isOver) {
        end(key, flight)
        flight.aborter.abort(GONE)
      }
    }
  }

  function start (key: string, work: (signal: Signal) => Promise<T>): Flight<T> {
    const aborter = createAborter()
    const flight: Flight<T> = { result: work(aborter).finally(() => end(key, flight)), waiting: 0, isOver: false, aborter }
    flights.set(key, flight)
    return flight
  }

  function end (key: string, flight: Flight<T>): void {
    flight.isOver = true
    if (flights.get(key) === flight) flights.delete(key)
  }

  return { share, forgetAll: () => flights.clear() }
}
