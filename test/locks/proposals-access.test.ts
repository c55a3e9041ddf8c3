import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine, type EngineName } from './fixtures/engines.ts'

const path = '/api/cloud/data-state/node/1'
const ABSENT = 'x'.repeat(38)

type Method = 'GET' | 'POST' | 'DELETE'

const sendTo =
  (app: FastifyInstance) =>
  async (method: Method, url: string, { headers = {}, body }: { headers?: Record<string, string>; body?: object } = {}) => {
    const reply = await app.inject({ method, url, headers, ...(body && { body }) })
    const json = reply.json()
    return { status: reply.statusCode, code: json.error?.code as string | undefined, data: json.data, json, headers: reply.headers }
  }

const outcomes = ({ data }: { data: { Items: Array<{ payload?: string; settled: { outcome: string; by?: object } }> } }) =>
  data.Items.map(({ payload, settled: { outcome, by } }) => [payload, outcome, by])

for (const engine of ['dynalite', 'dynoxide'] satisfies EngineName[]) {
  t.test(`without authentication who proposes and who settles says so, over ${engine}`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' })
    const send = sendTo(app)
    const { next } = await openEvents(t, `${await app.listen({ host: '127.0.0.1', port: 0 })}${path}/events`)
    await next()
    const propose = (payload: string, more: object = {}) =>
      send('POST', `${path}/proposals`, {
        body: { fieldName: 'title', userData: { uid: 8, name: 'Bob', agent: 'x', mail: 'y' }, payload, ...more }
      })

    const { status, data: one } = await propose('"}]}\u2028', { reason: 'shorter', base: '"e1"', more: 1 })
    t.equal(status, 201)
    t.match(one, { id: /^[\w-]{38}$/, fieldName: 'title', payload: '"}]}\u2028', reason: 'shorter', base: '"e1"', createdAt: Number })
    t.strictSame(one.userData, { uid: '8', name: 'Bob' })
    const { event, id, data } = await next()
    t.match({ event, id }, { event: 'proposed', id: /./ })
    t.strictSame(data, {
      entityType: 'node',
      entityId: '1',
      fieldName: 'title',
      id: one.id,
      userData: { uid: '8', name: 'Bob' },
      until: one.until
    })
    t.strictSame((await send('GET', `${path}/proposals`)).data, { Items: [one], Count: 1 })
    t.strictSame((await send('GET', path)).data, { Items: [], Count: 0, ScannedCount: 0 })

    t.strictSame((await send('DELETE', `${path}/proposals/${one.id}?uid=9&name=Cora&taken=1`)).json, { success: true })
    t.match(await next(), { event: 'proposed', data: { id: one.id, until: 0 } })
    const two = (await propose('two')).data
    t.equal((await send('DELETE', `${path}/proposals/${two.id}`)).status, 200)
    const three = (await propose('three')).data
    t.equal((await send('DELETE', `${path}/proposals/${three.id}?uid=8`)).status, 200)
    t.strictSame(outcomes(await send('GET', `${path}/proposals?settled=1&uid=8`)).sort(), [
      [undefined, 'taken', { uid: '9', name: 'Cora' }],
      ['three', 'withdrawn', { uid: '8' }],
      ['two', 'discarded', undefined]
    ])
    t.match(await send('DELETE', `${path}/proposals/${two.id}?uid=8`), { status: 409, code: 'CONFLICT' })
    t.match(await send('DELETE', `${path}/proposals/${ABSENT}`), { status: 404, code: 'NOT_FOUND' })
  })
}

t.test('what is wrong with a proposal is said, and nothing is written', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const send = sendTo(await build(t, { DYNAMODB_ENDPOINT: endpoint }))
  const body = { fieldName: 'title', userData: { uid: '8' }, payload: 'x' }
  const agent = { ...body, userData: { uid: 'agent:planner:7' } }
  const cases: Array<[object, number, string]> = [
    [{ ...body, payload: undefined }, 400, 'BAD_REQUEST'],
    [{ ...body, payload: ['x'] }, 400, 'BAD_REQUEST'],
    [{ ...body, userData: undefined }, 400, 'BAD_REQUEST'],
    [{ ...body, userData: { uid: 'x'.repeat(256) } }, 400, 'BAD_REQUEST'],
    [{ ...body, fieldName: 'x'.repeat(256) }, 400, 'BAD_REQUEST'],
    [{ ...body, base: '' }, 400, 'BAD_REQUEST'],
    [{ ...body, base: 'x'.repeat(257) }, 400, 'BAD_REQUEST'],
    [{ ...body, reason: 'x'.repeat(501) }, 400, 'BAD_REQUEST'],
    [{ ...body, userData: { uid: 'agent:planner' } }, 400, 'BAD_REQUEST'],
    [{ ...body, payload: 'x'.repeat(409_600) }, 413, 'TOO_LARGE'],
    [agent, 428, 'PRECONDITION_REQUIRED']
  ]
  for (const [body, status, code] of cases) t.match(await send('POST', `${path}/proposals`, { body }), { status, code })
  for (const query of [`x`, `${ABSENT}?taken=2`, `${ABSENT}?uid=${'x'.repeat(256)}`, `${ABSENT}?name=${'x'.repeat(256)}`]) {
    t.match(await send('DELETE', `${path}/proposals/${query}`), { status: 400, code: 'BAD_REQUEST' })
  }
  t.match(await send('GET', `${path}/proposals?settled=2`), { status: 400 })
  t.strictSame((await send('GET', `${path}/proposals`)).data, { Items: [], Count: 0 })
  t.equal((await send('POST', `${path}/proposals`, { body: { ...agent, base: 'v', reason: 'é'.repeat(500) } })).status, 201)
})

t.test('beyond five for a field the answer says what to do, and names no time', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const send = sendTo(await build(t, { DYNAMODB_ENDPOINT: endpoint }))
  const propose = (payload: string) => send('POST', `${path}/proposals`, { body: { fieldName: 'title', userData: { uid: '8' }, payload } })
  for (let count = 0; count < 5; count++) t.equal((await propose(`${count}`)).status, 201)
  t.equal((await propose('0')).status, 201, 'it is there already')
  const refused = await propose('one more')
  t.match(refused, { status: 429, code: 'TOO_MANY_REQUESTS', json: { message: /take or discard one of them, or withdraw yours/ } })
  t.equal(refused.headers['retry-after'], undefined)
})

t.test('with tokens everybody is who they are, and sees what became of their own', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const app = await build(t, {
    DYNAMODB_ENDPOINT: endpoint,
    AUTH_ADMINS: '1',
    ...jwtEnv(t),
    AUTH_AGENT_CLAIM: 'act.sub',
    AUTH_LOCK_CLAIM: 'may=lock'
  })
  const send = sendTo(app)
  const [anna, ben, root] = [
    bearer({ sub: '7', name: 'Anna', may: 'lock' }),
    bearer({ sub: '8', name: 'Ben', may: 'lock' }),
    bearer({ sub: '1', name: 'Root', may: 'lock' })
  ]
  const reader = bearer({ sub: '9', name: 'Cora' })
  const planner = bearer({ sub: '7', name: 'Anna', may: 'lock', act: { sub: 'planner' } })
  const propose = (headers: Record<string, string>, more: object = {}) =>
    send('POST', `${path}/proposals`, { headers, body: { fieldName: 'title', payload: 'x', ...more } })
  const settle = async (headers: Record<string, string>, id: string, query = '') => {
    const { status, code } = await send('DELETE', `${path}/proposals/${id}${query}`, { headers })
    return [status, code]
  }
  const list = (headers: Record<string, string>, query = '') => send('GET', `${path}/proposals${query}`, { headers })

  const mine = (await propose(anna, { userData: { uid: '7', name: 'Somebody', principal: '1' } })).data
  t.strictSame(mine.userData, { uid: '7', name: 'Anna' })
  const agents = (await propose(planner, { base: '"e1"' })).data
  t.strictSame(agents.userData, { uid: 'agent:planner:7', name: 'planner (Anna)', agent: 'planner', principal: '7' })
  t.match(await propose(planner), { status: 428 })
  t.match(await propose(anna, { userData: { uid: '8' } }), { status: 403, code: 'FORBIDDEN' })
  t.match(await propose(reader), { status: 403, code: 'FORBIDDEN' })
  t.match(await list(reader), { status: 403, code: 'FORBIDDEN' })
  t.strictSame((await list(reader, '?settled=1')).data, { Items: [], Count: 0 })
  t.match((await list(ben)).data.Items.map(({ id }: { id: string }) => id).sort(), [mine.id, agents.id].sort())

  t.strictSame(await settle(planner, mine.id, '?taken=1'), [403, 'FORBIDDEN'], 'it is not its user')
  t.strictSame(await settle(reader, mine.id), [403, 'FORBIDDEN'])
  t.strictSame(await settle(ben, mine.id, '?uid=7'), [403, 'FORBIDDEN'], 'nobody settles in the name of another')
  t.strictSame(await settle(root, mine.id, '?uid=7'), [403, 'FORBIDDEN'])
  t.strictSame(await settle(ben, mine.id, '?uid=8&name=Else'), [200, undefined])
  t.strictSame(await settle(anna, agents.id, '?taken=1'), [200, undefined])
  const own = (await propose(planner, { base: '"e2"' })).data
  t.strictSame(await settle(planner, own.id), [200, undefined])

  t.strictSame(outcomes(await list(anna, '?settled=1')), [['x', 'discarded', { uid: '8', name: 'Ben' }]])
  t.strictSame(outcomes(await list(planner, '?settled=1')).sort(), [
    [undefined, 'taken', { uid: '7', name: 'Anna' }],
    ['x', 'withdrawn', { uid: 'agent:planner:7', name: 'planner (Anna)' }]
  ])
  t.match(await list(ben, '?settled=1&uid=7'), { status: 403, code: 'FORBIDDEN' })
  t.equal((await list(root, '?settled=1')).data.Count, 3)
  t.equal((await list(root, '?settled=1&uid=7')).data.Count, 1)
  t.equal((await list(root, '?settled=1&uid=1')).data.Count, 0)
  const blind = bearer({ sub: '1', name: 'Root' })
  t.match(await list(blind, '?settled=1&uid=7'), { status: 403 }, 'an administrator who may not edit')
})

t.test('with AUTH=drupal who may edit the entity proposes and settles', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const app = await build(t, { AUTH: 'drupal', CMS_URL: await cms.listen(), DYNAMODB_ENDPOINT: endpoint })
  const send = sendTo(app)
  const basic = (name: string) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` })
  const [editor, admin, reader] = [basic('editor'), basic('admin'), basic('reader')]
  const edition = newspaper().entities.find(({ type, fields }) => type.startsWith('publisher_container--') && fields!['status'] === true)!
  const url = `/api/cloud/data-state/publisher_container/${edition.id}/proposals`
  const body = { fieldName: 'title', payload: 'x' }

  const { status, data } = await send('POST', url, { headers: editor, body })
  t.equal(status, 201)
  t.match(await send('POST', url, { headers: reader, body }), { status: 403 })
  t.match(await send('GET', url, { headers: reader }), { status: 403 })
  t.match(await send('DELETE', `${url}/${data.id}`, { headers: reader }), { status: 403 })
  t.match(await send('POST', url.replace(String(edition.id), '999999'), { headers: editor, body }), { status: 404 })
  t.match(
    await send('POST', url.replace(String(edition.id), edition.uuid!), { headers: editor, body }),
    { status: 400 },
    'under its one name'
  )
  t.equal((await send('GET', url, { headers: admin })).data.Count, 1)
  t.equal((await send('DELETE', `${url}/${data.id}?taken=1`, { headers: admin })).status, 200)
  t.match((await send('GET', `${url}?settled=1`, { headers: editor })).data, { Count: 1, Items: [{ settled: { outcome: 'taken' } }] })
})
