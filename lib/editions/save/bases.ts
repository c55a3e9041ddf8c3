import { LRUCache } from 'lru-cache'
import { readKey } from '../../drupal/credentials.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import { systemTime, type Time } from '../../time.ts'
import { publicNames, type ContentModel } from '../model.ts'
import { isDefault } from '../site/revisions.ts'
import type { Site } from '../site/site.ts'
import { revisionPrecondition } from './precondition.ts'
import type { SaveMark } from './save-queue.ts'

/** What a caller was answered last of an edition, and the last save before that. */
export interface RememberedBase {
  resource: Resource
  mark: SaveMark
}

/**
 * What callers were answered last of each edition. An update whose caller was shown the present
 * state needs no read: Drupal refuses a PATCH with another `changed` than the stored one, and with
 * Quoin's module one that names another revision. Source:
 * Drupal\Core\Field\ChangedFieldItemList::defaultAccess(), which lets nobody change `changed`.
 */
export interface Bases {
  of(uuid: string, caller: Caller): RememberedBase | undefined
  /**
   * Remembers an answer, if its revision or its `changed` tells Drupal of later saves (`isGuarded`).
   * A draft beside the published revision is no base.
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

type BaseSite = Pick<Site, 'cms' | 'model' | 'revisions'>

interface BaseContext {
  time: Time
  site: BaseSite
  bases: LRUCache<string, RememberedBase & { until: number }>
}

export function createBases(site: BaseSite, time: Time = systemTime): Bases {
  const context: BaseContext = {
    time,
    site,
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
  { bases, site, time }: BaseContext,
  resource: Resource,
  size: number,
  caller: Caller,
  mark: SaveMark
): void {
  const isKnown =
    revisionPrecondition(site, resource) !== undefined || isGuarded(resource, site.model)
  if (!isKnown || !isDefault(resource)) return
  const until = time.monotonic() + REMEMBERED_MS
  bases.set(baseKey(resource.id, caller), { resource, mark, until }, { size: size + 1 })
}

/**
 * Whether Drupal notices by `changed` that somebody has saved after this state, in another second:
 * not where the type has none, the caller is not shown it, or this is a translation, whose original
 * may change a shared field and leave its `changed` alone.
 */
export function isGuarded(resource: Resource, model: ContentModel): boolean {
  const { attributes = {} } = resource
  const { changed, defaultLangcode } = model.keys
  const hasChanged = publicNames(model, changed).some((name) =>
    ['string', 'number'].includes(typeof attributes[name])
  )
  const isOriginal = publicNames(model, defaultLangcode).every((name) => attributes[name] === true)
  return hasChanged && isOriginal
}

function baseKey(uuid: string, caller: Caller): string {
  return `${readKey('', caller)}\n${uuid.toLowerCase()}`
}
