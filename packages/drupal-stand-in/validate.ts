import { can, type Viewer } from './access.ts'
import { CmsError, type Violation } from './errors.ts'
import { entityTypes, isReference, type Field } from './model.ts'
import { editionTypes, type Site } from './site.ts'
import { type Entity, type Item, valueOf } from './store.ts'

const primitive = 'This value should be of the correct primitive type.'
const notNumber = 'This value should be a valid number.'
const notChoice = 'The value you selected is not a valid choice.'

interface PropertyViolation {
  property: string
  message: string
}

const at = (property: string, ...messages: string[]): PropertyViolation[] =>
  messages.map((message) => ({ property, message }))

/** PHP's is_numeric(), and its filter for integers. */
const numeric = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i
const integer = /^\s*[+-]?(0|[1-9]\d*)\s*$/

function checkInteger(field: Field, value: unknown): PropertyViolation[] {
  const text = value === true ? '1' : String(value)
  const isPrimitive = integer.test(text)
  const range =
    value === true || !numeric.test(text)
      ? [field.min, field.max].filter((bound) => bound !== undefined).map(() => notNumber)
      : field.min !== undefined && Number(text) < field.min
        ? [`${field.label}: the value may be no less than ${field.min}.`]
        : field.max !== undefined && Number(text) > field.max
          ? [`${field.label}: the value may be no greater than ${field.max}.`]
          : []
  return at('value', ...range, ...(isPrimitive ? [] : [primitive]))
}

function checkLink(uri: string): PropertyViolation[] {
  if (/^[a-z][a-z0-9+.-]*:./i.test(uri)) return []
  return [...at('', `The path '${uri}' is invalid.`), ...at('uri', primitive)]
}

function formats(viewer: Viewer): string[] {
  return [
    'plain_text',
    ...['basic_html', 'restricted_html', 'full_html'].filter((format) =>
      can(viewer, `use text format ${format}`)
    )
  ]
}

function checkValue(site: Site, viewer: Viewer, field: Field, item: Item): PropertyViolation[] {
  const { value } = item
  if (typeof value === 'object' && value !== null) return at('value', primitive)
  switch (field.type) {
    case 'string':
      return field.maxLength !== undefined && [...String(value)].length > field.maxLength
        ? at('value', `${field.label}: may not be longer than ${field.maxLength} characters.`)
        : []
    case 'integer':
      return checkInteger(field, value)
    case 'decimal':
      return value === true || /^[+-]?((\d+(\.\d*)?)|(\.\d+))$/.test(String(value))
        ? []
        : at('value', 'This value is not valid.')
    case 'float':
      return Number.isNaN(Number(value)) ? at('value', primitive) : []
    case 'boolean':
      return [true, false, 0, 1, '0', '1'].includes(value as string) ? [] : at('value', primitive)
    case 'language':
      return value === 'en' || value === 'und' || value === 'zxx' ? [] : at('', notChoice)
    case 'list_string':
      return editionTypes(site).includes(String(value)) ? [] : at('', notChoice)
    case 'text_long':
    case 'text_with_summary':
      return item.format === undefined ||
        item.format === null ||
        formats(viewer).includes(String(item.format))
        ? []
        : at('format', notChoice)
    case 'link':
      return checkLink(String(item.uri))
    default:
      return []
  }
}

function isReferenceable(viewer: Viewer, field: Field, target: Entity): boolean {
  if (target.entityType === 'node') {
    const published = valueOf(target, 'status') === true || can(viewer, 'bypass node access')
    return published && (field.targetBundle === undefined || field.targetBundle === target.bundle)
  }
  return field.targetBundle === undefined || field.targetBundle === target.bundle
}

/**
 * What ValidReference says of one item; targets that the stored entity already had are never
 * questioned.
 */
function checkReference(
  site: Site,
  viewer: Viewer,
  field: Field,
  item: Item,
  before: Entity | undefined
): PropertyViolation[] {
  const id = item.target_id as number | string
  const target = site.store.byId(field.target!, id)
  if (!target) {
    return at('target_id', `The referenced entity (${field.target}: ${id}) does not exist.`)
  }
  const isUnchanged = before?.fields[field.name]?.some((one) => one.target_id === id) ?? false
  return isUnchanged || isReferenceable(viewer, field, target)
    ? []
    : at('target_id', `This entity (${field.target}: ${id}) cannot be referenced.`)
}

function checkField(
  site: Site,
  viewer: Viewer,
  entity: Entity,
  field: Field,
  before: Entity | undefined
): Violation[] {
  const items = entity.fields[field.name] ?? []
  const onField = (message: string): Violation => ({
    path: field.name,
    message,
    pointer: `/data/attributes/${field.name}`
  })
  if (items.length === 0) return field.required ? [onField('This value should not be null.')] : []
  const tooMany =
    !field.many && items.length > 1
      ? [onField(`${field.label}: this field cannot hold more than 1 values.`)]
      : []
  const isTaken =
    field.unique &&
    site.store
      .all(entity.entityType)
      .some(
        (other) =>
          other.uuid !== entity.uuid &&
          String(valueOf(other, field.name)).toLowerCase() === String(items[0]!.value).toLowerCase()
      )
  const unique = isTaken
    ? [onField(`A publisher container with ${field.label} ${items[0]!.value} already exists.`)]
    : []
  const values = items.flatMap((item, delta) => {
    const findings = isReference(field)
      ? checkReference(site, viewer, field, item, before)
      : checkValue(site, viewer, field, item)
    return findings.map(({ property, message }): Violation => {
      const steps = [field.name, String(delta), ...(property === '' ? [] : [property])]
      const pointer = field.many || property === '' ? steps : [field.name, property]
      return { path: steps.join('.'), message, pointer: `/data/attributes/${pointer.join('/')}` }
    })
  })
  return [...tooMany, ...unique, ...values]
}

/**
 * Holds an entity against the constraints of its fields, in the order of their definition, and
 * throws 422 with every violation. A PATCH looks only at the fields that were sent.
 */
export function validate(
  site: Site,
  viewer: Viewer,
  entity: Entity,
  before?: Entity,
  only?: Set<string>
): void {
  const definition = entityTypes[entity.entityType]!
  const keys = new Set([definition.idKey, 'uuid', definition.revisionKey, definition.bundleKey])
  const violations = definition.fields
    .filter((field) => !keys.has(field.name) && (only === undefined || only.has(field.name)))
    .flatMap((field) => checkField(site, viewer, entity, field, before))
  if (violations.length > 0) {
    throw new CmsError(422, 'Unprocessable Entity: validation failed.', { violations })
  }
}

const isEmpty = (field: Field, item: Item): boolean => {
  const main = item[isReference(field) ? 'target_id' : field.type === 'link' ? 'uri' : 'value']
  if (field.type === 'path' || field.type === 'comment') return false
  const isNumber = field.type === 'integer' || field.type === 'decimal' || field.type === 'float'
  return (
    main === null ||
    main === undefined ||
    (main === '' && field.type !== 'boolean') ||
    (main === false && isNumber)
  )
}

/** Drops empty items and casts text, as setting a field does before it is validated. */
export function prepareItems(field: Field, items: Item[]): Item[] {
  const text = [
    'string',
    'string_long',
    'list_string',
    'text_long',
    'text_with_summary',
    'email'
  ].includes(field.type)
  return items
    .map((item) =>
      text && (typeof item.value === 'number' || typeof item.value === 'boolean')
        ? {
            ...item,
            value: item.value === true ? '1' : item.value === false ? '' : String(item.value)
          }
        : item
    )
    .filter((item) => !isEmpty(field, item))
}

/**
 * Casts valid values to what the database gives back: numbers, booleans, decimals without trailing
 * zeros.
 */
export function storedItems(site: Site, field: Field, items: Item[]): Item[] {
  return items.map(({ processed: _, entity: __, ...item }) => {
    switch (field.type) {
      case 'integer':
        return { value: Number(item.value) }
      case 'float':
        return { value: Number(item.value) }
      case 'boolean':
        return { value: item.value === true || item.value === 1 || item.value === '1' }
      case 'decimal':
        return { value: String(Math.round(Number(item.value) * 100) / 100) }
      case 'image': {
        const size = imageSize(site, item.target_id as number)
        return {
          alt: item.alt ?? null,
          title: item.title ?? null,
          width: item.width ?? size.width,
          height: item.height ?? size.height,
          target_id: item.target_id
        }
      }
      default:
        return item
    }
  })
}

/** The size of an image file, as any stored reference to it tells; without one, a common size. */
function imageSize(site: Site, id: number): { width: unknown; height: unknown } {
  for (const entity of site.store.all('publisher_container')) {
    const item = entity.fields.field_cover?.find((one) => one.target_id === id)
    if (item) return { width: item.width, height: item.height }
  }
  return { width: 1200, height: 800 }
}
