import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import { rethrowRefusal } from './load.ts'
import type { ContentModel } from './model.ts'
import type { Collection, Named } from './site/catalog.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { typeOf } from './translate/edition-type.ts'
import type { Shape } from './translate/shape.ts'
import { bundleOf } from './translate/write.ts'

/** The bundles of editions, with their labels. */
export async function listBundles(context: EditionContext, caller: Caller): Promise<Named[]> {
  return context.site.catalog
    .bundles(caller)
    .catch((error) => rethrowRefusal(context, error, caller))
}

/** The edition types, with their labels. */
export async function listEditionTypes(context: EditionContext, caller: Caller): Promise<Named[]> {
  return context.site.catalog
    .editionTypes(caller)
    .catch((error) => rethrowRefusal(context, error, caller))
}

/**
 * The collection for a new edition: of the bundle that the body names; else of the bundle with the
 * edition type's name, or the only one there is.
 * @throws {Failure} UNPROCESSABLE
 */
export function collectionFor(
  body: EditionJson,
  collections: Collection[],
  model: ContentModel
): Collection {
  if (model.keys.bundle === null) return collections[0]!
  const bundle = bundleOf(body, model)
  if (bundle !== undefined) return collectionOfBundle(bundle, collections)
  const { editionType } = model.fields
  const type = editionType === null ? undefined : body[editionType]?.[0]?.value
  const fallback =
    collections.find((collection) => collection.bundle === type) ??
    (type !== undefined && collections.length === 1 ? collections[0] : undefined)
  if (!fallback) {
    throw new Failure(
      'UNPROCESSABLE',
      `Could not determine entity type bundle: "${model.keys.bundle}" field is missing.`
    )
  }
  return fallback
}

/** @throws {Failure} UNPROCESSABLE where there is no such bundle */
export function collectionOfBundle(bundle: string, collections: Collection[]): Collection {
  const collection = collections.find((collection) => collection.bundle === bundle)
  if (!collection) {
    throw new Failure(
      'UNPROCESSABLE',
      `"${bundle}" is not a valid bundle type for denormalization.`
    )
  }
  return collection
}

/** Adds the edition type to a body that has only the bundle. */
export async function withEditionType(
  { model, site }: EditionContext,
  body: EditionJson,
  { bundle }: Collection,
  shape: Shape | undefined,
  caller: Caller
): Promise<EditionJson> {
  const { editionType } = model.fields
  if (editionType === null || (shape && !shape.has(editionType))) return body
  const type = await typeOf(
    bundle,
    body[editionType],
    async () => (await site.catalog.editionTypes(caller)).map(({ id }) => id),
    editionType
  )
  return type === undefined ? body : { ...body, [editionType]: [{ value: type }] }
}
