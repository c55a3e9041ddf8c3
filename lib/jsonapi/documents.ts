import { LRUCache } from 'lru-cache'
import { documentIn, type Document } from './document.ts'

/** Documents by what they answer. */
export interface Documents {
  /**
   * The document in a body, or undefined where there is none; from the second time on that the same bytes come under a key
   * it is one object, not to be changed, so that what was made of it need not be made again.
   */
  read (key: string, body: Buffer): Document | undefined
}

/** How many bytes are remembered: of bodies, and what each takes besides, however short it is. */
const BYTES = 16 * 1024 * 1024
const BESIDES = 1024

/** A memory of the last answers, for who asks again for what has not changed. */
export function createDocuments (): Documents {
  const remembered = new LRUCache<string, { body: Uint8Array, document?: Document }>({ maxSize: BYTES, sizeCalculation: ({ body }, key) => body.length + 2 * key.length + BESIDES })

  return {
    read (key, body) {
      const last = remembered.get(key)
      const isSame = last !== undefined && body.equals(last.body)
      if (isSame && last.document) return last.document
      const document = documentIn(body)
      // What comes once, as most pages of a search do, does not outlive its request.
      if (isSame && document) last.document = document
      if (!isSame && document) remembered.set(key, { body: own(body) })
      return document
    }
  }
}

/** A short Buffer is part of a larger piece of memory, which it would keep from being freed. */
function own (body: Buffer): Uint8Array {
  return body.length === body.buffer.byteLength ? body : new Uint8Array(body)
}
