import { isDeepStrictEqual } from 'node:util'
import { createEditionContext, editionJson } from '../../../lib/editions/context.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import { createSite } from '../../../lib/editions/site/site.ts'
import type { EditionJson } from '../../../lib/editions/translate/edition-json.ts'
import { TIMESTAMP_FORMAT } from '../../../lib/editions/translate/read.ts'
import { Failure } from '../../../lib/errors.ts'
import { newCaller } from '../../../lib/http/calls.ts'
import type { Jsonapi } from '../../../lib/drupal/client.ts'
import { isObject, type Resource } from '../../../lib/drupal/document.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import type { Ask } from '../survey/ask.ts'
import { twinOf, withoutPrefix } from '../survey/places.ts'

/** How many bundles have an edition compared. */
const BUNDLES = 10

/** How many fields a line names. */
const NAMED = 10

const ADVICE =
  'docs/core-rest.md has what JSON:API cannot say; for what else differs, correct the content model (mainProperty, rawFields, canonicalPaths, languages)'

/** What the comparison takes. */
export interface CoreRestCheck {
  cms: Jsonapi
  ask: Ask
  /** Drupal's address. */
  url: string
  model: ContentModel
  collections: Collection[]
}

/**
 * Compares the edition with the most values of each bundle with core REST, where the site has that
 * and the account may use it.
 */
export async function* compareWithCore({
  cms,
  ask,
  url,
  model,
  collections
}: CoreRestCheck): AsyncGenerator<Diagnosis> {
  // Reading may add to the time stamps.
  const own = { ...model, timestampFields: [...model.timestampFields] }
  const site = createSite({ cms, model: own, cmsUrl: url, warn: () => {} })
  const { find } = createEditionContext({ site })
  const prefix = ask.jsonapiPath.slice(0, -(await withoutPrefix(ask)).length)
  const paths = { [model.entityType]: `/entity/${model.entityType}/{id}`, ...model.canonicalPaths }
  const path = paths[model.entityType]!
  for (const { bundle, path: list } of collections.slice(0, BUNDLES)) {
    const edition = fullestOf((await ask.list(list)).rows)
    if (!edition) continue
    const ours = await find(edition.id, newCaller()).then(
      (loaded) => editionJson(site, loaded),
      (error: unknown) => {
        if (!(error instanceof Failure)) throw error
        return undefined
      }
    )
    const id = String(ours?.[model.keys.id]?.[0]?.value ?? edition.id)
    const twin = await twinOf(ask, prefix + path.replace('{id}', id))
    if (!ours || !twin) {
      yield unchecked(
        `core REST: edition ${id} of ${bundle}`,
        `Drupal does not show it at ${prefix}${path.replace('{id}', id)}?_format=json, or not to this account, so Quoin's answer was not compared`
      )
      continue
    }
    yield* compare(ours, twin as EditionJson, {
      what: `edition ${id} of ${bundle}`,
      named: model.timestampFields
    })
  }
}

/** The resource with the most values: it shows the most of what may differ. */
function fullestOf(rows: Resource[]): Resource | undefined {
  const count = ({ attributes = {}, relationships = {} }: Resource) =>
    [
      ...Object.values(attributes),
      ...Object.values(relationships).map((relationship) => relationship.data)
    ].filter((value) => value !== null && !(Array.isArray(value) && value.length === 0)).length
  return rows.toSorted((one, other) => count(other) - count(one))[0]
}

/** @param named the fields of time stamps that the content model names */
function* compare(
  ours: EditionJson,
  twin: EditionJson,
  { what, named }: { what: string; named: string[] }
): Generator<Diagnosis> {
  const fields = [...new Set([...Object.keys(twin), ...Object.keys(ours)])]
  // JSON:API may not show a field at all (jsonapi_extras).
  const stamps = fields.filter(
    (field) => isStamp(twin[field]) && Object.hasOwn(ours, field) && !named.includes(field)
  )
  const differing = fields.filter(
    (field) => !stamps.includes(field) && !isDeepStrictEqual(asShown(twin[field]), ours[field])
  )
  if (stamps.length > 0) {
    yield wrong(
      `core REST: ${stamps.join(', ')} of ${what} hold time stamps, which the content model does not name`,
      'add them to timestampFields in the content model'
    )
  }
  if (differing.length > 0) {
    const more = differing.length > NAMED ? ` and ${differing.length - NAMED} more` : ''
    yield unchecked(
      `core REST: ${what} differs in ${differing.slice(0, NAMED).join(', ')}${more}`,
      ADVICE
    )
  }
  if (stamps.length + differing.length === 0) {
    yield ok(`core REST: Quoin shows ${what} as it does`)
  }
}

/**
 * Items of core REST as JSON:API can say them (docs/core-rest.md): a reference to an entity that is
 * gone without its id, and an empty base field without an item.
 */
function asShown(items: unknown): unknown {
  if (!Array.isArray(items)) return items
  const values = items.length === 1 && isObject(items[0]) ? Object.values(items[0]) : []
  const isEmpty = values.length > 1 && values.every((value) => value === null || value === '')
  if (isEmpty) return []
  const isGone = (item: unknown) => isObject(item) && Object.keys(item).join() === 'target_id'
  return items.map((item: unknown) => (isGone(item) ? { target_id: null } : item))
}

function isStamp(items: unknown): boolean {
  const item: unknown = Array.isArray(items) ? items[0] : undefined
  return isObject(item) && item.format === TIMESTAMP_FORMAT
}
