import { primaryData, type Document, type Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import type { Collection } from '../site/catalog.ts'
import {
  namesWithUnknownTargets,
  referencesIn,
  translatedIn,
  type KnownTargets,
  type TranslatedReference
} from '../site/targets.ts'
import { PAGE_MAX, uuidQuery, type Parameters } from '../translate/query.ts'
import { mismatch } from '../translate/verify.ts'
import { covers, includeFor, includeOf, TARGET_ATTRIBUTES, type Include } from './include.ts'
import {
  shortenUrls,
  type RequestPlan,
  type RequestTarget,
  type ResourceQuestion
} from './request-plan.ts'
import type { ResourceContext } from './resource-context.ts'

/** Takes in the fields that a document shows. @returns its editions */
export function learnShapes(context: ResourceContext, document: Document): Resource[] {
  const editions = primaryData(document)
  learnFields(context, editions)
  return editions
}

function learnFields({ shapes }: ResourceContext, editions: Resource[]): void {
  // A page has no more rows. One with more is refused when it is looked at.
  editions.slice(0, PAGE_MAX).forEach(shapes.learn)
}

/**
 * Takes in the fields and targets that an answer shows, and asks for targets that the plan did not
 * include.
 * @param isLast whether the answer has to do, whatever it shows
 * @returns the resource type to plan for instead, where the answer shows references that the plan
 *   does not know
 */
export async function learnDocument(
  context: ResourceContext,
  question: ResourceQuestion,
  plan: RequestPlan,
  document: Document,
  isLast: boolean
): Promise<string | undefined> {
  const { model, targets } = context
  const { resourceType, include, ownTargets, page } = plan
  const all = primaryData(document)
  // What includes nothing shows nothing new of rows that have come before.
  const editions =
    include.included.length > 0 ? all : all.filter((row) => !ownTargets.resources.has(row))
  learnFields(context, editions)
  const isCovered = editions.every(
    (resource) => resource.type === resourceType && covers(include, resource, model)
  )
  if (!isCovered && !isLast) return editions[0]!.type
  const references = referencesIn(editions, include.included)
  targets.learn(ownTargets, references, document, question.caller, page)
  const missingNames = namesWithUnknownTargets(editions, include.relationships, ownTargets.targets)
  if (missingNames.length > 0) {
    await learnTargets(context, question, ownTargets, all, missingNames)
  }
  await learnOriginals(context, question, ownTargets, editions, include)
  if (missingNames.length > 0) return undefined
  ownTargets.documents.add(document)
  for (const edition of editions) ownTargets.resources.add(edition)
  return undefined
}

/** Asks for those targets of an edition that its caller was not shown lately. */
export async function learnMissingTargets(
  context: ResourceContext,
  question: RequestTarget,
  ownTargets: KnownTargets,
  resource: Resource
): Promise<void> {
  const include = includeFor(context, {
    shape: context.shapes.of(resource.type),
    collections: await context.catalog.all(question.caller),
    scope: 'none',
    room: context.room.beside(question.path, question.query)
  })
  const { relationships } = include
  const names = namesWithUnknownTargets([resource], relationships, ownTargets.targets)
  if (names.length > 0) await learnTargets(context, question, ownTargets, [resource], names)
  await learnOriginals(context, question, ownTargets, [resource], include)
}

/** Asks for the targets of some relationships of these editions, and for nothing else. */
async function learnTargets(
  context: ResourceContext,
  question: RequestTarget,
  ownTargets: KnownTargets,
  editions: Resource[],
  names: string[]
): Promise<void> {
  const { type: resourceType, id } = editions[0]!
  const include = await includeTargets(context, question, resourceType, new Set(names))
  const document = await askTargets(context, question, resourceType, include)
  const rows = primaryData(document)
  // A page may have moved on by some rows in the meantime, but not by all of them.
  if (rows.length > 0 && !rows.some(({ id }) => editions.some((edition) => edition.id === id))) {
    throw mismatch(`${resourceType} ${id}`, rows[0]!)
  }
  const references = referencesIn(rows, include.included)
  context.targets.learn(ownTargets, references, document, question.caller)
}

/**
 * Asks for the originals of targets that were shown in a translation, since core REST gives the
 * urls of originals: in one language after the other. Where none shows the original, the url stays
 * that of the translation.
 */
export async function learnOriginals(
  context: ResourceContext,
  question: RequestTarget,
  ownTargets: KnownTargets,
  editions: Resource[],
  { relationships }: Include
): Promise<void> {
  const { languages, targets } = context
  if (languages.length < 2) return
  for (const language of languages) {
    const translations = translatedIn(editions, relationships, ownTargets.targets).filter(
      ({ langcode }) => langcode !== language
    )
    if (translations.length === 0) continue
    const { type: resourceType } = editions[0]!
    const names = new Set(translations.map(({ relationship }) => relationship))
    const include = await includeTargets(context, question, resourceType, names)
    question.caller.budget?.allow(1)
    const document = await askTargets(context, question, resourceType, include, language).catch(
      () => ({})
    )
    targets.learnOriginals(ownTargets, translations, document)
  }
  await learnOriginalsByUuid(context, question.caller, ownTargets, editions, relationships)
  targets.settle(ownTargets, translatedIn(editions, relationships, ownTargets.targets))
}

/**
 * Asks for those originals that the editions do not refer to in another language, where they may
 * have other references: by their uuids, in one language after the other.
 */
async function learnOriginalsByUuid(
  context: ResourceContext,
  caller: Caller,
  ownTargets: KnownTargets,
  editions: Resource[],
  relationships: ReadonlySet<string>
): Promise<void> {
  const { catalog, languages, targets } = context
  for (const language of languages) {
    const translations = translatedIn(editions, relationships, ownTargets.targets).filter(
      ({ langcode }) => langcode !== language
    )
    if (translations.length === 0) continue
    const collections = await catalog.all(caller)
    const ofTypes = Map.groupBy(translations, ({ type }) => type)
    await Promise.all(
      collections.flatMap((collection) =>
        chunksOf(ofTypes.get(collection.resourceType) ?? []).map(async (references) => {
          const document = await askOriginals(context, collection, references, caller, language)
          targets.learnOriginals(ownTargets, references, document)
        })
      )
    )
  }
}

/** References in groups that one page has room for; each entity once. */
function chunksOf(references: TranslatedReference[]): TranslatedReference[][] {
  const each = [...new Map(references.map((reference) => [reference.id, reference])).values()]
  return Array.from({ length: Math.ceil(each.length / PAGE_MAX) }, (_, index) =>
    each.slice(index * PAGE_MAX, (index + 1) * PAGE_MAX)
  )
}

/** A document that includes entities as they are in a language, as far as filters find them. */
async function askOriginals(
  { cms, ownAttributes }: ResourceContext,
  { path, resourceType }: Collection,
  references: TranslatedReference[],
  caller: Caller,
  language: string
): Promise<Document> {
  caller.budget?.allow(1)
  const query: Parameters = [
    ...uuidQuery(references.map(({ id }) => id)),
    [`fields[${resourceType}]`, [TARGET_ATTRIBUTES, ...ownAttributes].join(',')]
  ]
  const answer = await cms.request({ path, query, caller, language }).catch(() => undefined)
  return { included: primaryData(answer?.document ?? {}) }
}

/**
 * What to include for these relationships, as many as fit into a URL that names each a second time,
 * as a sparse field.
 */
async function includeTargets(
  { shapes, model, catalog, room }: ResourceContext,
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

/**
 * Asks for the targets of the included relationships, and for nothing else. Where a URL is too long
 * for that, they stay unknown.
 */
async function askTargets(
  context: ResourceContext,
  { path, query, caller }: RequestTarget,
  resourceType: string,
  include: Include,
  language?: string
): Promise<Document> {
  const fields = [...include.included, ...context.ownAttributes].join(',')
  const sparse: Parameters = [...query, ...include.query, [`fields[${resourceType}]`, fields]]
  const answer = await context.cms
    .request({ path, query: sparse, caller, language })
    .catch((error: unknown) => error as Error)
  if (shortenUrls(context, answer, resourceType)) return {}
  if (answer instanceof Error) throw answer
  return answer.document
}
