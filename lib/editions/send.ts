import type { Resource } from '../drupal/document.ts'
import type { Caller } from '../http/calls.ts'
import { editionJson, type EditionContext } from './context.ts'
import type { Resources } from './lookup/resources.ts'
import type { SendCondition } from './lookup/send.ts'
import { attributeOf } from './model.ts'
import { isUncertain } from './save/outcome.ts'
import type { SaveOutcome } from './save/recorder.ts'
import { lostReference } from './translate/failures.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { Resolve, UnresolvedReference } from './translate/write.ts'

/** The saved edition, or the answer of the CMS that refuses it. */
export type WriteResult = Awaited<ReturnType<Resources['send']>>

/**
 * Sends an edition with the uuids of its references. Where the CMS no longer finds a remembered
 * one, looks all of them up again, and sends once more.
 * @param current the edition as it is, for an update
 */
export async function sendResolved(
  { references }: EditionContext,
  unresolved: UnresolvedReference[],
  caller: Caller,
  current: Resource | undefined,
  write: (resolve: Resolve) => Promise<WriteResult>
): Promise<WriteResult> {
  const result = await write(await references.resolver(unresolved, caller, current))
  const lost = 'refused' in result ? lostReference(result.refused) : undefined
  if (lost === undefined || !references.forget(lost)) return result
  return write(await references.resolver(unresolved, caller, current))
}

/**
 * Sends an edition to the CMS, and reports that it was saved, or may have been.
 * @param current the edition as it is, for an update
 * @param condition what Quoin's module is to look at
 */
export async function sendEdition(
  context: EditionContext,
  resource: Resource,
  caller: Caller,
  current?: Resource,
  condition?: SendCondition
): Promise<WriteResult> {
  try {
    const result = await context.resources.send(resource, caller, current, condition)
    if ('refused' in result) {
      const { status } = result.refused
      if (status === 401 || status === 403) context.permissions.learn(resource.id, caller, false)
      return result
    }
    if (current) context.permissions.learn(current.id, caller, true)
    context.onSave(result.saved.resource.id)
    return requireText(context, result.saved)
  } catch (error) {
    if (isUncertain(error)) context.onSave(resource.id)
    throw error
  }
}

/**
 * Makes sure that a saved edition can be put into an answer. If it cannot, Quoin looks up the
 * outcome of the save.
 * @throws {Failure} CMS_INVALID_RESPONSE
 */
export function requireText(
  { texts }: EditionContext,
  edition: LoadedEdition
): { saved: LoadedEdition } {
  texts.editionOf(edition)
  return { saved: edition }
}

/** What the recorder of a save is told of its result. */
export function saveOutcome({ site, texts }: EditionContext, result: WriteResult): SaveOutcome {
  if ('refused' in result) return { outcome: 'refused' }
  return {
    outcome: 'saved',
    edition: editionJson(site, result.saved),
    etag: texts.editionOf(result.saved).etag
  }
}

/** Drupal may let its users filter among the published editions alone. */
export function doubtFilters(
  { model, site }: EditionContext,
  { resource: { attributes = {} } }: LoadedEdition,
  caller: Caller
): void {
  if (attributeOf(attributes, model.keys.published, model) !== true) site.filters.doubt(caller)
}
