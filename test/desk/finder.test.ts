import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createFinder } from '../../packages/desk/finder.ts'
import { QuoinError, type Client, type Page, type Search } from '../../packages/client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const lists = { article: { entityType: 'node', section: 'field_section' }, brief: { entityType: 'brief' }, story: { entityType: 'story', keys: { id: 'sid', label: 'headline' } } }

/** A finder, and what its searches are answered with: a page or an error, at once or later. */
function open (answers: Array<Partial<Page> | Error | Promise<never>>) {
  const asked: Search[] = []
  const said: string[] = []
  async function * search (query: Search) {
    asked.push(query)
    const answer = await answers.shift() ?? { editions: [] }
    if (answer instanceof Error) throw answer
    yield answer as Page
  }
  const finder = createFinder({ search: search as Client['editions']['search'], model: { lists }, changed: () => {}, announce: (text) => { said.push(text) } })
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  return { finder, asked, said, pass }
}

const article = { nid: [{ value: 7 }], uuid: [{ value: 'u7' }], title: [{ value: 'Seven' }], status: [{ value: true }], field_section: [{ value: 'Sport' }], field_image: [{ target_id: 1, alt: 'A', url: 'https://cms.example/7.jpg' }] }

t.test('an article is found with its picture, where it stands and who is in it', async (t) => {
  const placed = [{ id: '1', uuid: 'e1', bundle: 'daily', label: 'Monday', published: true }]
  const lock = { entityType: 'node', entityId: '7', fieldName: 'title', timestamp: 1, userData: { uid: 'ben' } }
  const { finder, asked, said, pass } = open([{ editions: [article, { uuid: [{ value: 'u8' }] }], placed: { u7: placed }, locks: { u7: [lock, { ...lock, fieldName: 'body' }] } }])
  finder.open()
  await pass(0)
  t.match(asked, [{ bundle: 'article', placed: true, locks: true }])
  t.notOk('q' in asked[0]!)
  t.strictSame(finder.results, [
    { item: { target_id: 7, target_uuid: 'u7', target_type: 'node' }, title: 'Seven', isPublished: true, image: 'https://cms.example/7.jpg', section: { value: 'Sport' }, placed, locks: [{ ...lock, fieldName: 'body' }] },
    { item: { target_id: undefined, target_uuid: 'u8', target_type: 'node' }, title: '', isPublished: undefined, image: undefined, section: undefined, placed: [], locks: [] }
  ])
  t.strictSame(said, ['2 articles shown'])
  finder.open()
  await pass(1000)
  t.equal(asked.length, 1, 'what is shown is not asked for again')
})

t.test('what is typed is searched once its writer pauses, and who waits for it gets that answer', async (t) => {
  const { finder, asked, pass } = open([{ editions: [article] }])
  finder.type('se')
  await pass(100)
  finder.type(' seven ')
  let isAnswered = false
  finder.answered.then(() => { isAnswered = true })
  await pass(249)
  t.strictSame([asked.length, isAnswered], [0, false])
  await pass(1)
  t.strictSame([asked.map(({ q }) => q), isAnswered, finder.results?.length], [['seven'], true, 1])
  finder.type('eight')
  finder.close()
  await pass(1000)
  t.equal(asked.length, 1)
})

t.test('a list of another type has its own keys, and a search that fails says so', async (t) => {
  const away = new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')
  const { finder, asked, said, pass } = open([{ editions: [{ sid: [{ value: 3 }], uuid: [{ value: 'u3' }], headline: [{ value: 'Three' }] }] }, away, new QuoinError(503, 'PLACED_UNKNOWN', 'Too many'), { editions: [] }])
  t.strictSame([finder.lists, finder.list, finder.place], [['article', 'brief', 'story'], 'article', undefined])
  finder.choose('story')
  await pass(0)
  t.match([asked[0], finder.results], [{ bundle: 'story' }, [{ item: { target_id: 3, target_type: 'story' }, title: 'Three' }]])
  finder.type('y')
  await pass(250)
  t.equal(finder.failure, away)
  finder.type('x')
  await pass(250)
  t.strictSame([asked.slice(-2).map(({ placed }) => placed), finder.failure, said.at(-1)], [[true, false], undefined, 'No articles found'], 'where nobody can say where articles stand they are found all the same')
  finder.putAt(2)
  t.equal(finder.place, 2)
})

t.test('a list without keys of its own is read by the usual ones, also where a field is missing', async (t) => {
  const { finder, pass } = open([{ editions: [{ id: [{ value: 4 }], uuid: [{ value: 'u4' }], title: [{ value: 'Four' }], image: undefined }] as unknown as Page['editions'] }])
  finder.choose('brief')
  await pass(0)
  t.match(finder.results, [{ item: { target_id: 4, target_uuid: 'u4', target_type: 'brief' }, title: 'Four', image: undefined }])
})

t.test('a search that another has taken the place of says nothing, not even that it was ended', async (t) => {
  const { promise, reject } = Promise.withResolvers<never>()
  const { finder, said, pass } = open([promise, { editions: [article] }])
  finder.type('s')
  await pass(250)
  finder.type('seven')
  await pass(250)
  reject(new QuoinError(0, 'UNREACHABLE', 'It was ended'))
  await pass(0)
  t.strictSame([finder.failure, finder.results?.length, said], [undefined, 1, ['1 article shown']])
})
