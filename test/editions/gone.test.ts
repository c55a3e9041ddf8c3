import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { JSONAPI, openHostile } from './hostile-cms.ts'
import { failed, open, writes } from './site.ts'

const path = '/api/collection/1'
const [GONE, ALSO_GONE] = [901, 902]

/** The sample site; its first edition refers to two articles that are gone, the first one of all and one in the middle. */
function content() {
  const site = newspaper()
  const edition = site.entities.find(({ type, id }) => type.startsWith('publisher_container--') && id === 1)!
  edition.fields = { ...edition.fields, field_section: GONE, field_articles: [GONE, 2, ALSO_GONE, 4].map((id) => ({ target_id: id })) }
  return site
}

const idsOf = ({ field_articles: articles }: any) => articles.map(({ target_id: id }: any) => id)
const dangling = (...deltas: number[]) =>
  `Unprocessable Entity: validation failed.\n${deltas
    .map(
      (delta) =>
        `field_articles.${delta}.target_id: The referenced entity is gone. Drupal saves no changed list that still refers to it: leave it out of the list.\n`
    )
    .join('')}`

for (const filterAccess of [true, false]) {
  t.test(
    `core's own document of an edition that refers to what is gone is taken; filters ${filterAccess ? 'find all' : 'find nothing'}`,
    async (t) => {
      const { call, url } = await open(t, { content: content(), filterAccess })
      const editor = 'editor'
      const response = await fetch(`${url}/publisher_container/1?_format=json`, { headers: { cookie: await session(url, editor) } })
      const document = (await response.json()) as any
      t.strictSame(idsOf(document), [GONE, 2, ALSO_GONE, 4])

      const same = await call('POST', path, { as: editor, body: document })
      t.strictSame([same.status, same.body.field_section, idsOf(same.body)], [200, [{ target_id: null }], [null, 2, null, 4]])
      const titled = await call('POST', path, { as: editor, body: { ...document, changed: undefined, title: [{ value: 'New' }] } })
      t.strictSame([titled.status, titled.body.title, idsOf(titled.body)], [200, [{ value: 'New' }], [null, 2, null, 4]])

      const moved = await call('POST', path, {
        as: editor,
        body: { field_articles: [2, GONE, ALSO_GONE, 4].map((id) => ({ target_id: id })) }
      })
      failed(t, 'moved', moved, 422, 'UNPROCESSABLE', /node: 901\) does not exist\.\n.*node: 902\) does not exist/)
      const replaced = await call('POST', path, { as: editor, body: { field_articles: [7, 2, 8, 4].map((id) => ({ target_id: id })) } })
      t.strictSame([replaced.status, idsOf(replaced.body)], [200, [7, 2, 8, 4]], 'other articles in their places are a change')
    }
  )
}

t.test('one id among several that are not shown, and more than Drupal is asked about', async (t) => {
  const { call } = await open(t, { content: content() })
  const save = (articles: object[]) => call('POST', path, { as: 'editor', body: { field_articles: articles } })
  const one = await save([{ target_id: null }, { target_id: 2 }, { target_id: ALSO_GONE }, { target_id: 4 }])
  t.strictSame([one.status, writes(one.upstream)], [200, []])
  const uuid = newspaper().entities.find(({ type, id }) => type === 'node--article' && id === 9)!.uuid!
  const named = await save([{ target_uuid: uuid }, { target_id: 2 }, { target_id: null, target_uuid: uuid }, { target_id: 4 }])
  t.strictSame([named.status, idsOf(named.body)], [200, [9, 2, 9, 4]], 'a uuid is that of another')

  const site = content()
  const edition = site.entities.find(({ type, id }) => type.startsWith('publisher_container--') && id === 1)!
  const many = Array.from({ length: 21 }, (_, index) => ({ target_id: GONE + index }))
  edition.fields = { ...edition.fields, field_articles: many }
  const other = await open(t, { content: site })
  const all = await other.call('POST', path, { as: 'editor', body: { field_articles: many } })
  t.strictSame([all.status, idsOf(all.body)], [200, many.map(() => null)])
})

t.test('an id that is not that of what is gone is refused where filters can tell', async (t) => {
  const { call } = await open(t, { content: content() })
  const body = { field_articles: [GONE + 50, 2, ALSO_GONE, 4].map((id) => ({ target_id: id })) }
  failed(
    t,
    'another id',
    await call('POST', path, { as: 'editor', body }),
    422,
    'UNPROCESSABLE',
    /field_articles\.0\.target_id: .*951\) does not exist/
  )
})

t.test('a reference to what is gone is never dropped without a word', async (t) => {
  const { call } = await open(t, { content: content() })
  const save = (ids: Array<number | null>) =>
    call('POST', path, { as: 'editor', body: { field_articles: ids.map((id) => ({ target_id: id })) } })
  const arrange = (operations: object[]) => call('POST', `${path}/articles`, { as: 'editor', body: { operations } })
  const gone = { target_id: null }

  const refused = await save([null, 9, 2, null, 4])
  failed(t, 'an insert in a list', refused, 422, 'UNPROCESSABLE', dangling(0, 3))
  t.strictSame(writes(refused.upstream), [], 'nothing is sent')
  failed(t, 'an insert', await arrange([{ op: 'insert', article: { target_id: 9 }, at: 'start' }]), 422, 'UNPROCESSABLE', dangling(1, 3))
  failed(t, 'a move', await arrange([{ op: 'move', article: { target_id: 4 }, before: gone }]), 422, 'UNPROCESSABLE', dangling(1, 3))
  failed(t, 'one left', await arrange([{ op: 'remove', article: gone }]), 422, 'UNPROCESSABLE', dangling(1))
  failed(t, 'put back', await arrange([{ op: 'insert', article: gone, at: 'end' }]), 400, 'BAD_REQUEST', /what is gone cannot be inserted/)
  t.strictSame(idsOf((await call('GET', path, { as: 'editor' })).body), [null, 2, null, 4])

  const removed = await arrange([
    { op: 'remove', article: gone, occurrence: 2 },
    { op: 'insert', article: { target_id: 9 }, after: gone },
    { op: 'remove', article: gone }
  ])
  t.strictSame([removed.status, idsOf(removed.body.data)], [200, [9, 2, 4]])
})

t.test('with the module a list keeps its references to what is gone', async (t) => {
  const { call, stored } = await openModule(t, content())
  const save = (ids: Array<number | null>) =>
    call('POST', path, { as: 'editor', body: { field_articles: ids.map((id) => ({ target_id: id })) } })
  const gone = { target_id: null }

  const moved = await save([4, null, 9, null, 2])
  t.strictSame([moved.status, idsOf(moved.body), await stored()], [200, [4, null, 9, null, 2], [4, GONE, 9, ALSO_GONE, 2]])
  t.strictSame([(await save([null, null, 2])).status, await stored()], [200, [GONE, ALSO_GONE, 2]])
  t.strictSame([(await save([null, 5, 2, null])).status, await stored()], [200, [GONE, 5, 2, ALSO_GONE]])
  t.strictSame([(await save([null, 5, 2])).status, await stored()], [200, [GONE, 5, 2]], 'one at the start')
  const { uuid } = newspaper().entities.find(({ type, id }) => type === 'node--article' && id === 9)!
  const bare = { field_articles: [{ target_uuid: uuid }, { target_type: 'node' }, gone] }
  t.equal((await call('POST', path, { as: 'editor', body: bare })).status, 200)
  t.strictSame(await stored(), [9, GONE], 'an item without a target has no place')
})

t.test('with the module operations on the running order keep its references to what is gone', async (t) => {
  const { call, cms, stored } = await openModule(t, content())
  const save = (ids: Array<number | null>, more: object = {}) =>
    call('POST', path, { as: 'editor', body: { ...more, field_articles: ids.map((id) => ({ target_id: id })) } })
  const arrange = (operations: object[], headers: Record<string, string> = {}) =>
    call('POST', `${path}/articles`, { as: 'editor', body: { operations }, headers })
  const gone = { target_id: null }
  t.equal((await save([null, 5, 2, null])).status, 200)
  const key = { 'idempotency-key': 'a'.repeat(20) }
  const operations = [{ op: 'move', article: { target_id: 2 }, before: gone }]
  t.strictSame([(await arrange(operations, key)).status, await stored()], [200, [2, GONE, 5, ALSO_GONE]])
  t.strictSame([(await arrange(operations, key)).status, await stored()], [200, [2, GONE, 5, ALSO_GONE]], 'once')
  t.strictSame(
    [(await arrange([{ op: 'remove', article: gone }])).status, await stored()],
    [200, [2, 5, ALSO_GONE]],
    'the neighbours tell which'
  )
  const many = await save([2, 5, null, null])
  failed(t, 'one more', many, 422, 'UNPROCESSABLE', dangling(2, 3))
  failed(t, 'a section too', await save([5, null], { field_section: [gone, { target_id: 1 }] }), 422, 'UNPROCESSABLE', /./)

  // A target that is back, or gone only now: Drupal refuses what is not as the edition was shown.
  cms.behave = ({ method }) => (method === 'PATCH' ? { status: 412, headers: JSONAPI, body: { errors: [{ status: '412' }] } } : undefined)
  t.equal((await save([null, 5])).status, 502)
  cms.behave = () => undefined
  t.strictSame([(await save([null])).status, await stored()], [200, [ALSO_GONE]])
})

t.test('with the module the first of several references stays where none has its neighbours, and all may go', async (t) => {
  const { call, stored } = await openModule(t, content())
  const save = (ids: Array<number | null>) =>
    call('POST', path, { as: 'editor', body: { field_articles: ids.map((id) => ({ target_id: id })) } })
  t.strictSame([(await save([7, null, 8])).status, await stored()], [200, [7, GONE, 8]])
  t.strictSame([(await save([8, 7])).status, await stored()], [200, [8, 7]])
})

t.test('with the module a list does not keep more references than a header field names', async (t) => {
  const site = content()
  const edition = site.entities.find(({ type, id }) => type.startsWith('publisher_container--') && id === 1)!
  const many = Array.from({ length: 600 }, (_, index) => ({ target_id: GONE + index }))
  edition.fields = { ...edition.fields, field_articles: many }
  const { call } = await openModule(t, site)
  const body = { field_articles: [{ target_id: 9 }, ...many.map(() => ({ target_id: null }))] }
  failed(t, 'too many', await call('POST', path, { as: 'editor', body }), 422, 'UNPROCESSABLE', /is gone/)
})

/** A site with Quoin's module, of which Quoin has heard. */
async function openModule(t: Test, site: ReturnType<typeof content>) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const opened = await openHostile(t, { content: site, module: '0.1.0', env: { DYNAMODB_ENDPOINT: endpoint } })
  await opened.call('GET', path, { as: 'editor' })
  const { url } = opened.cms
  const cookie = await session(url, 'editor')
  /** The ids of its articles, as core REST shows them. */
  const stored = async () => idsOf(await (await fetch(`${url}/publisher_container/1?_format=json`, { headers: { cookie } })).json())
  return { ...opened, stored }
}

/** Core REST of the stand-in takes sessions alone. */
async function session(url: string, user: string): Promise<string> {
  const response = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: user, pass: user })
  })
  return response.headers.get('set-cookie')!.split(';')[0]!
}
