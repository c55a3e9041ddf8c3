import { isDeepStrictEqual } from 'node:util'
import { isObject, isSameUuid, scalarText } from '../../drupal/document.ts'
import type { ContentModel } from '../model.ts'
import { withoutPadding } from './decimals.ts'
import type { FieldItem } from './edition-json.ts'

/**
 * Computed properties, which core REST shows and nobody can set: of attributes, and of references.
 */
export const COMPUTED = {
  attribute: ['processed', 'summary_processed', 'resolvable_uri'],
  reference: ['url', 'entity']
}

/** Items that came as bare values. */
export const bareItems = new WeakSet<FieldItem>()

/**
 * What an item of a reference names its target by, as core reads it: `target_id`, or a bare value.
 * Core ignores a property `value`.
 */
export function targetName(item: FieldItem): unknown {
  return item.target_id ?? (bareItems.has(item) ? item.value : undefined)
}

/**
 * Whether two lists of items are the same to Drupal. It makes no difference between absent and
 * null, or between two ways of naming a reference, and ignores computed properties and the format
 * of a time stamp. `current` has the types that Drupal gives.
 */
export function sameItems(
  field: string,
  current: FieldItem[],
  body: FieldItem[],
  model: ContentModel
): boolean {
  return (
    current.length === body.length &&
    current.every((item, index) => sameItem(field, item, body[index]!, model))
  )
}

function sameItem(
  field: string,
  current: FieldItem,
  next: FieldItem,
  model: ContentModel
): boolean {
  if (model.rawFields.includes(field)) return sameValue(current, next)
  if ('target_id' in current || 'target_id' in next || 'target_uuid' in next) {
    return sameReference(current, next)
  }
  if (model.timestampFields.includes(field)) return instant(current.value) === instant(next.value)
  if (model.decimalFields.includes(field)) {
    return sameProperties(
      decimalItem(current),
      decimalItem(next),
      COMPUTED.attribute,
      model.mainProperty[field] ?? 'value'
    )
  }
  return sameProperties(current, next, COMPUTED.attribute, model.mainProperty[field] ?? 'value')
}

function sameReference(current: FieldItem, next: FieldItem): boolean {
  const isSameTarget =
    next.target_uuid !== undefined && next.target_uuid !== null
      ? current.target_uuid === next.target_uuid
      : sameValue(current.target_id, targetName(next))
  const { target_id: _1, target_uuid: _2, target_type: _3, ...ofCurrent } = current
  const { target_id: _4, target_uuid: _5, target_type: _6, ...ofNext } = next
  return isSameTarget && sameProperties(ofCurrent, ofNext, COMPUTED.reference)
}

/**
 * JSON:API shows all properties of an item, or only the main one as a bare value. A bare value
 * means that the item has no other properties.
 */
function sameProperties(
  current: FieldItem,
  next: FieldItem,
  computed: string[],
  main?: string
): boolean {
  const currentNames = Object.keys(current)
  const names = currentNames.every((name) => name === main)
    ? currentNames
    : new Set([...currentNames, ...Object.keys(next)])
  return [...names].every((name) => computed.includes(name) || sameValue(current[name], next[name]))
}

function sameValue(current: unknown, next: unknown): boolean {
  if (current === undefined || current === null) return next === undefined || next === null
  if (typeof current === 'boolean') {
    return scalarText(next) === (current ? '1' : '0') || next === current
  }
  // JSON.parse rounds beyond this. The rounded number sent back is the same; a text may be the
  // number before rounding.
  if (typeof current === 'number' && Math.abs(current) > Number.MAX_SAFE_INTEGER) {
    return next === current
  }
  if (typeof current === 'number') {
    return (
      (typeof next === 'number' || (typeof next === 'string' && next !== '')) &&
      Number(next) === current
    )
  }
  if (typeof current === 'string') {
    return current === (typeof next === 'number' ? String(next) : next)
  }
  return isDeepStrictEqual(map(current), map(next))
}

function decimalItem(item: FieldItem): FieldItem {
  return withoutPadding(item) as FieldItem
}

/**
 * Whether a field shows the items that a create has sent. Drupal fills in properties that were not
 * sent. A date is the same in every time zone, and the value of a decimal field with any number of
 * trailing zeros.
 */
export function showsItems(
  field: string,
  shown: FieldItem[],
  sent: FieldItem[],
  model: ContentModel
): boolean {
  return (
    shown.length === sent.length &&
    sent.every((item, index) => showsItem(field, shown[index]!, item, model))
  )
}

function showsItem(
  field: string,
  current: FieldItem,
  next: FieldItem,
  model: ContentModel
): boolean {
  if (model.rawFields.includes(field)) return sameValue(current, next)
  if (!('target_id' in current)) {
    const computed = model.timestampFields.includes(field)
      ? [...COMPUTED.attribute, 'format']
      : COMPUTED.attribute
    if (model.decimalFields.includes(field)) {
      return showsProperties(decimalItem(current), decimalItem(next), computed, isSameText)
    }
    return showsProperties(current, next, computed, isText(field, model) ? isSameText : isSameDate)
  }
  const { target_id: _1, target_uuid: uuid, target_type: _2, value: _3, ...properties } = next
  const isSameTarget =
    typeof uuid === 'string'
      ? isSameUuid(scalarText(current.target_uuid), uuid)
      : sameValue(current.target_id, targetName(next))
  return isSameTarget && showsProperties(current, properties, COMPUTED.reference, isSameText)
}

/** Whether a field is known to hold texts: Drupal shows them as they were sent. */
function isText(
  field: string,
  { keys: { label }, fields: { key, editionType } }: ContentModel
): boolean {
  return [label, key, editionType].includes(field)
}

function showsProperties(
  shown: FieldItem,
  sent: FieldItem,
  computed: string[],
  isSame: (shown: string, sent: string) => boolean
): boolean {
  return Object.entries(sent).every(
    ([name, value]) =>
      computed.includes(name) ||
      sameValue(shown[name], value) ||
      isSame(scalarText(shown[name]), scalarText(value))
  )
}

function isSameText(): boolean {
  return false
}

/** Whether two texts are the same second in two time zones. */
function isSameDate(a: string, b: string): boolean {
  return ZONED.test(a) && ZONED.test(b) && second(a) === second(b)
}

/** Drupal keeps no fractions of a second. */
function second(date: string): number {
  return Math.floor(instant(date) / 1000)
}

/** PHP has one empty array for JSON's `[]` and `{}`. */
function map(value: unknown): unknown {
  if (isObject(value)) {
    const members = Object.entries(value)
    return members.length === 0
      ? []
      : Object.fromEntries(members.map(([name, member]) => [name, map(member)]))
  }
  return Array.isArray(value) ? value.map(map) : value
}

/** Anchored at the first T: tried at every T, a text full of them would take hours. */
const ZONED = /^[^T]*T.*(?:Z|[+-]\d\d:?\d\d)$/

/**
 * The instant of a time stamp in milliseconds: seconds since the epoch as a number or digits, or a
 * date with a zone. NaN, which equals nothing, for anything else: a date without a zone would be
 * read in the zone of this machine.
 */
export function instant(value: unknown): number {
  if (typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value))) {
    return Number(value) * 1000
  }
  return typeof value === 'string' && ZONED.test(value) ? Date.parse(value) : NaN
}
