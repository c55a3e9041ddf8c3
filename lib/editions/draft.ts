import type { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { editionJson, type EditionContext } from './context.ts'
import { load } from './load.ts'
import { preconditionFailed } from './read.ts'
import { revisionPrecondition } from './save/precondition.ts'
import { isDefault } from './site/revisions.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { etagOf, matches } from './translate/etag.ts'
import { difference } from './translate/write.ts'
import type { SaveBase } from './save/base.ts'

/**
 * Whether a save may go to the draft of an edition: core's JSON:API refuses an edition with a draft
 * beside what is published, and Quoin's module has a route for it.
 */
export function mayChangeDraft(
  { site: { cms } }: EditionContext,
  { takesDraft }: SaveBase
): boolean {
  return takesDraft && cms.module?.version() !== undefined
}

/** The draft that If-Match names, as the base of a save; undefined if it names none. */
export async function draftNamed(
  context: EditionContext,
  base: SaveBase,
  ifMatch: string,
  caller: Caller
): Promise<SaveBase | undefined> {
  if (!mayChangeDraft(context, base)) return undefined
  const draft = await findDraft(context, base, caller)
  const isNamed = draft && matches(ifMatch, etagOf(draft.edition.resource, context.model))
  return isNamed ? draft : undefined
}

/**
 * The draft beside what is published, as the base of a save, and what the caller has changed in what
 * is published. The caller has not seen the draft, so a field that differs there is not saved over.
 * @param refusal what Drupal's refusal to change the published edition became
 * @throws {Failure} PRECONDITION_FAILED where the draft has another value in a field that the caller
 *   changes; `refusal` where the caller may not see the draft, or the body has a field that differs
 *   in the draft and no If-Match tells whether it was changed
 */
export async function draftBeside(
  context: EditionContext,
  base: SaveBase,
  body: EditionJson,
  caller: Caller,
  { ifMatch, refusal }: { ifMatch: string | undefined; refusal: Failure }
): Promise<{ draft: SaveBase; changes: EditionJson }> {
  const draft = await findDraft(context, base, caller)
  if (!draft) throw refusal
  const { model } = context
  const changes = difference(body, base.edition.resource, model)
  const published = Object.entries(editionJson(context.site, base.edition)).filter(
    ([field]) => Object.hasOwn(body, field) && field !== model.keys.changed
  )
  const unseen = difference(Object.fromEntries(published), draft.edition.resource, model)
  const inTheWay =
    ifMatch === undefined
      ? unseen
      : Object.keys(unseen).filter((field) => Object.hasOwn(changes, field))
  if (Object.keys(inTheWay).length === 0) return { draft, changes }
  throw ifMatch === undefined ? refusal : await preconditionFailed(context, base.edition, caller)
}

/** The draft of an edition; undefined where there is none that the caller may see. */
async function findDraft(
  context: EditionContext,
  { edition: { resource }, turn }: SaveBase,
  caller: Caller
): Promise<SaveBase | undefined> {
  const draft = await load(context, resource.id, caller, 'draft').catch(unlessHidden)
  if (!draft || isDefault(draft.resource)) return undefined
  return {
    edition: draft,
    isLatest: true,
    isRemembered: false,
    revision: revisionPrecondition(context.site, draft.resource),
    isDraft: true,
    takesDraft: false,
    turn
  }
}

/** Drupal shows a draft to fewer users than what is published. */
function unlessHidden(failure: Failure): undefined {
  if (failure.code !== 'CMS_FORBIDDEN') throw failure
}
