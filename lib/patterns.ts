/** Sources of regular expressions that several places need, without anchors. */
export const UUID_PATTERN = '[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}'
/**
 * An id that Quoin looks up in Drupal for a lock or a notice: a serial number of at most 18 digits,
 * or a uuid.
 */
export const ENTITY_ID_PATTERN = `(?:\\d{1,18}|${UUID_PATTERN})`
/** The entity type of a lock. No hyphen, since the key of a record joins type and id with one. */
export const LOCK_TYPE_PATTERN = '[A-Za-z0-9_]{1,64}'

const UUID = new RegExp(`^${UUID_PATTERN}$`)

export function isUuid(text: string): boolean {
  return UUID.test(text)
}
