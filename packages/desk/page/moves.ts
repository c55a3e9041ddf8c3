import type { OrderOperation } from '../../client/src/client.ts'
import type { EditorDraft, Kept } from './draft-storage.ts'
import { tokensOf } from './fields.ts'
import { apply, isSameArticle } from './operations.ts'
import type { Order } from './order.ts'
import type { Item } from './settings.ts'

const textOfOrder = (items: Item[]) => [...tokensOf(items).keys()].join(' ')

/**
 * What was done to a running order and is not saved, as a text that is kept; undefined if there is
 * nothing.
 * @param nameOf what an article is called, where that is known
 */
export function movesIn(
  operations: OrderOperation[],
  items: Item[],
  nameOf: (article: Item) => string | undefined
): Kept | undefined {
  if (operations.length === 0) return undefined
  const titles = operations.flatMap(({ op, article }) => {
    const [uuid, title] = [article.target_uuid, nameOf({ ...article })]
    return op === 'insert' && uuid !== undefined && title ? [[uuid, title]] : []
  })
  return { payload: textOfOrder(items), operations, titles: Object.fromEntries(titles) }
}

/** A present order with what was kept of it: an earlier order, or what was done to one. */
export function replayed(
  items: Item[],
  { operations = [] }: Pick<EditorDraft, 'operations'>
): Item[] {
  return operations.reduce(apply, items)
}

/** Whether kept moves change nothing of the present order, such as when they were saved after all. */
export function areMoot(items: Item[], draft: EditorDraft): boolean {
  return (
    draft.operations !== undefined && textOfOrder(replayed(items, draft)) === textOfOrder(items)
  )
}

/**
 * Does kept moves again, each beside the neighbour that it named, as far as that is there.
 * @returns the steps
 */
export function replay(order: Order, operations: OrderOperation[], words: string) {
  return operations.flatMap((operation) => {
    const { op, article, occurrence = 1 } = operation
    const before = order.items
    const after = apply(before, operation)
    if (after === before) return []
    const indexes = before.flatMap((item, index) => (isSameArticle(item, article) ? [index] : []))
    const index = indexes[occurrence - 1] ?? -1
    const token = [...tokensOf(before).keys()][index]!
    const step =
      op === 'insert'
        ? order.insert(
            [{ ...article }],
            after.findIndex((item) => isSameArticle(item, article)),
            words
          )
        : op === 'remove'
          ? order.remove([token], words)
          : order.move([token], after.indexOf(before[index]!), words)
    return step ? [step] : []
  })
}
