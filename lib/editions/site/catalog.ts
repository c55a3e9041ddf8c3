import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../jsonapi/client.ts'
import { fingerprint, readKey } from '../../jsonapi/credentials.ts'
import { isObject, resources, scalarText } from '../../jsonapi/document.ts'
import { DEFAULT_EDITION_TYPE, publicName, splitType, type ContentModel } from '../model.ts'
import { refusal } from '../translate/failures.ts'
import { pageQuery, PAGE_MAX } from '../translate/query.ts'
import { mismatch, rowsOf } from '../translate/verify.ts'

/** A JSON:API collection: one bundle of one entity type. */
export interface Collection {
  resourceType: string
  entityType: string
  bundle: string
  /** Below the JSON:API prefix, such as `/node/article`. */
  path: string
}

/** A machine name and what people call it. */
export interface Named {
  id: string
  label: string
}

export interface Catalog {
  /** Every collection of the CMS. */
  all (caller: Caller): Promise<Collection[]>
  /**
   * The collections of editions, one per bundle, in the order of the content model or else of the CMS.
   * @throws {Failure} CMS_INVALID_RESPONSE when there is none.
   */
  editions (caller: Caller): Promise<Collection[]>
  /** The bundles of editions with their labels, as far as the caller may see them. */
  bundles (caller: Caller): Promise<Named[]>
  /** The edition types: the allowed values of the list field, or the bundles where no field tells the type. */
  editionTypes (caller: Caller): Promise<Named[]>
  /** How long ago the oldest was asked for of what is remembered and used for this caller, in milliseconds. */
  age (caller: Caller): number
}

/** How long the CMS's list of resource types is believed, in milliseconds. */
const REMEMBERED_MS = 60_000

/** For how many callers the resource types are remembered, and for how many and their languages the edition types. */
const CALLERS = 1000

/** Labels where neither the content model nor the CMS gives any. */
const LABELS: Record<string, string> = { daily: 'Daily Editions', special: 'Special Editions' }

/**
 * Finds out what the CMS has: content model first, then the CMS, then the defaults of the module `publisher`. What the
 * CMS tells one caller is remembered for this one alone; with a service account all are one.
 */
export function createCatalog ({ cms, model, now = Date.now }: { cms: Jsonapi, model: ContentModel, now?: () => number }): Catalog {
  const types = new LRUCache<string, { at: number, types: Named[] }>({ max: CALLERS })
  const entryPoints = new LRUCache<string, { at: number, collections: Collection[] }>({ max: CALLERS })
  let latest: Collection[] = []

  async function all (caller: Caller): Promise<Collection[]> {
    const key = fingerprint(caller)
    const known = entryPoints.get(key)
    if (known && now() - known.at < REMEMBERED_MS) return known.collections
    const at = now()
    const collections = await entryPoint(caller)
    // Nearly always all callers are told the same, which then is in memory once.
    if (!isDeepStrictEqual(collections, latest)) latest = collections
    entryPoints.set(key, { at, collections: latest })
    return latest
  }

  async function entryPoint (caller: Caller): Promise<Collection[]> {
    const answer = await cms.request({ path: '', caller })
    if (answer.status >= 400) throw refusal(answer)
    const { self, ...links } = answer.document.links ?? {}
    const prefix = pathname(self).replace(/\/$/, '')
    return Object.entries(links).flatMap(([resourceType, link]) => {
      const path = pathname(link)
      return path.startsWith(`${prefix}/`) ? [{ resourceType, ...splitType(model, resourceType), path: path.slice(prefix.length) }] : []
    })
  }

  async function editions (caller: Caller): Promise<Collection[]> {
    const exposed = (await all(caller)).filter(({ entityType }) => entityType === model.entityType)
    const wanted = model.bundles && Object.keys(model.bundles)
    const found = wanted ? wanted.flatMap((bundle) => exposed.filter((collection) => collection.bundle === bundle)) : exposed
    if (found.length === 0) {
      throw new Failure('CMS_INVALID_RESPONSE', `The CMS exposes no resource type ${model.entityType}--${wanted ? wanted.join('|') : '*'} through JSON:API`)
    }
    return found
  }

  async function bundles (caller: Caller): Promise<Named[]> {
    const found = await editions(caller)
    const labels = model.bundles ?? { ...LABELS, ...await bundleLabels(caller) }
    return found.map(({ bundle }) => withLabel(bundle, labels))
  }

  /** Readable only with the bundle type's administration permission; others get an empty list. */
  async function bundleLabels (caller: Caller): Promise<Record<string, string>> {
    const rows = await config(model.bundleEntityType, caller)
    return Object.fromEntries(rows.map(({ drupal_internal__id: id, label }) => [scalarText(id), scalarText(label)]))
  }

  async function editionTypes (caller: Caller): Promise<Named[]> {
    if (model.editionTypes) return named(model.editionTypes)
    if (model.fields.editionType === null) return bundles(caller)
    const key = readKey('', caller)
    const known = types.get(key)
    if (known && now() - known.at < REMEMBERED_MS) return known.types
    const at = now()
    const found = await askedTypes(model.fields.editionType, caller)
    types.set(key, { at, types: found })
    return found
  }

  /** The allowed values where the caller may see them, and they are no function's (allowed_values_function), else the module's own and those that the newest editions have. */
  async function askedTypes (field: string, caller: Caller): Promise<Named[]> {
    const [storage] = await config('field_storage_config', caller, `${model.entityType}.${field}`)
    const allowed = named(allowedValues(isObject(storage?.settings) ? storage.settings.allowed_values : undefined))
    if (allowed.length > 0) return allowed
    const name = publicName(model, field)
    const pages = await Promise.all((await editions(caller)).map(async (collection) => {
      const { path, resourceType } = collection
      const { document } = await cms.request({ path, query: [...pageQuery(0, PAGE_MAX, model), [`fields[${resourceType}]`, name]], caller })
      return rowsOf(resources(document), collection)
    }))
    const seen = pages.flat().map(({ attributes }) => attributes?.[name]).filter((type) => typeof type === 'string')
    const own = field === DEFAULT_EDITION_TYPE ? Object.keys(LABELS) : []
    return [...new Set([...own, ...seen])].map((id) => withLabel(id, LABELS))
  }

  /** The attributes of config entities, none where the caller may not see them or the site does not expose them. */
  async function config (entityType: string, caller: Caller, id?: string): Promise<Array<Record<string, unknown>>> {
    const collection = (await all(caller)).find((collection) => collection.entityType === entityType)
    if (!collection) return []
    const { status, document } = await cms.request({ path: collection.path, query: id === undefined ? [] : [['filter[drupal_internal__id]', id]], caller })
    const rows = status < 400 ? rowsOf(resources(document), collection) : []
    const other = rows.find(({ attributes }) => id !== undefined && (attributes?.drupal_internal__id ?? id) !== id)
    if (other) throw mismatch(`${entityType} ${id}`, other)
    return rows.map(({ attributes = {} }) => attributes)
  }

  function age (caller: Caller): number {
    const times = [entryPoints.get(fingerprint(caller))?.at, types.get(readKey('', caller))?.at].filter((at) => at !== undefined && now() - at < REMEMBERED_MS)
    return now() - Math.min(now(), ...times as number[])
  }

  return { all, editions, bundles, editionTypes, age }
}

/** With its own id as the label where there is none; an id may be a name that every object has a member of. */
function withLabel (id: string, labels: Record<string, string>): Named {
  return { id, label: Object.hasOwn(labels, id) ? labels[id]! : id }
}

function named (labels: Record<string, string>): Named[] {
  return Object.entries(labels).map(([id, label]) => ({ id, label }))
}

/** Allowed values as Drupal stores them: an object of labels by value, a list where the values are 0, 1, ..., or a list of pairs. */
function allowedValues (values: unknown): Record<string, string> {
  if (!isObject(values) && !Array.isArray(values)) return {}
  return Object.fromEntries(Object.entries(values).map(([value, label]) => isObject(label)
    ? [scalarText(label.value), scalarText(label.label)]
    : [value, scalarText(label)]))
}

function pathname (link: unknown): string {
  const href = isObject(link) ? link.href : link
  return URL.parse(scalarText(href), 'http://cms')?.pathname ?? ''
}

/** The path of one entity of a collection. */
export function individualPath ({ path }: Pick<Collection, 'path'>, uuid: string): string {
  return `${path}/${encodeURIComponent(uuid.toWellFormed())}`
}
