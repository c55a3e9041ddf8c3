import type { Client, Draft, Holder } from '../lib/client/client.ts'
import type { Shape } from './fields.ts'

/** A text that its writer lost the field with; without `wasHeld` it was another's all along. */
export interface Lost { shape: Shape, text: string, by: Holder, wasHeld: boolean }

/** A text that is kept: in a draft of the service or, without `displacedAt`, in this window alone for the moment. */
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
  changed: () => void
}

/** The texts of an editor that others have displaced, or whose locks have expired, the newest first. */
export function createKept ({ locks, entity, changed }: KeptDeps) {
  let drafts: Draft[] = []
  let own: Kept[] = []

  /** @throws {QuoinError} */
  async function load (): Promise<void> {
    drafts = await locks.drafts(entity())
    own = own.filter(({ fieldName, payload }) => !drafts.some((draft) => draft.fieldName === fieldName && draft.payload === payload))
    changed()
  }

  return {
    get all (): Kept[] { return [...own, ...drafts] },
    load,
    /** Keeps a text that was typed so lately that it may not have got into the lock. */
    add (kept: Kept): void {
      own = [kept, ...own]
    },
    /** @throws {QuoinError} */
    async discard (kept: Kept): Promise<void> {
      own = own.filter((one) => one !== kept)
      if (kept.id !== undefined) await locks.discard({ ...entity(), fieldName: kept.fieldName, draft: kept.id })
      await load()
    }
  }
}
