import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import { Failure } from '../../errors.ts'
import { newCaller, type Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../drupal/client.ts'
import { fingerprint, readKey } from '../../drupal/credentials.ts'
import { isObject, resources, scalarText, userIn, type Document } from '../../drupal/document.ts'
import { DEFAULT_EDITION_TYPE, publicName, splitType, type ContentModel } from '../model.ts'
import { refusal } from '../translate/failures.ts'
import { pageQuery, PAGE_MAX } from '../translate/query.ts'
import { mismatch, rowsOf } from '../translate/verify.ts'
import { systemTime, type Time } from '../../time.ts'

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
  all(caller: Caller): Promise<Collection[]>
  /**
   * The collections of editions, one per bundle, in the order of the content model or else of the
   * CMS.
   * @throws {Failure} CMS_INVALID_RESPONSE when there is none.
   */
  editions(caller: Caller): Promise<Collection[]>
  /** The bundles of editions with their labels, as far as the caller may see them. */
  bundles(caller: Caller): Promise<Named[]>
  /**
   * The edition types: the allowed values of the list field, or the bundles where the model names
   * no such field.
   */
  editionTypes(caller: Caller): Promise<Named[]>
  /**
   * Whom the CMS takes the caller for: a user's uuid, null for nobody, undefined where it does not
   * say.
   */
  me(caller: Caller): Promise<string | null | undefined>
  /**
   * How long ago Quoin asked for the oldest answer that it still uses for this caller, in
   * milliseconds.
   */
  age(caller: Caller): number
}

/** What the entry point of JSON:API lists. */
interface EntryPoint {
  collections: Collection[]
  /** Those of them that hold editions. */
  editions: Collection[]
}

/** What the entry point says to one caller. */
interface Welcome {
  at: number
  entryPoint: EntryPoint
  me: string | null | undefined
}

/** How long Quoin relies on an answer of the CMS, in milliseconds. */
const REMEMBERED_MS = 60_000

/** How long collections serve while Quoin asks for them anew, so that no save waits for that. */
const RENEWED_MS = 120_000

/**
 * How much of collections and edition types Quoin remembers for callers. A caller counts as one,
 * and so does each collection or edition type, unless another caller has the same collections.
 */
const REMEMBERED = 100_000

/** So many characters of an edition type count as one more. */
const CHARACTERS = 256

/** Labels where neither the content model nor the CMS has any. */
const LABELS: Record<string, string> = { daily: 'Daily Editions', special: 'Special Editions' }

export interface CatalogContext {
  cms: Jsonapi
  model: ContentModel
  time: Time
  /** The edition types that each caller was shown, and when they were asked for. */
  types: LRUCache<string, { at: number; types: Named[] }>
  /** What the entry point said to each caller. */
  entryPoints: LRUCache<string, Welcome>
  /** The callers for whom Quoin asks for them anew. */
  renewals: Set<string>
  /** The last entry point that differed from the one before. */
  latest: EntryPoint
}

/**
 * Finds out what collections, bundles and edition types a site has: by the content model, else by
 * the CMS, else by the defaults of the module `publisher`. Quoin remembers the CMS's answers for
 * each caller apart. With a service account all are one.
 */
export function createCatalog({
  cms,
  model,
  time = systemTime
}: {
  cms: Jsonapi
  model: ContentModel
  time?: Time
}): Catalog {
  const context: CatalogContext = {
    cms,
    model,
    time,
    types: new LRUCache({
      maxSize: REMEMBERED,
      sizeCalculation: ({ types }) => weightOf(types)
    }),
    entryPoints: new LRUCache({ maxSize: REMEMBERED }),
    renewals: new Set(),
    latest: { collections: [], editions: [] }
  }
  return {
    all: (caller) => allCollections(context, caller),
    editions: (caller) => editionCollections(context, caller),
    bundles: (caller) => editionBundles(context, caller),
    editionTypes: (caller) => knownEditionTypes(context, caller),
    me: async (caller) => (await welcome(context, caller)).me,
    age: (caller) => catalogAge(context, caller)
  }
}

export async function allCollections(
  context: CatalogContext,
  caller: Caller
): Promise<Collection[]> {
  return (await entryPointFor(context, caller)).collections
}

export async function editionCollections(
  context: CatalogContext,
  caller: Caller
): Promise<Collection[]> {
  const { model } = context
  const { editions } = await entryPointFor(context, caller)
  if (editions.length > 0) return editions
  const bundles = model.bundles ? Object.keys(model.bundles).join('|') : '*'
  throw new Failure(
    'CMS_INVALID_RESPONSE',
    `The CMS exposes no resource type ${model.entityType}--${bundles} through JSON:API`
  )
}

export async function editionBundles(context: CatalogContext, caller: Caller): Promise<Named[]> {
  const collections = await editionCollections(context, caller)
  const labels = context.model.bundles ?? { ...LABELS, ...(await bundleLabels(context, caller)) }
  return collections.map(({ bundle }) => withLabel(bundle, labels))
}

export async function knownEditionTypes(context: CatalogContext, caller: Caller): Promise<Named[]> {
  const { model, time, types } = context
  if (model.editionTypes) return labelledIds(model.editionTypes)
  if (model.fields.editionType === null) return editionBundles(context, caller)
  const key = readKey('', caller)
  const last = types.get(key)
  if (last && time.monotonic() - last.at < REMEMBERED_MS) return last.types
  const at = time.monotonic()
  const answer = await readTypes(context, model.fields.editionType, caller)
  types.set(key, { at, types: answer })
  return answer
}

export function catalogAge(context: CatalogContext, caller: Caller): number {
  const { time, entryPoints, types } = context
  const now = time.monotonic()
  const ages: Array<[at: number | undefined, longest: number]> = [
    [entryPoints.get(fingerprint(caller))?.at, RENEWED_MS],
    [types.get(readKey('', caller))?.at, REMEMBERED_MS]
  ]
  return Math.max(
    0,
    ...ages.flatMap(([at, longest]) => (at !== undefined && now - at < longest ? [now - at] : []))
  )
}

/** The collections that a caller is shown: those of before while Quoin asks for them anew. */
async function entryPointFor(context: CatalogContext, caller: Caller): Promise<EntryPoint> {
  const last = context.entryPoints.get(fingerprint(caller))
  const age = last ? context.time.monotonic() - last.at : Infinity
  if (age >= RENEWED_MS) return (await welcome(context, caller)).entryPoint
  if (age >= REMEMBERED_MS) renew(context, caller)
  return last!.entryPoint
}

/** Asks for the collections anew, beside the call that is under way. A failure leaves the old ones. */
function renew(context: CatalogContext, caller: Caller): void {
  const { renewals } = context
  const key = fingerprint(caller)
  if (renewals.has(key)) return
  renewals.add(key)
  welcome(context, newCaller(caller.headers))
    .catch(() => {})
    .finally(() => renewals.delete(key))
}

async function welcome(context: CatalogContext, caller: Caller): Promise<Welcome> {
  const { time, entryPoints } = context
  const key = fingerprint(caller)
  const last = entryPoints.get(key)
  if (last && time.monotonic() - last.at < REMEMBERED_MS) return last
  const at = time.monotonic()
  const document = await readEntryPoint(context, caller)
  const collections = collectionsIn(document, context.model)
  // It is nearly always the same for all callers: then it is in memory only once.
  const isShared = isDeepStrictEqual(collections, context.latest.collections)
  if (!isShared) {
    context.latest = { collections, editions: editionsAmong(collections, context.model) }
  }
  const fresh = { at, entryPoint: context.latest, me: meIn(document, collections) }
  entryPoints.set(key, fresh, { size: isShared ? 1 : 1 + collections.length })
  return fresh
}

async function readEntryPoint({ cms }: CatalogContext, caller: Caller): Promise<Document> {
  const answer = await cms.request({ path: '', caller })
  if (answer.status >= 400) throw refusal(answer)
  return answer.document
}

function collectionsIn({ links: allLinks = {} }: Document, model: ContentModel): Collection[] {
  const { self, ...links } = allLinks
  const prefix = pathname(self).replace(/\/$/, '')
  return Object.entries(links).flatMap(([resourceType, link]) => {
    const path = pathname(link)
    return path.startsWith(`${prefix}/`) && path.length <= LONGEST_PATH
      ? [{ resourceType, ...splitType(model, resourceType), path: path.slice(prefix.length) }]
      : []
  })
}

function editionsAmong(collections: Collection[], model: ContentModel): Collection[] {
  const exposed = collections.filter(({ entityType }) => entityType === model.entityType)
  if (!model.bundles) return exposed
  return Object.keys(model.bundles).flatMap((bundle) =>
    exposed.filter((collection) => collection.bundle === bundle)
  )
}

/** Drupal shows them only to users who may administer the bundle type. Others get an empty list. */
async function bundleLabels(
  context: CatalogContext,
  caller: Caller
): Promise<Record<string, string>> {
  const { bundleEntityType } = context.model
  if (bundleEntityType === null) return {}
  const rows = await readConfig(context, bundleEntityType, caller)
  return Object.fromEntries(rows.map(bundleLabel))
}

/**
 * The allowed values of the list field. Where the caller may not see them, or a function makes them
 * (allowed_values_function): the module's own values, and those of the newest editions.
 */
async function readTypes(context: CatalogContext, field: string, caller: Caller): Promise<Named[]> {
  const id = `${context.model.entityType}.${field}`
  const [storage] = await readConfig(context, 'field_storage_config', caller, id)
  const settings = isObject(storage?.settings) ? storage.settings : {}
  const allowedTypes = labelledIds(allowedValues(settings.allowed_values))
  if (allowedTypes.length > 0) return allowedTypes
  const own = field === DEFAULT_EDITION_TYPE ? Object.keys(LABELS) : []
  const used = await readUsedTypes(context, field, caller)
  return [...new Set([...own, ...used])].map((id) => withLabel(id, LABELS))
}

/** The edition types of the newest editions. */
async function readUsedTypes(
  context: CatalogContext,
  field: string,
  caller: Caller
): Promise<string[]> {
  const { cms, model } = context
  const name = publicName(model, field)
  const pages = await Promise.all(
    (await editionCollections(context, caller)).map(async (collection) => {
      const { path, resourceType } = collection
      const { document } = await cms.request({
        path,
        query: [...pageQuery(0, PAGE_MAX, model), [`fields[${resourceType}]`, name]],
        caller
      })
      return rowsOf(resources(document), collection)
    })
  )
  return pages
    .flat()
    .map(({ attributes }) => attributes?.[name])
    .filter((type) => typeof type === 'string')
}

/**
 * The attributes of config entities; none where the caller may not see them, or the site does not
 * expose them.
 */
async function readConfig(
  context: CatalogContext,
  entityType: string,
  caller: Caller,
  id?: string
): Promise<Array<Record<string, unknown>>> {
  const all = await allCollections(context, caller)
  const collection = all.find((collection) => collection.entityType === entityType)
  if (!collection) return []
  const { status, document } = await context.cms.request({
    path: collection.path,
    query: id === undefined ? [] : [['filter[drupal_internal__id]', id]],
    caller
  })
  const rows = status < 400 ? rowsOf(resources(document), collection) : []
  const other = rows.find(
    ({ attributes }) => id !== undefined && (attributes?.drupal_internal__id ?? id) !== id
  )
  if (other) throw mismatch(`${entityType} ${id}`, other)
  return rows.map(({ attributes = {} }) => attributes)
}

/**
 * Drupal names the user to everybody but anonymous ones; where a site hides users, some versions do
 * not.
 * Source: Drupal\jsonapi\Controller\EntryPoint::index().
 */
function meIn(document: Document, collections: Collection[]): string | null | undefined {
  const user = userIn(document)
  if (user) return typeof user.id === 'string' ? user.id : undefined
  return collections.some(({ entityType }) => entityType === 'user') ? null : undefined
}

/**
 * The id and label of a bundle, whatever the names of its keys. Without a label the id takes its
 * place. Source: Drupal\jsonapi\ResourceType\ResourceTypeRepository::getFields().
 */
export function bundleLabel(attributes: Record<string, unknown>): [id: string, label: string] {
  const id = scalarText(
    Object.entries(attributes).find(([name]) => name.startsWith('drupal_internal__'))?.[1]
  )
  const others = Object.keys(attributes).filter(
    (name) =>
      name !== 'langcode' &&
      !name.startsWith('drupal_internal__') &&
      typeof attributes[name] === 'string'
  )
  const label = [...BUNDLE_LABELS, ...others]
    .map((name) => scalarText(attributes[name]))
    .find((text) => text !== '')
  return [id, label ?? id]
}

/** What most modules call the label of a bundle. With another name it is the first text. */
const BUNDLE_LABELS = ['label', 'name', 'title']

/**
 * Uses the id where there is no label. Every object has members such as `constructor`, hence
 * hasOwn.
 */
function withLabel(id: string, labels: Record<string, string>): Named {
  return { id, label: Object.hasOwn(labels, id) ? labels[id]! : id }
}

function labelledIds(labels: Record<string, string>): Named[] {
  return Object.entries(labels).map(([id, label]) => ({ id, label }))
}

/**
 * Allowed values as Drupal stores them: an object of labels by value, a list where the values are
 * 0, 1, ..., or a list of pairs.
 */
export function allowedValues(values: unknown): Record<string, string> {
  if (!isObject(values) && !Array.isArray(values)) return {}
  return Object.fromEntries(
    Object.entries(values).map(([value, label]) =>
      isObject(label)
        ? [scalarText(label.value), scalarText(label.label)]
        : [value, scalarText(label)]
    )
  )
}

/** What edition types count among those that Quoin remembers. */
function weightOf(types: Named[]): number {
  return types.reduce(
    (sum, { id, label }) => sum + 1 + Math.trunc((id.length + label.length) / CHARACTERS),
    1
  )
}

/** Of a collection, in characters. Drupal's have two machine names, of 65 characters together. */
const LONGEST_PATH = 1024

function pathname(link: unknown): string {
  const href = isObject(link) ? link.href : link
  return URL.parse(scalarText(href), 'http://cms')?.pathname ?? ''
}

/** The path of one entity of a collection. */
export function individualPath({ path }: Pick<Collection, 'path'>, uuid: string): string {
  return `${path}/${encodeURIComponent(uuid.toWellFormed())}`
}
