import type { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import type { Purpose } from './lookup/resource-context.ts'
import type { LoadedEdition } from './translate/read.ts'

/**
 * Loads an edition of any bundle.
 * @param id integer id or uuid
 * @throws {Failure} NOT_FOUND, and all failures of the CMS
 */
export async function load(
  context: EditionContext,
  id: string,
  caller: Caller,
  purpose?: Purpose
): Promise<LoadedEdition> {
  return context
    .find(id, caller, purpose)
    .catch((error) => rethrowRefusal(context, error, caller, id))
}

/** The same, but undefined where the edition does not exist, or the caller may not see it. */
export async function loadIfExists(
  context: EditionContext,
  uuid: string,
  caller: Caller
): Promise<LoadedEdition | undefined> {
  try {
    return await load(context, uuid, caller)
  } catch (error) {
    if ((error as Failure).code === 'NOT_FOUND') return undefined
    throw error
  }
}

/**
 * Reports a failure if it refuses something to a caller, and throws it. An unknown bundle does not
 * count as refused.
 * @param id integer id or uuid of the entity that was asked for, if it was a single entity
 */
export function rethrowRefusal(
  { onRefusal, model }: Pick<EditionContext, 'onRefusal' | 'model'>,
  error: unknown,
  caller: Caller,
  id?: string,
  keys = model.keys
): never {
  const { code } = error as Failure
  const isHidden = id !== undefined && code === 'NOT_FOUND'
  const isWhole = id === undefined && (code === 'CMS_UNAUTHORIZED' || code === 'CMS_FORBIDDEN')
  if (isHidden || isWhole) onRefusal(caller, id, keys)
  throw error
}
