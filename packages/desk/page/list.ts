import type { Client, Page, QuoinError, Search } from '../../client/src/client.ts'
import type { Query } from './address.ts'
import { failureOf } from './failures.ts'
import { createLive } from './live.ts'
import { valueOf, type Edition, type Model } from './settings.ts'
import { say } from './texts.ts'

export const PAGE = 20

/**
 * How long until a list is read again that comes from a copy or could not be read, in milliseconds.
 */
const AGAIN_MS = 10_000

/**
 * How long after the reader's last move in the list its rows stay where they are, in milliseconds.
 */
const HOLD_MS = 3000

export interface ListDeps {
  client: Client
  model: Model
  onChange: () => void
  /** Told that others have done something that is to be seen. */
  onNews: () => void
  announce: (text: string) => void
}

export type EditionList = ReturnType<typeof createList>

/** The list of editions: one page of a search, and who is at work in what it shows. */
export function createList({ client, model, onChange, onNews, announce }: ListDeps) {
  let query: Query
  let page: Page | undefined
  let total: number | null = null
  let failure: QuoinError | undefined
  let isLoading = false
  let aborter = new AbortController()
  let retry: ReturnType<typeof setTimeout> | undefined
  let holdTimer: ReturnType<typeof setTimeout> | undefined
  let usedAt = -Infinity
  const live = createLive({
    watch: (listener) => client.editions.watch(pageSearch(), listener),
    reload,
    onNews
  })

  const idOf = (edition: unknown) => valueOf(edition as Edition, model.keys.id)

  /** Shows a page, and aborts the request for the page before. */
  async function show(newQuery: Query): Promise<void> {
    clearTimeout(retry)
    clearTimeout(holdTimer)
    aborter.abort()
    const { signal } = (aborter = new AbortController())
    query = newQuery
    isLoading = true
    onChange()
    try {
      page = await read(signal)
      total = page.total
      failure = undefined
      isLoading = false
      if (page.age !== undefined) retry = setTimeout(show, AGAIN_MS, newQuery)
      live.follow()
      announce(
        total === 0
          ? say('noEditionsFound')
          : total === null
            ? say('editionsShown', { count: page.editions.length })
            : say('editionsFoundCount', { count: total })
      )
      onChange()
      if (total !== null) return
      await count(signal)
      if (total !== null) announce(say('editionsFoundCount', { count: total }))
    } catch (error) {
      if (signal.aborted) return
      failure = failureOf(error)
      isLoading = false
      if (failure.passes) retry = setTimeout(show, AGAIN_MS, newQuery)
    }
    onChange()
  }

  const pageSearch = (): Search => ({ ...searchOf(query), limit: PAGE, offset: query.offset })

  async function read(signal: AbortSignal): Promise<Page> {
    const { value } = await client.editions.search({ ...pageSearch(), signal }).next()
    return value as Page
  }

  /** Counts what the CMS does not count by itself: the page is there before its total. */
  async function count(signal: AbortSignal): Promise<void> {
    const { value } = await client.editions
      .search({ ...searchOf(query), signal, limit: 1, total: true })
      .next()
    total = (value as Page).total
  }

  /** Reads the rows again in the background. If that fails, the page stays as it is. */
  async function reload(): Promise<void> {
    const { signal } = aborter
    try {
      const fresh = await read(signal)
      if (fresh.age === undefined) await arrive(fresh, signal)
    } catch (error) {
      if (!signal.aborted) failureOf(error)
    }
  }

  /** Rows stay where they are while the reader is at them. */
  async function arrive(fresh: Page, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    clearTimeout(holdTimer)
    const isSame = idsOf(fresh) === idsOf(page!)
    const rest = usedAt + HOLD_MS - Date.now()
    if (!isSame && rest > 0) {
      holdTimer = setTimeout(arrive, rest, fresh, signal)
      return
    }
    page = fresh
    onChange()
    if (isSame) return
    await count(signal).catch(() => {})
    onChange()
  }

  const idsOf = ({ editions }: Page) => editions.map(idOf).join()

  return {
    get query() {
      return query
    },
    get page() {
      return page
    },
    get editions() {
      return (page?.editions ?? []) as Edition[]
    },
    get total() {
      return total
    },
    get failure() {
      return failure
    },
    get isLoading() {
      return isLoading
    },
    idOf,
    show,
    /** Those at work in an edition, each once. */
    atWork: (edition: Edition) => live.of(valueOf(edition, model.keys[model.lockIds])),
    /** The page is seen, or not any more. */
    see: live.see,
    /** The reader is at the rows. */
    use: (): void => {
      usedAt = Date.now()
    },
    close(): void {
      aborter.abort()
      clearTimeout(retry)
      clearTimeout(holdTimer)
      live.close()
    }
  }
}

/** The search without its empty criteria. */
function searchOf({ q, bundle, type, status, key }: Query): Search {
  return {
    ...(bundle && { bundle }),
    ...(q && { q }),
    ...(type && { type }),
    ...(status && { status: Number(status) as 0 | 1 }),
    ...(key && { key })
  }
}
