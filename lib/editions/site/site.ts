import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../drupal/client.ts'
import { scalarText, type Resource } from '../../drupal/document.ts'
import { publicName, splitType, type ContentModel } from '../model.ts'
import { createPlans, type Plans } from '../translate/plans.ts'
import { LANGUAGE_KEYS, urlsOf } from '../translate/urls.ts'
import { createCatalog, type Catalog } from './catalog.ts'
import { createFilters, type Filters } from './filters.ts'
import { createRevisions, type Revisions } from './revisions.ts'
import { createRowMemory, type RowMemory } from './row-memory.ts'
import { createShapes, type Shapes } from './shapes.ts'
import { createTargetMemory, type TargetMemory } from './targets.ts'
import { createTimeFields, type TimeFields } from './times.ts'

/** A Drupal site: its content model, the way to it, and all that Quoin has learned of it so far. */
export interface Site {
  cms: Jsonapi
  model: ContentModel
  /** The CMS's, where a page may load its files from. */
  origin: string
  /** What one of its entities is called in messages. */
  noun: string
  /** Its collections, bundles and edition types. */
  catalog: Catalog
  /** What it lets a caller filter. */
  filters: Filters
  /** The fields of its resource types. */
  shapes: Shapes
  /** Which of its fields are time stamps. */
  times: TimeFields
  /** How to read its resources. */
  planFor: Plans
  /** The targets of references, for their urls. */
  targets: TargetMemory
  /** The ids of its editions. */
  ids: EditionIds
  /** The newest revisions of its editions. */
  revisions: Revisions
  /** What scans of its collections have shown. */
  rows: RowMemory
  /** Tells its operator something. */
  warn: (message: string) => void
  /**
   * How long ago Quoin asked for the oldest of what it remembers for this caller, in milliseconds.
   */
  age(caller: Caller): number
}

/** Where the CMS has an edition. */
export interface EditionPlace {
  /** The resource type. */
  type: string
  uuid: string
}

/** The resource types and uuids of the editions that Quoin has met. */
export interface EditionIds {
  /** @param id integer id or uuid, in lower case */
  get(id: string): EditionPlace | undefined
  /** Takes in the ids of a resource. */
  learn(resource: Resource): void
}

export interface SiteOptions {
  cms: Jsonapi
  model: ContentModel
  /** Origin of the CMS, with a path if Drupal lives under one: the url of a file starts with it. */
  cmsUrl: string
  /** Path of JSON:API below it; by default `/jsonapi`. */
  jsonapiPath?: string
  /** Tells the site's operator something. */
  warn: (message: string) => void
}

/** A site of which Quoin knows nothing yet. Quoin asks the site only when it needs an answer. */
export function createSite({ cms, model, cmsUrl, jsonapiPath, warn }: SiteOptions): Site {
  const address = new URL(cmsUrl)
  const catalog = createCatalog({ cms, model })
  const planFor = createPlans(model)
  const ownKeys = {
    langcode: String(model.keys.langcode),
    defaultLangcode: String(model.keys.defaultLangcode)
  }
  const targets = createTargetMemory({
    urlsOf: (known) => urlsOf(known, model, address, jsonapiPath),
    // Editions refer to editions too. For modules' entity types nobody names the key; nearly all
    // call it so.
    languageKeysOf: (resourceType) =>
      splitType(model, resourceType).entityType === model.entityType ? ownKeys : LANGUAGE_KEYS
  })
  return {
    cms,
    model,
    origin: address.origin,
    noun: 'edition',
    catalog,
    filters: createFilters({ cms, catalog, model, warn }),
    shapes: createShapes(model, planFor),
    times: createTimeFields({ cms, catalog, model, warn }),
    planFor,
    targets,
    ids: createEditionIds(model),
    revisions: createRevisions(model),
    rows: createRowMemory(),
    warn,
    age: (caller) => Math.max(catalog.age(caller), targets.age(caller))
  }
}

/** How many ids Quoin remembers, and how long they may be. */
const IDS = 50_000
const LONGEST_ID = 255

export function createEditionIds(model: ContentModel): EditionIds {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const places = new LRUCache<string, EditionPlace>({ maxSize: IDS, sizeCalculation: () => 1 })
  const idAttribute = publicName(model, model.keys.id)

  return {
    get: (id) => places.get(id),
    learn({ type, id: uuid, attributes }) {
      for (const id of [uuid.toLowerCase(), scalarText(attributes?.[idAttribute])]) {
        if (id.length <= LONGEST_ID) places.set(id, { type, uuid })
      }
    }
  }
}
