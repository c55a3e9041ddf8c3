import type { LockView } from '../client/src/client.ts'

/**
 * The locks that tell two words of a lock board apart.
 * @param uid of who sits here
 * @returns those that this user has taken, and those that others have begun with and ended
 */
export function comings (before: LockView[], now: LockView[], uid: string): Record<'taken' | 'begun' | 'ended', LockView[]> {
  const keyOf = ({ fieldName, userData }: LockView) => `${fieldName} ${userData.uid}`
  const missing = (some: LockView[], others: LockView[]) => {
    const keys = new Set(others.map(keyOf))
    return some.filter((lock) => !keys.has(keyOf(lock)))
  }
  const isMine = ({ userData }: LockView) => userData.uid === uid
  const came = missing(now, before)
  return { taken: came.filter(isMine), begun: came.filter((lock) => !isMine(lock)), ended: missing(before, now).filter((lock) => !isMine(lock)) }
}
