import { LRUCache } from 'lru-cache'
import type { ResourceIdentifier } from '../../drupal/document.ts'
import type { Site } from '../site/site.ts'

/** What the look-up of references works with. */
export interface ReferenceContext extends Pick<
  Site,
  'cms' | 'catalog' | 'filters' | 'model' | 'rows'
> {
  /** The type and uuid of entities, by `referenceKey`. */
  identifierCache: LRUCache<string, ResourceIdentifier>
  /** The attribute with the integer id, by entity type, as documents have shown it. */
  idAttributes: Map<string, string>
  /** The fields whose references were looked for in all editions, by caller. */
  scans: LRUCache<string, true>
}

/**
 * How many references Quoin remembers. They change only when their entity is deleted, or the site
 * is set back.
 */
const REMEMBERED = 50_000

/**
 * For how many fields and callers Quoin remembers that it has read them, and how long, in
 * milliseconds.
 */
const SCANS = 1000
const SCANNED_MS = 60_000

export function createReferenceContext({
  cms,
  catalog,
  filters,
  model,
  rows
}: Pick<Site, 'cms' | 'catalog' | 'filters' | 'model' | 'rows'>): ReferenceContext {
  return {
    cms,
    catalog,
    filters,
    model,
    rows,
    // As a size: with `max` the cache would reserve the memory for all of them at once.
    identifierCache: new LRUCache({ maxSize: REMEMBERED, sizeCalculation: () => 1 }),
    idAttributes: new Map(),
    scans: new LRUCache({ max: SCANS, ttl: SCANNED_MS })
  }
}

/** The key of an entity in the cache. */
export function referenceKey(entityType: string, id: string): string {
  return `${entityType}:${id}`
}
