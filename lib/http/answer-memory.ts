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

/** What a call takes. Bytes that come or go after its end do not count. */
export interface Holding {
  /**
   * The call that has taken for the longest time gets what other calls have, too: of many that begin at once, one gets through.
   * @throws {Failure} OVERLOADED where others leave too little, TOO_LARGE where all would be too little
   */
  take (bytes: number): void
  /** For what cannot be refused any more. */
  add (bytes: number): void
  free (bytes: number): void
  end (): void
}

/** @param most bytes for all together */
export function createAnswerMemory (most = Math.floor(SHARE * getHeapStatistics().heap_size_limit)): AnswerMemory {
  const calls = new Set<Holding>()
  let taken = 0
  let onTheWay = 0

  function open (): Holding {
    let own = 0
    let isOver = false

    function add (bytes: number): void {
      if (isOver) return
      own += bytes
      taken += bytes
    }

    const holding: Holding = {
      take (bytes) {
        if (isOver) return
        if (own + bytes > most) throw new Failure('TOO_LARGE', `This takes more than ${most} bytes of answers; ask for less`)
        const [first = holding] = calls
        if ((first === holding ? own : taken) + onTheWay + bytes > most) throw new Failure('OVERLOADED', 'Other answers take the memory that there is for them; try again, or ask for less', { headers: { 'retry-after': '1' } })
        calls.add(holding)
        add(bytes)
      },
      add,
      free: (bytes) => add(-bytes),
      end () {
        add(-own)
        isOver = true
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
