import { PAGE_MAX, type Page } from '../translate/query.ts'
import { disorder } from '../translate/verify.ts'

/**
 * Finds a row by its integer id in a collection that is ordered by descending id and cannot be
 * filtered. A binary search of about log2(rows / page) requests. Ids are unique integers, so at
 * most `first - id` rows come before the row.
 * @param page reads the rows at an offset, `PAGE_MAX` at most, without hidden ones
 * @param idOf NaN where a row has no id, since the caller may not see it
 * @returns undefined where the row does not exist, or is not visible
 * @throws {Failure} CMS_INVALID_RESPONSE where a page has no older row than the pages before it;
 *   what `page` throws
 */
export async function findById<Row>(
  id: number,
  page: (offset: number) => Promise<Page<Row>>,
  idOf: (row: Row) => number
): Promise<Row | undefined> {
  let low = 0
  let high = Infinity
  /** Id of the last visible row before `low`. */
  let last = Infinity
  for (
    let offset = 0;
    low < high;
    offset = Math.max(low, Math.min(Math.floor((low + high - PAGE_MAX) / 2), high - 1))
  ) {
    const { rows, more, end } = await visible(offset)
    const row = rows.find((row) => idOf(row) === id)
    if (row) return row
    if (rows.length === 0 || id > idOf(rows[0]!)) high = offset
    else if (id < idOf(rows.at(-1)!) && more) {
      if (idOf(rows.at(-1)!) >= last) {
        throw disorder('the same rows again, or others that are not in the order asked for')
      }
      last = idOf(rows.at(-1)!)
      low = end
      high = Math.min(high, end + last - id)
    } else return undefined
  }
  return undefined

  /** The first page with a visible row, from an offset on and no farther than the row can be. */
  async function visible(offset: number): Promise<Page<Row> & { end: number }> {
    let rows: Row[]
    let more: boolean
    let end = offset
    do {
      const given = await page(end)
      rows = given.rows.filter((row) => !Number.isNaN(idOf(row)))
      more = given.more
      end += PAGE_MAX
    } while (rows.length === 0 && more && end < high)
    return { rows, more, end }
  }
}
