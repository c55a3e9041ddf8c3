import type { JsonapiAnswer } from '../../drupal/client.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import type { Page, Parameters } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import type { Shape } from '../translate/shape.ts'
import { newestRevisions, readIndividual, type EditionId } from './individual.ts'
import { readPage, readShape, readSparsePage } from './pages.ts'
import { latestVersion } from './request-plan.ts'
import { createResourceContext, type Purpose } from './resource-context.ts'
import { refusalToEdit, sendResource, type SendCondition, type SendResult } from './send.ts'

export interface Resources {
  /**
   * The query that names the latest version of editions of a type; empty for one without revisions,
   * of which Drupal refuses any. Only for reads within a turn: one that ends after a save would
   * leave the state before it in Drupal's cache.
   */
  latestVersion(resourceType: string): Parameters
  /**
   * The edition of a collection with this uuid or integer id; undefined where there is none.
   * @throws {Failure} CMS_UNAUTHORIZED, CMS_FORBIDDEN; CMS_INVALID_RESPONSE where the CMS answers
   *   with another edition; and all other failures of the CMS
   */
  individual(
    collection: Collection,
    id: EditionId,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition | undefined>
  /**
   * One page of a collection: its rows, whether there are more, and how many in all where the CMS
   * counts.
   */
  page(collection: Collection, query: Parameters, caller: Caller): Promise<Page<LoadedEdition>>
  /**
   * The newest revisions of a list's rows. Asks for up to ten, where Drupal has shown an earlier
   * one.
   */
  newest(rows: LoadedEdition[], caller: Caller): Promise<LoadedEdition[]>
  /** The same as `page` with no more than some attributes of each row. */
  sparsePage(
    collection: Collection,
    query: Parameters,
    attributes: string[],
    caller: Caller
  ): Promise<Page<LoadedEdition>>
  /**
   * The fields of a resource type, as far as documents show them. Reads a document where there was
   * none before, and one more for each relationship whose target type is still missing.
   * @param incomplete picks these relationships
   */
  shape(
    resourceType: string,
    incomplete: (shape: Shape) => string[],
    caller: Caller
  ): Promise<Shape | undefined>
  /**
   * Writes an edition.
   * @param current the edition as it is, if this changes one
   * @param condition what Quoin's module is to look at
   * @returns the edition as it is afterwards, or the CMS's refusal
   */
  send(
    resource: Resource,
    caller: Caller,
    current?: Resource,
    condition?: SendCondition
  ): Promise<SendResult>
  /** The CMS's refusal to let a caller change an edition; undefined where it would. */
  refusalToEdit(resource: Resource, caller: Caller): Promise<JsonapiAnswer | undefined>
}

/** Reads and writes the editions of a site as JSON:API resources, and learns from every answer. */
export function createResources(site: Site): Resources {
  const context = createResourceContext(site)
  return {
    latestVersion: (resourceType) => latestVersion(context, resourceType),
    individual: (collection, id, caller, purpose) =>
      readIndividual(context, collection, id, caller, purpose),
    page: (collection, query, caller) => readPage(context, collection, query, caller),
    newest: (rows, caller) => newestRevisions(context, rows, caller),
    sparsePage: (collection, query, attributes, caller) =>
      readSparsePage(context, collection, query, attributes, caller),
    shape: (resourceType, incomplete, caller) =>
      readShape(context, resourceType, incomplete, caller),
    send: (resource, caller, current, condition) =>
      sendResource(context, resource, caller, current, condition),
    refusalToEdit: (resource, caller) => refusalToEdit(context, resource, caller)
  }
}
