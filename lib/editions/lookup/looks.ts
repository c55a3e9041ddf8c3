import { identifiers, isObject, type Document, type Resource } from '../../jsonapi/document.ts'
import { splitType, type ContentModel } from '../model.ts'

/** How long the url of an image may be. */
const URL_MAX = 2048

/** How many characters of a section are shown. */
const SECTION_MAX = 255

/** The attribute of files with their address. */
export const URI = 'uri'

/** What a page shows of articles besides their labels, by their uuids, as far as the content model names it and the caller may see it. */
export interface Looks {
  /** Urls, all of the CMS's own origin. */
  images: Record<string, string>
  sections: Record<string, string>
}

/** Where the entities of a resource type have their image and section: those of the first list that names them. */
export function lookOf (model: ContentModel, resourceType: string): { image: string | undefined, section: string | undefined } {
  const { entityType, bundle } = splitType(model, resourceType)
  const lists = Object.values(model.lists).filter((list) => list.entityType === entityType && list.bundles?.includes(bundle) !== false)
  return { image: lists.find(({ image }) => image)?.image, section: lists.find(({ section }) => section)?.section }
}

export interface LooksOptions {
  model: ContentModel
  /** The origin of the CMS. */
  origin: string
  labelOf: (resource: Resource) => string | undefined
}

/** The images and sections of articles, in a document that includes what they refer to. */
export function looksIn ({ included = [] }: Document, { model, origin, labelOf }: LooksOptions): Looks {
  const resources = new Map(included.map((resource) => [`${resource.type} ${resource.id}`, resource]))
  const looks: Looks = { images: {}, sections: {} }
  for (const article of included) {
    const { image, section } = lookOf(model, article.type)
    const url = image && targets(article, image.split('.')).map((file) => urlOf(file, origin)).find((url) => url !== undefined)
    const text = section && (textOf(article.attributes?.[section]) ?? targets(article, [section]).map(labelOf).find((label) => label !== undefined))
    if (url) looks.images[article.id] = url
    if (text) looks.sections[article.id] = text.slice(0, SECTION_MAX)
  }
  return looks

  function targets ({ relationships }: Resource, [name, ...rest]: string[]): Resource[] {
    const next = identifiers(relationships?.[name!]).flatMap(({ type, id }) => resources.get(`${type} ${id}`) ?? [])
    return rest.length === 0 ? next : next.flatMap((resource) => targets(resource, rest))
  }
}

/** The url of a file, if the page may load it: its Content-Security-Policy allows the CMS's origin alone. */
function urlOf ({ attributes: { [URI]: uri } = {} }: Resource, origin: string): string | undefined {
  const url = isObject(uri) && typeof uri.url === 'string' ? URL.parse(uri.url, origin) : null
  return url?.origin === origin && url.href.length <= URL_MAX ? url.href : undefined
}

/** The first value of a text or list field. */
function textOf (value: unknown): string | undefined {
  return [value].flat().find((text) => typeof text === 'string')
}
