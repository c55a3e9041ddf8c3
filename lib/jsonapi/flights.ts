import { abortable } from '../abortable.ts'
import { GONE } from './calls.ts'

/** Work that is under way, shared by those who ask for the same meanwhile. */
export interface Flights<T> {
  /**
   * @param work told by a signal when nobody waits for it any more
   * @param signal of one who may stop waiting
   * @throws the signal's reason
   */
  share (key: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** From now on everybody asks anew; who has asked before still gets what is under way. */
  part (): void
}

interface Flight<T> {
  landing: Promise<T>
  waiting: number
  isOver: boolean
  controller: AbortController
}

export function createFlights<T> (): Flights<T> {
  const flights = new Map<string, Flight<T>>()

  async function share (key: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted()
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting++
    try {
      return await abortable(flight.landing, signal)
    } finally {
      if (--flight.waiting === 0 && !flight.isOver) {
        end(key, flight)
        flight.controller.abort(GONE)
      }
    }
  }

  function start (key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController()
    const flight: Flight<T> = { landing: work(controller.signal).finally(() => end(key, flight)), waiting: 0, isOver: false, controller }
    flights.set(key, flight)
    return flight
  }

  function end (key: string, flight: Flight<T>): void {
    flight.isOver = true
    if (flights.get(key) === flight) flights.delete(key)
  }

  return { share, part: () => flights.clear() }
}
