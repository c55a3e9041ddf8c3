import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isObject } from '../drupal/document.ts'
import { LOCK_TYPE_PATTERN } from '../patterns.ts'

/** The list field of the module `publisher` that tells the edition type. */
export const DEFAULT_EDITION_TYPE = 'field_publisher_edition_type'

/** A name, or null for what a site does not have. */
const NameOrNone = (name: string) => Type.Union([Type.String(), Type.Null()], { default: name })

const NameMap = (defaults: Record<string, string>) =>
  Type.Record(Type.String(), Type.String(), { default: defaults })

/** A schema with what JSON Schema tells a person of it. */
function describe<T extends TSchema>(description: string, schema: T): T {
  return { ...schema, description }
}

const List = Type.Object(
  {
    entityType: describe('A content entity type.', Type.String()),
    image: describe(
      'Its image field, of which the desk shows the first image; `field_media.field_media_image` for one in a media entity.',
      Type.Optional(Type.String({ pattern: '^\\w{1,64}(\\.\\w{1,64}){0,2}$' }))
    ),
    section: describe(
      'Its field with its section, which the desk shows: a reference, whose label is shown, a text or a list.',
      Type.Optional(Type.String({ pattern: '^\\w{1,64}$' }))
    ),
    bundles: describe(
      'Its bundles that the list has; all of them by default.',
      Type.Optional(Type.Array(Type.String(), { minItems: 1 }))
    ),
    bundleEntityType: describe(
      'The config entity type of its bundles; known for those of Drupal core, else `<entity type>_type`.',
      Type.Optional(Type.String())
    ),
    keys: describe(
      'Its `entity_keys` that are not as in Drupal core.',
      Type.Optional(
        Type.Object(
          {
            id: Type.Optional(Type.String()),
            uuid: Type.Optional(Type.String()),
            revision: Type.Optional(Type.String()),
            bundle: Type.Optional(Type.String()),
            label: Type.Optional(Type.String()),
            published: describe(
              'Null where its entities cannot be unpublished.',
              Type.Optional(Type.Union([Type.String(), Type.Null()]))
            ),
            owner: describe(
              'Null where its entities have no owner.',
              Type.Optional(Type.Union([Type.String(), Type.Null()]))
            ),
            changed: describe(
              'Null where its entities have no field of the type changed.',
              Type.Optional(Type.Union([Type.String(), Type.Null()]))
            ),
            langcode: Type.Optional(Type.String()),
            defaultLangcode: Type.Optional(Type.String())
          },
          { additionalProperties: false }
        )
      )
    )
  },
  { additionalProperties: false }
)
export type List = Static<typeof List>

const Comment = describe(
  'What you want to say about it. Quoin does not read it.',
  Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())]))
)

/** What an editor should know of before an edition is closed. */
export const FINDING_CODES = [
  'LOCKED',
  'LOCK_IDLE',
  'DRAFT_KEPT',
  'ARTICLE_UNPUBLISHED',
  'ARTICLE_GONE',
  'ARTICLE_HIDDEN',
  'ARTICLE_TWICE',
  'FIELD_EMPTY',
  'ORDER_EMPTY'
] as const
export type FindingCode = (typeof FINDING_CODES)[number]

const FieldConfig = Type.Object(
  {
    label: Type.Optional(Type.String({ maxLength: 255 })),
    description: Type.Optional(Type.String({ maxLength: 2000 })),
    required: Type.Optional(Type.Boolean()),
    group: Type.Optional(Type.String({ maxLength: 255 }))
  },
  { additionalProperties: false }
)

/**
 * The site's model of editions: the names that Drupal gives to things. Every member has a default,
 * the names of the module `publisher`; a file (setting CONTENT_MODEL) overrides what differs.
 */
export const ContentModel = Type.Object(
  {
    $schema: describe(
      'Where the JSON Schema of this file is, for editors. Quoin does not read it.',
      Type.Optional(Type.String())
    ),
    $comment: Comment,
    entityType: describe(
      'The content entity type of editions.',
      Type.String({ default: 'publisher_container' })
    ),
    bundleEntityType: describe(
      'The config entity type of its bundles; null where it has none.',
      NameOrNone('publisher_container_type')
    ),
    keys: describe(
      "Drupal's `entity_keys` of the entity type, and its field of the type changed; null for what it does not have.",
      Type.Object(
        {
          $comment: Comment,
          id: Type.String({ default: 'id' }),
          uuid: Type.String({ default: 'uuid' }),
          revision: NameOrNone('revision_id'),
          bundle: NameOrNone('type'),
          label: NameOrNone('title'),
          published: NameOrNone('status'),
          owner: NameOrNone('uid'),
          changed: NameOrNone('changed'),
          langcode: NameOrNone('langcode'),
          defaultLangcode: NameOrNone('default_langcode')
        },
        { default: {}, additionalProperties: false }
      )
    ),
    fields: Type.Object(
      {
        $comment: Comment,
        key: describe(
          'Identifies an edition in the external publishing system; null where nothing does.',
          NameOrNone('field_key')
        ),
        editionType: describe(
          'The list field that tells the edition type; null where the bundle alone tells it.',
          NameOrNone(DEFAULT_EDITION_TYPE)
        ),
        articles: describe(
          "The reference fields with the edition's articles, in the order in which its lock board shows them.",
          Type.Array(Type.String(), { default: ['field_articles'] })
        )
      },
      { default: {}, additionalProperties: false }
    ),
    bundles: describe(
      'Bundles (machine name to label). When given they are the only ones; else they are found out from the CMS.',
      Type.Optional(Type.Record(Type.String(), Type.String()))
    ),
    editionTypes: describe(
      'Edition types (value to label). When given they are the only ones; else the CMS is asked.',
      Type.Optional(Type.Record(Type.String(), Type.String()))
    ),
    languages: describe(
      "* The site's languages and the prefix of each in paths (empty for none), its default language first; where the site tells languages by prefixes. Without it an edition is tried to be changed under the path `/<language>`.",
      Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[\\w.~-]*$' })))
    ),
    timestampFields: describe(
      "Fields of Drupal's types timestamp, created and changed: core REST adds a `format` to their items.",
      Type.Array(Type.String(), {
        default: [
          'created',
          'changed',
          'revision_timestamp',
          'revision_created',
          'login',
          'access',
          'publish_on',
          'unpublish_on'
        ]
      })
    ),
    decimalFields: describe(
      "Fields of Drupal's type decimal. Zeros at the end of their values do not count, since some databases add them.",
      Type.Array(Type.String(), { default: [] })
    ),
    timeZone: describe(
      "The site's time zone, an IANA name such as Europe/Berlin, in which the desk shows and reads times. Without it a time keeps the offset that it had.",
      Type.Optional(Type.String())
    ),
    mainProperty: describe('Main property of fields where it is not `value`.', NameMap({})),
    fieldConfig: describe(
      "What Drupal's configuration of a field says to editors, which the desk shows: its label, its help text, whether it is required, and the group of the form in which it stands. Fields are in the order of the form.",
      Type.Record(Type.String(), FieldConfig, { default: {} })
    ),
    rawFields: describe(
      'Fields whose items are arbitrary maps, one or many: kept as they are.',
      Type.Array(Type.String(), { default: [] })
    ),
    references: describe(
      'Reference fields (internal name) to the entity type they hold, where no document shows it.',
      NameMap({})
    ),
    resourceTypes: describe(
      'JSON:API resource type names that differ from `<entity type>--<bundle>` (as jsonapi_extras allows).',
      Type.Record(
        Type.String(),
        Type.Object({ entityType: Type.String(), bundle: Type.String() }),
        { default: {} }
      )
    ),
    idKeys: describe(
      'Integer id keys of referenced entity types.',
      NameMap({
        node: 'nid',
        taxonomy_term: 'tid',
        user: 'uid',
        file: 'fid',
        media: 'mid',
        comment: 'cid'
      })
    ),
    canonicalPaths: describe(
      "* Canonical paths of referenced entity types, for a reference's `url` when the target has no alias. A site that shows media on pages of their own (media.settings, standalone_url) has `/media/{id}`.",
      NameMap({
        node: '/node/{id}',
        taxonomy_term: '/taxonomy/term/{id}',
        user: '/user/{id}',
        media: '/media/{id}/edit',
        comment: '/comment/{id}',
        block_content: '/admin/content/block/{id}',
        menu_link_content: '/admin/structure/menu/item/{id}/edit',
        shortcut: '/admin/config/user-interface/shortcut/link/{id}',
        workspace: '/admin/config/workflow/workspaces/manage/{id}',
        contact_form: '/contact/{id}',
        publisher_container: '/publisher_container/{id}'
      })
    ),
    lists: describe(
      'What editions are made of: lists by their name in `/api/collections/{list}`, each of entities of one type.',
      Type.Record(Type.String({ pattern: '^[\\w.-]{1,64}$' }), List, {
        default: { article: { entityType: 'node', bundles: ['article'] } }
      })
    ),
    closing: describe(
      'What closes an edition, and what speaks against it.',
      Type.Object(
        {
          field: describe(
            'The field that closing sets; by default the key `published`.',
            Type.Optional(Type.String())
          ),
          value: describe(
            'What it is set to.',
            Type.Union([Type.Boolean(), Type.Number(), Type.String()], { default: true })
          ),
          required: describe(
            'Fields that may not be empty then, besides the label.',
            Type.Array(Type.String(), { default: [] })
          ),
          blockers: describe(
            'Findings that keep an edition from being closed; all others warn.',
            Type.Array(Type.Union(FINDING_CODES.map((code) => Type.Literal(code))), {
              default: [
                'LOCKED',
                'ARTICLE_UNPUBLISHED',
                'ARTICLE_GONE',
                'ARTICLE_HIDDEN',
                'FIELD_EMPTY',
                'ORDER_EMPTY'
              ]
            })
          )
        },
        { default: {}, additionalProperties: false }
      )
    ),
    lockTypes: describe(
      'Entity types to the `{type}` of their field locks, where the editorial UI does not use the entity type itself.',
      Type.Record(Type.String(), Type.String({ pattern: `^${LOCK_TYPE_PATTERN}$` }), {
        default: {}
      })
    ),
    openTypes: describe(
      'With AUTH=drupal: the `{type}` of field locks that every user may see and take, where JSON:API does not have the entity type. Drupal is not asked about them; without an entry they are refused.',
      Type.Array(Type.String({ pattern: `^${LOCK_TYPE_PATTERN}$` }), { default: [], maxItems: 100 })
    ),
    lockIds: describe(
      'What it uses as the `{id}` of field locks: the integer id, or the uuid.',
      Type.Union([Type.Literal('id'), Type.Literal('uuid')], { default: 'id' })
    ),
    lockLanguages: describe(
      'The languages whose translations it locks apart, as `{id}:{language}`. Each one costs a board one more query for each entity.',
      Type.Array(Type.String({ pattern: '^[\\w-]{1,12}$' }), { default: [], maxItems: 20 })
    )
  },
  { additionalProperties: false }
)
export type ContentModel = Static<typeof ContentModel>

/**
 * A content model from parsed JSON, defaults filled in.
 * @throws {Error} naming the first member that is unknown or of the wrong type.
 */
export function contentModel(json: unknown): ContentModel {
  const model = Value.Default(ContentModel, Value.Clone(json))
  const problem = Value.Errors(ContentModel, model).First()
  if (problem) throw new Error(`its member ${problem.path || '/'} is not right: ${problem.message}`)
  const { timeZone } = model as ContentModel
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new Error(`its member /timeZone is not right: ${timeZone} is not an IANA time zone`)
  }
  const { keys, fields } = model as ContentModel
  for (const commented of [model as ContentModel, keys, fields]) delete commented.$comment
  // Names come from callers' bodies: "constructor" must find nothing.
  for (const names of Object.values(model as ContentModel)) {
    if (isObject(names)) Object.setPrototypeOf(names, null)
  }
  return model as ContentModel
}

/** Whether this is the name of an IANA time zone. */
export function isTimeZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

/** What JSON:API puts before the names of the keys. */
export const INTERNAL = 'drupal_internal__'

interface Split {
  entityType: string
  bundle: string
}

/** How many names Quoin remembers in parts: it needs them for every reference of every edition. */
const SPLITS = 1000

const splits = new WeakMap<ContentModel, Map<string, Split>>()

/** Splits a JSON:API resource type name into entity type and bundle. */
export function splitType(model: ContentModel, resourceType: string): Readonly<Split> {
  const ofModel = splits.get(model) ?? splits.set(model, new Map()).get(model)!
  const last = ofModel.get(resourceType)
  if (last) return last
  const parts = split(model, resourceType)
  if (ofModel.size < SPLITS) ofModel.set(resourceType, parts)
  return parts
}

function split(model: ContentModel, resourceType: string): Split {
  const custom = model.resourceTypes[resourceType]
  if (custom) return custom
  const end = resourceType.indexOf('--')
  return end === -1
    ? { entityType: resourceType, bundle: '' }
    : { entityType: resourceType.slice(0, end), bundle: resourceType.slice(end + 2) }
}

/**
 * The public (JSON:API) name of an edition's field.
 * Source: Drupal\jsonapi\ResourceType\ResourceTypeRepository::getFields().
 */
export function publicName(model: ContentModel, field: string): string {
  if (field === model.keys.id || field === model.keys.revision) return INTERNAL + field
  return RESERVED.includes(field) ? `${model.entityType}_${field}` : field
}

/** The public names of those of the fields that there are. */
export function publicNames(model: ContentModel, ...fields: Array<string | null>): string[] {
  return fields.flatMap((field) => (field === null ? [] : publicName(model, field)))
}

/** The value of a field in attributes; undefined if they do not have the field. */
export function attributeOf(
  attributes: Record<string, unknown>,
  field: string | null,
  model: ContentModel
): unknown {
  return field === null ? undefined : attributes[publicName(model, field)]
}

/** Names that JSON:API keeps for itself. Drupal puts the entity type before those of fields. */
const RESERVED = ['id', 'type']

/**
 * The internal (Drupal, core REST) name of an edition's JSON:API field: the inverse of
 * `publicName`.
 */
export function internalName(model: ContentModel, name: string): string {
  const { id, revision } = model.keys
  if (name.startsWith(INTERNAL)) {
    const key = name.slice(INTERNAL.length)
    return key === id || key === revision ? key : name
  }
  const reservedField = RESERVED.find((field) => name === `${model.entityType}_${field}`)
  return reservedField !== undefined && isNamed(model, reservedField) ? reservedField : name
}

/** Whether the content model names a field: another may be called as JSON:API calls this one. */
function isNamed(
  {
    keys: { id: _id, $comment: _comment, ...keys },
    fields: { key, editionType, articles },
    timestampFields,
    decimalFields,
    mainProperty,
    rawFields,
    references
  }: ContentModel,
  field: string
): boolean {
  return (
    [
      ...Object.values(keys),
      key,
      editionType,
      ...articles,
      ...timestampFields,
      ...decimalFields,
      ...rawFields
    ].includes(field) ||
    field in mainProperty ||
    field in references
  )
}
