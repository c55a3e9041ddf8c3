import { isObject } from '../drupal/document.ts'
import { DEFAULT_EDITION_TYPE, type ContentModel } from './model.ts'

/**
 * The names that the examples of this service's schemas have: those of the module `publisher`, and
 * of its sample site.
 */
const ENTITY_TYPE = 'publisher_container'
const BUNDLE_ENTITY_TYPE = 'publisher_container_type'
const ARTICLES = 'field_articles'
const BUNDLES: Array<[bundle: string, label: string]> = [
  ['daily', 'Daily Editions'],
  ['special', 'Special Editions']
]

/**
 * Puts the site's own names into an OpenAPI document whose examples have the default ones. Where
 * the content model names no bundles nothing is known of them, and the examples keep theirs.
 */
export function withNamesOf(model: ContentModel): <T>(document: T) => T {
  const everywhere = replacer(namesOf(model))
  const inExamples = replacer([...namesOf(model), ...bundlesOf(model)])
  const fields = fieldsOf(model)

  function rename(value: unknown): unknown {
    if (typeof value === 'string') return everywhere(value)
    if (Array.isArray(value)) return value.map(rename)
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        (name === 'example' || name === 'examples' ? example : rename)(member)
      ])
    )
  }

  function example(value: unknown): unknown {
    if (typeof value === 'string') return inExamples(value)
    if (Array.isArray(value)) return different(value.map(example))
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, member]): Array<[string, unknown]> => {
        const own = isEdition(value) && fields.has(name) ? fields.get(name)! : inExamples(name)
        return own === null ? [] : [[own, example(member)]]
      })
    )
  }

  return <T>(document: T) => rename(document) as T
}

type Replacements = Array<[name: string, own: string]>

function namesOf({ entityType, bundleEntityType, keys, fields }: ContentModel): Replacements {
  const [anyField] = [fields.key, keys.label].filter((name) => name !== null)
  return [
    [ENTITY_TYPE, entityType],
    [BUNDLE_ENTITY_TYPE, bundleEntityType ?? entityType],
    [DEFAULT_EDITION_TYPE, fields.editionType ?? anyField ?? keys.id],
    [ARTICLES, fields.articles[0] ?? anyField ?? keys.id]
  ]
}

function bundlesOf({ entityType, keys, bundles }: ContentModel): Replacements {
  const names = Object.entries(
    bundles ?? (keys.bundle === null ? { [entityType]: entityType } : {})
  )
  return BUNDLES.flatMap(([bundle, label], index): Replacements => {
    const own = names[index] ?? names[0]
    return own
      ? [
          [bundle, own[0]],
          [label, own[1]]
        ]
      : []
  })
}

/**
 * The fields of an edition in the examples, and what the site calls them; null for one that it does
 * not have.
 */
function fieldsOf({ keys, fields }: ContentModel): Map<string, string | null> {
  return new Map([
    ['id', keys.id],
    ['uuid', keys.uuid],
    ['type', keys.bundle],
    ['status', keys.published],
    ['title', keys.label],
    ['field_key', fields.key],
    [ARTICLES, fields.articles[0] ?? null]
  ])
}

/** Whether it is an edition in the JSON of core REST: every field is a list. */
function isEdition(value: object): boolean {
  return Object.values(value).every(Array.isArray)
}

function replacer(names: Replacements): (text: string) => string {
  const pattern = new RegExp(`\\b(?:${names.map(([name]) => name).join('|')})\\b`, 'g')
  const own = new Map(names)
  return (text) => text.replaceAll(pattern, (name) => own.get(name)!)
}

/** Where a site has one bundle, the examples of two are one. */
function different(values: unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}
