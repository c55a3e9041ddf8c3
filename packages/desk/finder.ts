import type { Client, LockView, Placement, QuoinError } from '../client/src/client.ts'
import { failureOf } from './failures.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'
import { say } from './texts.ts'

/** How long a writer pauses before a search is sent, in milliseconds. */
const PAUSE_MS = 250

/** How many articles a search shows. */
const MOST = 8

/** The keys of Drupal core's entity types that differ from `id` and `title`. */
const CORE: Record<string, { id: string, label?: string }> = { node: { id: 'nid' }, media: { id: 'mid', label: 'name' }, taxonomy_term: { id: 'tid', label: 'name' }, user: { id: 'uid', label: 'name' } }

/** An article that a search has found. */
export interface SearchResult {
  /** As an edition refers to it. */
  item: Item
  title: string
  isPublished: boolean | undefined
  /** The address of its first picture. */
  image: string | undefined
  /** The first item of the field with its section: a text, or a reference. */
  section: Item | undefined
  /** The editions that hold it, the newest first. */
  placed: Placement[]
  locks: LockView[]
}

export interface FinderDeps {
  search: Client['editions']['search']
  model: Pick<Model, 'lists'>
  changed: () => void
  announce: (text: string) => void
}

/** The field that has what something of a list is called. */
export function labelKeyOf ({ entityType, keys = {} }: Model['lists'][string]): string {
  return keys['label'] ?? CORE[entityType]?.label ?? 'title'
}

export type Finder = ReturnType<typeof createFinder>

/** The search for articles that an edition can take in: what it finds, where that stands already, and who is at work in it. */
export function createFinder ({ search, model: { lists }, changed, announce }: FinderDeps) {
  let list = Object.keys(lists)[0]!
  let q = ''
  /** The index at which the next article is put in, from 1; undefined is the end. */
  let place: number | undefined
  let results: SearchResult[] | undefined
  let failure: QuoinError | undefined
  let pause: ReturnType<typeof setTimeout> | undefined
  let running = new AbortController()
  /** Whether the service can say where articles stand: not where there are too many editions. */
  let isPlacedKnown = true
  let answered: Promise<void> = Promise.resolve()

  function resultIn (row: Edition, placed: Placement[], locks: LockView[]): SearchResult {
    const { entityType, keys = {} } = lists[list]!
    const { id = CORE[entityType]?.id ?? 'id', uuid = 'uuid', published = 'status' } = keys
    const status = row[published]?.[0]?.['value']
    const image = Object.values(row).flatMap((items) => items ?? []).find((item) => 'alt' in item && typeof item['url'] === 'string')
    return {
      item: { target_id: row[id]?.[0]?.['value'], target_uuid: valueOf(row, uuid), target_type: entityType },
      title: valueOf(row, labelKeyOf(lists[list]!)),
      isPublished: typeof status === 'boolean' ? status : undefined,
      image: image && String(image['url']),
      section: row[lists[list]!.section ?? '']?.[0],
      placed,
      locks: [...new Map(locks.map((lock) => [lock.userData.uid, lock])).values()]
    }
  }

  async function ask (): Promise<void> {
    running.abort()
    const { signal } = running = new AbortController()
    try {
      const { value } = await search({ bundle: list, ...(q !== '' && { q }), limit: MOST, placed: isPlacedKnown, locks: true, signal }).next()
      const { editions, placed = {}, locks } = value!
      results = (editions as Edition[]).map((row) => {
        const uuid = valueOf(row, lists[list]!.keys?.['uuid'] ?? 'uuid')
        return resultIn(row, placed[uuid] ?? [], locks?.[uuid] ?? [])
      })
      failure = undefined
      announce(results.length === 0 ? say('noArticlesFound') : say('articlesShown', { count: results.length }))
    } catch (error) {
      if (signal.aborted) return
      failure = failureOf(error)
      if (failure.code === 'PLACED_UNKNOWN' && isPlacedKnown) {
        isPlacedKnown = false
        return ask()
      }
    }
    changed()
  }

  function later (ms: number): void {
    clearTimeout(pause)
    answered = new Promise((resolve) => { pause = setTimeout(() => { ask().finally(resolve) }, ms) })
  }

  return {
    get lists () { return Object.keys(lists) },
    get list () { return list },
    get place () { return place },
    get results () { return results },
    get failure () { return failure },
    /** Resolves when what was typed last has been searched. */
    get answered () { return answered },

    /** Shows the newest articles, unless something was searched before. */
    open (): void {
      if (results === undefined) later(0)
    },
    type (text: string): void {
      q = text.trim()
      later(PAUSE_MS)
    },
    choose (name: string): void {
      list = name
      results = undefined
      later(0)
    },
    putAt (index: number | undefined): void {
      place = index
    },
    close (): void {
      clearTimeout(pause)
      running.abort()
    }
  }
}
