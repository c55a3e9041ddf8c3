import type { Cache } from './cache.ts'
import type { Store, Entity } from './store.ts'
import { entityTypes } from './model.ts'

/** What may be switched while the site runs. */
export interface SiteSwitches {
  /** Drupal's default of jsonapi: every write is answered 405. */
  readOnly: boolean
  /** Maintenance mode: 503 from JSON:API, a redirect from core REST. */
  maintenance: boolean
  /**
   * Whether a module tells JSON:API who may filter editions; without it their filtered collections
   * are empty. `published`: among the published alone. `own`: among those and the viewer's own, as
   * core does it for nodes.
   */
  filterAccess: boolean | 'published' | 'own'
  /**
   * Seconds that answers without credentials may be kept by caches; 0, the default of core, for
   * none.
   */
  maxAge: number
  /** Whether a module adds `meta.count` and `links.last`; core never does. */
  includeCount: boolean
  /**
   * Whether each save is met by a read that began before it and ends after it. So Drupal keeps
   * showing the earlier state to all who do not name a revision by its id
   * (Drupal\jsonapi\EventSubscriber\ResourceObjectNormalizationCacher).
   */
  lateReads: boolean
  /** The version of Quoin's module, if the site has it. */
  module: string | undefined
}

/** What every part of the stand-in needs to know of the site it plays. */
export interface Site {
  name: string
  origin: () => string
  timeZone: string
  settings: SiteSwitches
  store: Store
  cache: Cache
  /** The revisions that were saved again without a new one, where the module is there. */
  savedInPlace: Set<string>
  now: () => number
}

const configurationTypes = [
  'action',
  'base_field_override',
  'block',
  'block_content_type',
  'comment_type',
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
  'menu',
  'node_type',
  'publisher_container_type',
  'rest_resource_config',
  'search_page',
  'shortcut_set',
  'taxonomy_vocabulary',
  'tour',
  'user_role',
  'view'
]

const otherTypes = [
  'block_content--basic',
  'comment--comment',
  'contact_message--feedback',
  'contact_message--personal',
  'menu_link_content--menu_link_content',
  'path_alias--path_alias',
  'shortcut--default'
]

/**
 * Every resource type of the site ("node--article"), sorted; the bundles of editions are those that
 * exist.
 */
export function resourceTypes(site: Site): string[] {
  const bundles = site.store
    .all('publisher_container_type')
    .map((type) => `publisher_container--${type.id}`)
  const configuration = configurationTypes.map((type) => `${type}--${type}`)
  return [
    ...configuration,
    ...otherTypes,
    ...bundles,
    'node--article',
    'node--page',
    'taxonomy_term--sections',
    'taxonomy_term--tags',
    'file--file',
    'user--user'
  ].sort()
}

/** Whether the type is configuration, which JSON:API only ever reads. */
export const isConfiguration = (entityType: string): boolean =>
  configurationTypes.includes(entityType)

/** Whether the type keeps revisions, so that its links carry a version. */
export const isRevisionable = (entityType: string): boolean =>
  entityTypes[entityType]?.revisionKey !== undefined

/**
 * The allowed values of the list field that tells kinds of edition apart, from its storage's
 * settings.
 */
export function editionTypes(site: Site): string[] {
  const storage = site.store
    .all('field_storage_config')
    .find(
      (one) =>
        one.config?.entity_type === 'publisher_container' &&
        one.config.field_name === 'field_publisher_edition_type'
    )
  const settings = storage?.config?.settings as
    { allowed_values?: Record<string, string> } | undefined
  return Object.keys(settings?.allowed_values ?? {})
}

/** The address of a resource in JSON:API, without a query. */
export function resourceUrl(site: Site, entity: Entity, bundle = entity.bundle): string {
  return `${site.origin()}/jsonapi/${entity.entityType}/${bundle}/${entity.uuid}`
}
