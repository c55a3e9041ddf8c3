import { scalarText } from '../../../lib/drupal/document.ts'
import type { Holder, LockView } from '../../../lib/locks/schemas.ts'
import { shortened } from './answer-size.ts'

/** Who holds a lock, wrote a text, or saved: what agents are shown of a user, and nothing else. */
export interface PersonRow {
  uid?: string
  name?: string
  /** The name of the agent that it is, and the uid of the user that it works for. */
  agent?: string
  principal?: string
}

/** A lock as agents are shown it: whose and since when, never its text. */
export interface LockRow {
  entityType?: string
  entityId?: string
  fieldName: string
  holder: PersonRow
  /** Times in UTC (ISO 8601). */
  since?: string
  expiresAt?: string
  /** Only of the reader's own lock: the version is what renews and releases it. */
  version?: string
}

/**
 * A lock as a row. A record that another program wrote may lack any member, or have another value.
 * @param ownUid of who reads, if that is known
 */
export function lockRow(
  { fieldName, userData, timestamp, expiresAt, ...lock }: Partial<Holder & LockView>,
  ownUid?: string
): LockRow {
  const holder = personRow(userData)
  const isOwn = ownUid !== undefined && String(userData?.uid) === ownUid
  return {
    ...(lock.entityType !== undefined && { entityType: lock.entityType }),
    ...(lock.entityId !== undefined && { entityId: lock.entityId }),
    fieldName: shortened(scalarText(fieldName)),
    holder,
    ...timesOf({ since: timestamp, expiresAt }),
    ...(isOwn && lock.version !== undefined && { version: lock.version })
  }
}

/** Of all that a client may have put into `userData`, who it is. */
export function personRow(userData: unknown): PersonRow {
  const { uid, name, agent, principal } = (userData ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries({ uid, name, agent, principal })
      .map(([member, value]) => [member, shortened(scalarText(value))])
      .filter(([, text]) => text !== '')
  )
}

/** Unix times in seconds as times in UTC, without those that are none. */
export function timesOf<Name extends string>(
  seconds: Record<Name, unknown>
): Partial<Record<Name, string>> {
  return Object.fromEntries(
    Object.entries(seconds)
      .map(([name, value]) => [name, new Date(Number(value) * 1000)] as const)
      .filter(([name, date]) => typeof seconds[name as Name] === 'number' && !isNaN(Number(date)))
      .map(([name, date]) => [name, date.toISOString()])
  ) as Partial<Record<Name, string>>
}
