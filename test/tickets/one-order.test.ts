import t from 'tap'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { fitsOneOrder, miscounts, type OrderCall, type Step } from './fixtures/one-order.ts'

const insert = (article: number, where: Partial<Step> = { at: 'end' }): Step => ({ op: 'insert', article, ...where })
const move = (article: number, where: Partial<Step>): Step => ({ op: 'move', article, ...where })
const remove = (article: number): Step => ({ op: 'remove', article })

type Answer = OrderCall['answer']
const done = (...order: number[]): Answer => ({ outcomes: ['done'], ...(order.length > 0 && { order }) })
const already: Answer = { outcomes: ['already'] }
const conflict = (...order: number[]): Answer => ({ outcomes: 'conflict', order })

/** A call that lasts from one position to another. */
const call = (called: number, returned: number, steps: Step[], answer?: Answer, user = `user ${called}`): OrderCall => ({
  user,
  steps,
  called,
  returned,
  ...(answer && { answer })
})
const look = (called: number, returned: number, ...order: number[]) => call(called, returned, [], { outcomes: [], order })

const FIRST = [4, 7]

const good: Record<string, OrderCall[]> = {
  'nothing at all': [],
  'two who insert at once, in whichever order they had their turns': [
    call(0, 2, [insert(5)], done(4, 7, 9, 5)),
    call(1, 3, [insert(9)], done(4, 7, 9)),
    look(4, 5, 4, 7, 9, 5)
  ],
  'answers without the order': [
    call(0, 3, [insert(5, { after: 4 })], done()),
    call(1, 2, [move(7, { at: 'start' })], done()),
    look(4, 5, 7, 4, 5)
  ],
  'what is there already, and what is gone already': [
    call(0, 1, [insert(4, { at: 'end' })], already),
    call(2, 3, [remove(5)], already),
    call(4, 5, [move(7, { after: 4 })], already),
    look(6, 7, 4, 7)
  ],
  'a neighbour that another has taken out': [call(0, 3, [remove(4)], done(7)), call(1, 2, [insert(5, { after: 4 })], conflict(7))],
  'a neighbour that is taken out only then': [call(0, 3, [remove(4)], done(5, 7)), call(1, 2, [insert(5, { before: 4 })], done(5, 4, 7))],
  'a request without an answer that was carried out, and late': [call(0, 1, [insert(5)]), look(2, 3, 4, 7), look(4, 5, 4, 7, 5)],
  'one that was not': [call(0, 1, [insert(5)]), call(2, 3, [remove(5)], already), look(4, 5, 4, 7)],
  'several steps, all of them': [
    call(0, 1, [insert(5, { at: 'start' }), move(5, { at: 'end' }), remove(4)], { outcomes: ['done', 'done', 'done'], order: [7, 5] })
  ],
  'several steps, none of them': [call(0, 1, [insert(5), move(8, { at: 'end' })], conflict(4, 7)), look(2, 3, 4, 7)],
  'a move beside itself, which is never there': [call(0, 1, [move(4, { after: 4 })], conflict(4, 7))]
}

const bad: Record<string, OrderCall[]> = {
  'an insert that is lost': [call(0, 2, [insert(5)], done()), call(1, 3, [insert(9)], done()), look(4, 5, 4, 7, 9)],
  'an insert that is there twice': [call(0, 1, [insert(5)], done()), look(2, 3, 4, 7, 5, 5)],
  'a remove that comes back': [call(0, 1, [remove(4)], done(7)), look(2, 3, 7), look(4, 5, 4, 7)],
  'an insert that was answered before it happened': [call(0, 1, [insert(5)], done()), look(2, 3, 4, 7), look(4, 5, 4, 7, 5)],
  'two who both insert the same': [call(0, 2, [insert(5)], done()), call(1, 3, [insert(5)], done()), look(4, 5, 4, 7, 5)],
  'a conflict over what is there': [call(0, 1, [insert(5, { after: 4 })], conflict(4, 7))],
  'a conflict that has changed something': [call(0, 1, [insert(5), move(8, { at: 'end' })], conflict(4, 7)), look(2, 3, 4, 7, 5)],
  'an order that nobody made': [look(0, 1, 7, 4)],
  'two lists that were saved over each other': [call(0, 2, [insert(5)], done(4, 7, 5)), call(1, 3, [insert(9)], done(4, 7, 9))],
  'done where nothing was to do': [call(0, 1, [remove(5)], done())],
  'a request without an answer that was carried out twice': [
    call(0, 1, [insert(5)]),
    look(2, 3, 4, 7, 5),
    call(4, 5, [remove(5)], done(4, 7)),
    look(6, 7, 4, 7, 5)
  ]
}

t.test('the checker of orders', async (t) => {
  for (const [what, history] of Object.entries(good)) t.equal(fitsOneOrder(FIRST, history), true, what)
  for (const [what, history] of Object.entries(bad)) t.equal(fitsOneOrder(FIRST, history), false, what)
})

t.test('the checker of orders, told what was saved', async (t) => {
  const [both] = Object.values(good).slice(1)
  t.equal(
    fitsOneOrder(FIRST, both!, [
      [4, 7, 9],
      [4, 7, 9, 5]
    ]),
    true
  )
  for (const saved of [
    [],
    [[4, 7, 9]],
    [
      [4, 7, 5],
      [4, 7, 9, 5]
    ],
    [
      [4, 7, 9],
      [4, 7, 9, 5],
      [4, 7]
    ]
  ]) {
    t.equal(fitsOneOrder(FIRST, both!, saved), false, JSON.stringify(saved))
  }
  const late = [call(0, 1, [insert(5)]), look(2, 3, 4, 7)]
  t.equal(fitsOneOrder(FIRST, late, [[4, 7, 5]]), true, 'by a request without an answer, after the last look')
  t.equal(fitsOneOrder(FIRST, late, []), true, 'or never')
  const many = [
    ...Array.from({ length: 30 }, (_, index) => call(index, Infinity, [insert(100 + index)])),
    look(40, 41, 4, 7, ...Array.from({ length: 15 }, (_, index) => 129 - 2 * index))
  ]
  t.equal(
    fitsOneOrder(
      FIRST,
      many,
      Array.from({ length: 15 }, (_, saves) => [4, 7, ...Array.from({ length: saves + 1 }, (_, index) => 129 - 2 * index)])
    ),
    true,
    'many requests without an answer'
  )
})

t.test('the count of what users were told', async (t) => {
  const own = [call(0, 1, [insert(5)], done(), 'ada'), call(2, 3, [remove(4)], done(), 'ada')]
  t.strictSame(miscounts(FIRST, [7, 5], own), [])
  t.strictSame(miscounts(FIRST, [7], own), [{ article: 5, times: 0, expected: 1 }])
  t.strictSame(miscounts(FIRST, [7, 5, 4], own), [{ article: 4, times: 1, expected: 0 }])
  t.strictSame(miscounts(FIRST, [7, 7, 5], own), [{ article: 7, times: 2, expected: 1 }])
  t.strictSame(miscounts(FIRST, [7, 5], [...own, call(4, 5, [remove(5)], undefined, 'ada')]), [], 'what got no answer may be there or not')
  t.strictSame(miscounts(FIRST, [7], [...own, call(4, 5, [remove(5)], done(), 'ben')]), [], 'what two have in hand is not counted')
  t.strictSame(
    miscounts(FIRST, [7, 5], [...own, call(4, 5, [remove(5), move(99, { at: 'end' })], conflict(), 'ada')]),
    [],
    'a refusal changes nothing'
  )
})

/** Requests of several users over one order that is kept as it should be, at once with each other; the seed decides what becomes of each. */
function historyOf(numbers: number[]): OrderCall[] {
  const next = (most: number) => (numbers.shift() ?? 0) % most
  const calls: OrderCall[] = []
  let order = [1, 2, 3]
  let position = 0
  const underWay: OrderCall[] = []
  while (numbers.length > 0 || underWay.length > 0) {
    if (numbers.length > 0 && underWay.length < 6 && next(2) === 0) {
      const op = (['insert', 'move', 'remove'] as const)[next(3)]!
      const made = call(position++, Infinity, [
        { op, article: next(8), ...(op !== 'remove' && (next(2) === 0 ? { at: 'end' as const } : { before: next(8) })) }
      ])
      underWay.push(made)
      calls.push(made)
      continue
    }
    const [made] = underWay.splice(next(Math.max(1, underWay.length)), 1)
    if (!made) continue
    const [{ op, article, before }] = made.steps as [Step]
    const others = order.filter((other) => other !== article)
    const isThere = others.length < order.length
    const isNothing = (op === 'insert' && isThere) || (op === 'remove' && !isThere)
    const isConflict = !isNothing && ((op === 'move' && !isThere) || (before !== undefined && !others.includes(before)))
    const place = before === undefined ? others.length : others.indexOf(before)
    const changed = isNothing || isConflict ? order : op === 'remove' ? others : others.toSpliced(place, 0, article)
    const isUnchanged = changed.join() === order.join()
    order = changed
    if (next(5) > 0) {
      Object.assign(made, {
        returned: position++,
        answer: isConflict ? conflict(...order) : { outcomes: [isUnchanged ? 'already' : 'done'], ...(next(2) === 0 && { order }) }
      })
    }
  }
  return [...calls, look(position, position + 1, ...order)]
}

t.test('what one order has answered fits; and not, once its last state is another', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.nat(999), { maxLength: 300 }), (numbers) => {
      const history = historyOf([...numbers])
      t.equal(fitsOneOrder([1, 2, 3], history), true)
      const last = history.at(-1)!
      t.equal(fitsOneOrder([1, 2, 3], [...history, { ...look(last.returned + 1, last.returned + 2, 99), user: 'late' }]), false)
    }),
    { numRuns: runs(200) }
  )
})
