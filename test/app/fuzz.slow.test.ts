import t from 'tap'
import { build } from '../helper.ts'
import { readDocument } from './fixtures/document.ts'
import { faultOf, fuzz } from './fixtures/fuzz.ts'

const REQUESTS = 6000

t.test(`${REQUESTS} generated requests are answered as documented, and none with a failure of the service`, async (t) => {
  const { requests, statuses } = await fuzz(t, REQUESTS)
  t.ok(requests >= REQUESTS)
  for (const status of [200, 201, 304, 400, 404, 405, 412, 415, 422, 423, 431]) {
    t.ok(statuses.has(status), `the requests were of all kinds: ${status}`)
  }
  t.ok(statuses.get(200)! > REQUESTS / 10, 'many of them right')
})

t.test('an answer that is not as documented is found', async (t) => {
  const { operations } = readDocument((await (await build(t)).inject('/docs/json')).json())
  const json = new Map([['content-type', 'application/json; charset=utf-8']])
  const lock = { success: false, message: 'Error: x', error: { name: 'x', code: 'x', message: 'x' } }
  const edition = { message: 'x', statusCode: 400, error: 'x', code: 'x' }
  const answers: Array<[method: string, target: string, status: number, body: unknown, fault: RegExp | undefined]> = [
    ['POST', '/api/cloud/data-state/node/1', 200, { success: true }, undefined],
    ['POST', '/api/cloud/data-state/node/1', 423, lock, undefined],
    ['GET', '/api/cloud/data-state/node/1', 423, lock, /not documented/],
    ['GET', '/api/cloud/data-state/node/1?x', 304, '', undefined],
    ['GET', '/api/collection/1', 304, '', undefined],
    ['GET', '/api/collection/bundles', 304, '', /not documented/],
    ['POST', '/api/cloud/data-state/node/1', 200, { success: 'yes' }, /not as documented/],
    ['POST', '/api/cloud/data-state/node/1', 503, lock, /no request's fault/],
    ['POST', '/api/cloud/data-state/node/1', 400, edition, /not as documented/],
    ['GET', '/api/collections/daily', 400, edition, undefined],
    ['GET', '/api/collections/daily', 200, { data: 'none' }, /not as documented/],
    ['GET', '/nowhere', 404, edition, undefined],
    ['GET', '/nowhere', 404, lock, /other half/],
    ['GET', '/api/cloud/data-state', 404, edition, /other half/],
    ['GET', '/nowhere', 404, { statusCode: 404 }, /shape of no failure/],
    ['GET', '/nowhere', 200, edition, /not documented/],
    ['HEAD', '/api/collection/1', 418, '', /not documented/]
  ]
  for (const [method, target, status, body, fault] of answers) {
    const found = faultOf(operations, { method, target, headers: [] }, { status, headers: json, body: JSON.stringify(body) })
    t.match(found ?? 'none', fault ?? /^none$/, `${method} ${target} ${status}`)
  }
  t.match(
    faultOf(operations, { method: 'GET', target: '/nowhere', headers: [] }, { status: 404, headers: new Map(), body: '<html>' }),
    /not JSON/
  )
})
