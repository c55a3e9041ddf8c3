import type { Resource } from '../jsonapi/document.ts'
import { instant } from './canonical.ts'
import { publicName, type ContentModel } from './model.ts'

/**
 * A strong entity tag (RFC 9110 section 8.8.3) of an edition: its revision and the second it was changed. Drupal makes a
 * revision with every save through JSON:API where the bundle says so, and moves `changed` with every save.
 */
export function etagOf ({ attributes = {} }: Resource, model: ContentModel): string {
  const [revision, changed] = [model.keys.revision, model.keys.changed].map((field) => scalar(attributes[publicName(model, field)]))
  return `"${encodeURIComponent(revision!.toWellFormed())}-${instant(changed) / 1000 || ''}"`
}

/** A number or text as text, and as none whatever else the CMS may say. */
function scalar (value: unknown): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : ''
}

/** Whether an If-Match header field (RFC 9110 section 13.1.1) lets a request through to what has this entity tag. */
export function matches (ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((candidate) => candidate.trim() === etag)
}
