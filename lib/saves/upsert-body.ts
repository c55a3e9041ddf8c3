import type { Editions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { bundleOf, normalize } from '../editions/translate/write.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { scalarText } from '../drupal/document.ts'

interface BodyContext {
  editions: Pick<Editions, 'bundles' | 'types'>
  model: ContentModel
}

/**
 * The body of an upsert with the key, and with the bundle or the edition type, of the path.
 * @throws {Failure} BAD_REQUEST where editions have no key; NOT_FOUND for an unknown bundle;
 *   UNPROCESSABLE for a body with another key or bundle
 */
export async function upsertBody(
  { editions, model }: BodyContext,
  bundle: string,
  key: string,
  json: Record<string, unknown>,
  caller: Caller
): Promise<EditionJson> {
  const body = withKey(json, key, model)
  if ((await editions.bundles(caller)).some(({ id }) => id === bundle)) {
    return withBundle(body, bundle, model)
  }
  const { editionType } = model.fields
  if (editionType === null || !(await editions.types(caller)).some(({ id }) => id === bundle)) {
    throw new Failure('NOT_FOUND', `There is no bundle and no edition type "${bundle}"`)
  }
  if (body[editionType] && scalarText(body[editionType][0]?.value) !== bundle) {
    throw otherThanPath(editionType, 'edition type', bundle)
  }
  return { ...body, [editionType]: [{ value: bundle }] }
}

/** The key that an edition has. */
export function keyIn(edition: EditionJson, model: ContentModel): string {
  const field = model.fields.key!
  return scalarText(edition[field]?.[0]?.[mainPropertyOf(field, model)])
}

function withKey(json: Record<string, unknown>, key: string, model: ContentModel): EditionJson {
  const field = model.fields.key
  if (field === null) {
    throw new Failure(
      'BAD_REQUEST',
      `${model.entityType} has no field key in the content model, so no edition can be named by one`
    )
  }
  const body = normalize(json, model)
  if (body[field] && keyIn(body, model) !== key) throw otherThanPath(field, 'key', key)
  return { ...body, [field]: [{ [mainPropertyOf(field, model)]: key }] }
}

function withBundle(body: EditionJson, bundle: string, model: ContentModel): EditionJson {
  const field = model.keys.bundle
  if ((bundleOf(body, model) ?? bundle) !== bundle) {
    throw otherThanPath(String(field), 'bundle', bundle)
  }
  return field === null ? body : { ...body, [field]: [{ target_id: bundle }] }
}

function mainPropertyOf(field: string, model: ContentModel): string {
  return model.mainProperty[field] ?? 'value'
}

function otherThanPath(field: string, what: string, value: string): Failure {
  return new Failure(
    'UNPROCESSABLE',
    `${field} of the body is not the ${what} in the path, "${value}"`
  )
}
