import t from 'tap'
import {
  compose,
  composeOrder,
  differenceOf,
  isChange,
  orderDifference,
  wholeDifference,
  type OrderDifference
} from '../page/difference.ts'
import fc from '../../../test/fixtures/property.ts'

const orders = fc.uniqueArray(fc.integer({ min: 1, max: 12 }).map(String))

t.test('a difference names the words that came and went', async (t) => {
  t.strictSame(differenceOf('Harbour bridge to open', 'Harbour bridge opens'), [
    { same: 'Harbour bridge ' },
    { gone: 'to open', came: 'opens' }
  ])
  t.strictSame(differenceOf('The old bridge opens', 'The bridge opens today'), [
    { same: 'The ' },
    { gone: 'old ', came: '' },
    { same: 'bridge opens' },
    { gone: '', came: ' today' }
  ])
  t.strictSame(differenceOf('Same', 'Same'), [{ same: 'Same' }])
  t.strictSame(differenceOf('', 'New'), [{ gone: '', came: 'New' }])
  t.strictSame(differenceOf('', ''), [])
  t.strictSame(wholeDifference('2026-11-18', '2026-11-19'), [{ gone: '2026-11-18', came: '2026-11-19' }])
  t.strictSame(wholeDifference('7', '7'), [{ same: '7' }])
})

t.test('changed words with nothing but spaces between them are one piece, those of two lines are two', async (t) => {
  t.strictSame(differenceOf('The old stone bridge over the river', 'The new steel bridge over the river')[1], {
    gone: 'old stone',
    came: 'new steel'
  })
  t.equal(differenceOf('a b c one\ntwo a b c', 'a b c uno\ndue a b c').filter(isChange).length, 2)
})

t.test('texts with hardly a word in common, or that are very long, differ as a whole', async (t) => {
  t.equal(differenceOf('The council met yesterday night', 'Rain and storms are expected for the weekend').length, 1)
  const [one, other] = ['a', 'b'].map((letter) => Array.from({ length: 3000 }, (_, index) => `same ${letter}${index}`).join(' '))
  t.strictSame(differenceOf(one!, other!), [{ gone: one, came: other }])
})

t.test('all pieces make the new text, none the old one, and one of two its own change alone', async (t) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, after) => {
      const pieces = differenceOf(before, after)
      return compose(pieces, () => true) === after && compose(pieces, () => false) === before
    })
  )
  const pieces = differenceOf('The bridge opens on Monday at noon', 'The harbour bridge opens on Tuesday at noon')
  t.equal(
    compose(pieces, ({ came }) => came === 'Tuesday'),
    'The bridge opens on Tuesday at noon'
  )
})

t.test('the difference of two orders names what came, went and moved, and nothing that only made room', async (t) => {
  t.strictSame(orderDifference(['1', '2', '3', '4'], ['4', '1', '3', '5']), [
    { what: 'moved', token: '4' },
    { what: 'came', token: '5' },
    { what: 'gone', token: '2' }
  ] satisfies OrderDifference[])
  t.strictSame(orderDifference(['1', '2'], ['1', '2']), [])
})

t.test('all changes of an order make the new order, none the old one, and one its own alone', async (t) => {
  fc.assert(
    fc.property(
      orders,
      orders,
      (before, after) =>
        composeOrder(before, after, () => true).join() === after.join() && composeOrder(before, after, () => false).join() === before.join()
    )
  )
  t.equal(composeOrder(['1', '2', '3', '4'], ['4', '1', '3', '5'], ({ what }) => what === 'moved').join(), '4,1,2,3')
  t.equal(composeOrder(['1', '2', '3', '4'], ['4', '1', '3', '5'], ({ what }) => what === 'came').join(), '1,2,3,5,4')
})
