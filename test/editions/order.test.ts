import { join } from 'node:path'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { checkOperations, rearrange } from '#lib/editions/order/operations.ts'
import type { OrderOperation } from '#lib/editions/schemas.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { openHostile } from './hostile-cms.ts'
import { basic, editionsOf, failed, open, writes } from './site.ts'

const item = (id: number) => ({
  target_id: id,
  target_type: 'node',
  target_uuid: `0000000${id}-0000-4000-8000-00000000000a`,
  url: `/node/${id}`
})
const order = (...ids: number[]) => ids.map(item)
const ref = (id: number) => ({ target_id: id })
const at = (place: 'start' | 'end') => ({ at: place })

const cases: Array<[what: string, before: number[], operation: OrderOperation, after: number[] | 'already' | 'conflict']> = [
  ['insert at the end', [4, 7], { op: 'insert', article: ref(9), ...at('end') }, [4, 7, 9]],
  ['insert at the start', [4, 7], { op: 'insert', article: ref(9), ...at('start') }, [9, 4, 7]],
  ['insert before', [4, 7], { op: 'insert', article: ref(9), before: ref(7) }, [4, 9, 7]],
  ['insert after', [4, 7], { op: 'insert', article: ref(9), after: ref(4) }, [4, 9, 7]],
  ['insert into an empty order', [], { op: 'insert', article: ref(9), ...at('end') }, [9]],
  ['insert what is there', [4, 7], { op: 'insert', article: ref(4), after: ref(99) }, 'already'],
  [
    'insert what is there, by its uuid',
    [4, 7],
    { op: 'insert', article: { target_uuid: item(4).target_uuid.toUpperCase() }, ...at('end') },
    'already'
  ],
  [
    'insert another type with the same id',
    [4, 7],
    { op: 'insert', article: { target_id: '4', target_type: 'media' }, ...at('end') },
    [4, 7, 4]
  ],
  ['insert beside who is not there', [4, 7], { op: 'insert', article: ref(9), before: ref(5) }, 'conflict'],
  ['insert beside itself', [4, 7], { op: 'insert', article: ref(9), before: ref(9) }, 'conflict'],
  ['move to the end', [4, 7, 9], { op: 'move', article: ref(4), ...at('end') }, [7, 9, 4]],
  ['move after', [4, 7, 9], { op: 'move', article: ref(4), after: ref(7) }, [7, 4, 9]],
  ['move before', [4, 7, 9], { op: 'move', article: ref(9), before: ref(4) }, [9, 4, 7]],
  ['move to where it is', [4, 7, 9], { op: 'move', article: ref(7), after: ref(4) }, 'already'],
  ['move what is not there', [4, 7], { op: 'move', article: ref(9), ...at('end') }, 'conflict'],
  ['move beside who is not there', [4, 7], { op: 'move', article: ref(4), after: ref(9) }, 'conflict'],
  ['move beside itself', [4, 7], { op: 'move', article: ref(4), after: ref(4) }, 'conflict'],
  ['move the second one', [4, 7, 4], { op: 'move', article: ref(4), occurrence: 2, ...at('start') }, [4, 4, 7]],
  ['move a third one of two', [4, 7, 4], { op: 'move', article: ref(4), occurrence: 3, ...at('start') }, 'conflict'],
  ['remove', [4, 7, 9], { op: 'remove', article: ref(7) }, [4, 9]],
  ['remove by a uuid', [4, 7, 9], { op: 'remove', article: { target_uuid: item(7).target_uuid } }, [4, 9]],
  ['remove the second one', [4, 7, 4], { op: 'remove', article: ref(4), occurrence: 2 }, [4, 7]],
  ['remove what is not there', [4, 7], { op: 'remove', article: ref(9) }, 'already']
]

for (const [what, before, operation, after] of cases) {
  t.test(`${what}, in ${JSON.stringify(before)}`, async (t) => {
    checkOperations([operation])
    if (after === 'conflict') {
      t.throws(() => rearrange(order(...before), [operation]), {
        code: 'ORDER_CONFLICT',
        statusCode: 409,
        details: { order: order(...before) }
      })
    } else {
      const { order: items, outcomes } = rearrange(order(...before), [operation])
      t.strictSame(
        items.map(({ target_id: id }) => Number(id)),
        after === 'already' ? before : after
      )
      t.strictSame(outcomes, [after === 'already' ? 'already' : 'done'])
    }
  })
}

t.test('operations are applied in their order, all or none, and leave the list that they got as it was', async (t) => {
  const before = order(4, 7)
  const add = (id: number, after: number): OrderOperation => ({ op: 'insert', article: ref(id), after: ref(after) })
  t.strictSame(
    rearrange(before, [add(9, 7), add(5, 9), { op: 'remove', article: ref(9) }]).order.map(({ target_id: id }) => id),
    [4, 7, 5]
  )
  t.throws(() => rearrange(before, [add(9, 7), add(5, 8)]), {
    message: 'operations/1 names 8, which is not in the running order. Nothing was changed.',
    details: { order: before }
  })
  t.strictSame(before, order(4, 7))
})

t.test('an article that was named without its type is the same as one with it', (t) => {
  const insert = (article: OrderOperation['article']): OrderOperation => ({ op: 'insert', article, at: 'end' })
  const { order: items, outcomes } = rearrange(order(4), [insert(ref(9)), insert({ target_id: 9, target_type: 'node' })])
  t.strictSame([items.length, outcomes], [2, ['done', 'already']])
  t.end()
})

t.test('whatever is inserted, moved and removed, nothing is lost and nothing doubled', async () => {
  const id = fc.integer({ min: 1, max: 6 })
  const place = fc.oneof(
    fc.constantFrom('start' as const, 'end' as const).map(at),
    id.map((neighbour) => ({ before: ref(neighbour) })),
    id.map((neighbour) => ({ after: ref(neighbour) }))
  )
  const operation = fc.oneof(
    fc
      .tuple(fc.constantFrom('insert' as const, 'move' as const), id, place)
      .map(([op, article, where]): OrderOperation => ({ op, article: ref(article), ...where })),
    id.map((article): OrderOperation => ({ op: 'remove', article: ref(article) }))
  )
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 5 }), fc.array(operation, { maxLength: 8 }), (ids, operations) => {
      const wanted = new Set(ids)
      try {
        const { order: items } = rearrange(order(...ids), operations)
        for (const { op, article } of operations) wanted[op === 'remove' ? 'delete' : 'add'](Number(article.target_id))
        return JSON.stringify(items.map(({ target_id: number }) => Number(number)).sort()) === JSON.stringify([...wanted].sort())
      } catch (error) {
        return (error as { code?: string }).code === 'ORDER_CONFLICT'
      }
    }),
    { numRuns: runs(2000) }
  )
})

const edition = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${edition.id}`
const idsOf = (body: any) => body.field_articles.map(({ target_id: id }: { target_id: number }) => id)
const arranged = (operations: object[], more: object = {}) => ({ body: { operations, ...more }, as: 'editor' })
const isPatch = (line: string) => writes([line]).length > 0

t.test('POST /api/collection/{id}/articles changes the order and answers with the edition', async (t) => {
  const { call } = await open(t)
  const before = await call('GET', path, { as: 'editor' })
  const [first, ...others] = idsOf(before.body)
  const reply = await call(
    'POST',
    `${path}/articles`,
    arranged([
      { op: 'move', article: { target_id: first }, at: 'end' },
      { op: 'insert', article: { target_id: 11 }, at: 'start' },
      { op: 'remove', article: { target_id: 12 } }
    ])
  )
  t.strictSame([reply.status, reply.body.meta], [200, { operations: [{ outcome: 'done' }, { outcome: 'done' }, { outcome: 'already' }] }])
  t.strictSame(idsOf(reply.body.data), [11, ...others, first])
  const after = await call('GET', path, { as: 'editor' })
  t.strictSame(after.body, reply.body.data)
  t.equal(after.headers['etag'], reply.headers['etag'])

  const again = await call('POST', `${path}/articles`, arranged([{ op: 'insert', article: { target_id: 11 }, at: 'end' }]))
  t.strictSame([again.status, again.body.meta.operations, again.headers['etag']], [200, [{ outcome: 'already' }], after.headers['etag']])
  t.strictSame(writes(again.upstream), [], 'nothing is saved')
})

t.test('an article is the same by its id and by its uuid, also when only the CMS knows it', async (t) => {
  const { call } = await open(t)
  const before = idsOf((await call('GET', path, { as: 'editor' })).body)
  const uuidOf = (id: number) => newspaper().entities.find((entity) => entity.type.startsWith('node--') && entity.id === id)!.uuid!
  const [id, another, known] = [11, 12, before[1]]
  const [uuid, anotherUuid, knownUuid] = [uuidOf(id), uuidOf(another), uuidOf(known)]
  const byId = { target_id: id }
  const byUuid = { target_uuid: uuid }
  const inCapitals = { target_uuid: uuid.toUpperCase() }
  const start = { at: 'start' }
  const cases: Array<[what: string, operations: object[], order: number[], outcomes: string[]]> = [
    [
      'a neighbour by uuid',
      [
        { op: 'insert', article: byId, ...start },
        { op: 'move', article: ref(known), before: inCapitals }
      ],
      [known, id, ...before.filter((one: number) => one !== known)],
      ['done', 'done']
    ],
    [
      'a neighbour by id',
      [
        { op: 'insert', article: byUuid, ...start },
        { op: 'insert', article: { target_uuid: anotherUuid }, after: byId }
      ],
      [id, another, ...before],
      ['done', 'done']
    ],
    [
      'a neighbour by id as text, with its type',
      [
        { op: 'insert', article: byUuid, ...start },
        { op: 'insert', article: { target_uuid: anotherUuid }, after: { target_id: String(id), target_type: 'node' } }
      ],
      [id, another, ...before],
      ['done', 'done']
    ],
    [
      'a move by uuid',
      [
        { op: 'insert', article: byId, ...start },
        { op: 'move', article: inCapitals, at: 'end' }
      ],
      [...before, id],
      ['done', 'done']
    ],
    [
      'a remove by uuid',
      [
        { op: 'insert', article: byId, ...start },
        { op: 'remove', article: inCapitals }
      ],
      before,
      ['done', 'done']
    ],
    [
      'a remove by id',
      [
        { op: 'insert', article: byUuid, ...start },
        { op: 'remove', article: byId }
      ],
      before,
      ['done', 'done']
    ],
    [
      'a remove of another',
      [
        { op: 'insert', article: byUuid, ...start },
        { op: 'remove', article: ref(another) }
      ],
      [id, ...before],
      ['done', 'already']
    ],
    [
      'a remove of none',
      [
        { op: 'insert', article: byUuid, ...start },
        { op: 'remove', article: ref(99_999) }
      ],
      [id, ...before],
      ['done', 'already']
    ],
    [
      'one that was there, by uuid',
      [
        { op: 'remove', article: ref(known) },
        { op: 'insert', article: ref(known), ...start },
        { op: 'insert', article: byId, after: { target_uuid: knownUuid } }
      ],
      [known, id, ...before.filter((one: number) => one !== known)],
      ['done', 'done', 'done']
    ],
    [
      'one that was there, by id',
      [
        { op: 'remove', article: ref(known) },
        { op: 'insert', article: { target_uuid: knownUuid }, ...start },
        { op: 'insert', article: byUuid, after: ref(known) }
      ],
      [known, id, ...before.filter((one: number) => one !== known)],
      ['done', 'done', 'done']
    ]
  ]
  for (const [what, operations, wanted, outcomes] of cases) {
    const reply = await call('POST', `${path}/articles`, arranged(operations))
    t.equal(reply.status, 200, `${what}: ${JSON.stringify(reply.body.message)}`)
    t.strictSame(
      [idsOf(reply.body.data), reply.body.meta.operations.map(({ outcome }: { outcome: string }) => outcome)],
      [wanted, outcomes],
      what
    )
    t.equal((await call('POST', path, { body: { field_articles: before.map(ref) }, as: 'editor' })).status, 200)
  }
  const missing = await call(
    'POST',
    `${path}/articles`,
    arranged([
      { op: 'insert', article: byUuid, ...start },
      { op: 'move', article: ref(known), after: ref(99_999) }
    ])
  )
  failed(
    t,
    'a neighbour that does not exist',
    missing,
    409,
    'ORDER_CONFLICT',
    'operations/1 names 99999, which is not in the running order. Nothing was changed.'
  )
  t.strictSame(writes(missing.upstream), [])
})

t.test('articles that all are named in one way are not looked up before they are arranged', async (t) => {
  const { call } = await open(t)
  const gone = { target_uuid: '00000000-0000-4000-8000-00000000000f' }
  for (const operations of [
    [
      { op: 'insert', article: ref(11), at: 'end' },
      { op: 'move', article: ref(999), at: 'end' }
    ],
    [
      { op: 'insert', article: gone, at: 'end' },
      { op: 'insert', article: { target_uuid: item(9).target_uuid }, after: { target_uuid: item(8).target_uuid } }
    ],
    [
      { op: 'remove', article: ref(999) },
      { op: 'move', article: gone, at: 'end' }
    ]
  ]) {
    const reply = await call('POST', `${path}/articles`, arranged(operations))
    failed(t, JSON.stringify(operations), reply, 409, 'ORDER_CONFLICT')
    t.strictSame(
      reply.upstream.filter((line) => line.includes('/node/')),
      []
    )
  }
})

t.test('a reference that is lost is no article, whatever an operation calls it', (t) => {
  const lost = [{ target_id: null }, item(4)]
  for (const article of [
    { target_uuid: 'undefined' },
    { target_uuid: 'null' },
    ref(0),
    { target_id: 'null' },
    { target_id: 'undefined' }
  ]) {
    const operations: OrderOperation[] = [
      { op: 'insert', article: { target_uuid: item(7).target_uuid }, at: 'end' },
      { op: 'remove', article }
    ]
    t.strictSame(rearrange(lost, operations).outcomes, ['done', 'already'], JSON.stringify(article))
  }
  t.end()
})

t.test('what cannot be done changes nothing, and the answer says what is there', async (t) => {
  const { call } = await open(t)
  const {
    body,
    headers: { etag }
  } = await call('GET', path, { as: 'editor' })
  const refused = async (what: string, operations: object[], status: number, code: string, message: string | RegExp, more: object = {}) => {
    const reply = await call('POST', `${path}/articles`, arranged(operations, more))
    failed(t, what, reply, status, code, message)
    t.notOk(reply.upstream.some(isPatch) && status !== 422, what)
    return reply.body
  }
  const { order: present } = await refused(
    'a neighbour that is gone',
    [{ op: 'insert', article: { target_id: 11 }, after: { target_id: 999 } }],
    409,
    'ORDER_CONFLICT',
    'operations/0 names 999, which is not in the running order. Nothing was changed.'
  )
  t.strictSame(
    present.map(({ target_id: id }: { target_id: number }) => id),
    idsOf(body)
  )
  await refused(
    'an article that does not exist',
    [{ op: 'insert', article: { target_id: 99_999 }, at: 'end' }],
    422,
    'UNPROCESSABLE',
    /The referenced entity \(node: 99999\) does not exist/
  )
  await refused(
    'no place',
    [
      { op: 'remove', article: { target_id: 1 } },
      { op: 'insert', article: { target_id: 11 } }
    ],
    400,
    'BAD_REQUEST',
    'body/operations/1 needs one of before, after and at'
  )
  await refused(
    'two places',
    [{ op: 'move', article: { target_id: 11 }, at: 'end', after: { target_id: 1 } }],
    400,
    'BAD_REQUEST',
    'body/operations/0 needs one of before, after and at'
  )
  await refused(
    'a place of what goes',
    [{ op: 'remove', article: { target_id: 11 }, at: 'end' }],
    400,
    'BAD_REQUEST',
    'body/operations/0 has at; a remove takes no place'
  )
  await refused(
    'no handle',
    [{ op: 'insert', article: {}, at: 'end' }],
    400,
    'BAD_REQUEST',
    'body/operations/0/article needs target_id or target_uuid'
  )
  await refused(
    'two kinds of handles',
    [
      { op: 'insert', article: { target_id: 11 }, at: 'end' },
      { op: 'insert', article: { target_uuid: 'x' }, at: 'end' }
    ],
    400,
    'BAD_REQUEST',
    'body/operations inserts some articles by target_id and some by target_uuid; name all of them in one way'
  )
  await refused('no operations', [], 400, 'BAD_REQUEST', /operations/)
  await refused('too many', Array(101).fill({ op: 'remove', article: { target_id: 1 } }), 400, 'BAD_REQUEST', /operations/)
  await refused(
    'another field',
    [{ op: 'remove', article: { target_id: 1 } }],
    400,
    'BAD_REQUEST',
    'body/field must be one of: field_articles',
    { field: 'title' }
  )
  const late = await call('POST', `${path}/articles`, {
    ...arranged([{ op: 'insert', article: { target_id: 11 }, at: 'end' }]),
    headers: { 'if-match': '"other.tag"' }
  })
  failed(t, 'If-Match', late, 412, 'PRECONDITION_FAILED')
  const both = await call('POST', `${path}/articles`, {
    ...arranged([{ op: 'move', article: { target_id: 999 }, at: 'end' }]),
    headers: { 'if-match': '"other.tag"' }
  })
  failed(t, 'If-Match goes before a conflict', both, 412, 'PRECONDITION_FAILED')
  t.equal((await call('GET', path, { as: 'editor' })).headers['etag'], etag)
})

t.test('an edition without such a field has no order to change', async (t) => {
  const contentModel = JSON.stringify({ fields: { articles: ['field_articles', 'field_extra'] } })
  const file = join(t.testdir({ 'model.json': contentModel }), 'model.json')
  const { call } = await open(t, { env: { CONTENT_MODEL: file } })
  const reply = await call(
    'POST',
    `${path}/articles`,
    arranged([{ op: 'insert', article: { target_id: 11 }, at: 'end' }], { field: 'field_extra' })
  )
  failed(t, 'field_extra', reply, 422, 'UNPROCESSABLE', 'This edition has no field_extra that you may see')
  const none = await open(t, {
    env: { CONTENT_MODEL: join(t.testdir({ 'none.json': JSON.stringify({ fields: { articles: [] } }) }), 'none.json') }
  })
  failed(
    t,
    'a site without articles',
    await none.call('POST', `${path}/articles`, arranged([{ op: 'insert', article: { target_id: 11 }, at: 'end' }])),
    400,
    'BAD_REQUEST'
  )
})

t.test('with EDITION_LOCKS=enforce an order that somebody else has locked is not changed', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, call } = await open(t, { env: { EDITION_LOCKS: 'enforce', DYNAMODB_ENDPOINT: endpoint } })
  const lock = { fieldName: 'field_articles', userData: { uid: '7', name: 'Anna' } }
  t.equal(
    (await app.inject({ method: 'POST', url: `/api/cloud/data-state/publisher_container/${edition.id}`, payload: lock })).statusCode,
    200
  )
  const remove = (uid: string, id: number) =>
    call('POST', `${path}/articles`, { ...arranged([{ op: 'remove', article: { target_id: id } }]), headers: { 'x-user-uid': uid } })
  const [first] = idsOf((await call('GET', path, { as: 'editor' })).body)
  const refused = await remove('8', first)
  t.match([refused.status, refused.body], [423, { code: 'FIELD_LOCKED', locks: [{ fieldName: 'field_articles', userData: { uid: '7' } }] }])
  t.strictSame(writes(refused.upstream), [])
  t.equal((await remove('8', 999)).status, 200, 'nothing changes, so nothing is refused')
  t.equal((await remove('7', first)).status, 200)
})

t.test('where somebody else saves first in Drupal, operations are applied to what is there then', async (t) => {
  let now = Date.UTC(2026, 10, 23, 12)
  const { call, cms } = await openHostile(t, { now: () => now })
  const before = idsOf((await call('GET', path, { as: 'editor' })).body)
  let times = 0
  let another = 31
  cms.behave = async ({ method, path: target }) => {
    if (method !== 'PATCH' || !target.startsWith('/jsonapi') || times-- <= 0) return undefined
    now += 1000
    const articles = [...idsOf((await call('GET', path, { as: 'editor' })).body), another++].map((id: number) => ref(id))
    const saved = await fetch(`${cms.url}/publisher_container/${edition.id}?_format=json`, {
      method: 'PATCH',
      headers: { ...basic('editor2'), 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'daily', field_articles: articles })
    })
    t.equal(saved.status, 200)
    return undefined
  }
  times = 2
  const reply = await call(
    'POST',
    `${path}/articles`,
    arranged([{ op: 'insert', article: { target_id: 11 }, after: { target_id: before[0] } }])
  )
  t.equal(reply.status, 200)
  t.strictSame(idsOf(reply.body.data), [before[0], 11, ...before.slice(1), 31, 32])
  times = 5
  failed(
    t,
    'five times in a row',
    await call('POST', `${path}/articles`, arranged([{ op: 'remove', article: { target_id: 11 } }])),
    409,
    'STALE_EDIT'
  )
})

t.test('what ten editors insert and remove through two instances is there, each once', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, url, call } = await open(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  const instances = [app, await build(t, { CMS_URL: url, DYNAMODB_ENDPOINT: endpoint })]
  const before = idsOf((await call('GET', path, { as: 'editor' })).body)
  const inserted = Array.from({ length: 8 }, (_, index) => index + 30)
  const operations = [
    ...inserted.map((id) => ({ op: 'insert', article: { target_id: id }, after: { target_id: before[1] } })),
    ...before.slice(2, 4).map((id: number) => ({ op: 'remove', article: { target_id: id } }))
  ]
  await Promise.all(
    operations.map(async (operation, index) => {
      for (let status = 503; status === 503;) {
        const reply = await instances[index % 2]!.inject({
          method: 'POST',
          url: `${path}/articles`,
          headers: basic(index % 3 ? 'editor' : 'editor2'),
          payload: { operations: [operation] }
        })
        status = reply.statusCode
        t.ok([200, 503].includes(status), String(status))
      }
    })
  )
  const after = idsOf((await call('GET', path, { as: 'editor' })).body)
  t.strictSame([...after].sort(), [...before.filter((id: number) => !before.slice(2, 4).includes(id)), ...inserted].sort())

  const lists = inserted.slice(0, 2).map((id) => [...after.filter((other: number) => !inserted.includes(other)), id].map(ref))
  for (const articles of lists) t.equal((await call('POST', path, { body: { field_articles: articles }, as: 'editor' })).status, 200)
  t.notOk(
    idsOf((await call('GET', path, { as: 'editor' })).body).includes(inserted[0]),
    'while of two who save whole lists the later one wins'
  )
})
