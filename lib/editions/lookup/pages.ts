import { resources } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import type { Collection } from '../site/catalog.ts'
import { refusal } from '../translate/failures.ts'
import { pageQuery, referringQuery, type Page, type Parameters } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import type { Shape } from '../translate/shape.ts'
import { rowsOf } from '../translate/verify.ts'
import { collectionOf, withoutUrls } from './individual.ts'
import { readResources, type ResourceAnswer } from './read-resources.ts'
import type { ResourceContext } from './resource-context.ts'

/** One page of a collection, with the urls of references. */
export async function readPage(
  context: ResourceContext,
  collection: Collection,
  query: Parameters,
  caller: Caller
): Promise<Page<LoadedEdition>> {
  const { resourceType, path } = collection
  const question = { resourceType, path, query, caller, purpose: 'page' } as const
  return pageOf(await readResources(context, question), collection)
}

/** One page of a collection with no more than some attributes of each row. */
export async function readSparsePage(
  { cms }: ResourceContext,
  collection: Collection,
  query: Parameters,
  attributes: string[],
  caller: Caller
): Promise<Page<LoadedEdition>> {
  const { path, resourceType } = collection
  const sparse: Parameters = [...query, [`fields[${resourceType}]`, attributes.join(',')]]
  return pageOf(await cms.request({ path, query: sparse, caller }), collection)
}

function pageOf(answer: ResourceAnswer, collection: Collection): Page<LoadedEdition> {
  if (answer.status >= 400) throw refusal(answer)
  const { document, bytes, urlOf = withoutUrls } = answer
  const { links, meta } = document
  return {
    rows: rowsOf(resources(document), collection).map((resource) => ({ resource, urlOf })),
    more: links?.next !== undefined,
    bytes,
    ...(Number.isSafeInteger(meta?.count) && { count: meta!.count as number })
  }
}

/**
 * The fields of a resource type. Reads a page where no document has shown them yet, and a row that
 * refers to something for each incomplete relationship.
 */
export async function readShape(
  context: ResourceContext,
  resourceType: string,
  incomplete: (shape: Shape) => string[],
  caller: Caller
): Promise<Shape | undefined> {
  const { shapes, model } = context
  const collection = await collectionOf(context, resourceType, caller)
  if (!shapes.of(resourceType)) await readPage(context, collection, pageQuery(0, 1, model), caller)
  const names = incomplete(shapes.of(resourceType) ?? new Map())
  await Promise.all(names.map((name) => learnRelationship(context, collection, name, caller)))
  return shapes.of(resourceType)
}

/** Reads one row that refers to something in a relationship, for the type of its target. */
async function learnRelationship(
  { cms, shapes }: ResourceContext,
  collection: Collection,
  name: string,
  caller: Caller
): Promise<void> {
  const query: Parameters = [
    ...referringQuery(name),
    ['page[limit]', '1'],
    [`fields[${collection.resourceType}]`, name]
  ]
  const { document } = await cms.request({ path: collection.path, query, caller })
  rowsOf(resources(document), collection).forEach(shapes.learn)
}
