import { randomUUID } from 'node:crypto'
import { Failure, texts } from '../errors.ts'
import { callOf, type Caller } from '../http/calls.ts'
import type { Resource } from '../drupal/document.ts'
import type { RefusalListener } from '../drupal/refusals.ts'
import { createPlacements } from './list/placements.ts'
import { createRows, type RowPage } from './list/rows.ts'
import { createSearch, type Search } from './list/search.ts'
import { createContents, type PlacedArticle } from './lookup/contents.ts'
import { createFinder, type Load } from './lookup/finder.ts'
import { createLabels, type Labels } from './lookup/labels.ts'
import { createListLooks } from './lookup/list-looks.ts'
import type { Looks } from './lookup/looks.ts'
import { createSamples, type FieldSamples } from './lookup/samples.ts'
import { createReferences } from './lookup/references.ts'
import { createResources, type Resources } from './lookup/resources.ts'
import { attributeOf, publicName, type ContentModel, type List } from './model.ts'
import {
  checkOperations,
  nameOf,
  rearrange,
  uuidsFor,
  type Rearrangement,
  type Uuids
} from './order/operations.ts'
import { outcomeUnknown, type Attempt, type Intent } from './save/attempt.ts'
import { confirmWrite, editionAddress, isUncertain, unlessConflict } from './save/outcome.ts'
import {
  recordSave,
  type Author,
  type Recorder,
  type SaveKind,
  type SaveOutcome
} from './save/recorder.ts'
import { createSaveQueue, type ProposedChange, type Turn, type Turns } from './save/save-queue.ts'
import type { ArticleRef, OrderChange, Placement } from './schemas.ts'
import type { Collection, Named } from './site/catalog.ts'
import { filterAdvice } from './site/filters.ts'
import { listSite } from './site/list-site.ts'
import type { Site } from './site/site.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { typeOf } from './translate/edition-type.ts'
import { etagOf, hasSameFields, matches, referencesOf, fieldsDigest } from './translate/etag.ts'
import { isAbout, isStale, lostReference, refusal } from './translate/failures.ts'
import type { Parameters } from './translate/query.ts'
import { read, type LoadedEdition } from './translate/read.ts'
import { complete, shapeOf, type Shape } from './translate/shape.ts'
import { createTexts, type EditionText } from './translate/texts.ts'
import * as write from './translate/write.ts'

export interface EditionPage extends RowPage {
  /** The entity type of the rows. */
  entityType: string
  /** By the uuid of each row, the editions that hold it; only where it was asked for. */
  placed?: Record<string, Placement[]>
}

/** Who saves. */
export interface SaveOptions extends Author {
  /** Of a request that its caller may repeat. */
  attempt?: Attempt | undefined
}

export interface UpdateOptions extends SaveOptions {
  /** The If-Match header field. */
  ifMatch?: string | undefined
  /** Answers after one look at the latest version, before any other read, where no field differs. */
  unlessSame?: boolean | undefined
  /** What the change is to its recorder; `update` by default. */
  kind?: 'update' | 'restore' | undefined
}

/** An edition and the state of its articles, as they are at the moment. */
export interface Inspection {
  edition: EditionJson
  /** Names the state of its fields. */
  etag: string
  articles: PlacedArticle[]
}

export interface CloseOptions<Look> extends UpdateOptions {
  check(inspected: Inspection): Promise<Look>
  again(inspected: Inspection): Promise<Look>
}

export interface UpdateResult extends EditionText {
  /** Whether the save had its turn among all instances; else among the saves of this one alone. */
  isShared: boolean
}

/** Editions as the routes see them. All verbs also throw the failures of the CMS (lib/http/client.ts, lib/drupal/client.ts, translate/failures.ts). */
export interface Editions {
  /**
   * Creates an edition. Where the edition with the body's uuid is there already and has the same fields, answers with that
   * one: so a caller can repeat a create whose outcome is not known.
   * @returns `isNew`: whether this call, or an earlier attempt at it, has created it
   * @throws {Failure} UNPROCESSABLE without a bundle, with one that does not exist, or as Drupal validates; CONFLICT where
   *   another edition has the uuid.
   */
  create(
    body: Record<string, unknown>,
    caller: Caller,
    options?: SaveOptions
  ): Promise<EditionText & { isNew: boolean }>
  /**
   * Changes the fields of the body that differ. Writes nothing where none differs, as core REST.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, STALE_EDIT, UNPROCESSABLE, CMS_FORBIDDEN, EDITION_BUSY; what `permit` of its turn throws.
   */
  update(
    id: string,
    body: Record<string, unknown>,
    caller: Caller,
    options?: UpdateOptions
  ): Promise<UpdateResult>
  /**
   * Inserts, moves and removes articles of the running order, as it is when the save has its turn: all operations or none.
   * Where somebody else saves first, they are applied to the order that is there then.
   * @param id integer id or uuid
   * @throws {Failure} as update, and BAD_REQUEST, ORDER_CONFLICT
   */
  arrange(
    id: string,
    change: OrderChange,
    caller: Caller,
    options?: UpdateOptions
  ): Promise<UpdateResult & { outcomes: Rearrangement['outcomes'] }>
  /**
   * Reads an edition.
   * @param id integer id or uuid
   * @param ifMatch the If-Match header field
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED.
   */
  read(id: string, caller: Caller, ifMatch?: string): Promise<EditionText>
  /** An edition with the state of its articles, neither from a copy nor from a read that began before. @throws {Failure} NOT_FOUND. */
  inspect(id: string, caller: Caller): Promise<Inspection>
  /**
   * Sets the field that closes an edition, as the content model says, when the save has its turn.
   * @param options.check looks at the edition then, and throws where it may not be closed
   * @param options.again looks once more, after the save
   * @returns the results of both looks. `after` is null if the second look failed: the edition is closed nevertheless. Both
   *   are null if an earlier attempt has closed it
   * @throws {Failure} as update; what `check` throws
   */
  close<Look>(
    id: string,
    caller: Caller,
    options: CloseOptions<Look>
  ): Promise<UpdateResult & { before: Look | null; after: Look | null }>
  /** An edition without the urls of its references, which Drupal answers sooner. @throws {Failure} NOT_FOUND. */
  bare(id: string, caller: Caller): Promise<EditionJson>
  /**
   * Lists editions, or the entities of one of the content model's lists.
   * @param bundle of editions, an edition type, the entity type of editions, or the name of a list
   * @throws {Failure} NOT_FOUND for an unknown bundle; BAD_REQUEST for an unknown edition type, and for what only lists of
   *   the other kind have; PLACED_UNKNOWN
   */
  search(
    bundle: string,
    search: Search & { placed?: boolean },
    caller: Caller
  ): Promise<EditionPage>
  /**
   * Reads an entity of one of the content model's lists.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED
   */
  readListed(list: string, id: string, caller: Caller, ifMatch?: string): Promise<EditionText>
  /** The labels of an edition's articles and other references, whether they are published, and the articles' images and sections, as far as the caller may see them. @throws {Failure} NOT_FOUND. */
  labels(id: string, caller: Caller): Promise<Labels>
  /** The images and sections of at most `LOOKS_MAX` rows of a list, as far as the content model names them. @throws {Failure} NOT_FOUND. */
  looks(list: string, uuids: string[], caller: Caller): Promise<Looks>
  /** What an edition's empty fields hold in the newest others of its bundle. @throws {Failure} NOT_FOUND. */
  samples(id: string, caller: Caller): Promise<FieldSamples>
  /** The bundles of editions, with their labels. */
  bundles(caller: Caller): Promise<Named[]>
  /** The edition types, with their labels. */
  types(caller: Caller): Promise<Named[]>
  /** How old the oldest data may be that an answer to this caller is made from, in milliseconds. */
  age(caller: Caller): number
  /** Resolves when the CMS answers. The text advises the operator, where there is something to mend. */
  probe(caller: Caller): Promise<string | undefined>
}

export interface EditionsOptions {
  site: Site
  /** Turns that saves take with those of other instances. */
  turns?: Turns
  /** What every save is recorded by. */
  recorder?: Recorder | undefined
  /** Called with the uuid of each edition that was saved, or may have been. */
  onSave?: (uuid: string) => void
  /** Called with each change that was saved, and the entity tag that it has led to. */
  onUpdate?: (change: ProposedChange & { etag: string }) => void
  /**
   * Called when an entity is not found for a caller, and when a list is refused. What an answer of the CMS itself refuses, its
   * client tells (lib/drupal/refusals.ts).
   */
  onRefusal?: RefusalListener
}

/** How often operations on the running order are applied at most: once more each time that somebody else saves first. */
const ATTEMPTS = 5

interface ChangeOptions extends Omit<UpdateOptions, 'kind'> {
  kind: SaveKind
  /** Whether it is saved only over the state that was read. */
  isConditional: boolean
  /** Whether it is made to what is known as the latest version. */
  isLatest: boolean
  /** What the operations on the running order come to. */
  outcomes?: Rearrangement['outcomes']
}

type WriteResult = Awaited<ReturnType<Resources['send']>>

/** Editions of a site. */
export function createEditions({
  site,
  turns,
  recorder,
  onSave = () => {},
  onUpdate = () => {},
  onRefusal = () => {}
}: EditionsOptions): Editions {
  const { cms, model, catalog, filters, warn } = site
  const resources = createResources(site)
  const find = createFinder(site, resources)
  const load: Load = (id, caller, purpose) => reportRefusal(find(id, caller, purpose), caller, id)
  const references = createReferences(site)
  const editionTexts = createTexts(site)
  const { editionOf } = editionTexts
  const searchEditions = createSearch(site, resources)
  const rows = createRows(site, searchEditions, editionTexts)
  const placementsOf = createPlacements(site, resources)
  const lists = new Map(
    Object.entries(model.lists).map(([name, list]) => [
      name,
      createList(listSite(site, name, list), list)
    ])
  )
  const contents = createContents(site)
  const labels = createLabels(site, find)
  const samples = createSamples({
    model,
    load: find,
    jsonOf: jsonObjectOf,
    newest: async (bundle, limit, caller) =>
      (await searchEditions(bundle, { limit, offset: 0, total: false }, caller)).rows
  })
  const saves = createSaveQueue({ turns })
  /** For each update that is reading its edition: the editions saved since, of which it may have read an earlier state. */
  const reads = new Set<Set<string>>()
  /** For types without a time of change Drupal has no precondition. */
  const changedAttribute =
    model.keys.changed === null ? undefined : publicName(model, model.keys.changed)

  /** Reports what is refused to a caller. An unknown bundle does not count as refused. */
  async function reportRefusal<T>(
    work: Promise<T>,
    caller: Caller,
    id?: string,
    keys = model.keys
  ): Promise<T> {
    try {
      return await work
    } catch (error) {
      const { code } = error as Failure
      const isHidden = id !== undefined && code === 'NOT_FOUND'
      const isWhole = id === undefined && (code === 'CMS_UNAUTHORIZED' || code === 'CMS_FORBIDDEN')
      if (isHidden || isWhole) onRefusal(caller, id, keys)
      throw error
    }
  }

  function jsonObjectOf({ resource, urlOf }: LoadedEdition): EditionJson {
    return read(resource, model, urlOf, site.planFor(resource))
  }

  async function create(
    json: Record<string, unknown>,
    caller: Caller,
    { attempt, ...options }: SaveOptions = {}
  ): Promise<EditionText & { isNew: boolean }> {
    const body = write.normalize(json, model)
    const collection = collectionFor(body, await catalog.editions(caller))
    const shape = await resources.shape(
      collection.resourceType,
      (shape) => write.withoutTargetType(body, shape, model),
      caller
    )
    // Quoin chooses the id, so it can find out afterwards whether the CMS saved the edition.
    const uuid = write.uuidOf(body, model)
    const id = uuid ?? attempt?.uuid ?? randomUUID()
    const find = () => findCreated(id, collection, body, caller)
    if (attempt?.earlier) {
      // A uuid of Quoin's own is no other edition's, so its edition is what was asked for, whoever has changed it since.
      const edition = uuid === undefined ? await loadOrNothing(id, caller) : (await find())?.saved
      if (edition) return { ...editionOf(edition), isNew: true }
    }
    const make = (body: EditionJson) =>
      sendResolved(
        () => references.resolver(write.unresolvedReferences(body, shape, model), caller),
        async (resolve) => {
          const resource = {
            ...write.create(body, collection.resourceType, shape, model, resolve),
            id
          }
          await attempt?.intend({ before: '', after: referencesOf(resource) })
          return confirmWrite(
            id,
            () => {
              attempt?.confirm()
              return send(resource, caller)
            },
            find,
            warn
          )
        }
      )
    const typedBody = await withType(body, collection, shape, caller)
    const save = {
      kind: 'create' as const,
      uuid: id,
      by: userOf(options),
      before: undefined,
      fields: changesOf(typedBody),
      isShared: false
    }
    const result = await recordSave(
      recorder,
      save,
      async () => {
        const result = await make(typedBody)
        // The caller has not sent the edition type. Where the CMS refuses it, the edition goes without.
        return typedBody !== body &&
          'refused' in result &&
          isAbout(result.refused, publicName(model, model.fields.editionType!))
          ? make(body)
          : result
      },
      outcomeOf
    )
    if ('saved' in result) {
      doubtFilters(result.saved, caller)
      return { ...editionOf(result.saved), isNew: true }
    }
    // Drupal answers 409 for a uuid that is taken. It validates first, so where something else has to be unique too, it answers 422.
    const { status } = result.refused
    const earlier =
      status === 409 || (status === 422 && uuid !== undefined)
        ? await find().catch(unlessConflict)
        : undefined
    if (earlier === undefined || earlier === 'unknown') throw refusal(result.refused, body)
    return { ...editionOf(earlier.saved), isNew: false }
  }

  /** Drupal may let its users filter among the published editions alone. */
  function doubtFilters({ resource: { attributes = {} } }: LoadedEdition, caller: Caller): void {
    if (attributeOf(attributes, model.keys.published, model) !== true) filters.doubt(caller)
  }

  function outcomeOf(result: WriteResult): SaveOutcome {
    return 'saved' in result
      ? {
          outcome: 'saved',
          edition: jsonObjectOf(result.saved),
          etag: editionOf(result.saved).etag
        }
      : { outcome: 'refused' }
  }

  /** Adds the edition type to a body that has only the bundle. */
  async function withType(
    body: EditionJson,
    { bundle }: Collection,
    shape: Shape | undefined,
    caller: Caller
  ): Promise<EditionJson> {
    const { editionType } = model.fields
    if (editionType === null || (shape && !shape.has(editionType))) return body
    const type = await typeOf(
      bundle,
      body[editionType],
      async () => (await catalog.editionTypes(caller)).map(({ id }) => id),
      editionType
    )
    return type === undefined ? body : { ...body, [editionType]: [{ value: type }] }
  }

  /**
   * The edition that a create has made, if it is there.
   * @throws {Failure} CONFLICT where the uuid is another edition's
   */
  async function findCreated(
    uuid: string,
    collection: Collection,
    body: EditionJson,
    caller: Caller
  ): Promise<{ saved: LoadedEdition } | undefined> {
    const edition = await loadOrNothing(uuid, caller)
    if (!edition) return undefined
    const fields =
      edition.resource.type === collection.resourceType
        ? write.differingFields(body, edition.resource, model)
        : [String(model.keys.bundle)]
    if (fields.length === 0) return showable(edition)
    throw new Failure(
      'CONFLICT',
      `Another edition has this uuid: it differs from what you sent in ${fields.join(', ')}. Read it before you go on, or send yours with another uuid.`,
      editionAddress(uuid)
    )
  }

  /** Sends an edition with the uuids of its references. Where the CMS no longer finds a remembered one, looks all of them up again. */
  async function sendResolved(
    resolver: () => Promise<write.Resolve>,
    send: (resolve: write.Resolve) => Promise<WriteResult>
  ): Promise<WriteResult> {
    const result = await send(await resolver())
    const lost = 'refused' in result ? lostReference(result.refused) : undefined
    return lost !== undefined && references.forget(lost) ? send(await resolver()) : result
  }

  async function send(
    resource: Resource,
    caller: Caller,
    current?: Resource
  ): Promise<WriteResult> {
    try {
      const result = await resources.send(resource, caller, current)
      if ('refused' in result) return result
      onSave(result.saved.resource.id)
      return showable(result.saved)
    } catch (error) {
      if (isUncertain(error)) onSave(resource.id)
      throw error
    }
  }

  /**
   * Makes sure that a saved edition can be put into an answer. If it cannot, Quoin looks up the outcome of the save.
   * @throws {Failure} CMS_INVALID_RESPONSE
   */
  function showable(edition: LoadedEdition): { saved: LoadedEdition } {
    editionOf(edition)
    return { saved: edition }
  }

  async function loadOrNothing(uuid: string, caller: Caller): Promise<LoadedEdition | undefined> {
    try {
      return await load(uuid, caller)
    } catch (error) {
      if ((error as Failure).code === 'NOT_FOUND') return undefined
      throw error
    }
  }

  /** The collection of the bundle that the body names; else of the bundle with the edition type's name, or the only one there is. */
  function collectionFor(body: EditionJson, collections: Collection[]): Collection {
    if (model.keys.bundle === null) return collections[0]!
    const bundle = write.bundleOf(body, model)
    if (bundle !== undefined) return collectionOf(bundle, collections)
    const { editionType } = model.fields
    const type = editionType === null ? undefined : body[editionType]?.[0]?.value
    const fallback =
      collections.find((collection) => collection.bundle === type) ??
      (type !== undefined && collections.length === 1 ? collections[0] : undefined)
    if (!fallback) {
      throw new Failure(
        'UNPROCESSABLE',
        `Could not determine entity type bundle: "${model.keys.bundle}" field is missing.`
      )
    }
    return fallback
  }

  function collectionOf(bundle: string, collections: Collection[]): Collection {
    const collection = collections.find((collection) => collection.bundle === bundle)
    if (!collection) {
      throw new Failure(
        'UNPROCESSABLE',
        `"${bundle}" is not a valid bundle type for denormalization.`
      )
    }
    return collection
  }

  async function update(
    id: string,
    json: Record<string, unknown>,
    caller: Caller,
    options: UpdateOptions = {}
  ): Promise<UpdateResult> {
    const body = write.normalize(json, model)
    const bundle = write.bundleOf(body, model)
    if (bundle !== undefined) collectionOf(bundle, await catalog.editions(caller))
    const same = options.unlessSame ? await unlessDifferent(id, body, caller) : undefined
    if (same) return same
    const isConditional = model.keys.changed !== null && Object.hasOwn(body, model.keys.changed)
    const changeOptions = { ...options, kind: options.kind ?? 'update', isConditional } as const
    return inTurn(
      id,
      caller,
      options,
      (current, turn, isLatest) =>
        change(current, body, caller, turn, { ...changeOptions, isLatest }),
      async (current) => {
        // A save moves the time of change, so that is not the one that was sent.
        const { [String(model.keys.changed)]: _changed, ...fields } = body
        return shows(fields, current)
          ? editionOf(await load(current.resource.id, caller))
          : undefined
      }
    )
  }

  /**
   * The edition, if no field differs; undefined if one does. Drupal may show an earlier state, so the latest version is asked
   * for, in a turn. Of a type without revisions nobody can ask for it.
   */
  async function unlessDifferent(
    id: string,
    body: EditionJson,
    caller: Caller
  ): Promise<UpdateResult | undefined> {
    const edition = await load(id, caller)
    const { type, id: uuid } = edition.resource
    if (!shows(body, edition)) return undefined
    if (resources.latestVersion(type).length === 0) return { ...editionOf(edition), isShared: true }
    return saves.run(
      uuid,
      saves.now(),
      async ({ isShared }) => {
        const latest = await load(uuid, caller, 'latest')
        if (!shows(body, latest)) return undefined
        const shown = hasSameFields(latest.resource, edition.resource, model)
          ? edition
          : await load(uuid, caller)
        return { ...editionOf(shown), isShared }
      },
      callOf(caller)?.waiting
    )
  }

  /** Whether an edition has these fields already. */
  function shows(fields: EditionJson, { resource }: LoadedEdition): boolean {
    return Object.keys(write.difference(fields, resource, model)).length === 0
  }

  async function arrange(
    id: string,
    { field = model.fields.articles[0] ?? '', operations }: OrderChange,
    caller: Caller,
    options: UpdateOptions = {}
  ) {
    if (!model.fields.articles.includes(field)) {
      throw new Failure(
        'BAD_REQUEST',
        `body/field must be one of: ${model.fields.articles.join(', ')}`
      )
    }
    checkOperations(operations)
    return inTurn(
      id,
      caller,
      options,
      (current, turn, isLatest) => apply(current, turn, isLatest, ATTEMPTS),
      async ({ resource }, { after, outcomes }) => {
        if (after !== referencesOf(resource, [publicName(model, field)])) return undefined
        return { ...editionOf(await load(resource.id, caller)), outcomes: outcomes! }
      }
    )

    async function apply(
      current: LoadedEdition,
      turn: Turn,
      isLatest: boolean,
      attempts: number
    ): Promise<(EditionText & { outcomes: Rearrangement['outcomes'] }) | undefined> {
      const { [field]: articles } = jsonObjectOf(current)
      if (!articles) {
        throw new Failure('UNPROCESSABLE', `This edition has no ${field} that you may see`)
      }
      const uuids = await uuidsFor(articles, operations, (unknown) =>
        lookUpArticles(field, unknown, current, caller)
      )
      const { order, outcomes } = rearrange(articles, operations, uuids)
      try {
        const edition = await change(current, { [field]: order }, caller, turn, {
          ...options,
          kind: 'order',
          isConditional: true,
          outcomes,
          isLatest
        })
        return edition && { ...edition, outcomes }
      } catch (error) {
        if ((error as Failure).code !== 'STALE_EDIT' || attempts === 1) throw error
        return apply(await load(current.resource.id, caller, 'latest'), turn, true, attempts - 1)
      }
    }
  }

  /** The uuids of articles that are named by id, as far as they are found. */
  async function lookUpArticles(
    field: string,
    articles: ArticleRef[],
    { resource }: LoadedEdition,
    caller: Caller
  ): Promise<Uuids> {
    const body = { [field]: articles }
    const lookups = write.unresolvedReferences(body, await shapeFor(body, resource, caller), model)
    const found = await references.uuids(lookups, caller, resource)
    return new Map(
      lookups.flatMap(({ delta }, index) => {
        const uuid = found[index]
        return uuid === undefined ? [] : [[nameOf(articles[delta]!), uuid] as const]
      })
    )
  }

  /** The fields of an edition, with what other documents show of those that it is to be changed in. */
  async function shapeFor(
    changes: EditionJson,
    resource: Resource,
    caller: Caller
  ): Promise<Shape> {
    const typeShape = await resources.shape(
      resource.type,
      (shape) => write.withoutTargetType(changes, shape, model),
      caller
    )
    return complete(shapeOf(resource, model), typeShape)
  }

  async function inspect(id: string, caller: Caller): Promise<Inspection> {
    return inspectResource((await load(id, caller, 'bare')).resource, caller)
  }

  async function inspectResource(
    known: Resource,
    caller: Caller,
    version?: Parameters
  ): Promise<Inspection & { resource: Resource }> {
    const { resource, articles } = await reportRefusal(
      contents(known, caller, version),
      caller,
      known.id
    )
    return { resource, articles, edition: read(resource, model), etag: etagOf(resource, model) }
  }

  async function close<Look>(
    id: string,
    caller: Caller,
    { check, again, ...options }: CloseOptions<Look>
  ) {
    const { field = model.keys.published, value } = model.closing
    if (field === null) {
      throw new Failure(
        'BAD_REQUEST',
        `${model.entityType} has no key published in the content model: name the field that closes an edition (closing.field)`
      )
    }
    const closingFields = { [field]: [{ value }] }
    return inTurn<EditionText & { before: Look | null; after: Look | null }>(
      id,
      caller,
      options,
      async ({ resource: resourceBefore, urlOf }, turn) => {
        const version = resources.latestVersion(resourceBefore.type)
        const { resource, ...now } = await inspectResource(resourceBefore, caller, version)
        const before = await check(now)
        const edition = await change({ resource, urlOf }, closingFields, caller, turn, {
          ...options,
          kind: 'close',
          isConditional: true,
          isLatest: true
        })
        const after = await inspectResource(resource, caller, version)
          .then(again)
          .catch(() => null)
        return { ...edition!, before, after }
      },
      async (current) => {
        return shows(closingFields, current)
          ? { ...editionOf(await load(current.resource.id, caller)), before: null, after: null }
          : undefined
      }
    )
  }

  /**
   * Reads an edition, and saves it when it is its turn, from the state that it has then. Drupal may have shown an earlier state:
   * before nothing is saved, the latest version is asked for.
   * @param save undefined where nothing differs from an edition that may not be the latest version
   * @param unlessSaved the answer if the present edition shows that an earlier attempt has saved; undefined if it does not
   * @throws {Failure} OUTCOME_UNKNOWN where an earlier attempt may have saved and the edition has changed since;
   *   PRECONDITION_FAILED where that is not the state that If-Match names
   */
  async function inTurn<T extends EditionText>(
    id: string,
    caller: Caller,
    { ifMatch, attempt }: UpdateOptions,
    save: (current: LoadedEdition, turn: Turn, isLatest: boolean) => Promise<T | undefined>,
    unlessSaved: (current: LoadedEdition, earlier: Intent) => Promise<T | undefined>
  ): Promise<T & { isShared: boolean }> {
    const savedMeanwhile = new Set<string>()
    reads.add(savedMeanwhile)
    const since = saves.now()
    // A read that began before `since` could be older than the last save of another instance, and its turn would not say so.
    const edition = await load(id, caller, 'anew').finally(() => reads.delete(savedMeanwhile))
    const { id: uuid } = edition.resource
    // Drupal compares `changed` and saves without a lock, so two requests at the same time could both pass.
    return saves.run(
      uuid,
      since,
      async (turn) => {
        try {
          const isOutdated =
            turn.isOutdated ||
            savedMeanwhile.has(uuid) ||
            site.revisions.newerThan(edition.resource) !== undefined
          // What an earlier attempt has saved is told by the latest version alone.
          const needsLatest = isOutdated || attempt?.earlier !== undefined
          const current = needsLatest ? await load(id, caller, 'latest') : edition
          const earlierSave = attempt?.earlier && (await unlessSaved(current, attempt.earlier))
          if (earlierSave) return { ...earlierSave, isShared: turn.isShared }
          if (
            attempt?.earlier &&
            attempt.earlier.before !== fieldsDigest(current.resource, model)
          ) {
            throw outcomeUnknown()
          }
          const isLatest =
            needsLatest || resources.latestVersion(current.resource.type).length === 0
          const result =
            (await saveMatching(current, turn, isLatest)) ??
            (await saveMatching(await load(uuid, caller, 'latest'), turn, true))
          return { ...result!, isShared: turn.isShared }
        } finally {
          for (const savedDuringRead of reads) savedDuringRead.add(uuid)
        }
      },
      callOf(caller)?.waiting
    )

    async function saveMatching(
      current: LoadedEdition,
      turn: Turn,
      isLatest: boolean
    ): Promise<T | undefined> {
      if (ifMatch !== undefined && !matches(ifMatch, etagOf(current.resource, model))) {
        throw await preconditionFailed(current, caller)
      }
      return save(current, turn, isLatest)
    }
  }

  /** @returns undefined where nothing differs, unless this is the latest version */
  async function change(
    current: LoadedEdition,
    body: EditionJson,
    caller: Caller,
    turn: Turn,
    {
      ifMatch,
      kind,
      attempt,
      outcomes,
      isConditional: hasChanged,
      isLatest,
      ...options
    }: ChangeOptions
  ): Promise<EditionText | undefined> {
    const changes = write.difference(body, current.resource, model)
    if (Object.keys(changes).length === 0) {
      return isLatest ? editionOf(await load(current.resource.id, caller)) : undefined
    }
    const before = fieldsDigest(current.resource, model)

    const shape = await shapeFor(changes, current.resource, caller)
    const lookups = write.unresolvedReferences(changes, shape, model)
    const isConditional = hasChanged || ifMatch !== undefined
    const plan: ProposedChange = {
      edition: jsonObjectOf(current),
      fields: Object.keys(changes),
      uid: options.uid
    }
    const save = {
      kind,
      uuid: current.resource.id,
      by: userOf(options),
      before: { edition: plan.edition, etag: etagOf(current.resource, model) },
      fields: changesOf(changes, plan.edition),
      isShared: turn.isShared
    }
    const result = await recordSave(
      recorder,
      save,
      () =>
        sendResolved(
          () => references.resolver(lookups, caller, current.resource),
          async (resolve) => {
            const resource = {
              ...write.update(changes, current.resource, shape, model, resolve),
              id: current.resource.id
            }
            await attempt?.intend({
              before,
              after: referencesOf(resource),
              ...(outcomes && { outcomes })
            })
            await turn.permit?.(plan)
            return confirmWrite(
              current.resource.id,
              () => {
                turn.confirm()
                attempt?.confirm()
                return send(
                  isConditional ? withChanged(resource, current) : resource,
                  caller,
                  current.resource
                )
              },
              () => findUpdated(current, changes, caller),
              warn
            )
          }
        ),
      outcomeOf
    )
    if ('saved' in result) {
      doubtFilters(result.saved, caller)
      const text = editionOf(result.saved)
      onUpdate({ ...plan, etag: text.etag })
      return text
    }
    if (
      isConditional &&
      changedAttribute !== undefined &&
      isStale(result.refused, changedAttribute)
    ) {
      throw ifMatch === undefined
        ? write.staleEdit(undefined)
        : await preconditionFailed(current, caller)
    }
    throw refusal(result.refused, changes)
  }

  /** The edition, if it has all of these changes; undefined if it has not changed. */
  async function findUpdated(
    current: LoadedEdition,
    changes: EditionJson,
    caller: Caller
  ): Promise<{ saved: LoadedEdition } | undefined> {
    const { resource } = await load(current.resource.id, caller, 'latest')
    if (Object.keys(write.difference(changes, resource, model)).length === 0) {
      return showable(await load(resource.id, caller))
    }
    if (hasSameFields(current.resource, resource, model)) return undefined
    throw new Error('the edition has been saved, but not with just these changes')
  }

  /** The failure of an update whose If-Match names an earlier state, with the present tag if the edition can be read. */
  async function preconditionFailed(
    { resource: { id } }: LoadedEdition,
    caller: Caller
  ): Promise<Failure> {
    const etag = await load(id, caller).then(
      (edition) => editionOf(edition).etag,
      () => undefined
    )
    return new Failure('PRECONDITION_FAILED', texts.editionChanged, {
      ...(etag !== undefined && { headers: { etag } })
    })
  }

  async function search(
    bundle: string,
    { placed: isPlaced = false, ...query }: Search & { placed?: boolean },
    caller: Caller
  ): Promise<EditionPage> {
    const list = await reportRefusal(listOf(bundle, caller), caller)
    if (!list) {
      if (isPlaced) {
        throw new Failure(
          'BAD_REQUEST',
          `querystring/placed is for lists of what editions are made of: ${[...lists.keys()].join(', ')}`
        )
      }
      return {
        ...(await reportRefusal(rows(bundle, query, caller), caller)),
        entityType: model.entityType
      }
    }
    const odd = (['type', 'key'] as const).find((name) => query[name] !== undefined)
    if (odd !== undefined) {
      throw new Failure('BAD_REQUEST', `querystring/${odd} is for lists of editions`)
    }
    const { entityType } = list.model
    const page = {
      ...(await reportRefusal(list.rows(entityType, query, caller), caller)),
      entityType
    }
    return isPlaced
      ? {
          ...page,
          placed: await reportRefusal(
            placementsOf(
              page.rows.map((row) => ({ ...row, entityType })),
              caller
            ),
            caller
          )
        }
      : page
  }

  async function readListed(
    name: string,
    id: string,
    caller: Caller,
    ifMatch?: string
  ): Promise<EditionText> {
    const list = await listedAs(name, caller)
    return matching(
      await reportRefusal(list.read(id, caller), caller, id, list.model.keys),
      ifMatch
    )
  }

  /** @throws {Failure} NOT_FOUND */
  async function listedAs(name: string, caller: Caller): Promise<ListServices> {
    const list = await reportRefusal(listOf(name, caller), caller)
    if (!list) {
      throw new Failure(
        'NOT_FOUND',
        `There is no list "${name}"; there are ${[...lists.keys()].join(', ')}`
      )
    }
    return list
  }

  /** The list with a name. A bundle of editions with that name has precedence. */
  async function listOf(name: string, caller: Caller): Promise<ListServices | undefined> {
    const list = lists.get(name)
    if (
      !list ||
      name === model.entityType ||
      (await catalog.all(caller)).some(
        ({ entityType, bundle }) => entityType === model.entityType && bundle === name
      )
    ) {
      return undefined
    }
    if (!(await list.isExposed(caller))) {
      throw new Failure(
        'NOT_FOUND',
        `The CMS exposes nothing of the list "${name}" through JSON:API`
      )
    }
    return list
  }

  /** Adds the present `changed` as a precondition: Drupal refuses any other. It counts seconds. */
  function withChanged(resource: Resource, { resource: { attributes } }: LoadedEdition): Resource {
    if (changedAttribute === undefined) return resource
    const changed = attributes?.[changedAttribute]
    return {
      ...resource,
      attributes: {
        ...resource.attributes,
        [changedAttribute]: typeof changed === 'object' ? null : changed
      }
    }
  }

  return {
    create,
    update,
    arrange,
    read: async (id, caller, ifMatch) => matching(editionOf(await load(id, caller)), ifMatch),
    readListed,
    inspect,
    close,
    bare: async (id, caller) => jsonObjectOf(await load(id, caller, 'bare')),
    search,
    labels: (id, caller) => reportRefusal(labels(id, caller), caller, id),
    looks: async (name, uuids, caller) =>
      reportRefusal((await listedAs(name, caller)).looks(uuids, caller), caller),
    samples: (id, caller) => reportRefusal(samples(id, caller), caller, id),
    bundles: (caller) => reportRefusal(catalog.bundles(caller), caller),
    types: (caller) => reportRefusal(catalog.editionTypes(caller), caller),
    age: site.age,
    async probe(caller) {
      await cms.request({ path: '', caller })
      const { verdict } = await filters.findings(await catalog.editions(caller), caller)
      return filterAdvice(verdict, model.entityType)
    }
  }
}

function userOf({ uid, name }: Author): Author {
  return { uid, name }
}

/** The fields of a body, with what they are before. */
function changesOf(body: EditionJson, edition?: EditionJson) {
  return Object.fromEntries(
    Object.entries(body).map(([field, after]) => [
      field,
      { before: edition && Object.hasOwn(edition, field) ? edition[field] : undefined, after }
    ])
  )
}

/** What a list of the content model is read with. */
interface ListServices {
  model: ContentModel
  rows: ReturnType<typeof createRows>
  read(id: string, caller: Caller): Promise<EditionText>
  looks: ReturnType<typeof createListLooks>
  /** Whether JSON:API has any of its bundles. */
  isExposed(caller: Caller): Promise<boolean>
}

function createList(site: Site, list: List): ListServices {
  const resources = createResources(site)
  const find = createFinder(site, resources)
  const editionTexts = createTexts(site)
  return {
    model: site.model,
    rows: createRows(site, createSearch(site, resources), editionTexts),
    read: async (id, caller) => editionTexts.editionOf(await find(id, caller)),
    looks: createListLooks(site, list),
    isExposed: async (caller) => (await site.catalog.editions(caller)).length > 0
  }
}

/** @throws {Failure} PRECONDITION_FAILED where the edition is not in a state that If-Match names */
function matching(edition: EditionText, ifMatch: string | undefined): EditionText {
  if (ifMatch === undefined || matches(ifMatch, edition.etag)) return edition
  throw new Failure(
    'PRECONDITION_FAILED',
    'The edition is not in the state that If-Match names; ETag names the present one',
    { headers: { etag: edition.etag } }
  )
}
