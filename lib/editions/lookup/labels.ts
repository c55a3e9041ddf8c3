import type { Caller } from '../../http/calls.ts'
import { identifiers, isSameUuid, type Document } from '../../jsonapi/document.ts'
import { publicName } from '../model.ts'
import { individualPath } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import { mismatch } from '../translate/verify.ts'
import type { Load } from './finder.ts'

/** The attributes with the label of a reference's target: of nodes, of media and terms, of users. */
const LABELS = ['title', 'name', 'display_name']

/** The attribute that says whether a target is published. */
const STATUS = 'status'

const FIELDS = [...LABELS, STATUS]

/** What a page shows of the targets of references, by uuid, without those that the caller may not see. */
export interface Labels {
  labels: Record<string, string>
  /** Whether it is published, of what can be. */
  published: Record<string, boolean>
}

/** Reads the labels of an edition's articles and its other references, which its own JSON does not have. */
export function createLabels ({ cms, catalog, model }: Pick<Site, 'cms' | 'catalog' | 'model'>, load: Load) {
  /**
   * @param id integer id or uuid of the edition
   * @throws {Failure} as `Load`
   */
  return async function labels (id: string, caller: Caller): Promise<Labels> {
    const { resource } = await load(id, caller, 'bare')
    const fields = new Set([...model.fields.articles, ...Object.keys(model.references)])
    const names = [...fields].map((field) => publicName(model, field)).filter((name) => resource.relationships?.[name] !== undefined)
    const collection = (await catalog.editions(caller)).find(({ resourceType }) => resourceType === resource.type)!
    return including(names)

    async function including (names: string[]): Promise<Labels> {
      const types = new Set(names.flatMap((name) => identifiers(resource.relationships![name])).map(({ type }) => type))
      if (types.size === 0) return { labels: {}, published: {} }
      const fields = new Map([...types].map((type) => [type, FIELDS]))
      // An edition may refer to an edition of its own type.
      fields.set(resource.type, [...fields.get(resource.type) ?? [], ...names])
      const sparse = [...fields].map(([type, names]): [string, string] => [`fields[${type}]`, names.join(',')])
      const answer = await cms.request({ path: individualPath(collection, resource.id), query: [['include', names.join(',')], ...sparse], caller })
      const excludedField = notIncludable(answer)
      if (excludedField !== undefined && names.includes(excludedField)) return including(names.filter((name) => name !== excludedField))
      if (answer.status >= 400) throw refusal(answer)
      const other = [answer.document.data ?? []].flat().find(({ id }) => !isSameUuid(id, resource.id))
      if (other) throw mismatch(`edition ${resource.id}`, other)
      return labelsIn(answer.document)
    }
  }
}

function labelsIn ({ included = [] }: Document): Labels {
  const result: Labels = { labels: {}, published: {} }
  for (const { id, attributes = {} } of included) {
    const label = LABELS.map((name) => attributes[name]).find((value) => typeof value === 'string')
    if (typeof label === 'string') result.labels[id] = label
    const status = attributes[STATUS]
    if (typeof status === 'boolean') result.published[id] = status
  }
  return result
}
