import { LRUCache } from 'lru-cache'
import { documentIn, weightOf, type Document } from './document.ts'
import { readRows, type LastBody } from './rows.ts'

/** The documents in the last answers. */
export interface Documents {
  /**
   * The document in a body; undefined if there is none. From the second time that the same bytes
   * come under a key, it is the same object, and so is each of its resources whose bytes are the
   * same. Callers can cache results by these objects. None of them must be changed.
   */
  read(key: string, body: Buffer): Document | undefined
}

/**
 * How many bytes of bodies Quoin remembers, by their weight (document.ts), and how many it counts
 * for each in addition.
 */
const BYTES = 16 * 1024 * 1024
const BESIDES = 1024

/** An answer, and what was read in it. */
interface LastAnswer extends LastBody {
  weight: number
  /** From the second time on. */
  document?: Document
}

/** Remembers the last answers, for callers who ask again for what has hardly changed. */
export function createDocuments(): Documents {
  const answers = new LRUCache<string, LastAnswer>({
    maxSize: BYTES,
    sizeCalculation: ({ weight }, key) => weight + 2 * key.length + BESIDES
  })

  return {
    read(key, body) {
      const last = answers.get(key)
      const isSame = last !== undefined && body.equals(last.body)
      if (isSame && last.document) return last.document
      const { document, rows } = readRows(body, last) ?? wholeDocument(body)
      // A document that comes only once, as most pages of a search do, does not outlive its
      // request.
      if (document && isSame) Object.assign(last, { document, rows })
      else if (document) answers.set(key, { body: own(body), rows, weight: weightOf(document) })
      return document
    }
  }
}

/** What is not read row by row has no rows that can come again. */
function wholeDocument(body: Buffer): { document: Document | undefined; rows: LastBody['rows'] } {
  return { document: documentIn(body), rows: new Map() }
}

/**
 * A short Buffer is part of a larger piece of memory, and would keep all of it from being freed.
 */
function own(body: Buffer): Buffer {
  return body.length === body.buffer.byteLength ? body : Buffer.from(new Uint8Array(body).buffer)
}
