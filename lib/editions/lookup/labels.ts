import type { Caller } from '../../http/calls.ts'
import { identifiers, isSameUuid, primaryData, type Document } from '../../drupal/document.ts'
import { publicName, publicNames, splitType } from '../model.ts'
import { individualPath } from '../site/catalog.ts'
import { publishedKeys } from '../site/list-site.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import { mismatch } from '../translate/verify.ts'
import { fitting, ROOM } from './room.ts'
import type { Load } from './finder.ts'
import { createLookMemory, labelOf, LABELS, lookOf, looksIn, URI, type Looks } from './looks.ts'

/** What a page shows of the targets of references, by uuid, without those that the caller may not see. */
export interface Labels extends Looks {
  labels: Record<string, string>
  /** Whether it is published, of what can be. */
  published: Record<string, boolean>
}

/** Reads the labels of an edition's articles and its other references, which its own JSON does not have, and how the articles look. */
export function createLabels(
  { cms, catalog, model, origin }: Pick<Site, 'cms' | 'catalog' | 'model' | 'origin'>,
  load: Load,
  refusedMs?: number
) {
  const memory = createLookMemory(refusedMs)
  const publishedKeyOf = publishedKeys(model)
  const publishedKeyIn = (type: string): string | null =>
    publishedKeyOf(splitType(model, type).entityType)

  /**
   * @param id integer id or uuid of the edition
   * @throws {Failure} as `Load`
   */
  return async function labels(id: string, caller: Caller): Promise<Labels> {
    const { resource } = await load(id, caller, 'bare')
    const articles = model.fields.articles.map((field) => publicName(model, field))
    const others = Object.keys(model.references).map((field) => publicName(model, field))
    const names = [...new Set([...articles, ...others])].filter(
      (name) => resource.relationships?.[name] !== undefined
    )
    const collection = (await catalog.editions(caller)).find(
      ({ resourceType }) => resourceType === resource.type
    )!
    return including(names)

    async function including(names: string[]): Promise<Labels> {
      const typesIn = (name: string) => [
        ...new Set(identifiers(resource.relationships![name]).map(({ type }) => type))
      ]
      const types = new Set(names.flatMap(typesIn))
      if (types.size === 0) return { labels: {}, published: {}, images: {}, sections: {} }
      const looks = names
        .filter((name) => articles.includes(name))
        .flatMap((name) => [
          ...new Set(
            typesIn(name).flatMap((type) => {
              const { image, section } = lookOf(model, type)
              return [image, section].flatMap((path) =>
                path === undefined ? [] : `${name}.${path}`
              )
            })
          )
        ])
      const paths = looks.filter((path) => memory.isOpen(resource.type, path))
      const lookFields = [
        ...(looks.length > 0 ? [URI] : []),
        ...looks.flatMap((path) => path.split('.').slice(1))
      ]
      const fieldsOf = (type: string) => [
        ...LABELS,
        ...publicNames(model, publishedKeyIn(type)),
        ...lookFields
      ]
      const fields = new Map(
        [...types, ...(looks.length > 0 ? memory.reached() : [])].map((type) => [
          type,
          fieldsOf(type)
        ])
      )
      // An edition may refer to an edition of its own type.
      fields.set(resource.type, [...(fields.get(resource.type) ?? []), ...names])
      const sparse = [...fields].map(([type, names]): [string, string] => [
        `fields[${type}]`,
        [...new Set(names)].join(',')
      ])
      const answer = await cms.request({
        path: individualPath(collection, resource.id),
        query: [['include', [...names, ...paths].join(',')], ...fitting(sparse, ROOM)],
        caller
      })
      const excluded = notIncludable(answer)
      if (excluded !== undefined && paths.includes(excluded)) {
        memory.refuse(resource.type, excluded)
        return including(names)
      }
      if (excluded !== undefined && names.includes(excluded)) {
        return including(names.filter((name) => name !== excluded))
      }
      if (answer.status >= 400) throw refusal(answer)
      const other = primaryData(answer.document).find(({ id }) => !isSameUuid(id, resource.id))
      if (other) throw mismatch(`edition ${resource.id}`, other)
      const { included = [] } = answer.document
      memory.reach(included.map(({ type }) => type).filter((type) => !types.has(type)))
      return {
        ...labelsIn(answer.document, publishedKeyIn),
        ...looksIn(included, included, { lookOf: (type) => lookOf(model, type), origin })
      }
    }
  }
}

function labelsIn(
  { included = [] }: Document,
  publishedKeyIn: (type: string) => string | null
): Pick<Labels, 'labels' | 'published'> {
  const result: Pick<Labels, 'labels' | 'published'> = { labels: {}, published: {} }
  for (const resource of included) {
    const label = labelOf(resource)
    if (label !== undefined) result.labels[resource.id] = label
    const status = resource.attributes?.[String(publishedKeyIn(resource.type))]
    if (typeof status === 'boolean') result.published[resource.id] = status
  }
  return result
}
