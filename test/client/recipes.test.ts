import t from 'tap'
import type { Locks } from '../../packages/client/src/locks.ts'
import { anna, ben, open, title } from './fixtures.ts'
import { run } from './recipes.ts'

const path = '/api/cloud/data-state/node/42'
const { app, seat } = await open(t)
// A lock that is released without its uid leaves a draft.
t.beforeEach(async () => { for (const what of ['', '/drafts']) await app.inject({ method: 'DELETE', url: `${path}${what}?fieldName=title` }) })

const kept = async () => (await seat().locks.list(title)).map(({ userData, payload }) => [userData.uid, payload])

/** An input with the recipe behind it, of a page whose `store` takes as long as is wanted. */
async function page (locks: Locks, store: (text: string) => Promise<void> = async () => {}) {
  const input = { value: 'stored', readOnly: true, title: '', onfocus: async () => {}, oninput: async () => {}, onblur: async () => {} }
  const document = { activeElement: undefined as object | undefined, querySelector: () => input }
  const stored: string[] = []
  await run('input.onfocus', {
    document,
    locks,
    store (text: string) {
      stored.push(text)
      return store(text)
    }
  })
  function focus (): Promise<void> {
    document.activeElement = input
    return input.onfocus()
  }
  async function type (text: string): Promise<void> {
    if (input.readOnly) return
    input.value = text
    await input.oninput()
  }
  function blur (): Promise<void> {
    document.activeElement = undefined
    return input.onblur()
  }
  return { input, stored, focus, type, blur }
}

t.test('the recipe for a field keeps what is typed in the lock until it is stored', async (t) => {
  const { input, stored, focus, type, blur } = await page(seat(anna).locks)
  await focus()
  await blur()
  t.strictSame([stored, await kept()], [[], []], 'where nothing is typed nothing is stored')
  await focus()
  await type('typed')
  t.strictSame(await kept(), [['7', 'typed']])
  await blur()
  t.strictSame([stored, await kept(), input.readOnly], [['typed'], [], true])
})

t.test('the recipe for a field does not store over what another is typing', async (t) => {
  await (await seat(ben).locks.acquire(title)).save("Ben's")
  const { input, stored, focus, type, blur } = await page(seat(anna).locks)
  await focus()
  await type('typed')
  await blur()
  t.match(input, { value: 'stored', readOnly: true, title: 'Ben is editing this' })
  t.strictSame([stored, await kept()], [[], [['8', "Ben's"]]])
})

t.test('the recipe for a field leaves a text of before a crash where it is, when one only passes through', async (t) => {
  await (await seat(anna).locks.acquire(title)).save('An hour of work')
  const { input, stored, focus, blur } = await page(seat(anna).locks)
  await Promise.all([focus(), blur()])
  t.strictSame([stored, await kept(), input.value], [[], [['7', 'An hour of work']], 'An hour of work'])
  await focus()
  await blur()
  t.strictSame([stored, await kept()], [['An hour of work'], []])
})

t.test('the recipe for a field releases what is left before it was granted', async (t) => {
  const { input, focus, blur } = await page(seat(anna).locks)
  await Promise.all([focus(), blur()])
  t.strictSame([await kept(), input.readOnly], [[], true])
})

t.test('the recipe for a field goes on with the lock when the field is focused again while it is stored', async (t) => {
  const waiting: Array<() => void> = []
  const { stored, focus, type, blur } = await page(seat(anna).locks, () => new Promise((resolve) => waiting.push(resolve)))
  await focus()
  await type('typed')
  const left = blur()
  await focus()
  waiting[0]!()
  await left
  await type('typed, and more')
  t.strictSame(await kept(), [['7', 'typed, and more']])
  const again = blur()
  await focus()
  await type('typed, and an hour more')
  const last = blur()
  waiting[1]!()
  await again
  t.strictSame(await kept(), [['7', 'typed, and an hour more']], 'a text that is not stored yet stays')
  waiting[2]!()
  await last
  t.strictSame([stored, await kept()], [['typed', 'typed, and more', 'typed, and an hour more'], []])
})

t.test("the recipe for drafts asks before one takes the place of the user's newer text", async (t) => {
  await (await seat(anna).locks.acquire(title)).save('yesterday')
  await (await seat(ben).locks.overwrite(title)).release()
  await (await seat(anna).locks.acquire(title)).save('An hour of work')
  for (const answers of [[false], [true, false], [true, true]]) {
    const { locks } = seat(anna)
    const waiting = [...answers]
    const asked: string[] = []
    await run('locks.drafts', {
      locks,
      confirm (question: string) {
        asked.push(question)
        return waiting.shift()
      }
    })
    t.equal(asked.length, answers.length)
    if (asked.length > 1) t.match(asked[1], 'An hour of work')
    const isRestored = !answers.includes(false)
    t.strictSame([await kept(), (await locks.drafts(title)).length], [[['7', isRestored ? 'yesterday' : 'An hour of work']], isRestored ? 0 : 1])
  }
})
