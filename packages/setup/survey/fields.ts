import { isObject, type Resource } from '../../../lib/drupal/document.ts'
import { ContentModel, INTERNAL } from '../../../lib/editions/model.ts'
import { allowedValues } from '../../../lib/editions/site/catalog.ts'
import {
  attributesOf,
  hasTimes,
  isChoice,
  isConfigured,
  isLocalTime,
  isMapOfValues,
  isMark,
  isText,
  isUnique,
  likeliest,
  relationsOf,
  targetId,
  type Attribute,
  type Relation
} from './attributes.ts'
import { guessed, hidden, shown, type Member } from './member.ts'

/** The configuration of a field: its type and settings, as its storage has them. */
export interface Storage {
  field: string
  type: string
  settings: Record<string, unknown>
}

/** What a survey knows of the fields of editions. */
export interface FieldRows {
  entityType: string
  /** The bundles that are editions. */
  bundles: string[]
  rows: Resource[]
  /** Fields that are keys of the entity type. */
  keys: string[]
  /** The fields' configuration; undefined where the account may not see it. */
  storages: Storage[] | undefined
  /** The permission that would show it. */
  storagesPermission: string
  /** An edition as core REST shows it, if the site has core REST. */
  twin: Record<string, unknown> | undefined
  /** The entity types that reference fields hold, found by trying where no edition shows one. */
  tried: ReadonlyMap<string, string>
  entityTypeOf(resourceType: string): string
  bundleOf(resourceType: string): string | undefined
  /** The relationship with the bundle. */
  bundle: string | undefined
}

/** How keys are called. */
export const KEY =
  /(?:^|_)(?:key|code|external_id|ext_id|identifier|ident|number|no|ref|slug|sku|guid)(?:$|_)/
const TYPE = /(?:^|_)(?:edition_type|type|kind|category|variety|class)$/

/** Base fields of Drupal's own modules that hold one of a few names. */
const CORE_CHOICES = ['moderation_state', 'content_translation_source']

/** The fields by which Quoin knows an edition, its type and its articles. */
export function fieldMembers(fields: FieldRows): Member[] {
  const { rows } = fields
  if (rows.length === 0 && !fields.storages) {
    return [
      hidden('fields', `no edition can be seen; ${fields.storagesPermission} would show the fields`)
    ]
  }
  const attributes = attributesOf(rows).filter(({ name }) => !name.startsWith(INTERNAL))
  return [
    keyMember(fields, attributes),
    ...typeMembers(fields, attributes),
    ...articleMembers(fields),
    ...referenceMembers(fields),
    mainMember(fields),
    rawMember(fields, attributes),
    ...decimalMembers(fields, attributes)
  ]
}

function keyMember({ storages, keys }: FieldRows, attributes: Attribute[]): Member {
  const texts = storages?.filter(({ type }) => type === 'string').map(({ field }) => field)
  const otherFields = storages?.filter(({ type }) => type !== 'string').map(({ field }) => field)
  const fields = configuredFirst(attributes).filter(
    (attribute) =>
      isText(attribute) &&
      !keys.includes(attribute.name) &&
      otherFields?.includes(attribute.name) !== true
  )
  const unique = fields.filter(isUnique)
  const isCalledKey = ({ name }: Attribute) => KEY.test(name)
  const key =
    likeliest(
      unique,
      unique.filter(isCalledKey).map(({ name }) => name)
    ) ??
    fields.find(isCalledKey) ??
    fields.find(isMark)
  if (!key) {
    const named = texts?.find((field) => KEY.test(field))
    return named === undefined
      ? guessed('fields.key', null, 'no field has another text in each edition')
      : guessed('fields.key', named, 'it is called like a key')
  }
  const alike = unique.filter(({ name }) => name !== key.name).map(({ name }) => name)
  return guessed(
    'fields.key',
    key.name,
    alike.length > 0
      ? `each edition has another text in it, as in ${alike.join(', ')}`
      : unique.includes(key)
        ? 'it is the one field with another text in each edition'
        : isCalledKey(key)
          ? 'it is called like a key'
          : 'no two editions have the same word in it'
  )
}

/**
 * The site's own fields, then those of the entity type itself: modules that define editions in code
 * have their fields there.
 */
function configuredFirst(attributes: Attribute[]): Attribute[] {
  return attributes.toSorted(
    (one, other) => Number(isConfigured(other.name)) - Number(isConfigured(one.name))
  )
}

function typeMembers(
  { entityType, storages, storagesPermission, keys, twin }: FieldRows,
  attributes: Attribute[]
): Member[] {
  const lists = storages?.filter(({ type }) => type === 'list_string')
  const choices = configuredFirst(attributes)
    .filter(
      (attribute) =>
        !keys.includes(attribute.name) &&
        !CORE_CHOICES.includes(attribute.name) &&
        isText(attribute) &&
        isChoice(attribute)
    )
    .map(({ name }) => fieldName(name, entityType, twin))
  const candidates = lists
    ? [...lists.map(({ field }) => field), ...choices.filter((name) => !isConfigured(name))]
    : choices
  const type =
    candidates.find((name) => TYPE.test(name)) ??
    (candidates.length === 1 && !isConfigured(candidates[0]!) ? candidates[0] : undefined)
  if (type === undefined) {
    return [
      guessed(
        'fields.editionType',
        null,
        candidates.length === 0
          ? 'no field is a list of texts, so the bundle alone tells the type'
          : `none of the fields with a few values (${candidates.join(', ')}) is called like a type`
      ),
      noTypes('the bundles are the types')
    ]
  }
  const isSure = candidates.length === 1 && lists?.length === 1
  const labels = allowedValues(lists?.find(({ field }) => field === type)?.settings.allowed_values)
  return [
    isSure
      ? shown('fields.editionType', type, 'it is the one list of texts')
      : guessed(
          'fields.editionType',
          type,
          candidates.length === 1
            ? 'it is the one field with a few values'
            : `of the fields with a few values (${candidates.join(', ')}) it is called most like a type`
        ),
    Object.keys(labels).length > 0
      ? shown('editionTypes', labels, `the allowed values of ${type}`)
      : noTypes(
          lists
            ? `the values of ${type} are not in its configuration`
            : `${storagesPermission} would show them; Quoin goes by the values that editions have`
        )
  ]
}

/** The name of a field that JSON:API shows under another: it keeps `type` for itself. */
function fieldName(
  name: string,
  entityType: string,
  twin: Record<string, unknown> | undefined
): string {
  return name === `${entityType}_type` && !Object.hasOwn(twin ?? {}, name) ? 'type' : name
}

const noTypes = (why: string): Member => hidden('editionTypes', why)

/**
 * The entity type that a reference field holds, and how sure that is; undefined for one that
 * nothing tells.
 */
function holds(
  { name, targets }: Relation,
  { storages, tried, entityTypeOf }: FieldRows
): string | undefined {
  const stored = storages?.find(({ field }) => field === name)?.settings.target_type
  return targets[0]
    ? entityTypeOf(targets[0].type)
    : typeof stored === 'string'
      ? stored
      : tried.get(name)
}

/** References to content, not to configuration: those have machine names for ids. */
function contentRelations({ rows, bundle }: FieldRows): Relation[] {
  return relationsOf(rows).filter(
    ({ name, targets }) =>
      name !== bundle && !(targets[0] && typeof targetId(targets[0]) === 'string')
  )
}

/** Whether what a field refers to are editions; undefined where no edition has a value in it. */
function refersToEditions(
  { targets }: Relation,
  { entityType, bundles, entityTypeOf, bundleOf }: FieldRows
): boolean | undefined {
  if (targets.length === 0) return undefined
  const editions = targets.filter(
    ({ type }) => entityTypeOf(type) === entityType && bundles.includes(String(bundleOf(type)))
  )
  return editions.length * 2 > targets.length
}

/** The reference fields with articles, the fullest first: an insert that names no field takes it. */
function articleMembers(fields: FieldRows): Member[] {
  const many = contentRelations(fields)
    .filter((relation) => relation.many && refersToEditions(relation, fields) !== true)
    .toSorted((one, other) => other.targets.length - one.targets.length)
  // An empty field for entities of the editions' own type may be for editions.
  const open = many.filter(
    (relation) => relation.targets.length === 0 && holds(relation, fields) === fields.entityType
  )
  const candidates = many.filter((relation) => !open.includes(relation))
  const nodes = candidates.filter((relation) => holds(relation, fields) === 'node')
  const otherRelations = candidates.filter(
    (relation) =>
      !['taxonomy_term', 'user', 'file', 'media', undefined].includes(holds(relation, fields))
  )
  const articles = nodes.length > 0 ? nodes : otherRelations
  const openMembers =
    open.length > 0
      ? [
          hidden(
            'fields.articles',
            `${open.map(({ name }) => name).join(', ')} may hold articles or editions; an edition with a value in it would show it`
          )
        ]
      : []
  if (articles.length === 0) {
    return [
      hidden('fields.articles', 'no field that can be seen holds any number of nodes'),
      ...openMembers
    ]
  }
  const why =
    nodes.length > 0
      ? nodes.length === 1
        ? 'it is the one field that holds any number of articles'
        : 'they are the fields that hold any number of articles, the fullest first'
      : 'no field holds any number of nodes; this one holds any number of other entities'
  return [
    guessed(
      'fields.articles',
      articles.map(({ name }) => name),
      why
    ),
    ...openMembers,
    ...listMembers(nodes, fields)
  ]
}

/** A list for each type of node that editions refer to. */
function listMembers(nodes: Relation[], { bundleOf }: FieldRows): Member[] {
  const bundles = [
    ...new Set(nodes.flatMap(({ targets }) => targets.map(({ type }) => bundleOf(type))))
  ].filter((bundle) => bundle !== undefined)
  return bundles.length === 0
    ? []
    : [
        guessed(
          'lists',
          Object.fromEntries(
            bundles.map((bundle) => [bundle, { entityType: 'node', bundles: [bundle] }])
          ),
          'these are the nodes that editions refer to'
        )
      ]
}

function referenceMembers(fields: FieldRows): Member[] {
  const relations = contentRelations(fields)
  const types = relations.flatMap((relation): Array<[string, string]> => {
    const type = holds(relation, fields)
    return type === undefined ? [] : [[relation.name, type]]
  })
  const unknown = relations
    .filter((relation) => holds(relation, fields) === undefined)
    .map(({ name }) => name)
  return [
    shown(
      'references',
      Object.fromEntries(types),
      'editions, the configuration of fields, or the paths that JSON:API sorts by, show them'
    ),
    ...(unknown.length > 0
      ? [
          hidden(
            'references',
            `no edition has a value in ${unknown.join(', ')}, so what they hold is not known; ${fields.storagesPermission} would show it`
          )
        ]
      : [])
  ]
}

/** The one property of an item that JSON:API shows as a bare value: core REST alone names it. */
function mainMember({ twin, rows }: FieldRows): Member {
  if (!twin) {
    return hidden(
      'mainProperty',
      'JSON:API leaves out the name of a property that is the only one, and the site has no core REST to show it; `value` nearly everywhere'
    )
  }
  const attributes = attributesOf(rows)
  const main = Object.entries(twin).flatMap(([name, items]): Array<[string, string]> => {
    const item = Array.isArray(items) && isObject(items[0]) ? Object.keys(items[0]) : []
    const isScalar = attributes.some(
      (attribute) =>
        attribute.name === name && attribute.values.length > 0 && !attribute.values.some(isObject)
    )
    return item.length === 1 && item[0] !== 'value' && isScalar ? [[name, item[0]!]] : []
  })
  return shown('mainProperty', Object.fromEntries(main), 'core REST shows it')
}

function rawMember({ storages }: FieldRows, attributes: Attribute[]): Member {
  const maps = storages?.filter(({ type }) => type === 'map').map(({ field }) => field) ?? []
  const alike = attributes
    .filter((attribute) => attribute.values.length > 1 && isMapOfValues(attribute))
    .map(({ name }) => name)
  return alike.length > 0
    ? guessed(
        'rawFields',
        [...new Set([...maps, ...alike])],
        'their items have other members from edition to edition, or lists in them'
      )
    : shown('rawFields', maps, 'no item has other members than the next')
}

/** Texts that may be decimals, as long as the configuration does not tell. */
const DECIMAL = /^-?\d+\.\d+$/

/**
 * The fields of decimals. JSON:API shows them as texts, so only the configuration tells them from
 * texts.
 */
function decimalMembers(
  { storages, storagesPermission }: FieldRows,
  attributes: Attribute[]
): Member[] {
  if (storages) {
    return [
      shown(
        'decimalFields',
        storages.filter(({ type }) => type === 'decimal').map(({ field }) => field),
        'the configuration of fields shows them'
      )
    ]
  }
  const alike = attributes.filter(
    ({ values }) =>
      values.length > 0 &&
      values.flat().every((value) => typeof value === 'string' && DECIMAL.test(value))
  )
  if (alike.length === 0) return []
  return [
    hidden(
      'decimalFields',
      `${alike.map(({ name }) => name).join(', ')} may hold decimals, or texts that look like them; ${storagesPermission} would show it`
    )
  ]
}

/** The fields of times that are not known to be time stamps, or to be dates. */
export function openTimes(fields: FieldRows): Attribute[] {
  return attributesOf(fields.rows).filter(
    (attribute) => hasTimes(attribute) && kindOf(attribute, fields) === undefined
  )
}

type Kind = 'timestamp' | 'date'

function kindOf(attribute: Attribute, { storages, twin }: FieldRows): Kind | undefined {
  const storage = storages?.find(({ field }) => field === attribute.name)
  if (storage) return storage.type === 'timestamp' ? 'timestamp' : 'date'
  if (isLocalTime(attribute)) return 'date'
  const items = twin?.[attribute.name]
  const item = Array.isArray(items) ? items[0] : undefined
  return isObject(item) ? (Object.hasOwn(item, 'format') ? 'timestamp' : 'date') : undefined
}

/** @param kinds what filters have found of the fields that were open */
export function timestampMembers(fields: FieldRows, kinds: ReadonlyMap<string, Kind>): Member[] {
  const times = attributesOf(fields.rows)
    .filter(hasTimes)
    .map((attribute) => ({
      name: attribute.name,
      kind: kindOf(attribute, fields) ?? kinds.get(attribute.name)
    }))
  const timestamps =
    fields.storages?.filter(({ type }) => type === 'timestamp').map(({ field }) => field) ?? []
  const unset = unsetFields(fields)
  const called = unset.filter((name) => DEFAULT_TIMES.includes(name))
  const unseen = unset.filter((name) => !called.includes(name))
  const open = times.filter(({ kind }) => kind === undefined).map(({ name }) => name)
  const names = times.filter(({ kind }) => kind !== 'date').map(({ name }) => name)
  const value = [...new Set([...names, ...timestamps, ...called])]
  const unseenMembers =
    unseen.length > 0 ? [hidden('timestampFields', unseenText(unseen, fields))] : []
  if (value.length === 0) {
    return [hidden('timestampFields', 'no edition can be seen that shows a time'), ...unseenMembers]
  }
  const doubts = [
    ...(open.length > 0
      ? [
          `${open.join(', ')} show times in UTC, as time stamps do; dates of a site whose time zone is UTC look the same`
        ]
      : []),
    ...(called.length > 0
      ? [`no edition has a value in ${called.join(', ')}; modules call time stamps so`]
      : [])
  ]
  return [
    doubts.length > 0
      ? guessed('timestampFields', value, doubts.join('; '))
      : shown(
          'timestampFields',
          value,
          'the configuration of fields, filters, core REST or the time zone tell them from dates'
        ),
    ...unseenMembers
  ]
}

/** Fields that Drupal's own modules and Scheduler have for time stamps. */
const DEFAULT_TIMES: readonly string[] = ContentModel.properties.timestampFields.default

/** Base fields that are no times, and are often empty. */
const NO_TIMES = [
  'revision_log',
  'revision_log_message',
  'revision_translation_affected',
  'moderation_state',
  'path'
]

/** How many fields a line names. */
const NAMED = 20

/** The fields in which no edition has a value, unless their configuration tells what they hold. */
function unsetFields({ rows, keys, storages }: FieldRows): string[] {
  const configured = new Set(storages?.map(({ field }) => field))
  return attributesOf(rows)
    .filter(
      ({ name, values }) =>
        values.length === 0 &&
        !keys.includes(name) &&
        !NO_TIMES.includes(name) &&
        !configured.has(name)
    )
    .map(({ name }) => name)
}

function unseenText(names: string[], { storages, storagesPermission }: FieldRows): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : ''
  const permission = storages ? '' : `, or ${storagesPermission}`
  return `no edition has a value in ${names.slice(0, NAMED).join(', ')}${more}, so whether they hold time stamps is not known; an edition with one${permission} would show it. Quoin asks Drupal once an edition has one`
}
