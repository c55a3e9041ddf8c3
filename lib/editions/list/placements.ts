import { Failure, texts } from '../../errors.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import { identifiers, resources as resourcesIn, scalarText, type Resource } from '../../jsonapi/document.ts'
import type { Resources } from '../lookup/resources.ts'
import { attributeOf, publicName, publicNames, splitType } from '../model.ts'
import type { Placement } from '../schemas.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { refusal } from '../translate/failures.ts'
import { pageQuery, PAGE_MAX, referringToQuery, type Parameters } from '../translate/query.ts'
import { rowId, rowsOf } from '../translate/verify.ts'

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
 * takes one page for each bundle and 50 editions that it finds. Else the newest editions are read.
 * @throws {Failure} PLACED_UNKNOWN where there are more editions than `PLACED_PAGES` pages of a bundle
 */
export function createPlacements ({ cms, catalog, filters, model }: Site, resources: Resources) {
  const { id, revision, label, published } = model.keys
  const idAttribute = publicName(model, id)

  /** @returns the editions that hold each row and that the caller may see, the newest first, by the uuid of the row */
  return async function placed (rows: Placeable[], caller: Caller): Promise<Record<string, Placement[]>> {
    const placements = new Map(rows.map(({ uuid }) => [uuid, new Map<string, Placement>()]))
    if (rows.length > 0) {
      const collections = await catalog.editions(caller)
      const isFilterable = await filters.usable(collections, caller)
      const holders = collections.flatMap((collection) => model.fields.articles.map((field) => ({ collection, field })))
      callOf(caller)?.allow(holders.length * PLACED_PAGES)
      await Promise.all(holders.map((holder) => look(holder, rows, placements, isFilterable, caller)))
    }
    return Object.fromEntries([...placements].map(([uuid, placements]) => [uuid, [...placements.values()].sort((a, b) => Number(b.id) - Number(a.id))]))
  }

  async function look (holder: ReferenceField, rows: Placeable[], placements: Map<string, Map<string, Placement>>, isFilterable: boolean, caller: Caller): Promise<void> {
    const name = publicName(model, holder.field)
    const types = new Map(rows.map(({ uuid, entityType }) => [uuid, entityType]))
    const filter = isFilterable ? referringToQuery(name, rows.map(({ id }) => id)) : []
    for await (const resource of holding(holder, filter, caller)) {
      for (const { type, id: uuid } of identifiers(resource.relationships?.[name])) {
        if (types.get(uuid) === splitType(model, type).entityType) placements.get(uuid)!.set(resource.id, placementOf(resource, holder.collection))
      }
    }
  }

  /** The editions of a bundle that pass a filter and that the caller may see. */
  async function * holding ({ collection, field }: ReferenceField, filter: Parameters, caller: Caller): AsyncGenerator<Resource, void, undefined> {
    const { path, resourceType } = collection
    const fields = [idAttribute, ...publicNames(model, revision, label, published, field)]
    for (let page = 0; page < PLACED_PAGES; page++) {
      const answer = await cms.request({ path, query: [...filter, ...pageQuery(page * PAGE_MAX, PAGE_MAX, model), [`fields[${resourceType}]`, fields.join(',')]], caller })
      // Not every bundle need have every field.
      if (answer.status === 400 && !await hasField(resourceType, field, caller)) return
      if (answer.status >= 400) throw refusal(answer)
      yield * rowsOf(resourcesIn(answer.document), collection)
      if (answer.document.links?.next === undefined) return
    }
    throw new Failure('PLACED_UNKNOWN', texts.placedUnknown(PLACED_PAGES * PAGE_MAX, filter.length > 0))
  }

  async function hasField (resourceType: string, field: string, caller: Caller): Promise<boolean> {
    return (await resources.shape(resourceType, () => [], caller))?.has(field) ?? false
  }

  function placementOf (resource: Resource, { bundle }: Collection): Placement {
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
