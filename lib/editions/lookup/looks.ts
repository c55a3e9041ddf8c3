import { LRUCache } from 'lru-cache'
import { identifiers, isObject, type Resource } from '../../drupal/document.ts'
import { splitType, type ContentModel } from '../model.ts'

/** How long the url of an image may be. */
const URL_MAX = 2048

/** How many characters of a section are shown. */
export const SECTION_MAX = 255

/** The attribute of files with their address. */
export const URI = 'uri'

/**
 * The attributes with the label of a reference's target: of nodes, of media and terms, of users.
 */
export const LABELS = ['title', 'name', 'display_name']

/**
 * How many refused paths are remembered, and for how long, in milliseconds: a site may get the
 * field.
 */
const REFUSED_MAX = 100
const REFUSED_MS = 600_000

/** Of how many resource types of images and sections the fields are named. */
const REACHED_MAX = 20

/**
 * What a page shows of articles besides their labels, by their uuids, as far as the content model
 * names it and the caller may see it.
 */
export interface Looks {
  /** Urls, all of the CMS's own origin. */
  images: Record<string, string>
  sections: Record<string, string>
}

/** Fields of articles: a path to the image, and the section. */
export interface Look {
  image: string | undefined
  section: string | undefined
}

/**
 * Where the entities of a resource type have their image and section: those of the first list that
 * names them.
 */
export function lookOf(model: ContentModel, resourceType: string): Look {
  const { entityType, bundle } = splitType(model, resourceType)
  const lists = Object.values(model.lists).filter(
    (list) => list.entityType === entityType && list.bundles?.includes(bundle) !== false
  )
  return {
    image: lists.find(({ image }) => image)?.image,
    section: lists.find(({ section }) => section)?.section
  }
}

/** What requests that include images and sections have learned of a site. */
export interface LookMemory {
  /** Whether Drupal may include a path of a resource type. */
  isOpen(resourceType: string, path: string): boolean
  /** Notes that Drupal does not include a path. */
  refuse(resourceType: string, path: string): void
  /** The resource types that the paths have led to, so that the next request names their fields. */
  reached(): Iterable<string>
  /** Notes resource types that the paths have led to. */
  reach(types: Iterable<string>): void
}

export function createLookMemory(refusedMs = REFUSED_MS): LookMemory {
  /** Paths that Drupal does not include, such as `issue--daily field_articles.field_section`. */
  const refusedPaths = new LRUCache<string, true>({ max: REFUSED_MAX, ttl: refusedMs })
  const reached = new Set(['file--file'])

  return {
    isOpen: (resourceType, path) => !refusedPaths.has(`${resourceType} ${path}`),
    refuse: (resourceType, path) => {
      refusedPaths.set(`${resourceType} ${path}`, true)
    },
    reached: () => reached,
    reach(types) {
      for (const type of types) if (reached.size < REACHED_MAX) reached.add(type)
    }
  }
}

export interface LooksOptions {
  lookOf: (resourceType: string) => Look
  /** The origin of the CMS. */
  origin: string
}

/** The images and sections of articles, in a document that includes what they refer to. */
export function looksIn(
  articles: Resource[],
  included: Resource[],
  { lookOf, origin }: LooksOptions
): Looks {
  const resources = new Map(
    included.map((resource) => [`${resource.type} ${resource.id}`, resource])
  )
  const looks: Looks = { images: {}, sections: {} }
  for (const article of articles) {
    const { image, section } = lookOf(article.type)
    const url =
      image &&
      targets(article, image.split('.'))
        .map((file) => urlOf(file, origin))
        .find((url) => url !== undefined)
    const text =
      section &&
      (textOf(article.attributes?.[section]) ??
        targets(article, [section])
          .map(labelOf)
          .find((label) => label !== undefined))
    if (url) looks.images[article.id] = url
    if (text) looks.sections[article.id] = text.slice(0, SECTION_MAX)
  }
  return looks

  function targets({ relationships }: Resource, [name, ...rest]: string[]): Resource[] {
    const next = identifiers(relationships?.[name!]).flatMap(
      ({ type, id }) => resources.get(`${type} ${id}`) ?? []
    )
    return rest.length === 0 ? next : next.flatMap((resource) => targets(resource, rest))
  }
}

/**
 * The url of a file, if the page may load it: its Content-Security-Policy allows the CMS's origin
 * alone.
 */
function urlOf({ attributes: { [URI]: uri } = {} }: Resource, origin: string): string | undefined {
  const url = isObject(uri) && typeof uri.url === 'string' ? URL.parse(uri.url, origin) : null
  // `blob:` has the origin of what follows it.
  return url?.origin === origin && url.protocol !== 'blob:' && url.href.length <= URL_MAX
    ? url.href
    : undefined
}

/** What the target of a reference is called, as far as the caller may see it. */
export function labelOf({ attributes = {} }: Resource): string | undefined {
  return LABELS.map((name) => attributes[name]).find((value) => typeof value === 'string')
}

/** The first value of a text or list field. */
function textOf(value: unknown): string | undefined {
  return [value].flat().find((text) => typeof text === 'string')
}
