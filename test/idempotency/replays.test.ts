import { DeleteCommand, ScanCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { startHostileCms, type HostileCms } from '../editions/hostile-cms.ts'
import { basic } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { sample, variants } from '../scope.ts'

const headersOf = (key?: string, as = 'editor') => ({ ...basic(as), ...(key !== undefined && { 'idempotency-key': key }) })

interface Answer {
  status: number
  replayed: unknown
  retryAfter: unknown
  etag: unknown
  location: unknown
  body: any
}

type Send = (path: string, body: object | null, key?: string, headers?: Record<string, string>) => Promise<Answer>

interface Desk {
  cms: HostileCms
  /** Two instances that share a table. */
  instances: [Send, Send]
  app: FastifyInstance
  /** Ends the leases of all requests and tickets, as time does. */
  expire: () => Promise<void>
  records: () => Promise<Array<Record<string, any>>>
  /** How many writes came to the CMS. */
  writes: () => number
  /** The path of a new edition with these articles. */
  edition: (...articles: number[]) => Promise<string>
}

async function desk(t: Test, env: Record<string, string> = {}): Promise<Desk> {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  const cms = await startHostileCms(t)
  const apps = [
    await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint, ...env }),
    await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint, ...env })
  ] as const
  const senderOf =
    (app: FastifyInstance): Send =>
    async (path, body, key, headers = {}) => {
      const answer = await app.inject({
        method: 'POST',
        url: path,
        headers: { ...headersOf(key), 'content-type': 'application/json', ...headers },
        payload: JSON.stringify(body)
      })
      const { 'idempotency-replayed': replayed, 'retry-after': retryAfter, etag, location } = answer.headers
      return { status: answer.statusCode, replayed, retryAfter, etag, location, body: answer.json() }
    }
  const records = async () => ((await client.send(new ScanCommand({ TableName: 'DataState' }))).Items ?? []) as Array<Record<string, any>>
  const [first, second] = [senderOf(apps[0]), senderOf(apps[1])]
  let count = 0
  return {
    cms,
    instances: [first, second],
    app: apps[0],
    records,
    async expire() {
      for (const { env_entityType_entityId: key, fieldName, leaseUntil } of await records()) {
        const Key = { env_entityType_entityId: key, fieldName }
        // A ticket would be renewed.
        if (fieldName === 'save') await client.send(new DeleteCommand({ TableName: 'DataState', Key }))
        else if (leaseUntil > 0) {
          await client.send(
            new UpdateCommand({
              TableName: 'DataState',
              Key,
              UpdateExpression: 'SET leaseUntil = :none',
              ExpressionAttributeValues: { ':none': 0 }
            })
          )
        }
      }
    },
    writes: () => cms.asked.filter(({ method, body }) => method !== 'GET' && body !== '{}').length,
    async edition(...articles) {
      const { body } = await first('/api/collection', {
        type: [{ target_id: 'daily' }],
        title: [{ value: 'Monday' }],
        status: [{ value: false }],
        field_key: [{ value: `request-${++count}` }],
        field_articles: articles.map((id) => ({ target_id: id }))
      })
      return `/api/collection/${body.id[0].value}`
    }
  }
}

const title = (text: string) => ({ title: [{ value: text }] })
const insert = (id: number, at = 'end') => ({ operations: [{ op: 'insert', article: { target_id: id }, at }] })
const monday = (key: string) => ({ type: [{ target_id: 'daily' }], title: [{ value: 'Monday' }], field_key: [{ value: key }] })
const orderOf = ({ body }: Answer): number[] => (body.data ?? body).field_articles.map(({ target_id: id }: { target_id: number }) => id)

/** The verbs, each with a body that saves something. */
const VERBS: Array<[name: string, path: (edition: string) => string, body: object, other: object]> = [
  ['an update', (edition) => edition, title('Late'), title('Later')],
  ['an operation on the running order', (edition) => `${edition}/articles`, insert(9), insert(8)],
  ['a close', (edition) => `${edition}/close`, {}, { other: true }],
  ['a create', () => '/api/collection', monday('made'), monday('made otherwise')]
]

for (const [name, pathOf, body, other] of VERBS) {
  t.test(`${name} is done once under one key, and answered the same by any instance`, async (t) => {
    const {
      edition,
      instances: [first, second],
      writes,
      records
    } = await desk(t)
    const path = pathOf(await edition(4, 7))
    const before = writes()
    const answer = await first(path, body, '"one"')
    t.match(answer, { status: name === 'a create' ? 201 : 200, replayed: undefined })
    const repeated = await second(path, body, '"one"')
    const since = name === 'a close' ? { meta: { since: null } } : {}
    t.strictSame(repeated, { ...answer, replayed: 'true', body: { ...answer.body, ...since } })
    t.equal(writes() - before, 1)
    t.match(await first(path, other, '"one"'), { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    t.equal(writes() - before, 1)
    const record = (await records()).find(({ fieldName }) => fieldName === 'request')!
    t.match(record, { status: answer.status, etag: answer.etag, saved: (answer.body.data ?? answer.body).uuid[0].value, leaseUntil: 0 })
    t.ok(Math.abs(record['removeAt'] - Date.now() / 1000 - 86_400) < 600, 'for a day')
    t.ok(JSON.stringify(record).length < 600, 'and it is small')
  })
}

t.test('a key belongs to its user and its path', async (t) => {
  const {
    edition,
    instances: [first],
    writes
  } = await desk(t)
  const [one, two] = [await edition(4), await edition(4)]
  const before = writes()
  for (const [path, headers] of [
    [one, {}],
    [two, {}],
    [one, { 'x-user-uid': '7' }],
    [one, { 'x-user-uid': '8' }]
  ] as const) {
    t.match(await first(path, title(`For ${JSON.stringify(headers)}`), '"a key"', headers), { status: 200, replayed: undefined })
  }
  t.equal(writes() - before, 4)
})

t.test('a replay has the edition as it is now, and is refused where that is', async (t) => {
  const {
    edition,
    instances: [first, second],
    app
  } = await desk(t)
  const path = await edition(4, 7)
  await first(
    `${path}/articles`,
    {
      operations: [
        { op: 'insert', article: { target_id: 9 }, at: 'end' },
        { op: 'remove', article: { target_id: 99 } }
      ]
    },
    '"one"'
  )
  await first(path, { ...title('By another'), field_articles: [{ target_id: 4 }] })
  const replay = await second(
    `${path}/articles`,
    {
      operations: [
        { op: 'insert', article: { target_id: 9 }, at: 'end' },
        { op: 'remove', article: { target_id: 99 } }
      ]
    },
    '"one"'
  )
  t.match(replay, {
    status: 200,
    replayed: 'true',
    body: { data: title('By another'), meta: { operations: [{ outcome: 'done' }, { outcome: 'already' }] } }
  })
  t.strictSame(orderOf(replay), [4])
  t.equal(replay.etag, (await app.inject({ url: path, headers: basic('editor') })).headers.etag)
  t.match(
    await second(
      `${path}/articles`,
      {
        operations: [
          { op: 'insert', article: { target_id: 9 }, at: 'end' },
          { op: 'remove', article: { target_id: 99 } }
        ]
      },
      '"one"',
      { authorization: 'none' }
    ),
    { body: { code: /NOT_FOUND|CMS_FORBIDDEN|CMS_UNAUTHORIZED/ } }
  )
})

t.test('a refused request leaves its key free', async (t) => {
  const {
    edition,
    instances: [first, second],
    records
  } = await desk(t)
  const path = await edition(4, 7)
  t.match(await first(path, { field_page_count: [{ value: -1 }] }, '"one"'), { status: 422, body: { code: 'UNPROCESSABLE' } })
  t.match(await first(`${path}/articles`, { operations: [{ op: 'move', article: { target_id: 9 }, at: 'end' }] }, '"two"'), {
    status: 409,
    body: { code: 'ORDER_CONFLICT' }
  })
  t.match(await first(path, title('Late'), '"three"', { 'if-match': '"other"' }), { status: 412 })
  t.strictSame(
    (await records()).filter(({ fieldName }) => fieldName === 'request'),
    []
  )
  t.match(await second(path, title('Late'), '"one"'), { status: 200, replayed: undefined })
})

t.test('a key is a string of 1 to 255 characters, as the draft has it', async (t) => {
  const {
    edition,
    instances: [first],
    writes
  } = await desk(t)
  const path = await edition(4)
  const before = writes()
  for (const key of [
    '',
    '""',
    'a b',
    'a, b',
    'a,b',
    'a"',
    'a\\',
    'x'.repeat(256),
    '\u00e4',
    '"open',
    '"a", "b"',
    '"\\x"',
    '"a"b"',
    `"${'x'.repeat(256)}"`,
    '"\u00e4"',
    '"a";b=1'
  ]) {
    t.match(await first(path, title('Late'), Buffer.from(key).toString('latin1')), { status: 400, body: { code: 'BAD_REQUEST' } }, key)
  }
  t.equal(writes(), before)
  for (const key of ['"x"', '"\\"\\\\ ~!"', `"${'x'.repeat(255)}"`]) {
    t.match(await first(path, title(`Late ${key.length}`), key), { status: 200 }, key)
  }
})

t.test('a bare key, as most clients send it, is the same as the one in quotes', async (t) => {
  const {
    edition,
    instances: [first, second],
    writes
  } = await desk(t)
  const path = await edition(4)
  for (const [index, key] of ['5f7c6a2e-8d0b-4f0c-9a57-1f6a0c2d9b11', 'x'.repeat(255), "!#$%&'()*+-./:;<=>?@[]^_`{|}~"].entries()) {
    t.match(await first(path, title(`Late ${index}`), key), { status: 200, replayed: undefined }, key)
    const before = writes()
    t.match(await second(path, title(`Late ${index}`), `"${key}"`), { status: 200, replayed: 'true' }, key)
    t.match(await first(path, title(`Late ${index}`), key), { status: 200, replayed: 'true' }, key)
    t.equal(writes(), before)
    t.match(await first(path, title('Other'), `"${key}"`), { status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } }, key)
  }
})

t.test('a body that is nested too deep is refused under a key too', async (t) => {
  const { edition, app } = await desk(t)
  const payload = `{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const answer = await app.inject({
    method: 'POST',
    url: await edition(4),
    headers: { ...headersOf('"one"'), 'content-type': 'application/json' },
    payload
  })
  t.match([answer.statusCode, answer.json().code], [400, 'BAD_REQUEST'])
})

t.test('while the store is away nothing is sent', async (t) => {
  const cms = await startHostileCms(t)
  const app = await build(t, { CMS_URL: cms.url })
  const send = (headers: object) =>
    app.inject({ method: 'POST', url: '/api/collection/1', headers: { ...basic('editor'), ...headers }, payload: title('Late') })
  const answer = await send({ 'idempotency-key': '"one"' })
  t.match([answer.statusCode, answer.json().code, answer.headers['retry-after']], [503, 'STORE_UNAVAILABLE', /\d/])
  t.strictSame(cms.asked, [])
  t.equal((await send({})).statusCode, 200, 'without a key it is saved as ever')
})

t.test('of many requests with one key at two instances one runs', async (t) => {
  for (const [name, pathOf, body] of variants(VERBS)) {
    const { edition, instances, writes } = await desk(t)
    const path = pathOf(await edition(4, 7))
    const before = writes()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => instances[index % 2]!(path, body, '"one"')))
    t.equal(writes() - before, 1, name)
    t.equal(answers.filter(({ status, replayed }) => status < 300 && replayed === undefined).length, 1)
    for (const { status, retryAfter, body } of answers.filter(({ status }) => status >= 300)) {
      t.match({ status, retryAfter, code: body.code }, { status: 409, retryAfter: /^\d+$/, code: 'IDEMPOTENCY_KEY_BUSY' })
    }
  }
})

/** Where an instance is halted while it does a request. */
const HALTS = ['before it has read', 'before the CMS has saved', 'after the CMS has saved'] as const

/** Halts the next request to the CMS of some kind. @returns resolves when it has come; and lets it go on, or breaks it off */
function halt(cms: HostileCms, where: (typeof HALTS)[number]) {
  const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<'reset' | undefined>()]
  cms.behave = async ({ method }, honest) => {
    if ((method === 'GET') !== (where === 'before it has read')) return undefined
    cms.behave = () => undefined
    const answer = where === 'after the CMS has saved' ? await honest() : undefined
    reached.resolve()
    return (await resumed.promise) ?? answer
  }
  return { reached: reached.promise, resume: resumed.resolve }
}

/** How many writes the CMS has carried out since. */
function countSaves(cms: HostileCms): () => number {
  const before = cms.site.requestLines.length
  return () => cms.site.requestLines.slice(before).filter((line) => /^(?:POST|PATCH) .* 20[01]$/.test(line)).length
}

// A create reads nothing once the site is known.
const halts = VERBS.flatMap(([name, pathOf, body]) =>
  HALTS.slice(name === 'a create' ? 1 : 0).map((where) => ({ name, pathOf, body, where }))
)

// Of the sample each row is of another verb and halts at another place.
for (const { name, pathOf, body, where } of sample(halts, 4)) {
  t.test(`${name} whose instance is halted ${where} is saved once`, async (t) => {
    const {
      cms,
      edition,
      instances: [first, second],
      expire
    } = await desk(t, { CMS_TIMEOUT_MS: '60000' })
    const path = pathOf(await edition(4, 7))
    const saves = countSaves(cms)
    const { reached, resume } = halt(cms, where)
    const halted = first(path, body, '"one"')
    await reached
    // What has sent nothing has a short lease.
    if (where !== 'before it has read') {
      t.match(
        await second(path, body, '"one"'),
        { status: 409, retryAfter: /^\d+$/, body: { code: 'IDEMPOTENCY_KEY_BUSY' } },
        'while the first may still be at it'
      )
    }
    await expire()
    const repeated = await second(path, body, '"one"')
    t.match(repeated, { status: name === 'a create' ? 201 : 200, replayed: where === 'after the CMS has saved' ? 'true' : undefined })
    // One that was halted and goes on saves nothing any more.
    resume(where === 'before it has read' ? undefined : 'reset')
    await halted
    t.equal(saves(), 1)
    t.match(await second(path, body, '"one"'), { status: repeated.status, replayed: 'true', etag: repeated.etag })
  })
}

/** Does a request whose instance is halted, then something else, and then the request again. */
async function interrupt(
  t: Test,
  {
    where,
    path: pathOf = (edition) => edition,
    body,
    headers = {},
    meanwhile
  }: {
    where: (typeof HALTS)[number]
    path?: (edition: string) => string
    body: object
    headers?: Record<string, string>
    meanwhile: (send: Send, edition: string) => Promise<unknown>
  }
): Promise<{ answer: Answer; saves: number; present: number[] }> {
  const {
    cms,
    edition: make,
    instances: [first, second],
    expire,
    app
  } = await desk(t, { CMS_TIMEOUT_MS: '60000' })
  const edition = await make(4, 7)
  const { etag } = (await app.inject({ url: edition, headers: basic('editor') })).headers
  const sent = Object.fromEntries(Object.entries(headers).map(([field, value]) => [field, value.replace('<etag>', String(etag))]))
  const { reached, resume } = halt(cms, where)
  const halted = first(pathOf(edition), body, '"one"', sent)
  await reached
  await expire()
  await meanwhile(second, edition)
  const saves = countSaves(cms)
  const answer = await second(pathOf(edition), body, '"one"', sent)
  const again = await second(pathOf(edition), body, '"one"', sent)
  t.strictSame([again.status, again.body.code], [answer.status, answer.body.code], 'and once more')
  const count = saves()
  resume('reset')
  await halted
  const present = (await app.inject({ url: edition, headers: basic('editor') })).json()
  return { answer, saves: count, present: orderOf({ body: present } as Answer) }
}

const articles = (edition: string) => `${edition}/articles`

t.test('where it cannot be told whether an interrupted request was saved, nothing is written', async (t) => {
  for (const where of HALTS.slice(1)) {
    const { answer, saves, present } = await interrupt(t, {
      where,
      path: articles,
      body: insert(9),
      meanwhile: (send, edition) => send(edition, { field_articles: [{ target_id: 7 }] })
    })
    t.match(answer, { status: 409, body: { code: 'OUTCOME_UNKNOWN' } })
    t.strictSame([saves, present], [0, [7]], where)
  }
})

t.test('an interrupted request that somebody has undone since is not done again', async (t) => {
  const { answer, saves, present } = await interrupt(t, {
    where: 'after the CMS has saved',
    path: articles,
    body: insert(9),
    meanwhile: (send, edition) => send(articles(edition), { operations: [{ op: 'remove', article: { target_id: 9 } }] })
  })
  t.match([answer.status, saves, present], [409, 0, [4, 7]])
})

t.test(
  'an interrupted change of the running order counts as saved where the order is just as it would be, whatever else has changed',
  async (t) => {
    const { answer, saves, present } = await interrupt(t, {
      where: 'after the CMS has saved',
      path: articles,
      body: insert(9),
      meanwhile: (send, edition) => send(edition, title('By a colleague'))
    })
    t.match(answer, { status: 200, replayed: 'true', body: { data: title('By a colleague'), meta: { operations: [{ outcome: 'done' }] } } })
    t.strictSame([saves, present], [0, [4, 7, 9]])
  }
)

const afterSeven = { operations: [{ op: 'insert', article: { target_id: 9 }, after: { target_id: 7 } }] }

for (const [what, body, theirs, orders] of variants([
  ['has taken the neighbour away', afterSeven, { operations: [{ op: 'remove', article: { target_id: 7 } }] }, [[4], [4, 9]]],
  [
    'has inserted the same article',
    insert(9),
    insert(9, 'start'),
    [
      [9, 4, 7],
      [4, 7, 9]
    ]
  ],
  [
    'has inserted another article',
    insert(9),
    insert(8, 'start'),
    [
      [8, 4, 7],
      [8, 4, 7, 9]
    ]
  ]
] as const)) {
  t.test(`an interrupted insert of which nobody can tell whether it was saved, since a colleague ${what}`, async (t) => {
    for (const [index, where] of HALTS.slice(1).entries()) {
      const { answer, saves, present } = await interrupt(t, {
        where,
        path: articles,
        body,
        meanwhile: (send, edition) => send(articles(edition), theirs)
      })
      t.strictSame([saves, present], [0, orders[index]], where)
      // Where both have inserted it, the colleague's own insert has changed nothing.
      const isAsLeft = index === 1 && String(present) === '4,7,9'
      t.match(answer, isAsLeft ? { status: 200, replayed: 'true' } : { status: 409, body: { code: 'OUTCOME_UNKNOWN' } }, where)
    }
  })
}

t.test(
  'an interrupted request with a condition does not say that nothing was saved, once somebody else has changed the edition',
  async (t) => {
    const { answer, saves } = await interrupt(t, {
      where: 'after the CMS has saved',
      body: title('Late'),
      headers: { 'if-match': '<etag>' },
      meanwhile: (send, edition) => send(edition, title('By a colleague'))
    })
    t.match(answer, { status: 409, body: { code: 'OUTCOME_UNKNOWN' } })
    t.equal(saves, 0)
  }
)

t.test('an interrupted removal of one of two does not remove the other', async (t) => {
  const { answer, saves, present } = await interrupt(t, {
    where: 'after the CMS has saved',
    path: articles,
    body: {
      operations: [
        { op: 'insert', article: { target_id: 8 }, at: 'start' },
        { op: 'move', article: { target_id: 4 }, at: 'end' },
        { op: 'move', article: { target_id: 8 }, at: 'end' }
      ]
    },
    meanwhile: async () => {}
  })
  t.match(answer, {
    status: 200,
    replayed: 'true',
    body: { meta: { operations: [{ outcome: 'done' }, { outcome: 'done' }, { outcome: 'done' }] } }
  })
  t.strictSame([saves, present], [0, [7, 4, 8]])
})

t.test('a condition that an interrupted request has made untrue itself does not refuse it', async (t) => {
  const { answer, saves } = await interrupt(t, {
    where: 'after the CMS has saved',
    body: title('Late'),
    headers: { 'if-match': '<etag>' },
    meanwhile: async () => {}
  })
  t.match(answer, { status: 200, replayed: 'true', body: title('Late') })
  t.equal(saves, 0)
})

t.test('a create whose uuid is its own is found again by it, and one whose edition has changed is a conflict', async (t) => {
  const uuid = 'a1c0ffee-0000-4000-8000-000000000901'
  const body = { ...monday('own'), uuid: [{ value: uuid }] }
  const path = () => '/api/collection'
  const change = (send: Send) => send(`/api/collection/${uuid}`, title('Changed'))
  const missing = await interrupt(t, { where: 'before the CMS has saved', path, body, meanwhile: async () => {} })
  t.match(missing, { answer: { status: 201, replayed: undefined }, saves: 1 })
  const present = await interrupt(t, { where: 'after the CMS has saved', path, body, meanwhile: async () => {} })
  t.match(present, { answer: { status: 201, replayed: 'true' }, saves: 0 })
  const changed = await interrupt(t, { where: 'after the CMS has saved', path, body, meanwhile: change })
  t.match(changed, { answer: { status: 409, body: { code: 'CONFLICT' } }, saves: 0 })
})

t.test('an update that Drupal has saved without a word is looked for by the next attempt', async (t) => {
  const {
    cms,
    edition,
    instances: [first, second],
    expire
  } = await desk(t)
  const path = await edition(4)
  const saves = countSaves(cms)
  let isAway = false
  cms.behave = async ({ method }, honest) => {
    if (method !== 'GET') {
      await honest()
      isAway = true
    }
    return isAway ? 'reset' : undefined
  }
  t.match(await first(path, title('Late'), '"one"'), { status: 502, body: { uuid: String } })
  cms.behave = () => undefined
  await expire()
  t.match(await second(path, title('Late'), '"one"'), { status: 200, replayed: 'true', body: title('Late') })
  t.equal(saves(), 1)
})

t.test('what an interrupted request was about to do is kept while the CMS cannot be read', async (t) => {
  const {
    cms,
    edition,
    instances: [first, second],
    expire
  } = await desk(t, { CMS_TIMEOUT_MS: '60000' })
  const path = await edition(4)
  const { reached, resume } = halt(cms, 'after the CMS has saved')
  const halted = first(path, title('Late'), '"one"')
  await reached
  await expire()
  cms.behave = () => 'reset'
  t.match(await second(path, title('Late'), '"one"'), { status: 502 })
  cms.behave = () => undefined
  t.match(await second(path, title('Late'), '"one"'), { status: 200, replayed: 'true' })
  resume('reset')
  await halted
})
