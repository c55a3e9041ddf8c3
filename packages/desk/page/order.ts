import type { OrderOperation, QuoinError } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { tokensOf } from './fields.ts'
import type { Step } from './history.ts'
import {
  apply,
  indexOf,
  insertAt,
  isSameArticle,
  isUnmoved,
  moveTo,
  spotOf,
  removeAt,
  type Spot
} from './operations.ts'
import type { Item } from './settings.ts'

/** How many operations a request takes. */
const MOST = 100

/** How long to wait before operations that could not be sent are sent again, in milliseconds. */
const AGAIN_MS = 5000

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

  /** What is there by its token. */
  const indexOfToken = (token: string) => [...tokensOf(present()).keys()].indexOf(token)
  const find = (article: Item) => present().findIndex((item) => isSameArticle(item, article))

  /** Puts an article back where it stood. */
  function moveBack(article: Item, place: Spot): void {
    const from = find(article)
    const operation = moveTo(present(), from, indexOf(present().toSpliced(from, 1), place))
    if (operation) act([operation])
  }

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

    /** Moves an article. @returns the step, undefined where nothing is to be done */
    move(token: string, to: number, words: string): Step | undefined {
      const from = indexOfToken(token)
      const operation = moveTo(present(), from, to)
      if (!operation) return undefined
      const article = present()[from]!
      const before = { order: present(), place: spotOf(present(), from) }
      act([operation])
      const after = { order: present(), place: spotOf(present(), indexOfToken(token)) }
      const turn = (is: typeof before, becomes: typeof before) => () =>
        isUnmoved(article, is.order, present()) && (moveBack(article, becomes.place), true)
      return { words, back: turn(after, before), forth: turn(before, after) }
    },

    /** Inserts an article. */
    insert(article: Item, index: number, words: string): Step | undefined {
      const operation = insertAt(present(), article, index)
      if (!operation) return undefined
      act([operation])
      const place = spotOf(present(), find(article))
      return { words, back: () => takeOut(article), forth: () => putIn(article, place) }
    },

    remove(token: string, words: string): Step | undefined {
      const index = indexOfToken(token)
      const article = present()[index]
      if (!article) return undefined
      const place = spotOf(present(), index)
      act([removeAt(present(), index)])
      return { words, back: () => putIn(article, place), forth: () => takeOut(article) }
    },

    /** Puts the articles in another order, one after the other. */
    arrange(tokens: string[], words: string): Step | undefined {
      const before = [...tokensOf(present()).keys()]
      const putInOrder = (tokens: string[]) => () => {
        const tokensNow = tokensOf(present())
        const operations = tokens.flatMap((token): OrderOperation[] =>
          tokensNow.has(token)
            ? [{ op: 'move', article: removeAt(present(), indexOfToken(token)).article, at: 'end' }]
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

  function takeOut(article: Item): boolean {
    const index = find(article)
    if (index >= 0) act([removeAt(present(), index)])
    return index >= 0
  }

  function putIn(article: Item, place: Spot): boolean {
    const operation = insertAt(present(), article, indexOf(present(), place))
    if (operation) act([operation])
    return operation !== undefined
  }
}
