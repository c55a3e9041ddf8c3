import type { LockContext } from './context.ts'
import type { Entity, LockView } from './schemas.ts'

/** What a write has left in the fields of its entity: the lock, or undefined where none is left. */
export type FieldChanges = Map<string, LockView | undefined>

/**
 * Does a write, and tells the feed what it has left in which fields. A write that failed may have
 * taken place nevertheless, so the feed is told of its end too.
 */
export async function announceChanges<Result>(
  { feed }: LockContext,
  entity: Entity,
  write: (changes: FieldChanges) => Promise<Result>
): Promise<Result> {
  const changes: FieldChanges = new Map()
  const endWrite = feed.writing(entity)
  try {
    const result = await write(changes)
    endWrite(changes)
    return result
  } catch (error) {
    endWrite(changes, false)
    throw error
  }
}
