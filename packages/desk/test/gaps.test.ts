import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { tokensOf } from '../page/fields.ts'
import { gapAt, gapBeside, scrollSpeed } from '../page/gaps.ts'
import { apply, indexOfGap, moveAll } from '../page/operations.ts'
import type { Item } from '../page/settings.ts'
import fc from '../../../test/fixtures/property.ts'

const article = (id: number): Item => ({ target_id: id, target_uuid: `u${id}` })

t.test('each gap between rows has a height of its own, from above the first to below the last', async (t) => {
  const middles = [10, 30, 50]
  const at = (y: number) => gapAt(middles.length, (index) => middles[index]!, y)
  t.strictSame([-100, 9, 10, 11, 30, 31, 50, 51, 900].map(at), [0, 0, 0, 1, 1, 2, 2, 3, 3])
  t.equal(
    gapAt(0, () => 0, 5),
    0,
    'an empty order has one'
  )
})

t.test('what is dropped into a gap lies between the rows of that gap, and nowhere else', async (t) => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1 })
  fc.assert(
    fc.property(ids, fc.array(fc.nat(8)), fc.nat(9), (ids, picks, gapIndex) => {
      const tokens = ids.map(String)
      const moved = tokens.filter((_, index) => picks.includes(index))
      const at = Math.min(gapIndex, tokens.length)
      const isMoved = (token: string) => moved.includes(token)
      const [above, below] = [tokens.slice(0, at), tokens.slice(at)].map((part) => part.filter((token) => !isMoved(token)))
      const expected = [...above!, ...moved, ...below!]
      const gap = gapBeside(tokens, moved, at)
      if (!gap) return isDeepStrictEqual(expected, tokens)
      const items = ids.map(article)
      const indexes = tokens.flatMap((token, index) => (isMoved(token) ? [index] : []))
      const others = tokens.filter((token) => !isMoved(token))
      const after = moveAll(items, indexes, indexOfGap(others, gap)).reduce(apply, items)
      return isDeepStrictEqual([...tokensOf(after).keys()], expected)
    })
  )
  t.equal(gapBeside(['1', '2', '3'], ['2'], 1), undefined, 'beside itself nothing changes')
  t.strictSame(gapBeside(['1', '2'], [], 1), { after: '1', before: '2', index: 1 }, 'what comes from elsewhere changes any order')
})

t.test('a gap is found again by its neighbours, whatever others have done meanwhile', async (t) => {
  const gap = { after: '2', before: '3', index: 2 }
  t.strictSame(
    [['9', '1', '2', '3'], ['3', '1'], ['7'], []].map((tokens) => indexOfGap(tokens, gap)),
    [3, 0, 1, 0]
  )
  t.equal(indexOfGap(['1'], { after: undefined, before: undefined, index: 0 }), 0)
})

t.test('a drag scrolls the page at its edges, faster the nearer, and not between them', async (t) => {
  const at = (y: number) => Math.round(scrollSpeed(y, 50, 800))
  t.strictSame([-20, 50, 86, 122, 400, 728, 764, 800, 2000].map(at), [-900, -900, -450, 0, 0, 0, 450, 900, 900])
})
