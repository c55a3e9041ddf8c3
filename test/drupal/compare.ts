import { isDeepStrictEqual } from 'node:util'
import type { Answer } from './quoin.ts'

/** One item of a reference field, as core REST gives it. */
interface Reference {
  target_id: unknown
  target_type?: string
  target_uuid?: string
  url?: string
}

type Entity = Record<string, Array<Record<string, unknown>>>

/** What a comparison has counted. */
export interface Tally {
  /** Answers compared. */
  comparisons: number
  /** One line each. */
  differences: string[]
  /** How often each known difference was seen, by its name. */
  known: Map<string, number>
}

/** Whether JSON:API tells a caller the path alias of an entity. */
export type TellsAlias = (entityType: string, uuid: string) => Promise<boolean>

/** The known differences of reading; docs/core-rest.md has them. */
export const known = {
  dangling: 'integer id of a reference to an entity that is gone',
  hiddenAlias: 'alias of a target that the caller may not see',
  hiddenTarget: 'prefix of a target that the caller may not see',
  cachedRefusal: '403 instead of 401 from the cache of Drupal',
  emptyItem: 'an item without values of an empty base field'
} as const

export function createTally(): Tally {
  return { comparisons: 0, differences: [], known: new Map() }
}

export function count(tally: Tally, name: string): void {
  tally.known.set(name, (tally.known.get(name) ?? 0) + 1)
}

/**
 * Turns core REST's answer into what Quoin must answer to the same caller: equal but for what JSON:API cannot say, each
 * of which is counted.
 */
export async function expected(rest: Entity, tally: Tally, tellsAlias: TellsAlias): Promise<Entity> {
  const fields = await Promise.all(
    Object.entries(rest).map(async ([field, all]) => [
      field,
      await Promise.all(
        withoutEmptyItem(all, tally).map(async (item) => {
          if (isDangling(item)) {
            count(tally, known.dangling)
            return { ...item, target_id: null }
          }
          if (hasAlias(item) && !(await tellsAlias(item.target_type!, item.target_uuid!))) {
            count(tally, known.hiddenAlias)
            return { ...item, url: canonical[item.target_type!]!(item.target_id) }
          }
          return item
        })
      )
    ])
  )
  return Object.fromEntries(fields)
}

/** Compares two answers to the same request; gives a line for each field that differs, or one for the status and message. */
export function differences(wanted: Pick<Answer, 'status' | 'body'>, found: Pick<Answer, 'status' | 'body'>): string[] {
  if (wanted.status !== found.status) {
    return [`status ${wanted.status} ${text(wanted.body?.message)}, not ${found.status} ${text(found.body?.message)}`]
  }
  if (wanted.status >= 400) {
    return wanted.body?.message === found.body?.message ? [] : [`message ${text(wanted.body?.message)}, not ${text(found.body?.message)}`]
  }
  return [...new Set([...Object.keys(wanted.body), ...Object.keys(found.body)])]
    .filter((field) => !isDeepStrictEqual(wanted.body[field], found.body[field]))
    .map((field) => `${field}: ${text(wanted.body[field])}, not ${text(found.body[field])}`)
}

/** Runs over items with no more than a few under way at once. */
export async function inFlight<T>(most: number, items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items][Symbol.iterator]()
  await Promise.all(
    Array.from({ length: most }, async () => {
      for (const item of queue) await work(item)
    })
  )
}

/** The median of some numbers. */
export function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}

const canonical: Record<string, (id: unknown) => string> = {
  node: (id) => `/node/${id}`,
  taxonomy_term: (id) => `/taxonomy/term/${id}`,
  user: (id) => `/user/${id}`,
  media: (id) => `/media/${id}`
}

function withoutEmptyItem(items: Entity[string], tally: Tally): Entity[string] {
  const values = Object.values(items[0] ?? {})
  if (items.length !== 1 || values.length < 2 || values.some((value) => value !== null && value !== '')) return items
  count(tally, known.emptyItem)
  return []
}

function isDangling(item: Record<string, unknown>): boolean {
  return typeof item['target_id'] === 'number' && Object.keys(item).length === 1
}

function hasAlias(item: Partial<Reference>): item is Reference {
  const path = canonical[String(item.target_type)]
  return path !== undefined && item.url !== undefined && !item.url.endsWith(path(item.target_id))
}

function text(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 300)
}
