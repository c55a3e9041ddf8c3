import { getHeapStatistics } from 'node:v8'
import { Failure } from '../errors.ts'

/**
 * Answers count from this size on, in bytes of JSON. Those that are smaller are many, and take
 * little.
 */
export const LARGE_ANSWER = 64 * 1024

/**
 * The share of the heap that answers may take together, by their bytes of JSON: a list of 50 MB
 * takes 400 to 550 MiB of the process, garbage included.
 */
const SHARE = 1 / 8

/**
 * So long an answer may be on its way to its caller undisturbed, in milliseconds. After that it
 * makes room where others need it.
 */
const UNDISTURBED_MS = 10_000

/** Counts what large answers take, from when the CMS's arrive until callers have Quoin's. */
export interface AnswerMemory {
  /** For one call. */
  open(): Holding
  /**
   * Counts an answer that is on its way to its caller.
   * @param end breaks it off, where it has been on its way for long and others need the memory
   * @returns to be called when it is over
   */
  send(bytes: number, end: () => void): () => void
}

/** What a call takes. It is of no use after its end. */
export interface Holding {
  /**
   * The call that took memory first goes on whatever later calls have taken, so that one of many
   * that begin at once gets through.
   * @throws {Failure} OVERLOADED where others leave too little, TOO_LARGE where the whole memory is
   *   too little
   */
  take(bytes: number): void
  /** Takes memory for what cannot be refused any more. */
  add(bytes: number): void
  free(bytes: number): void
  /** Frees all. */
  end(): void
}

/** An answer that is on its way. */
interface Sending {
  bytes: number
  begunAt: number
  end: () => void
}

/** @param most bytes for all together */
export function createAnswerMemory(
  most = Math.floor(SHARE * getHeapStatistics().heap_size_limit),
  undisturbedMs = UNDISTURBED_MS
): AnswerMemory {
  const calls = new Set<Holding>()
  /** The oldest first. */
  const sendings = new Set<Sending>()
  let taken = 0
  let onTheWay = 0

  function open(): Holding {
    let own = 0

    function add(bytes: number): void {
      own += bytes
      taken += bytes
    }

    const holding: Holding = {
      take(bytes) {
        if (own + bytes > most) {
          throw new Failure(
            'TOO_LARGE',
            `This needs answers of more than ${most} bytes; ask for less`
          )
        }
        const [first = holding] = calls
        const inTheWay = first === holding ? own : taken
        makeRoom(most - inTheWay - bytes)
        if (inTheWay + onTheWay + bytes > most) {
          throw new Failure(
            'OVERLOADED',
            'Other answers take the memory that there is for them; try again, or ask for less',
            { headers: { 'retry-after': '1' } }
          )
        }
        calls.add(holding)
        add(bytes)
      },
      add,
      free: (bytes) => add(-bytes),
      end() {
        add(-own)
        calls.delete(holding)
      }
    }
    return holding
  }

  function send(bytes: number, end: () => void): () => void {
    const sending = { bytes, begunAt: performance.now(), end }
    sendings.add(sending)
    onTheWay += bytes
    return () => forget(sending)
  }

  function forget(sending: Sending): void {
    if (sendings.delete(sending)) onTheWay -= sending.bytes
  }

  /**
   * Breaks off what has been on its way for longest, if that is long: nobody keeps the memory by
   * reading slowly.
   */
  function makeRoom(mostOnTheWay: number): void {
    if (mostOnTheWay < 0) return
    for (const sending of sendings) {
      const isLate = performance.now() - sending.begunAt > undisturbedMs
      if (onTheWay <= mostOnTheWay || !isLate) return
      forget(sending)
      sending.end()
    }
  }

  return { open, send }
}
