import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../jsonapi/client.ts'
import { isSameUuid, oneResource, resources, type Document, type Resource } from '../../jsonapi/document.ts'
import type { Page } from '../list/listing.ts'
import { internalName, publicName, splitType, type ContentModel } from '../model.ts'
import type { Catalog, Collection } from '../site/catalog.ts'
import type { Filters } from '../site/filters.ts'
import { createShapes, type Shape } from '../site/shapes.ts'
import { createTargetMemory, referencesIn, namesWithUnknownTargets, type KnownTargets } from '../site/targets.ts'
import { notIncludable, refusal, unknownProperties } from '../translate/failures.ts'
import { idQuery, pageQuery, referringQuery } from '../translate/query.ts'
import type { UrlOf } from '../translate/read.ts'
import { covers, includeOf, urlsOf, USER, type Include } from '../translate/urls.ts'
import { individualPath, integerId, mismatch, rowsOf } from '../translate/verify.ts'
import { dropProperties } from '../translate/write.ts'
import { createFinder, type Purpose, type Wanted } from './finder.ts'

/**
 * An edition as JSON:API gives it, with the urls of its references. What a caller is given again and again without a change in
 * either is the same objects.
 */
export interface LoadedEdition {
  resource: Resource
  urlOf: UrlOf
}

export interface Resources {
  /**
   * The edition with an integer id or uuid; a `bare` one without the urls of its references, which Drupal answers sooner.
   * @throws {Failure} NOT_FOUND, CMS_UNAUTHORIZED, CMS_FORBIDDEN, and those of the CMS.
   */
  load (id: string, caller: Caller, purpose?: Purpose): Promise<LoadedEdition>
  /** One page of a collection: its rows, whether there are more, and how many in all where the CMS counts. */
  page (collection: Collection, query: Array<[string, string]>, caller: Caller): Promise<Page<LoadedEdition>>
  /** The same with no more than some attributes of each row. */
  sparsePage (collection: Collection, query: Array<[string, string]>, attributes: string[], caller: Caller): Promise<Page<LoadedEdition>>
  /**
   * What is known of the fields of a resource type; a document is looked at when none was seen before, and one more for
   * each of the relationships that are still to be told what they refer to.
   */
  shape (resourceType: string, untold: (shape: Shape) => string[], caller: Caller): Promise<Shape | undefined>
  /** Writes a new edition, or changes one that is as given: as it is afterwards, or the CMS's refusal. */
  send (resource: Resource, caller: Caller, current?: Resource): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }>
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

/** How often unknown properties are taken out of a body, those of one field at a time; core REST ignores any number. */
const PROPERTIES_DROPPED = 50

/** Editions as JSON:API resources, with the documents' shapes learned on the way. */
export function createResources ({ cms, catalog, filters, model, cmsUrl }: ResourcesOptions): Resources {
  const site = new URL(cmsUrl)
  const shapes = createShapes(model)
  const memory = createTargetMemory((targets) => urlsOf(targets, model, site))
  const idAttribute = publicName(model, model.keys.id)
  const finder = createFinder({ catalog, filters, model, one, sparsePage })

  /**
   * A GET that asks for the sources of the urls too, and once more when the answer shows references nobody knew of. Users
   * are included only where nothing is remembered, and nothing is in a page that was asked for before: Drupal keeps no
   * answer that includes them, or what is not published.
   */
  async function get (resourceType: string, path: string, query: Parameters, caller: Caller, purpose: Purpose | 'page'): Promise<Answer> {
    const page = `${path}?${query.join('&')}`
    const exposed = await catalog.all(caller)
    for (let attempt = 0; ; attempt++) {
      const told = memory.of(caller)
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
        const untold = namesWithUnknownTargets(found, include.relationships, told.targets)
        if (untold.length === 0) told.learned.add(answer.document)
        else await learnRest(told, found, untold, path, query, caller)
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

  /** Asks for the targets of some relationships of these resources alone. */
  async function learnRest (told: KnownTargets, asked: Resource[], names: string[], path: string, query: Parameters, caller: Caller): Promise<void> {
    const { type: resourceType } = asked[0]!
    const { query: include, included } = includeOf(shapes.of(resourceType), model, await catalog.all(caller), (name) => names.includes(name))
    const { document } = await cms.request({ path, query: [...query, ...include, [`fields[${resourceType}]`, included.join(',')]], caller })
    const found = resourcesOf(document)
    // A page may have moved on by some rows meanwhile, but not by all.
    if (found.length > 0 && !found.some(({ id }) => asked.some((resource) => resource.id === id))) throw mismatch(`${resourceType} ${asked[0]!.id}`, found[0]!)
    memory.learn(told, referencesIn(found, included), document, caller)
  }

  function learned (document: Document): Resource[] {
    const found = resourcesOf(document)
    found.forEach(shapes.learn)
    return found
  }

  /** Who may see but the label of an edition is shown nothing else of it. Source: Drupal\jsonapi\JsonApiResource\LabelOnlyResourceObject. */
  async function one (collection: Collection, wanted: Wanted, caller: Caller, purpose: Purpose): Promise<LoadedEdition | undefined> {
    const [path, query]: [string, Parameters] = 'uuid' in wanted ? [individualPath(collection, wanted.uuid), []] : [collection.path, idQuery(idAttribute, [wanted.id])]
    const answer = await get(collection.resourceType, path, query, caller, purpose)
    if (answer.status === 404) return undefined
    if (answer.status >= 400) throw refusal(answer)
    const found = resourcesOf(answer.document)
    for (const resource of found) if (!isWanted(resource, wanted)) throw mismatch(`edition ${'uuid' in wanted ? wanted.uuid : wanted.id}`, resource)
    const [resource] = found
    if (resource && resource.attributes?.[idAttribute] === undefined) throw new Failure('CMS_FORBIDDEN', 'You may see the label of this edition at most')
    return resource && loaded(resource, answer.urlOf)
  }

  /** Whether a resource is the edition asked for, or its label, which has no integer id. */
  function isWanted (resource: Resource, wanted: Wanted): boolean {
    const id = integerId(resource, idAttribute)
    const isLabel = resource.attributes?.[idAttribute] === undefined
    return isEdition(resource) && ('uuid' in wanted ? isSameUuid(resource.id, wanted.uuid) && (isLabel || id > 0) : isLabel || id === Number(wanted.id))
  }

  function isEdition ({ type }: Resource): boolean {
    return splitType(model, type).entityType === model.entityType
  }

  function loaded (resource: Resource, urlOf: UrlOf = withoutUrls): LoadedEdition {
    finder.remember(resource)
    return { resource, urlOf }
  }

  async function page (collection: Collection, query: Parameters, caller: Caller): Promise<Page<LoadedEdition>> {
    return pageOf(await get(collection.resourceType, collection.path, query, caller, 'page'), collection)
  }

  async function sparsePage (collection: Collection, query: Parameters, attributes: string[], caller: Caller): Promise<Page<LoadedEdition>> {
    const { path, resourceType } = collection
    return pageOf(await cms.request({ path, query: [...query, [`fields[${resourceType}]`, attributes.join(',')]], caller }), collection)
  }

  function pageOf ({ urlOf = withoutUrls, ...answer }: Answer, collection: Collection): Page<LoadedEdition> {
    if (answer.status >= 400) throw refusal(answer)
    const { links, meta } = answer.document
    return {
      rows: rowsOf(resources(answer.document), collection).map((resource) => ({ resource, urlOf })),
      more: links?.next !== undefined,
      ...(Number.isSafeInteger(meta?.count) && { count: meta!.count as number })
    }
  }

  async function shape (resourceType: string, untold: (shape: Shape) => string[], caller: Caller): Promise<Shape | undefined> {
    const collection = await collectionOf(resourceType, caller)
    if (!shapes.of(resourceType)) await page(collection, pageQuery(0, 1, model), caller)
    const names = untold(shapes.of(resourceType) ?? new Map())
    await Promise.all(names.map(async (name) => {
      const query: Parameters = [...referringQuery(name), ['page[limit]', '1'], [`fields[${resourceType}]`, name]]
      rowsOf(resources((await cms.request({ path: collection.path, query, caller })).document), collection).forEach(shapes.learn)
    }))
    return shapes.of(resourceType)
  }

  async function collectionOf (resourceType: string, caller: Caller): Promise<Collection> {
    return (await catalog.editions(caller)).find((collection) => collection.resourceType === resourceType)!
  }

  async function send (resource: Resource, caller: Caller, current?: Resource): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }> {
    const collection = await collectionOf(resource.type, caller)
    const target = current
      ? { method: 'PATCH', path: individualPath(collection, resource.id), language: languageOf(current) } as const
      : { method: 'POST', path: collection.path } as const
    const include = includeOf(shapes.of(resource.type), model, await catalog.all(caller))
    return write(0)

    async function write (dropped: number): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }> {
      const answer = await cms.request({ ...target, query: include.query, body: { data: resource }, caller })
      if (answer.status < 400) return { saved: await saved(answer, resource, collection, include, caller) }
      if (isExcluded(answer, resource.type, include)) throw new Failure('CMS_INVALID_RESPONSE', 'The CMS could not answer with what the edition refers to')
      const unknown = unknownProperties(answer)
      if (!unknown || dropped === PROPERTIES_DROPPED || !dropProperties(resource, unknown, model)) return { refused: answer }
      return write(dropped + 1)
    }
  }

  async function saved (answer: JsonapiAnswer, sent: Resource, collection: Collection, include: Include, caller: Caller): Promise<LoadedEdition> {
    const [resource] = learned(answer.document)
    if (!resource) throw new Failure('CMS_INVALID_RESPONSE', 'The CMS did not answer with the edition that it was to save')
    if (!isEdition(resource) || !isSameUuid(resource.id, sent.id)) throw mismatch(`edition ${sent.id}`, resource)
    const told = memory.of(caller)
    memory.learn(told, referencesIn([resource], include.included), answer.document, caller)
    const saved = loaded(resource, told.urlOf)
    if (covers(include, resource, model)) return saved
    // It is saved: where the CMS cannot be asked for the aliases now, or tells of it no more, the urls are those without.
    return finder.findByUuid(collection, resource.id, caller, 'edition').then((found) => found ?? saved, () => saved)
  }

  return { load: finder.load, page, sparsePage, shape, send, age: memory.age }
}

/**
 * The language that Drupal shows an edition in. Where it goes by Accept-Language, it refuses to change an edition in the
 * caller's that the edition does not have. Source: Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
function languageOf ({ attributes }: Resource): string | undefined {
  const langcode = attributes!['langcode']
  return typeof langcode === 'string' && /^[\w-]+$/.test(langcode) ? langcode : undefined
}

function withoutUrls (): undefined {}

function resourcesOf (document: Document): Resource[] {
  return [oneResource(document) ?? resources(document)].flat()
}
