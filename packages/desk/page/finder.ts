import type { Client, LockView, Placement, QuoinError } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import type { Labels } from './labels.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'
import { say } from './texts.ts'

/** How long a writer pauses before a search is sent, in milliseconds. */
const PAUSE_MS = 250

/** How many articles a search shows. */
const MOST = 8

/** The keys of Drupal core's entity types that differ from `id` and `title`. */
const CORE: Record<string, { id: string; label?: string }> = {
  node: { id: 'nid' },
  media: { id: 'mid', label: 'name' },
  taxonomy_term: { id: 'tid', label: 'name' },
  user: { id: 'uid', label: 'name' }
}

/** An article that a search has found. */
export interface SearchResult {
  /** As an edition refers to it. */
  item: Item
  title: string
  isPublished: boolean | undefined
  /** The address of its first picture. */
  image: string | undefined
  section: string | undefined
  /** The editions that hold it, the newest first. */
  placed: Placement[]
  locks: LockView[]
}

/** What the service tells of the rows of a list, by uuid. */
export type Looks = Pick<Labels, 'images' | 'sections'>

export interface FinderDeps {
  search: Client['editions']['search']
  /** Asks for what rows only refer to: images in media entities, and the labels of sections. */
  looksOf: (list: string, uuids: string[], signal: AbortSignal) => Promise<Looks>
  model: Pick<Model, 'lists'>
  onChange: () => void
  announce: (text: string) => void
}

/** The field with the label of an entity of a list. */
export function labelKeyOf({ entityType, keys = {} }: Model['lists'][string]): string {
  return keys['label'] ?? CORE[entityType]?.label ?? 'title'
}

/** What the service names a result by. */
export function uuidOf({ item }: SearchResult): string {
  return String(item['target_uuid'])
}

export type Finder = ReturnType<typeof createFinder>

/**
 * The search for articles that an edition can take in: what it finds, where that stands already,
 * and who is at work in it.
 */
export function createFinder({
  search,
  looksOf,
  model: { lists },
  onChange,
  announce
}: FinderDeps) {
  let list = Object.keys(lists)[0]!
  let q = ''
  /** The index at which the next article is put in, from 1; undefined is the end. */
  let place: number | undefined
  let results: SearchResult[] | undefined
  let failure: QuoinError | undefined
  let pause: ReturnType<typeof setTimeout> | undefined
  let aborter = new AbortController()
  /** Whether the service can say where articles stand: not where there are too many editions. */
  let isPlacedKnown = true
  let answered: Promise<void> = Promise.resolve()
  /** What the service has told of rows. */
  const looks: Looks = { images: {}, sections: {} }

  function resultIn(row: Edition, placed: Placement[], locks: LockView[]): SearchResult {
    const { entityType, keys = {}, image, section } = lists[list]!
    const { id = CORE[entityType]?.id ?? 'id', uuid = 'uuid', published = 'status' } = keys
    const status = row[published]?.[0]?.['value']
    const pictures =
      image === undefined
        ? Object.values(row)
            .flatMap((items) => items ?? [])
            .filter((item) => 'alt' in item)
        : (row[image] ?? [])
    const text = row[section ?? '']?.[0]?.['value']
    const key = valueOf(row, uuid)
    return {
      item: { target_id: row[id]?.[0]?.['value'], target_uuid: key, target_type: entityType },
      title: valueOf(row, labelKeyOf(lists[list]!)),
      isPublished: typeof status === 'boolean' ? status : undefined,
      image:
        pictures.map(({ url }) => url).find((url) => typeof url === 'string') ?? looks.images[key],
      section: typeof text === 'string' ? text : looks.sections[key],
      placed,
      locks: [...new Map(locks.map((lock) => [lock.userData.uid, lock])).values()]
    }
  }

  async function ask(): Promise<void> {
    aborter.abort()
    const { signal } = (aborter = new AbortController())
    try {
      const { value } = await search({
        bundle: list,
        ...(q !== '' && { q }),
        limit: MOST,
        placed: isPlacedKnown,
        locks: true,
        signal
      }).next()
      const { editions, placed = {}, locks } = value!
      const rows = editions as Edition[]
      results = rows.map((row) => {
        const uuid = valueOf(row, lists[list]!.keys?.['uuid'] ?? 'uuid')
        return resultIn(row, placed[uuid] ?? [], locks?.[uuid] ?? [])
      })
      failure = undefined
      announce(
        results.length === 0
          ? say('noArticlesFound')
          : say('articlesShown', { count: results.length })
      )
      look(rows, signal).catch(() => {})
    } catch (error) {
      if (signal.aborted) return
      failure = failureOf(error)
      if (failure.code === 'PLACED_UNKNOWN' && isPlacedKnown) {
        isPlacedKnown = false
        return ask()
      }
    }
    onChange()
  }

  /**
   * Completes the results whose image or section is a reference, in one request. They are shown
   * before.
   */
  async function look(rows: Edition[], signal: AbortSignal): Promise<void> {
    const { image, section } = lists[list]!
    const holds = (row: Edition, path: string | undefined) =>
      (row[path?.split('.', 1)[0] ?? '']?.length ?? 0) > 0
    const open = results!.filter(
      (result, index) =>
        (result.image === undefined && holds(rows[index]!, image)) ||
        (result.section === undefined && holds(rows[index]!, section))
    )
    if (open.length === 0) return
    const { images, sections } = await looksOf(list, open.map(uuidOf), signal)
    Object.assign(looks.images, images)
    Object.assign(looks.sections, sections)
    if (signal.aborted) return
    results = results!.map((result) => ({
      ...result,
      image: result.image ?? images[uuidOf(result)],
      section: result.section ?? sections[uuidOf(result)]
    }))
    onChange()
  }

  function later(ms: number): void {
    clearTimeout(pause)
    answered = new Promise((resolve) => {
      pause = setTimeout(() => {
        ask().finally(resolve)
      }, ms)
    })
  }

  return {
    get lists() {
      return Object.keys(lists)
    },
    get list() {
      return list
    },
    get place() {
      return place
    },
    get results() {
      return results
    },
    /**
     * Whether the list names a field of images, or of sections; then each result has a place for
     * one.
     */
    get hasImages() {
      return lists[list]!.image !== undefined
    },
    get hasSections() {
      return lists[list]!.section !== undefined
    },
    get failure() {
      return failure
    },
    /** Resolves when what was typed last has been searched. */
    get answered() {
      return answered
    },

    /** Shows the newest articles, unless something was searched before. */
    open(): void {
      if (results === undefined) later(0)
    },
    type(text: string): void {
      q = text.trim()
      later(PAUSE_MS)
    },
    choose(name: string): void {
      aborter.abort()
      list = name
      results = undefined
      later(0)
    },
    putAt(index: number | undefined): void {
      place = index
    },
    close(): void {
      clearTimeout(pause)
      aborter.abort()
    }
  }
}
