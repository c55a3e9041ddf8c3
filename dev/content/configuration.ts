import { createHash } from 'node:crypto'
import type { Seed } from '../../packages/drupal-stand-in/store.ts'

/** A UUID derived from a name: the same in every run, in the form of version 5. */
export function namedUuid(name: string): string {
  const hex = createHash('sha1').update(`quoin sample ${name}`).digest('hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** What may be done by whom: editors write editions and articles, readers see what is published. */
export const roles: Record<string, string[]> = {
  anonymous: ['view published publisher_container', 'access content'],
  authenticated: ['view published publisher_container', 'access content'],
  editor: [
    'view unpublished publisher_container',
    'create publisher_container',
    'update publisher_container',
    'delete publisher_container',
    'view publisher_container revisions',
    'view publisher internal note',
    'create article content',
    'edit any article content',
    'delete any article content',
    'view own unpublished content',
    'use text format basic_html'
  ]
}

const entity = (type: string, id: string, config: Record<string, unknown>): Seed => ({
  type: `${type}--${type}`,
  id,
  uuid: namedUuid(`${type} ${id}`),
  config: { langcode: 'en', status: true, dependencies: [], ...config }
})

export interface Bundle {
  id: string
  label: string
  description: string
}

/** The bundles of editions, the types of nodes and the vocabularies, as configuration entities. */
export function bundleSeeds(bundles: Bundle[]): Seed[] {
  return [
    ...bundles.map(({ id, label, description }) =>
      entity('publisher_container_type', id, {
        drupal_internal__id: id,
        label,
        description,
        new_revision: true
      })
    ),
    entity('node_type', 'article', {
      name: 'Article',
      drupal_internal__type: 'article',
      description: '',
      help: '',
      new_revision: true,
      preview_mode: 1,
      display_submitted: true
    }),
    entity('node_type', 'page', {
      name: 'Basic page',
      drupal_internal__type: 'page',
      description: '',
      help: '',
      new_revision: true,
      preview_mode: 1,
      display_submitted: false
    }),
    entity('taxonomy_vocabulary', 'sections', {
      name: 'Sections',
      drupal_internal__vid: 'sections',
      description: null,
      weight: 0
    }),
    entity('taxonomy_vocabulary', 'tags', {
      name: 'Tags',
      drupal_internal__vid: 'tags',
      description: null,
      weight: 0
    })
  ]
}

/**
 * The list field that tells kinds of edition apart: its storage with the allowed values, and its
 * use in each bundle.
 */
export function editionTypeSeeds(allowedValues: Record<string, string>, bundles: Bundle[]): Seed[] {
  const name = 'field_publisher_edition_type'
  return [
    entity('field_storage_config', `publisher_container.${name}`, {
      dependencies: { module: ['options', 'publisher'] },
      drupal_internal__id: `publisher_container.${name}`,
      field_name: name,
      entity_type: 'publisher_container',
      field_storage_config_type: 'list_string',
      settings: { allowed_values: allowedValues, allowed_values_function: '' },
      module: 'options',
      locked: false,
      cardinality: 1,
      translatable: true,
      indexes: [],
      persist_with_no_fields: false,
      custom_storage: false
    }),
    ...bundles.map(({ id }) =>
      entity('field_config', `publisher_container.${id}.${name}`, {
        dependencies: {
          config: [
            `field.storage.publisher_container.${name}`,
            `publisher.publisher_container_type.${id}`
          ],
          module: ['options']
        },
        drupal_internal__id: `publisher_container.${id}.${name}`,
        field_name: name,
        entity_type: 'publisher_container',
        bundle: id,
        label: 'Edition type',
        description: '',
        required: false,
        translatable: true,
        default_value: [],
        default_value_callback: '',
        settings: [],
        field_type: 'list_string'
      })
    )
  ]
}
