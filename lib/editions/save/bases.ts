import { LRUCache } from 'lru-cache'
import { readKey } from '../../drupal/credentials.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import { systemTime, type Time } from '../../time.ts'
import { publicNames, type ContentModel } from '../model.ts'
import { isDefault } from '../site/revisions.ts'
import type { SaveMark } from './save-queue.ts'

/** What a caller was answered last of an edition, and the last save before that. */
export interface RememberedBase {
  resource: Resource
  mark: SaveMark
}

/**
 * What callers were answered last of each edition. An update whose caller was shown the present
 * state needs no read: Drupal refuses a PATCH with another `changed` than the stored one. Source:
 * Drupal\Core\Field\ChangedFieldItemList::defaultAccess(), which lets nobody change it.
 */
export interface Bases {
  of(uuid: string, caller: Caller): RememberedBase | undefined
  /**
   * Remembers an answer, if `changed` tells Drupal of later saves: not where the type has none, the
   * caller is not shown it, or this is a translation, whose original may change a shared field and
   * leave its `changed` alone. A draft beside the published revision is no base either.
   * @param size in characters of its JSON
   */
  keep(resource: Resource, size: number, caller: Caller, mark: SaveMark): void
}

/**
 * How long an answer serves, in milliseconds: tickets, which tell of the saves of other instances,
 * are kept for an hour.
 */
const REMEMBERED_MS = 900_000

/** How many answers Quoin remembers, and how many characters of JSON together. */
const ANSWERS = 5000
const CHARACTERS = 8 * 1024 * 1024

interface BaseContext {
  time: Time
  model: ContentModel
  bases: LRUCache<string, RememberedBase & { until: number }>
}

export function createBases(model: ContentModel, time: Time = systemTime): Bases {
  const context: BaseContext = {
    time,
    model,
    bases: new LRUCache({ max: ANSWERS, maxSize: CHARACTERS })
  }
  return {
    of: (uuid, caller) => findBase(context, uuid, caller),
    keep: (resource, size, caller, mark) => keepBase(context, resource, size, caller, mark)
  }
}

function findBase(
  { bases, time }: BaseContext,
  uuid: string,
  caller: Caller
): RememberedBase | undefined {
  const base = bases.get(baseKey(uuid, caller))
  return base && base.until > time.monotonic() ? base : undefined
}

function keepBase(
  { bases, model, time }: BaseContext,
  resource: Resource,
  size: number,
  caller: Caller,
  mark: SaveMark
): void {
  if (!isGuarded(resource, model)) return
  const until = time.monotonic() + REMEMBERED_MS
  bases.set(baseKey(resource.id, caller), { resource, mark, until }, { size: size + 1 })
}

/** Whether Drupal notices by `changed` that somebody has saved after this state. */
function isGuarded(resource: Resource, model: ContentModel): boolean {
  const { attributes = {} } = resource
  const { changed, defaultLangcode } = model.keys
  const hasChanged = publicNames(model, changed).some((name) =>
    ['string', 'number'].includes(typeof attributes[name])
  )
  const isOriginal = publicNames(model, defaultLangcode).every((name) => attributes[name] === true)
  return hasChanged && isOriginal && isDefault(resource)
}

function baseKey(uuid: string, caller: Caller): string {
  return `${readKey('', caller)}\n${uuid.toLowerCase()}`
}
