import type { Viewer } from './access.ts'
import { buildQuery, type PhpQuery } from './query.ts'
import type { Entity } from './store.ts'

/** Answers to GETs of single resources, kept until the resource itself is written. */
export interface Cache {
  get: (viewer: Viewer, path: string, query: PhpQuery) => object | undefined
  set: (viewer: Viewer, path: string, query: PhpQuery, uuid: string, body: object) => void
  widen: (path: string) => void
  /** Takes note that an entity is about to be written. */
  forget: (entity: Entity) => void
  /** The revision that a late read has left behind of an entity (Settings.lateReads). */
  late: (uuid: string) => number | undefined
  /**
   * The names of a resource's fields in the order in which GETs have asked for them since it was
   * written: Drupal completes what it has kept. Source:
   * Drupal\jsonapi\Normalizer\ResourceObjectNormalizer::getNormalization().
   */
  inOrder: (uuid: string, names: string[]) => string[]
}

const meaningful = ['filter', 'sort', 'page', 'fields', 'include', 'resourceVersion']

/**
 * The part of Drupal's dynamic page cache that shows: users of equal permissions share an answer,
 * parameters that JSON:API does not know are not part of its key (so they are neither refused nor
 * seen in `links.self` on a hit) until one of them was refused, and deleting a referenced entity
 * does not clear what refers to it. Personal answers (access.ts) are not for it.
 */
export function createCache(settings: { readonly lateReads: boolean }): Cache {
  const answers = new Map<string, { uuid: string; body: object }>()
  const wide = new Set<string>()
  const late = new Map<string, number>()
  const orders = new Map<string, Set<string>>()
  const key = (viewer: Viewer, path: string, query: PhpQuery) => {
    const names = Object.keys(query)
      .filter((name) => wide.has(path) || meaningful.includes(name))
      .sort()
    const part = Object.fromEntries(names.map((name) => [name, query[name]!]))
    return [viewer.admin, [...viewer.permissions].sort().join(), path, buildQuery(part)].join(' ')
  }
  return {
    get: (viewer, path, query) => answers.get(key(viewer, path, query))?.body,
    set: (viewer, path, query, uuid, body) => answers.set(key(viewer, path, query), { uuid, body }),
    widen: (path) => wide.add(path),
    inOrder: (uuid, names) => {
      const order = orders.get(uuid) ?? new Set()
      orders.set(uuid, order)
      for (const name of names) order.add(name)
      return [...order].filter((name) => names.includes(name))
    },
    forget: ({ uuid, revision }) => {
      orders.delete(uuid)
      for (const [name, one] of answers) if (one.uuid === uuid) answers.delete(name)
      if (!settings.lateReads) late.delete(uuid)
      else if (!late.has(uuid)) late.set(uuid, revision)
    },
    late: (uuid) => late.get(uuid)
  }
}
