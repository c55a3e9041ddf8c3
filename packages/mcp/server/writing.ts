import { hash } from 'node:crypto'
import { ownUserData } from '../../../lib/auth/own.ts'
import { lockType } from '../../../lib/boards/entities.ts'
import { checkLockName, knownLockTypes } from '../../../lib/boards/names.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Attempt } from '../../../lib/editions/save/attempt.ts'
import type { Entity } from '../../../lib/locks/schemas.ts'
import type { RequestOutcome } from '../../../lib/saves/idempotency.ts'
import type { WritingCall } from './tool.ts'

/** The longest name of a user that locks and petitions take, in characters. */
const NAME_MAX = 255

/** Who writes, as locks, the journal and those who watch are told. */
export function authorOf({ agent, request: { identity } }: Pick<WritingCall, 'agent' | 'request'>) {
  const { uid, name, principal } = agent
  // A token that names an agent has told its name already.
  const fullName =
    identity?.uid === uid ? (identity.name ?? name) : `${name} (${identity?.name ?? principal})`
  return { uid, name: fullName.length > NAME_MAX ? name : fullName }
}

/** The `userData` of an agent's lock: uid and name, and the marks of an agent. */
export function userDataOf(call: Pick<WritingCall, 'agent' | 'request'>) {
  return ownUserData({ ...authorOf(call), admin: false }, undefined)
}

/**
 * What locks are on.
 * @param type `edition`, the name of one of the content model's lists, or the type of a lock
 * @throws {Failure} BAD_REQUEST for an id that locks of this type do not go by
 */
export function entityOf(model: ContentModel, type: string, id: string): Entity {
  const entityType = type === 'edition' ? model.entityType : model.lists[type]?.entityType
  const entity = { type: entityType === undefined ? type : lockType(entityType, model), id }
  checkLockName(entity, undefined, knownLockTypes(model).has(entity.type), model)
  return entity
}

/**
 * What is written at: the caller may edit it, and the write is counted.
 * @throws {Failure} as `entityOf`, `demandLock` and `countWrite`
 */
export async function entityToWrite(call: WritingCall, type: string, id: string): Promise<Entity> {
  const entity = entityOf(call.model, type, id)
  await call.request.demandLock('edit', entity)
  await countWrite(call)
  return entity
}

/** Counts a write before it is done. @throws {Failure} TOO_MANY_REQUESTS, STORE_UNAVAILABLE */
export function countWrite({ services, agent }: WritingCall): Promise<void> {
  return services.budgets.spend(agent.uid)
}

/** What a tool comes to: the answer, and what a repeated call is told of it. */
export interface DoneOnce {
  result: object
  done: Omit<RequestOutcome, 'status'>
}

/**
 * Does something once, however often a call comes with the same arguments, which name the state that
 * was read. Who has changed that state in between gives the next call another tag, so another key.
 * @returns the result, or what an earlier call came to
 * @throws {Failure} as `Idempotency.once`
 */
export function onceFor(
  { services, agent }: WritingCall,
  tool: string,
  args: object,
  work: (attempt: Attempt) => Promise<DoneOnce>
): Promise<{ result: object } | { earlier: RequestOutcome }> {
  const key = hash('sha256', JSON.stringify([tool, args]), 'base64url')
  const request = { uid: agent.uid, method: 'POST', path: `/mcp#${tool}`, key, body: args }
  return services.idempotency.once(request, async (attempt) => {
    const { result, done } = await work(attempt)
    return { result, done: { ...done, status: 200 } }
  })
}

/** Saves an edition once: see `onceFor`. @returns the answer; of an earlier call what it came to */
export async function saveOnce(
  call: WritingCall,
  tool: string,
  args: object,
  save: (attempt: Attempt) => Promise<DoneOnce>
): Promise<object> {
  const outcome = await onceFor(call, tool, args, save)
  if ('result' in outcome) return outcome.result
  const { etag, outcomes } = outcome.earlier
  return {
    saved: true,
    tag: etag,
    ...(outcomes && { operations: outcomes }),
    repeated: 'An earlier call with these arguments has saved this. What is there now: read_edition'
  }
}

/** Unix seconds as agents are told a time. */
export function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
