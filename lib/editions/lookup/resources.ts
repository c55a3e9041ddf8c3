import { Failure } from '../../errors.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import type { JsonapiAnswer } from '../../drupal/client.ts'
import {
  isSameUuid,
  primaryData,
  resources,
  type Document,
  type Resource
} from '../../drupal/document.ts'
import { languageCode } from '../../drupal/languages.ts'
import { internalName, publicName, publicNames, splitType, type ContentModel } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { isDefault } from '../site/revisions.ts'
import type { Site } from '../site/site.ts'
import {
  namesWithUnknownTargets,
  referencesIn,
  translatedIn,
  type KnownTargets
} from '../site/targets.ts'
import { notIncludable, refusal, unknownProperties } from '../translate/failures.ts'
import {
  idQuery,
  pageQuery,
  PAGE_MAX,
  referringQuery,
  type Page,
  type Parameters
} from '../translate/query.ts'
import type { LoadedEdition, UrlOf } from '../translate/read.ts'
import type { Shape } from '../translate/shape.ts'
import { integerId, mismatch, rowsOf } from '../translate/verify.ts'
import { dropProperties } from '../translate/write.ts'
import { covers, createIncludes, includeOf, type Include } from './include.ts'
import { restAfter } from '../../slices.ts'
import { createRoom, isTooLong } from './room.ts'

/** What an edition is read by. */
export type EditionId = { uuid: string } | { id: string }

/**
 * What an edition is read for: `bare` without the urls of its references, which Drupal answers sooner; `anew` the same, and not
 * by a read that began before; `latest` the same again, by the name of its latest version where the type has revisions. Drupal
 * caches what it shows by that name apart, so no other reader leaves an earlier state there (site/revisions.ts).
 */
export type Purpose = 'edition' | 'bare' | 'anew' | 'latest'

export interface Resources {
  /**
   * The query that names the latest version of editions of a type; empty for one without revisions, of which Drupal refuses
   * any. Only for reads within a turn: one that ends after a save would leave the state before it in Drupal's cache.
   */
  latestVersion(resourceType: string): Parameters
  /**
   * The edition of a collection with this uuid or integer id; undefined where there is none.
   * @throws {Failure} CMS_UNAUTHORIZED, CMS_FORBIDDEN; CMS_INVALID_RESPONSE where the CMS answers with another edition;
   *   and all other failures of the CMS
   */
  individual(
    collection: Collection,
    id: EditionId,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition | undefined>
  /** One page of a collection: its rows, whether there are more, and how many in all where the CMS counts. */
  page(collection: Collection, query: Parameters, caller: Caller): Promise<Page<LoadedEdition>>
  /** The newest revisions of a list's rows. Asks for up to ten, where Drupal has shown an earlier one. */
  newest(rows: LoadedEdition[], caller: Caller): Promise<LoadedEdition[]>
  /** The same as `page` with no more than some attributes of each row. */
  sparsePage(
    collection: Collection,
    query: Parameters,
    attributes: string[],
    caller: Caller
  ): Promise<Page<LoadedEdition>>
  /**
   * The fields of a resource type, as far as documents show them. Reads a document where there was none before, and one more
   * for each relationship whose target type is still missing.
   * @param incomplete picks these relationships
   */
  shape(
    resourceType: string,
    incomplete: (shape: Shape) => string[],
    caller: Caller
  ): Promise<Shape | undefined>
  /**
   * Writes an edition.
   * @param current the edition as it is, if this changes one
   * @returns the edition as it is afterwards, or the CMS's refusal
   */
  send(
    resource: Resource,
    caller: Caller,
    current?: Resource
  ): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }>
}

/** Where editions of one collection are read. */
interface RequestTarget {
  path: string
  query: Parameters
  caller: Caller
}

/** A read of editions of one collection. */
interface ResourceQuestion extends RequestTarget {
  resourceType: string
  purpose: Purpose | 'page'
}

/** How a question is put to the CMS. */
interface RequestPlan {
  /** The resource type that the answer is expected to have. */
  resourceType: string
  include: Include
  /** The targets that the caller was shown before. */
  ownTargets: KnownTargets
  /** The page of a list that the answer is, if it is one. */
  page: string | undefined
}

/** An answer, with the urls of its references if they are wanted. */
type ResourceAnswer = JsonapiAnswer & { urlOf?: UrlOf }

/** The purposes of reads without urls. */
const BARE: ReadonlyArray<ResourceQuestion['purpose']> = ['bare', 'anew', 'latest']
/** The purposes of reads that take no part in one that began before. */
const FRESH: ReadonlyArray<ResourceQuestion['purpose']> = ['anew', 'latest']

/** In how many rounds unknown properties are taken out of a body, those of one field in each; core REST ignores any number. */
const DROP_ROUNDS = 50

/** For how many rows of a list Quoin asks for the newest revision, where Drupal shows an earlier one. */
const OUTDATED_MAX = 10

/** In how many languages of a site Quoin looks for an original: the first ones of its content model. */
const LANGUAGES = 5

/** Reads and writes the editions of a site as JSON:API resources, and learns from every answer. */
export function createResources({
  cms,
  model,
  noun,
  catalog,
  shapes,
  targets,
  ids,
  revisions
}: Site): Resources {
  const idAttribute = publicName(model, model.keys.id)
  const includeFor = createIncludes(model)
  const room = createRoom()
  const languages = Object.keys(model.languages ?? {}).slice(0, LANGUAGES)
  /** The attributes of which the url of an edition is made that another one refers to. */
  const ofOwnType = model.languages
    ? publicNames(model, 'path', model.keys.langcode, model.keys.defaultLangcode)
    : []
  /** Named in every request: Drupal completes what it has normalized of an earlier revision, and would show that as the present one. */
  const revisionAttribute = publicNames(model, model.keys.revision)
  /** The edition that a document shows, and the path that it came from. */
  const individuals = new WeakMap<Document, { path: string; edition: LoadedEdition }>()

  /** Reads editions, with the urls of their references where they are wanted. Asks again where the answer shows that the plan was wrong. */
  async function get(
    question: ResourceQuestion,
    resourceType = question.resourceType,
    attempt = 0
  ): Promise<ResourceAnswer> {
    const plan = await planFor(question, resourceType)
    const {
      include: { query },
      ownTargets
    } = plan
    const isBare = BARE.includes(question.purpose)
    const version = question.purpose === 'latest' ? latestVersion(resourceType) : []
    const answer = await cms
      .request({
        path: question.path,
        query: [...question.query, ...query, ...version],
        caller: question.caller,
        isFresh: FRESH.includes(question.purpose)
      })
      .catch((error: unknown) => error as Error)
    if (query.length > 0 && shortened(answer, resourceType)) {
      return get(question, resourceType, attempt + 1)
    }
    if (answer instanceof Error) throw answer
    if (answer.status < 300 && !isBare && ownTargets.documents.has(answer.document)) {
      return { ...answer, urlOf: ownTargets.urlOf }
    }
    if (isExcluded(answer, plan)) {
      // Drupal names one such field at a time. The others may be gone too.
      if (attempt > 0) shapes.keepExcluded(resourceType)
      return get(question, resourceType, attempt + 1)
    }
    if (answer.status === 400 && query.length > 0 && attempt === 0) {
      shapes.forget(resourceType)
      return get(question, resourceType, attempt + 1)
    }
    if (isBare) {
      learnShapes(answer.document)
      return answer
    }
    const otherType = await learn(question, plan, answer.document, attempt > 1)
    await restAfter(answer.bytes)
    return otherType === undefined
      ? { ...answer, urlOf: ownTargets.urlOf }
      : get(question, otherType, attempt + 1)
  }

  /** Whether a URL was too long. If it was, later ones are shorter, and name no field that is gone. */
  function shortened(
    outcome: JsonapiAnswer | Error,
    resourceType: string,
    isWrite = false
  ): boolean {
    if (!isTooLong(outcome, isWrite) || !room.shorten()) return false
    shapes.forget(resourceType)
    return true
  }

  function latestVersion(resourceType: string): Parameters {
    const hasRevisions = shapes.of(resourceType)?.has(String(model.keys.revision)) === true
    return hasRevisions ? [['resourceVersion', 'rel:latest-version']] : []
  }

  /**
   * Plans to include all targets that the caller has not been shown yet. Users are left out as soon as anything is known: Drupal
   * caches no answer that includes them. For the same reason a page that was read before includes nothing.
   */
  async function planFor(
    { path, query, caller, purpose }: ResourceQuestion,
    resourceType: string
  ): Promise<RequestPlan> {
    const ownTargets = targets.of(caller)
    const page = purpose === 'page' ? `${path}?${query.join('&')}` : undefined
    const isComplete = BARE.includes(purpose) || (page !== undefined && ownTargets.pages.has(page))
    const scope = isComplete ? 'none' : ownTargets.targets.size === 0 ? 'all' : 'all but users'
    const include = includeFor(
      shapes.of(resourceType),
      await catalog.all(caller),
      scope,
      room.beside(path, query)
    )
    return { resourceType, include, ownTargets, page }
  }

  /**
   * Takes in the fields and targets that an answer shows, and asks for targets that the plan did not include.
   * @param isLast whether the answer has to do, whatever it shows
   * @returns the resource type to plan for instead, where the answer shows references that the plan does not know
   */
  async function learn(
    question: ResourceQuestion,
    { resourceType, include, ownTargets, page }: RequestPlan,
    document: Document,
    isLast: boolean
  ): Promise<string | undefined> {
    const editions = learnShapes(document)
    const isCovered = editions.every(
      (resource) => resource.type === resourceType && covers(include, resource, model)
    )
    if (!isCovered && !isLast) return editions[0]!.type
    targets.learn(
      ownTargets,
      referencesIn(editions, include.included),
      document,
      question.caller,
      page
    )
    const missingNames = namesWithUnknownTargets(
      editions,
      include.relationships,
      ownTargets.targets
    )
    if (missingNames.length > 0) await learnTargets(question, ownTargets, editions, missingNames)
    await learnOriginals(question, ownTargets, editions, include)
    if (missingNames.length === 0) ownTargets.documents.add(document)
    return undefined
  }

  /** Asks for the targets of some relationships of these editions, and for nothing else. */
  async function learnTargets(
    question: ResourceQuestion,
    ownTargets: KnownTargets,
    editions: Resource[],
    names: string[]
  ): Promise<void> {
    const { type: resourceType, id } = editions[0]!
    const { caller } = question
    const include = await includeTargets(question, resourceType, new Set(names))
    const document = await askTargets(question, resourceType, include)
    const rows = primaryData(document)
    // A page may have moved on by some rows in the meantime, but not by all of them.
    if (rows.length > 0 && !rows.some(({ id }) => editions.some((edition) => edition.id === id))) {
      throw mismatch(`${resourceType} ${id}`, rows[0]!)
    }
    targets.learn(ownTargets, referencesIn(rows, include.included), document, caller)
  }

  /**
   * Asks for the originals of targets that were shown in a translation, since core REST gives the urls of originals: in one
   * language after the other. Where none shows the original, the url stays that of the translation.
   */
  async function learnOriginals(
    question: RequestTarget,
    ownTargets: KnownTargets,
    editions: Resource[],
    { relationships }: Include
  ): Promise<void> {
    if (languages.length < 2) return
    for (const language of languages) {
      const translations = translatedIn(editions, relationships, ownTargets.targets).filter(
        ({ langcode }) => langcode !== language
      )
      if (translations.length === 0) continue
      const { type: resourceType } = editions[0]!
      const include = await includeTargets(
        question,
        resourceType,
        new Set(translations.map(({ relationship }) => relationship))
      )
      callOf(question.caller)?.allow(1)
      const document = await askTargets(question, resourceType, include, language).catch(() => ({}))
      targets.learnOriginals(ownTargets, translations, document)
    }
    targets.settle(ownTargets, translatedIn(editions, relationships, ownTargets.targets))
  }

  /** What to include for these relationships, as many as fit into a URL that names each a second time, as a sparse field. */
  async function includeTargets(
    { path, query, caller }: RequestTarget,
    resourceType: string,
    names: ReadonlySet<string>
  ): Promise<Include> {
    return includeOf(
      shapes.of(resourceType),
      model,
      await catalog.all(caller),
      room.beside(path, query) / 2,
      (name) => names.has(name)
    )
  }

  /** Asks for the targets of the included relationships, and for nothing else. Where a URL is too long for that, they stay unknown. */
  async function askTargets(
    { path, query, caller }: RequestTarget,
    resourceType: string,
    include: Include,
    language?: string
  ): Promise<Document> {
    const fields = [...include.included, ...revisionAttribute, ...ofOwnType].join(',')
    const sparse: Parameters = [...query, ...include.query, [`fields[${resourceType}]`, fields]]
    const answer = await cms
      .request({ path, query: sparse, caller, language })
      .catch((error: unknown) => error as Error)
    if (shortened(answer, resourceType)) return {}
    if (answer instanceof Error) throw answer
    return answer.document
  }

  function learnShapes(document: Document): Resource[] {
    const editions = primaryData(document)
    // A page has no more rows. One with more is refused when it is looked at.
    editions.slice(0, PAGE_MAX).forEach(shapes.learn)
    return editions
  }

  /** Whether an answer fails because Drupal does not include a relationship. From then on no plan includes it. */
  function isExcluded(
    answer: JsonapiAnswer,
    { resourceType, include }: Pick<RequestPlan, 'resourceType' | 'include'>
  ): boolean {
    const name = notIncludable(answer)
    if (name === undefined || !include.included.includes(name)) return false
    shapes.exclude(resourceType, internalName(model, name))
    return true
  }

  async function individual(
    collection: Collection,
    id: EditionId,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition | undefined> {
    const edition = await readIndividual(collection, id, caller, purpose)
    return edition && newestOf(edition, collection, caller, purpose)
  }

  /** The newest revision of an edition, asked for by its id where Drupal has shown an earlier one. */
  async function newestOf(
    edition: LoadedEdition,
    collection: Collection,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition> {
    const revision = revisions.newerThan(edition.resource)
    if (revision === undefined) return edition
    const { id: uuid } = edition.resource
    callOf(caller)?.allow(1)
    const newest = await readIndividual(
      collection,
      { uuid },
      caller,
      purpose === 'latest' ? 'anew' : purpose,
      [['resourceVersion', `id:${revision}`]]
    ).catch(unlessForbidden)
    if (newest && isDefault(newest.resource)) return newest
    // The site was set back, or somebody has saved since.
    revisions.forget(uuid)
    return edition
  }

  /** A caller who may see no more than the label of an edition gets nothing of it. Source: Drupal\jsonapi\JsonApiResource\LabelOnlyResourceObject. */
  async function readIndividual(
    collection: Collection,
    id: EditionId,
    caller: Caller,
    purpose: Purpose,
    version: Parameters = []
  ): Promise<LoadedEdition | undefined> {
    const { resourceType } = collection
    const place =
      'uuid' in id
        ? { path: individualPath(collection, id.uuid), query: version }
        : { path: collection.path, query: idQuery(idAttribute, [id.id]) }
    const answer = await get({ ...place, resourceType, caller, purpose })
    const last = individuals.get(answer.document)
    if (last?.path === place.path && last.edition.urlOf === answer.urlOf) return last.edition
    if (answer.status === 404) return undefined
    if (answer.status >= 400) throw refusal(answer)
    const resources = primaryData(answer.document)
    for (const resource of resources) {
      if (!hasId(resource, id)) {
        throw mismatch(`${noun} ${'uuid' in id ? id.uuid : id.id}`, resource)
      }
    }
    const [resource] = resources
    if (resource && resource.attributes?.[idAttribute] === undefined) {
      throw new Failure('CMS_FORBIDDEN', `You may see only the label of this ${noun}`)
    }
    if (!resource) return undefined
    const edition = learnEdition(resource, answer.urlOf)
    if ('uuid' in id) individuals.set(answer.document, { path: place.path, edition })
    return edition
  }

  /** Whether a resource is the edition asked for, or its label, which has no integer id. */
  function hasId(resource: Resource, editionId: EditionId): boolean {
    const id = integerId(resource, idAttribute)
    const isLabel = resource.attributes?.[idAttribute] === undefined
    return (
      isEdition(resource) &&
      ('uuid' in editionId
        ? isSameUuid(resource.id, editionId.uuid) && (isLabel || id > 0)
        : isLabel || id === Number(editionId.id))
    )
  }

  function isEdition({ type }: Resource): boolean {
    return splitType(model, type).entityType === model.entityType
  }

  function learnEdition(resource: Resource, urlOf: UrlOf = withoutUrls): LoadedEdition {
    ids.learn(resource)
    revisions.learnFrom(resource)
    return { resource, urlOf }
  }

  async function page(
    collection: Collection,
    query: Parameters,
    caller: Caller
  ): Promise<Page<LoadedEdition>> {
    const { resourceType, path } = collection
    return pageOf(await get({ resourceType, path, query, caller, purpose: 'page' }), collection)
  }

  async function newest(rows: LoadedEdition[], caller: Caller): Promise<LoadedEdition[]> {
    const outdated = rows
      .filter(({ resource }) => revisions.newerThan(resource) !== undefined)
      .slice(0, OUTDATED_MAX)
    return Promise.all(
      rows.map(async (row) =>
        outdated.includes(row)
          ? newestOf(row, await collectionOf(row.resource.type, caller), caller, 'edition')
          : row
      )
    )
  }

  async function sparsePage(
    collection: Collection,
    query: Parameters,
    attributes: string[],
    caller: Caller
  ): Promise<Page<LoadedEdition>> {
    const { path, resourceType } = collection
    return pageOf(
      await cms.request({
        path,
        query: [...query, [`fields[${resourceType}]`, attributes.join(',')]],
        caller
      }),
      collection
    )
  }

  function pageOf(
    { urlOf = withoutUrls, ...answer }: ResourceAnswer,
    collection: Collection
  ): Page<LoadedEdition> {
    if (answer.status >= 400) throw refusal(answer)
    const { links, meta } = answer.document
    return {
      rows: rowsOf(resources(answer.document), collection).map((resource) => ({ resource, urlOf })),
      more: links?.next !== undefined,
      bytes: answer.bytes,
      ...(Number.isSafeInteger(meta?.count) && { count: meta!.count as number })
    }
  }

  async function shape(
    resourceType: string,
    incomplete: (shape: Shape) => string[],
    caller: Caller
  ): Promise<Shape | undefined> {
    const collection = await collectionOf(resourceType, caller)
    if (!shapes.of(resourceType)) await page(collection, pageQuery(0, 1, model), caller)
    const names = incomplete(shapes.of(resourceType) ?? new Map())
    await Promise.all(
      names.map(async (name) => {
        const query: Parameters = [
          ...referringQuery(name),
          ['page[limit]', '1'],
          [`fields[${resourceType}]`, name]
        ]
        const { document } = await cms.request({ path: collection.path, query, caller })
        rowsOf(resources(document), collection).forEach(shapes.learn)
      })
    )
    return shapes.of(resourceType)
  }

  async function collectionOf(resourceType: string, caller: Caller): Promise<Collection> {
    return (await catalog.editions(caller)).find(
      (collection) => collection.resourceType === resourceType
    )!
  }

  async function send(
    resource: Resource,
    caller: Caller,
    current?: Resource
  ): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }> {
    const collection = await collectionOf(resource.type, caller)
    const target = current
      ? ({
          method: 'PATCH',
          path: individualPath(collection, resource.id),
          language: languageOf(current, model)
        } as const)
      : ({ method: 'POST', path: collection.path } as const)
    const include = includeFor(
      shapes.of(resource.type),
      await catalog.all(caller),
      'all',
      room.beside(target.path, [])
    )
    return attempt(0)

    async function attempt(
      round: number
    ): Promise<{ saved: LoadedEdition } | { refused: JsonapiAnswer }> {
      const answer = await cms
        .request({ ...target, query: include.query, body: { data: resource }, caller })
        .catch((error: unknown) => error as Error)
      // Nothing was saved: what is before Drupal did not take the URL.
      if (include.query.length > 0 && shortened(answer, resource.type, true)) {
        return send(resource, caller, current)
      }
      if (answer instanceof Error) throw answer
      if (answer.status < 400) {
        return { saved: await saved(answer, resource, collection, include, caller) }
      }
      if (isExcluded(answer, { resourceType: resource.type, include })) {
        throw new Failure(
          'CMS_INVALID_RESPONSE',
          'The CMS could not answer with what the edition refers to'
        )
      }
      const unknown = unknownProperties(answer)
      if (!unknown || round === DROP_ROUNDS || !dropProperties(resource, unknown, model)) {
        return { refused: answer }
      }
      return attempt(round + 1)
    }
  }

  async function saved(
    { document, isElsewhere }: JsonapiAnswer,
    { id }: Resource,
    collection: Collection,
    include: Include,
    caller: Caller
  ): Promise<LoadedEdition> {
    const [resource] = learnShapes(document)
    if (!resource) {
      throw new Failure(
        'CMS_INVALID_RESPONSE',
        'The CMS did not answer with the edition that it was to save'
      )
    }
    if (!isEdition(resource) || !isSameUuid(resource.id, id)) {
      throw mismatch(`edition ${id}`, resource)
    }
    const ownTargets = targets.of(caller)
    // In the edition's language targets may have other aliases than the caller is shown elsewhere.
    if (!isElsewhere) {
      targets.learn(ownTargets, referencesIn([resource], include.included), document, caller)
    }
    const edition = learnEdition(resource, ownTargets.urlOf)
    if (!isElsewhere && covers(include, resource, model)) {
      await learnOriginals(
        { path: individualPath(collection, resource.id), query: [], caller },
        ownTargets,
        [resource],
        include
      )
      return learnEdition(resource, ownTargets.urlOf)
    }
    // The edition is saved. Where the CMS does not answer with the aliases now, its urls are those without.
    return individual(collection, { uuid: resource.id }, caller, 'edition').then(
      (complete) => complete ?? edition,
      () => edition
    )
  }

  return { latestVersion, individual, page, newest, sparsePage, shape, send }
}

/**
 * The language that Drupal shows an edition in. Where Drupal goes by Accept-Language, it refuses to change an edition in a
 * language that the edition does not have. Source: Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
function languageOf({ attributes }: Resource, { keys }: ContentModel): string | undefined {
  return keys.langcode === null ? undefined : languageCode(attributes![keys.langcode])
}

function withoutUrls(): undefined {}

/** Drupal shows a revision that is not the default one to fewer users. */
function unlessForbidden(error: Failure): undefined {
  if (error.code !== 'CMS_FORBIDDEN') throw error
}
