import { instant } from './canonical.ts'
import type { ContentModel } from './model.ts'
import type { Entity } from './read.ts'

/**
 * A strong entity tag (RFC 9110 section 8.8.3) of an edition: its revision and the second it was changed. Drupal makes a
 * revision with every save through JSON:API where the bundle says so, and moves `changed` with every save.
 */
export function etagOf (entity: Entity, model: ContentModel): string {
  const revision = entity[model.keys.revision]?.[0]?.value ?? ''
  const changed = instant(entity[model.keys.changed]?.[0]?.value) / 1000 || ''
  return `"${encodeURIComponent(String(revision).toWellFormed())}-${changed}"`
}

/** Whether an If-Match header field (RFC 9110 section 13.1.1) lets a request through to what has this entity tag. */
export function matches (ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((candidate) => candidate.trim() === etag)
}
