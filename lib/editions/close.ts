import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { hasFields, saveChange } from './change.ts'
import type { EditionContext } from './context.ts'
import { readAsBase, saveInTurn } from './in-turn.ts'
import { inspectResource, type Inspection } from './inspect.ts'
import { load } from './load.ts'
import type { ContentModel } from './model.ts'
import type { UpdateOptions, UpdateResult } from './save/options.ts'
import type { EditionJson } from './translate/edition-json.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'
import type { SaveBase } from './save/base.ts'

export interface CloseOptions<Look> extends UpdateOptions {
  check(inspected: Inspection): Promise<Look>
  again(inspected: Inspection): Promise<Look>
}

/** The results of the looks before and after the save. */
interface CloseLooks<Look> {
  before: Look | null
  after: Look | null
}

/** Sets the field that closes an edition, as the content model says. */
export async function closeInTurn<Look>(
  context: EditionContext,
  id: string,
  caller: Caller,
  options: CloseOptions<Look>
): Promise<UpdateResult & CloseLooks<Look>> {
  const fields = closingFields(context.model)
  return saveInTurn<EditionText & CloseLooks<Look>>(context, id, caller, options, {
    isFieldChange: false,
    save: (base) => saveClosed(context, base, fields, caller, options),
    answerOfEarlier: (edition) => recallClosed(context, edition, fields, caller)
  })
}

/** @throws {Failure} BAD_REQUEST where the content model names no field */
function closingFields({ closing, entityType, keys }: ContentModel): EditionJson {
  const { field = keys.published, value } = closing
  if (field === null) {
    throw new Failure(
      'BAD_REQUEST',
      `${entityType} has no key published in the content model: name the field that closes an edition (closing.field)`
    )
  }
  return { [field]: [{ value }] }
}

async function saveClosed<Look>(
  context: EditionContext,
  { edition, turn }: SaveBase,
  fields: EditionJson,
  caller: Caller,
  { check, again, ...options }: CloseOptions<Look>
): Promise<EditionText & CloseLooks<Look>> {
  const version = context.resources.latestVersion(edition.resource.type)
  const { resource, inspection } = await inspectResource(context, edition.resource, caller, version)
  const before = await check(inspection)
  const base = readAsBase(context, { ...edition, resource }, turn)
  const closed = await saveChange(context, base, fields, caller, {
    ...options,
    kind: 'close',
    isConditional: true
  })
  const after = await inspectResource(context, resource, caller, version)
    .then((latest) => again(latest.inspection))
    .catch(() => null)
  return { ...closed!, before, after }
}

/** The edition, if an earlier attempt has closed it. */
async function recallClosed(
  context: EditionContext,
  edition: LoadedEdition,
  fields: EditionJson,
  caller: Caller
): Promise<(EditionText & CloseLooks<never>) | undefined> {
  if (!hasFields(context.model, fields, edition)) return undefined
  const current = await load(context, edition.resource.id, caller)
  return { ...context.texts.editionOf(current), before: null, after: null }
}
