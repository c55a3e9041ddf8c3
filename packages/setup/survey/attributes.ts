import {
  identifiers,
  isObject,
  scalarText,
  type Resource,
  type ResourceIdentifier
} from '../../../lib/drupal/document.ts'

/** What the editions that a survey saw show of one attribute. */
export interface Attribute {
  /** Its public name. */
  name: string
  /** Values that are not null, of any edition; the items, where it holds many. */
  values: unknown[]
  many: boolean
  /** In how many editions it is null. */
  empty: number
}

/** What the editions show of one relationship. */
export interface Relation {
  name: string
  many: boolean
  /** Identifiers of targets that are there. */
  targets: ResourceIdentifier[]
}

export function attributesOf(rows: Resource[]): Attribute[] {
  const attributes = new Map<string, Attribute>()
  for (const row of rows) {
    for (const [name, value] of Object.entries(row.attributes ?? {})) {
      const attribute = attributes.get(name) ?? { name, values: [], many: false, empty: 0 }
      attributes.set(name, attribute)
      if (Array.isArray(value)) {
        Object.assign(attribute, { many: true, values: [...attribute.values, ...value] })
      } else if (value === null) attribute.empty++
      else attribute.values.push(value)
    }
  }
  return [...attributes.values()]
}

export function relationsOf(rows: Resource[]): Relation[] {
  const relations = new Map<string, Relation>()
  for (const row of rows) {
    for (const [name, relationship] of Object.entries(row.relationships ?? {})) {
      const relation = relations.get(name) ?? {
        name,
        many: Array.isArray(relationship.data),
        targets: []
      }
      relations.set(name, relation)
      relation.targets.push(
        ...identifiers(relationship).filter(({ id }) => id !== 'missing' && id !== 'virtual')
      )
    }
  }
  return [...relations.values()]
}

/** The id of a target as its meta has it: a number, or the machine name of a config entity. */
export function targetId({ meta }: ResourceIdentifier): unknown {
  return meta?.drupal_internal__target_id
}

/**
 * Whether a field is configured on the site, and not the entity type's own. Source: Drupal\field_ui
 * (the prefix `field_`).
 */
export const isConfigured = (name: string): boolean => name.startsWith('field_')

/** How Drupal writes a time. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/

/** Whether it shows times, one in each edition or many. */
export function hasTimes({ values }: Attribute): boolean {
  return values.length > 0 && values.every((value) => typeof value === 'string' && TIME.test(value))
}

/** Whether it shows one time in each edition. */
export function isTime(attribute: Attribute): boolean {
  return !attribute.many && hasTimes(attribute)
}

/**
 * Whether a value is in another time zone than UTC. Drupal writes time stamps in UTC, and dates in
 * the site's time zone.
 * Source: Drupal\serialization\Normalizer\TimestampNormalizer, DateTimeIso8601Normalizer.
 */
export function isLocalTime({ values }: Attribute): boolean {
  return values.some((value) => !String(value).endsWith('+00:00'))
}

export function isBoolean({ values, many }: Attribute): boolean {
  return !many && values.length > 0 && values.every((value) => typeof value === 'boolean')
}

/** A short text, one per edition, that is neither a time nor a date. */
export function isText({ values, many }: Attribute): boolean {
  return (
    !many &&
    values.length > 0 &&
    values.every(
      (value) => typeof value === 'string' && !/^\d{4}-\d\d-\d\d/.test(value) && value.length <= 255
    )
  )
}

/** Whether no two editions have the same value, and each has one. */
export function isUnique({ values, empty }: Attribute): boolean {
  return empty === 0 && values.length > 1 && new Set(values).size === values.length
}

/** Whether the values are few machine names. */
export function isChoice({ values }: Attribute): boolean {
  const different = new Set(values)
  return (
    different.size <= Math.max(1, values.length / 3) &&
    [...different].every((value) => /^[a-z][a-z0-9_-]{0,63}$/.test(scalarText(value)))
  )
}

/** Whether half of the editions or more have a word in it, each another one. */
export function isMark({ values, empty }: Attribute): boolean {
  return (
    values.length > 3 &&
    values.length >= empty &&
    new Set(values).size === values.length &&
    !values.some((value) => String(value).includes(' '))
  )
}

/**
 * Whether the members of the objects differ from edition to edition, or hold lists and objects, as
 * those of a map do.
 */
export function isMapOfValues({ values }: Attribute): boolean {
  const objects = values.filter(isObject)
  const isDeep = objects.some((value) =>
    Object.entries(value).some(
      ([name, member]) => name !== 'options' && typeof member === 'object' && member !== null
    )
  )
  return (
    objects.length > 0 &&
    objects.length === values.length &&
    (isDeep || new Set(objects.map((value) => Object.keys(value).sort().join())).size > 1)
  )
}

/**
 * The first of these names that there is, else the first attribute; undefined where there is none.
 */
export function likeliest(attributes: Attribute[], names: string[]): Attribute | undefined {
  return (
    names
      .map((name) => attributes.find((attribute) => attribute.name === name))
      .find((attribute) => attribute !== undefined) ?? attributes[0]
  )
}
