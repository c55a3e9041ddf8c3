import { LRUCache } from 'lru-cache'
import type { Resource } from '../../drupal/document.ts'
import { publicNames, type ContentModel } from '../model.ts'

/**
 * The newest revision of each edition that Quoin knows of. A read that begins before a save and
 * ends after it leaves the earlier state in Drupal's cache of normalizations, and Drupal shows it
 * to all readers until the next save. Whoever knows which revision the save made notices, and asks
 * for that one by its id.
 * Source: Drupal\jsonapi\EventSubscriber\ResourceObjectNormalizationCacher (keys without the
 * revision, stored after the answer).
 */
export interface Revisions {
  /** The newest one, if any is known. */
  of(uuid: string): number | undefined
  /** Takes in a revision id. Ignores an older one, and a value that is not a revision id. */
  learn(uuid: string, revision: unknown): void
  /** Takes in the revision that a resource shows, if it is the default one. */
  learnFrom(resource: Resource): void
  /** The newest one, if the resource shows an older one. */
  newerThan(resource: Resource): number | undefined
  /** The id of the revision that a resource shows; undefined if the caller is not shown it. */
  idOf(resource: Resource): number | undefined
  /** Takes in that a revision was saved again, without a new one. */
  learnReuse(uuid: string, revision: number): void
  /** Whether a revision is known to name several states. */
  isReused(uuid: string, revision: number): boolean
  /** Forgets the newest revision of an edition. */
  forget(uuid: string): void
}

/** For how many editions Quoin remembers the newest revision, and one that was saved again. */
const EDITIONS = 10_000

export interface RevisionsContext {
  /** The newest revision of each edition, by its uuid. */
  newest: LRUCache<string, number>
  /** The last revision of each edition that was saved again, by its uuid. */
  reused: LRUCache<string, number>
  /** The public name of the revision's id; empty where the content model has none. */
  attribute: string
}

export function createRevisions(model: ContentModel): Revisions {
  const [attribute = ''] = publicNames(model, model.keys.revision)
  const newest = new LRUCache<string, number>({ maxSize: EDITIONS, sizeCalculation: () => 1 })
  const reused = new LRUCache<string, number>({ maxSize: EDITIONS, sizeCalculation: () => 1 })
  const context: RevisionsContext = { newest, reused, attribute }
  return {
    of: (uuid) => newestRevision(context, uuid),
    learn: (uuid, revision) => learnRevision(context, uuid, revision),
    learnFrom: (resource) => learnRevisionFrom(context, resource),
    newerThan: (resource) => newerRevision(context, resource),
    idOf: (resource) => revisionId(context, resource),
    learnReuse: (uuid, revision) => {
      reused.set(uuid.toLowerCase(), revision)
    },
    isReused: (uuid, revision) => reused.get(uuid.toLowerCase()) === revision,
    forget: (uuid) => {
      newest.delete(uuid.toLowerCase())
    }
  }
}

export function newestRevision({ newest }: RevisionsContext, uuid: string): number | undefined {
  return newest.get(uuid.toLowerCase())
}

export function revisionId(
  { attribute }: Pick<RevisionsContext, 'attribute'>,
  { attributes }: Resource
): number | undefined {
  const revision = attributes?.[attribute]
  return Number.isSafeInteger(revision) ? (revision as number) : undefined
}

export function learnRevision(context: RevisionsContext, uuid: string, revision: unknown): void {
  if (!Number.isSafeInteger(revision)) return
  const isNewer = (revision as number) > (newestRevision(context, uuid) ?? 0)
  if (isNewer) context.newest.set(uuid.toLowerCase(), revision as number)
}

export function learnRevisionFrom(context: RevisionsContext, resource: Resource): void {
  if (!isDefault(resource)) return
  learnRevision(context, resource.id, resource.attributes?.[context.attribute])
}

export function newerRevision(
  context: RevisionsContext,
  { id, attributes }: Resource
): number | undefined {
  const newest = newestRevision(context, id)
  if (newest === undefined) return undefined
  return (attributes?.[context.attribute] as number) < newest ? newest : undefined
}

/**
 * Whether a resource shows the revision that Drupal shows by itself. Source:
 * Drupal\jsonapi\JsonApiResource\ResourceObject::buildLinksFromEntity().
 */
export function isDefault({ links }: Resource): boolean {
  return links?.['latest-version'] === undefined
}
