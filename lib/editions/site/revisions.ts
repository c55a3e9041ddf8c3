import { LRUCache } from 'lru-cache'
import type { Resource } from '../../drupal/document.ts'
import { publicNames, type ContentModel } from '../model.ts'

/**
 * The newest revision of each edition that Quoin knows of. A read that begins before a save and ends after it leaves the earlier
 * state in Drupal's cache of normalizations, and Drupal shows it to all readers until the next save. Whoever knows which
 * revision the save made notices, and asks for that one by its id.
 * Source: Drupal\jsonapi\EventSubscriber\ResourceObjectNormalizationCacher (keys without the revision, stored after the answer).
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
  /** Forgets an edition. */
  forget(uuid: string): void
}

/** For how many editions Quoin remembers the newest revision. */
const EDITIONS = 10_000

export function createRevisions(model: ContentModel): Revisions {
  const newest = new LRUCache<string, number>({ maxSize: EDITIONS, sizeCalculation: () => 1 })
  const [attribute = ''] = publicNames(model, model.keys.revision)

  function of(uuid: string): number | undefined {
    return newest.get(uuid.toLowerCase())
  }

  function learn(uuid: string, revision: unknown): void {
    if (Number.isSafeInteger(revision) && (revision as number) > (of(uuid) ?? 0)) {
      newest.set(uuid.toLowerCase(), revision as number)
    }
  }

  return {
    of,
    learn,
    learnFrom(resource) {
      if (isDefault(resource)) learn(resource.id, resource.attributes?.[attribute])
    },
    newerThan({ id, attributes }) {
      const known = of(id)
      return known !== undefined && (attributes?.[attribute] as number) < known ? known : undefined
    },
    forget: (uuid) => {
      newest.delete(uuid.toLowerCase())
    }
  }
}

/** Whether a resource shows the revision that Drupal shows by itself. Source: Drupal\jsonapi\JsonApiResource\ResourceObject::buildLinksFromEntity(). */
export function isDefault({ links }: Resource): boolean {
  return links?.['latest-version'] === undefined
}
