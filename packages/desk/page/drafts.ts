import type { Client, Draft, Holder } from '../../client/src/client.ts'
import type { Field } from './field.ts'

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
}

export interface DraftsDeps {
  locks: Pick<Client['locks'], 'drafts' | 'discard'>
  entity: () => { type: string; id: string }
  storage: DraftStorage
  onChange: () => void
}

/**
 * The texts of an editor that others have displaced, or whose locks have expired. The newest is the
 * first.
 */
export function createDrafts({ locks, entity, storage, onChange }: DraftsDeps) {
  let drafts: Draft[] = []
  const name = () => `${entity().type}/${entity().id}`
  const isDraft = (draft: EditorDraft) => drafts.some((one) => isSameText(one, draft))

  /** @throws {QuoinError} */
  async function load(): Promise<void> {
    drafts = await locks.drafts(entity())
    storage.drop(isDraft, name())
    onChange()
  }

  /** Removes a text that is in this browser alone. */
  function forget(draft: EditorDraft): void {
    storage.drop((one) => isSameText(one, draft), name())
  }

  return {
    name,
    get all(): EditorDraft[] {
      return [...storage.of(name()), ...drafts]
    },
    load,
    /** Keeps a text that may be in no lock, such as one that was typed just now. */
    add(draft: EditorDraft): void {
      forget(draft)
      if (!isDraft(draft)) storage.put(name(), draft)
    },
    forget,
    /** @throws {QuoinError} */
    async discard(draft: EditorDraft): Promise<void> {
      forget(draft)
      if (draft.id !== undefined) {
        await locks.discard({ ...entity(), fieldName: draft.fieldName, draft: draft.id })
      }
      await load()
    }
  }
}

/** Whether two texts are of the same field, and say the same. */
export function isSameText(one: EditorDraft, other: EditorDraft): boolean {
  return one.fieldName === other.fieldName && one.payload === other.payload
}

/** Where a browser keeps texts that outlive a crash, such as localStorage. */
export type TextStorage = Pick<Storage, 'length' | 'key' | 'getItem' | 'setItem' | 'removeItem'>

/** The storage of a browser's window; where the browser gives none, one without room. */
export function storageOf(window: { readonly localStorage: TextStorage }): TextStorage {
  try {
    return window.localStorage
  } catch {
    return {
      length: 0,
      key: () => null,
      getItem: () => null,
      setItem() {
        throw new Error('There is no storage')
      },
      removeItem() {}
    }
  }
}

interface StoredDraft extends EditorDraft {
  /** Its key in the store. */
  key: string
  of: string
  typedAt: number
}

/** How many texts of an editor a browser keeps. The oldest go first. */
const MOST = 100

export type DraftStorage = ReturnType<typeof createDraftStorage>

/**
 * The texts of one editor that are in this browser alone, of all editions. They outlive the window,
 * and a crash. Another window sees them when it is opened.
 */
export function createDraftStorage(store: TextStorage, uid: string) {
  const prefix = `quoin-text/${encodeURIComponent(uid)}/`
  const here = `${Date.now()}-${Math.random().toString(36).slice(2)}`
  let count = 0
  let texts: StoredDraft[] = []
  for (const draft of inStore(store, prefix)) {
    if (
      texts.length === MOST ||
      texts.some((one) => one.of === draft.of && isSameText(one, draft))
    ) {
      store.removeItem(draft.key)
    } else texts.push(draft)
  }

  /** @returns whether there was room */
  function write({ key, ...text }: StoredDraft): boolean {
    try {
      store.setItem(key, JSON.stringify(text))
      return true
    } catch {
      return false
    }
  }

  return {
    /** The texts of the entity with this name, the newest first. */
    of: (name: string): EditorDraft[] => texts.filter(({ of }) => of === name),
    /** Keeps a text; where the store is full, until the page is left. */
    put(name: string, draft: EditorDraft): void {
      const record = {
        ...draft,
        of: name,
        typedAt: Date.now() / 1000,
        key: `${prefix}${here}/${count++}`
      }
      write(record)
      texts = [record, ...texts]
    },
    /**
     * Removes the texts that are not needed any more. What another window has made of one since
     * stays in the store.
     */
    drop(isOver: (draft: EditorDraft) => boolean, name: string): void {
      const obsolete = texts.filter((text) => text.of === name && isOver(text))
      for (const text of obsolete) {
        if (
          draftIn(store.getItem(text.key) ?? '', text.key).some((other) => isSameText(other, text))
        ) {
          store.removeItem(text.key)
        }
      }
      texts = texts.filter((text) => !obsolete.includes(text))
    },
    /**
     * Keeps the text of one field of this window from its first letter, until the text is in its
     * lock or saved.
     * @returns a function that takes the text, or undefined once it is not needed any more, and
     *   says whether the store has it
     */
    mirror(name: string, fieldName: string): (text: string | undefined) => boolean {
      const key = `${prefix}${here}/${name}/${fieldName}`
      let last: { text: string | undefined; isWritten: boolean } = {
        text: undefined,
        isWritten: true
      }
      return (text) => {
        if (text === last.text) return last.isWritten
        const isWritten =
          text === undefined ||
          write({ key, of: name, fieldName, payload: text, typedAt: Date.now() / 1000 })
        if (text === undefined) store.removeItem(key)
        last = { text, isWritten }
        return isWritten
      }
    }
  }
}

/**
 * What the store has below a prefix, the newest first. Whatever else of this host writes there is
 * left alone.
 */
function inStore(store: TextStorage, prefix: string): StoredDraft[] {
  const keys = Array.from({ length: store.length }, (_, index) => store.key(index)!).filter((key) =>
    key.startsWith(prefix)
  )
  return keys
    .flatMap((key) => draftIn(store.getItem(key)!, key))
    .sort((one, other) => other.typedAt - one.typedAt)
}

function draftIn(json: string, key: string): StoredDraft[] {
  try {
    const { payload, typedAt, ...more } = JSON.parse(json)
    return typeof payload === 'string' && typeof typedAt === 'number'
      ? [{ ...more, payload, typedAt, key }]
      : []
  } catch {
    return []
  }
}

/**
 * How many bytes of texts a closing page can send. The limit is 64 KiB (Fetch Standard, keepalive),
 * the rest of the requests included.
 */
const LAST_BYTES = 56_000

/**
 * Whether closing the page would lose a text. A closing page sends what is not in its lock yet, but
 * only to a lock that it holds and that answers, and only so many bytes.
 * @param isSilent whether the page sends nothing, since somebody else is signed in
 */
export function isAtRisk(
  fields: Array<Pick<Field, 'isKept' | 'isHeld' | 'trouble' | 'text'>>,
  isSilent = false
): boolean {
  const unsent = fields.filter(({ isKept }) => !isKept)
  if (unsent.some(({ isHeld, trouble }) => isSilent || !isHeld || trouble !== undefined)) {
    return true
  }
  return (
    new TextEncoder().encode(JSON.stringify(unsent.map(({ text }) => text))).length > LAST_BYTES
  )
}
