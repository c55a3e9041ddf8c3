import { scalarText, type Resource } from '../../../lib/drupal/document.ts'
import { INTERNAL } from '../../../lib/editions/model.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import type { Ask } from './ask.ts'
import { CORE_CONTENT, nodeFields, proposeBundles } from './bundles.ts'

/**
 * Entity types of Drupal core and of modules that nearly every site has: what editions refer to,
 * and configuration.
 */
const COMMON = new Set([
  'node',
  'taxonomy_term',
  'user',
  'file',
  'media',
  'comment',
  'block_content',
  'menu_link_content',
  'path_alias',
  'shortcut',
  'contact_message',
  'content_moderation_state',
  'workspace',
  'paragraph',
  'redirect',
  'search_api_task',
  'crop',
  'webform_submission',
  'oauth2_token',
  'consumer',
  'action',
  'base_field_override',
  'block',
  'block_content_type',
  'comment_type',
  'configurable_language',
  'contact_form',
  'date_format',
  'editor',
  'entity_form_display',
  'entity_form_mode',
  'entity_view_display',
  'entity_view_mode',
  'field_config',
  'field_storage_config',
  'filter_format',
  'image_style',
  'language_content_settings',
  'media_type',
  'menu',
  'node_type',
  'paragraphs_type',
  'responsive_image_style',
  'rest_resource_config',
  'search_page',
  'shortcut_set',
  'taxonomy_vocabulary',
  'tour',
  'user_role',
  'view',
  'workflow'
])

/** How many bundles of an entity type of core are looked at. */
const TRIES = 20

/** Of the types in COMMON, those that could hold editions where there is nothing else. */
const SECOND_BEST = ['node', 'media']

/** An entity type that may be that of editions. */
export interface Candidate {
  entityType: string
  bundles: string[]
  /** How many of its entities the account sees on the first page of a bundle. */
  seen: number
  /** Whether one of them has a field for any number of nodes. */
  holdsNodes: boolean
}

/**
 * The content entity types of a site that are not Drupal core's, and those of core that hold nodes.
 * Nodes are one more where they hold articles and none of those does.
 */
export async function candidatesIn(ask: Ask, collections: Collection[]): Promise<Candidate[]> {
  const { list } = ask
  const byType = Map.groupBy(
    collections.filter(({ entityType }) => !COMMON.has(entityType)),
    ({ entityType }) => entityType
  )
  const candidates = await Promise.all(
    [...byType].map(async ([entityType, ofType]): Promise<Candidate[]> => {
      const { rows } = await list(ofType[0]!.path)
      const isConfiguration =
        rows.length > 0
          ? isConfig(rows[0]!)
          : ofType.length === 1 && ofType[0]!.bundle === entityType
      return isConfiguration
        ? []
        : [
            {
              entityType,
              bundles: ofType.map(({ bundle }) => bundle),
              seen: rows.length,
              holdsNodes: nodeFields(rows).length > 0
            }
          ]
    })
  )
  const own = candidates.flat()
  if (own.some(({ holdsNodes }) => holdsNodes)) return own
  const all = [...own, ...(await coreHolders(ask, collections))]
  const nodes = await proposeBundles(ask, 'node', collections)
  const areNodes = nodes !== undefined && nodes.editions.length > 0
  return all.length > 0 && !areNodes ? all : [...all, ...coreCandidate(collections, areNodes)]
}

/** Entity types of core beside nodes of which a bundle holds any number of nodes. */
async function coreHolders({ list }: Ask, collections: Collection[]): Promise<Candidate[]> {
  const candidates = await Promise.all(
    CORE_CONTENT.map(async (entityType) => {
      const own = collections
        .filter((collection) => collection.entityType === entityType)
        .slice(0, TRIES)
      const pages = await Promise.all(own.map(({ path }) => list(path)))
      return {
        entityType,
        bundles: own.map(({ bundle }) => bundle),
        seen: pages.reduce((sum, { rows }) => sum + rows.length, 0),
        holdsNodes: pages.some(({ rows }) => nodeFields(rows).length > 0)
      }
    })
  )
  return candidates.filter(({ holdsNodes }) => holdsNodes)
}

/** Nodes, else media: editions of a site that has no entity type of its own for them. */
function coreCandidate(collections: Collection[], holdsNodes: boolean): Candidate[] {
  const entityType = SECOND_BEST.find((type) =>
    collections.some((collection) => collection.entityType === type)
  )
  if (entityType === undefined) return []
  const bundles = collections
    .filter((collection) => collection.entityType === entityType)
    .map(({ bundle }) => bundle)
  return [{ entityType, bundles, seen: 0, holdsNodes }]
}

/** Configuration has machine names for ids, and says what it depends on. */
function isConfig({ attributes = {} }: Resource): boolean {
  return (
    Object.hasOwn(attributes, 'dependencies') &&
    Object.entries(attributes).some(
      ([name, value]) => name.startsWith(INTERNAL) && !/^\d+$/.test(scalarText(value))
    )
  )
}
