export type FieldType =
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'uuid'
  | 'language'
  | 'string'
  | 'string_long'
  | 'list_string'
  | 'email'
  | 'created'
  | 'changed'
  | 'timestamp'
  | 'datetime'
  | 'date'
  | 'text_long'
  | 'text_with_summary'
  | 'link'
  | 'file_uri'
  | 'entity_reference'
  | 'image'
  | 'path'
  | 'comment'

/** One field of an entity type: its own name, its name in JSON:API, and its rules. */
export interface Field {
  name: string
  public: string
  label: string
  type: FieldType
  many: boolean
  required: boolean
  unique: boolean
  maxLength?: number
  min?: number
  max?: number
  target?: string
  targetBundle?: string
}

/** An entity type: the names of its keys and its fields in the order of every answer. */
export interface EntityType {
  id: string
  idKey: string
  revisionKey?: string
  bundleKey?: string
  labelKey: string
  adminPermission: string
  fields: Field[]
}

type Rules = Partial<Omit<Field, 'name' | 'type'>>

const field = (name: string, type: FieldType, rules: Rules = {}): Field => ({
  name,
  type,
  public: name,
  label: name,
  many: false,
  required: false,
  unique: false,
  ...rules
})

const internal = (name: string) => field(name, 'integer', { public: `drupal_internal__${name}` })

const reference = (name: string, target: string, rules: Rules = {}) =>
  field(name, 'entity_reference', { target, ...rules })

const editionFields: Field[] = [
  reference('field_articles', 'node', { many: true, targetBundle: 'article', label: 'Articles' }),
  field('field_cover', 'image', { target: 'file', label: 'Cover' }),
  field('field_description', 'text_long', { label: 'Description' }),
  field('field_expires', 'timestamp', { label: 'Expires' }),
  field('field_featured', 'boolean', { label: 'Featured' }),
  field('field_internal_note', 'string_long', { label: 'Internal note' }),
  field('field_key', 'string', { required: true, unique: true, maxLength: 255, label: 'Key' }),
  field('field_labels', 'string', { many: true, maxLength: 255, label: 'Labels' }),
  field('field_link', 'link', { label: 'Link' }),
  field('field_page_count', 'integer', { min: 0, max: 10000, label: 'Page count' }),
  field('field_price', 'decimal', { label: 'Price' }),
  field('field_publication_date', 'date', { label: 'Publication date' }),
  field('field_published_at', 'datetime', { label: 'Published at' }),
  field('field_publisher_edition_type', 'list_string', { label: 'Edition type' }),
  field('field_rating', 'float', { label: 'Rating' }),
  reference('field_section', 'taxonomy_term', { targetBundle: 'sections', label: 'Section' })
]

const publisherContainer: EntityType = {
  id: 'publisher_container',
  idKey: 'id',
  revisionKey: 'revision_id',
  bundleKey: 'type',
  labelKey: 'title',
  adminPermission: 'administer publisher_container',
  fields: [
    internal('id'),
    field('uuid', 'uuid', { public: 'id' }),
    internal('revision_id'),
    field('langcode', 'language'),
    reference('type', 'publisher_container_type', { public: 'publisher_container_type' }),
    field('revision_timestamp', 'created'),
    reference('revision_uid', 'user'),
    field('revision_log', 'string_long'),
    field('status', 'boolean'),
    reference('uid', 'user'),
    field('title', 'string', { required: true, maxLength: 255, label: 'Title' }),
    field('created', 'created'),
    field('changed', 'changed'),
    field('default_langcode', 'boolean'),
    field('revision_translation_affected', 'boolean'),
    ...editionFields
  ]
}

const node: EntityType = {
  id: 'node',
  idKey: 'nid',
  revisionKey: 'vid',
  bundleKey: 'type',
  labelKey: 'title',
  adminPermission: 'administer nodes',
  fields: [
    internal('nid'),
    field('uuid', 'uuid', { public: 'id' }),
    internal('vid'),
    field('langcode', 'language'),
    reference('type', 'node_type', { public: 'node_type' }),
    field('revision_timestamp', 'created'),
    reference('revision_uid', 'user'),
    field('revision_log', 'string_long'),
    field('status', 'boolean'),
    reference('uid', 'user'),
    field('title', 'string', { required: true, maxLength: 255, label: 'Title' }),
    field('created', 'created'),
    field('changed', 'changed'),
    field('promote', 'boolean'),
    field('sticky', 'boolean'),
    field('default_langcode', 'boolean'),
    field('revision_translation_affected', 'boolean'),
    field('path', 'path'),
    field('body', 'text_with_summary', { label: 'Body' }),
    field('comment', 'comment'),
    field('field_image', 'image', { target: 'file', label: 'Image' }),
    reference('field_tags', 'taxonomy_term', { many: true, targetBundle: 'tags', label: 'Tags' })
  ]
}

const taxonomyTerm: EntityType = {
  id: 'taxonomy_term',
  idKey: 'tid',
  revisionKey: 'revision_id',
  bundleKey: 'vid',
  labelKey: 'name',
  adminPermission: 'administer taxonomy',
  fields: [
    internal('tid'),
    field('uuid', 'uuid', { public: 'id' }),
    internal('revision_id'),
    field('langcode', 'language'),
    reference('vid', 'taxonomy_vocabulary'),
    field('revision_created', 'created'),
    reference('revision_user', 'user'),
    field('revision_log_message', 'string_long'),
    field('status', 'boolean'),
    field('name', 'string', { required: true, maxLength: 255, label: 'Name' }),
    field('description', 'text_long', { label: 'Description' }),
    field('weight', 'integer'),
    reference('parent', 'taxonomy_term', { many: true }),
    field('changed', 'changed'),
    field('default_langcode', 'boolean'),
    field('revision_translation_affected', 'boolean'),
    field('path', 'path')
  ]
}

const file: EntityType = {
  id: 'file',
  idKey: 'fid',
  labelKey: 'filename',
  adminPermission: 'administer files',
  fields: [
    internal('fid'),
    field('uuid', 'uuid', { public: 'id' }),
    field('langcode', 'language'),
    reference('uid', 'user'),
    field('filename', 'string'),
    field('uri', 'file_uri'),
    field('filemime', 'string'),
    field('filesize', 'integer'),
    field('status', 'boolean'),
    field('created', 'created'),
    field('changed', 'changed')
  ]
}

const user: EntityType = {
  id: 'user',
  idKey: 'uid',
  labelKey: 'name',
  adminPermission: 'administer users',
  fields: [
    internal('uid'),
    field('uuid', 'uuid', { public: 'id' }),
    field('langcode', 'language'),
    field('preferred_langcode', 'language'),
    field('preferred_admin_langcode', 'language'),
    field('name', 'string'),
    field('mail', 'email'),
    field('timezone', 'string'),
    field('status', 'boolean'),
    field('created', 'created'),
    field('changed', 'changed'),
    field('access', 'timestamp'),
    field('login', 'timestamp'),
    field('init', 'email'),
    reference('roles', 'user_role', { many: true }),
    field('default_langcode', 'boolean'),
    field('user_picture', 'image', { target: 'file' })
  ]
}

/**
 * The content entity types of the site; every other type is configuration and has no fields of its
 * own.
 */
export const entityTypes: Record<string, EntityType> = {
  publisher_container: publisherContainer,
  node,
  taxonomy_term: taxonomyTerm,
  file,
  user
}

/** Whether the field is a relationship of JSON:API rather than an attribute. */
export const isReference = (one: Field): boolean =>
  one.type === 'entity_reference' || one.type === 'image'

/**
 * Properties of an item that may be sent, in Drupal's order; a single one is left out of JSON:API's
 * attributes.
 */
export function writableProperties(field: Field): string[] {
  switch (field.type) {
    case 'entity_reference':
      return ['target_id', 'entity']
    case 'image':
      return ['target_id', 'entity', 'alt', 'title', 'width', 'height']
    case 'text_long':
      return ['value', 'format']
    case 'text_with_summary':
      return ['value', 'format', 'summary']
    case 'link':
      return ['uri', 'title', 'options']
    case 'path':
      return ['alias', 'pid', 'langcode']
    case 'language':
      return ['value', 'language']
    case 'file_uri':
      return ['value']
    case 'comment':
      return [
        'status',
        'cid',
        'last_comment_timestamp',
        'last_comment_name',
        'last_comment_uid',
        'comment_count'
      ]
    default:
      return ['value']
  }
}

/** Properties that a filter path may, and for more than one must, end with. */
export function filterProperties(field: Field): string[] {
  switch (field.type) {
    case 'text_long':
      return ['value', 'format', 'processed']
    case 'text_with_summary':
      return ['value', 'format', 'processed', 'summary']
    case 'link':
    case 'path':
    case 'comment':
      return writableProperties(field)
    case 'file_uri':
      return ['value', 'url']
    default:
      return ['value']
  }
}

/** The property that a bare value stands for. */
export const mainProperty = (one: Field): string =>
  one.type === 'link'
    ? 'uri'
    : one.type === 'path'
      ? 'alias'
      : isReference(one)
        ? 'target_id'
        : 'value'
