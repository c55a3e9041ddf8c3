import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { QuoinError, type Client, type Listener, type LockView, type Page, type Search } from '../../client/src/client.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { placeOf, type Query } from '../page/address.ts'
import { createList } from '../page/list.ts'
import type { Edition, Model } from '../page/settings.ts'

mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] })
t.teardown(() => mock.timers.reset())

const model = contentModel({}) as Model

const editionOf = (id: number, title = `Edition ${id}`) => ({ id: [{ value: id }], title: [{ value: title }] }) as Edition
const pageOf = (ids: number[], more: Partial<Page> = {}): Page => ({
  editions: ids.map((id) => editionOf(id)) as Page['editions'],
  limit: 20,
  offset: 0,
  hasMore: false,
  total: ids.length,
  ...more
})
const lock = (entityId: string, uid: string, fieldName = 'title') =>
  ({ entityType: 'publisher_container', entityId, fieldName, userData: { uid } }) as LockView
const queryOf = (hash: string): Query => (placeOf(hash) as { query: Query }).query

/** A list whose service answers what a test says. */
function open(t: Test) {
  const asked: Search[] = []
  const answers: Array<Page | Error> = []
  const streams: Array<{ search: Search; listener: Listener; isOpen: boolean }> = []
  const said: string[] = []
  const service = { answered: () => {} }
  const client = {
    editions: {
      async *search({ signal, ...search }: Search) {
        asked.push(search)
        await turn()
        signal?.throwIfAborted()
        const answer = answers.shift()!
        if (answer instanceof Error) throw answer
        service.answered()
        yield answer
      },
      watch(search: Search, listener: Listener) {
        const stream = { search, listener, isOpen: true }
        streams.push(stream)
        return () => {
          stream.isOpen = false
        }
      }
    }
  } as unknown as Client
  let changes = 0
  const list = createList({
    client,
    model,
    onChange: () => {
      changes++
    },
    onNews: () => {
      changes++
    },
    announce: (text) => {
      said.push(text)
    }
  })
  t.teardown(list.close)
  const settle = async (ms = 0) => {
    mock.timers.tick(ms)
    for (let turns = 0; turns < 8; turns++) await turn()
  }
  return {
    list,
    service,
    answers,
    streams,
    said,
    settle,
    asked: () => asked.splice(0),
    changes: () => changes,
    live: () => streams.filter(({ isOpen }) => isOpen),
    ids: () => list.editions.map(list.idOf).join()
  }
}

t.test('a page is shown, counted, and followed', async (t) => {
  const { list, answers, asked, said, settle, live } = open(t)
  answers.push(pageOf([3, 2], { total: null, hasMore: true }), pageOf([3], { total: 60 }))
  list.show(queryOf('#/?q=a&bundle=daily&type=daily&status=1&key=k&offset=20'))
  t.equal(list.isLoading, true)
  await settle()
  const search = { q: 'a', bundle: 'daily', type: 'daily', status: 1, key: 'k' }
  t.strictSame(asked(), [
    { ...search, limit: 20, offset: 20 },
    { ...search, limit: 1, total: true }
  ])
  t.match([list.isLoading, list.total, list.page?.hasMore, list.query.offset], [false, 60, true, 20])
  t.strictSame(said, ['2 editions shown', '60 editions found'])
  t.strictSame(
    live().map(({ search }) => search),
    [{ ...search, limit: 20, offset: 20 }]
  )
})

t.test('those at work in a row are told, each once', async (t) => {
  const { list, answers, settle, live, changes } = open(t)
  answers.push(pageOf([3, 2]))
  list.show(queryOf('#/'))
  await settle()
  const before = changes()
  live()[0]!.listener.locks([lock('3', 'anna'), lock('3', 'anna', 'key'), lock('3', 'ben'), lock('2', 'cem')], false, true)
  t.strictSame(
    list.editions.map((edition) => list.atWork(edition).map(({ userData }) => userData.uid)),
    [['anna', 'ben'], ['cem']]
  )
  t.equal(changes(), before + 1)
})

t.test('news has the rows read again, once for all that comes together', async (t) => {
  const { list, answers, asked, settle, live, ids } = open(t)
  answers.push(pageOf([3, 2]))
  list.show(queryOf('#/'))
  await settle()
  asked()
  const { listener } = live()[0]!
  listener.locks([], false, true)
  listener.locks([lock('3', 'anna')])
  await settle(2000)
  t.strictSame(asked(), [], 'a lock is no news of the rows, and neither is the first of all')

  answers.push(pageOf([3, 2], { editions: [editionOf(3, 'New title'), editionOf(2)] as Page['editions'] }))
  listener.saved!({ entityType: 'publisher_container', entityId: '3', etag: '"x"', fields: ['title'] })
  listener.saved!({ entityType: 'publisher_container', entityId: '3', etag: '"y"', fields: ['title'] })
  await settle(1000)
  t.strictSame([asked(), list.editions[0]!['title']], [[{ limit: 20, offset: 0 }], [{ value: 'New title' }]])

  answers.push(pageOf([4, 3], { total: null }), pageOf([4], { total: 3 }))
  listener.locks([], false, true)
  await settle(1000)
  t.strictSame([ids(), list.total, asked().length], ['4,3', 3, 2], 'other rows are counted anew')

  answers.push(pageOf([5, 4]), new QuoinError(503, 'CMS_UNAVAILABLE', 'away'))
  await settle(60_000)
  t.strictSame([ids(), list.total], ['5,4', 3], 'without news, too, and the total stays where it cannot be had')

  answers.push(new QuoinError(503, 'CMS_UNAVAILABLE', 'away'))
  await settle(60_000)
  answers.push(pageOf([1], { age: 30 }))
  await settle(60_000)
  t.strictSame([ids(), list.failure], ['5,4', undefined], 'what cannot be had, or is a copy, changes nothing')
})

t.test('rows stay where they are while the reader is at them', async (t) => {
  const { list, answers, settle, live, ids } = open(t)
  answers.push(pageOf([3, 2]))
  list.show(queryOf('#/'))
  await settle()
  const { listener } = live()[0]!
  const save = { entityType: 'publisher_container', entityId: '3', etag: '"x"', fields: ['title'] }
  list.use()
  answers.push(pageOf([4, 3]), pageOf([4]))
  listener.saved!(save)
  await settle(1000)
  t.equal(ids(), '3,2')
  list.use()
  await settle(2000)
  t.equal(ids(), '3,2', 'longer, as the reader is still there')
  await settle(1000)
  t.equal(ids(), '4,3')

  list.use()
  answers.push(pageOf([5, 4]))
  listener.saved!(save)
  await settle(1000)
  answers.push(pageOf([9]))
  list.show(queryOf('#/?q=other'))
  await settle(5000)
  t.equal(ids(), '9', 'what was held back for another page is not shown')
})

t.test('an answer that comes as another page is asked for is not shown', async (t) => {
  const { list, service, answers, settle, live, ids } = open(t)
  answers.push(pageOf([3, 2]))
  list.show(queryOf('#/'))
  await settle()
  answers.push(pageOf([4, 3]), pageOf([9]))
  service.answered = () => {
    service.answered = () => {}
    list.show(queryOf('#/?q=other'))
  }
  live()[0]!.listener.saved!({ entityType: 'publisher_container', entityId: '3', etag: '"x"', fields: ['title'] })
  await settle(1000)
  t.equal(ids(), '9')
})

t.test('a page that nobody sees follows nothing, and is read again when it is seen', async (t) => {
  const { list, answers, asked, settle, live, streams, ids } = open(t)
  list.see(true)
  list.see(false)
  list.see(true)
  t.equal(live().length, 0, 'before there is a page')
  list.see(false)
  answers.push(pageOf([3]))
  list.show(queryOf('#/'))
  await settle()
  t.equal(streams.length, 0)
  asked()
  await settle(120_000)
  t.strictSame(asked(), [])
  answers.push(pageOf([4]), pageOf([4]))
  list.see(true)
  await settle()
  t.strictSame([live().length, ids()], [1, '4'])
  live()[0]!.listener.saved!({ entityType: 'publisher_container', entityId: '3', etag: '"x"', fields: ['title'] })
  list.see(false)
  await settle(5000)
  t.strictSame([live().length, ids()], [0, '4'])
})

t.test('what cannot be had for the moment is asked for again, and a copy is followed by the page itself', async (t) => {
  const { list, answers, said, settle, ids, live } = open(t)
  answers.push(new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away'))
  list.show(queryOf('#/'))
  await settle()
  t.match([list.failure, list.isLoading, list.editions, list.page], [{ message: 'The CMS is away' }, false, [], undefined])
  answers.push(pageOf([3], { age: 60 }))
  await settle(10_000)
  t.match([list.failure, ids(), list.page?.age], [undefined, '3', 60])
  answers.push(pageOf([]))
  await settle(10_000)
  t.strictSame([ids(), said.at(-1)], ['', 'No editions found'])
  answers.push(new QuoinError(400, 'BAD_REQUEST', 'Not so'))
  list.show(queryOf('#/?q=x'))
  await settle()
  t.equal(list.failure?.message, 'Not so')
  answers.push(pageOf([1]))
  list.show(queryOf('#/?q=y'))
  list.show(queryOf('#/?q=z'))
  await settle()
  t.equal(ids(), '1', 'of two the last, whose answer is the only one that is waited for')
  answers.push(pageOf([7], { total: null }), pageOf([7], { total: null }))
  list.show(queryOf('#/?q=w'))
  await settle()
  t.strictSame([list.total, said.at(-1)], [null, '1 edition shown'])
  list.close()
  t.equal(live().length, 0)
})
