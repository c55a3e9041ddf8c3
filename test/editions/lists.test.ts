import t from 'tap'
import type { CmsContent } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { countContext, isOwnCount } from '#lib/editions/list/visibility.ts'
import { variants } from '../scope.ts'
import { model } from './fixtures.ts'
import { JSONAPI, openHostile } from './hostile-cms.ts'
import { editionsOf, enlarged, failed, open, type Known } from './site.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

/** The two content models: bundles of their own, and one bundle told apart by the list field. */
const models = variants<[name: string, content: () => CmsContent]>([
  ['two bundles', newspaper],
  ['one bundle', singleBundleNewspaper]
])

const value = (field: Array<{ value: unknown }>) => field[0]?.value

for (const [name, content] of models) {
  t.test(`list and search, with ${name}`, async (t) => {
    const big = enlarged(content(), 50)
    const { call, cms } = await open(t, { content: big })
    const all = editionsOf(big)
    const visible = (as?: string) => (as === 'editor' || as === 'admin' ? all : all.filter(({ published }) => published))
    const ids = (rows: any[]) => rows.map((row) => value(row.id))
    const list = (path: string, as?: string) => call('GET', `/api/collections/${path}`, as === undefined ? {} : { as })

    t.test('every parameter selects what the content says, newest first', async (t) => {
      const of =
        (kind: string) =>
        ({ type }: Known) =>
          type === kind
      const cases: Array<[path: string, selected: (one: Known) => boolean]> = [
        ['publisher_container?', () => true],
        ['daily?', of('daily')],
        ['special?', of('special')],
        ['publisher_container?type=special', of('special')],
        ['special?type=special', of('special')],
        ['special?type=daily', () => false],
        ['publisher_container?status=1', ({ published }) => published],
        ['publisher_container?status=0', ({ published }) => !published],
        ['daily?status=0', (one) => !one.published && one.type === 'daily'],
        ['publisher_container?q=monday', ({ title }) => title.startsWith('Monday')],
        ['publisher_container?q=', () => true],
        ['publisher_container?status=&key=&type=', () => true],
        ['publisher_container?q=extra-90', ({ key }) => key === 'extra-90'],
        ['publisher_container?q=EXTRA-90', () => false],
        ['publisher_container?q=extra-9', () => false],
        ['publisher_container?q=extra-90&status=1', ({ key, published }) => key === 'extra-90' && published],
        ['daily?q=daily-2026-10-09', ({ key }) => key === 'daily-2026-10-09'],
        ['special?q=daily-2026-10-09', () => false],
        ['publisher_container?q=extra-90&key=extra-91', () => false],
        [
          'publisher_container?q=2026&status=1&type=special',
          (one) => one.title.includes('2026') && one.published && one.type === 'special'
        ],
        ['publisher_container?key=extra-90', ({ key }) => key === 'extra-90'],
        ['publisher_container?key=EXTRA-90', () => false],
        ['daily?key=daily-2026-10-09', ({ key }) => key === 'daily-2026-10-09'],
        ['special?key=daily-2026-10-09', () => false],
        ['publisher_container?_format=json', () => true]
      ]
      for (const [path, selected] of cases) {
        for (const as of ['editor', undefined]) {
          const { status, body } = await list(`${path}&limit=500&total=1`, as)
          const wanted = visible(as).filter(selected)
          t.equal(status, 200, path)
          t.strictSame(
            ids(body.data),
            wanted.map(({ id }) => id),
            `${path} as ${as}`
          )
          t.strictSame(body.meta, { limit: 500, offset: 0, hasMore: false, total: wanted.length }, `${path} as ${as}`)
        }
      }
      const { body } = await list('publisher_container')
      t.equal(body.data.length, 20, 'twenty at a time unless told otherwise')
      t.strictSame(Object.keys(body), ['data', 'meta', 'links'])
      const [first] = (await list('publisher_container?limit=1', 'editor')).body.data
      t.strictSame(
        first,
        (await call('GET', `/api/collection/${value(first.id)}`, { as: 'editor' })).body,
        'a row is the edition as it is read alone'
      )
    })

    for (const as of ['editor', 'reader', undefined]) {
      t.test(`links followed to the end give ${as ?? 'nobody'} every edition once, and no page is short`, async (t) => {
        for (const [path, limit] of [
          ['publisher_container', 7],
          ['publisher_container', 50],
          ['daily', 23],
          ['special?status=1&total=1', 49],
          ['publisher_container?q=e', 500]
        ] as const) {
          const wanted = visible(as).filter(
            ({ type, published, title }) =>
              (!path.startsWith('daily') || type === 'daily') &&
              (!path.startsWith('special') || (type === 'special' && published)) &&
              (!path.includes('q=') || title.toLowerCase().includes('e'))
          )
          const found: unknown[] = []
          const pages: string[] = []
          let next: string | undefined = `/api/collections/${path}${path.includes('?') ? '&' : '?'}limit=${limit}`
          while (next) {
            const { body } = await call('GET', next, as === undefined ? {} : { as })
            const { offset, hasMore, total } = body.meta
            found.push(...ids(body.data))
            const isTotalKnown = !hasMore || path.includes('total=1') || total !== null
            t.strictSame(
              { offset, hasMore, hasNext: body.links.next !== undefined, rows: body.data.length, total, prev: body.links.prev },
              {
                offset: pages.length * limit,
                hasMore: offset + limit < wanted.length,
                hasNext: hasMore,
                rows: Math.min(limit, wanted.length - offset),
                total: isTotalKnown ? wanted.length : null,
                prev: pages.at(-1)
              },
              `${path}, page ${pages.length}`
            )
            pages.push(body.links.self)
            next = body.links.next
          }
          t.strictSame(
            found,
            wanted.map(({ id }) => id),
            `${path} in steps of ${limit}`
          )
        }
      })
    }

    t.test('past the end there is nothing, and a way back', async (t) => {
      const { body } = await list('publisher_container?offset=1000&limit=10', 'editor')
      t.strictSame(body.data, [])
      t.strictSame(body.meta, { limit: 10, offset: 1000, hasMore: false, total: all.length })
      t.equal(body.links.prev, '/api/collections/publisher_container?offset=990&limit=10')
      const {
        body: { data, meta }
      } = await list('publisher_container?offset=1000&status=1', 'editor')
      t.strictSame([data, meta.hasMore, meta.total], [[], false, visible().length])
      const {
        body: { links }
      } = await list('publisher_container?offset=5&limit=10', 'editor')
      t.equal(links.prev, '/api/collections/publisher_container?offset=0&limit=10')
    })

    t.test('takes no more requests than the rows need, once the fields are known', async (t) => {
      const collections = name === 'two bundles' ? 2 : 1
      for (const [offset, limit] of [
        [0, 1],
        [0, 20],
        [0, 49],
        [0, 50],
        [0, 100],
        [30, 20],
        [49, 1],
        [50, 50],
        [99, 11],
        [100, 7],
        [0, 110],
        [100, 500]
      ] as const) {
        const { upstream } = await list(`publisher_container?offset=${offset}&limit=${limit}`, 'editor')
        const bound = Math.ceil((offset + limit) / 50) + collections
        t.ok(upstream.length <= bound, `${offset}+${limit}: ${upstream.length} of ${bound}`)
      }
    })

    t.test('text of any kind is found as it is written', async (t) => {
      const titles = [
        '"Quoted"',
        "O'Brien's",
        '100 % sure_thing',
        'Q&A + more=less',
        'Größe Übermorgen',
        '日本の新聞 🗞️',
        'back\\slash',
        '<b>bold</b>',
        '[brackets]&filter[x]=y',
        'semi;colon, #hash'
      ]
      for (const [index, title] of titles.entries()) {
        const created = await call('POST', '/api/collection', {
          body: { field_publisher_edition_type: ['daily'], title: [title], field_key: [title] },
          as: 'editor'
        })
        t.equal(created.status, 201, created.body.message)
        const query = encodeURIComponent(title)
        t.strictSame(ids((await list(`publisher_container?q=${query}`, 'editor')).body.data), [111 + index], title)
        t.strictSame(
          ids((await list(`publisher_container?q=${encodeURIComponent([...title].slice(1, -1).join(''))}`, 'editor')).body.data),
          [111 + index]
        )
        const { body } = await list(`publisher_container?key=${query}&limit=1&total=1`, 'editor')
        t.strictSame([ids(body.data), body.meta.total], [[111 + index], 1])
        t.strictSame(ids((await call('GET', body.links.self, { as: 'editor' })).body.data), [111 + index], 'its own link leads back to it')
      }
      t.strictSame(ids((await list('publisher_container?q=%25', 'editor')).body.data), [113], 'no wildcard')
    })

    t.test('unknown bundles answer 404, unknown types 400, and say what there is', async (t) => {
      for (const bundle of ['weekly', 'Daily', 'constructor', '__proto__', 'publisher_container_type', 'daily%20', '%F0%9F%97%9E']) {
        failed(
          t,
          bundle,
          await list(bundle, 'editor'),
          404,
          'NOT_FOUND',
          /^There is no bundle or list ".*"; there are publisher_container,.* daily, special, article$/
        )
      }
      for (const type of ['weekly', 'Daily', 'constructor', 'publisher_container']) {
        failed(
          t,
          type,
          await list(`publisher_container?type=${type}`, 'editor'),
          400,
          'BAD_REQUEST',
          'querystring/type must be "daily" or "special"'
        )
      }
    })

    t.equal(cms.requestLines.filter((line) => / [45]\d\d$/.test(line)).length, 0, 'every request was one that the CMS takes')
  })

  t.test(`totals where the CMS counts, with ${name}`, async (t) => {
    const big = enlarged(content(), 50)
    const { call } = await open(t, { content: big, includeCount: true })
    const total = async (query: string, as: string) =>
      (await call('GET', `/api/collections/publisher_container?${query}`, { as })).body.meta.total
    t.equal(await total('limit=1', 'editor'), 110)
    t.equal(await total('limit=60', 'editor'), 110)
    t.equal(await total('limit=70&offset=20', 'editor'), 110, 'also where one of two collections has ended')
    t.equal(await total('limit=5&status=1', 'reader'), editionsOf(big).filter(({ published }) => published).length)
    t.equal(await total('limit=40', 'reader'), null, 'not where the caller sees less than is counted')
    t.equal(await total('limit=60&total=1', 'reader'), editionsOf(big).filter(({ published }) => published).length)
  })

  t.test(`a total counts nothing that is hidden, be it on no page that was read, with ${name}`, async (t) => {
    const given = content()
    const oldest = editionsOf(given).at(-1)!
    const shown = (change: (fields: Record<string, unknown>, id: number) => Record<string, unknown>) => ({
      ...given,
      entities: given.entities.map((seed) =>
        seed.type.startsWith('publisher_container--')
          ? { ...seed, fields: change({ ...seed.fields, status: true }, Number(seed.id)) }
          : seed
      )
    })
    const hiding = await open(t, { content: shown((fields, id) => ({ ...fields, status: id !== oldest.id })), includeCount: true })
    const totals = async ({ call }: typeof hiding, as: string, query: string) => {
      const { body, upstream } = await call('GET', `/api/collections/publisher_container?${query}`, { as })
      return [body.meta.total, upstream.length]
    }
    const count = editionsOf(given).length
    t.equal((await totals(hiding, 'reader', 'limit=1'))[0], null)
    t.equal((await totals(hiding, 'reader', 'limit=1&total=1'))[0], count - 1)
    t.equal((await totals(hiding, 'reader', 'limit=1&status=1'))[0], count - 1, 'what a filter leaves may be seen')
    t.equal((await totals(hiding, 'reader', 'limit=1&key=x&status=1'))[0], 0)
    const [first, again] = [await totals(hiding, 'editor', 'limit=1'), await totals(hiding, 'editor', 'limit=1')]
    t.strictSame([first[0], again[0]], [count, count])
    t.ok(again[1]! < first[1]!, 'that nothing is hidden is remembered')
    const translated = await open(t, {
      content: shown((fields, id) => ({ ...fields, ...(id === oldest.id && { default_langcode: false }) })),
      includeCount: true
    })
    t.equal((await totals(translated, 'editor', 'limit=1'))[0], null, 'nor is a count believed where there are translations')
    t.equal((await totals(translated, 'editor', 'limit=1&status=1'))[0], null)
  })
}

t.test('an edition type that is no bundle is found in the one bundle there is', async (t) => {
  const { call } = await open(t, { content: singleBundleNewspaper() })
  const { body } = await call('GET', '/api/collections/special?limit=500')
  t.ok(body.data.length > 10)
  t.ok(
    body.data.every(
      (row: any) => row.field_publisher_edition_type[0].value === 'special' && row.type[0].target_id === 'publisher_container'
    )
  )
})

t.test("that the count is the caller's is believed for a minute, as long as it is the same, and of each caller apart", async (t) => {
  let asked = 0
  let passing = 10
  const clock = { now: 0 }
  const cms = {
    request: async () => {
      asked++
      return { status: 200, document: { data: [], meta: { count: passing } } }
    }
  }
  const context = countContext({ cms, model, time: fakeTime({ monotonic: () => clock.now }) })
  const daily = {
    resourceType: 'publisher_container--daily',
    entityType: 'publisher_container',
    bundle: 'daily',
    path: '/publisher_container/daily'
  }
  const is = async (count: number, caller: Record<string, string> = {}) => {
    const before = asked
    return [await isOwnCount(context, daily, false, count, newCaller(caller)), asked - before]
  }
  t.strictSame(await is(11), [false, 2], 'one more than may be seen')
  t.strictSame(
    [await is(10), await is(10)],
    [
      [true, 2],
      [true, 0]
    ]
  )
  t.strictSame(await is(11), [false, 2], 'another count')
  t.strictSame(await is(10, { authorization: 'ben' }), [true, 2], 'another caller')
  const untranslated = countContext({
    cms,
    model: { ...model, keys: { ...model.keys, defaultLangcode: null } },
    time: fakeTime({ monotonic: () => clock.now })
  })
  const before = asked
  t.strictSame(
    [await isOwnCount(untranslated, daily, false, 10, newCaller()), asked - before],
    [true, 1],
    'without translations there is less to ask'
  )
  passing = 9
  clock.now = 59_999
  t.strictSame(await is(10), [true, 0])
  clock.now = 60_000
  t.strictSame(await is(10), [false, 2])
})

t.test('a bundle without the field of a filter has no rows for it', async (t) => {
  const { call, cms } = await openHostile(t)
  const lacksIn =
    (bundles: RegExp): typeof cms.behave =>
    ({ path, line }) => {
      const field = /\[path\]=(field_key|field_publisher_edition_type)/.exec(line.replaceAll('&', '\n'))?.[1]
      if (field === undefined || !bundles.test(path)) return undefined
      return {
        status: 400,
        headers: JSONAPI,
        body: {
          errors: [
            { status: '400', detail: `Invalid nested filtering. The field \`${field}\`, given in the path \`${field}\`, does not exist.` }
          ]
        }
      }
    }
  const keysOf = async (query: string) => {
    const { status, body } = await call('GET', `/api/collections/publisher_container?limit=500&${query}`, { as: 'editor' })
    return [status, body.data?.map(({ field_key: key }: any) => value(key)), body.meta?.total]
  }
  const all = editionsOf(newspaper())
  const [daily, special] = ['daily', 'special'].map((type) => all.filter((one) => one.type === type).map(({ key }) => key)) as [
    string[],
    string[]
  ]
  cms.behave = lacksIn(/special$/)
  t.strictSame(await keysOf(`key=${daily[0]}`), [200, [daily[0]], 1])
  t.strictSame(await keysOf(`key=${special[0]}`), [200, [], 0])
  t.strictSame((await keysOf('type=daily'))[2], daily.length)
  t.strictSame(await keysOf('type=special'), [200, [], 0])
  cms.behave = lacksIn(/./)
  failed(
    t,
    'no bundle has it',
    await call('GET', `/api/collections/publisher_container?key=${daily[0]}`, { as: 'editor' }),
    502,
    'CMS_REFUSED'
  )
})
