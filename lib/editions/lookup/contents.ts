import type { Caller } from '../../http/calls.ts'
import {
  identifiers,
  oneResource,
  scalarText,
  type Document,
  type Resource
} from '../../drupal/document.ts'
import { publicName, splitType } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { publishedKeys } from '../site/list-site.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import type { Parameters } from '../translate/query.ts'
import { isLost } from '../translate/read.ts'
import { mismatch } from '../translate/verify.ts'
import { fitting, ROOM } from './room.ts'

/** An article of a running order, as far as the caller may see it. */
export interface PlacedArticle {
  /** The field of the edition that holds it. */
  field: string
  entityType: string
  /** Its integer id and uuid; empty where it is gone. */
  id: string
  uuid: string
  /**
   * `hidden`: the caller is not shown the article. `unknown`: the caller is not shown whether it is
   * published.
   */
  state: 'published' | 'unpublished' | 'unknown' | 'hidden' | 'gone'
}

export interface Contents {
  resource: Resource
  articles: PlacedArticle[]
}

/** What the look-up of an edition's articles works with. */
interface ContentsContext extends Pick<Site, 'cms' | 'catalog' | 'model'> {
  /**
   * The attribute of an entity type that says whether an entity is published; null where none does.
   */
  publishedKeyOf: ReturnType<typeof publishedKeys>
}

/** A read of an edition with the articles in some of its relationships. */
interface ContentsQuestion {
  /** The edition, as it was read before. */
  edition: Resource
  path: string
  /** Public names of the relationships. */
  names: string[]
  /** Every collection of the CMS. */
  collections: Collection[]
  caller: Caller
  /** A query that names the version to read; Drupal's default version without it. */
  version: Parameters
}

/**
 * @returns a function that reads an edition together with the state of its articles
 *   (`readContents`)
 */
export function createContents({ cms, catalog, model }: Pick<Site, 'cms' | 'catalog' | 'model'>) {
  const context = { cms, catalog, model, publishedKeyOf: publishedKeys(model) }
  return (edition: Resource, caller: Caller, version?: Parameters): Promise<Contents> =>
    readContents(context, edition, caller, version)
}

/**
 * Reads an edition together with the state of its articles, in one request that began after this
 * was called.
 * @param edition as it was read before
 * @param version a query that names the version to read; Drupal's default version without it
 * @throws {Failure} as the CMS refuses; CMS_INVALID_RESPONSE
 */
export async function readContents(
  context: ContentsContext,
  edition: Resource,
  caller: Caller,
  version: Parameters = []
): Promise<Contents> {
  const { catalog, model } = context
  const { type, id, relationships } = edition
  const collection = (await catalog.editions(caller)).find(
    ({ resourceType }) => resourceType === type
  )!
  const names = model.fields.articles
    .map((field) => publicName(model, field))
    .filter((name) => relationships?.[name])
  return requestContents(context, {
    edition,
    path: individualPath(collection, id),
    names,
    collections: await catalog.all(caller),
    caller,
    version
  })
}

/** Asks with as many of the relationships as Drupal includes. */
async function requestContents(
  context: ContentsContext,
  question: ContentsQuestion
): Promise<Contents> {
  const { edition, path, names, caller, version } = question
  const answer = await context.cms.request({
    path,
    query: [...includeArticles(context, question), ...version],
    caller,
    isFresh: true
  })
  const excludedField = notIncludable(answer)
  if (excludedField !== undefined && names.includes(excludedField)) {
    const rest = names.filter((name) => name !== excludedField)
    return requestContents(context, { ...question, names: rest })
  }
  if (answer.status >= 400) throw refusal(answer)
  const resource = oneResource(answer.document)
  if (resource?.id !== edition.id) {
    throw mismatch(`edition ${edition.id}`, resource ?? { type: '', id: '' })
  }
  return { resource, articles: articlesOf(context, resource, answer.document) }
}

/** The query that includes the articles, of each no more than whether it is published. */
function includeArticles(
  { model, publishedKeyOf }: ContentsContext,
  { edition, names, collections }: ContentsQuestion
): Parameters {
  if (names.length === 0) return []
  const entityTypes = new Set(
    names
      .flatMap((name) => identifiers(edition.relationships![name]))
      .map(({ type }) => splitType(model, type).entityType)
  )
  const sparse = collections
    .filter(({ entityType }) => entityTypes.has(entityType) && entityType !== model.entityType)
    .map(({ resourceType, entityType }): [string, string] => [
      `fields[${resourceType}]`,
      publishedKeyOf(entityType) ?? 'status'
    ])
  return [['include', names.join(',')], ...fitting(sparse, ROOM)]
}

function articlesOf(
  { model, publishedKeyOf }: ContentsContext,
  { relationships }: Resource,
  { included = [] }: Document
): PlacedArticle[] {
  const resources = new Map(
    included.map((resource) => [`${resource.type} ${resource.id}`, resource])
  )
  return model.fields.articles.flatMap((field) =>
    identifiers(relationships?.[publicName(model, field)]).map((identifier): PlacedArticle => {
      const { type, id: uuid, meta } = identifier
      const { entityType } = splitType(model, type)
      if (isLost(identifier)) return { field, entityType, id: '', uuid: '', state: 'gone' }
      const state = stateOf(resources.get(`${type} ${uuid}`), publishedKeyOf(entityType))
      return { field, entityType, id: scalarText(meta?.drupal_internal__target_id), uuid, state }
    })
  )
}

/**
 * Drupal gives a status as a boolean. Whatever else stands there does not tell that the article is
 * published.
 */
function stateOf(
  article: Resource | undefined,
  publishedKey: string | null
): PlacedArticle['state'] {
  if (!article) return 'hidden'
  if (publishedKey === null) return 'published'
  const status = article.attributes?.[publishedKey]
  if (typeof status !== 'boolean') return 'unknown'
  return status ? 'published' : 'unpublished'
}
