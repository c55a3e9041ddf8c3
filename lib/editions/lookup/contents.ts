import type { Caller } from '../../http/calls.ts'
import {
  identifiers,
  oneResource,
  scalarText,
  type Document,
  type Resource
} from '../../drupal/document.ts'
import { publicName, splitType } from '../model.ts'
import { individualPath } from '../site/catalog.ts'
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
  /** `hidden`: the caller is not shown the article. `unknown`: the caller is not shown whether it is published. */
  state: 'published' | 'unpublished' | 'unknown' | 'hidden' | 'gone'
}

export interface Contents {
  resource: Resource
  articles: PlacedArticle[]
}

/** Reads an edition together with the state of its articles, in one request that began after this was called. */
export function createContents({ cms, catalog, model }: Pick<Site, 'cms' | 'catalog' | 'model'>) {
  const publishedKeyOf = publishedKeys(model)

  /**
   * @param known the edition, as it was read before
   * @param version a query that names the version to read; Drupal's default version without it
   * @throws {Failure} as the CMS refuses; CMS_INVALID_RESPONSE
   */
  return async function contents(
    { type, id, relationships }: Resource,
    caller: Caller,
    version: Parameters = []
  ): Promise<Contents> {
    const collection = (await catalog.editions(caller)).find(
      ({ resourceType }) => resourceType === type
    )!
    const collections = await catalog.all(caller)
    return including(
      model.fields.articles
        .map((field) => publicName(model, field))
        .filter((name) => relationships?.[name])
    )

    async function including(names: string[]): Promise<Contents> {
      const entityTypes = new Set(
        names
          .flatMap((name) => identifiers(relationships![name]))
          .map(({ type }) => splitType(model, type).entityType)
      )
      const sparse = collections
        .filter(({ entityType }) => entityTypes.has(entityType) && entityType !== model.entityType)
        .map(({ resourceType, entityType }): [string, string] => [
          `fields[${resourceType}]`,
          publishedKeyOf(entityType) ?? 'status'
        ])
      const include: Parameters =
        names.length === 0 ? [] : [['include', names.join(',')], ...fitting(sparse, ROOM)]
      const answer = await cms.request({
        path: individualPath(collection, id),
        query: [...include, ...version],
        caller,
        isFresh: true
      })
      const excludedField = notIncludable(answer)
      if (excludedField !== undefined && names.includes(excludedField)) {
        return including(names.filter((name) => name !== excludedField))
      }
      if (answer.status >= 400) throw refusal(answer)
      const resource = oneResource(answer.document)
      if (resource?.id !== id) throw mismatch(`edition ${id}`, resource ?? { type: '', id: '' })
      return { resource, articles: articlesOf(resource, answer.document) }
    }
  }

  function articlesOf({ relationships }: Resource, { included = [] }: Document): PlacedArticle[] {
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
}

/** Drupal gives a status as a boolean. Whatever else stands there does not tell that the article is published. */
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
