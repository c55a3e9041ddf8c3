import { Failure } from '../errors.ts'
import { scalarText, type Resource } from '../jsonapi/document.ts'
import type { Page } from './listing.ts'
import { publicName, type ContentModel } from './model.ts'
import { PAGE_MAX, type Selection } from './query.ts'

/** How many pages one scan may read. */
export const PAGES_MAX = 200

/** Counts the pages that a scan reads. @throws {Failure} CMS_REFUSED when there are too many. */
export function createBudget (): () => void {
  let pages = 0
  return () => {
    if (++pages > PAGES_MAX) {
      throw new Failure('CMS_REFUSED', `Drupal does not let you filter editions, and there are more than ${PAGES_MAX * PAGE_MAX} to be read one by one; an administrator can grant JSON:API filter access`)
    }
  }
}

/**
 * Whether an edition's attributes are what a list is asked for: what Drupal's filters do, done here. Text is compared without
 * regard to case, as most databases do; letters with and without accents differ, which some databases see otherwise.
 */
export function selects ({ q, status, types = [], key }: Selection, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const value = (field: string) => attributes[publicName(model, field)]
  const { editionType } = model.fields
  return (!q || scalarText(value(model.keys.label)).toLowerCase().includes(q.toLowerCase())) &&
    (status === undefined || value(model.keys.published) === (status === 1)) &&
    (editionType === null || types.every((type) => value(editionType) === type)) &&
    (key === undefined || scalarText(value(model.fields.key)) === key)
}

/**
 * Finds a row by its integer id in a collection that is ordered by descending id and cannot be filtered: a binary search,
 * about log2(rows / page) requests. Ids are unique integers, so at most `first - id` rows precede the row.
 * @param page gives the rows at an offset, `PAGE_MAX` at most, hidden ones left out
 * @returns the row, or undefined when it is not there or not visible
 */
export async function findById<Row> (id: number, page: (offset: number) => Promise<Page<Row>>, idOf: (row: Row) => number): Promise<Row | undefined> {
  let low = 0
  let high = Infinity
  for (let offset = 0; low < high; offset = Math.max(low, Math.min(Math.floor((low + high - PAGE_MAX) / 2), high - 1))) {
    const { rows, more, end } = await visible(offset)
    const found = rows.find((row) => idOf(row) === id)
    if (found) return found
    if (rows.length === 0 || id > idOf(rows[0]!)) high = offset
    else if (id < idOf(rows.at(-1)!) && more) {
      low = end
      high = Math.min(high, end + idOf(rows.at(-1)!) - id)
    } else return undefined
  }
  return undefined

  /** The first page from an offset on that has a visible row. */
  async function visible (offset: number): Promise<Page<Row> & { end: number }> {
    for (;;) {
      const found = await page(offset)
      offset += PAGE_MAX
      if (found.rows.length > 0 || !found.more) return { ...found, end: offset }
    }
  }
}
