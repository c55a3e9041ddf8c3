import { isDeepStrictEqual } from 'node:util'
import { isObject, isSameUuid, scalarText } from '../../jsonapi/document.ts'
import type { ContentModel } from '../model.ts'
import type { Item } from './edition-json.ts'

/** Computed properties of attributes, and of references, that core REST shows and nobody can set; elsewhere they are like any other. */
export const COMPUTED = { attribute: ['processed', 'summary_processed', 'resolvable_uri'], reference: ['url', 'entity'] }

/**
 * Whether two lists of items say the same of a field, as far as Drupal can tell: computed properties, the format of a time
 * stamp, absent against null and the way of naming a reference aside. `current` has the types that Drupal gives.
 */
export function sameItems (field: string, current: Item[], given: Item[], model: ContentModel): boolean {
  return current.length === given.length && current.every((item, index) => sameItem(field, item, given[index]!, model))
}

function sameItem (field: string, current: Item, given: Item, model: ContentModel): boolean {
  if (model.rawFields.includes(field)) return sameValue(current, given)
  if ('target_id' in current || 'target_id' in given || 'target_uuid' in given) return sameReference(current, given)
  if (model.timestampFields.includes(field)) return instant(current.value) === instant(given.value)
  return sameProperties(current, given, COMPUTED.attribute, model.mainProperty[field] ?? 'value')
}

function sameReference (current: Item, given: Item): boolean {
  const same = given.target_uuid !== undefined && given.target_uuid !== null
    ? current.target_uuid === given.target_uuid
    : sameValue(current.target_id, given.target_id ?? given.value)
  const { target_id: _1, target_uuid: _2, target_type: _3, ...ofCurrent } = current
  const { target_id: _4, target_uuid: _5, target_type: _6, ...ofGiven } = given
  return same && sameProperties(ofCurrent, ofGiven, COMPUTED.reference)
}

/** JSON:API shows all properties of an item, and the main one alone as a bare value: what else is given is none. */
function sameProperties (current: Item, given: Item, computed: string[], main?: string): boolean {
  const shown = Object.keys(current)
  const names = shown.every((name) => name === main) ? shown : new Set([...shown, ...Object.keys(given)])
  return [...names].every((name) => computed.includes(name) || sameValue(current[name], given[name]))
}

function sameValue (current: unknown, given: unknown): boolean {
  if (current === undefined || current === null) return given === undefined || given === null
  if (typeof current === 'boolean') return scalarText(given) === (current ? '1' : '0') || given === current
  // Beyond that a number may have been another before it was read; sent back it is the same, as text it may be that other.
  if (typeof current === 'number' && Math.abs(current) > Number.MAX_SAFE_INTEGER) return given === current
  if (typeof current === 'number') return (typeof given === 'number' || (typeof given === 'string' && given !== '')) && Number(given) === current
  if (typeof current === 'string') return current === (typeof given === 'number' ? String(given) : given)
  return isDeepStrictEqual(map(current), map(given))
}

/**
 * Whether a field shows the items that were sent to create it. Properties that were not sent are Drupal's to fill in. A date
 * is the same in every time zone, and a decimal with any number of zeros at its end.
 */
export function showsItems (field: string, shown: Item[], sent: Item[], model: ContentModel): boolean {
  return shown.length === sent.length && sent.every((item, index) => showsItem(field, shown[index]!, item, model))
}

function showsItem (field: string, shown: Item, sent: Item, model: ContentModel): boolean {
  if (model.rawFields.includes(field)) return sameValue(shown, sent)
  if (!('target_id' in shown)) {
    const computed = model.timestampFields.includes(field) ? [...COMPUTED.attribute, 'format'] : COMPUTED.attribute
    return showsProperties(shown, sent, computed)
  }
  const { target_id: id, target_uuid: uuid, target_type: _, value, ...properties } = sent
  const same = typeof uuid === 'string' ? isSameUuid(scalarText(shown.target_uuid), uuid) : sameValue(shown.target_id, id ?? value)
  return same && showsProperties(shown, properties, COMPUTED.reference)
}

function showsProperties (shown: Item, sent: Item, computed: string[]): boolean {
  return Object.entries(sent).every(([name, value]) => computed.includes(name) || sameValue(shown[name], value) || sameWritten(scalarText(shown[name]), scalarText(value)))
}

const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/** Whether two texts are the same second in two time zones, or the same decimal. */
function sameWritten (one: string, other: string): boolean {
  if (ZONED.test(one) && ZONED.test(other)) return second(one) === second(other)
  return DECIMAL.test(one) && DECIMAL.test(other) && Number(one) === Number(other)
}

/** Drupal keeps no fractions of a second. */
function second (date: string): number {
  return Math.floor(instant(date) / 1000)
}

/** PHP has one empty array for JSON's `[]` and `{}`. */
function map (value: unknown): unknown {
  if (isObject(value)) {
    const members = Object.entries(value)
    return members.length === 0 ? [] : Object.fromEntries(members.map(([name, member]) => [name, map(member)]))
  }
  return Array.isArray(value) ? value.map(map) : value
}

/** From the first T on: tried from each, a text made of them would take hours. */
const ZONED = /^[^T]*T.*(?:Z|[+-]\d\d:?\d\d)$/

/**
 * The instant of a time stamp in milliseconds: seconds since the epoch as a number or digits, or a date with a zone.
 * NaN, which equals nothing, for anything else: what has no zone would be read in that of this machine.
 */
export function instant (value: unknown): number {
  if (typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value))) return Number(value) * 1000
  return typeof value === 'string' && ZONED.test(value) ? Date.parse(value) : NaN
}
