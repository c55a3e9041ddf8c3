import t from 'tap'
import { createPart } from '../page/part.ts'

t.test('the script of a part is loaded once, and again after it could not be had', async (t) => {
  const answers = [Promise.reject(new Error('away')), Promise.resolve('a script')]
  let changes = 0
  let loads = 0
  const part = createPart(
    () => answers[loads++]!,
    () => changes++
  )
  t.strictSame([part.module, part.isMissing], [undefined, false])
  t.strictSame(await Promise.all([part.open(), part.open()]), [undefined, undefined])
  t.strictSame([part.module, part.isMissing, loads, changes], [undefined, true, 1, 1])
  t.equal(await part.open(), 'a script')
  t.equal(await part.open(), 'a script')
  t.strictSame([part.module, part.isMissing, loads, changes], ['a script', false, 2, 2])
})
