import type { Holder, OrderOperation } from '../../client/src/client.ts'

/** How many texts of an editor a browser keeps, and how many letters. The oldest go first. */
const MOST = 100
const MOST_LETTERS = 20_000_000

/** How long the page waits for the texts of before when it opens, in milliseconds. */
const READY_MS = 1000

/** How long to wait before a text that could not be written is written again, in milliseconds. */
const AGAIN_MS = 5000

/** How many texts may be on their way to the disk at once. */
const MOST_AT_ONCE = 8

/**
 * A longer text goes to the disk by itself, and the next such text waits for so many milliseconds.
 * It is not written at each keystroke, and is on the disk half a second after it was typed.
 */
const LONG_LETTERS = 10_000
const PAUSE_MS = 200

/**
 * A text of an editor that is in no lock: a draft of the service or, without `displacedAt`, in this
 * browser alone.
 */
export interface EditorDraft {
  id?: string
  fieldName: string
  payload: string
  /** When it was typed or put aside in this browser, in seconds. */
  typedAt?: number
  displacedBy?: Holder['userData']
  displacedAt?: number
  /** What was done to an order, of which `payload` is what came of it. */
  operations?: OrderOperation[]
  /** What the articles are called that operations insert, by uuid. */
  titles?: Record<string, string>
  /** Whether it is not on the browser's disk, and goes with the window. */
  isInWindow?: boolean
}

/** Whether two texts are of the same field, and say the same. */
export function isSameText(one: EditorDraft, other: EditorDraft): boolean {
  return one.fieldName === other.fieldName && one.payload === other.payload
}

/** A text as it is on the disk. */
export interface StoredDraft extends EditorDraft {
  key: string
  /** The name of its entity. */
  of: string
  typedAt: number
}

/**
 * Why a text is not on the disk: there is no room, the browser does not keep it, or the browser
 * does not answer.
 */
export type DiskFailure = 'full' | 'refused' | 'silent'

/** Where a browser keeps texts that outlive a crash. Each call may fail with any error. */
export interface Disk {
  /** Whatever is kept under keys that begin so. */
  read: (prefix: string) => Promise<unknown[]>
  /** Keeps a text. It is on the disk itself once this is over. */
  put: (text: StoredDraft) => Promise<void>
  /** Removes a text, if there is one; with a payload only a text that still says this. */
  remove: (key: string, payload?: string) => Promise<void>
  /** Tells when the browser has lost all that it kept, such as when somebody clears its data. */
  onLose: (listener: () => void) => void
}

/**
 * Where a text is besides the page: on the disk, on its way there, or why it did not get there.
 */
export type Place = 'disk' | 'coming' | DiskFailure

/** What is kept of a field: its text, or what was done to its order. */
export type Kept = Pick<EditorDraft, 'payload' | 'operations' | 'titles'>

/** localStorage, where older versions of the page kept texts. */
export type OldStorage = Pick<Storage, 'length' | 'key' | 'getItem' | 'removeItem'>

export interface DraftStorageDeps {
  disk: Disk
  /** The page's window. Its localStorage may have texts of an older version of the page. */
  window: { readonly localStorage: OldStorage }
  uid: string
  /** Told when there are other texts, or when one has got to the disk. */
  onChange: () => void
}

/** A change that is to be written: a text, or that there is none. */
interface Write {
  key: string
  text?: StoredDraft | undefined
  /** Remove only a text that says this. */
  payload?: string | undefined
  isSent: boolean
  hasFailed: boolean
  onEnd: () => void
}

export type DraftStorage = ReturnType<typeof createDraftStorage>

/**
 * The texts of one editor that are in this browser alone, of all editions. They outlive the window,
 * and a crash of the browser. Another window sees them when it is opened.
 */
export function createDraftStorage({ disk, window, uid, onChange }: DraftStorageDeps) {
  const prefix = `quoin-text/${encodeURIComponent(uid)}/`
  const here = `${Date.now()}-${Math.random().toString(36).slice(2)}`
  let count = 0
  /** The texts of before, and those that were put aside here, the newest first. */
  let texts: StoredDraft[] = []
  /** What each window's fields have at the moment, by key. */
  const mirrored = new Map<string, StoredDraft>()
  /** What is not on the disk yet, the oldest first. */
  const writes = new Map<string, Write>()
  const failures = new Map<string, DiskFailure>()
  let sentCount = 0
  let retry: ReturnType<typeof setTimeout> | undefined

  const placeOf = (key: string): Place =>
    writes.has(key) ? (failures.get(key) ?? 'coming') : 'disk'

  function write(key: string, change: Partial<Write>): void {
    writes.delete(key)
    writes.set(key, { key, isSent: false, hasFailed: false, onEnd: onChange, ...change })
    flush()
  }

  const isLong = ({ text }: Write) => (text?.payload.length ?? 0) > LONG_LETTERS
  const send = ({ key, text, payload }: Write) =>
    text ? disk.put(text) : disk.remove(key, payload)

  /** Sends what is to be written, in its order. */
  function flush(): void {
    const next = [...writes.values()].find(({ isSent, hasFailed }) => !isSent && !hasFailed)
    if (!next) {
      if (sentCount === 0) tryAgain()
    } else if (sentCount < (isLong(next) ? 1 : MOST_AT_ONCE)) {
      sentCount++
      next.isSent = true
      finish(next)
      flush()
    }
  }

  async function finish(one: Write): Promise<void> {
    settle(one, await send(one).then(() => undefined, diskFailureOf))
    if (isLong(one)) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    sentCount--
    flush()
  }

  function settle(done: Write, failure: DiskFailure | undefined): void {
    const isLast = writes.get(done.key) === done
    if (failure === undefined) failures.delete(done.key)
    else failures.set(done.key, failure)
    if (isLast && failure === undefined) writes.delete(done.key)
    done.hasFailed = failure !== undefined
    done.isSent = false
    done.onEnd()
  }

  function tryAgain(): void {
    clearTimeout(retry)
    if (writes.size === 0) return
    retry = setTimeout(() => {
      for (const one of writes.values()) one.hasFailed = false
      flush()
    }, AGAIN_MS)
  }

  /** Takes in texts that the page does not have yet. The oldest of too many go. */
  function take(more: StoredDraft[]): void {
    const isKnown = ({ key }: StoredDraft) =>
      mirrored.has(key) || texts.some((text) => text.key === key)
    const sorted = [...more.filter((text) => !isKnown(text)), ...texts].sort(
      (one, other) => other.typedAt - one.typedAt
    )
    let letters = 0
    texts = sorted.filter(
      ({ payload }, index) =>
        index === 0 || (index < MOST && (letters += payload.length) <= MOST_LETTERS)
    )
    for (const { key, payload } of sorted) {
      if (!texts.some((text) => text.key === key)) write(key, { payload })
    }
  }

  /** Reads what was kept before. While the browser does not answer, it is asked again. */
  async function load(): Promise<void> {
    try {
      take((await disk.read(prefix)).flatMap((value) => draftIn(value, prefix)))
    } catch (error) {
      if (diskFailureOf(error) === 'silent') setTimeout(load, AGAIN_MS)
    }
    onChange()
  }

  /** Moves to the disk what an older version of the page kept in localStorage. */
  function takeOver(): void {
    const old = oldStorageOf(window)
    const former = inOldStorage(old, prefix)
    take(former)
    for (const text of former) {
      if (!texts.includes(text)) old!.removeItem(text.key)
      else {
        write(text.key, {
          text,
          onEnd() {
            if (placeOf(text.key) === 'disk') old!.removeItem(text.key)
            onChange()
          }
        })
      }
    }
  }

  disk.onLose(() => {
    for (const text of [...texts, ...mirrored.values()]) {
      if (!writes.has(text.key)) write(text.key, { text })
    }
  })
  takeOver()
  const ready = Promise.race([
    load(),
    new Promise<void>((resolve) => {
      setTimeout(resolve, READY_MS)
    })
  ])

  return {
    /** Waits for the texts of before, for a second at most. */
    ready,
    /** The texts of the entity with this name, the newest first, and where each is. */
    of: (name: string): EditorDraft[] =>
      texts
        .filter(
          (text, index) =>
            text.of === name &&
            texts.findIndex((one) => one.of === name && isSameText(one, text)) === index
        )
        .map((text) => ({ ...text, isInWindow: placeOf(text.key) !== 'disk' })),
    /** Keeps a text; where the disk does not take it, until the page is left. */
    put(name: string, draft: EditorDraft): void {
      const { isInWindow: _, ...text } = draft
      const key = `${prefix}${here}/${count++}`
      const record = { ...text, of: name, typedAt: Date.now() / 1000, key }
      write(key, { text: record })
      take([record])
    },
    /**
     * Removes the texts that are not needed any more. What another window has made of one since
     * stays on the disk.
     */
    drop(isOver: (draft: EditorDraft) => boolean, name: string): void {
      const obsolete = texts.filter((text) => text.of === name && isOver(text))
      texts = texts.filter((text) => !obsolete.includes(text))
      for (const { key, payload } of obsolete) write(key, { payload })
    },
    /** Whether closing the page would lose a text that was put aside. */
    get isAtRisk() {
      return texts.some(({ key }) => failures.has(key) && writes.has(key))
    },
    /**
     * Keeps what stands in one field of this window from its first letter, until it is in its lock
     * or saved.
     * @param onEnd told when it has got to the disk, or has failed to
     * @returns a function that takes it, or undefined once it is not needed any more, and says
     *   where the last one is
     */
    mirror(name: string, fieldName: string, onEnd: () => void) {
      const key = `${prefix}${here}/${name}/${fieldName}`
      return (kept: Kept | undefined): Place => {
        const last = mirrored.get(key)
        if (
          kept?.payload !== last?.payload ||
          kept?.operations?.length !== last?.operations?.length
        ) {
          const text = kept && { ...kept, key, of: name, fieldName, typedAt: Date.now() / 1000 }
          if (text) mirrored.set(key, text)
          else mirrored.delete(key)
          write(key, { text, onEnd })
        }
        return placeOf(key)
      }
    },
    /** The page is closed: sends all that is not on the disk yet, without waiting for an answer. */
    keep(): void {
      for (const one of writes.values()) send(one).catch(() => {})
    }
  }
}

/** The texts of an editor in localStorage. Whatever else of this host writes there is left alone. */
function inOldStorage(old: OldStorage | undefined, prefix: string): StoredDraft[] {
  if (!old) return []
  const keys = Array.from({ length: old.length }, (_, index) => old.key(index)!)
  return keys
    .filter((key) => key.startsWith(prefix))
    .flatMap((key) => {
      try {
        return draftIn({ ...JSON.parse(old.getItem(key)!), key }, prefix)
      } catch {
        return []
      }
    })
}

/** localStorage; a browser that forbids it throws. */
function oldStorageOf(window: { readonly localStorage: OldStorage }): OldStorage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

/** What was read, if it is a text as this page keeps it. */
function draftIn(value: unknown, prefix: string): StoredDraft[] {
  const { key, of, fieldName, payload, typedAt, operations } = value as StoredDraft
  const isText =
    [key, of, fieldName, payload].every((member) => typeof member === 'string') &&
    key.startsWith(prefix) &&
    typeof typedAt === 'number' &&
    (operations === undefined || Array.isArray(operations))
  return isText ? [value as StoredDraft] : []
}

/** Why a call of a disk failed. */
function diskFailureOf(error: unknown): DiskFailure {
  const { name } = error as Error
  if (name === 'QuotaExceededError') return 'full'
  return name === 'TimeoutError' ? 'silent' : 'refused'
}
