import { LRUCache } from 'lru-cache'
import { documentIn, weightOf, type Document } from './document.ts'

/** The documents in the last answers. */
export interface Documents {
  /**
   * The document in a body; undefined if there is none. From the second time that the same bytes
   * come under a key, it is the same object, so that callers can cache results by it. It must not
   * be changed.
   */
  read(key: string, body: Buffer): Document | undefined
}

/**
 * How many bytes of bodies Quoin remembers, by their weight (document.ts), and how many it counts
 * for each in addition.
 */
const BYTES = 16 * 1024 * 1024
const BESIDES = 1024

/** Remembers the last answers, for callers who ask again for what has not changed. */
export function createDocuments(): Documents {
  const answers = new LRUCache<string, { body: Uint8Array; weight: number; document?: Document }>({
    maxSize: BYTES,
    sizeCalculation: ({ weight }, key) => weight + 2 * key.length + BESIDES
  })

  return {
    read(key, body) {
      const last = answers.get(key)
      const isSame = last !== undefined && body.equals(last.body)
      if (isSame && last.document) return last.document
      const document = documentIn(body)
      // A document that comes only once, as most pages of a search do, does not outlive its
      // request.
      if (isSame && document) last.document = document
      if (!isSame && document) answers.set(key, { body: own(body), weight: weightOf(document) })
      return document
    }
  }
}

/**
 * A short Buffer is part of a larger piece of memory, and would keep all of it from being freed.
 */
function own(body: Buffer): Uint8Array {
  return body.length === body.buffer.byteLength ? body : new Uint8Array(body)
}
