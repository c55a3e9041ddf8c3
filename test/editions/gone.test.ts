import t from 'tap'
import { newspaper } from '../../dev/content.ts'
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

/** Core REST of the stand-in takes sessions alone. */
async function session(url: string, user: string): Promise<string> {
  const response = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: user, pass: user })
  })
  return response.headers.get('set-cookie')!.split(';')[0]!
}
