import { randomUUID } from 'node:crypto'
import { Failure } from '../errors.ts'
import type { JsonapiAnswer } from '../drupal/client.ts'
import type { Caller } from '../http/calls.ts'
import { collectionFor, withEditionType } from './bundles.ts'
import type { EditionContext } from './context.ts'
import { loadIfExists } from './load.ts'
import { publicName } from './model.ts'
import type { Attempt } from './save/attempt.ts'
import type { SaveOptions } from './save/options.ts'
import { confirmWrite, editionAddress, unlessConflict } from './save/outcome.ts'
import { fieldChanges, prepared, recordSave } from './save/recorder.ts'
import { doubtFilters, requireText, saveOutcome, sendEdition, sendResolved } from './send.ts'
import type { WriteResult } from './send.ts'
import type { Collection } from './site/catalog.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { referencesOf } from './translate/etag.ts'
import { isAbout, refusal } from './translate/failures.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { Shape } from './translate/shape.ts'
import type { EditionText } from './translate/texts.ts'
import * as write from './translate/write.ts'

export interface CreateResult extends EditionText {
  /** Whether this call, or an earlier attempt at it, has created the edition. */
  isNew: boolean
}

/** A new edition that is not sent yet. */
interface NewEdition {
  uuid: string
  /** Whether the caller has chosen the uuid. */
  isUuidOfCaller: boolean
  body: EditionJson
  collection: Collection
  shape: Shape | undefined
  caller: Caller
  attempt: Attempt | undefined
}

/** A new edition whose save is being recorded. */
interface RecordedEdition extends NewEdition {
  isRecorded: Promise<unknown>
}

/**
 * Creates an edition. Where the edition with the body's uuid is there already and has the same
 * fields, answers with that one.
 */
export async function createEdition(
  context: EditionContext,
  json: Record<string, unknown>,
  caller: Caller,
  { attempt, uid, name }: SaveOptions = {}
): Promise<CreateResult> {
  const edition = await prepareCreate(context, json, caller, attempt)
  const earlier = await findOfEarlierAttempt(context, edition)
  if (earlier) return { ...context.texts.editionOf(earlier), isNew: true }

  const { uuid, body, collection, shape } = edition
  const typedBody = await withEditionType(context, body, collection, shape, caller)
  const result = await recordSave({
    recorder: context.recorder,
    save: {
      kind: 'create',
      uuid,
      by: { uid, name },
      before: undefined,
      fields: fieldChanges(typedBody),
      isShared: false
    },
    work: (isRecorded) => postTyped(context, { ...edition, isRecorded }, typedBody),
    outcomeOf: (result) => saveOutcome(context, result)
  })
  if ('refused' in result) return findExisting(context, edition, result.refused)
  doubtFilters(context, result.saved, caller)
  return { ...context.texts.editionOf(result.saved), isNew: true }
}

async function prepareCreate(
  { model, site, resources }: EditionContext,
  json: Record<string, unknown>,
  caller: Caller,
  attempt: Attempt | undefined
): Promise<NewEdition> {
  const body = write.normalize(json, model)
  const collection = collectionFor(body, await site.catalog.editions(caller), model)
  const shape = await resources.shape(
    collection.resourceType,
    (shape) => write.withoutTargetType(body, shape, model),
    caller
  )
  // Quoin chooses the id, so it can find out afterwards whether the CMS saved the edition.
  const uuidOfCaller = write.uuidOf(body, model)
  return {
    uuid: uuidOfCaller ?? attempt?.uuid ?? randomUUID(),
    isUuidOfCaller: uuidOfCaller !== undefined,
    body,
    collection,
    shape,
    caller,
    attempt
  }
}

/** The edition that an earlier attempt has created, if there is one. */
async function findOfEarlierAttempt(
  context: EditionContext,
  edition: NewEdition
): Promise<LoadedEdition | undefined> {
  if (!edition.attempt?.earlier) return undefined
  if (edition.isUuidOfCaller) return (await findCreated(context, edition))?.saved
  // A uuid of Quoin's own is no other edition's, so its edition is what was asked for, whoever has
  // changed it since.
  return loadIfExists(context, edition.uuid, edition.caller)
}

/**
 * The edition that a create has made, if it is there.
 * @throws {Failure} CONFLICT where the uuid is another edition's
 */
async function findCreated(
  context: EditionContext,
  { uuid, collection, body, caller }: NewEdition
): Promise<{ saved: LoadedEdition } | undefined> {
  const { model } = context
  const edition = await loadIfExists(context, uuid, caller)
  if (!edition) return undefined
  const fields =
    edition.resource.type === collection.resourceType
      ? write.differingFields(body, edition.resource, model)
      : [String(model.keys.bundle)]
  if (fields.length === 0) return requireText(context, edition)
  throw new Failure(
    'CONFLICT',
    `Another edition has this uuid: it differs from what you sent in ${fields.join(', ')}. Read it before you go on, or send yours with another uuid.`,
    editionAddress(uuid)
  )
}

/**
 * Sends a body with its edition type. The caller has not sent the type: where the CMS refuses it,
 * the edition goes without.
 */
async function postTyped(
  context: EditionContext,
  edition: RecordedEdition,
  typedBody: EditionJson
): Promise<WriteResult> {
  const { model } = context
  const result = await postResolved(context, edition, typedBody)
  const isTypeRefused =
    typedBody !== edition.body &&
    'refused' in result &&
    isAbout(result.refused, publicName(model, model.fields.editionType!))
  return isTypeRefused ? postResolved(context, edition, edition.body) : result
}

async function postResolved(
  context: EditionContext,
  edition: RecordedEdition,
  body: EditionJson
): Promise<WriteResult> {
  const { shape, caller } = edition
  const unresolved = write.unresolvedReferences(body, shape, context.model)
  return sendResolved(context, unresolved, caller, undefined, (resolve) =>
    post(context, edition, body, resolve)
  )
}

/** Notes the intent, sends the edition, and confirms its outcome. */
async function post(
  context: EditionContext,
  edition: RecordedEdition,
  body: EditionJson,
  resolve: write.Resolve
): Promise<WriteResult> {
  const { uuid, collection, shape, caller, attempt, isRecorded } = edition
  const resource = {
    ...write.create(body, collection.resourceType, shape, context.model, resolve),
    id: uuid
  }
  await prepared([isRecorded, attempt?.intend({ before: '', after: referencesOf(resource) })])
  return confirmWrite(
    uuid,
    () => {
      attempt?.confirm()
      return sendEdition(context, resource, caller)
    },
    () => findCreated(context, edition),
    context.site.warn
  )
}

/**
 * The edition with the same uuid and fields, where the CMS refuses to create it again. Drupal
 * answers 409 for a uuid that is taken. It validates first, so where something else has to be
 * unique too, it answers 422.
 * @throws {Failure} the CMS's refusal, where there is no such edition
 */
async function findExisting(
  context: EditionContext,
  edition: NewEdition,
  refused: JsonapiAnswer
): Promise<CreateResult> {
  const { status } = refused
  const mayExist = status === 409 || (status === 422 && edition.isUuidOfCaller)
  const existing = mayExist ? await findCreated(context, edition).catch(unlessConflict) : undefined
  if (existing === undefined || existing === 'unknown') throw refusal(refused, edition.body)
  return { ...context.texts.editionOf(existing.saved), isNew: false }
}
