import type { OrderOperation, QuoinError } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { tokensOf } from './fields.ts'
import type { Step } from './history.ts'
import {
  apply,
  insertAll,
  isSameArticle,
  moveAll,
  moveBack,
  putBack,
  removeAll,
  removeAt,
  standsOf,
  unmovedOf,
  type Gap,
  type Stand
} from './operations.ts'
import type { Item } from './settings.ts'

/** How many operations a request takes. */
const MOST = 100

/** How long to wait before operations that could not be sent are sent again, in milliseconds. */
const AGAIN_MS = 5000

/** An article from elsewhere, with what is known of it there. */
export interface NewArticle {
  item: Item
  title: string
  isPublished?: boolean | undefined
  image?: string | undefined
  section?: string | undefined
}

/** What is dragged: articles of a running order by their tokens, or articles that were found. */
export type DragContent = { order: string; tokens: string[] } | { articles: NewArticle[] }

/** What is dropped into a gap of a running order. */
export interface Drop {
  content: DragContent
  gap: Gap
}

export interface OrderDeps {
  /** The field that holds the articles. */
  name: string
  items: Item[]
  /** Sends operations to the service. @throws {QuoinError} */
  send: (operations: OrderOperation[]) => Promise<void>
  onChange: () => void
  /** Takes what is not answered yet, and what comes of it, whenever either has changed. */
  mirror: (operations: OrderOperation[], items: Item[]) => void
  /** Told of operations that the service refused. */
  onRefuse: (error: QuoinError, operations: OrderOperation[]) => void
}

export type Order = ReturnType<typeof createOrder>

/**
 * A running order. What an editor does to it is shown at once and sent as operations, which take no
 * lock: what others do at the same time stays, and comes in with the next answer.
 */
export function createOrder({ name, items, send, onChange, mirror, onRefuse }: OrderDeps) {
  let base = items
  /** What is not answered yet, oldest first: each entry is one act. */
  let queue: OrderOperation[][] = []
  let isSending = false
  let isAway = false
  /** Whether the acts go one by one, since several at once were refused. */
  let isSingle = false
  let isClosed = false
  let retry: ReturnType<typeof setTimeout> | undefined

  const present = (): Item[] => queue.flat().reduce(apply, base)

  function setQueue(acts: OrderOperation[][]): void {
    queue = acts
    mirror(queue.flat(), present())
  }

  function act(operations: OrderOperation[]): void {
    const acts: OrderOperation[][] = []
    for (let from = 0; from < operations.length; from += MOST) {
      acts.push(operations.slice(from, from + MOST))
    }
    setQueue([...queue, ...acts])
    onChange()
    flush()
  }

  /** As many of the acts as fit into one request. One always does. */
  function batch(): OrderOperation[][] {
    let size = 0
    const end = queue.findIndex((operations) => (size += operations.length) > MOST)
    return queue.slice(0, isSingle ? 1 : end < 0 ? queue.length : end)
  }

  async function flush(): Promise<void> {
    if (isSending || queue.length === 0) return
    clearTimeout(retry)
    isSending = true
    const acts = batch()
    try {
      await send(acts.flat())
      setQueue(queue.slice(acts.length))
      isAway = isSingle = false
    } catch (error) {
      fail(failureOf(error), acts)
    }
    isSending = false
    onChange()
    if (!isAway) await flush()
  }

  function fail(error: QuoinError, acts: OrderOperation[][]): void {
    isAway = error.passes && !isClosed
    if (isAway) {
      retry = setTimeout(flush, AGAIN_MS)
    } else if (acts.length > 1) {
      isSingle = true
    } else {
      setQueue(queue.slice(1))
      onRefuse(error, acts.flat())
    }
  }

  /** The indexes of what is there by its token, from the first to the last. */
  function indexesOf(tokens: string[]): number[] {
    return [...tokensOf(present()).keys()].flatMap((token, index) =>
      tokens.includes(token) ? [index] : []
    )
  }
  const find = (article: Item) => present().findIndex((item) => isSameArticle(item, article))
  const indexesIn = (articles: Item[]) =>
    [...new Set(articles.map(find))].filter((index) => index >= 0)

  /** Does what there is to do. @returns whether there was something */
  function doAll(operations: OrderOperation[]): boolean {
    if (operations.length > 0) act(operations)
    return operations.length > 0
  }

  /** Moves articles to where they stood, but those that somebody else has moved since. */
  function turn(articles: Item[], is: Item[], becomes: Stand[]): boolean {
    const now = present()
    const unmoved = unmovedOf(articles, is, now)
    doAll(
      moveBack(
        now,
        becomes.filter(({ article }) => unmoved.some((one) => isSameArticle(one, article)))
      )
    )
    return unmoved.length > 0
  }
  const takeOut = (articles: Item[]) => doAll(removeAll(present(), indexesIn(articles)))
  const putIn = (stands: Stand[]) => doAll(putBack(present(), stands))

  return {
    name,
    get items() {
      return present()
    },
    /** Whether something is not answered yet. */
    get isSaving() {
      return queue.length > 0
    },
    /** Whether the service could not be reached; what was done is sent again by itself. */
    get isAway() {
      return isAway
    },

    /** The edition was read or saved. */
    rebase(items: Item[]): void {
      base = items
    },

    /**
     * Moves articles, one behind the other, to an index among the others.
     * @returns the step, undefined where nothing is to be done
     */
    move(tokens: string[], to: number, words: string): Step | undefined {
      const [before, indexes] = [present(), indexesOf(tokens)]
      const articles = indexes.map((index) => before[index]!)
      const stoodAt = standsOf(before, indexes)
      if (!doAll(moveAll(before, indexes, Math.max(0, to)))) return undefined
      const after = present()
      const standAt = standsOf(after, indexesIn(articles))
      return {
        words,
        back: () => turn(articles, after, stoodAt),
        forth: () => turn(articles, before, standAt)
      }
    },

    /** Inserts articles, one behind the other. */
    insert(articles: Item[], index: number, words: string): Step | undefined {
      const operations = insertAll(present(), articles, index)
      if (!doAll(operations)) return undefined
      const inserted = operations.map(({ article }): Item => ({ ...article }))
      const stands = standsOf(present(), indexesIn(inserted))
      return { words, back: () => takeOut(inserted), forth: () => putIn(stands) }
    },

    remove(tokens: string[], words: string): Step | undefined {
      const [before, indexes] = [present(), indexesOf(tokens)]
      const stands = standsOf(before, indexes)
      if (!doAll(removeAll(before, indexes))) return undefined
      const articles = stands.map(({ article }) => article)
      return { words, back: () => putIn(stands), forth: () => takeOut(articles) }
    },

    /** Puts the articles in another order, one after the other. */
    arrange(tokens: string[], words: string): Step | undefined {
      const before = [...tokensOf(present()).keys()]
      const putInOrder = (tokens: string[]) => () => {
        const tokensNow = tokensOf(present())
        const operations = tokens.flatMap((token): OrderOperation[] =>
          tokensNow.has(token)
            ? [
                {
                  op: 'move',
                  article: removeAt(present(), indexesOf([token])[0]!).article,
                  at: 'end'
                }
              ]
            : []
        )
        act(operations)
        return operations.length > 0
      }
      return putInOrder(tokens)()
        ? { words, back: putInOrder(before), forth: putInOrder(tokens) }
        : undefined
    },

    close(): void {
      isClosed = true
      clearTimeout(retry)
      flush()
    }
  }
}
