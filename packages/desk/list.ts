import type { Client, Named, Page, QuoinError } from '../client/src/client.ts'
import type { Query } from './address.ts'
import { failureOf, persist } from './failures.ts'
import { createOccupancy } from './occupancy.ts'
import { valueOf, type Edition, type Model } from './settings.ts'
import { say } from './texts.ts'

export const PAGE = 20

/** How often the boards of what is shown are looked at again, in milliseconds; each is asked for less often. */
const LOOK_MS = 5000

/** How often a list that is shown from a copy, or could not be had, is asked for again, in milliseconds. */
const AGAIN_MS = 10_000

export interface ListDeps {
  client: Client
  model: Model
  changed: () => void
  announce: (text: string) => void
}

export type List = ReturnType<typeof createList>

/** The list of editions: one page of a search, and who is at work in what it shows. */
export function createList ({ client, model, changed, announce }: ListDeps) {
  let query: Query
  let page: Page | undefined
  let total: number | null = null
  let failure: QuoinError | undefined
  let bundles: Named[] = []
  let isLoading = false
  let running = new AbortController()
  let again: ReturnType<typeof setTimeout> | undefined
  let isClosed = false
  const occupancy = createOccupancy({
    read: async (id) => (await client.editions.locks(id)).locks, isSeen: () => !document.hidden, changed
  })
  const looking = setInterval(occupancy.next, LOOK_MS)
  const onScreen = new Set<string>()
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const { id = '' } = (target as HTMLElement).dataset
      if (isIntersecting) onScreen.add(id)
      else onScreen.delete(id)
    }
    occupancy.show((page?.editions ?? []).map(idOf).filter((id) => onScreen.has(id)))
  })

  const idOf = (edition: unknown) => valueOf(edition as Edition, model.keys.id)

  persist(async () => {
    bundles = await client.editions.bundles()
    changed()
  }, () => isClosed)

  /** Shows a page; what was asked for before and is not there yet is not wanted any more. */
  async function show (wanted: Query): Promise<void> {
    clearTimeout(again)
    running.abort()
    const { signal } = running = new AbortController()
    const { q, bundle, type, status, key, offset } = query = wanted
    const search = {
      ...(bundle && { bundle }), signal, ...(q && { q }), ...(type && { type }), ...(status && { status: Number(status) as 0 | 1 }), ...(key && { key })
    }
    isLoading = true
    changed()
    try {
      const { value } = await client.editions.search({ ...search, limit: PAGE, offset }).next()
      page = value as Page
      total = page.total
      failure = undefined
      isLoading = false
      if (page.age !== undefined) again = setTimeout(show, AGAIN_MS, wanted)
      announce(total === 0 ? say('noEditionsFound') : total === null ? say('editionsShown', { count: page.editions.length }) : say('editionsFoundCount', { count: total }))
      changed()
      if (total !== null) return
      // The CMS does not count by itself: the page is there before its total.
      const counted = await client.editions.search({ ...search, limit: 1, total: true }).next()
      total = (counted.value as Page).total
      if (total !== null) announce(say('editionsFoundCount', { count: total }))
    } catch (error) {
      if (signal.aborted) return
      failure = failureOf(error)
      isLoading = false
      if (failure.passes) again = setTimeout(show, AGAIN_MS, wanted)
    }
    changed()
  }

  return {
    get query () { return query },
    get page () { return page },
    get editions () { return (page?.editions ?? []) as Edition[] },
    get total () { return total },
    get failure () { return failure },
    get bundles () { return bundles },
    get isLoading () { return isLoading },
    idOf,
    show,
    atWork: occupancy.of,
    /** To be called when the rows are there. */
    rendered (rows: Iterable<Element>): void {
      for (const row of rows) observer.observe(row)
    },
    close (): void {
      isClosed = true
      running.abort()
      clearTimeout(again)
      clearInterval(looking)
      observer.disconnect()
    }
  }
}
