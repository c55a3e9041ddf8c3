import type { Client, Draft } from '../../client/src/client.ts'
import { isSameText, type DraftStorage, type EditorDraft } from './draft-storage.ts'
import type { Field } from './field.ts'

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
