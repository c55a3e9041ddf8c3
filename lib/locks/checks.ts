import type { ItemCheck } from '../table/table.ts'
import { momentNow, type LockContext } from './context.ts'
import { isHeldByNoOther, recordKey, type LockOwner } from './record.ts'
import type { Entity } from './schemas.ts'

/**
 * Checks, for a transaction, that nobody but an owner holds fields.
 */
export function lockChecks(
  context: LockContext,
  entity: Entity,
  fieldNames: string[],
  owner: LockOwner
): ItemCheck[] {
  const key = recordKey(context.environment, entity)
  const condition = isHeldByNoOther(momentNow(context), owner)
  return fieldNames.map((fieldName) => ({
    key: { env_entityType_entityId: key, fieldName },
    condition
  }))
}
