import { getHeapStatistics } from 'node:v8'
import { Failure } from '../errors.ts'

/** Answers count from this size on, in bytes of JSON. Those that are smaller are many, and take little. */
export const LARGE_ANSWER = 64 * 1024

/** The share of the heap that answers may take together, by their bytes of JSON: a list of 50 MB takes 400 to 550 MiB of the process, garbage included. */
const SHARE = 1 / 8

/** Counts what large answers take, from when the CMS's arrive until callers have Quoin's. */
export interface AnswerMemory {
  /** For one call. */
  open (): Holding
  /** Counts an answer that is on its way to its caller. @returns to be called once when it is over */
  send (bytes: number): () => void
}

/** What a call takes. It is of no use after its end. */
export interface Holding {
  /**
   * The call that took memory first goes on whatever later calls have taken, so that one of many that begin at once gets through.
   * @throws {Failure} OVERLOADED where others leave too little, TOO_LARGE where the whole memory is too little
   */
  take (bytes: number): void
  /** Takes memory for what cannot be refused any more. */
  add (bytes: number): void
  free (bytes: number): void
  /** Frees all. */
  end (): void
}

/** @param most bytes for all together */
export function createAnswerMemory (most = Math.floor(SHARE * getHeapStatistics().heap_size_limit)): AnswerMemory {
  const calls = new Set<Holding>()
  let taken = 0
  let onTheWay = 0

  function open (): Holding {
    let own = 0

    function add (bytes: number): void {
      own += bytes
      taken += bytes
    }

    const holding: Holding = {
      take (bytes) {
        if (own + bytes > most) throw new Failure('TOO_LARGE', `This needs answers of more than ${most} bytes; ask for less`)
        const [first = holding] = calls
        const inTheWay = first === holding ? own : taken
        if (inTheWay + onTheWay + bytes > most) throw new Failure('OVERLOADED', 'Other answers take the memory that there is for them; try again, or ask for less', { headers: { 'retry-after': '1' } })
        calls.add(holding)
        add(bytes)
      },
      add,
      free: (bytes) => add(-bytes),
      end () {
        add(-own)
        calls.delete(holding)
      }
    }
    return holding
  }

  function send (bytes: number): () => void {
    onTheWay += bytes
    return () => { onTheWay -= bytes }
  }

  return { open, send }
}
