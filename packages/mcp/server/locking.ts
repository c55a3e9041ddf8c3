import { Failure, texts } from '../../../lib/errors.ts'
import type { AcquiredOutcome, LockRefusal } from '../../../lib/locks/outcome.ts'
import type { Entity } from '../../../lib/locks/schemas.ts'
import { lockRow } from './lock-rows.ts'
import { ToolRefusal } from './refusals.ts'
import type { WritingCall } from './tool.ts'
import { authorOf, timeText, userDataOf } from './writing.ts'

/** How a lock is asked for. */
export interface LockWish {
  /** Renews the lock in this version; without it nobody may have the field. */
  version?: string | undefined
  /** The text that is kept with the lock. */
  payload?: string | undefined
}

/**
 * Locks a field that nobody has locked, not even another session of this agent, or renews a lock by
 * its version.
 * @throws {Failure} FIELD_LOCKED, LOCK_CHANGED, with the holder; what `acquire` throws
 */
export async function takeLock(
  call: WritingCall,
  entity: Entity,
  fieldName: string,
  { version, payload }: LockWish = {}
): Promise<AcquiredOutcome> {
  const request = {
    fieldName,
    userData: userDataOf(call),
    ...(payload !== undefined && { payload })
  }
  const result = await call.services.locks.acquire(entity, request, {
    ...(version === undefined ? { alone: true } : { ifMatch: [version] }),
    answer: call.reply.raw
  })
  if (result.outcome === 'acquired') return result
  throw notTaken(result, version)
}

function notTaken({ outcome, lock }: LockRefusal, version: string | undefined): Failure {
  const details = lock ? { lock } : {}
  if (outcome === 'held') return new Failure('FIELD_LOCKED', texts.held, { details })
  const shown = { details: lock ? { lock: lockRow(lock) } : {} }
  return new ToolRefusal('LOCK_CHANGED', version === undefined ? OTHER_SESSION : LOCK_OVER, shown)
}

const OTHER_SESSION = {
  message: 'Another session of this agent has locked the field, or is about to. Nothing was done.',
  next: 'Leave the field to it, or leave a proposal (propose_text).'
}

const LOCK_OVER = {
  message:
    'Your lock in this version is over: it has ended, was released, or has another version. Nothing of this call was kept.',
  next: 'Read what is there now, then start anew, or leave a proposal (propose_text).'
}

/** A lock as its holder is told of it. */
export function lockAnswer({ version, expiresAt }: AcquiredOutcome) {
  return { version, endsAt: timeText(expiresAt!) }
}

/** A lock that was taken for one call. */
export interface TakenLock {
  entity: Entity
  fieldName: string
  lock: AcquiredOutcome
}

/**
 * Gives a lock back, whatever has become of the call.
 * @param keepsText whether its text is kept as a draft
 * @returns when the lock ends by itself, where the store did not take it back
 */
export async function giveBack(
  call: WritingCall,
  { entity, fieldName, lock }: TakenLock,
  keepsText: boolean
): Promise<string | undefined> {
  const by = authorOf(call)
  // To release without a user, as an administrator does, keeps the text.
  const query = keepsText ? { fieldName } : { fieldName, uid: by.uid }
  try {
    await call.services.locks.release(entity, query, { ifMatch: [lock.version], by })
    return undefined
  } catch (error) {
    call.request.log.warn({ err: error, ...entity, fieldName }, 'the lock of an agent stays')
    return timeText(lock.expiresAt!)
  }
}

/** What is said of a lock that could not be given back. */
export function stays(endsAt: string): string {
  return `The lock could not be given back. It ends by itself at ${endsAt}`
}
