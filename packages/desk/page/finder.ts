import type {
  Client,
  LockView,
  Named,
  Page,
  Placement,
  QuoinError
} from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import type { Labels } from './labels.ts'
import { valueOf, type Edition, type Item, type Model } from './settings.ts'
import { say } from './texts.ts'
import { readIn } from './zone.ts'

/** How long a writer pauses before a search is sent, in milliseconds. */
const PAUSE_MS = 250

/** How many articles a search shows at first, and how many more each time. */
const MOST = 20

/** How many pages without a row are read at most before the reader is asked to go on. */
const EMPTY_PAGES = 3

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
  /** Asks which sections a list has. Without it none can be chosen. */
  sectionsOf?: Client['editions']['sections']
  /** Asks for what rows only refer to: images in media entities, and the labels of sections. */
  looksOf: (list: string, uuids: string[], signal: AbortSignal) => Promise<Looks>
  model: Pick<Model, 'lists'> & Partial<Pick<Model, 'timeZone'>>
  onChange: () => void
  announce: (text: string) => void
}

/** What the articles are narrowed by; empty or false for what they are not. */
export interface Filters {
  /** The id of a section. */
  section: string
  status: '' | '0' | '1'
  /** Whether articles that an edition holds are left out. */
  unplaced: boolean
  /** The first day of changes, such as `2026-11-18`. */
  since: string
}

const NO_FILTERS: Filters = { section: '', status: '', unplaced: false, since: '' }

/** The field with the label of an entity of a list. */
export function labelKeyOf({ entityType, keys = {} }: Model['lists'][string]): string {
  return keys['label'] ?? CORE[entityType]?.label ?? 'title'
}

/** What the service names a result by. */
export function uuidOf({ item }: Pick<SearchResult, 'item'>): string {
  return String(item['target_uuid'])
}

export type Finder = ReturnType<typeof createFinder>

/**
 * The search for articles that an edition can take in: what it finds, where that stands already,
 * and who is at work in it.
 */
export function createFinder({
  search,
  sectionsOf,
  looksOf,
  model: { lists, timeZone },
  onChange,
  announce
}: FinderDeps) {
  let list = Object.keys(lists)[0]!
  let q = ''
  /** The index at which the next article is put in, from 1; undefined is the end. */
  let place: number | undefined
  let results: SearchResult[] | undefined
  let filters = NO_FILTERS
  /** The pages of the search, of which the first was read. */
  let pages: ReturnType<typeof search> | undefined
  let hasMore = false
  let isReading = false
  /** Whether nobody has asked for what is read. */
  let isQuiet = false
  let sections: Named[] | undefined
  let areSectionsComplete = true
  /** The uuids of the articles that are selected, and of the one that was pressed last. */
  let selected = new Set<string>()
  let pressed: string | undefined
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
    aborter = new AbortController()
    const { section, status, unplaced, since } = filters
    pages = search({
      bundle: list,
      ...(q !== '' && { q }),
      ...(section !== '' && { section }),
      ...(status !== '' && { status: status === '1' ? 1 : 0 }),
      ...(unplaced && { unplaced }),
      ...(since !== '' && { changedFrom: startOf(since, timeZone) }),
      limit: MOST,
      placed: isPlacedKnown,
      locks: true,
      signal: aborter.signal
    })
    await readOn(pages, [])
  }

  /** Reads the next page of a search, and puts its rows behind those that are there. */
  async function readOn(
    pagesNow: NonNullable<typeof pages>,
    before: SearchResult[]
  ): Promise<void> {
    const { signal } = aborter
    isReading = true
    try {
      const { editions, placed = {}, locks, ...page } = await nextPage(pagesNow)
      const known = new Set(before.map(uuidOf))
      // A row that was saved meanwhile comes again.
      const rows = (editions as Edition[]).filter((row) => !known.has(keyOf(row)))
      const fresh = rows.map((row) =>
        resultIn(row, placed[keyOf(row)] ?? [], locks?.[keyOf(row)] ?? [])
      )
      results = [...before, ...fresh]
      hasMore = page.hasMore
      failure = undefined
      if (!isQuiet) {
        announce(
          results.length === 0
            ? say('noArticlesFound')
            : say('articlesShown', { count: results.length })
        )
      }
      look(rows, fresh, signal).catch(() => {})
    } catch (error) {
      if (signal.aborted) return
      failure = failureOf(error)
      if (failure.code === 'PLACED_UNKNOWN' && isPlacedKnown) {
        isPlacedKnown = false
        filters = { ...filters, unplaced: false }
        return ask()
      }
    }
    isReading = false
    onChange()
  }

  const keyOf = (row: Edition) => valueOf(row, lists[list]!.keys?.['uuid'] ?? 'uuid')

  /**
   * Completes the results whose image or section is a reference, in one request. They are shown
   * before.
   */
  async function look(rows: Edition[], fresh: SearchResult[], signal: AbortSignal): Promise<void> {
    const { image, section } = lists[list]!
    const holds = (row: Edition, path: string | undefined) =>
      (row[path?.split('.', 1)[0] ?? '']?.length ?? 0) > 0
    const open = fresh.filter(
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
    isQuiet = false
    clearTimeout(pause)
    answered = new Promise((resolve) => {
      pause = setTimeout(() => {
        ask().finally(resolve)
      }, ms)
    })
  }

  function selectedResults(): SearchResult[] {
    return (results ?? []).filter((result) => selected.has(uuidOf(result)))
  }

  /** Whether the entities of the list have what a key of the content model names. */
  function hasKey(name: 'published' | 'changed'): boolean {
    const keys: Partial<Record<string, string | null>> = lists[list]!.keys ?? {}
    return keys[name] !== null
  }

  return {
    get lists() {
      return Object.keys(lists)
    },
    get filters() {
      return filters
    },
    /** What the list can be narrowed by. */
    get can() {
      return {
        section: sectionsOf !== undefined && lists[list]!.section !== undefined,
        status: hasKey('published'),
        unplaced: isPlacedKnown,
        since: hasKey('changed')
      }
    },
    /** The sections that can be chosen; undefined until they are known. */
    get sections() {
      return sections
    },
    get areSectionsComplete() {
      return areSectionsComplete
    },
    get hasMore() {
      return hasMore
    },
    get isReading() {
      return isReading
    },
    /** The articles that are selected, in the order in which they stand. */
    get selected() {
      return selectedResults()
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
    /** The same without a word, before the reader is there. */
    prepare(): void {
      later(0)
      isQuiet = true
    },
    type(text: string): void {
      q = text.trim()
      later(PAUSE_MS)
    },
    narrow(change: Partial<Filters>): void {
      filters = { ...filters, ...change }
      later(0)
    },
    /** Asks once which sections there are. */
    async askSections(): Promise<void> {
      const asked = list
      if (sections || !sectionsOf || lists[list]!.section === undefined) return
      const answer = await sectionsOf(asked).catch(() => undefined)
      if (asked !== list) return
      sections = answer?.sections.toSorted((one, other) => one.label.localeCompare(other.label))
      areSectionsComplete = answer?.isComplete === true
      onChange()
    },
    /** Shows the next rows. */
    async more(): Promise<void> {
      isQuiet = false
      if (hasMore && !isReading) await readOn(pages!, results!)
    },
    /**
     * Selects an article, or no longer.
     * @param isRange whether all from the one that was pressed last on are meant
     */
    select(result: SearchResult, isOn: boolean, isRange = false): void {
      const uuids = results!.map(uuidOf)
      const to = uuids.indexOf(uuidOf(result))
      const from = isRange && pressed !== undefined ? uuids.indexOf(pressed) : to
      const range = uuids.slice(Math.min(from < 0 ? to : from, to), Math.max(from, to) + 1)
      selected = new Set(
        isOn ? [...selected, ...range] : [...selected].filter((uuid) => !range.includes(uuid))
      )
      pressed = uuidOf(result)
      onChange()
    },
    isSelected: (result: SearchResult): boolean => selected.has(uuidOf(result)),
    /** Selects articles no longer; all of them, where none is named. */
    unselect(articles: Array<Pick<SearchResult, 'item'>> = selectedResults()): void {
      const uuids = articles.map(uuidOf)
      selected = new Set([...selected].filter((uuid) => !uuids.includes(uuid)))
      onChange()
    },
    /** What a drag of an article takes along: all that are selected, where it is one of them. */
    taken(result: SearchResult): SearchResult[] {
      return selected.has(uuidOf(result)) ? selectedResults() : [result]
    },
    choose(name: string): void {
      aborter.abort()
      list = name
      results = undefined
      sections = undefined
      filters = NO_FILTERS
      hasMore = false
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

/** The next page that has rows, or the last one that was read. */
async function nextPage(pages: ReturnType<FinderDeps['search']>): Promise<Page> {
  let page: Page
  let read = 0
  do {
    page = (await pages.next()).value!
    read++
  } while (page.hasMore && page.editions.length === 0 && read < EMPTY_PAGES)
  return page
}

/** When a day begins, in the site's time zone, or else in the reader's. */
function startOf(day: string, timeZone: string | undefined): string {
  const midnight = `${day}T00:00:00`
  return timeZone === undefined
    ? new Date(midnight).toISOString()
    : readIn(timeZone, midnight).instant
}
