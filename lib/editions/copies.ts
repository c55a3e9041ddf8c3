import { LRUCache } from 'lru-cache'

/** An answer to a read, as it was sent. */
export interface Copy {
  payload: string
  etag: string | undefined
  /** When the oldest part of it was asked of the CMS, in milliseconds of the clock. */
  at: number
  /** Whether it is one edition: then it outlives the saving of others. */
  isEdition: boolean
}

/** Answers to reads, kept for the time when the CMS is down. */
export interface Copies {
  /** The clock, in milliseconds. */
  now (): number
  /** Keeps a copy, unless something was saved since `asked`, when the request came, in milliseconds of the clock. */
  keep (key: string, copy: Copy, asked: number): void
  /** The copy and its age in seconds, if there is one that is not too old. */
  find (key: string): { copy: Copy, age: number } | undefined
  forget (key: string): void
  /** To be called when an edition was saved, or may have been: forgets what shows its earlier state, be it to anyone. */
  outdate (uuid: string): void
}

export interface CopiesOptions {
  /** How old a copy may be; 0: none is kept. */
  seconds: number
  /** In milliseconds. */
  now?: () => number
}

const ENTRIES = 5000

/** Two for each letter, which is what text other than Latin-1 takes. */
const BYTES = 64 * 1024 * 1024

export function createCopies ({ seconds, now = () => performance.now() }: CopiesOptions): Copies {
  const copies = new LRUCache<string, Copy>({ max: ENTRIES, maxSize: BYTES, sizeCalculation: ({ payload }, key) => 2 * (key.length + payload.length) })
  let saved = -Infinity

  return {
    now,
    keep (key, copy, asked) {
      if (seconds > 0 && asked > saved) copies.set(key, copy)
    },
    find (key) {
      const copy = copies.get(key)
      const age = copy && Math.ceil((now() - copy.at) / 1000)
      return copy && age! <= seconds ? { copy, age: age! } : undefined
    },
    forget: (key) => { copies.delete(key) },
    outdate (uuid) {
      saved = now()
      // Any list might have it, or have it no more.
      for (const [key, { isEdition, payload }] of copies.entries()) if (!isEdition || payload.includes(uuid)) copies.delete(key)
    }
  }
}
