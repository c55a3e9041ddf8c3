import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../jsonapi/client.ts'
import { fingerprint } from '../../jsonapi/credentials.ts'
import { resources, type Resource } from '../../jsonapi/document.ts'
import { publicNames, type ContentModel } from '../model.ts'
import { refusal } from '../translate/failures.ts'
import { anyQuery, PAGE_MAX, uuidQuery } from '../translate/query.ts'
import type { Collection } from './catalog.ts'

/**
 * Whether filters work. `work`: a filter found rows that exist; `trap`: a filter did not find rows that the caller may see;
 * `unknown`: Drupal showed the caller none of the first rows, but has more; `empty`: there are no rows.
 */
export type Verdict = 'work' | 'trap' | 'unknown' | 'empty'

/**
 * Whether filters work. Drupal answers every filtered request for an entity type with an empty list, and 200, to everyone
 * without the type's administration permission, unless a module grants filter access.
 * Source: Drupal\jsonapi\Access\TemporaryQueryGuard::getAccessConditionForKnownSubsets().
 */
export interface Filters {
  /** Whether they work, if that is remembered; else undefined. */
  recall (collections: Collection[], caller: Caller): boolean | undefined
  /**
   * Whether they certainly work, for when an empty answer raises the question. Takes at most two requests per collection.
   */
  usable (collections: Collection[], caller: Caller): Promise<boolean>
  /** The same, and why. */
  verdict (collections: Collection[], caller: Caller): Promise<Verdict>
}

export interface FiltersOptions {
  cms: Jsonapi
  /** Called once per entity type that has callers whose filters find nothing, or may do so. The message says what to do. */
  warn: (message: string) => void
  model: ContentModel
  /** Clock, in milliseconds. */
  now?: () => number
}

/** How long Quoin relies on a verdict, in milliseconds: permissions change, and a first row may appear soon. */
const REMEMBERED_MS: Record<Verdict, number> = { work: 10 * 60_000, trap: 10 * 60_000, unknown: 60_000, empty: 60_000 }

/** How many verdicts Quoin remembers, one for each caller and collection. */
const REMEMBERED = 5000

/** How many of the caller's rows a filter has to find. */
const SAMPLE = 10

export function createFilters ({ cms, model, warn, now = Date.now }: FiltersOptions): Filters {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const verdicts = new LRUCache<string, { at: number, verdict: Verdict }>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })
  const warnings = new Set<string>()
  const unpublishedFirst = [...publicNames(model, model.keys.published), 'id'].join()

  function recall (collections: Collection[], caller: Caller): boolean | undefined {
    const verdict = together(collections.map((collection) => recallVerdict(collection, caller)))
    return verdict === 'empty' ? undefined : verdict === 'work'
  }

  function recallVerdict (collection: Collection, caller: Caller): Verdict | undefined {
    const last = verdicts.get(filterKey(collection, caller))
    return last && now() - last.at < REMEMBERED_MS[last.verdict] ? last.verdict : undefined
  }

  async function verdict (collections: Collection[], caller: Caller): Promise<Verdict> {
    const verdict = together(await Promise.all(collections.map(async (collection) => recallVerdict(collection, caller) ?? probe(collection, caller))))
    const message = collections[0] && filterAdvice(verdict, collections[0].entityType)
    if (message !== undefined && !warnings.has(message)) {
      warnings.add(message)
      warn(message)
    }
    return verdict
  }

  async function probe (collection: Collection, caller: Caller): Promise<Verdict> {
    const at = now()
    const verdict = await compare(collection, caller)
    verdicts.set(filterKey(collection, caller), { at, verdict })
    return verdict
  }

  /**
   * Compares rows that the caller may see with what a filter for them finds, those first that are not published: Drupal may
   * let the caller filter among the others alone. Where the caller sees none, tries a filter that every row passes.
   */
  async function compare ({ path }: Collection, caller: Caller): Promise<Verdict> {
    const first = await page([], unpublishedFirst)
    const sample = first.rows.slice(0, SAMPLE).map(({ id }) => id)
    if (sample.length > 0) {
      const { rows } = await page(uuidQuery(sample))
      return rows.length === sample.length && rows.every(({ id }) => sample.includes(id)) ? 'work' : 'trap'
    }
    if (!first.more) return 'empty'
    return (await page(anyQuery())).rows.length > 0 ? 'work' : 'unknown'

    async function page (query: Array<[string, string]>, sort = 'id'): Promise<{ rows: Resource[], more: boolean }> {
      const answer = await cms.request({ path, query: [...query, ['page[limit]', String(PAGE_MAX)], ['sort', sort]], caller })
      // Drupal may refuse to sort by what the caller may not see.
      if (answer.status >= 400 && sort !== 'id') return page(query)
      if (answer.status >= 400) throw refusal(answer)
      return { rows: resources(answer.document), more: answer.document.links?.next !== undefined }
    }
  }

  return { recall, verdict, usable: async (collections, caller) => await verdict(collections, caller) === 'work' }
}

/** The verdict on an entity type by those on some of its bundles: filter access is the same for all of them. */
function together (verdicts: Array<Verdict | undefined>): Verdict {
  return (['trap', 'work', 'unknown'] as const).find((verdict) => verdicts.includes(verdict)) ?? 'empty'
}

/** The advice to an operator that a verdict gives rise to. */
export function filterAdvice (verdict: Verdict, entityType: string): string | undefined {
  switch (verdict) {
    case 'trap': return `Drupal lets some users see ${entityType} entities but not filter them, so Quoin reads whole lists to search for them, which is slow; ${remedy(entityType)}`
    case 'unknown': return `Drupal showed some users none of the first ${PAGE_MAX} ${entityType} entities. Quoin does not know whether they may filter them, so it reads whole lists to search for them, which is slow; ${remedy(entityType)}`
    default: return undefined
  }
}

function remedy (entityType: string): string {
  return `let a module implement hook_jsonapi_${entityType}_filter_access(), or give the users the entity type's administration permission`
}

function filterKey ({ path }: Collection, caller: Caller): string {
  return `${path}:${fingerprint(caller)}`
}
