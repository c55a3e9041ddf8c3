import type { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { collectionOfBundle } from './bundles.ts'
import { hasFields, saveChange, shapeFor } from './change.ts'
import type { EditionContext } from './context.ts'
import { saveInTurn } from './in-turn.ts'
import { load } from './load.ts'
import { nameGone } from './lookup/gone.ts'
import type { UpdateOptions, UpdateResult } from './save/options.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { hasSameFields } from './translate/etag.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'
import { bundleOf, normalize, unresolvedReferences } from './translate/write.ts'

/** Changes the fields of the body that differ. */
export async function updateEdition(
  context: EditionContext,
  id: string,
  json: Record<string, unknown>,
  caller: Caller,
  options: UpdateOptions = {}
): Promise<UpdateResult> {
  const { model } = context
  const body = await readBody(context, json, caller).catch((error) =>
    refuseBody(context, id, caller, error)
  )
  const unchanged = options.unlessSame ? await findSame(context, id, body, caller) : undefined
  if (unchanged) return unchanged

  const { changed } = model.keys
  const changeOptions = {
    ...options,
    kind: options.kind ?? 'update',
    isConditional: changed !== null && Object.hasOwn(body, changed)
  } as const
  return saveInTurn<EditionText>(context, id, caller, options, {
    isFieldChange: !changeOptions.isConditional,
    save: async (base) => {
      const named = await namedAsShown(context, body, base.edition, caller)
      return saveChange(context, base, named, caller, changeOptions)
    },
    answerOfEarlier: (edition) => recallUpdate(context, edition, body, caller)
  })
}

/** @throws {Failure} as `normalize`; UNPROCESSABLE for a bundle that does not exist */
async function readBody(
  { model, site }: EditionContext,
  json: Record<string, unknown>,
  caller: Caller
): Promise<EditionJson> {
  const body = normalize(json, model)
  const bundle = bundleOf(body, model)
  if (bundle !== undefined) collectionOfBundle(bundle, await site.catalog.editions(caller))
  return body
}

/** Refuses a body of who may change the edition; others get what Drupal says to them. */
async function refuseBody(
  context: EditionContext,
  id: string,
  caller: Caller,
  error: Failure
): Promise<never> {
  if (error.code === 'UNPROCESSABLE') {
    const { resource } = await load(context, id, caller, 'bare')
    await context.permissions.demand(resource, caller)
  }
  throw error
}

/**
 * The edition, if no field differs; undefined if one does. Drupal may show an earlier state, so the
 * latest version is asked for, in a turn. Of a type without revisions nobody can ask for it.
 */
async function findSame(
  context: EditionContext,
  id: string,
  body: EditionJson,
  caller: Caller
): Promise<UpdateResult | undefined> {
  const { model, permissions, resources, saves, texts } = context
  const edition = await load(context, id, caller)
  const { type, id: uuid } = edition.resource
  if (!(await isSame(context, body, edition, caller))) return undefined
  if (resources.latestVersion(type).length === 0) {
    await permissions.demand(edition.resource, caller)
    return { ...texts.editionOf(edition), isShared: true }
  }
  const unchanged = await saves.run(
    uuid,
    saves.now(),
    async ({ isShared }) => {
      const latest = await load(context, uuid, caller, 'latest')
      if (!(await isSame(context, body, latest, caller))) return undefined
      const isShown = hasSameFields(latest.resource, edition.resource, model)
      const shown = isShown ? edition : await load(context, uuid, caller)
      return { ...texts.editionOf(shown), isShared }
    },
    caller.budget?.waiting
  )
  if (unchanged) await permissions.demand(edition.resource, caller)
  return unchanged
}

/** The edition, if it has the fields of the body since an earlier attempt. */
async function recallUpdate(
  context: EditionContext,
  edition: LoadedEdition,
  body: EditionJson,
  caller: Caller
): Promise<EditionText | undefined> {
  const { model, texts } = context
  // A save moves the time of change, so that is not the one that was sent.
  const { [String(model.keys.changed)]: _changed, ...fields } = body
  if (!(await isSame(context, fields, edition, caller))) return undefined
  return texts.editionOf(await load(context, edition.resource.id, caller))
}

/** Whether no field of a body differs from an edition. */
async function isSame(
  context: EditionContext,
  body: EditionJson,
  edition: LoadedEdition,
  caller: Caller
): Promise<boolean> {
  return hasFields(context.model, await namedAsShown(context, body, edition, caller), edition)
}

/** A body that names what is gone as Quoin shows it. */
async function namedAsShown(
  context: EditionContext,
  body: EditionJson,
  { resource }: LoadedEdition,
  caller: Caller
): Promise<EditionJson> {
  const { model, references, site } = context
  return nameGone(site, resource, body, caller, async (fields) => {
    const shape = await shapeFor(context, fields, resource, caller)
    const uuids = await references.uuids(
      unresolvedReferences(fields, shape, model),
      caller,
      resource
    )
    return uuids.some((uuid) => uuid !== undefined)
  })
}
