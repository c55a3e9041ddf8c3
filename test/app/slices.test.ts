import t from 'tap'
import { mapInSlices, restAfter } from '#lib/slices.ts'

/** Whether something else had the event loop before this was over. */
async function letsOthers(work: () => Promise<unknown>): Promise<boolean> {
  let hadTurn = false
  setImmediate(() => {
    hadTurn = true
  })
  await work()
  return hadTurn
}

t.test('between the steps with a heavy answer others have the event loop', async (t) => {
  t.equal(await letsOthers(() => restAfter(1024 * 1024)), true)
  t.equal(await letsOthers(() => restAfter(1000)), false)
  t.equal(await letsOthers(() => restAfter(undefined)), false)
})

t.test('a list is mapped in order, with rests where it takes long', async (t) => {
  const slowly = (item: number) => {
    for (const end = performance.now() + 30; performance.now() < end;);
    return item * 2
  }
  let result: number[] = []
  t.equal(
    await letsOthers(() =>
      mapInSlices([1, 2, 3], slowly).then((mapped) => {
        result = mapped
      })
    ),
    true
  )
  t.strictSame(result, [2, 4, 6])
  t.equal(await letsOthers(() => mapInSlices([], slowly)), false)
})
