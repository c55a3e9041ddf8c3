import { CmsError } from './errors.ts'
import { withQuery, type PhpQuery } from './query.ts'

export interface PageWindow {
  offset: number
  limit: number
}

const largest = 50

/**
 * The window that a `page` parameter asks for. Drupal cuts a limit above 50 without a word, takes a
 * word for 50, refuses 0 and less, and fails in PHP's arithmetic for an empty limit or an offset
 * that is no number.
 */
export function parsePage(page: string | PhpQuery | undefined): PageWindow {
  if (typeof page === 'string') {
    throw new CmsError(
      400,
      'Unexpected value for parameter "page": expecting "array", got "string".'
    )
  }
  const { offset = '0', limit = String(largest) } = page ?? {}
  if (limit === '') throw new CmsError(500, 'Unsupported operand types: string + int')
  const size = Number(limit)
  if (size <= 0) throw new CmsError(400, 'The page size needs to be a positive integer.')
  if (offset === '' || Number.isNaN(Number(offset))) {
    throw new CmsError(500, 'Unsupported operand types: string + string')
  }
  return { offset: Number(offset), limit: Number.isNaN(size) || size > largest ? largest : size }
}

/**
 * The pager's links: `next` only when a further row exists, `first` and `prev` only past the start,
 * `last` only with a count.
 */
export function pageLinks(
  url: string,
  query: PhpQuery,
  page: PageWindow,
  hasNext: boolean,
  count: number | undefined
): Record<string, { href: string }> {
  const { offset, limit } = page
  const link = (start: number) => ({
    href: withQuery(url, { ...query, page: { offset: String(start), limit: String(limit) } })
  })
  return {
    ...(offset > 0 ? { first: link(0) } : {}),
    ...(hasNext ? { next: link(offset + limit) } : {}),
    ...(hasNext && count ? { last: link((Math.ceil(count / limit) - 1) * limit) } : {}),
    ...(offset > 0 ? { prev: link(Math.max(0, offset - limit)) } : {})
  }
}
