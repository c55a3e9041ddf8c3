import { createHash } from 'node:crypto'
import { Failure } from '../errors.ts'
import { tagsIn } from '../http/entity-tag.ts'
import { sortedJson } from '../json-text.ts'
import type { Versions } from './record.ts'
import type { LockList } from './schemas.ts'

/** More than a client has any use for, and what one condition may compare. */
const MOST_TAGS = 100

/**
 * A lock's version as a strong entity tag (RFC 9110 section 8.8.3): a version is of the characters
 * that one may hold.
 */
export function versionTag(version: string): string {
  return `"${version}"`
}

/**
 * The versions that a header field names, If-Match by default. A weak tag matches nothing (RFC 9110 section 13.1.1). Text
 * that is not an entity tag matches nothing either.
 * @throws {Failure} BAD_REQUEST for more tags than are compared
 */
export function versionsIn(value: string, header = 'if-match'): Versions {
  const tags = tagsIn(value)
  if (tags === '*') return '*'
  const versions = tags
    .map((tag) => /^"([^"]+)"$/.exec(tag)?.[1])
    .filter((version) => version !== undefined)
  if (versions.length > MOST_TAGS) {
    throw new Failure(
      'BAD_REQUEST',
      `headers/${header} names ${versions.length} entity tags; at most ${MOST_TAGS} are taken`
    )
  }
  // A condition compares with something; no version is called so.
  return versions.length > 0 ? versions : ['-']
}

/**
 * The entity tag of a list, a weak one, since engines keep no order of members: every write gives a
 * record another version; one of another program has no version, so all its members count.
 */
export function listTag({ Items, ScannedCount }: LockList): string {
  const states = Items.map(({ version, ...record }) =>
    version === undefined ? sortedJson(record) : `"${version}"`
  )
  return `W/"${createHash('sha256')
    .update([ScannedCount, ...states].join('\n'))
    .digest('base64url')
    .slice(0, 22)}"`
}
