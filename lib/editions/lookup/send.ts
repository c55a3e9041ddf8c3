import type { JsonapiAnswer } from '../../drupal/client.ts'
import { isSameUuid, type Resource } from '../../drupal/document.ts'
import { languageCode } from '../../drupal/languages.ts'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import type { ContentModel } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { isDefault } from '../site/revisions.ts'
import { saysEditable, unknownProperties } from '../translate/failures.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { mismatch } from '../translate/verify.ts'
import { dropProperties } from '../translate/write.ts'
import { collectionOf, isEdition, learnEdition, readIndividual } from './individual.ts'
import { learnMissingTargets, learnShapes } from './learn.ts'
import { latestVersion, WORKING_COPY } from './request-plan.ts'
import type { ResourceContext } from './resource-context.ts'

/** The edition as it is after a write, or the CMS's refusal. */
export type SendResult = { saved: LoadedEdition } | { refused: JsonapiAnswer }

/** What Quoin's module does with a write; without it nobody does. */
export interface SendCondition {
  /** The revision that it may be saved over. */
  revision?: number | undefined
  /** The references to what is gone that it keeps, as a header field. */
  keptReferences?: string | undefined
  /** Whether it changes the latest revision, rather than the published one. */
  isDraft?: boolean
}

/** A write of an edition. */
interface ResourceWrite {
  resource: Resource
  /** The edition as it is, if the write changes one. */
  current: Resource | undefined
  condition: SendCondition
  caller: Caller
  collection: Collection
  target: WriteTarget
}

/** Where a write goes. */
type WriteTarget =
  { method: 'POST'; path: string } | { method: 'PATCH'; path: string; language: string | undefined }

/**
 * In how many rounds unknown properties are taken out of a body, those of one field in each; core
 * REST ignores any number.
 */
const DROP_ROUNDS = 50

/**
 * Writes an edition. The request includes nothing: an `include` doubles the time of a PATCH, and
 * Drupal refuses a wrong one with a 400 after it has saved. Quoin asks afterwards for the urls that
 * it does not know.
 */
export async function sendResource(
  context: ResourceContext,
  resource: Resource,
  caller: Caller,
  current?: Resource,
  condition: SendCondition = {}
): Promise<SendResult> {
  const collection = await collectionOf(context, resource.type, caller)
  const target = targetOf(resource, current, collection, context.model)
  if (condition.isDraft) target.path += '/working-copy'
  return attemptWrite(context, { resource, current, condition, caller, collection, target }, 0)
}

/**
 * The CMS's refusal to let a caller change an edition; undefined where it would. Quoin sends an
 * empty document, which Drupal refuses only after it has checked the access to the entity
 * (lib/access/questions.ts).
 */
export async function refusalToEdit(
  context: ResourceContext,
  resource: Resource,
  caller: Caller
): Promise<JsonapiAnswer | undefined> {
  const collection = await collectionOf(context, resource.type, caller)
  const target = targetOf(resource, resource, collection, context.model)
  const answer = await context.cms.request({ ...target, body: {}, caller })
  return saysEditable(answer) ? undefined : answer
}

function targetOf(
  { id }: Resource,
  current: Resource | undefined,
  collection: Collection,
  model: ContentModel
): WriteTarget {
  if (!current) return { method: 'POST', path: collection.path }
  return {
    method: 'PATCH',
    path: individualPath(collection, id),
    language: languageOf(current, model)
  }
}

/**
 * The language that Drupal shows an edition in. Where Drupal goes by Accept-Language, it refuses to
 * change an edition in a language that the edition does not have.
 * Source: Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
function languageOf({ attributes }: Resource, { keys }: ContentModel): string | undefined {
  return keys.langcode === null ? undefined : languageCode(attributes![keys.langcode])
}

/** Sends a write, and again without what the CMS refuses of it but core REST would ignore. */
async function attemptWrite(
  context: ResourceContext,
  write: ResourceWrite,
  round: number
): Promise<SendResult> {
  const { resource, condition, caller, target } = write
  const { revision, keptReferences } = condition
  const body = { data: resource }
  const answer = await context.cms.request({ ...target, body, caller, revision, keptReferences })
  if (answer.status < 400) return { saved: await editionAfter(context, write, answer) }
  const unknown = unknownProperties(answer)
  if (!unknown || round === DROP_ROUNDS) return { refused: answer }
  if (!dropProperties(resource, unknown, context.model)) return { refused: answer }
  return attemptWrite(context, write, round + 1)
}

/** The edition in the answer to a write, with the urls of its references. */
async function editionAfter(
  context: ResourceContext,
  { resource: { id }, caller, collection, condition }: ResourceWrite,
  { document, isElsewhere }: JsonapiAnswer
): Promise<LoadedEdition> {
  const [resource] = learnShapes(context, document)
  if (!resource) {
    throw new Failure(
      'CMS_INVALID_RESPONSE',
      'The CMS did not answer with the edition that it was to save'
    )
  }
  if (!isEdition(context, resource) || !isSameUuid(resource.id, id)) {
    throw mismatch(`edition ${id}`, resource)
  }
  await context.times.learn([resource], caller)
  const ownTargets = context.targets.of(caller)
  const edition = learnEdition(context, resource, ownTargets.urlOf)
  // The edition is saved. Where the CMS does not answer with the aliases now, its urls are those
  // without.
  if (isElsewhere) {
    // In the edition's language targets may have other aliases than the caller is shown elsewhere.
    const complete = await readIndividual(
      context,
      collection,
      { uuid: id },
      caller,
      'edition'
    ).catch(() => undefined)
    return complete ?? edition
  }
  const path = individualPath(collection, resource.id)
  const version = condition.isDraft ? WORKING_COPY : latestVersion(context, resource.type)
  const query = isDefault(resource) ? [] : version
  await learnMissingTargets(context, { path, query, caller }, ownTargets, resource).catch(() => {})
  return { resource, urlOf: ownTargets.urlOf }
}
