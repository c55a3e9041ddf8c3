import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { apply } from '../page/operations.ts'
import { createOrder } from '../page/order.ts'
import type { Item } from '../page/settings.ts'
import { QuoinError, type OrderOperation } from '../../client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const article = (id: number): Item => ({ target_id: id, target_uuid: `u${id}` })

/** A running order of the articles 1 to `length`, and a service that does what it is sent, or fails as the test says. */
function open(length: number, answers: Array<QuoinError | Promise<void> | undefined> = []) {
  const sent: OrderOperation[][] = []
  const refused: QuoinError[] = []
  /** What is not answered yet, as it is kept. */
  let kept: unknown[] = []
  let saved = Array.from({ length }, (_, index) => article(index + 1))
  const order = createOrder({
    name: 'field_articles',
    items: saved,
    async send(operations) {
      sent.push(operations)
      const answer = await answers.shift()
      if (answer) throw answer
      saved = operations.reduce(apply, saved)
      order.rebase(saved)
    },
    onChange: () => {},
    mirror: (operations, items) => {
      kept = [operations.map(({ op }) => op), items.map(({ target_id: id }) => id)]
    },
    onRefuse: (error) => {
      refused.push(error)
    }
  })
  return {
    order,
    sent,
    refused,
    kept: () => kept,
    ids: () => order.items.map(({ target_id: id }) => id),
    there: () => saved.map(({ target_id: id }) => id)
  }
}

t.test('articles are put in another order, and back', async (t) => {
  const { order, ids, there } = open(3)
  const step = order.arrange(['3', '1', '2'], 'As in the draft')!
  t.strictSame([step.words, ids()], ['As in the draft', [3, 1, 2]], 'it is seen at once')
  await turn()
  t.strictSame([there(), order.isSaving], [[3, 1, 2], false])
  t.ok(step.back())
  await turn()
  t.strictSame(there(), [1, 2, 3])
  t.ok(step.forth())
  await turn()
  t.strictSame(there(), [3, 1, 2])
  t.equal(order.arrange(['8', '9'], 'Others'), undefined, 'what is not there is not moved')
  t.equal(order.remove(['9'], 'Removed'), undefined, 'nor removed')
})

t.test('several articles are moved, removed and inserted as one act in one request, and put back as one', async (t) => {
  const { order, sent, ids, there } = open(6)
  const moved = order.move(['5', '2'], 3, 'Two')!
  t.strictSame([ids(), order.move(['2', '5'], 3, 'Two')], [[1, 3, 4, 2, 5, 6], undefined], 'in the order of the list, and once')
  await turn()
  const removed = order.remove(['1', '4', '2', '77'], 'Three')!
  await turn()
  t.strictSame(there(), [3, 5, 6])
  const inserted = order.insert([article(9), article(5), article(8)], 1, 'Two new')!
  await turn()
  t.strictSame(there(), [3, 9, 8, 5, 6], 'what is there stays')
  t.equal(order.insert([article(9)], 0, 'Again'), undefined)
  for (const [step, after] of [
    [inserted, [3, 5, 6]],
    [removed, [1, 3, 4, 2, 5, 6]],
    [moved, [1, 2, 3, 4, 5, 6]]
  ] as const) {
    t.ok(step.back())
    await turn()
    t.strictSame(there(), after)
  }
  for (const step of [moved, removed, inserted]) t.ok(step.forth())
  await turn()
  t.strictSame([there(), sent.length], [[3, 9, 8, 5, 6], 8], 'a request for each act, or for several that wait')
  t.notOk(removed.forth(), 'what has gone is not removed again')
})

t.test('of several that are put back, those that a colleague has moved meanwhile stay with the colleague', async (t) => {
  const { order, ids } = open(6)
  const { back } = order.move(['1', '2'], 4, 'To the end')!
  await turn()
  t.strictSame(ids(), [3, 4, 5, 6, 1, 2])
  order.rebase([2, 3, 4, 5, 6, 1].map(article))
  t.ok(back())
  t.strictSame(ids(), [1, 2, 3, 4, 5, 6])
  await turn()
  order.rebase([1, 2].map(article))
  const { back: turnBack } = order.remove(['2'], 'Removed')!
  order.rebase([7, 1].map(article))
  t.ok(turnBack())
  t.strictSame(ids(), [7, 1, 2])
})

t.test('a request takes a hundred operations, and a longer order as many requests as it needs', async (t) => {
  const { order, sent, there } = open(150)
  const tokens = Array.from({ length: 150 }, (_, index) => String(150 - index))
  order.arrange(tokens, 'Turned round')
  await turn()
  t.strictSame([sent.map(({ length }) => length), there()], [[100, 50], tokens.map(Number)])
})

t.test('of several acts that are refused together each is sent by itself, and the wrong one alone is dropped', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const conflict = new QuoinError(409, 'ORDER_CONFLICT', 'It is gone')
  const { order, sent, refused, kept, there, ids } = open(4, [promise, conflict, conflict])
  order.move(['4'], 0, 'First')
  order.remove(['2'], 'Second')
  order.move(['3'], 0, 'Third')
  t.strictSame(ids(), [3, 4, 1])
  t.strictSame(
    kept(),
    [
      ['move', 'remove', 'move'],
      [3, 4, 1]
    ],
    'what is not saved is kept'
  )
  resolve()
  await turn()
  t.strictSame(
    sent.map((operations) => operations.map(({ op }) => op)),
    [['move'], ['remove', 'move'], ['remove'], ['move']]
  )
  t.strictSame([refused, there(), order.isSaving], [[conflict], [3, 4, 1, 2], false])
  t.strictSame(kept(), [[], [3, 4, 1, 2]])
})
