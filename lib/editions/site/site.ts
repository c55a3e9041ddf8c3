import type { Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../jsonapi/client.ts'
import { splitType, type ContentModel } from '../model.ts'
import { createPlans, type Plans } from '../translate/plans.ts'
import { urlsOf } from '../translate/urls.ts'
import { createCatalog, type Catalog } from './catalog.ts'
import { createFilters, type Filters } from './filters.ts'
import { createEditionIds, type EditionIds } from './ids.ts'
import { createShapes, type Shapes } from './shapes.ts'
import { createTargetMemory, type TargetMemory } from './targets.ts'

/** A Drupal site: its content model, the way to it, and all that Quoin has learned of it so far. */
export interface Site {
  cms: Jsonapi
  model: ContentModel
  /** What one of its entities is called in messages. */
  noun: string
  /** Its collections, bundles and edition types. */
  catalog: Catalog
  /** Whether it lets a caller filter. */
  filters: Filters
  /** The fields of its resource types. */
  shapes: Shapes
  /** How to read its resources. */
  planFor: Plans
  /** The targets of references, for their urls. */
  targets: TargetMemory
  /** The ids of its editions. */
  ids: EditionIds
  /** Tells its operator something. */
  warn: (message: string) => void
  /** How long ago Quoin asked for the oldest of what it remembers for this caller, in milliseconds. */
  age (caller: Caller): number
}

export interface SiteOptions {
  cms: Jsonapi
  model: ContentModel
  /** Origin of the CMS, with a path if Drupal lives under one: the url of a file starts with it. */
  cmsUrl: string
  /** Tells the site's operator something. */
  warn: (message: string) => void
}

/** A site of which nothing is known yet. Nothing of it is asked before somebody wants to know. */
export function createSite ({ cms, model, cmsUrl, warn }: SiteOptions): Site {
  const address = new URL(cmsUrl)
  const catalog = createCatalog({ cms, model })
  const planFor = createPlans(model)
  const targets = createTargetMemory({
    urlsOf: (known) => urlsOf(known, model, address),
    // Editions refer to editions too. Of modules' entity types nobody tells the key; nearly all call it so.
    langcodeOf: (resourceType) => splitType(model, resourceType).entityType === model.entityType ? String(model.keys.langcode) : 'langcode'
  })
  return {
    cms,
    model,
    noun: 'edition',
    catalog,
    filters: createFilters({ cms, warn }),
    shapes: createShapes(model, planFor),
    planFor,
    targets,
    ids: createEditionIds(model),
    warn,
    age: (caller) => Math.max(catalog.age(caller), targets.age(caller))
  }
}
