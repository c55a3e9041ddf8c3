import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { confirmWrite } from '#lib/editions/save/outcome.ts'
import { Failure } from '#lib/errors.ts'
import { build } from '../helper.ts'

const uuid = '00000000-0000-4000-8000-000000000001'
const json = { 'content-type': 'application/json' }

type Fault = 'fail after' | 'fail before' | 'hang after' | 'reset after' | 'lose after' | 'lose before' | 'fail, then everything'

/** The service, with something between it and the sample CMS that spoils the answer to writes. */
async function open(t: Test, fault: Fault) {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const origin = await cms.listen()
  let spoiled = false
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const isWrite = request.method !== 'GET'
    if (spoiled && fault === 'fail, then everything') return response.writeHead(500).end()
    if (isWrite) spoiled = true
    if (isWrite && fault === 'fail before') return response.writeHead(500).end()
    const lost = () =>
      response.writeHead(503, { 'content-type': 'text/html; charset=iso-8859-1' }).end('<title>503 Service Unavailable</title>')
    if (isWrite && fault === 'lose before') return lost()
    const { 'content-type': type = '', authorization = '' } = request.headers
    const answer = await fetch(origin + request.url, {
      method: request.method!,
      headers: { ...(type && { 'content-type': type }), authorization },
      ...(isWrite && { body: Buffer.concat(chunks) })
    })
    const text = await answer.text()
    if (!isWrite) return response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! }).end(text)
    if (fault === 'hang after') return
    if (fault === 'reset after') return request.socket.destroy()
    if (fault === 'lose after') return lost()
    return response.writeHead(500, { 'content-type': 'text/plain' }).end('PDOException: SQLSTATE[HY000]')
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const app = await build(t, {
    CMS_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    ...(fault === 'hang after' && { CMS_TIMEOUT_MS: '1500' })
  })
  const change = () => app.inject({ method: 'POST', url: '/api/collection/1', headers: json, payload: { title: [{ value: 'Changed' }] } })
  const create = () =>
    app.inject({
      method: 'POST',
      url: '/api/collection',
      headers: json,
      payload: { type: 'daily', title: [{ value: 'New' }], field_key: [{ value: 'new-key' }] }
    })
  return { cms, change, create }
}

const writes = (cms: Cms) => cms.requestLines.filter((line) => /^(?:POST|PATCH)/.test(line)).length

for (const fault of ['fail after', 'hang after', 'reset after', 'lose after'] as const) {
  t.test(`a write that was saved is reported so although the CMS did ${fault} it`, async (t) => {
    const { cms, change, create } = await open(t, fault)
    const changed = await change()
    t.equal(changed.statusCode, 200)
    t.equal(changed.json().title[0].value, 'Changed')
    const created = await create()
    t.equal(created.statusCode, 201)
    t.equal(created.json().field_key[0].value, 'new-key')
    t.equal(writes(cms), 2, 'each was written once')
  })
}

t.test('a write that was not saved is reported so, and not repeated', async (t) => {
  const { cms, change, create } = await open(t, 'fail before')
  for (const write of [change, create]) {
    const reply = await write()
    t.match(reply.json(), { statusCode: 502, code: 'CMS_FAILED', message: 'The CMS failed to answer; nothing was saved' })
  }
  t.equal(writes(cms), 0)
})

t.test('a gateway that has lost the CMS leaves open whether it still saves', async (t) => {
  const { cms, change, create } = await open(t, 'lose before')
  for (const write of [change, create]) {
    const reply = await write()
    t.match(reply.json(), { statusCode: 503, code: 'CMS_UNAVAILABLE', message: /whether your change was saved is not known/ })
    t.equal(reply.headers['retry-after'], '30')
  }
  t.equal(writes(cms), 0)
})

t.test('where the CMS cannot be asked, the caller is told that nobody knows', async (t) => {
  for (const name of ['change', 'create'] as const) {
    const writer = await open(t, 'fail, then everything')
    const reply = await writer[name]()
    t.match(reply.json(), { statusCode: 502, code: 'CMS_FAILED', message: /whether your change was saved is not known/ })
    t.notMatch(reply.body, 'SQLSTATE')
  }
})

t.test('an answer that says what happened is taken at its word', async (t) => {
  const look = async () => {
    throw new Error('nobody looks')
  }
  const fail = (failure: unknown) =>
    confirmWrite(
      uuid,
      async () => {
        throw failure
      },
      look,
      () => {}
    )
  for (const cause of [undefined, Object.assign(new Error(), { status: 503, isDrupals: true })]) {
    const maintenance = new Failure('CMS_UNAVAILABLE', 'later', { cause })
    t.equal(await fail(maintenance).catch((error) => error), maintenance)
  }
  const refused = new Failure('CMS_UNREACHABLE', 'away', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
  t.equal(await fail(refused).catch((error) => error), refused)
  await t.rejects(fail(new TypeError('a defect')), { message: 'a defect' })
  t.equal(
    await confirmWrite(
      uuid,
      async () => 1,
      look,
      () => {}
    ),
    1
  )
})

t.test('an edition that others changed meanwhile leaves the outcome open; so does a CMS that may still be writing', async (t) => {
  const failure = (code: 'CMS_FAILED' | 'CMS_TIMEOUT') => async () => {
    throw new Failure(code, 'Bad', { cause: new Error() })
  }
  await t.rejects(
    confirmWrite(
      uuid,
      failure('CMS_FAILED'),
      async () => {
        throw new Error('others')
      },
      () => {}
    ),
    { message: /not known/ }
  )
  await t.rejects(
    confirmWrite(
      uuid,
      failure('CMS_TIMEOUT'),
      async () => undefined,
      () => {}
    ),
    { message: /not known/, code: 'CMS_TIMEOUT' }
  )
  await t.rejects(
    confirmWrite(
      uuid,
      failure('CMS_FAILED'),
      async () => undefined,
      () => {}
    ),
    { message: 'Bad; nothing was saved' }
  )
})
