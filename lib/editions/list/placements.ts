import { Failure, texts } from '../../errors.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import {
  identifiers,
  resources as resourcesIn,
  scalarText,
  type Resource
} from '../../drupal/document.ts'
import type { Resources } from '../lookup/resources.ts'
import { attributeOf, publicName, publicNames, splitType } from '../model.ts'
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
import { createUnpublished } from './unpublished.ts'

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

/**
 * Finds which editions hold the rows of a list. Where the caller may filter editions, Drupal looks for the references, which
 * takes one page for each bundle and 50 editions that it finds; where he may filter the published ones alone, the others are
 * read besides. Else the newest editions are read.
 * @throws {Failure} PLACED_UNKNOWN where there are more editions than `PLACED_PAGES` pages of a bundle
 */
export function createPlacements(
  { cms, catalog, filters, model, warn }: Site,
  resources: Resources
) {
  const { id, revision, label, published } = model.keys
  const idAttribute = publicName(model, id)
  const unpublishedOf = createUnpublished({ model, warn })

  /** @returns the editions that hold each row and that the caller may see, the newest first, by the uuid of the row */
  return async function placed(
    rows: Placeable[],
    caller: Caller
  ): Promise<Record<string, Placement[]>> {
    const placements = new Map(rows.map(({ uuid }) => [uuid, new Map<string, Placement>()]))
    if (rows.length > 0) {
      const collections = await catalog.editions(caller)
      const reach = await filters.reach(collections, caller)
      const holders = collections.flatMap((collection) =>
        model.fields.articles.map((field) => ({ collection, field }))
      )
      callOf(caller)?.allow(holders.length * PLACED_PAGES)
      await Promise.all(holders.map((holder) => look(holder, rows, placements, reach, caller)))
    }
    return Object.fromEntries(
      [...placements].map(([uuid, placements]) => [
        uuid,
        [...placements.values()].sort((a, b) => Number(b.id) - Number(a.id))
      ])
    )
  }

  async function look(
    holder: ReferenceField,
    rows: Placeable[],
    placements: Map<string, Map<string, Placement>>,
    reach: Reach,
    caller: Caller
  ): Promise<void> {
    const name = publicName(model, holder.field)
    const types = new Map(rows.map(({ uuid, entityType }) => [uuid, entityType]))
    const filter =
      reach === 'none'
        ? []
        : referringToQuery(
            name,
            rows.map(({ id }) => id)
          )
    await Promise.all([
      take(holding(holder, filter, caller)),
      reach === 'published' && take(unpublished(holder, caller))
    ])

    async function take(holding: AsyncGenerator<Resource, void, undefined>): Promise<void> {
      for await (const resource of holding) {
        for (const { type, id: uuid } of identifiers(resource.relationships?.[name])) {
          if (types.get(uuid) === splitType(model, type).entityType) {
            placements.get(uuid)!.set(resource.id, placementOf(resource, holder.collection))
          }
        }
      }
    }
  }

  /** The editions of a bundle that pass a filter and that the caller may see. */
  function holding(
    holder: ReferenceField,
    filter: Parameters,
    caller: Caller
  ): AsyncGenerator<Resource, void, undefined> {
    return pages(
      (offset) => read(holder, [...filter, ...pageQuery(offset, PAGE_MAX, model)], caller),
      filter.length > 0
    )
  }

  /** Those that are not published and that the caller may see. */
  function unpublished(
    holder: ReferenceField,
    caller: Caller
  ): AsyncGenerator<Resource, void, undefined> {
    const page = unpublishedOf({
      collection: holder.collection,
      caller,
      read: (query) => read(holder, query, caller),
      resourceOf: (row) => row
    })
    return pages((offset) => page(offset, PAGE_MAX), false)
  }

  async function* pages(
    page: (offset: number) => Promise<Page<Resource>>,
    isFiltered: boolean
  ): AsyncGenerator<Resource, void, undefined> {
    for (let number = 0; number < PLACED_PAGES; number++) {
      const { rows, more } = await page(number * PAGE_MAX)
      yield* rows
      if (!more) return
    }
    throw new Failure('PLACED_UNKNOWN', texts.placedUnknown(PLACED_PAGES * PAGE_MAX, isFiltered))
  }

  async function read(
    { collection, field }: ReferenceField,
    query: Parameters,
    caller: Caller
  ): Promise<Page<Resource>> {
    const { path, resourceType } = collection
    const fields = [idAttribute, ...publicNames(model, revision, label, published, field)]
    const answer = await cms.request({
      path,
      query: [...query, [`fields[${resourceType}]`, fields.join(',')]],
      caller
    })
    // Not every bundle need have every field.
    if (answer.status === 400 && !(await hasField(resourceType, field, caller))) {
      return { rows: [], more: false }
    }
    if (answer.status >= 400) throw refusal(answer)
    return {
      rows: rowsOf(resourcesIn(answer.document), collection),
      more: answer.document.links?.next !== undefined
    }
  }

  async function hasField(resourceType: string, field: string, caller: Caller): Promise<boolean> {
    return (await resources.shape(resourceType, () => [], caller))?.has(field) ?? false
  }

  function placementOf(resource: Resource, { bundle }: Collection): Placement {
    const { attributes = {} } = resource
    const status = attributeOf(attributes, published, model)
    return {
      id: String(rowId(resource, idAttribute)),
      uuid: resource.id,
      bundle,
      label: scalarText(attributeOf(attributes, label, model)),
      published: typeof status === 'boolean' ? status : null
    }
  }
}
