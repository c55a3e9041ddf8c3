import t from 'tap'
import { anna, openNewsroom } from './newsroom.ts'

const bytes = (body: unknown) => Buffer.byteLength(JSON.stringify(body))

t.test('an edition with large fields and many articles is read to its end in answers below 20 kB', async (t) => {
  const { call, rest } = await openNewsroom(t)
  const long = 'Zeile "ß" 😀\n'.repeat(4000)
  const articles = Array.from({ length: 300 }, (_, index) => ({ target_id: 1 + (index % 19) }))
  const body = { field_description: [{ value: long, format: 'basic_html' }], field_articles: articles }
  t.equal((await rest('POST', '/api/collection/60', { body })).status, 200)
  const overview = await call('read_edition', { id: '60' })
  t.ok(bytes(overview.body) < 20_000)
  t.strictSame(overview.body.orders, [{ field: 'field_articles', articles: 300 }])
  t.strictSame(overview.body.more, [
    { field: 'field_description', from: 0 },
    { field: 'field_articles', from: 0 }
  ])
  const order: any[] = []
  for (let from: number | undefined = 0; from !== undefined;) {
    const { body } = await call('read_edition', { id: '60', field: 'field_articles', from })
    t.ok(bytes(body) < 20_000)
    t.equal(body.of, 300)
    order.push(...body.value)
    const [first] = body.value
    if (Number(first.target_id) % 20 !== 0) t.ok(body.titles[first.target_uuid], 'with titles')
    from = body.more?.[0].from
  }
  t.strictSame(
    order.map(({ target_id: id }) => id),
    articles.map(({ target_id: id }) => id)
  )
  let text = ''
  for (let next: any = { field: 'field_description/0/value', from: 0 }; next;) {
    const { body } = await call('read_edition', { id: '60', ...next })
    t.ok(bytes(body) < 20_000)
    text += body.value
    next = body.more?.[0]
  }
  t.equal(text, long)
  const whole = await call('read_edition', { id: '60', field: 'field_description' })
  t.ok(whole.body.more.length > 0 && bytes(whole.body) < 20_000)
  t.strictSame(Object.keys((await call('read_edition', { id: '60', from: 5 })).body.fields)[0], 'revision_log')

  const journal = await call('read_journal', { id: '60' })
  t.ok(bytes(journal.body) < 20_000)
  const [entry] = journal.body.entries
  t.match(entry, { by: { uid: '7', name: 'Anna' }, kind: 'update', outcome: 'saved' })
  const { body: value } = await call('read_journal', { id: '60', ...entry.more[0] })
  t.equal(value.entry, entry.id)
  t.ok(value.value, 'the values of one field')
  const { body: alone } = await call('read_journal', { id: '60', limit: 1, from: 0 })
  t.equal(alone.entries.length, 1)
  t.match((await call('read_journal', { id: '60', field: 'nope' })).body.error, { code: 'BAD_REQUEST', problems: [{ argument: 'field' }] })
})

t.test('lists are short rows in pages, and wrong names are answered with those that there are', async (t) => {
  const { call, rest } = await openNewsroom(t)
  await rest('POST', '/api/cloud/data-state/node/119', { body: { fieldName: 'title', userData: { color: 'red' } } })
  const { body } = await call('find_articles', { placed: true, limit: 5 })
  t.match(body.rows[0], {
    id: '119',
    bundle: 'article',
    published: true,
    locks: [{ fieldName: 'title', holder: { uid: '7', name: 'Anna' } }]
  })
  t.notMatch(JSON.stringify(body), 'color')
  t.equal(body.rows[0].placed[0].id, '60')
  t.strictSame(body.more, { offset: 5 })
  const { body: published } = await call('find_articles', { published: true, limit: 5 })
  t.ok(published.rows.length > 0 && published.rows.every(({ published }: any) => published))
  const { body: all } = await call('find_editions', { limit: 50 })
  t.ok(bytes(all) < 20_000)
  const { body: rest2 } = await call('find_editions', { limit: 50, ...all.more })
  t.equal(all.rows.length + rest2.rows.length, 60)
  t.strictSame([rest2.more, rest2.total], [undefined, 60])
  const { body: unpublished } = await call('find_editions', { published: false, type: 'daily', q: '2026' })
  t.ok(unpublished.rows.length > 0 && unpublished.rows.every(({ published, type }: any) => !published && type === 'daily'))
  for (const args of [{ bundle: 'weekly' }, { type: 'weekly' }, { bundle: 'article' }]) {
    t.strictSame((await call('find_editions', args)).body.error.problems[0].allowed, ['daily', 'special'], JSON.stringify(args))
  }
  t.strictSame((await call('find_articles', { list: 'photo' })).body.error.problems[0].allowed, ['article'])
  const article = await call('read_article', { id: '119' })
  t.match(article.body, { id: '119', locks: [{ fieldName: 'title' }], fields: { title: [{}] } })
  t.equal((await call('read_article', { id: '9999' })).body.error.code, 'NOT_FOUND')
  t.equal((await call('check_readiness', { id: '60', from: 1 })).body.ready, false)
})

t.test('the log and the metric have each call once', async (t) => {
  const { app, call } = await openNewsroom(t)
  await call('read_edition', { id: '1' })
  await call('read_edition', { id: '999' })
  t.strictSame(app.readings.get('quoin_mcp_calls_total')!.read(), [
    { labels: { tool: 'read_edition', outcome: 'ok' }, value: 1 },
    { labels: { tool: 'read_edition', outcome: 'NOT_FOUND' }, value: 1 }
  ])
})

t.test('while the store is away editions are read without locks, and readiness is refused', async (t) => {
  const { call } = await openNewsroom(t, { env: { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' } })
  t.equal((await call('read_edition', { id: '1' })).body.locks, null)
  t.equal((await call('find_editions', { limit: 1 })).body.locks, null)
  t.equal((await call('check_readiness', { id: '1' })).body.error.code, 'STORE_UNAVAILABLE')
})

t.test('while the CMS is away each tool says so', async (t) => {
  const { cms, call } = await openNewsroom(t)
  await cms.close()
  for (const tool of ['read_edition', 'read_article', 'check_readiness', 'read_journal']) {
    t.match((await call(tool, { id: '1' })).body.error, { code: /^CMS_/, next: String }, tool)
  }
  t.match((await call('find_editions')).body.error.code, /^CMS_/)
})

t.test('with AUTH=drupal a caller reads what Drupal shows, and the journal only with the right to edit', async (t) => {
  const env = { AUTH: 'drupal', CMS_AUTH: 'passthrough' }
  const { call } = await openNewsroom(t, { auth: false, env })
  const as = (name: string) => ({ headers: { authorization: `Basic ${btoa(`${name}:${name}`)}`, 'quoin-agent': 'planner' } })
  t.notOk((await call('read_edition', { id: '1' }, as('editor'))).isError)
  t.notOk((await call('read_journal', { id: '1' }, as('editor'))).isError)
  t.equal((await call('read_edition', { id: '8' }, as('reader'))).body.error.code, 'NOT_FOUND', 'an unpublished edition')
  t.equal((await call('read_journal', { id: '1' }, as('reader'))).body.error.code, 'FORBIDDEN')
})

t.test('with AUTH=none and without a journal', async (t) => {
  const { call } = await openNewsroom(t, { auth: false, env: { JOURNAL_DAYS: '0' } })
  t.notOk((await call('read_edition', { id: '1' })).isError)
  t.equal((await call('read_journal', { id: '1' })).body.error.code, 'NOT_FOUND')
  t.equal((await call('edit_field', { id: '1', field: 'title', value: 'x', tag: '"a"' })).body.error.code, 'FORBIDDEN')
  t.equal(
    (await call('read_edition', { id: '1' }, { headers: { ...anna, 'quoin-agent': '%' } })).isError,
    false,
    'without a user nobody is named'
  )
})
