import type { Resource } from '../../../lib/drupal/document.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import type { Ask } from './ask.ts'
import { attributesOf, isConfigured, isText, isUnique, relationsOf } from './attributes.ts'
import { KEY } from './fields.ts'

/** Which bundles of an entity type are editions, where their articles are of the same type. */
export interface BundleProposal {
  /** All bundles of the entity type. */
  bundles: string[]
  /** Those that look like editions; empty where nothing tells. */
  editions: string[]
  /** From what that was concluded, or why nothing could be. */
  why: string
}

/** Entity types of core beside nodes that may hold articles: a magazine's issues may be terms. */
export const CORE_CONTENT = ['taxonomy_term', 'media', 'block_content']

/** A reference field of one bundle. */
interface BundleField {
  bundle: string
  field: string
  /** How many of its targets are of each bundle of the same entity type, on average. */
  counts: Map<string, number>
}

/**
 * Proposes the bundles that are editions, by the first page of each: those that hold the field with
 * the most references to bundles that do not refer back by it, and those that share their key.
 * @returns undefined where each bundle is one: the entity type has one, or its articles are of
 *   another type
 */
export async function proposeBundles(
  { list }: Ask,
  entityType: string,
  collections: Collection[]
): Promise<BundleProposal | undefined> {
  const own = collections.filter((collection) => collection.entityType === entityType)
  if (own.length < 2) return undefined
  const pages = await Promise.all(
    own.map(async ({ bundle, path }) => ({ bundle, rows: (await list(path)).rows }))
  )
  const bundleOf = new Map(own.map(({ resourceType, bundle }) => [resourceType, bundle]))
  if (entityType !== 'node' && !refersToItself(pages, bundleOf)) {
    return CORE_CONTENT.includes(entityType) ? holdersOfNodes(pages) : undefined
  }
  const fields = pages.flatMap(({ bundle, rows }) => fieldsOf(bundle, rows, bundleOf))
  const bundles = own.map(({ bundle }) => bundle)
  const [fullest] = fields
    .map((field) => ({ ...field, outward: outwardOf(field, fields) }))
    .filter(({ outward }) => outward > 0)
    .toSorted((one, other) => other.outward - one.outward)
  if (!fullest) {
    return {
      bundles,
      editions: [],
      why: `no ${entityType} that can be seen refers to any number of another bundle`
    }
  }
  const { field } = fullest
  const sharing = fields.filter((other) => other.field === field)
  const targets = new Set(
    sharing.filter((one) => outwardOf(one, fields) > 0).flatMap(({ counts }) => [...counts.keys()])
  )
  const holders = sharing.map(({ bundle }) => bundle).filter((bundle) => !targets.has(bundle))
  const keys = keysOf(pages, holders)
  const sharingKey = pages
    .filter(
      ({ bundle, rows }) =>
        !targets.has(bundle) && attributesOf(rows).some(({ name }) => keys.includes(name))
    )
    .map(({ bundle }) => bundle)
  const editions = bundles.filter(
    (bundle) => holders.includes(bundle) || sharingKey.includes(bundle)
  )
  return {
    bundles,
    editions,
    why: `they hold ${[field, ...keys].join(', ')}; ${[...targets].join(', ')} are what ${field} refers to`
  }
}

interface BundlePage {
  bundle: string
  rows: Resource[]
}

/** The fields of entities that hold any number of nodes. */
export function nodeFields(rows: Resource[]): string[] {
  return relationsOf(rows)
    .filter(({ many, targets }) => many && targets.some(({ type }) => type.startsWith('node--')))
    .map(({ name }) => name)
}

/**
 * Of an entity type of core, the bundles that hold any number of nodes: its others are what any site
 * has. Those of which nothing can be seen may be editions too.
 */
function holdersOfNodes(pages: BundlePage[]): BundleProposal | undefined {
  const names = new Set(pages.flatMap(({ rows }) => nodeFields(rows)))
  const isHolder = ({ rows }: BundlePage) =>
    rows.length === 0 || relationsOf(rows).some(({ name }) => names.has(name))
  const editions = pages.filter(isHolder).map(({ bundle }) => bundle)
  if (names.size === 0 || editions.length === pages.length) return undefined
  return {
    bundles: pages.map(({ bundle }) => bundle),
    editions,
    why: `they hold nodes in ${[...names].join(', ')}`
  }
}

/** Whether any number of entities of the type itself are referred to, and no nodes. */
function refersToItself(pages: BundlePage[], bundleOf: ReadonlyMap<string, string>): boolean {
  const types = pages
    .flatMap(({ rows }) => relationsOf(rows))
    .filter(({ many }) => many)
    .flatMap(({ targets }) => targets.map(({ type }) => type))
  return (
    types.some((type) => bundleOf.has(type)) && !types.some((type) => type.startsWith('node--'))
  )
}

function fieldsOf(
  bundle: string,
  rows: Resource[],
  bundleOf: ReadonlyMap<string, string>
): BundleField[] {
  return relationsOf(rows)
    .filter(({ many }) => many)
    .map(({ name, targets }) => {
      const counts = new Map<string, number>()
      for (const { type } of targets) {
        const target = bundleOf.get(type)
        if (target !== undefined) counts.set(target, (counts.get(target) ?? 0) + 1 / rows.length)
      }
      return { bundle, field: name, counts }
    })
}

/** How many references, on average, lead to another bundle that does not refer back by the same field. */
function outwardOf({ bundle, field, counts }: BundleField, fields: BundleField[]): number {
  const refersBack = (target: string) =>
    fields.some(
      (other) => other.field === field && other.bundle === target && other.counts.has(bundle)
    )
  return [...counts]
    .filter(([target]) => target !== bundle && !refersBack(target))
    .reduce((sum, [, count]) => sum + count, 0)
}

/** The fields that are called like a key and have another text in each edition. */
function keysOf(pages: BundlePage[], editions: string[]): string[] {
  const rows = pages.filter(({ bundle }) => editions.includes(bundle)).flatMap(({ rows }) => rows)
  return attributesOf(rows)
    .filter(
      (attribute) =>
        isConfigured(attribute.name) &&
        KEY.test(attribute.name) &&
        isText(attribute) &&
        isUnique(attribute)
    )
    .map(({ name }) => name)
}
