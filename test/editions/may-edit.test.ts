import t from 'tap'
import { createPermissions } from '#lib/editions/save/permissions.ts'
import { newCaller } from '#lib/http/calls.ts'
import { newspaper } from '../../dev/content.ts'
import { steppedTime } from '../fixtures/time.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { openHostile } from './hostile-cms.ts'
import { basic, editionsOf, open } from './site.ts'

const { id, key } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const title = [{ value: editionsOf(newspaper()).find((edition) => edition.id === id)!.title }]
const nothing = { operations: [{ op: 'remove', article: { target_id: 999 } }] }

t.test('what is answered to a save without a save is answered to none but those who may edit', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { call, app } = await open(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  const refusals: Array<[what: string, path: string, body: object, headers?: Record<string, string>, statusOfEditor?: number]> = [
    ['nothing differs', path, { title }],
    ['another state by If-Match', path, { title: [{ value: 'New' }] }, { 'if-match': '"other.x"' }, 412],
    ['another state by changed', path, { title: [{ value: 'New' }], changed: [{ value: '2001-01-01T00:00:00+00:00' }] }, {}, 409],
    ['another id', path, { id: [{ value: 9 }] }, {}, 403],
    ['a reference to nothing', path, { field_articles: [{ target_id: 99_999 }] }, {}, 422],
    ['a scalar', path, { title: 'New' }, {}, 422],
    ['a bundle that does not exist', path, { type: 'weekly' }, {}, 422],
    ['operations that change nothing', `${path}/articles`, nothing],
    [
      'operations beside what is not there',
      `${path}/articles`,
      { operations: [{ op: 'move', article: { target_id: 999 }, at: 'end' }] },
      {},
      409
    ],
    ['a close of what is not ready', `${path}/close`, {}, {}, 409]
  ]
  for (const [what, place, body, headers = {}, status = 200] of refusals) {
    const [anonymous, reader, editor] = await Promise.all([
      call('POST', place, { body, headers }),
      call('POST', place, { body, headers, as: 'reader' }),
      call('POST', place, { body, headers, as: 'editor' })
    ])
    t.strictSame([anonymous.status, reader.status, editor.status], [401, 403, status], what)
  }
  const url = `/api/collections/daily/by-key/${key}`
  const push = async (user?: string) =>
    (await app.inject({ method: 'PUT', url, payload: { title }, headers: user === undefined ? {} : basic(user) })).statusCode
  t.strictSame([await push(), await push('reader'), await push('editor')], [401, 403, 200], 'an upsert')
})

t.test('a replay is answered to none but those who may edit', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { call } = await open(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  const saves: Array<[string, object]> = [
    [path, { title: [{ value: 'New' }] }],
    [`${path}/articles`, { operations: [{ op: 'insert', article: { target_id: 9 }, at: 'end' }] }]
  ]
  for (const [index, [place, body]] of saves.entries()) {
    const headers = { 'idempotency-key': `"replay-${index}"` }
    t.match(await call('POST', place, { body, headers, as: 'editor' }), { status: 200 }, place)
    t.match(await call('POST', place, { body, headers }), { status: 401 }, place)
    t.match(await call('POST', place, { body, headers, as: 'editor' }), { status: 200, headers: { 'idempotency-replayed': 'true' } }, place)
  }
})

t.test('Drupal is asked once in a minute, and not where it has just let the caller save', async (t) => {
  const { call, cms } = await openHostile(t)
  const save = async (value: unknown) => {
    const { status, upstream } = await call('POST', path, { body: { title: value }, as: 'editor' })
    return [status, upstream.filter((line) => line.endsWith(' {}')).length]
  }
  t.strictSame(await save(title), [200, 1])
  t.strictSame(await save(title), [200, 0])
  t.strictSame(await save([{ value: 'New' }]), [200, 0])
  t.strictSame(await save([{ value: 'New' }]), [200, 0])
  cms.behave = ({ method }) => (method === 'PATCH' ? { status: 403, body: { errors: [{ status: '403', detail: 'No' }] } } : undefined)
  t.strictSame(await save([{ value: 'Newer' }]), [403, 0])
  t.strictSame(await save([{ value: 'New' }]), [403, 1], 'a refusal ends it')
  cms.behave = ({ method }) =>
    method === 'PATCH'
      ? { status: 405, body: { errors: [{ status: '405', detail: 'JSON:API is configured to accept only read operations.' }] } }
      : undefined
  t.strictSame(await save([{ value: 'New' }]), [502, 1], 'JSON:API takes no writes')
})

t.test('a permission holds for a minute, of its caller in this language', async (t) => {
  const clock = { now: 0 }
  let asked = 0
  const resource = { type: 'publisher_container--daily', id: 'ABC' }
  const permissions = createPermissions(
    {
      async refusalToEdit() {
        asked++
        return undefined
      }
    },
    steppedTime(clock)
  )
  const [caller, other] = [newCaller(basic('editor')), newCaller({ ...basic('editor'), 'accept-language': 'fr' })]
  await permissions.demand(resource, caller)
  await permissions.demand({ ...resource, id: 'abc' }, caller)
  t.equal(asked, 1)
  await permissions.demand(resource, other)
  t.equal(asked, 2)
  clock.now += 60_000
  await permissions.demand(resource, caller)
  t.equal(asked, 3)
})
