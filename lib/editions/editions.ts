import { randomUUID } from 'node:crypto'
import { Failure } from '../errors.ts'
import { callOf, type Caller } from '../http/calls.ts'
import type { JsonText } from '../json-text.ts'
import type { Jsonapi } from '../jsonapi/client.ts'
import type { Resource } from '../jsonapi/document.ts'
import { createSearch, type Search } from './list/search.ts'
import { createLabels } from './lookup/labels.ts'
import { createReferences } from './lookup/references.ts'
import { createResources, type LoadedEdition, type Resources } from './lookup/resources.ts'
import { publicName, type ContentModel } from './model.ts'
import { confirmWrite, editionAddress, isUncertain, unlessConflict } from './save/outcome.ts'
import { createSaveQueue } from './save/save-queue.ts'
import { createCatalog, type Collection, type Named } from './site/catalog.ts'
import { createFilters, filterAdvice } from './site/filters.ts'
import { completed, shapeOf, type Shape } from './site/shapes.ts'
import { typeOf } from './translate/edition-type.ts'
import { etagOf, isSame, matches } from './translate/etag.ts'
import { isAbout, isStale, lostReference, refusal } from './translate/failures.ts'
import { read, type EditionJson } from './translate/read.ts'
import { createTexts, type EditionText } from './translate/texts.ts'
import * as write from './translate/write.ts'

export interface EditionPage {
  /** Each as a text of core REST's JSON. */
  editions: Array<JsonText<EditionJson>>
  hasMore: boolean
  /** How many there are in all; null where nobody has counted. */
  total: number | null
}

/** A change that is about to be saved: of which edition, in which fields, by whom if that is known. */
export interface Change {
  edition: EditionJson
  fields: string[]
  uid: string | undefined
}

export interface UpdateOptions {
  /** The If-Match header field. */
  ifMatch?: string | undefined
  /** Who asks, for the guard. */
  uid?: string | undefined
}

/** Editions as the routes see them. All verbs throw the failures of the CMS (lib/jsonapi/client.ts, failures.ts). */
export interface Editions {
  /**
   * Creates an edition. A body with the uuid of an edition that shows what is sent gives that one, so that a create whose
   * outcome is not known can be repeated.
   * @returns `isNew`: whether it was not there before
   * @throws {Failure} UNPROCESSABLE without a bundle, with one that does not exist, or as Drupal validates; CONFLICT where
   *   another edition has the uuid.
   */
  create (body: Record<string, unknown>, caller: Caller): Promise<EditionText & { isNew: boolean }>
  /**
   * Changes the fields given that differ; writes nothing when none does, as core REST.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, STALE_EDIT, UNPROCESSABLE, CMS_FORBIDDEN, EDITION_BUSY; what the guard throws.
   */
  update (id: string, body: Record<string, unknown>, caller: Caller, options?: UpdateOptions): Promise<EditionText>
  /**
   * @param ifMatch the If-Match header field
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED.
   */
  read (id: string, caller: Caller, ifMatch?: string): Promise<EditionText>
  /** An edition without the urls of its references, which Drupal answers sooner. @throws {Failure} NOT_FOUND. */
  bare (id: string, caller: Caller): Promise<EditionJson>
  /** @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type. */
  search (bundle: string, search: Search, caller: Caller): Promise<EditionPage>
  /** What the articles of an edition, and its other references, are called, by uuid, as far as the caller may see them. @throws {Failure} NOT_FOUND. */
  labels (id: string, caller: Caller): Promise<Record<string, string>>
  bundles (caller: Caller): Promise<Named[]>
  types (caller: Caller): Promise<Named[]>
  /** How much older than the request the oldest thing may be that an answer to this caller is made from, in milliseconds. */
  age (caller: Caller): number
  /** Resolves when the CMS answers; with a remark for its operator, if there is something to mend. */
  probe (caller: Caller): Promise<string | undefined>
}

export interface EditionsOptions {
  cms: Jsonapi
  model: ContentModel
  /** Origin of the CMS, with a path if Drupal lives under one: a file's url starts with it. */
  cmsUrl: string
  /** Asked before an update is sent to the CMS; throws where it must not be. */
  guard?: (change: Change) => Promise<void>
  /** Told what an operator should know. */
  warn: (message: string) => void
  /** Told the uuid of each edition that was saved, or may have been. */
  saved?: (uuid: string) => void
  /** Told what the CMS refuses to show a caller: an edition, or without an id more than that. */
  refused?: (caller: Caller, id?: string) => void
}

type Written = Awaited<ReturnType<Resources['send']>>

/** Editions over a Drupal's JSON:API. */
export function createEditions ({ cms, model, cmsUrl, guard, warn, saved = () => {}, refused = () => {} }: EditionsOptions): Editions {
  const catalog = createCatalog({ cms, model })
  const filters = createFilters({ cms, warn })
  const upstream = createResources({ cms, catalog, filters, model, cmsUrl })
  const resources: Resources = { ...upstream, load: (id, caller, purpose) => telling(upstream.load(id, caller, purpose), caller, id) }
  const references = createReferences({ cms, catalog, filters, model })
  const search = createSearch({ cms, catalog, resources, filters, model })
  const labels = createLabels({ cms, catalog, resources: upstream, model })
  const saves = createSaveQueue()
  /** For each update that looks at its edition: which editions were saved meanwhile, so that it may have seen them as they were. */
  const looks = new Set<Set<string>>()
  const changedAttribute = publicName(model, model.keys.changed)
  const { jsonOf, editionOf } = createTexts(model)

  /** Work for a caller; whoever keeps copies is told where the CMS refuses it. That there is no such bundle is no refusal. */
  async function telling<T> (work: Promise<T>, caller: Caller, id?: string): Promise<T> {
    try {
      return await work
    } catch (error) {
      const { code } = error as Failure
      if (code === 'CMS_UNAUTHORIZED' || code === 'CMS_FORBIDDEN' || (code === 'NOT_FOUND' && id !== undefined)) refused(caller, id)
      throw error
    }
  }

  function entityOf ({ resource, urlOf }: LoadedEdition): EditionJson {
    return read(resource, model, urlOf)
  }

  async function create (body: Record<string, unknown>, caller: Caller): Promise<EditionText & { isNew: boolean }> {
    const entity = write.normalize(body, model)
    const collection = collectionFor(entity, await catalog.editions(caller))
    const shape = await resources.shape(collection.resourceType, (shape) => write.withoutTargetType(entity, shape, model), caller)
    // With an id of our own it can be told afterwards whether the edition was saved.
    const given = write.uuidOf(entity, model)
    const id = given ?? randomUUID()
    const present = () => created(id, collection, entity, caller)
    const attempt = (entity: EditionJson) => referring(() => references.resolver(write.unresolved(entity, shape, model), caller), (resolve) => {
      const resource = { ...write.create(entity, collection.resourceType, shape, model, resolve), id }
      return confirmWrite(id, () => send(resource, caller), present, warn)
    })
    const typed = await withType(entity, collection, shape, caller)
    let result = await attempt(typed)
    // Nobody has sent the edition type: where the site, or the caller's rights, do not take it, it is left out.
    if (typed !== entity && 'refused' in result && isAbout(result.refused, publicName(model, model.fields.editionType!))) result = await attempt(entity)
    if ('saved' in result) return { ...editionOf(result.saved), isNew: true }
    // Drupal validates first: a uuid that is taken is 409, or 422 where something else has to be unique too.
    const { status } = result.refused
    const earlier = status === 409 || (status === 422 && given !== undefined) ? await present().catch(unlessConflict) : undefined
    if (earlier === undefined || earlier === 'unknown') throw refusal(result.refused, entity)
    return { ...editionOf(earlier.saved), isNew: false }
  }

  /** What is sent for an edition of which only the bundle was given: its edition type too. */
  async function withType (entity: EditionJson, { bundle }: Collection, shape: Shape | undefined, caller: Caller): Promise<EditionJson> {
    const { editionType } = model.fields
    if (editionType === null || (shape && !shape.has(editionType))) return entity
    const type = await typeOf(bundle, entity[editionType], async () => (await catalog.editionTypes(caller)).map(({ id }) => id), editionType)
    return type === undefined ? entity : { ...entity, [editionType]: [{ value: type }] }
  }

  /**
   * The edition that a create was to make, if it is there.
   * @throws {Failure} CONFLICT where the uuid is another edition's
   */
  async function created (uuid: string, collection: Collection, entity: EditionJson, caller: Caller): Promise<{ saved: LoadedEdition } | undefined> {
    const found = await loadOrNothing(uuid, caller)
    if (!found) return undefined
    const unlike = found.resource.type === collection.resourceType ? write.differingFields(entity, found.resource, model) : [model.keys.bundle]
    if (unlike.length === 0) return shown(found)
    throw new Failure('CONFLICT', `There is an edition with this uuid that is not what was sent; it differs in ${unlike.join(', ')}. Read it before you go on; another edition needs another uuid.`, editionAddress(uuid))
  }

  /** Writes what refers to entities by their uuids; where the CMS does not find one that was remembered, they are looked up anew. */
  async function referring (resolver: () => Promise<write.Resolve>, send: (resolve: write.Resolve) => Promise<Written>): Promise<Written> {
    const result = await send(await resolver())
    const lost = 'refused' in result ? lostReference(result.refused) : undefined
    return lost !== undefined && references.forget(lost) ? send(await resolver()) : result
  }

  async function send (resource: Resource, caller: Caller, current?: Resource): Promise<Written> {
    try {
      const result = await resources.send(resource, caller, current)
      if ('refused' in result) return result
      saved(result.saved.resource.id)
      return shown(result.saved)
    } catch (error) {
      if (isUncertain(error)) saved(resource.id)
      throw error
    }
  }

  /**
   * What was saved, and can be shown: else this fails here, where the outcome of a write is looked up.
   * @throws {Failure} CMS_INVALID_RESPONSE
   */
  function shown (loaded: LoadedEdition): { saved: LoadedEdition } {
    editionOf(loaded)
    return { saved: loaded }
  }

  async function loadOrNothing (uuid: string, caller: Caller): Promise<LoadedEdition | undefined> {
    try {
      return await resources.load(uuid, caller)
    } catch (error) {
      if ((error as Failure).code === 'NOT_FOUND') return undefined
      throw error
    }
  }

  /** The bundle as the body names it; else the one named like the edition type, or the only one there is. */
  function collectionFor (entity: EditionJson, collections: Collection[]): Collection {
    const bundle = write.bundleOf(entity, model)
    if (bundle !== undefined) return known(bundle, collections)
    const { editionType } = model.fields
    const type = editionType === null ? undefined : entity[editionType]?.[0]?.value
    const derived = collections.find((collection) => collection.bundle === type) ?? (type !== undefined && collections.length === 1 ? collections[0] : undefined)
    if (!derived) throw new Failure('UNPROCESSABLE', `Could not determine entity type bundle: "${model.keys.bundle}" field is missing.`)
    return derived
  }

  function known (bundle: string, collections: Collection[]): Collection {
    const collection = collections.find((collection) => collection.bundle === bundle)
    if (!collection) throw new Failure('UNPROCESSABLE', `"${bundle}" is not a valid bundle type for denormalization.`)
    return collection
  }

  async function update (id: string, body: Record<string, unknown>, caller: Caller, options: UpdateOptions = {}): Promise<EditionText> {
    const entity = write.normalize(body, model)
    const bundle = write.bundleOf(entity, model)
    if (bundle !== undefined) known(bundle, await catalog.editions(caller))
    const savedMeanwhile = new Set<string>()
    looks.add(savedMeanwhile)
    const seen = await resources.load(id, caller, 'bare').finally(() => looks.delete(savedMeanwhile))
    const { id: uuid } = seen.resource
    // Drupal compares and saves without a lock: two requests at once could both find `changed` as they left it.
    return saves.run(uuid, async (hasWaited) => {
      try {
        return await change(hasWaited || savedMeanwhile.has(uuid) ? await resources.load(id, caller, 'bare') : seen, entity, caller, options)
      } finally {
        for (const look of looks) look.add(uuid)
      }
    }, callOf(caller)?.waiting)
  }

  async function change (current: LoadedEdition, entity: EditionJson, caller: Caller, { ifMatch, uid }: UpdateOptions): Promise<EditionText> {
    if (ifMatch !== undefined && !matches(ifMatch, etagOf(current.resource))) throw await moved(current, caller)
    const changes = write.difference(entity, current.resource, model)
    if (Object.keys(changes).length === 0) return editionOf(await resources.load(current.resource.id, caller))
    await guard?.({ edition: entityOf(current), fields: Object.keys(changes), uid })

    const learned = await resources.shape(current.resource.type, (shape) => write.withoutTargetType(changes, shape, model), caller)
    const shape = completed(shapeOf(current.resource, model), learned)
    const wanted = write.unresolved(changes, shape, model)
    const guarded = ifMatch !== undefined || Object.hasOwn(entity, model.keys.changed)
    const result = await referring(() => references.resolver(wanted, caller, current.resource), (resolve) => {
      const resource = { ...write.update(changes, current.resource, shape, model, resolve), id: current.resource.id }
      return confirmWrite(
        current.resource.id,
        () => send(guarded ? withChanged(resource, current) : resource, caller, current.resource),
        () => applied(current, changes, caller),
        warn
      )
    })
    if ('saved' in result) return editionOf(result.saved)
    if (guarded && isStale(result.refused, changedAttribute)) throw ifMatch === undefined ? write.stale(undefined) : await moved(current, caller)
    throw refusal(result.refused, changes)
  }

  /** The edition, if it has all of these changes; undefined if it is as it was. */
  async function applied (current: LoadedEdition, changes: EditionJson, caller: Caller): Promise<{ saved: LoadedEdition } | undefined> {
    const saved = await resources.load(current.resource.id, caller)
    if (Object.keys(write.difference(changes, saved.resource, model)).length === 0) return shown(saved)
    if (isSame(current.resource, saved.resource)) return undefined
    throw new Error('the edition has been saved, but not with just these changes')
  }

  /** What an update is refused with that comes too late, with the tag of the edition as it is now if it can be read. */
  async function moved ({ resource: { id } }: LoadedEdition, caller: Caller): Promise<Failure> {
    const etag = await resources.load(id, caller).then((loaded) => editionOf(loaded).etag, () => undefined)
    return new Failure('PRECONDITION_FAILED', 'Somebody else has saved this edition since you read it (If-Match). Nothing of yours was saved: load the edition again and repeat your change.', {
      ...(etag !== undefined && { headers: { etag } })
    })
  }

  async function readOne (id: string, caller: Caller, ifMatch?: string): Promise<EditionText> {
    const edition = editionOf(await resources.load(id, caller))
    if (ifMatch === undefined || matches(ifMatch, edition.etag)) return edition
    throw new Failure('PRECONDITION_FAILED', 'The edition is not in the state that If-Match names; ETag names the present one', { headers: { etag: edition.etag } })
  }

  /** Drupal refuses another `changed` than the present one, which makes it a precondition (seconds apart). */
  function withChanged (resource: Resource, { resource: { attributes } }: LoadedEdition): Resource {
    const changed = attributes?.[changedAttribute]
    return { ...resource, attributes: { ...resource.attributes, [changedAttribute]: typeof changed === 'object' ? null : changed } }
  }

  return {
    create,
    update,
    read: readOne,
    bare: async (id, caller) => entityOf(await resources.load(id, caller, 'bare')),
    async search (bundle, wanted, caller) {
      const { rows, hasMore, total } = await telling(search(bundle, wanted, caller), caller)
      return { editions: rows.map(jsonOf), hasMore, total }
    },
    labels: (id, caller) => telling(labels(id, caller), caller, id),
    bundles: (caller) => telling(catalog.bundles(caller), caller),
    types: (caller) => telling(catalog.editionTypes(caller), caller),
    age: (caller) => Math.max(catalog.age(caller), resources.age(caller)),
    async probe (caller) {
      await cms.request({ path: '', caller })
      return filterAdvice(await filters.verdict(await catalog.editions(caller), caller), model.entityType)
    }
  }
}
