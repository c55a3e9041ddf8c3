import { LRUCache } from 'lru-cache'
import { Failure } from '../errors.ts'
import type { Jsonapi, JsonapiAnswer } from '../jsonapi/client.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import { oneResource, resources, type Document, type NewResource, type Resource } from '../jsonapi/document.ts'
import type { Catalog, Collection } from './catalog.ts'
import { notIncludable, refusal, unknownProperties } from './failures.ts'
import { internalName, publicName, type ContentModel } from './model.ts'
import type { Filters } from './filters.ts'
import { idQuery, pageQuery, PAGE_MAX } from './query.ts'
import { findById } from './scan.ts'
import { createShapes, type Shape } from './shapes.ts'
import { createTargetMemory, referencesIn, untoldIn, type Told } from './targets.ts'
import { covers, includeOf, urlsOf, USER, type Include } from './urls.ts'
import type { Page } from './listing.ts'
import type { UrlOf } from './read.ts'
import { dropProperties } from './write.ts'

/**
 * An edition as JSON:API gives it, with the urls of its references. What a caller is given again and again without a change in
 * either is the same objects.
 */
export interface Loaded {
  resource: Resource
  urlOf: UrlOf
}

export interface Resources {
  /**
   * The edition with an integer id or uuid; a `bare` one without the urls of its references, which Drupal answers sooner.
   * @throws {Failure} NOT_FOUND, CMS_UNAUTHORIZED, CMS_FORBIDDEN, and those of the CMS.
   */
  load (id: string, caller: Caller, purpose?: 'edition' | 'bare'): Promise<Loaded>
  /** One page of a collection: its rows, whether there are more, and how many in all where the CMS counts. */
  page (collection: Collection, query: Array<[string, string]>, caller: Caller): Promise<Page<Loaded>>
  /** The same with no more than some attributes of each row. */
  sparsePage (collection: Collection, query: Array<[string, string]>, attributes: string[], caller: Caller): Promise<Page<Loaded>>
  /** What is known of a collection's fields; a document of it is looked at when none was seen before. */
  shape (collection: Collection, caller: Caller): Promise<Shape | undefined>
  /** Writes a new (POST) or changed (PATCH) edition: as it is afterwards, or the CMS's refusal. */
  send (method: 'POST' | 'PATCH', resource: NewResource, caller: Caller): Promise<{ saved: Loaded } | { refused: JsonapiAnswer }>
  /** How long ago the oldest was asked for of what is remembered and shown to this caller, in milliseconds. */
  age (caller: Caller): number
}

export interface ResourcesOptions {
  cms: Jsonapi
  catalog: Catalog
  filters: Filters
  model: ContentModel
  cmsUrl: string
}

/** An answer, with the urls of its references if they are wanted. */
type Answer = JsonapiAnswer & { urlOf?: UrlOf }

type Parameters = Array<[string, string]>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How many ids of editions are remembered with their resource types. */
const REMEMBERED = 50_000

/** How often unknown properties are taken out of a body, those of one field at a time; core REST ignores any number. */
const PROPERTIES_DROPPED = 50

/** Editions as JSON:API resources: found by id, with the documents' shapes learned on the way. */
export function createResources ({ cms, catalog, filters, model, cmsUrl }: ResourcesOptions): Resources {
  const site = new URL(cmsUrl)
  const shapes = createShapes(model)
  const memory = createTargetMemory((targets) => urlsOf(targets, model, site))
  // As a size, since with `max` the room for all of them would be set aside at once.
  const remembered = new LRUCache<string, { type: string, uuid: string }>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })
  const idAttribute = publicName(model, model.keys.id)

  /**
   * A GET that asks for the sources of the urls too, and once more when the answer shows references nobody knew of. Users
   * are included only where nothing is remembered, and nothing is in a page that was asked for before: Drupal keeps no
   * answer that includes them, or what is not published.
   */
  async function get (resourceType: string, path: string, query: Parameters, caller: Caller, purpose: 'edition' | 'page' | 'bare'): Promise<Answer> {
    const page = `${path}?${query.join('&')}`
    const exposed = await catalog.all(caller)
    for (let attempt = 0; ; attempt++) {
      const told = memory.toldTo(caller)
      const include = includeOf(shapes.of(resourceType), model, exposed, (_name, entityType) => purpose !== 'bare' && !told.pages.has(page) && (entityType !== USER || told.targets.size === 0))
      const answer = await cms.request({ path, query: [...query, ...include.query], caller })
      if (isExcluded(answer, resourceType, include)) continue
      if (answer.status === 400 && include.query.length > 0 && attempt === 0) {
        shapes.forget(resourceType)
        continue
      }
      if (purpose !== 'bare' && told.learned.has(answer.document)) return { ...answer, urlOf: told.urlOf }
      const found = learned(answer.document)
      if (purpose === 'bare') return answer
      const covered = found.every((resource) => resource.type === resourceType && covers(include, resource, model))
      if (covered || attempt > 1) {
        memory.learn(told, referencesIn(found, include.included), answer.document, caller, purpose === 'page' ? page : undefined)
        const untold = untoldIn(found, include.relationships, told.targets)
        if (untold.length === 0) told.learned.add(answer.document)
        else await learnRest(told, found[0]!.type, untold, path, query, caller)
        return { ...answer, urlOf: told.urlOf }
      }
      resourceType = found[0]!.type
    }
  }

  /** Whether an answer fails for a relationship that Drupal does not include, which is left out from then on. */
  function isExcluded (answer: JsonapiAnswer, resourceType: string, { included }: Include): boolean {
    const name = notIncludable(answer)
    if (name === undefined || !included.includes(name)) return false
    shapes.exclude(resourceType, internalName(model, name))
    return true
  }

  /** Asks for the targets of some relationships alone. */
  async function learnRest (told: Told, resourceType: string, names: string[], path: string, query: Parameters, caller: Caller): Promise<void> {
    const { query: include, included } = includeOf(shapes.of(resourceType), model, await catalog.all(caller), (name) => names.includes(name))
    const { document } = await cms.request({ path, query: [...query, ...include, [`fields[${resourceType}]`, included.join(',')]], caller })
    memory.learn(told, referencesIn(resourcesOf(document), included), document, caller)
  }

  function learned (document: Document): Resource[] {
    const found = resourcesOf(document)
    found.forEach(shapes.learn)
    return found
  }

  function loaded ({ document, urlOf = withoutUrls }: Answer): Loaded | undefined {
    const resource = oneResource(document) ?? resources(document)[0]
    if (!resource) return undefined
    remember(resource)
    return { resource, urlOf }
  }

  function remember ({ type, id: uuid, attributes }: Resource): void {
    for (const id of [uuid, String(attributes?.[idAttribute])]) remembered.set(id, { type, uuid })
  }

  async function load (given: string, caller: Caller, purpose: 'edition' | 'bare' = 'edition'): Promise<Loaded> {
    const id = given.toLowerCase()
    const collections = await catalog.editions(caller)
    const known = remembered.get(id)
    const collection = known && collections.find(({ resourceType }) => resourceType === known.type)
    if (collection) {
      const found = await findByUuid(collection, known.uuid, caller, purpose)
      // A site that was set back to an earlier state may have given an id to another edition since.
      if (found || known.uuid === id) return found ?? notFound(id)
    }
    if (!UUID.test(id)) return byInteger(collections, id, caller, purpose)
    const found = await byUuid(collections[0]!, id, id, caller, purpose)
    // It may be of a bundle that the content model leaves out.
    return collections.some(({ resourceType }) => resourceType === found.resource.type) ? found : notFound(id)
  }

  /** Drupal does not compare the bundle in the path with the edition's own, so any collection of the entity type serves. */
  async function findByUuid ({ path, resourceType }: Collection, uuid: string, caller: Caller, purpose: 'edition' | 'bare'): Promise<Loaded | undefined> {
    const answer = await get(resourceType, `${path}/${uuid}`, [], caller, purpose)
    if (answer.status === 404) return undefined
    if (answer.status >= 400) throw refusal(answer)
    return loaded(answer)
  }

  async function byUuid (collection: Collection, uuid: string, id: string, caller: Caller, purpose: 'edition' | 'bare' = 'edition'): Promise<Loaded> {
    return await findByUuid(collection, uuid, caller, purpose) ?? notFound(id)
  }

  async function byInteger (collections: Collection[], id: string, caller: Caller, purpose: 'edition' | 'bare'): Promise<Loaded> {
    if (filters.known(model.entityType, caller) === false) return byScan(collections, id, caller, purpose)
    const answers = await Promise.all(collections.map(({ resourceType, path }) => get(resourceType, path, idQuery(idAttribute, [id]), caller, purpose)))
    const refused = answers.find(({ status }) => status >= 400)
    if (refused) throw refusal(refused)
    const found = answers.map(loaded).find((found) => found !== undefined)
    return found ?? (await filters.usable(collections, caller) ? notFound(id) : byScan(collections, id, caller, purpose))
  }

  async function byScan (collections: Collection[], id: string, caller: Caller, purpose: 'edition' | 'bare'): Promise<Loaded> {
    const idOf = ({ resource }: Loaded) => Number(resource.attributes?.[idAttribute])
    const found = await Promise.all(collections.map(async (collection) => {
      const row = await findById(Number(id), (offset) => sparsePage(collection, pageQuery(offset, PAGE_MAX, model), [idAttribute], caller), idOf)
      return row && { collection, uuid: row.resource.id }
    }))
    const one = found.find((row) => row !== undefined)
    return one ? byUuid(one.collection, one.uuid, id, caller, purpose) : notFound(id)
  }

  async function page ({ resourceType, path }: Collection, query: Parameters, caller: Caller): Promise<Page<Loaded>> {
    return pageOf(await get(resourceType, path, query, caller, 'page'))
  }

  async function sparsePage ({ resourceType, path }: Collection, query: Parameters, attributes: string[], caller: Caller): Promise<Page<Loaded>> {
    return pageOf(await cms.request({ path, query: [...query, [`fields[${resourceType}]`, attributes.join(',')]], caller }))
  }

  function pageOf ({ urlOf = withoutUrls, ...answer }: Answer): Page<Loaded> {
    if (answer.status >= 400) throw refusal(answer)
    const { links, meta } = answer.document
    return {
      rows: resources(answer.document).map((resource) => ({ resource, urlOf })),
      more: links?.next !== undefined,
      ...(typeof meta?.count === 'number' && { count: meta.count })
    }
  }

  async function shape (collection: Collection, caller: Caller): Promise<Shape | undefined> {
    if (!shapes.of(collection.resourceType)) await page(collection, pageQuery(0, 1, model), caller)
    return shapes.of(collection.resourceType)
  }

  async function send (method: 'POST' | 'PATCH', resource: NewResource, caller: Caller): Promise<{ saved: Loaded } | { refused: JsonapiAnswer }> {
    const collection = (await catalog.editions(caller)).find(({ resourceType }) => resourceType === resource.type)!
    const path = method === 'POST' ? collection.path : `${collection.path}/${resource.id}`
    const include = includeOf(shapes.of(resource.type), model, await catalog.all(caller))
    return write(0)

    async function write (dropped: number): Promise<{ saved: Loaded } | { refused: JsonapiAnswer }> {
      const answer = await cms.request({ method, path, query: include.query, body: { data: resource }, caller })
      if (answer.status < 400) return { saved: await saved(answer, collection, include, caller) }
      if (isExcluded(answer, resource.type, include)) throw new Failure('CMS_INVALID_RESPONSE', 'The CMS could not answer with what the edition refers to')
      const unknown = unknownProperties(answer)
      if (!unknown || dropped === PROPERTIES_DROPPED || !dropProperties(resource, unknown, model)) return { refused: answer }
      return write(dropped + 1)
    }
  }

  async function saved (answer: JsonapiAnswer, collection: Collection, include: Include, caller: Caller): Promise<Loaded> {
    const [resource] = learned(answer.document)
    if (!resource) throw new Failure('CMS_INVALID_RESPONSE', 'The CMS did not answer with the edition that it was to save')
    const told = memory.toldTo(caller)
    memory.learn(told, referencesIn([resource], include.included), answer.document, caller)
    const saved = loaded({ ...answer, urlOf: told.urlOf })!
    // It is saved: where the CMS cannot be asked for the aliases now, the urls are those without.
    return covers(include, resource, model) ? saved : byUuid(collection, resource.id, resource.id, caller).catch(() => saved)
  }

  return { load, page, sparsePage, shape, send, age: memory.age }
}

function withoutUrls (): undefined {}

function resourcesOf (document: Document): Resource[] {
  return [oneResource(document) ?? resources(document)].flat()
}

function notFound (id: string): never {
  throw new Failure('NOT_FOUND', `There is no edition ${id}`)
}
