import type { Client, Draft, Holder } from '../client/src/client.ts'
import type { Shape } from './fields.ts'
import type { Shelf } from './shelf.ts'

/** A text that its writer lost the field with; without `wasHeld` it was another's all along. */
export interface Lost { shape: Shape, text: string, by: Holder, wasHeld: boolean }

/** A text that is kept: in a draft of the service or, without `displacedAt`, in this window alone. */
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

/** The texts of an editor that others have displaced, or whose locks have expired, the newest first. */
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

  /** Takes a text off that is in this window alone. */
  function forget (kept: Kept): void {
    shelf.drop((one) => isSame(one, kept), name())
  }

  return {
    get all (): Kept[] { return [...shelf.of(name()), ...drafts] },
    load,
    /** Keeps a text that may be in no lock, such as one that was typed just now; once. */
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
