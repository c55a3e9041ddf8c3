import { Failure, texts } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { editionJson, type EditionContext } from './context.ts'
import { load, rethrowRefusal } from './load.ts'
import type { Labels } from './lookup/labels.ts'
import type { FieldSamples } from './lookup/samples.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { matches } from './translate/etag.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'

/**
 * Reads an edition as its text, with its entity tag.
 * @throws {Failure} EDITION_NOT_FOUND or the CMS's refusal; PRECONDITION_FAILED as `requireMatch`
 */
export async function readEdition(
  context: EditionContext,
  id: string,
  caller: Caller,
  ifMatch?: string
): Promise<EditionText> {
  const { site, saves, texts, bases } = context
  const mark = saves.mark(site.ids.get(id.toLowerCase())?.uuid ?? id)
  const loaded = await load(context, id, caller)
  const edition = texts.editionOf(loaded)
  bases.keep(loaded.resource, edition.json.length, caller, mark)
  requireMatch(edition, ifMatch)
  return edition
}

/** Reads an edition for who asks again for a save of it that was done. */
export async function readSavedEdition(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<EditionText> {
  const edition = await load(context, id, caller)
  await context.permissions.demand(edition.resource, caller)
  return context.texts.editionOf(edition)
}

/** Reads an edition without the urls of its references. */
export async function readBareEdition(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<EditionJson> {
  return editionJson(context.site, await load(context, id, caller, 'bare'))
}

/** Reads the labels and the looks of an edition's references. */
export async function readEditionLabels(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<Labels> {
  return context.labels(id, caller).catch((error) => rethrowRefusal(context, error, caller, id))
}

/** Reads what the newest other editions hold in the fields that are empty in this one. */
export async function readEditionSamples(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<FieldSamples> {
  return context.samples(id, caller).catch((error) => rethrowRefusal(context, error, caller, id))
}

/** @throws {Failure} PRECONDITION_FAILED where the edition is not in a state that If-Match names */
export function requireMatch({ etag }: EditionText, ifMatch: string | undefined): void {
  if (ifMatch === undefined || matches(ifMatch, etag)) return
  throw new Failure(
    'PRECONDITION_FAILED',
    'The edition is not in the state that If-Match names; ETag names the present one',
    { headers: { etag } }
  )
}

/**
 * The failure of an update whose If-Match names an earlier state. It has the present entity tag if
 * the edition can be read.
 */
export async function preconditionFailed(
  context: EditionContext,
  { resource: { id } }: LoadedEdition,
  caller: Caller
): Promise<Failure> {
  const etag = await load(context, id, caller).then(
    (edition) => context.texts.editionOf(edition).etag,
    () => undefined
  )
  return new Failure('PRECONDITION_FAILED', texts.editionChanged, {
    ...(etag !== undefined && { headers: { etag } })
  })
}
