import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { diskOf, draftStorageOf, storeOf } from './fixtures.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const title = (payload: string) => ({ fieldName: 'title', payload })

/** Lets time pass, in milliseconds. */
async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms)
  await turn()
}

/** What another window finds, the newest first. */
async function left(disk: ReturnType<typeof diskOf>, uid = 'anna') {
  return (await draftStorageOf(disk, { uid })).of('node/1').map(({ payload }) => payload)
}

t.test('what is in the browser alone outlives the window, each with its editor and its edition', async (t) => {
  const disk = diskOf(300)
  const storage = await draftStorageOf(disk)
  t.strictSame(storage.of('node/1'), [])
  storage.put('node/1', title('A'))
  t.match([storage.of('node/1'), storage.of('node/2')], [[{ ...title('A'), isInWindow: true }], []])
  await turn()
  t.match(storage.of('node/1'), [{ isInWindow: false }])
  const again = await draftStorageOf(disk)
  t.match(again.of('node/1'), [title('A')])
  t.strictSame(await left(disk, 'ben'), [], 'nobody else finds it')
  again.drop(() => true, 'node/2')
  await turn()
  t.strictSame(await left(disk), ['A'])
  again.drop(({ payload }) => payload === 'A', 'node/1')
  await turn()
  t.strictSame([await left(disk), disk.length], [[], 0])
  again.put('node/1', title('x'.repeat(300)))
  await pass(3)
  t.match(again.of('node/1'), [{ isInWindow: true }], 'what there is no room for is in the page still')
  t.ok(again.isAtRisk)
})

t.test('each letter is on its way to the disk at once, and what is typed is no longer kept than it has to be', async (t) => {
  const disk = diskOf()
  let ends = 0
  const storage = await draftStorageOf(disk)
  const mirror = storage.mirror('node/1', 'title', () => ends++)
  disk.hangs = true
  t.equal(mirror(undefined), 'disk')
  for (const text of ['H', 'Ha', 'Ha']) t.equal(mirror(title(text)), 'coming')
  t.equal(disk.waiting.length, 2)
  disk.hangs = false
  for (const answer of disk.waiting) answer()
  await turn()
  t.strictSame([await left(disk), ends, disk.puts], [['Ha'], 2, 2])
  const other = (await draftStorageOf(disk)).mirror('node/1', 'title', () => {})
  other(title('Elsewhere'))
  await turn()
  t.strictSame((await left(disk)).sort(), ['Elsewhere', 'Ha'], 'another window has its own')
  mirror(undefined)
  await turn()
  t.strictSame(await left(disk), ['Elsewhere'])
})

t.test('a long text is not written at each keystroke, and is on the disk soon after the last', async (t) => {
  const disk = diskOf()
  const mirror = (await draftStorageOf(disk)).mirror('node/1', 'title', () => {})
  for (let letter = 0; letter < 10; letter++) {
    mirror(title('x'.repeat(1_000_000 + letter)))
    await pass(30)
  }
  await pass(200)
  t.equal(mirror(title('x'.repeat(1_000_009))), 'disk')
  t.ok(disk.puts <= 3)
})

t.test('while the disk takes nothing the page says why, and writes again', async (t) => {
  const disk = diskOf()
  const storage = await draftStorageOf(disk)
  let changes = 0
  const mirror = storage.mirror('node/1', 'title', () => changes++)
  for (const [name, place] of [
    ['QuotaExceededError', 'full'],
    ['SecurityError', 'refused'],
    ['TimeoutError', 'silent']
  ] as const) {
    disk.failure = new DOMException('no', name)
    mirror(title(name))
    await turn()
    t.strictSame([mirror(title(name)), changes], [place, 1])
    t.equal(mirror(title(`${name}, and more`)), place, 'it is not said to be on its way meanwhile')
    await turn()
    changes = 0
  }
  storage.put('node/1', title('aside'))
  await turn()
  t.ok(storage.isAtRisk)
  disk.failure = undefined
  await pass(5000)
  t.strictSame([storage.isAtRisk, mirror(title('TimeoutError, and more'))], [false, 'disk'])
  t.strictSame((await left(disk)).sort(), ['TimeoutError, and more', 'aside'])
})

t.test('a text without room holds up no other', async (t) => {
  const disk = diskOf(1000)
  const storage = await draftStorageOf(disk)
  const [long, short] = ['body', 'title'].map((name) => storage.mirror('node/1', name, () => {}))
  long!({ payload: 'x'.repeat(1000) })
  short!(title('short'))
  await turn()
  await pass(10)
  t.strictSame([long!({ payload: 'x'.repeat(1000) }), short!(title('short'))], ['full', 'disk'])
})

t.test('a page that is closed sends what is not on the disk yet', async (t) => {
  const disk = diskOf()
  const storage = await draftStorageOf(disk)
  const mirror = storage.mirror('node/1', 'title', () => {})
  disk.hangs = true
  for (const text of ['H', 'Ha']) mirror(title(text))
  storage.keep()
  disk.hangs = false
  t.equal(disk.waiting.length, 3)
  disk.waiting.pop()!()
  await turn()
  t.strictSame(await left(disk), ['Ha'])
})

t.test('what the browser has lost is written again', async (t) => {
  const disk = diskOf()
  const storage = await draftStorageOf(disk)
  const mirror = storage.mirror('node/1', 'title', () => {})
  mirror(title('typed'))
  storage.put('node/1', title('aside'))
  await turn()
  disk.stored.clear()
  disk.lose()
  t.equal(mirror(title('typed')), 'coming')
  await turn()
  t.strictSame((await left(disk)).sort(), ['aside', 'typed'])
})

t.test('a text that another window goes on with stays there, whatever becomes of what it was before', async (t) => {
  const disk = diskOf()
  const mirror = (await draftStorageOf(disk)).mirror('node/1', 'title', () => {})
  mirror(title('Ha'))
  await turn()
  const other = await draftStorageOf(disk)
  mirror(title('Harbour'))
  await turn()
  other.drop(() => true, 'node/1')
  await turn()
  t.strictSame([other.of('node/1'), await left(disk)], [[], ['Harbour']])
  const another = await draftStorageOf(disk)
  mirror(undefined)
  another.drop(() => true, 'node/1')
  await turn()
  t.strictSame([another.of('node/1'), await left(disk)], [[], []])
})

t.test('of many texts the newest are kept, each shown once, and what others have written there is passed over', async (t) => {
  const disk = diskOf()
  const at = (key: string, payload: string, typedAt: number) => ({ key, of: 'node/1', fieldName: 'title', payload, typedAt })
  const odd = { key: 'quoin-text/anna/odd', of: 'node/1', fieldName: 5, payload: 'odd' }
  disk.stored.set(odd.key, odd as never)
  disk.stored.set('elsewhere', at('elsewhere', 'not of Anna', 1))
  for (let second = 1; second <= 102; second++) {
    const key = `quoin-text/anna/${second}`
    disk.stored.set(key, at(key, `text ${Math.min(second, 101)}`, second))
  }
  const texts = await left(disk)
  t.strictSame([texts.length, texts[0], texts.at(-1)], [99, 'text 101', 'text 3'])
  await turn()
  t.equal(disk.length, 102)

  const large = diskOf()
  for (let second = 1; second <= 5; second++) {
    const key = `quoin-text/anna/${second}`
    large.stored.set(key, at(key, String(second).repeat(9_000_000), second))
  }
  t.equal((await left(large)).length, 3, 'and of large ones as many as are 20 million letters besides the newest')
})

t.test('what an older version kept in localStorage is taken over, and removed there once it is on the disk', async (t) => {
  const old = storeOf()
  const json = JSON.stringify({ of: 'node/1', fieldName: 'title', payload: 'Of before', typedAt: 5 })
  const keys = ['quoin-text/anna/1-x/node/1/title', 'quoin-text/anna/nonsense', 'quoin-text/anna/number', 'quoin-text/ben/1', 'other']
  for (const [index, value] of [json, '{', '5', json, json].entries()) old.setItem(keys[index]!, value)
  const disk = diskOf()
  disk.failure = new Error('not now')
  const first = await draftStorageOf(disk, { old })
  await turn()
  t.match([first.of('node/1'), old.length], [[title('Of before')], 5])
  disk.failure = undefined
  await pass(5000)
  t.strictSame([old.getItem(keys[0]!), old.length, await left(disk)], [null, 4, ['Of before']])
  const again = await draftStorageOf(disk, { old })
  t.strictSame(again.of('node/1').length, 1)
  t.strictSame([await left(disk, 'ben'), old.getItem(keys[3]!)], [[], json], 'that of Ben waits for him')
})

t.test('of more texts of an older version than fit the oldest go', async (t) => {
  const old = storeOf()
  for (let index = 0; index <= 100; index++) {
    const text = { of: 'node/1', fieldName: 'title', payload: `Text ${index}`, typedAt: index }
    old.setItem(`quoin-text/anna/${index}-x/node/1/title`, JSON.stringify(text))
  }
  old.setItem('quoin-text/anna/none', 'null')
  const storage = await draftStorageOf(diskOf(), { old })
  await turn()
  t.strictSame([storage.of('node/1').length, storage.of('node/1').at(-1)?.payload, old.length], [100, 'Text 1', 1])
})

t.test('a browser that gives the page nothing has no texts of before', async (t) => {
  const { createDraftStorage } = await import('../page/draft-storage.ts')
  const disk = diskOf()
  disk.failure = new DOMException('denied', 'SecurityError')
  const storage = createDraftStorage({
    disk,
    window: {
      get localStorage(): never {
        throw new Error('denied')
      }
    },
    uid: 'anna',
    onChange: () => {}
  })
  await storage.ready
  storage.put('node/1', title('A'))
  await turn()
  t.match([storage.of('node/1'), storage.isAtRisk], [[{ payload: 'A', isInWindow: true }], true])
  storage.drop(() => true, 'node/1')
  t.strictSame([storage.of('node/1'), storage.isAtRisk], [[], false])
})

t.test('the page does not wait for a disk that does not answer, and shows its texts once it does', async (t) => {
  const disk = diskOf()
  const before = await draftStorageOf(disk)
  before.put('node/1', title('A'))
  await turn()
  disk.failure = new DOMException('no', 'TimeoutError')
  let changes = 0
  const storage = await draftStorageOf(disk, { onChange: () => changes++ })
  t.strictSame([storage.of('node/1'), changes], [[], 1])
  disk.failure = undefined
  disk.hangs = true
  const silent = draftStorageOf(disk)
  await pass(1000)
  t.strictSame((await silent).of('node/1'), [])
  disk.hangs = false
  for (const answer of disk.waiting) answer()
  await pass(5000)
  t.strictSame([storage.of('node/1').length, (await silent).of('node/1').length], [1, 1])
})
