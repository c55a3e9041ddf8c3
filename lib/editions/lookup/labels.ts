import type { Caller } from '../../http/calls.ts'
import {
  identifiers,
  isSameUuid,
  primaryData,
  type Document,
  type Resource
} from '../../drupal/document.ts'
import { publicName, publicNames, splitType, type ContentModel } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import { publishedKeys } from '../site/list-site.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import type { Parameters } from '../translate/query.ts'
import { mismatch } from '../translate/verify.ts'
import { fitting, ROOM } from './room.ts'
import type { Load } from './finder.ts'
import {
  createLookMemory,
  labelOf,
  LABELS,
  lookOf,
  looksIn,
  URI,
  type LookMemory,
  type Looks
} from './looks.ts'

/**
 * What a page shows of the targets of references, by uuid, without those that the caller may not
 * see.
 */
export interface Labels extends Looks {
  labels: Record<string, string>
  /** Whether it is published, of what can be. */
  published: Record<string, boolean>
}

/** What the look-up of labels works with. */
interface LabelsContext extends Pick<Site, 'cms' | 'catalog' | 'model' | 'origin'> {
  load: Load
  memory: LookMemory
  /**
   * The attribute of a resource type that says whether an entity is published; null where none
   * does.
   */
  publishedKeyIn(resourceType: string): string | null
}

/** An edition, and the relationships that a request for its labels includes. */
interface LabelsQuestion {
  resource: Resource
  collection: Collection
  /** Public names of the relationships. */
  names: string[]
  caller: Caller
}

/**
 * @returns a function that reads the labels of an edition by its integer id or uuid (`readLabels`)
 */
export function createLabels(
  { cms, catalog, model, origin }: Pick<Site, 'cms' | 'catalog' | 'model' | 'origin'>,
  load: Load,
  refusedMs?: number
): (id: string, caller: Caller) => Promise<Labels> {
  const publishedKeyOf = publishedKeys(model)
  const context: LabelsContext = {
    cms,
    catalog,
    model,
    origin,
    load,
    memory: createLookMemory(refusedMs),
    publishedKeyIn: (type) => publishedKeyOf(splitType(model, type).entityType)
  }
  return (id, caller) => readLabels(context, id, caller)
}

/**
 * Reads the labels of an edition's articles and its other references, which its own JSON does not
 * have, and how the articles look.
 * @param id integer id or uuid of the edition
 * @throws {Failure} as `Load`
 */
export async function readLabels(
  context: LabelsContext,
  id: string,
  caller: Caller
): Promise<Labels> {
  const { load, catalog, model } = context
  const { resource } = await load(id, caller, 'bare')
  const fields = [...model.fields.articles, ...Object.keys(model.references)]
  const names = [...new Set(fields.map((field) => publicName(model, field)))].filter(
    (name) => resource.relationships?.[name] !== undefined
  )
  const collection = (await catalog.editions(caller)).find(
    ({ resourceType }) => resourceType === resource.type
  )!
  return requestLabels(context, { resource, collection, names, caller })
}

/** Asks for the labels in as many of the relationships as Drupal includes. */
async function requestLabels(context: LabelsContext, question: LabelsQuestion): Promise<Labels> {
  const { cms, memory, model, origin, publishedKeyIn } = context
  const { resource, collection, names, caller } = question
  const types = new Set(names.flatMap((name) => typesIn(resource, name)))
  if (types.size === 0) return { labels: {}, published: {}, images: {}, sections: {} }
  const looks = lookPaths(resource, names, model)
  const paths = looks.filter((path) => memory.isOpen(resource.type, path))
  const sparse = sparseFields(context, question, types, looks)
  const answer = await cms.request({
    path: individualPath(collection, resource.id),
    query: [['include', [...names, ...paths].join(',')], ...fitting(sparse, ROOM)],
    caller
  })
  const excluded = notIncludable(answer)
  if (excluded !== undefined && paths.includes(excluded)) {
    memory.refuse(resource.type, excluded)
    return requestLabels(context, question)
  }
  if (excluded !== undefined && names.includes(excluded)) {
    const rest = names.filter((name) => name !== excluded)
    return requestLabels(context, { ...question, names: rest })
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

/** The resource types that an edition refers to in a relationship. */
function typesIn({ relationships }: Resource, name: string): string[] {
  return [...new Set(identifiers(relationships![name]).map(({ type }) => type))]
}

/** The paths to the images and sections of an edition's articles. */
function lookPaths(resource: Resource, names: string[], model: ContentModel): string[] {
  const articles = model.fields.articles.map((field) => publicName(model, field))
  return names
    .filter((name) => articles.includes(name))
    .flatMap((name) => {
      const looks = typesIn(resource, name).map((type) => lookOf(model, type))
      const ends = looks.flatMap(({ image, section }) => [image, section])
      return [...new Set(ends.flatMap((end) => (end === undefined ? [] : `${name}.${end}`)))]
    })
}

/**
 * The fields that a request for labels names.
 * @param types the resource types that the edition refers to
 * @param looks the paths to images and sections
 */
function sparseFields(
  { memory, model, publishedKeyIn }: LabelsContext,
  { resource, names }: LabelsQuestion,
  types: Set<string>,
  looks: string[]
): Parameters {
  const hasLooks = looks.length > 0
  const lookFields = looks.flatMap((path) => path.split('.').slice(1))
  const fieldsOf = (type: string): string[] => [
    ...LABELS,
    ...publicNames(model, publishedKeyIn(type)),
    ...(hasLooks ? [URI] : []),
    ...lookFields
  ]
  const allTypes = [...types, ...(hasLooks ? memory.reached() : [])]
  const fields = new Map(allTypes.map((type) => [type, fieldsOf(type)]))
  // An edition may refer to an edition of its own type.
  fields.set(resource.type, [...(fields.get(resource.type) ?? []), ...names])
  return [...fields].map(([type, names]) => [`fields[${type}]`, [...new Set(names)].join(',')])
}

/** The labels in a document, and whether what they belong to is published. */
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
