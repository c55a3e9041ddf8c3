import type { Failure } from '../errors.ts'
import type { JsonapiAnswer } from '../drupal/client.ts'
import type { Resource } from '../drupal/document.ts'
import type { Caller } from '../http/calls.ts'
import { editionJson, type EditionContext } from './context.ts'
import { draftBeside, mayChangeDraft } from './draft.ts'
import { load } from './load.ts'
import type { ContentModel } from './model.ts'
import type { Rearrangement } from './order/operations.ts'
import { preconditionFailed } from './read.ts'
import { toldOperations } from './save/told-operations.ts'
import type { UpdateOptions } from './save/options.ts'
import { confirmWrite } from './save/outcome.ts'
import {
  fieldChanges,
  prepared,
  recordSave,
  type Save,
  type SaveKind,
  type SaveOutcome
} from './save/recorder.ts'
import type { OrderOperation } from './schemas.ts'
import type { ProposedChange } from './save/save-queue.ts'
import { doubtFilters, requireText, saveOutcome, sendEdition, sendResolved } from './send.ts'
import type { WriteResult } from './send.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { etagOf, fieldsDigest, hasSameFields, referencesOf } from './translate/etag.ts'
import { isOfDraft, isOfReused, isStale, refusal } from './translate/failures.ts'
import { keptReferences, refuseGone, withKept, type KeptReferences } from './translate/gone.ts'
import type { LoadedEdition } from './translate/read.ts'
import { complete, shapeOf, type Shape } from './translate/shape.ts'
import type { EditionText } from './translate/texts.ts'
import * as write from './translate/write.ts'
import type { SaveBase } from './save/base.ts'

export interface ChangeOptions extends Omit<UpdateOptions, 'kind'> {
  kind: SaveKind
  /** Whether it is saved only over the state that was read. */
  isConditional: boolean
  /** What the operations on the running order come to. */
  outcomes?: Rearrangement['outcomes']
  /** Those of them that change it. */
  operations?: OrderOperation[]
}

/** How long the header field may be that names kept references, in bytes, as the module reads it. */
const KEPT_MAX = 4096

/** A change that is decided and not sent yet. */
interface Change {
  base: SaveBase
  /** The fields that differ. */
  fields: EditionJson
  /** The edition as it is, and the names of the fields. */
  proposed: ProposedChange
  shape: Shape
  /** The references to what is gone that it keeps. */
  kept: KeptReferences
  caller: Caller
  options: ChangeOptions
}

/**
 * Saves the fields of a body that differ. It does so within a turn.
 * @returns undefined where nothing differs, unless this is the latest version; and where Drupal says
 *   that somebody else has saved, and the latest version may take the change. Nothing was saved then
 */
export async function saveChange(
  context: EditionContext,
  base: SaveBase,
  body: EditionJson,
  caller: Caller,
  options: ChangeOptions
): Promise<EditionText | undefined> {
  const fields = write.difference(body, base.edition.resource, context.model)
  if (Object.keys(fields).length === 0) return readUnchanged(context, base, caller)

  const change = await proposeChange(context, base, fields, caller, options)
  const result = await recordSave({
    recorder: context.recorder,
    save: changeRecord(context, change),
    work: (isRecorded) => patchResolved(context, change, isRecorded),
    outcomeOf: (result) => changeOutcome(context, change, result),
    alongside: base.turn.alongside
  })
  if (isBaseStale(context, change, result)) return undefined
  if ('saved' in result) return announceChange(context, change, result.saved)
  const { refused } = result
  if (isInDraft(context, change, result)) return saveBeside(context, change, body, refused)
  throw await changeRefusal(context, change, refused)
}

/** Whether Drupal has refused a change because of a draft, which can be changed instead. */
function isInDraft(context: EditionContext, { base }: Change, result: WriteResult): boolean {
  return 'refused' in result && isOfDraft(result.refused) && mayChangeDraft(context, base)
}

/** Saves the fields that the caller has changed over the draft beside what is published. */
async function saveBeside(
  context: EditionContext,
  { base, fields, caller, options }: Change,
  body: EditionJson,
  refused: JsonapiAnswer
): Promise<EditionText | undefined> {
  const { draft, changes } = await draftBeside(context, base, body, caller, {
    ifMatch: options.ifMatch,
    refusal: refusal(refused, fields)
  })
  return saveChange(context, draft, changes, caller, { ...options, isConditional: true })
}

/** The edition without a save. An earlier version does not tell that nothing differs. */
async function readUnchanged(
  context: EditionContext,
  { edition, isLatest, isDraft }: SaveBase,
  caller: Caller
): Promise<EditionText | undefined> {
  if (!isLatest) return undefined
  if (isDraft) return context.texts.editionOf(edition)
  return context.texts.editionOf(await load(context, edition.resource.id, caller))
}

async function proposeChange(
  context: EditionContext,
  base: SaveBase,
  fields: EditionJson,
  caller: Caller,
  options: ChangeOptions
): Promise<Change> {
  const kept = keepGone(context, fields, base.edition.resource)
  const shape = await shapeFor(context, fields, base.edition.resource, caller)
  const proposed: ProposedChange = {
    edition: editionJson(context.site, base.edition),
    fields: Object.keys(fields),
    uid: options.uid,
    lockVersions: options.lockVersions
  }
  return { base, fields, proposed, shape, kept, caller, options }
}

/**
 * The fields of an edition, with what other documents show of those that it is to be changed in.
 */
export async function shapeFor(
  { model, resources }: EditionContext,
  changes: EditionJson,
  resource: Resource,
  caller: Caller
): Promise<Shape> {
  const typeShape = await resources.shape(
    resource.type,
    (shape) => write.withoutTargetType(changes, shape, model),
    caller
  )
  return complete(shapeOf(resource, model), typeShape)
}

/**
 * The references to what is gone that a change keeps. Without Quoin's module Drupal would drop them.
 * @throws {Failure} UNPROCESSABLE where they cannot be kept
 */
function keepGone(
  { model, site: { cms } }: EditionContext,
  fields: EditionJson,
  current: Resource
): KeptReferences {
  const isKnown = cms.module?.version() !== undefined
  const kept = isKnown ? keptReferences(fields, current, model) : {}
  if (!isKnown || JSON.stringify(kept).length > KEPT_MAX) refuseGone(fields, current, model)
  return kept
}

/** What the recorder is told of a change before it is sent. */
function changeRecord(
  { model }: EditionContext,
  { base, fields, proposed, options }: Change
): Save {
  const { resource } = base.edition
  return {
    kind: options.kind,
    uuid: resource.id,
    by: { uid: options.uid, name: options.name },
    before: { edition: proposed.edition, etag: etagOf(resource, model) },
    fields: fieldChanges(fields, proposed.edition),
    isShared: base.turn.isShared
  }
}

function changeOutcome(context: EditionContext, change: Change, result: WriteResult): SaveOutcome {
  const isWithdrawn = isBaseStale(context, change, result) || isInDraft(context, change, result)
  if (isWithdrawn) return { outcome: 'withdrawn' }
  return saveOutcome(context, result)
}

async function patchResolved(
  context: EditionContext,
  change: Change,
  isRecorded: Promise<unknown>
): Promise<WriteResult> {
  const { base, fields, shape, caller } = change
  return sendResolved(
    context,
    write.unresolvedReferences(fields, shape, context.model),
    caller,
    base.edition.resource,
    (resolve) => patch(context, change, isRecorded, resolve)
  )
}

/**
 * Notes the intent and asks for the permit of the turn, while the recorder notes the save. Then
 * sends the change, and confirms its outcome.
 */
async function patch(
  context: EditionContext,
  change: Change,
  isRecorded: Promise<unknown>,
  resolve: write.Resolve
): Promise<WriteResult> {
  const { base, fields, shape, proposed } = change
  const current = base.edition.resource
  const resource = {
    ...write.update(fields, current, shape, context.model, resolve),
    id: current.id
  }
  await prepared([isRecorded, noteIntent(context, change, resource), base.turn.permit?.(proposed)])
  return confirmWrite(
    current.id,
    () => sendPatch(context, change, resource),
    () => findUpdated(context, change),
    context.site.warn
  )
}

/** Notes for a repeated request what this attempt is about to save. */
async function noteIntent(
  { model }: EditionContext,
  { base, kept, options: { attempt, outcomes } }: Change,
  resource: Resource
): Promise<void> {
  await attempt?.intend({
    before: fieldsDigest(base.edition.resource, model),
    after: referencesOf(withKept(resource, kept, base.edition.resource)),
    ...(outcomes && { outcomes })
  })
}

async function sendPatch(
  context: EditionContext,
  { base, kept, caller, options }: Change,
  resource: Resource
): Promise<WriteResult> {
  const current = base.edition.resource
  base.turn.confirm()
  options.attempt?.confirm()
  const hasKept = Object.keys(kept).length > 0
  const isGuarded = isConditional(options) || base.isRemembered || hasKept
  const patched = isGuarded ? withChanged(context, resource, current) : resource
  const revision = isGuarded ? base.revision : undefined
  const condition = {
    isDraft: base.isDraft,
    ...(hasKept && { keptReferences: JSON.stringify(kept) })
  }
  const result = await sendEdition(context, patched, caller, current, { ...condition, revision })
  const isReused = noteReuse(context, current, result)
  // `changed` alone guards the state then. One that was not read for this save is read first.
  const isRefused = isReused && 'refused' in result && !base.isRemembered
  return isRefused ? sendEdition(context, patched, caller, current, condition) : result
}

/**
 * Notes that a save has made no revision, or that Drupal says so of an earlier one.
 * @returns whether it is so
 */
function noteReuse(
  { site: { revisions } }: EditionContext,
  current: Resource,
  result: WriteResult
): boolean {
  const before = revisions.idOf(current)
  const isReused =
    'refused' in result
      ? isOfReused(result.refused)
      : revisions.idOf(result.saved.resource) === before
  if (before !== undefined && isReused) revisions.learnReuse(current.id, before)
  return isReused
}

function isConditional({ isConditional, ifMatch }: ChangeOptions): boolean {
  return isConditional || ifMatch !== undefined
}

/** Adds the present `changed` as a precondition: Drupal refuses any other. It counts seconds. */
function withChanged(
  { changedAttribute }: EditionContext,
  resource: Resource,
  current: Resource
): Resource {
  if (changedAttribute === undefined) return resource
  const changed = current.attributes?.[changedAttribute]
  return {
    ...resource,
    attributes: {
      ...resource.attributes,
      [changedAttribute]: typeof changed === 'object' ? null : changed
    }
  }
}

/** The edition, if it has all fields of the change; undefined if it has not changed. */
async function findUpdated(
  context: EditionContext,
  { base, fields, caller }: Change
): Promise<{ saved: LoadedEdition } | undefined> {
  const current = base.edition.resource
  const latest = await load(context, current.id, caller, base.isDraft ? 'draft' : 'latest')
  if (hasFields(context.model, fields, latest)) {
    if (base.isDraft) return requireText(context, latest)
    return requireText(context, await load(context, latest.resource.id, caller))
  }
  if (hasSameFields(current, latest.resource, context.model)) return undefined
  throw new Error('the edition has been saved, but not with just these changes')
}

/** Whether an edition has these fields already. */
export function hasFields(
  model: ContentModel,
  fields: EditionJson,
  { resource }: LoadedEdition
): boolean {
  return Object.keys(write.difference(fields, resource, model)).length === 0
}

function announceChange(
  context: EditionContext,
  change: Change,
  saved: LoadedEdition
): EditionText {
  const { base, fields, proposed, caller, options } = change
  doubtFilters(context, saved, caller)
  const text = context.texts.editionOf(saved)
  context.bases.keep(saved.resource, text.json.length, caller, base.turn.mark)
  context.onUpdate({
    ...proposed,
    ...(options.name !== undefined && { name: options.name }),
    ...toldOperations(
      context.model,
      { base, changes: fields, operations: options.operations },
      saved
    ),
    etag: text.etag
  })
  return text
}

/**
 * Whether Drupal has refused a change because somebody else has saved, and the latest version may
 * take it: since its caller's last answer, or at the same moment where no state was named.
 */
function isBaseStale(context: EditionContext, change: Change, result: WriteResult): boolean {
  const { base, options } = change
  const isRepeatable = base.isRemembered || (!base.isLatest && !isConditional(options))
  return isRepeatable && 'refused' in result && isStaleAnswer(context, result.refused)
}

function isStaleAnswer({ changedAttribute }: EditionContext, refused: JsonapiAnswer): boolean {
  return isStale(refused, changedAttribute)
}

/** The failure of a change that the CMS refuses. */
async function changeRefusal(
  context: EditionContext,
  { base, fields, caller, options }: Change,
  refused: JsonapiAnswer
): Promise<Failure> {
  const isStaleEdit = isConditional(options) && isStaleAnswer(context, refused)
  if (!isStaleEdit) return refusal(refused, fields)
  return options.ifMatch === undefined
    ? write.staleEdit(undefined)
    : preconditionFailed(context, base.edition, caller)
}
