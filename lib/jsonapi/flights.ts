/** Work that is under way, shared by those who ask for the same meanwhile. */
export interface Flights<T> {
  share (key: string, work: () => Promise<T>): Promise<T>
  /** From now on everybody asks anew; who has asked before still gets what is under way. */
  part (): void
}

export function createFlights<T> (): Flights<T> {
  const flights = new Map<string, Promise<T>>()

  function share (key: string, work: () => Promise<T>): Promise<T> {
    const known = flights.get(key)
    if (known) return known
    const flight = work().finally(() => { if (flights.get(key) === flight) flights.delete(key) })
    flights.set(key, flight)
    return flight
  }

  return { share, part: () => flights.clear() }
}
