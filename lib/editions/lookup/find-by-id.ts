import { PAGE_MAX, type Page } from '../translate/query.ts'
import { disorder } from '../translate/verify.ts'

/** How many pages are guessed by the ids on the page before. After these the range is halved. */
const GUESSES = 3

/**
 * Finds a row by its integer id in a collection that is ordered by descending id and cannot be
 * filtered. Evenly spread ids take three requests, others at most three more than a binary search,
 * which takes about log2(rows / page). Ids are unique integers, so at most `first - id` rows come
 * before the row.
 * @param page reads the rows at an offset, `PAGE_MAX` at most, without hidden ones
 * @param idOf NaN where a row has no id, since the caller may not see it
 * @param start where the row may be. Whatever it is, the outcome is the same
 * @returns undefined where the row does not exist, or is not visible
 * @throws {Failure} CMS_INVALID_RESPONSE where a page has no older row than the pages before it;
 *   what `page` throws
 */
export async function findById<Row>(
  id: number,
  page: (offset: number) => Promise<Page<Row>>,
  idOf: (row: Row) => number,
  start = 0
): Promise<Row | undefined> {
  let low = 0
  let high = Infinity
  /** Id of the last visible row before `low`. */
  let last = Infinity
  let offset = start
  for (let count = 0; low < high; count++) {
    const { rows, more, end } = await visible(offset)
    const row = rows.find((row) => idOf(row) === id)
    if (row) return row
    const [newest = NaN, oldest = NaN] = [rows.slice(0, 1), rows.slice(-1)].flat().map(idOf)
    /** About how many rows there are for each id. */
    const density = PAGE_MAX / (newest - oldest + 1)
    let guess: number
    if (rows.length === 0 || id > newest) {
      high = offset
      guess = offset - (id - newest) * density
    } else if (id < oldest && more) {
      if (oldest >= last) {
        throw disorder('the same rows again, or others that are not in the order asked for')
      }
      last = oldest
      low = end
      high = Math.min(high, end + last - id)
      guess = end + (last - id) * density
    } else return undefined
    const aim = count < GUESSES && rows.length > 0 ? guess : (low + high) / 2
    offset = Math.max(low, Math.min(Math.floor(aim - PAGE_MAX / 2), high - 1))
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
