import { Failure } from '../errors.ts'

/**
 * From this size on a body is large, in bytes. Small ones have memory of their own, so that large
 * ones do not shut them out.
 */
export const LARGE_BODY = 64 * 1024

/**
 * What large bodies may have together, of all requests under way, in bytes: to read one takes
 * several times its size.
 */
const LARGE_BODIES = 32 * 1024 * 1024

/** The same for small bodies, which are many. */
const SMALL_BODIES = 16 * 1024 * 1024

/**
 * So long a body may arrive undisturbed, in milliseconds. After that it makes room where others
 * need it.
 */
const UNDISTURBED_MS = 5000

/** The memory for bodies of one size. */
interface Room {
  most: number
  taken: number
  /** Those that have not arrived whole, the oldest first. */
  arriving: Set<ArrivingBody>
}

export interface BodyMemory {
  small: Room
  large: Room
  undisturbedMs: number
}

/** The memory that one body takes. */
export interface ArrivingBody {
  room: Room
  bytes: number
  begunAt: number
  /** Ends the reading of it. */
  refuse: (failure: Failure) => void
}

/**
 * Counts what bodies of requests take, byte by byte as they arrive: what is announced takes
 * nothing.
 */
export function createBodyMemory(undisturbedMs = UNDISTURBED_MS): BodyMemory {
  const roomOf = (most: number): Room => ({ most, taken: 0, arriving: new Set() })
  return { small: roomOf(SMALL_BODIES), large: roomOf(LARGE_BODIES), undisturbedMs }
}

/**
 * Begins to count a body.
 * @param refuse called at most once, where there is no room for it any more
 */
export function openBody({ small }: BodyMemory, refuse: ArrivingBody['refuse']): ArrivingBody {
  const body = { room: small, bytes: 0, begunAt: performance.now(), refuse }
  small.arriving.add(body)
  return body
}

/**
 * Counts what has arrived of a body. Where that is too much, the body that has been arriving for
 * longest is refused, if that is long: nobody can keep the memory by sending slowly. Else this one
 * is refused.
 */
export function grow(memory: BodyMemory, body: ArrivingBody, bytes: number): void {
  count(body, bytes)
  if (body.room === memory.small && body.bytes >= LARGE_BODY) move(body, memory.large)
  const { room } = body
  while (room.taken > room.most) {
    const late = latest(memory, room) ?? body
    forget(late)
    late.refuse(
      new Failure('OVERLOADED', 'Other requests with bodies are under way; try again', {
        headers: { 'retry-after': '1' }
      })
    )
    if (late === body) return
  }
}

/** The body is whole: from now on it stays until its request is over. */
export function settle(body: ArrivingBody): void {
  body.room.arriving.delete(body)
}

/** Gives back what the body took. */
export function forget(body: ArrivingBody): void {
  settle(body)
  count(body, -body.bytes)
}

function count(body: ArrivingBody, bytes: number): void {
  body.bytes += bytes
  body.room.taken += bytes
}

function move(body: ArrivingBody, room: Room): void {
  const { bytes } = body
  forget(body)
  body.room = room
  room.arriving.add(body)
  count(body, bytes)
}

/** The body that has been arriving for longest, if that is long. */
function latest({ undisturbedMs }: BodyMemory, { arriving }: Room): ArrivingBody | undefined {
  const [oldest] = arriving
  const isLate = oldest !== undefined && performance.now() - oldest.begunAt > undisturbedMs
  return isLate ? oldest : undefined
}
