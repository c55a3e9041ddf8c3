import { identifiers, isObject, scalarText, type Resource } from '../../../lib/drupal/document.ts'
import { INTERNAL } from '../../../lib/editions/model.ts'
import {
  attributesOf,
  isBoolean,
  isConfigured,
  isText,
  isTime,
  likeliest,
  relationsOf,
  targetId,
  type Attribute
} from './attributes.ts'
import { guessed, hidden, shown, type Member } from './member.ts'

/** What a survey knows of an entity type when it looks for its keys. */
export interface EntityRows {
  entityType: string
  /**
   * The bundles that the entry point of JSON:API has: the entity type itself for one without
   * bundles.
   */
  bundles: string[]
  rows: Resource[]
  /** The bundle of a resource, by its resource type. */
  bundleOf(resourceType: string): string | undefined
  /** Splits a resource type into entity type and bundle. */
  entityTypeOf(resourceType: string): string
  /** An edition as core REST shows it, if the site has core REST. It has the internal names. */
  twin: Record<string, unknown> | undefined
  /** Languages that sites have: what holds no other text may be the language of an edition. */
  languages: string[]
  /** Editions as they are shown in another language, each beside itself. */
  translations: Array<[one: Resource, other: Resource]>
}

/** Names that Drupal's modules give to keys, the usual one first. */
const LABELS = ['title', 'name', 'label', 'subject', 'headline']
const PUBLISHED = ['status', 'published', 'live', 'is_published', 'active']
const CHANGED = ['changed', 'modified', 'updated', 'touched', 'revised', 'edited']

/** Booleans and texts that every translatable or revisionable entity type has. */
const CORE_BOOLEANS = [
  'default_langcode',
  'revision_translation_affected',
  'revision_default',
  'sticky',
  'promote',
  'content_translation_outdated'
]
const CORE_TEXTS = [
  'langcode',
  'revision_log',
  'revision_log_message',
  'preferred_langcode',
  'moderation_state',
  'content_translation_source'
]

const NO_BUNDLES =
  'no edition refers to a bundle, and the only one is called like the entity type, so it has none'
const HIDDEN_BUNDLES = 'no edition refers to its bundle; let the account view the field'

const NO_ROWS = 'no edition can be seen, and JSON:API shows the names of keys in editions alone'

/** The keys of an entity type, as its entities show them. */
export function keyMembers(entity: EntityRows): Member[] {
  if (entity.rows.length === 0) {
    return [hidden('keys', NO_ROWS), hidden('bundleEntityType', NO_ROWS)]
  }
  const attributes = attributesOf(entity.rows)
  const base = attributes.filter(({ name }) => !isConfigured(name) && !name.startsWith(INTERNAL))
  const languages = languageMembers(base, entity)
  const others = base.filter(({ name }) => !languages.some(({ value }) => value === name))
  return [
    ...idMembers(entity),
    uuidMember(entity),
    ...bundleMembers(entity),
    labelMember(others),
    publishedMember(others),
    changedMember(others),
    ...languages
  ]
}

/**
 * The attributes that JSON:API marks are the id and the revision id; the links of an edition repeat
 * the latter.
 */
function idMembers({ rows }: EntityRows): Member[] {
  const names = Object.keys(rows[0]!.attributes ?? {}).filter((name) => name.startsWith(INTERNAL))
  const revisions = names.filter((name) =>
    rows.every((row) => revisionOf(row) === scalarText(row.attributes?.[name]))
  )
  const revision = names.length > 1 ? (revisions.at(-1) ?? names[1]) : undefined
  const id = names.find((name) => name !== revision)
  if (id === undefined) {
    return [hidden('keys.id', 'editions show no id; let the account view the field')]
  }
  const isSure = names.length === 1 || revisions.length === 1
  const member = isSure ? shown : guessed
  const why = isSure
    ? 'JSON:API marks it'
    : 'JSON:API marks both ids, and nothing but their order tells which is which'
  return [
    member('keys.id', id.slice(INTERNAL.length), why),
    revision === undefined
      ? guessed('keys.revision', null, 'JSON:API marks one id, so the entity type has no revisions')
      : member('keys.revision', revision.slice(INTERNAL.length), why)
  ]
}

/**
 * The revision that an edition's own link names. Source:
 * Drupal\jsonapi\JsonApiResource\ResourceObject::buildLinksFromEntity().
 */
function revisionOf(row: Resource): string | undefined {
  const { links } = row as Resource & { links?: Record<string, unknown> }
  const self = isObject(links?.self) ? scalarText(links.self.href) : ''
  return /[?&]resourceVersion=id%3A(\d+)/.exec(self)?.[1]
}

function uuidMember({ rows, twin }: EntityRows): Member {
  const uuids = rows.map(({ id }) => id)
  const field = Object.entries(twin ?? {}).find(
    ([, items]) =>
      Array.isArray(items) &&
      items.length === 1 &&
      isObject(items[0]) &&
      uuids.includes(scalarText(items[0].value))
  )
  return field
    ? shown('keys.uuid', field[0], 'core REST shows it')
    : guessed(
        'keys.uuid',
        'uuid',
        'JSON:API shows every uuid as `id`; this is the name that nearly all entity types have'
      )
}

/** The bundle is the one reference whose target is called as the bundle. */
function bundleMembers(entity: EntityRows): Member[] {
  const { rows, entityType, bundles, bundleOf, entityTypeOf, twin } = entity
  const relation = relationsOf(rows).find(
    ({ name, many, targets }) =>
      !many &&
      targets.length > 0 &&
      rows.every((row) =>
        identifiers(row.relationships?.[name]).every(
          (target) => targetId(target) === bundleOf(row.type)
        )
      )
  )
  if (!relation) {
    return ['keys.bundle', 'bundleEntityType'].map((name) =>
      bundles.join() === entityType ? guessed(name, null, NO_BUNDLES) : hidden(name, HIDDEN_BUNDLES)
    )
  }
  const type = shown(
    'bundleEntityType',
    entityTypeOf(relation.targets[0]!.type),
    'each edition refers to its bundle'
  )
  if (relation.name !== `${entityType}_type`) {
    return [shown('keys.bundle', relation.name, 'each edition refers to its bundle'), type]
  }
  const isLong = twin !== undefined && Object.hasOwn(twin, relation.name)
  return [
    twin
      ? shown('keys.bundle', isLong ? relation.name : 'type', 'core REST shows it')
      : guessed(
          'keys.bundle',
          'type',
          `JSON:API shows ${relation.name}, which is what it makes of \`type\``
        ),
    type
  ]
}

function labelMember(base: Attribute[]): Member {
  const texts = base.filter(
    (attribute) =>
      isText(attribute) && attribute.empty === 0 && !CORE_TEXTS.includes(attribute.name)
  )
  // Codes have no spaces.
  const label = likeliest(
    texts.toSorted((one, other) => Number(hasWords(other)) - Number(hasWords(one))),
    LABELS
  )
  if (!label) {
    return absentMember(
      'keys.label',
      base.filter((attribute) => isText(attribute) || isUnset(attribute)),
      LABELS,
      'no field of the entity type itself holds a text'
    )
  }
  return texts.length === 1
    ? shown('keys.label', label.name, 'no other field of the entity type itself holds a text')
    : guessed(
        'keys.label',
        label.name,
        `of the texts ${namesOf(texts)} it is called most like a label`
      )
}

function publishedMember(base: Attribute[]): Member {
  const booleans = base.filter(
    (attribute) => isBoolean(attribute) && !CORE_BOOLEANS.includes(attribute.name)
  )
  const flag = likeliest(booleans, PUBLISHED)
  if (!flag) {
    return absentMember(
      'keys.published',
      base.filter(isUnset),
      PUBLISHED,
      'no field of the entity type itself says yes or no, so editions are neither published nor unpublished'
    )
  }
  return booleans.length === 1
    ? shown('keys.published', flag.name, 'no other field of the entity type itself says yes or no')
    : guessed('keys.published', flag.name, `of ${namesOf(booleans)} it is called most like it`)
}

/**
 * Of the times of an edition, the time of its last change is the latest; those of its revision are
 * of another key.
 */
function changedMember(base: Attribute[]): Member {
  const times = base.filter(
    (attribute) => isTime(attribute) && !/^revision_|_created$/.test(attribute.name)
  )
  const latest = times.filter(
    (time) => time.empty === 0 && times.every((other) => !isLaterTime(other, time))
  )
  const changeTime = likeliest(latest, CHANGED)
  if (!changeTime) {
    return absentMember(
      'keys.changed',
      base.filter((attribute) => isTime(attribute) || isUnset(attribute)),
      CHANGED,
      'no field of the entity type itself shows when an edition was changed'
    )
  }
  return latest.length === 1 && CHANGED.includes(changeTime.name)
    ? shown('keys.changed', changeTime.name, 'it is the latest of the times of each edition')
    : guessed(
        'keys.changed',
        changeTime.name,
        `of the times ${namesOf(times)} it is the latest, or called most like it`
      )
}

/**
 * A key that no attribute shows with a value in each edition: one that is called so and is at times
 * empty, else none.
 */
function absentMember(name: string, attributes: Attribute[], usual: string[], why: string): Member {
  const called = attributes.find((attribute) => usual.includes(attribute.name))
  return called
    ? guessed(name, called.name, 'it is called like it, and is empty in some editions or all')
    : guessed(name, null, why)
}

const isUnset = ({ values, many }: Attribute): boolean => !many && values.length === 0

function isLaterTime(one: Attribute, other: Attribute): boolean {
  return (
    one.empty === 0 &&
    one.values.some(
      (value, index) => Date.parse(String(value)) > Date.parse(String(other.values[index]))
    )
  )
}

function languageMembers(base: Attribute[], { languages, translations }: EntityRows): Member[] {
  const hasName = (name: string) => base.some((attribute) => attribute.name === name)
  const codes = base.filter(
    (attribute) =>
      isText(attribute) &&
      attribute.values.every((value) => /^[a-z]{2,3}(?:-[\w-]{1,12})?$/.test(String(value)))
  )
  const langcode = likeliest(
    [
      ...codes.filter(({ name }) => /lang/.test(name)),
      ...codes.filter(({ values }) =>
        values.every((value) => [...languages, ...NO_LANGUAGES].includes(String(value)))
      )
    ],
    ['langcode']
  )
  const booleans = base.filter(
    (attribute) => isBoolean(attribute) && attribute.name !== 'revision_default'
  )
  const pairs = langcode ? translations.filter((pair) => isTranslated(pair, langcode.name)) : []
  const originalFlags = booleans.filter(
    ({ name }) =>
      pairs.length > 0 &&
      pairs.every((pair) => !pair.every((row) => row.attributes?.[name] === true)) &&
      pairs.some((pair) => pair.some((row) => row.attributes?.[name] === true))
  )
  const defaults = likeliest(
    [...booleans.filter(({ name }) => /default/.test(name)), ...originalFlags],
    ['default_langcode']
  )
  return [
    langcode
      ? (hasName('langcode') ? shown : guessed)(
          'keys.langcode',
          langcode.name,
          'it holds the language of each edition'
        )
      : guessed('keys.langcode', null, 'editions have no language'),
    defaults
      ? (hasName('default_langcode') ? shown : guessed)(
          'keys.defaultLangcode',
          defaults.name,
          'it tells an original from its translations'
        )
      : guessed('keys.defaultLangcode', null, 'editions have no translations')
  ]
}

/** What Drupal has for a text in no language. */
const NO_LANGUAGES = ['und', 'zxx']

/** Whether the two are the same edition in two languages. */
function isTranslated([one, other]: [Resource, Resource], langcode: string): boolean {
  return one.attributes?.[langcode] !== other.attributes?.[langcode]
}

const hasWords = ({ values }: Attribute): boolean =>
  values.some((value) => String(value).includes(' '))

const namesOf = (attributes: Attribute[]): string => attributes.map(({ name }) => name).join(', ')
