import { Failure, texts } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import {
  identifiers,
  resources as resourcesIn,
  scalarText,
  type Resource
} from '../../drupal/document.ts'
import type { Resources } from '../lookup/resources.ts'
import { attributeOf, publicName, publicNames, splitType, type ContentModel } from '../model.ts'
import type { Placement } from '../schemas.ts'
import type { Collection } from '../site/catalog.ts'
import type { Reach } from '../site/filters.ts'
import type { Site } from '../site/site.ts'
import { refusal } from '../translate/failures.ts'
import {
  pageQuery,
  PAGE_MAX,
  referringToQuery,
  type Page,
  type Parameters
} from '../translate/query.ts'
import { rowId, rowsOf } from '../translate/verify.ts'
import { pagesOfUnpublished, unpublishedContext, type UnpublishedContext } from './unpublished.ts'

/** A row of a list, as references name it. */
export interface Placeable {
  entityType: string
  id: string
  uuid: string
}

/** How many pages of editions of each bundle are read for one page of a list. */
export const PLACED_PAGES = 20

/** A bundle of editions, and one of its fields that hold articles. */
interface ReferenceField {
  collection: Collection
  field: string
}

export interface PlacementContext {
  site: Site
  resources: Pick<Resources, 'shape'>
  unpublished: UnpublishedContext
}

/** Finds editions as `findPlacements` does. */
export function createPlacements(site: Site, resources: Resources) {
  const { model, warn } = site
  const unpublished = unpublishedContext({ model, warn })
  const context: PlacementContext = { site, resources, unpublished }
  return (rows: Placeable[], caller: Caller) => findPlacements(context, rows, caller)
}

/** The editions that were found to hold each row: by the uuid of the row, then by their own. */
type Placements = Map<string, Map<string, Placement>>

/**
 * Finds which editions hold the rows of a list. Where the caller may filter editions, Drupal looks
 * for the references, which takes one page for each bundle and 50 editions that it finds; where he
 * may filter the published ones alone, the others are read besides. Else the newest editions are
 * read.
 * @returns the editions that hold each row and that the caller may see, the newest first, by the
 *   uuid of the row
 * @throws {Failure} PLACED_UNKNOWN where there are more editions than `PLACED_PAGES` pages of a
 *   bundle
 */
export async function findPlacements(
  context: PlacementContext,
  rows: Placeable[],
  caller: Caller
): Promise<Record<string, Placement[]>> {
  const placements: Placements = new Map(rows.map(({ uuid }) => [uuid, new Map()]))
  if (rows.length > 0) {
    const { catalog, filters, model } = context.site
    const collections = await catalog.editions(caller)
    const reach = await filters.reach(collections, caller)
    const holders = collections.flatMap((collection) =>
      model.fields.articles.map((field) => ({ collection, field }))
    )
    caller.budget?.allow(holders.length * PLACED_PAGES)
    await Promise.all(
      holders.map((holder) => findHolders(context, holder, rows, placements, reach, caller))
    )
  }
  return Object.fromEntries(
    [...placements].map(([uuid, ofRow]) => [uuid, newestFirst([...ofRow.values()])])
  )
}

function newestFirst(placements: Placement[]): Placement[] {
  return placements.sort((a, b) => Number(b.id) - Number(a.id))
}

/** Adds the editions of one bundle that hold rows in one field. */
async function findHolders(
  context: PlacementContext,
  holder: ReferenceField,
  rows: Placeable[],
  placements: Placements,
  reach: Reach,
  caller: Caller
): Promise<void> {
  const name = publicName(context.site.model, holder.field)
  const ids = rows.map(({ id }) => id)
  const filter = reach === 'none' ? [] : referringToQuery(name, ids)
  const types = new Map(rows.map(({ uuid, entityType }) => [uuid, entityType]))
  const add = (editions: AsyncGenerator<Resource>) =>
    addPlacements(context, holder, editions, types, placements)
  await Promise.all([
    add(filteredEditions(context, holder, filter, caller)),
    reach === 'published' && add(unpublishedEditions(context, holder, caller))
  ])
}

/** @param types the entity type of each row, by its uuid */
async function addPlacements(
  { site: { model } }: PlacementContext,
  { collection, field }: ReferenceField,
  editions: AsyncGenerator<Resource>,
  types: ReadonlyMap<string, string>,
  placements: Placements
): Promise<void> {
  const name = publicName(model, field)
  for await (const edition of editions) {
    for (const { type, id: uuid } of identifiers(edition.relationships?.[name])) {
      if (types.get(uuid) !== splitType(model, type).entityType) continue
      placements.get(uuid)!.set(edition.id, placementOf(edition, collection, model))
    }
  }
}

/** The editions of a bundle that pass a filter and that the caller may see. */
function filteredEditions(
  context: PlacementContext,
  holder: ReferenceField,
  filter: Parameters,
  caller: Caller
): AsyncGenerator<Resource> {
  const { model } = context.site
  const readPage = (offset: number) =>
    readHolders(context, holder, [...filter, ...pageQuery(offset, PAGE_MAX, model)], caller)
  return rowsOfPages(readPage, filter.length > 0)
}

/** The editions of a bundle that are not published and that the caller may see. */
function unpublishedEditions(
  context: PlacementContext,
  holder: ReferenceField,
  caller: Caller
): AsyncGenerator<Resource> {
  const readPage = pagesOfUnpublished(context.unpublished, {
    collection: holder.collection,
    caller,
    read: (query) => readHolders(context, holder, query, caller),
    resourceOf: (row) => row
  })
  return rowsOfPages((offset) => readPage(offset, PAGE_MAX, 'rows'), false)
}

/** @throws {Failure} PLACED_UNKNOWN after `PLACED_PAGES` pages */
async function* rowsOfPages(
  readPage: (offset: number) => Promise<Page<Resource>>,
  isFiltered: boolean
): AsyncGenerator<Resource> {
  for (let number = 0; number < PLACED_PAGES; number++) {
    const { rows, more } = await readPage(number * PAGE_MAX)
    yield* rows
    if (!more) return
  }
  throw new Failure('PLACED_UNKNOWN', texts.placedUnknown(PLACED_PAGES * PAGE_MAX, isFiltered))
}

/** A page of editions with their references to articles in one field. */
async function readHolders(
  context: PlacementContext,
  { collection, field }: ReferenceField,
  query: Parameters,
  caller: Caller
): Promise<Page<Resource>> {
  const { cms, model } = context.site
  const { path, resourceType } = collection
  const { id, revision, label, published } = model.keys
  const fields = publicNames(model, id, revision, label, published, field)
  const answer = await cms.request({
    path,
    query: [...query, [`fields[${resourceType}]`, fields.join(',')]],
    caller
  })
  // Not every bundle need have every field.
  if (answer.status === 400 && !(await hasField(context, resourceType, field, caller))) {
    return { rows: [], more: false }
  }
  if (answer.status >= 400) throw refusal(answer)
  return {
    rows: rowsOf(resourcesIn(answer.document), collection),
    more: answer.document.links?.next !== undefined
  }
}

async function hasField(
  { resources }: PlacementContext,
  resourceType: string,
  field: string,
  caller: Caller
): Promise<boolean> {
  return (await resources.shape(resourceType, () => [], caller))?.has(field) ?? false
}

function placementOf(resource: Resource, { bundle }: Collection, model: ContentModel): Placement {
  const { id, label, published } = model.keys
  const { attributes = {} } = resource
  const status = attributeOf(attributes, published, model)
  return {
    id: String(rowId(resource, publicName(model, id))),
    uuid: resource.id,
    bundle,
    label: scalarText(attributeOf(attributes, label, model)),
    published: typeof status === 'boolean' ? status : null
  }
}
