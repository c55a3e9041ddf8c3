import type { Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import { resolvePath } from './path.ts'
import type { PhpQuery } from './query.ts'
import type { Site } from './site.ts'
import type { Entity } from './store.ts'

interface Term {
  path: string
  descending: boolean
}

function terms(sort: string | PhpQuery): Term[] {
  if (typeof sort === 'string') {
    return sort
      .split(',')
      .filter((one) => one !== '')
      .map((one) => ({ path: one.replace(/^-/, ''), descending: one.startsWith('-') }))
  }
  return Object.values(sort).map((one) => {
    const { path, direction = 'ASC' } = typeof one === 'string' ? { path: one } : one
    if (path === undefined) {
      throw new CmsError(400, 'You need to provide a field name for the sort parameter.')
    }
    return { path: String(path), descending: String(direction).toUpperCase() === 'DESC' }
  })
}

const rank = (value: unknown) =>
  typeof value === 'boolean' ? Number(value) : (value as string | number)

function order(left: unknown, right: unknown): number {
  const [a, b] = [left ?? null, right ?? null]
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1
  return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0
}

/**
 * The order of a collection. No tie-break is added: equal rows come in the order in which the
 * database meets them, which follows the revision, so an edited row may move. Empty values come
 * first when ascending. Of several values, which those of translations are too, the least counts
 * when ascending, and the greatest when descending.
 * Source: Drupal\Core\Entity\Query\Sql\Query::addSort().
 */
export function parseSort(
  site: Site,
  viewer: Viewer,
  entityType: string,
  sort: string | PhpQuery | undefined
): (left: Entity, right: Entity) => number {
  const natural = (left: Entity, right: Entity) =>
    left.revision - right.revision || order(left.id, right.id)
  if (sort === undefined) return natural
  const sortTerms = terms(sort).map(({ path, descending }) => ({
    descending,
    path: resolvePath(site, viewer, entityType, path, () => true)
  }))
  return (left, right) => {
    for (const { path, descending } of sortTerms) {
      const pick = (entity: Entity) =>
        path.values(entity).toSorted(order)[descending ? path.values(entity).length - 1 : 0]
      const result = order(pick(left), pick(right))
      if (result !== 0) return descending ? -result : result
    }
    return natural(left, right)
  }
}
