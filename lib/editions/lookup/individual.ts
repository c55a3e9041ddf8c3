import { isSameUuid, primaryData, type Resource } from '../../drupal/document.ts'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { splitType } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { isDefault } from '../site/revisions.ts'
import { refusal } from '../translate/failures.ts'
import { idQuery, type Parameters } from '../translate/query.ts'
import type { LoadedEdition, UrlOf } from '../translate/read.ts'
import { integerId, mismatch } from '../translate/verify.ts'
import { readResources } from './read-resources.ts'
import type { Purpose, ResourceContext } from './resource-context.ts'

/** What an edition is read by. */
export type EditionId = { uuid: string } | { id: string }

/** Who reads an edition, of which collection, and what for. */
interface IndividualQuestion {
  collection: Collection
  caller: Caller
  purpose: Purpose
}

/**
 * For how many rows of a list Quoin asks for the newest revision, where Drupal shows an earlier
 * one.
 */
const OUTDATED_MAX = 10

/** Reads the edition of a collection with this uuid or integer id, in its newest revision. */
export async function readIndividual(
  context: ResourceContext,
  collection: Collection,
  id: EditionId,
  caller: Caller,
  purpose: Purpose
): Promise<LoadedEdition | undefined> {
  const question = { collection, caller, purpose }
  const edition = await askIndividual(context, id, question)
  return edition && newestRevision(context, edition, question)
}

/** The newest revision of an edition, asked for by its id where Drupal has shown an earlier one. */
async function newestRevision(
  context: ResourceContext,
  edition: LoadedEdition,
  question: IndividualQuestion
): Promise<LoadedEdition> {
  const { revisions } = context
  const revision = revisions.newerThan(edition.resource)
  if (revision === undefined || question.purpose === 'draft') return edition
  const { id: uuid } = edition.resource
  question.caller.budget?.allow(1)
  const newest = await askIndividual(
    context,
    { uuid },
    { ...question, purpose: question.purpose === 'latest' ? 'anew' : question.purpose },
    [['resourceVersion', `id:${revision}`]]
  ).catch(unlessForbidden)
  if (newest && isDefault(newest.resource)) return newest
  // The site was set back, or somebody has saved since.
  revisions.forget(uuid)
  return edition
}

/**
 * The newest revisions of a list's rows. Asks for up to ten, where Drupal has shown an earlier one.
 */
export async function newestRevisions(
  context: ResourceContext,
  rows: LoadedEdition[],
  caller: Caller
): Promise<LoadedEdition[]> {
  const outdated = rows
    .filter(({ resource }) => context.revisions.newerThan(resource) !== undefined)
    .slice(0, OUTDATED_MAX)
  if (outdated.length === 0) return rows
  return Promise.all(
    rows.map(async (row) => {
      if (!outdated.includes(row)) return row
      const collection = await collectionOf(context, row.resource.type, caller)
      return newestRevision(context, row, { collection, caller, purpose: 'edition' })
    })
  )
}

/** The collection of editions of a resource type. */
export async function collectionOf(
  { catalog }: ResourceContext,
  resourceType: string,
  caller: Caller
): Promise<Collection> {
  const collections = await catalog.editions(caller)
  return collections.find((collection) => collection.resourceType === resourceType)!
}

/**
 * Reads an edition in the revision that Drupal shows. A caller who may see no more than the label
 * of an edition gets nothing of it. Source: Drupal\jsonapi\JsonApiResource\LabelOnlyResourceObject.
 * @param version a query that names another revision
 */
async function askIndividual(
  context: ResourceContext,
  id: EditionId,
  { collection, caller, purpose }: IndividualQuestion,
  version: Parameters = []
): Promise<LoadedEdition | undefined> {
  const { idAttribute, noun } = context
  const { resourceType } = collection
  const place =
    'uuid' in id
      ? { path: individualPath(collection, id.uuid), query: version }
      : { path: collection.path, query: idQuery(idAttribute, [id.id]) }
  const answer = await readResources(context, { ...place, resourceType, caller, purpose })
  if (answer.status === 404) return undefined
  if (answer.status >= 400) throw refusal(answer)
  const resources = primaryData(answer.document)
  const other = resources.find((resource) => !hasId(context, resource, id))
  if (other) throw mismatch(`${noun} ${'uuid' in id ? id.uuid : id.id}`, other)
  const [resource] = resources
  if (!resource) return undefined
  if (resource.attributes?.[idAttribute] === undefined) {
    throw new Failure('CMS_FORBIDDEN', `You may see only the label of this ${noun}`)
  }
  return learnEdition(context, resource, answer.urlOf)
}

/** Whether a resource is the edition asked for, or its label, which has no integer id. */
function hasId(context: ResourceContext, resource: Resource, editionId: EditionId): boolean {
  if (!isEdition(context, resource)) return false
  const { idAttribute } = context
  const id = integerId(resource, idAttribute)
  const isLabel = resource.attributes?.[idAttribute] === undefined
  if ('id' in editionId) return isLabel || id === Number(editionId.id)
  return isSameUuid(resource.id, editionId.uuid) && (isLabel || id > 0)
}

/** Whether a resource is of the content model's entity type. */
export function isEdition({ model }: ResourceContext, { type }: Resource): boolean {
  return splitType(model, type).entityType === model.entityType
}

/** Takes in the ids and the revision of an edition that was read. */
export function learnEdition(
  { ids, revisions }: ResourceContext,
  resource: Resource,
  urlOf: UrlOf = withoutUrls
): LoadedEdition {
  ids.learn(resource)
  revisions.learnFrom(resource)
  return { resource, urlOf }
}

/** The urls of references whose urls nobody asked for. */
export function withoutUrls(): undefined {}

/** Drupal shows a revision that is not the default one to fewer users. */
function unlessForbidden(error: Failure): undefined {
  if (error.code !== 'CMS_FORBIDDEN') throw error
}
