import { bundleLabel, type Catalog, type Collection } from '../../../lib/editions/site/catalog.ts'
import { refusal } from '../../../lib/editions/translate/failures.ts'
import { createFilters, filterAdvice } from '../../../lib/editions/site/filters.ts'
import { KINDS, type Kind } from '../../../lib/editions/site/kinds.ts'
import { publicNames, type ContentModel } from '../../../lib/editions/model.ts'
import { pageQuery, PAGE_MAX } from '../../../lib/editions/translate/query.ts'
import { createShapes } from '../../../lib/editions/site/shapes.ts'
import { isContentEntity, type Shape } from '../../../lib/editions/translate/shape.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import type { Jsonapi } from '../../../lib/drupal/client.ts'
import { isObject, resources, type Document, type Resource } from '../../../lib/drupal/document.ts'
import { newCaller } from '../../../lib/http/calls.ts'

/** Whom the CMS takes the doctor for, and how it asks. */
export interface Visitor {
  cms: Jsonapi
  catalog: Catalog
  name: string
  isAnonymous: boolean
}

/**
 * Checks the editions that the visitor sees against the content model: their fields, filters,
 * labels.
 */
export async function* checkEditions(
  visitor: Visitor,
  collections: Collection[],
  model: ContentModel
): AsyncGenerator<Diagnosis> {
  const shapes = createShapes(model)
  for (const collection of collections) {
    const document = await firstPage(visitor, collection, model)
    resources(document).forEach(shapes.learn)
    yield visibleEditions(visitor, collection, document)
  }
  const shapesByBundle = collections
    .flatMap(({ bundle, resourceType }) => ({ bundle, shape: shapes.of(resourceType) }))
    .filter((one): one is { bundle: string; shape: Shape } => one.shape !== undefined)
  // What users wait for most comes first.
  yield shapesByBundle.length > 0
    ? await filters(visitor, collections, model)
    : unchecked('filters', 'no edition can be seen')
  for (const { bundle, shape } of shapesByBundle) {
    const others = shapesByBundle.filter((other) => other.bundle !== bundle)
    yield* fields(
      bundle,
      shape,
      model,
      others.map(({ shape }) => shape)
    )
  }
  if (shapesByBundle.length > 0) {
    yield* references(
      shapesByBundle.map(({ shape }) => shape),
      model
    )
  }
  yield await bundleLabels(visitor, model)
  yield await typeLabels(visitor, model)
}

async function firstPage(
  { cms }: Visitor,
  { path }: Collection,
  model: ContentModel
): Promise<Document> {
  const answer = await cms.request({
    path,
    query: pageQuery(0, PAGE_MAX, model),
    caller: newCaller()
  })
  if (answer.status >= 400) throw refusal(answer)
  return answer.document
}

function visibleEditions(
  { name, isAnonymous }: Visitor,
  { bundle }: Collection,
  document: Document
): Diagnosis {
  const count = resources(document).length
  const hiddenCount = omittedCount(document)
  const hiddenNote = hiddenCount > 0 ? `, ${hiddenCount} more are hidden` : ''
  const pagesNote = document.links?.next === undefined ? '' : ', and there are more pages'
  const what = `editions of ${bundle}: ${name} sees ${count} on the first page${hiddenNote}${pagesNote}`
  if (count > 0) return ok(what)
  if (hiddenCount > 0 && !isAnonymous) {
    return wrong(what, 'give the user the permission to view them')
  }
  return unchecked(what, 'so their fields were not checked')
}

/**
 * How many resources were left out because the visitor may not see them. Source:
 * Drupal\jsonapi\JsonApiResource\OmittedData.
 */
function omittedCount({ meta }: Document): number {
  if (!isObject(meta?.omitted) || !isObject(meta.omitted.links)) return 0
  return Object.keys(meta.omitted.links).filter((name) => name !== 'help').length
}

/**
 * The fields without which Quoin cannot do its work, by the member of the content model that names
 * them.
 */
function* fields(
  bundle: string,
  shape: Shape,
  model: ContentModel,
  others: Shape[]
): Generator<Diagnosis> {
  const {
    keys: { id, label, published, changed },
    fields: { key, editionType }
  } = model
  const members: Array<[member: string, field: string | null, orNull: string]> = [
    ['keys.id', id, ''],
    ['keys.label', label, ' (null where editions have no label)'],
    ['keys.published', published, ' (null where editions are not published)'],
    ['keys.changed', changed, ' (null where editions have no time of change)'],
    ['fields.key', key, ' (null where editions have no key)'],
    ['fields.editionType', editionType, ' (null where the bundle alone tells the type)']
  ]
  const needs = members.filter(([, field]) => field !== null) as Array<
    [member: string, field: string, orNull: string]
  >
  const missingNeeds = needs.filter(([, field]) => !shape.has(field))
  for (const [member, field, orNull] of missingNeeds) {
    const isElsewhere = others.some((other) => other.has(field))
    yield wrong(
      `fields of ${bundle}: ${field} is not there`,
      isElsewhere
        ? `other bundles have it: take ${bundle} out of the content model's bundles if it holds no editions, or let this user view the field, or correct ${member}${orNull}`
        : `correct ${member} in the content model${orNull}, or let this user view the field`
    )
  }
  if (missingNeeds.length === 0) {
    yield ok(`fields of ${bundle}: ${needs.map(([, field]) => field).join(', ')}`)
  }
}

/** What the content model says of references, held to what the editions show of them. */
function* references(shapes: Shape[], model: ContentModel): Generator<Diagnosis> {
  const isTargetKnown = new Map<string, boolean>()
  const relationships = new Set(
    shapes
      .flatMap((shape) => [...shape])
      .flatMap(([field, { kind }]) => (kind === 'relationship' ? [field] : []))
  )
  for (const [field, { kind, sample }] of shapes.flatMap((shape) => [...shape])) {
    if (
      kind !== 'relationship' ||
      field === model.keys.bundle ||
      (sample && !isContentEntity(sample))
    ) {
      continue
    }
    isTargetKnown.set(
      field,
      isTargetKnown.get(field) === true ||
        sample !== undefined ||
        Object.hasOwn(model.references, field)
    )
  }
  const unknownTargets = [...isTargetKnown].filter(([, known]) => !known).map(([field]) => field)
  const absent = Object.keys(model.references).filter((field) => !relationships.has(field))
  if (unknownTargets.length > 0) {
    yield unchecked(
      `references ${unknownTargets.join(', ')}`,
      'no edition seen has one, so what they hold is not known; name it in the content model (references)'
    )
  }
  if (absent.length > 0) {
    yield unchecked(
      `references ${absent.join(', ')}`,
      'the content model names them, but no edition seen has such a field'
    )
  }
  if (unknownTargets.length + absent.length === 0) {
    yield ok(`references: ${[...isTargetKnown.keys()].join(', ')}`)
  }
}

async function filters(
  visitor: Visitor,
  collections: Collection[],
  model: ContentModel
): Promise<Diagnosis> {
  const { cms, catalog, name } = visitor
  const { verdict, proven, missed } = await createFilters({
    cms,
    catalog,
    model,
    warn: () => {}
  }).findings(collections, newCaller())
  const advice = String(filterAdvice(verdict, model.entityType))
  const textOf = (kinds: Kind[]) => kinds.join(', ') || 'none'
  const found = textOf(KINDS.filter((kind) => proven.has(kind)))
  switch (verdict) {
    case 'work':
      return ok(`filters: ${name} finds what there is`)
    case 'trap':
      return wrong(
        `filters: they do not find editions that can be seen (${textOf(KINDS.filter((kind) => missed.has(kind)))}; proven: ${found})`,
        `${advice}. ${await searchCost(visitor, collections, model)}`
      )
    case 'partly':
      return unchecked(
        `filters: proven for ${found}, not for ${textOf(KINDS.filter((kind) => !proven.has(kind)))}`,
        `${name} is shown none of the latter, or too few; Quoin looks for them without a filter each time`
      )
    default:
      return unchecked('filters', advice)
  }
}

/** What a search that finds little costs, where filters work and where they do not. */
async function searchCost(
  visitor: Visitor,
  collections: Collection[],
  model: ContentModel
): Promise<string> {
  let [pages, ms, msOfOne] = [0, 0, 0]
  for (const collection of collections) {
    const count = await countPages(visitor, collection, model)
    const start = performance.now()
    await hasRows(visitor, collection, Math.floor(count / 2), PAGE_MAX, model)
    const elapsed = performance.now() - start
    pages += count
    ms += count * elapsed
    msOfOne = Math.max(msOfOne, elapsed)
  }
  return `Without it the first search reads ${pages} pages, about ${seconds(ms)} s; with it ${collections.length}, about ${seconds(msOfOne)} s`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

/** How many pages of a collection the doctor counts at most. */
const PAGES_MAX = 2048

/** The number of a collection's pages: doubled until there are no more, then halved. */
async function countPages(
  visitor: Visitor,
  collection: Collection,
  model: ContentModel
): Promise<number> {
  let [low, high] = [1, 1]
  while (high < PAGES_MAX && (await hasRows(visitor, collection, high, 1, model))) {
    low = high + 1
    high *= 2
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await hasRows(visitor, collection, middle, 1, model)) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a collection has rows from a page on, hidden or not. It reads what a search compares. */
async function hasRows(
  { cms }: Visitor,
  { path, resourceType }: Collection,
  page: number,
  limit: number,
  model: ContentModel
): Promise<boolean> {
  const { keys, fields } = model
  const names = publicNames(model, keys.id, keys.label, keys.published, fields.key, keys.changed)
  const query = pageQuery(page * PAGE_MAX, limit, model)
  const { status, document } = await cms.request({
    path,
    query: [...query, [`fields[${resourceType}]`, names.join(',')]],
    caller: newCaller()
  })
  return status < 400 && (resources(document).length > 0 || omittedCount(document) > 0)
}

async function bundleLabels(visitor: Visitor, model: ContentModel): Promise<Diagnosis> {
  if (model.bundles || model.bundleEntityType === null) {
    return ok('labels of bundles: the content model has them, or there are no bundles')
  }
  const configurations = await readConfiguration(visitor, model.bundleEntityType, [])
  return labelDiagnosis(
    'labels of bundles',
    configurations.map((attributes) => bundleLabel(attributes)[1]),
    visitor,
    'bundles'
  )
}

async function typeLabels(visitor: Visitor, model: ContentModel): Promise<Diagnosis> {
  const {
    editionTypes,
    fields: { editionType },
    entityType
  } = model
  if (editionTypes || editionType === null) {
    return ok('labels of edition types: the content model has them, or the bundles are the types')
  }
  const storages = await readConfiguration(visitor, 'field_storage_config', [
    ['filter[drupal_internal__id]', `${entityType}.${editionType}`]
  ])
  const types = storages.length > 0 ? await visitor.catalog.editionTypes(newCaller()) : []
  return labelDiagnosis(
    'labels of edition types',
    types.map(({ label }) => label),
    visitor,
    'editionTypes'
  )
}

function labelDiagnosis(
  what: string,
  labels: string[],
  { name }: Visitor,
  member: string
): Diagnosis {
  if (labels.length > 0) return ok(`${what}: ${labels.join(', ')}`)
  return unchecked(
    what,
    `${name} may not see them; name them in the content model (${member}), else machine names may be shown`
  )
}

/** The attributes of configuration, as far as the visitor may see it and the site exposes it. */
async function readConfiguration(
  { cms, catalog }: Visitor,
  entityType: string,
  query: Array<[string, string]>
): Promise<Array<NonNullable<Resource['attributes']>>> {
  const collection = (await catalog.all(newCaller())).find(
    (collection) => collection.entityType === entityType
  )
  if (!collection) return []
  const { status, document } = await cms.request({
    path: collection.path,
    query,
    caller: newCaller()
  })
  return status < 400 ? resources(document).map(({ attributes = {} }) => attributes) : []
}
