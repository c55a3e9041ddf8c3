import t from 'tap'
import { createClient } from '../../packages/client/src/client.ts'
import { failureOf } from '../../packages/client/test/fixtures.ts'
import { build } from '../helper.ts'
import { startEngine } from './fixtures/engines.ts'

const url = '/api/cloud/data-state/node/42'
const ada = { uid: '7', name: 'Ada' }
const ben = { uid: '8', name: 'Ben' }

t.test('with LOCK_REFUSED_STATUS=200 only the status of "Field is locked by another user" is another', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const settings = { DYNAMODB_ENDPOINT: endpoint, LOCK_LEASE_SECONDS: '600' }
  const [standard, lenient] = await Promise.all([build(t, settings), build(t, { ...settings, LOCK_REFUSED_STATUS: '200' })])
  await standard.inject({ method: 'POST', url, payload: { fieldName: 'title', userData: ada, payload: 'hers', timestamp: 5 } })

  const answered = async (app: typeof standard, method: 'POST' | 'PUT' | 'DELETE', headers: Record<string, string>, payload?: object) => {
    const reply = await app.inject({ method, url: payload ? url : `${url}?fieldName=title`, headers, ...(payload && { payload }) })
    const { date: _, 'x-request-id': __, ...rest } = reply.headers
    return { status: reply.statusCode, headers: rest, body: reply.json() }
  }
  const attempts: Array<
    [what: string, method: 'POST' | 'PUT' | 'DELETE', headers: Record<string, string>, payload: object | undefined, status: number]
  > = [
    ['a held field', 'POST', {}, { fieldName: 'title', userData: ben, payload: 'his' }, 423],
    ['another state than that of If-Match', 'PUT', { 'if-match': '"other"' }, { fieldName: 'title', userData: ben }, 412],
    ["the user's other tab", 'POST', { 'if-none-match': '*' }, { fieldName: 'title', userData: ada }, 412],
    ['a wrong request', 'POST', {}, { userData: ben }, 400],
    ['a release of another state', 'DELETE', { 'if-match': '"other"' }, undefined, 412]
  ]
  for (const [what, method, headers, payload, status] of attempts) {
    const expected = await answered(standard, method, headers, payload)
    t.equal(expected.status, status, what)
    t.strictSame(await answered(lenient, method, headers, payload), { ...expected, status: status === 423 ? 200 : status }, what)
  }
  t.match((await standard.inject(url)).json().data, { Count: 1, Items: [{ userData: ada, payload: 'hers' }] }, 'nothing was written')
})

t.test('with LOCK_REFUSED_STATUS=200 the client fails as ever, and the documentation shows both answers', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, LOCK_REFUSED_STATUS: '200' })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const field = { type: 'node', id: '42', fieldName: 'title' }
  const held = await createClient({ url: address, user: ada }).locks.acquire(field)
  t.match(await failureOf(createClient({ url: address, user: ben }).locks.acquire(field)), {
    status: 200,
    code: 'FIELD_LOCKED',
    passes: false,
    lock: { userData: ada }
  })
  await held.release()

  const { post } = (await app.inject('/docs/json')).json().paths['/api/cloud/data-state/{type}/{id}']
  t.strictSame(
    [post.responses['423'], Object.keys(post.responses['200'].content['application/json'].examples)],
    [undefined, ['yours', 'held']]
  )
})
