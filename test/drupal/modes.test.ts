import t from 'tap'
import { core, quoin, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

const site = await startSite()
t.teardown(() => site.stop())

t.test('where no module grants filter access, reading and lists are right all the same, and the operator is told', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const ask = async (user: string, query: string) =>
    (await quoin(service, user, 'GET', `/api/collections/publisher_container?${query}`)).body.data.map(
      (edition: any) => edition.id[0].value
    )
  const queries = [
    'q=edition%201&limit=500',
    'status=1&limit=500',
    'status=0',
    'type=special&limit=100',
    'key=daily-daily-0001',
    'key=DAILY-daily-0001',
    'q=%C3%9Cn%C3%AF',
    'q=%25&status=1',
    'q=nothing+has+this',
    'q=edition&type=daily&status=1&offset=20&limit=30'
  ]
  const before = new Map<string, number[]>()
  for (const user of ['admin', 'editor', 'reader', 'anonymous']) {
    for (const query of queries) before.set(`${user} ${query}`, await ask(user, query))
  }

  await site.php('publishing_set_filter_hook(FALSE);')
  const warnings: string[] = []
  const trapped = await startQuoin(site, {})
  t.teardown(() => trapped.close())
  trapped.log.warn = ((message: string) => {
    warnings.push(message)
  }) as typeof trapped.log.warn
  for (const [name, ids] of before) {
    const [user, query] = name.split(' ') as [string, string]
    const { body } = await quoin(trapped, user, 'GET', `/api/collections/publisher_container?${query}`)
    t.strictSame(
      body.data.map((edition: any) => edition.id[0].value),
      ids,
      name
    )
  }
  for (const user of ['admin', 'editor', 'reader', 'anonymous']) {
    for (const id of [1, 7, 70, 71, 90, 91, 150, site.content.editions]) {
      const [ours, theirs] = [
        await quoin(trapped, user, 'GET', `/api/collection/${id}`),
        await core(site, user, 'GET', `/publisher_container/${id}`)
      ]
      t.strictSame(ours.body.title, theirs.body.title, `${user} reads ${id}`)
    }
    t.equal((await quoin(trapped, user, 'GET', '/api/collection/424242')).status, 404)
  }
  t.match((await trapped.inject('/health/ready')).json().dependencies.cms, {
    status: 'ok',
    message: /hook_jsonapi_publisher_container_filter_access/
  })
  await site.reset()
})

t.test('a session account sees and writes like its user, and spares Drupal the password', async (t) => {
  const service = { CMS_USER: 'service', CMS_PASSWORD: 'service' }
  const session = await startQuoin(site, { CMS_AUTH: 'session', ...service })
  const basic = await startQuoin(site, { CMS_AUTH: 'basic', ...service })
  t.teardown(() => Promise.all([session.close(), basic.close()]))
  const burst = await Promise.all(
    Array.from({ length: 20 }, (_, index) => quoin(session, 'anonymous', 'GET', `/api/collection/${index + 1}`))
  )
  t.ok(
    burst.every(({ status }) => status === 200),
    'unpublished ones too'
  )
  t.equal((await quoin(session, 'anonymous', 'POST', '/api/collection/1', { title: [{ value: 'By a session' }] })).status, 200)
  t.equal((await core(site, 'editor', 'GET', '/publisher_container/1')).body.title[0].value, 'By a session')
  t.strictSame((await quoin(session, 'anonymous', 'GET', '/api/publisher-edition/bundles')).body.data, [
    { id: 'daily', label: 'Daily Editions' },
    { id: 'special', label: 'Special Editions' }
  ])
  t.strictSame((await quoin(session, 'anonymous', 'GET', '/api/collection/bundles')).body.data.map(({ label }: any) => label).sort(), [
    'Daily',
    'Publisher container',
    'Special'
  ])

  await site.php("\\Drupal::database()->truncate('sessions')->execute();")
  await new Promise((resolve) => setTimeout(resolve, 1100))
  t.equal(
    (await quoin(session, 'anonymous', 'POST', '/api/collection/2', { title: [{ value: 'By the next session' }] })).status,
    200,
    'an ended session is opened again'
  )

  const times = { session: [] as number[], basic: [] as number[] }
  for (let round = 0; round < 31; round++) {
    for (const [name, one] of [
      ['session', session],
      ['basic', basic]
    ] as const) {
      const start = performance.now()
      t.equal((await quoin(one, 'anonymous', 'GET', '/api/collection/1')).status, 200)
      times[name].push(performance.now() - start)
    }
  }
  const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!
  t.ok(median(times.session) < median(times.basic))
  t.comment(`a read through Quoin, p50 of 31: session ${median(times.session).toFixed(1)} ms, basic ${median(times.basic).toFixed(1)} ms`)
  await site.reset()
})

t.test('a wrong password of a service account is said aloud, tried once', async (t) => {
  for (const kind of ['basic', 'session']) {
    const service = await startQuoin(site, { CMS_AUTH: kind, CMS_USER: 'editor', CMS_PASSWORD: 'wrong' })
    t.teardown(() => service.close())
    for (let time = 0; time < 8; time++) {
      t.match(await quoin(service, 'anonymous', 'GET', '/api/collection/1'), { status: 502, body: { code: 'CMS_LOGIN_REFUSED' } })
    }
    t.equal((await service.inject('/health/ready')).statusCode, 503)
  }
  t.equal((await core(site, 'editor', 'GET', '/publisher_container/10')).status, 200, 'flood control has locked nobody out')
})

t.test("a caller's cookie and token work through the service", async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const login = await fetch(`${site.url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'editor', pass: 'editor' })
  })
  const cookie = login.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0])
    .join('; ')
  const { csrf_token: token } = (await login.json()) as { csrf_token: string }
  t.equal((await quoin(service, 'anonymous', 'GET', '/api/collection/10', undefined, { cookie })).status, 200)
  const change = { title: [{ value: 'By a cookie' }] }
  t.match(await quoin(service, 'anonymous', 'POST', '/api/collection/1', change, { cookie }), {
    status: 403,
    body: { message: 'X-CSRF-Token request header is missing' }
  })
  t.equal((await quoin(service, 'anonymous', 'POST', '/api/collection/1', change, { cookie, 'x-csrf-token': token })).status, 200)
  t.equal(
    (await quoin(service, 'editor', 'POST', '/api/collection/1', { title: [{ value: 'By both' }] }, { cookie })).status,
    200,
    'of both, Authorization is used alone'
  )
  await site.reset()
})

t.test('a language prefix gives the translation', async (t) => {
  const service = await startQuoin(site, { CMS_JSONAPI_PATH: '/fr/jsonapi' })
  t.teardown(() => service.close())
  const id = site.content.cases.translated
  const [ours, theirs] = [
    await quoin(service, 'editor', 'GET', `/api/collection/${id}`),
    await core(site, 'editor', 'GET', `/fr/publisher_container/${id}`)
  ]
  t.equal(ours.body.langcode[0].value, 'fr')
  t.strictSame(ours.body, theirs.body)
  t.equal((await quoin(service, 'editor', 'POST', `/api/collection/${id}`, { title: [{ value: 'Le soir' }] })).status, 200)
  t.equal((await core(site, 'editor', 'GET', `/fr/publisher_container/${id}`)).body.title[0].value, 'Le soir')
  t.not((await core(site, 'editor', 'GET', `/publisher_container/${id}`)).body.title[0].value, 'Le soir')
  await site.reset()
})

t.test('JSON:API that is read-only, and maintenance, are told apart', async (t) => {
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const change = () => quoin(service, 'editor', 'POST', '/api/collection/1', { title: [{ value: 'Never' }] })
  const create = () =>
    quoin(service, 'editor', 'POST', '/api/collection', { type: 'daily', title: [{ value: 'Never' }], field_key: [{ value: 'never' }] })
  await site.php("\\Drupal::configFactory()->getEditable('jsonapi.settings')->set('read_only', TRUE)->save();")
  for (const write of [change, create]) {
    t.match(await write(), { status: 502, body: { code: 'CMS_READ_ONLY', message: /jsonapi.settings, read_only: false/ } })
  }
  t.equal((await quoin(service, 'editor', 'GET', '/api/collection/1')).status, 200)
  await site.reset()

  await site.php("\\Drupal::state()->set('system.maintenance_mode', TRUE);")
  for (const answer of [
    await change(),
    await create(),
    await quoin(service, 'editor', 'GET', '/api/collection/2'),
    await quoin(service, 'editor', 'GET', '/api/collections/daily')
  ]) {
    t.match(answer, { status: 503, body: { code: 'CMS_UNAVAILABLE' }, headers: { 'retry-after': /\d+/ } })
  }
  await site.reset()
  t.equal((await core(site, 'editor', 'GET', '/publisher_container/1')).body.title[0].value.includes('Never'), false)
})
