import { publicName, type ContentModel } from '../model.ts'
import { NEWEST_FIRST, sortPaths, type ListOrder } from './order.ts'

/** What a list of editions is narrowed by. */
export interface Selection {
  /** Substring of the title, or the exact key. */
  q?: string
  /** 1 published, 0 not. */
  status?: 0 | 1
  /** Edition types. An edition must have all of them, so two different ones match none. */
  types?: string[]
  /** Exact key. */
  key?: string
  section?: SectionSelection
  /** Changed at this time or later, in milliseconds since the epoch. */
  changedFrom?: number
  /** Changed before this time. */
  changedBefore?: number
}

/** A section of what editions are made of. */
export interface SectionSelection {
  /** The field, by its internal name. */
  field: string
  /** The uuid of what the field refers to, or its text. */
  value: string
  /** Whether the field is a reference; undefined where no document has shown it. */
  isReference?: boolean | undefined
}

/** Query parameters of a request. */
export type Parameters = Array<[string, string]>

/** One page of a collection as it came. */
export interface Page<Row> {
  /** The rows that the caller may see. */
  rows: Row[]
  /** Whether there are more rows after this page, visible or not. */
  more: boolean
  /** How many rows the collection has, where the CMS counts. */
  count?: number
  /** How many bytes they came in. */
  bytes?: number | undefined
}

/** JSON:API's largest page. Source: Drupal\jsonapi\Query\OffsetPage::SIZE_MAX. */
export const PAGE_MAX = 50

/**
 * A group of conditions; at least one has to hold. Drupal finds a group only by the name in its
 * members' `memberOf`.
 */
const EITHER = 'either'

/**
 * The filter of a collection request. Every condition is written out in full, so that no value can
 * be taken for anything else. Source: Drupal\jsonapi\Query\Filter, EntityCondition.
 * @param byKey whether `q` also searches the keys: false if the field does not exist or the caller
 *   may not see it
 */
export function filterQuery(
  { q, status, types = [], key, section, changedFrom, changedBefore }: Selection,
  model: ContentModel,
  byKey = true
): Parameters {
  const conditions: Array<
    [path: string, operator: string, value: string, group: string | undefined]
  > = []
  const add = (path: string | null, operator: string, value: string, group?: string) => {
    if (path !== null) conditions.push([publicName(model, path), operator, value, group])
  }
  if (q) for (const part of certainParts(q)) add(model.keys.label, 'CONTAINS', part, EITHER)
  if (q && byKey) add(model.fields.key, '=', q, EITHER)
  if (status !== undefined) add(model.keys.published, '=', String(status))
  for (const type of types) add(model.fields.editionType, '=', type)
  if (key !== undefined) add(model.fields.key, '=', key)
  if (section) {
    const name = publicName(model, section.field)
    conditions.push([section.isReference ? `${name}.id` : name, '=', section.value, undefined])
  }
  if (changedFrom !== undefined) add(model.keys.changed, '>=', seconds(changedFrom))
  if (changedBefore !== undefined) add(model.keys.changed, '<', seconds(changedBefore))
  return [
    ...(q ? [[`filter[${EITHER}][group][conjunction]`, 'OR'] as [string, string]] : []),
    ...conditions.flatMap(([path, operator, value, group], index) =>
      filterCondition(`c${index}`, path, operator, [value], group)
    )
  ]
}

/**
 * A time as Drupal stores it: it compares filters by times with whole seconds. A row of a later
 * second than this one, or of the same, is later.
 */
function seconds(ms: number): string {
  return String(Math.ceil(ms / 1000))
}

/** A letter whose two cases are different letters to SQLite, and to PostgreSQL in the locale C. */
const CASED = /(?![ -~])\p{Changes_When_Casemapped}/u

/** How many such letters are searched for in both cases: each doubles the conditions. */
const CASED_MAX = 3

/**
 * Texts to search for in place of `q`. A title that has `q` in any case has at least one of them,
 * whichever letters the site's database knows the case of: the longest part without such letters,
 * else the beginning in every case of each such letter.
 */
function certainParts(q: string): string[] {
  const longest = q.split(CASED).reduce((a, b) => (b.length > a.length ? b : a))
  if (longest === q || longest.length > 1) return [longest]
  let starts = ['']
  let cased = 0
  for (const letter of q) {
    const isCased = CASED.test(letter)
    if (isCased && ++cased > CASED_MAX) break
    const cases = isCased ? [letter, letter.toLowerCase(), letter.toUpperCase()] : [letter]
    starts = starts.flatMap((start) => [...new Set(cases)].map((one) => start + one))
  }
  return starts
}

/** A filter for entities by their integer ids. */
export function idQuery(idAttribute: string, ids: string[]): Parameters {
  return filterCondition('ids', idAttribute, 'IN', ids)
}

/** A filter for editions that refer to entities with one of these integer ids. */
export function referringToQuery(relationship: string, ids: string[]): Parameters {
  return idQuery(`${relationship}.meta.drupal_internal__target_id`, ids)
}

/** A filter for entities of any type by their uuids. */
export function uuidQuery(uuids: string[]): Parameters {
  return filterCondition('uuids', 'id', 'IN', uuids)
}

/**
 * A filter for editions that refer to the entity with this id.
 * @param delta its position, of a relationship that has several
 */
export function deltaQuery(
  relationship: string,
  delta: number | undefined,
  id: string
): Parameters {
  const place = delta === undefined ? relationship : `${relationship}.${delta}`
  const name = `at-${relationship}-${delta ?? 0}`
  return filterCondition(name, `${place}.meta.drupal_internal__target_id`, '=', [id])
}

/** A filter by one yes or no. @param attribute its public name */
export function flagQuery(attribute: string, isSet: boolean): Parameters {
  return filterCondition('flag', attribute, '=', [isSet ? '1' : '0'])
}

/** A filter for what a user owns. @param owner the public name of the relationship */
export function ownerQuery(owner: string, uuid: string): Parameters {
  return filterCondition('owner', `${owner}.id`, '=', [uuid])
}

/** A filter for editions whose relationship is not empty. */
export function referringQuery(relationship: string): Parameters {
  return filterCondition(
    'referring',
    `${relationship}.meta.drupal_internal__target_id`,
    'IS NOT NULL',
    []
  )
}

/**
 * A filter that every edition passes. Drupal leaves all that a caller may not see out of a filtered
 * list.
 */
export function everyQuery(model: ContentModel): Parameters {
  return filterCondition('all', publicName(model, model.keys.id), '>', ['0'])
}

/**
 * A filter for editions that have translations.
 * @param defaultLangcode the key that tells an original
 */
export function translatedQuery(defaultLangcode: string): Parameters {
  return filterCondition('translated', defaultLangcode, '=', ['0'])
}

/**
 * One page, those first that are not published in some language, and of them in an order.
 * @param published the key
 */
export function unpublishedQuery(
  offset: number,
  limit: number,
  published: string,
  model: ContentModel,
  order: ListOrder
): Parameters {
  return pageOf(offset, limit, `${publicName(model, published)},${sortPaths(order, model)}`)
}

/** One page. Every order ends with the integer id, so there are no ties. */
export function pageQuery(
  offset: number,
  limit: number,
  model: ContentModel,
  order = NEWEST_FIRST
): Parameters {
  return pageOf(offset, limit, sortPaths(order, model))
}

function pageOf(offset: number, limit: number, sort: string): Parameters {
  return [
    ['sort', sort],
    ['page[offset]', String(offset)],
    ['page[limit]', String(limit)]
  ]
}

function filterCondition(
  name: string,
  path: string,
  operator: string,
  values: string[],
  group?: string
): Parameters {
  const base = `filter[${name}][condition]`
  return [
    [`${base}[path]`, path],
    [`${base}[operator]`, operator],
    ...values.map((value, index): [string, string] => [
      operator === 'IN' ? `${base}[value][${index}]` : `${base}[value]`,
      value
    ]),
    ...(group === undefined ? [] : [[`${base}[memberOf]`, group] as [string, string]])
  ]
}
