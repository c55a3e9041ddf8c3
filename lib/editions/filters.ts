import { LRUCache } from 'lru-cache'
import type { Jsonapi } from '../jsonapi/client.ts'
import { fingerprint, type Caller } from '../jsonapi/credentials.ts'
import { resources } from '../jsonapi/document.ts'
import type { Collection } from './catalog.ts'
import { refusal } from './failures.ts'
import { PAGE_MAX } from './query.ts'

/**
 * Whether filters work. Drupal answers every filtered request for an entity type with an empty list, and 200, to everyone
 * without the type's administration permission, unless a module grants filter access.
 * Source: Drupal\jsonapi\Access\TemporaryQueryGuard::getAccessConditionForKnownSubsets().
 */
export interface Filters {
  /** What has been found out before: undefined when nothing was. */
  known (entityType: string, caller: Caller): boolean | undefined
  /** Finds it out, with at most two requests per collection, when an empty answer raises the question. */
  usable (collections: Collection[], caller: Caller): Promise<boolean>
}

export interface FiltersOptions {
  cms: Jsonapi
  /** Told once per entity type that callers exist whose filters find nothing; the message says what to do. */
  warn: (message: string) => void
  /** Clock, in milliseconds. */
  now?: () => number
}

/** How long an answer is believed, in milliseconds: permissions change. */
const REMEMBERED_MS = 10 * 60_000

/** For how many callers it is remembered. */
const CALLERS = 1000

export function createFilters ({ cms, warn, now = Date.now }: FiltersOptions): Filters {
  const remembered = new LRUCache<string, { at: number, usable: boolean }>({ max: CALLERS })
  const warned = new Set<string>()

  function known (entityType: string, caller: Caller): boolean | undefined {
    const found = remembered.get(keyOf(entityType, caller))
    return found && now() - found.at < REMEMBERED_MS ? found.usable : undefined
  }

  async function usable (collections: Collection[], caller: Caller): Promise<boolean> {
    const [first] = collections
    if (!first) return true
    const before = known(first.entityType, caller)
    if (before !== undefined) return before
    const answers = await Promise.all(collections.map((collection) => isTrap(collection, caller)))
    // Where nothing is to be seen nothing is found out.
    if (answers.every((answer) => answer === undefined)) return true
    const trapped = answers.includes(true)
    remembered.set(keyOf(first.entityType, caller), { at: now(), usable: !trapped })
    if (trapped && !warned.has(first.entityType)) {
      warned.add(first.entityType)
      warn(remedy(first.entityType))
    }
    return !trapped
  }

  /** Whether rows that the caller may see are gone as soon as a filter is set that all of them pass; undefined where there are none. */
  async function isTrap ({ path }: Collection, caller: Caller): Promise<boolean | undefined> {
    const rows = async (query: Array<[string, string]>) => {
      const answer = await cms.request({ path, query: [...query, ['page[limit]', String(PAGE_MAX)], ['sort', 'id']], caller })
      if (answer.status >= 400) throw refusal(answer)
      return resources(answer.document)
    }
    const [visible] = await rows([])
    return visible && (await rows([['filter[id]', visible.id]])).length === 0
  }

  return { known, usable }
}

/** What an operator can do about filters that find nothing. */
export function remedy (entityType: string): string {
  return `Drupal lets some users see ${entityType} entities but not filter them, so their searches are done by reading whole lists, which is slow; ` +
    `let a module implement hook_jsonapi_${entityType}_filter_access(), or give the users the entity type's administration permission`
}

function keyOf (entityType: string, caller: Caller): string {
  return `${entityType}:${fingerprint(caller)}`
}
