import type { JsonapiAnswer } from '../../drupal/client.ts'
import { isSameUuid, type Resource } from '../../drupal/document.ts'
import { languageCode } from '../../drupal/languages.ts'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import type { ContentModel } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { referencesIn } from '../site/targets.ts'
import { unknownProperties } from '../translate/failures.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { mismatch } from '../translate/verify.ts'
import { dropProperties } from '../translate/write.ts'
import { covers, includeFor, type Include } from './include.ts'
import { collectionOf, isEdition, learnEdition, readIndividual } from './individual.ts'
import { learnOriginals, learnShapes } from './learn.ts'
import { excludeRelationship, shortenUrls } from './request-plan.ts'
import type { ResourceContext } from './resource-context.ts'

/** The edition as it is after a write, or the CMS's refusal. */
export type SendResult = { saved: LoadedEdition } | { refused: JsonapiAnswer }

/** A write of an edition. */
interface ResourceWrite {
  resource: Resource
  /** The edition as it is, if the write changes one. */
  current: Resource | undefined
  caller: Caller
  collection: Collection
  include: Include
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

/** Writes an edition, and asks for all that its urls are made of in the same request. */
export async function sendResource(
  context: ResourceContext,
  resource: Resource,
  caller: Caller,
  current?: Resource
): Promise<SendResult> {
  const { shapes, catalog, room, model } = context
  const collection = await collectionOf(context, resource.type, caller)
  const target = targetOf(resource, current, collection, model)
  const include = includeFor(context, {
    shape: shapes.of(resource.type),
    collections: await catalog.all(caller),
    scope: 'all',
    room: room.beside(target.path, [])
  })
  return attemptWrite(context, { resource, current, caller, collection, include, target }, 0)
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
  const { resource, current, caller, include, target } = write
  const answer = await context.cms
    .request({ ...target, query: include.query, body: { data: resource }, caller })
    .catch((error: unknown) => error as Error)
  // Nothing was saved: what is before Drupal did not take the URL.
  if (include.query.length > 0 && shortenUrls(context, answer, resource.type, true)) {
    return sendResource(context, resource, caller, current)
  }
  if (answer instanceof Error) throw answer
  if (answer.status < 400) return { saved: await editionAfter(context, write, answer) }
  if (excludeRelationship(context, answer, { resourceType: resource.type, include })) {
    throw new Failure(
      'CMS_INVALID_RESPONSE',
      'The CMS could not answer with what the edition refers to'
    )
  }
  const unknown = unknownProperties(answer)
  if (!unknown || round === DROP_ROUNDS) return { refused: answer }
  if (!dropProperties(resource, unknown, context.model)) return { refused: answer }
  return attemptWrite(context, write, round + 1)
}

/** The edition in the answer to a write, with the urls of its references. */
async function editionAfter(
  context: ResourceContext,
  { resource: { id }, caller, collection, include }: ResourceWrite,
  { document, isElsewhere }: JsonapiAnswer
): Promise<LoadedEdition> {
  const { model, targets } = context
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
  const ownTargets = targets.of(caller)
  // In the edition's language targets may have other aliases than the caller is shown elsewhere.
  if (!isElsewhere) {
    const references = referencesIn([resource], include.included)
    targets.learn(ownTargets, references, document, caller)
  }
  const edition = learnEdition(context, resource, ownTargets.urlOf)
  if (!isElsewhere && covers(include, resource, model)) {
    const question = { path: individualPath(collection, resource.id), query: [], caller }
    await learnOriginals(context, question, ownTargets, [resource], include)
    return learnEdition(context, resource, ownTargets.urlOf)
  }
  // The edition is saved. Where the CMS does not answer with the aliases now, its urls are those
  // without.
  return readIndividual(context, collection, { uuid: resource.id }, caller, 'edition').then(
    (complete) => complete ?? edition,
    () => edition
  )
}
