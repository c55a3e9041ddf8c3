import type { ItemCheck } from '../table/table.ts'
import { momentNow, type LockContext } from './context.ts'
import { isHeldByNoOther, recordKey } from './record.ts'
import type { Entity } from './schemas.ts'

/**
 * Checks, for a transaction, that nobody but a user holds fields; without a uid, that nobody holds
 * them.
 */
export function lockChecks(
  context: LockContext,
  entity: Entity,
  fieldNames: string[],
  uid: string | undefined
): ItemCheck[] {
  const key = recordKey(context.environment, entity)
  const condition = isHeldByNoOther(momentNow(context), uid)
  return fieldNames.map((fieldName) => ({
    key: { env_entityType_entityId: key, fieldName },
    condition
  }))
}
