import { LRUCache } from 'lru-cache'
import { documentIn, type Document } from './document.ts'

/** Documents by what they answer. */
export interface Documents {
  /**
   * The document in a body, or undefined where there is none; of the same bytes as the last body under this key it is the
   * same object, not to be changed, so that what was made of it need not be made again.
   */
  read (key: string, body: Buffer): Document | undefined
}

/** How many bytes are remembered: of bodies, and what each takes besides, however short it is. */
const BYTES = 16 * 1024 * 1024
const BESIDES = 1024

/** A memory of the last answers, for who asks again for what has not changed. */
export function createDocuments (): Documents {
  const remembered = new LRUCache<string, { body: Uint8Array, document: Document }>({ maxSize: BYTES, sizeCalculation: ({ body }, key) => body.length + 2 * key.length + BESIDES })

  return {
    read (key, body) {
      const known = remembered.get(key)
      if (known && body.equals(known.body)) return known.document
      const document = documentIn(textOf(body))
      // A copy: a short Buffer keeps a larger piece of memory that it shares with others.
      if (document) remembered.set(key, { body: new Uint8Array(body), document })
      return document
    }
  }
}

/** Leaves out a byte order mark, which a file of PHP may put before everything. */
const utf8 = new TextDecoder()

export function textOf (body: Buffer): string {
  return utf8.decode(body)
}
