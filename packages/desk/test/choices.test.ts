import t from 'tap'
import { createChoices } from '../page/choices.ts'
import type { OrderDifference } from '../page/difference.ts'

const line = { kind: 'line', name: 'title' } as const

t.test('of several changes each one can be left, and stays so when something else has changed', async (t) => {
  let told = 0
  const choices = createChoices(() => {
    told++
  })
  const [present, draft] = ['The bridge opens on Monday at noon', 'The harbour bridge opens on Tuesday at noon']
  const choice = choices.text(line, present, draft)
  t.equal(choice.text, draft, 'all are taken at first')
  choice.turn(choice.changes[1]!)
  t.equal(choice.text, 'The harbour bridge opens on Monday at noon')
  t.equal(choices.text(line, present, draft).text, 'The harbour bridge opens on Monday at noon')
  const later = choices.text(line, 'The bridge opens on Monday at noon sharp', draft)
  t.strictSame(later.changes.map(later.isTaken), [true, false, true])
  later.turn(later.changes[1]!)
  t.equal(later.text, draft)
  t.equal(told, 2)
})

t.test('of two changes alike one is left alone', async (t) => {
  const choice = createChoices(() => {}).text(line, 'One Monday, and then one Monday more', 'One Friday, and then one Friday more')
  choice.turn(choice.changes[0]!)
  t.equal(choice.text, 'One Monday, and then one Friday more')
})

t.test('what is no text is taken as a whole', async (t) => {
  const { changes, text } = createChoices(() => {}).text({ kind: 'date', name: 'field_date' }, '2026-11-18', '2026-11-19')
  t.strictSame([changes, text], [[{ gone: '2026-11-18', came: '2026-11-19' }], '2026-11-19'])
})

t.test('of an order moves are taken at first, and articles come and go by choice', async (t) => {
  const choices = createChoices(() => {})
  const choice = () => choices.order('field_articles', ['4', '2', '9', '11'], ['9', '2', '5', '4'])
  t.equal(choice().tokens.join(), '9,11,2,4')
  const turn = (which: (change: OrderDifference) => boolean) => {
    const now = choice()
    for (const change of now.changes.filter(which)) now.turn(change)
  }
  turn(({ what }) => what !== 'moved')
  t.equal(choice().tokens.join(), '9,2,5,4')
  turn(() => true)
  t.equal(choice().tokens.join(), '4,2,9,11')
})

t.test('only the last differences are remembered', async (t) => {
  const choices = createChoices(() => {})
  const first = () => choices.text(line, 'The old bridge', 'The new bridge')
  first().turn(first().changes[0]!)
  for (let n = 0; n < 99; n++) choices.text(line, 'x', String(n))
  t.equal(first().text, 'The old bridge')
  for (let n = 0; n < 100; n++) choices.text(line, 'x', String(n))
  t.equal(first().text, 'The new bridge')
})
