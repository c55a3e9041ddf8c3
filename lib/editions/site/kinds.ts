import { identifiers, isSameUuid, type Resource } from '../../drupal/document.ts'
import { publicName, splitType, type ContentModel } from '../model.ts'
import { entityKeys, type Keys } from './keys.ts'

/**
 * What Drupal treats apart where it lets a user filter: whether a row is published, and whether it
 * is the user's own. A hook allows the published rows, the user's own, or all. Source:
 * Drupal\jsonapi\JsonApiFilter,
 * Drupal\jsonapi\Access\TemporaryQueryGuard::getAccessConditionForKnownSubsets().
 */
export type Kind =
  'unpublished of others' | 'published of others' | 'own unpublished' | 'own published'

/** Those that show the most first. */
export const KINDS: readonly Kind[] = [
  'unpublished of others',
  'published of others',
  'own unpublished',
  'own published'
]

/** The kinds of published rows. */
export const PUBLISHED_KINDS: readonly Kind[] = ['published of others', 'own published']

/** The kinds of rows that are not published, and of those that are not the caller's own. */
export const UNPUBLISHED_KINDS: readonly Kind[] = ['unpublished of others', 'own unpublished']
export const KINDS_OF_OTHERS: readonly Kind[] = ['unpublished of others', 'published of others']

/**
 * The kinds that a filter finds certainly where it has found a row of one: no subset has that row
 * and lacks these.
 */
const WITH: Readonly<Record<Kind, readonly Kind[]>> = {
  'unpublished of others': KINDS,
  'published of others': PUBLISHED_KINDS,
  'own unpublished': ['own unpublished', 'own published'],
  'own published': ['own published']
}

/**
 * Entity types that core also filters by something else: where a file lies, what a comment is
 * about.
 */
const OTHERWISE = ['file', 'comment']

/** From where the rows of an entity type are looked at. */
export interface View {
  model: ContentModel
  entityType: string
  keys: Keys
  /** The caller's uuid; null for nobody, undefined where it is not known. */
  me: string | null | undefined
}

export function viewOn(entityType: string, me: View['me'], model: ContentModel): View {
  return { model, entityType, keys: entityKeys(entityType, model), me }
}

/** The kind of a row; undefined where it does not show all that tells it. */
export function kindOf(row: Resource, view: View): Kind | undefined {
  const isPublished = isPublishedRow(row, view)
  const isOwn = isOwnRow(row, view)
  if (isPublished === undefined || isOwn === undefined || OTHERWISE.includes(view.entityType)) {
    return undefined
  }
  if (isOwn) return isPublished ? 'own published' : 'own unpublished'
  return isPublished ? 'published of others' : 'unpublished of others'
}

/**
 * Drupal has two flags: published, and enabled, whose key is `status`. Nearly all entity types have
 * one field for both.
 */
function isPublishedRow({ attributes = {} }: Resource, { model, keys }: View): boolean | undefined {
  const { status } = attributes
  if (keys.published === null) return status === true
  const isPublished = attributes[publicName(model, keys.published)]
  if (typeof isPublished !== 'boolean') return undefined
  return !isPublished && status === true ? undefined : isPublished
}

function isOwnRow(
  { id, relationships = {} }: Resource,
  { model, entityType, keys, me }: View
): boolean | undefined {
  if (me === null || keys.owner === null) return false
  if (me === undefined) return undefined
  if (entityType === 'user') return isSameUuid(id, me)
  const owner = relationships[publicName(model, keys.owner)]
  if (owner?.data === undefined) return undefined
  const owners = identifiers(owner)
  if (!owners.every(({ type }) => splitType(model, type).entityType === 'user')) return undefined
  return owners.some(({ id }) => isSameUuid(id, me))
}

/**
 * The kinds that a filter certainly finds, by those of which it has found rows that exist, and
 * those of which it has not.
 */
export function provenBy(found: Iterable<Kind>, missed: ReadonlySet<Kind>): ReadonlySet<Kind> {
  const sound = [...found].filter((kind) => WITH[kind].every((other) => !missed.has(other)))
  return new Set(sound.flatMap((kind) => WITH[kind]))
}

/**
 * The path by which rows are sorted by their owners; undefined where all rows are alike in that.
 */
export function ownerPath(view: View): string | undefined {
  const owner = ownershipOf(view)
  return owner && `${owner.relationship}.meta.drupal_internal__target_id`
}

/**
 * The relationship to the owner, by its public name, and the caller's uuid; undefined where all
 * rows are alike in that.
 */
export function ownershipOf({
  model,
  entityType,
  keys,
  me
}: View): { relationship: string; me: string } | undefined {
  if (keys.owner === null || typeof me !== 'string' || entityType === 'user') return undefined
  return { relationship: publicName(model, keys.owner), me }
}

/** The public names of what tells a row's kind. */
export function kindFields({ model, keys }: View): string[] {
  const names = [keys.published, keys.owner].filter((key) => key !== null)
  return [...new Set([...names.map((key) => publicName(model, key)), 'status'])]
}
