import { PAGE_MAX, type Page } from '../translate/query.ts'
import { disorder } from '../translate/verify.ts'

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
