import { LRUCache } from 'lru-cache'
import type { ContentModel } from '../editions/model.ts'
import { forEach } from '../for-each.ts'
import type { EditionSave } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import { ownerOf } from '../locks/record.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import type { Journal } from '../saves/journal.ts'
import { lockType } from './entities.ts'
import { inLanguage } from './names.ts'
import type { OutsideSave, SaveQuestion, SaveVerdict } from './outside-schemas.ts'

/** How many notices Quoin remembers, so that watchers hear of a save once. */
const NOTICES = 10_000

/** What ends where Drupal has saved without Quoin. */
export interface Outdated {
  uuid: string
  /** Whether it is an edition, or in one of the lists that editions are made of. */
  isListed: boolean
  /** Whether it is an edition. */
  isEdition: boolean
  /** The revision that Drupal now shows by itself, if that is known. */
  revision: number | undefined
}

export interface OutsideDeps {
  locks: Pick<Locks, 'view'>
  journal: Pick<Journal, 'outside'> | undefined
  model: ContentModel
  /** Ends what Quoin remembers, here and at the other instances. */
  outdate: (outdated: Outdated) => void
  /** Tells those who watch the entity, here and at the other instances. */
  tell: (save: EditionSave) => void
}

export interface OutsideContext extends OutsideDeps {
  /** The notices that were told. */
  heard: LRUCache<string, true>
}

export type Outside = ReturnType<typeof createOutside>

/** Saves that Drupal makes without Quoin, before and after them, as Drupal's module tells them. */
export function createOutside(deps: OutsideDeps) {
  const context: OutsideContext = {
    ...deps,
    // As a size: with `max` the cache would reserve the memory for all of them at once.
    heard: new LRUCache({ maxSize: NOTICES, sizeCalculation: () => 1 })
  }
  return {
    check: (question: SaveQuestion) => findLocksInTheWay(context, question),
    hear: (saves: OutsideSave[]) => hearSaves(context, saves)
  }
}

/**
 * The locks of others on fields that a save would change: those on the entity in all languages, and
 * those on the translation that is saved.
 * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED, TOO_LARGE
 */
export async function findLocksInTheWay(
  { locks, model }: OutsideContext,
  { fields, uid, language, ...entity }: SaveQuestion
): Promise<SaveVerdict> {
  const views = await locks.view(inLanguage(lockedEntity(entity, model), language, model))
  const byField = new Map(
    views
      .filter((lock) => fields.includes(lock.fieldName) && ownerOf(lock) !== uid)
      .map((lock) => [lock.fieldName, lock])
  )
  return { locks: [...byField.values()].map(holderIn) }
}

/** What the locks of an entity are on: of one without an integer id its uuid. */
function lockedEntity(
  { type, id, uuid }: Pick<SaveQuestion, 'type' | 'id' | 'uuid'>,
  model: ContentModel
): Entity {
  return {
    type: lockType(type, model),
    id: (model.lockIds === 'id' ? id : uuid).toLowerCase()
  }
}

/** Another program may have written anything in a lock. */
function holderIn({ fieldName, userData }: Partial<LockView>): SaveVerdict['locks'][number] {
  return {
    fieldName: String(fieldName),
    uid: textOf(userData?.uid),
    name: textOf(userData?.name)
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/**
 * Takes in saves. A save that was told before, here or at another instance, has one entry in the
 * journal all the same.
 * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED: tell them again
 */
export async function hearSaves(context: OutsideContext, saves: OutsideSave[]): Promise<void> {
  for (const save of saves) announce(context, save)
  await forEach(saves, (save) => record(context, save))
}

function announce({ heard, model, outdate, tell }: OutsideContext, save: OutsideSave): void {
  const { notice, type, uuid, revision, uid, fields } = save
  if (heard.has(notice.toLowerCase())) return
  heard.set(notice.toLowerCase(), true)
  const isEdition = isOfEdition(save, model)
  const isListed =
    isEdition || Object.values(model.lists).some(({ entityType }) => entityType === type)
  outdate({ uuid: uuid.toLowerCase(), isListed, isEdition, revision })
  const { type: entityType, id: entityId } = lockedEntity(save, model)
  tell({ entityType, entityId, etag: null, uid, fields })
}

function isOfEdition({ type, bundle }: OutsideSave, { entityType, bundles }: ContentModel) {
  if (type !== entityType) return false
  return bundle === undefined || bundles === undefined || Object.hasOwn(bundles, bundle)
}

/** Notes a save in the journal of its edition. Nobody reads that of one that is deleted. */
async function record({ journal, model }: OutsideContext, save: OutsideSave): Promise<void> {
  if (!journal || save.kind === 'delete' || !isOfEdition(save, model)) return
  const { notice, uuid, uid, name, fields, language, changed, age } = save
  await journal.outside(uuid, { notice, age, by: { uid, name }, fields, language, changed })
}
