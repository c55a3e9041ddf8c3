import type { Client, Draft, Holder } from '../client/src/client.ts'
import type { Field } from './field.ts'
import type { Shape } from './fields.ts'

/** The text of a field that another user has now. Without `wasHeld` the other user had it before this one typed. */
export interface Lost { shape: Shape, text: string, by: Holder, wasHeld: boolean }

/** A text that is kept in a draft of the service or, without `displacedAt`, in this window alone. */
export interface Kept {
  id?: string
  fieldName: string
  payload: string
  displacedBy?: Holder['userData']
  displacedAt?: number
}

export interface KeptDeps {
  locks: Pick<Client['locks'], 'drafts' | 'discard'>
  entity: () => { type: string, id: string }
  shelf: Shelf
  changed: () => void
}

/** The texts of an editor that others have displaced, or whose locks have expired. The newest is the first. */
export function createKept ({ locks, entity, shelf, changed }: KeptDeps) {
  let drafts: Draft[] = []
  const name = () => `${entity().type}/${entity().id}`
  const isDraft = (kept: Kept) => drafts.some((draft) => isSame(draft, kept))

  /** @throws {QuoinError} */
  async function load (): Promise<void> {
    drafts = await locks.drafts(entity())
    shelf.drop(isDraft, name())
    changed()
  }

  /** Removes a text that is in this window alone. */
  function forget (kept: Kept): void {
    shelf.drop((one) => isSame(one, kept), name())
  }

  return {
    get all (): Kept[] { return [...shelf.of(name()), ...drafts] },
    load,
    /** Keeps a text that may be in no lock, such as one that was typed just now. */
    add (kept: Kept): void {
      forget(kept)
      if (!isDraft(kept)) shelf.put(name(), kept)
    },
    forget,
    /** @throws {QuoinError} */
    async discard (kept: Kept): Promise<void> {
      forget(kept)
      if (kept.id !== undefined) await locks.discard({ ...entity(), fieldName: kept.fieldName, draft: kept.id })
      await load()
    }
  }
}

function isSame (one: Kept, other: Kept): boolean {
  return one.fieldName === other.fieldName && one.payload === other.payload
}

/** Where a tab keeps texts that outlive a reload, such as sessionStorage. */
export interface Store {
  getItem (key: string): string | null
  setItem (key: string, value: string): void
}

interface Shelved extends Kept { of: string }

export type Shelf = ReturnType<typeof createShelf>

/** The texts of one editor that are in this window alone, of all editions. They survive a reload, but not the window. */
export function createShelf (store: Store, uid: string) {
  const key = `quoin-texts-${uid}`
  let texts: Shelved[] = JSON.parse(store.getItem(key) ?? '[]')

  function become (now: Shelved[]): void {
    texts = now
    try {
      store.setItem(key, JSON.stringify(texts))
    } catch {
      // The store is full: the texts are here until the page is left.
    }
  }

  return {
    get isEmpty () { return texts.length === 0 },
    /** The texts of the entity with this name, the newest first. */
    of: (name: string): Kept[] => texts.filter(({ of }) => of === name),
    put: (name: string, kept: Kept): void => become([{ ...kept, of: name }, ...texts]),
    /** Removes the texts that are not needed any more. */
    drop: (isOver: (kept: Kept) => boolean, name: string): void => become(texts.filter((text) => text.of !== name || !isOver(text)))
  }
}

/** How many bytes of texts a closing page can send. The limit is 64 KiB (Fetch Standard, keepalive), the rest of the requests included. */
const LAST_BYTES = 56_000

/**
 * Whether closing the page would lose a text. A closing page sends what is not in its lock yet, but only to a lock that it
 * holds and that answers, and only so many bytes.
 * @param isSilent whether the page sends nothing, since somebody else is signed in
 */
export function isAtRisk (fields: Array<Pick<Field, 'isKept' | 'isHeld' | 'trouble' | 'text'>>, isSilent = false): boolean {
  const unsent = fields.filter(({ isKept }) => !isKept)
  if (unsent.some(({ isHeld, trouble }) => isSilent || !isHeld || trouble !== undefined)) return true
  return new TextEncoder().encode(JSON.stringify(unsent.map(({ text }) => text))).length > LAST_BYTES
}
