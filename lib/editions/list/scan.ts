import { scalarText, type Resource } from '../../jsonapi/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import { PAGE_MAX, type Selection } from '../translate/query.ts'
import { disorder } from '../translate/verify.ts'
import type { Page } from './listing.ts'

/**
 * Whether an edition's attributes are what a list is asked for: what Drupal's filters do, done here. Text is compared without
 * regard to case, as most databases do; letters with and without accents differ, which some databases see otherwise.
 */
export function matchesSelection ({ q, status, types = [], key }: Selection, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const value = (field: string) => attributes[publicName(model, field)]
  const { editionType } = model.fields
  return (!q || hasInTitle(q, attributes, model) || scalarText(value(model.fields.key)) === q) &&
    (status === undefined || value(model.keys.published) === (status === 1)) &&
    (editionType === null || types.every((type) => value(editionType) === type)) &&
    (key === undefined || scalarText(value(model.fields.key)) === key)
}

/** Texts that a database takes for the same: without regard to case and accents. */
const alike = new Intl.Collator('en', { sensitivity: 'base' })

/**
 * Whether Drupal has found an edition by its title, or by its exact key: not by a key that only its database takes for the
 * same. Titles are Drupal's to compare.
 */
export function matchesText (q: string, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const key = scalarText(attributes[publicName(model, model.fields.key)])
  return key === q || alike.compare(key, q) !== 0 || hasInTitle(q, attributes, model)
}

function hasInTitle (q: string, attributes: Record<string, unknown>, model: ContentModel): boolean {
  return scalarText(attributes[publicName(model, model.keys.label)]).toLowerCase().includes(q.toLowerCase())
}

/**
 * Finds a row by its integer id in a collection that is ordered by descending id and cannot be filtered: a binary search,
 * about log2(rows / page) requests. Ids are unique integers, so at most `first - id` rows precede the row.
 * @param page gives the rows at an offset, `PAGE_MAX` at most, hidden ones left out
 * @param idOf NaN where a row has no id, since the caller may not see it
 * @returns the row, or undefined when it is not there or not visible
 * @throws {Failure} CMS_INVALID_RESPONSE where a page has no row that is older than those before it; what `page` throws
 */
export async function findById<Row> (id: number, page: (offset: number) => Promise<Page<Row>>, idOf: (row: Row) => number): Promise<Row | undefined> {
  let low = 0
  let high = Infinity
  /** Id of the last row that was seen before `low`. */
  let last = Infinity
  for (let offset = 0; low < high; offset = Math.max(low, Math.min(Math.floor((low + high - PAGE_MAX) / 2), high - 1))) {
    const { rows, more, end } = await visible(offset)
    const found = rows.find((row) => idOf(row) === id)
    if (found) return found
    if (rows.length === 0 || id > idOf(rows[0]!)) high = offset
    else if (id < idOf(rows.at(-1)!) && more) {
      if (idOf(rows.at(-1)!) >= last) throw disorder('the same rows again, or others that are not in the order asked for')
      last = idOf(rows.at(-1)!)
      low = end
      high = Math.min(high, end + last - id)
    } else return undefined
  }
  return undefined

  /** The first page from an offset on that has a visible row, as far as the row that is looked for can stand. */
  async function visible (offset: number): Promise<Page<Row> & { end: number }> {
    for (;;) {
      const { rows, more } = await page(offset)
      const shown = rows.filter((row) => !Number.isNaN(idOf(row)))
      offset += PAGE_MAX
      if (shown.length > 0 || !more || offset >= high) return { rows: shown, more, end: offset }
    }
  }
}
