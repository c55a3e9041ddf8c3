import { ContentModel, type List } from '../model.ts'
import { createPlans } from '../translate/plans.ts'
import { createFilters } from './filters.ts'
import { entityKeys } from './keys.ts'
import { createRowMemory } from './row-memory.ts'
import { createShapes } from './shapes.ts'
import { createEditionIds, type Site } from './site.ts'
import { createTimeFields } from './times.ts'

/**
 * Drupal core's fields of times. The content model's own list may name those of editions instead.
 */
const CORE_TIMES: readonly string[] = ContentModel.properties.timestampFields.default

/** The config entity types of bundles that are not called after their entity type. */
const BUNDLE_TYPES: Readonly<Record<string, string>> = { taxonomy_term: 'taxonomy_vocabulary' }

/** The content model of a list: what Quoin would know of its entities if they were the editions. */
export function listModel(list: List, model: ContentModel): ContentModel {
  const {
    entityType,
    bundles,
    bundleEntityType = BUNDLE_TYPES[entityType] ?? `${entityType}_type`,
    keys
  } = list
  const { bundles: _bundles, editionTypes: _editionTypes, ...rest } = model
  return {
    ...rest,
    entityType,
    bundleEntityType,
    keys: { ...entityKeys(entityType, model), ...keys },
    fields: { key: null, editionType: null, articles: [] },
    timestampFields: [...new Set([...CORE_TIMES, ...model.timestampFields])],
    lists: {},
    ...(bundles && { bundles: Object.fromEntries(bundles.map((bundle) => [bundle, bundle])) })
  }
}

/**
 * Where entities of a type tell whether they are published: as the content model names the key,
 * else as Drupal core does. Null where the content model says that they have no such key.
 */
export type PublishedKeyOf = (entityType: string) => string | null

export function publishedKeys(model: ContentModel): PublishedKeyOf {
  const { published } = model.keys
  const keys = new Map<string, string | null>([[model.entityType, published]])
  for (const list of Object.values(model.lists)) {
    keys.set(list.entityType, listModel(list, model).keys.published)
  }
  return (entityType) => {
    const key = keys.get(entityType)
    return key === undefined ? entityKeys(entityType, model).published : key
  }
}

/**
 * A list of a site, as if its entities were the site's editions. It shares what the site knows of
 * collections, filters and targets.
 */
export function listSite(site: Site, name: string, list: List): Site {
  const model = listModel(list, site.model)
  const planFor = createPlans(model)
  return {
    ...site,
    model,
    noun: name,
    catalog: {
      ...site.catalog,
      async editions(caller) {
        const { bundles } = model
        return (await site.catalog.all(caller)).filter(
          ({ entityType, bundle }) =>
            entityType === model.entityType && (!bundles || Object.hasOwn(bundles, bundle))
        )
      }
    },
    filters: createFilters({ cms: site.cms, catalog: site.catalog, model, warn: site.warn }),
    planFor,
    shapes: createShapes(model, planFor),
    times: createTimeFields({ cms: site.cms, catalog: site.catalog, model, warn: site.warn }),
    ids: createEditionIds(model),
    rows: createRowMemory()
  }
}
