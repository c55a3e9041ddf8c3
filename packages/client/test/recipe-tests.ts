import { setTimeout as sleep } from 'node:timers/promises'
import { EventSource } from 'eventsource'
import type { Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import type { Client, ClientOptions, createClient as createClientType } from '../src/client.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { anna, ben, open, title, until } from './fixtures.ts'
import { run } from './recipes.ts'

const path = '/api/cloud/data-state/node/42'

/** An input with the recipe behind it, of a page whose `store` takes as long as is wanted. */
async function page(locks: Client['locks'], store: (text: string) => Promise<void> = async () => {}) {
  const input = { value: 'stored', readOnly: true, title: '', onfocus: async () => {}, oninput: async () => {}, onblur: async () => {} }
  const document = { activeElement: undefined as object | undefined, querySelector: () => input }
  const stored: string[] = []
  await run('input.onfocus', {
    document,
    locks,
    store(text: string) {
      stored.push(text)
      return store(text)
    }
  })
  function focus(): Promise<void> {
    document.activeElement = input
    return input.onfocus()
  }
  async function type(text: string): Promise<void> {
    if (input.readOnly) return
    input.value = text
    await input.oninput()
  }
  function blur(): Promise<void> {
    document.activeElement = undefined
    return input.onblur()
  }
  return { input, stored, focus, type, blur }
}

/** Runs every recipe of the documents with a client: that of the sources, or that of the package. */
export async function testRecipes(t: Test, createClient: typeof createClientType): Promise<void> {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { app, url } = await open(t, { CMS_URL: await cms.listen(), CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' })
  const clientOf = (user?: ClientOptions['user']): Client => createClient({ url, EventSource, ...(user && { user }) })
  // A lock that is released without its uid leaves a draft.
  t.beforeEach(async () => {
    for (const what of ['', '/drafts']) await app.inject({ method: 'DELETE', url: `${path}${what}?fieldName=title` })
  })

  const present = async () => (await clientOf().locks.list(title)).map(({ userData, payload }) => [userData.uid, payload])

  t.test('the recipe for a field keeps what is typed in the lock until it is stored', async (t) => {
    const { input, stored, focus, type, blur } = await page(clientOf(anna).locks)
    await focus()
    await blur()
    t.strictSame([stored, await present()], [[], []], 'where nothing is typed nothing is stored')
    await focus()
    await type('typed')
    t.strictSame(await present(), [['7', 'typed']])
    await blur()
    t.strictSame([stored, await present(), input.readOnly], [['typed'], [], true])
  })

  t.test('the recipe for a field does not store over what another is typing', async (t) => {
    await (await clientOf(ben).locks.acquire(title)).save("Ben's")
    const { input, stored, focus, type, blur } = await page(clientOf(anna).locks)
    await focus()
    await type('typed')
    await blur()
    t.match(input, { value: 'stored', readOnly: true, title: 'Ben is editing this' })
    t.strictSame([stored, await present()], [[], [['8', "Ben's"]]])
  })

  t.test('the recipe for a field leaves a text of before a crash where it is, when one only passes through', async (t) => {
    await (await clientOf(anna).locks.acquire(title)).save('An hour of work')
    const { input, stored, focus, blur } = await page(clientOf(anna).locks)
    await Promise.all([focus(), blur()])
    t.strictSame([stored, await present(), input.value], [[], [['7', 'An hour of work']], 'An hour of work'])
    await focus()
    await blur()
    t.strictSame([stored, await present()], [['An hour of work'], []])
  })

  t.test('the recipe for a field releases what is left before it was granted', async (t) => {
    const { input, focus, blur } = await page(clientOf(anna).locks)
    await Promise.all([focus(), blur()])
    t.strictSame([await present(), input.readOnly], [[], true])
  })

  t.test('the recipe for a field goes on with the lock when the field is focused again while it is stored', async (t) => {
    const waiting: Array<() => void> = []
    const { stored, focus, type, blur } = await page(clientOf(anna).locks, () => new Promise((resolve) => waiting.push(resolve)))
    await focus()
    await type('typed')
    const left = blur()
    await focus()
    waiting[0]!()
    await left
    await type('typed, and more')
    t.strictSame(await present(), [['7', 'typed, and more']])
    const again = blur()
    await focus()
    await type('typed, and an hour more')
    const last = blur()
    waiting[1]!()
    await again
    t.strictSame(await present(), [['7', 'typed, and an hour more']], 'a text that is not stored yet stays')
    waiting[2]!()
    await last
    t.strictSame([stored, await present()], [['typed', 'typed, and more', 'typed, and an hour more'], []])
  })

  t.test("the recipe for drafts asks before one takes the place of the user's newer text", async (t) => {
    await (await clientOf(anna).locks.acquire(title)).save('yesterday')
    await (await clientOf(ben).locks.overwrite(title)).release()
    await (await clientOf(anna).locks.acquire(title)).save('An hour of work')
    for (const answers of [[false], [true, false], [true, true]]) {
      const { locks } = clientOf(anna)
      const waiting = [...answers]
      const asked: string[] = []
      await run('locks.drafts', {
        locks,
        confirm(question: string) {
          asked.push(question)
          return waiting.shift()
        }
      })
      t.equal(asked.length, answers.length)
      if (asked.length > 1) t.match(asked[1], 'An hour of work')
      const isRestored = !answers.includes(false)
      t.strictSame(
        [await present(), (await locks.drafts(title)).length],
        [[['7', isRestored ? 'yesterday' : 'An hour of work']], isRestored ? 0 : 1]
      )
    }
  })

  t.test('the recipe for who edits shows it as it changes', async (t) => {
    const list = { textContent: '' }
    let stop = () => {}
    const { locks } = clientOf(anna)
    await run('locks.subscribe', {
      list,
      locks: {
        ...locks,
        subscribe(...request: Parameters<typeof locks.subscribe>) {
          return (stop = locks.subscribe(...request))
        }
      }
    })
    t.teardown(() => stop())
    const lock = await clientOf(ben).locks.acquire(title)
    await until(() => list.textContent === 'Ben is editing title')
    await lock.release()
    await until(() => list.textContent === '')
  })

  t.test('the recipes for proposals leave a text, and settle those of others', async (t) => {
    const [hers, his] = [clientOf(anna).locks, clientOf(ben).locks]
    const lines: string[] = []
    const console = { log: (line: string) => lines.push(line) }
    const asked: string[] = []
    let stop = () => {}
    await run('locks.takeProposal', {
      locks: {
        ...his,
        subscribe(...request: Parameters<typeof his.subscribe>) {
          return (stop = his.subscribe(...request))
        }
      },
      confirm(question: string) {
        asked.push(question)
        return asked.length === 1
      }
    })
    t.teardown(() => stop())
    for (const outcome of ['taken', 'discarded']) {
      await run('locks.propose', { locks: hers, console })
      await until(async () => (await hers.proposals(title)).length === 0)
      await until(async () => (await hers.proposals(title, { settled: true }))[0]?.settled?.outcome)
      const outcomes = (await hers.proposals(title, { settled: true })).map(({ settled }) => settled?.outcome)
      t.ok(outcomes.includes(outcome as 'taken'))
    }
    t.strictSame(asked, Array(2).fill('Anna: Water found on Mars\nThe study calls it water'))
    await run('locks.propose', { locks: hers, console })
    t.strictSame(lines.slice(-2).sort(), ['discarded by Ben', 'taken by Ben'])
  })

  t.test('the recipe for who looks on says so, and hears of the others', async (t) => {
    const { locks } = clientOf(anna)
    const other = clientOf(ben).locks
    const names: string[][] = []
    class Lookers extends Map<string, string> {
      override set(uid: string, name: string) {
        return this.tell(super.set(uid, name))
      }
      override delete(uid: string) {
        return this.tell(super.delete(uid))
      }
      tell<Result>(result: Result): Result {
        names.push([...this.values()].sort())
        return result
      }
    }
    let stop = () => {}
    await run('locks.attend', {
      Map: Lookers,
      document: { hidden: false },
      setInterval() {},
      locks: {
        ...locks,
        subscribe(...request: Parameters<typeof locks.subscribe>) {
          return (stop = locks.subscribe(...request))
        }
      }
    })
    t.teardown(() => stop())
    await until(() => names.at(-1)?.join() === 'Anna')
    await other.attend({ type: 'node', id: '42' })
    await until(() => names.at(-1)?.join() === 'Anna,Ben')
    await other.leave({ type: 'node', id: '42' })
    await until(() => names.at(-1)?.join() === 'Anna')
    await locks.leave({ type: 'node', id: '42' })
    await until(() => names.at(-1)?.join() === '')
  })

  t.test('the recipe for editions reads a search page by page, and changes one', async (t) => {
    const lines: string[] = []
    const { editions } = clientOf(anna)
    const { title: before } = (await editions.read(12)).edition
    await run('editions.search({ bundle', {
      editions,
      QuoinError: Error,
      console: {
        log: (...words: string[]) => {
          lines.push(words.join(' '))
        }
      }
    })
    t.match(lines[0], /^\d+ of \d+: .*November/)
    t.match((await editions.read(12)).edition, { title: [{ value: `${before![0]!['value']}, late` }] })
  })

  t.test('the recipe for articles tells what holds them, and who is at work in them', async (t) => {
    const lines: unknown[][] = []
    const { locks, editions } = clientOf(anna)
    const found = (await editions.search({ bundle: 'article', q: 'harbour', status: 1, placed: true }).next()).value!
    const [article] = found.editions
    const lock = await locks.acquire({ type: 'node', id: String(article!['nid']![0]!['value']), fieldName: 'title' })
    await run('placed: true', {
      editions,
      console: {
        log: (...words: unknown[]) => {
          lines.push(words)
        }
      }
    })
    t.strictSame(lines[0], [
      article!['title']![0]!['value'],
      found.placed![String(article!['uuid']![0]!['value'])]!.map(({ label }) => label),
      ['Anna']
    ])
    t.equal(lines.at(-1)!.length, 1, 'the last is the article that was read')
    await lock.release()
  })

  t.test('the recipe for closing asks about warnings, and closes', async (t) => {
    const { editions } = clientOf(anna)
    await editions.update(12, { status: [{ value: false }], field_articles: [{ target_id: 4 }, { target_id: 7 }, { target_id: 4 }] })
    const asked: string[] = []
    const status = async () => (await editions.read(12)).edition['status']?.[0]?.['value']
    let answer = false
    const runs = () =>
      run('editions.readiness', {
        editions,
        QuoinError: Error,
        confirm: (question: string) => asked.push(question) > 0 && answer,
        console: { warn() {} }
      })
    await runs()
    t.strictSame([asked, await status()], [['Node 4 is in the edition more than once. Close the edition all the same?'], false])
    answer = true
    await runs()
    t.equal(await status(), true)
    const lock = await clientOf(ben).locks.acquire({ type: 'node', id: '4', fieldName: 'title' }, { payload: 'typed' })
    await editions.update(12, { status: [{ value: false }] })
    await runs()
    t.equal(await status(), false, 'not while another is typing')
    await lock.release()
  })

  t.test('the recipe for the running order changes it, and says what is there where it cannot', async (t) => {
    const { editions } = clientOf(anna)
    const articles = async () => ((await editions.read(12)).edition['field_articles'] ?? []).map(({ target_id: id }) => id)
    await editions.update(12, { field_articles: [{ target_id: 4 }, { target_id: 7 }] })
    await run('editions.arrange', { editions, QuoinError: Error })
    t.strictSame(await articles(), [4, 9])
    await editions.update(12, { field_articles: [{ target_id: 7 }] })
    await run('editions.arrange', { editions, QuoinError: Error })
    t.strictSame(await articles(), [7])
  })

  t.test('the recipe for pushing an edition makes one, however often it runs', async (t) => {
    const ids: unknown[] = []
    const { editions } = clientOf(anna)
    for (let times = 0; times < 2; times++) {
      await run('editions.upsert', {
        editions,
        console: {
          log: (id: unknown) => {
            ids.push(id)
          }
        }
      })
    }
    t.equal(ids.length, 2)
    t.equal(ids[0], ids[1])
    t.match((await editions.read(Number(ids[0]))).edition, { field_key: [{ value: 'daily-2031-01-06' }] })
  })

  t.test('the recipe for the journal takes back what was saved last', async (t) => {
    const { editions } = clientOf(anna)
    const save = async (times = 1): Promise<unknown> => {
      const { title: before } = (await editions.read(12)).edition
      const { etag } = await editions.update(12, { title: [{ value: `Slip ${times}` }] })
      const {
        data: [last]
      } = await editions.journal(12, { limit: 1 })
      if (last?.etag === etag || times === 20) return before
      // While the store is slow, saves go on without entries: for five seconds after a write that failed.
      await sleep(500)
      return save(times + 1)
    }
    const before = await save()
    await run('editions.journal', { editions })
    t.strictSame((await editions.read(12)).edition['title'], before)
  })

  for (const [name, words] of [
    ['that opens the page', 'locks.releaseOnPageHide()'],
    ['of the README', 'held.release()']
  ] as const) {
    t.test(`the recipe ${name} makes a client and uses it`, async (t) => {
      const asked: ClientOptions[] = []
      let listening = 0
      const lengths: number[] = []
      Object.assign(globalThis, {
        addEventListener() {
          listening++
        }
      })
      t.teardown(() => {
        delete (globalThis as { addEventListener?: unknown }).addEventListener
      })
      await run(words, {
        createClient(options: ClientOptions) {
          asked.push(options)
          return createClient({ ...options, url })
        },
        console: {
          log: (length: number) => {
            lengths.push(length)
          }
        }
      })
      t.match(asked, [{ url: 'https://quoin.example.org', user: anna }])
      if (name === 'of the README') t.ok(lengths[0]! > 0)
      else t.equal(listening, 1)
      t.strictSame(await present(), [])
    })
  }
}
