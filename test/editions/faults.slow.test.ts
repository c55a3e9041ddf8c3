import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { recording } from '../fixtures/recordings.ts'
import { buildLogged } from '../helper.ts'
import { daily, errors, individual, JSONAPI, say, startDeaf, startScriptedCms, uuid, type Script } from './scripted-cms.ts'
import { failed } from './site.ts'

/** The deadline where the CMS is slow; everywhere else it is long, since this machine may be slow too. */
const TIMEOUT_MS = 500
const SECRET = Buffer.from('editor:hunter2').toString('base64')
const body = { title: [{ value: 'Changed' }] }

/** What callers do, and the request of it that the CMS answers in an odd way. */
const operations: Record<string, { method: 'GET' | 'POST'; url: string; payload?: object; is: RegExp }> = {
  read: { method: 'GET', url: `/api/collection/${uuid}`, is: new RegExp(`^GET ${daily}/${uuid}`) },
  list: { method: 'GET', url: '/api/collections/daily', is: new RegExp(`^GET ${daily}\\?`) },
  bundles: { method: 'GET', url: '/api/collection/bundles', is: /^GET .*publisher_container_type/ },
  create: { method: 'POST', url: '/api/collection', payload: { type: 'daily', ...body }, is: /^POST / },
  update: { method: 'POST', url: `/api/collection/${uuid}`, payload: body, is: /^PATCH / }
}
const reads = ['read', 'list', 'bundles']
const writes = ['create', 'update']

/** Things that are the CMS's own business, as they come in its answers. */
const INTERNALS =
  'SQLSTATE[42S02]: SELECT base_table.id FROM users; PHP Fatal error in /var/www/html/core/lib/Drupal.php at http://10.1.2.3:8080/ secret'
const LEAK = /SQLSTATE|SELECT|PHP|Drupal\.php|var\/www|10\.1\.2\.3|secret|<html|127\.0\.0\.1|UND_ERR|socket|ECONN/
const html = `<!DOCTYPE html><html><body>${INTERNALS}</body></html>`
const HTML = { 'content-type': 'text/html; charset=UTF-8' }
const notJsonapi = /^The CMS answered something that is not JSON:API/
const text = JSON.stringify(individual)

interface Wanted {
  status: number
  code: string
  message?: string | RegExp
  /** What the log says of it. */
  cause?: RegExp
  retryAfter?: string | undefined
  /** Operations that go well all the same. */
  spared?: string[]
}

const cms = await startScriptedCms(t)
const patient = await buildLogged(t, { CMS_URL: cms.url, staleSeconds: '0' })
const hasty = await buildLogged(t, { CMS_URL: cms.url, CMS_TIMEOUT_MS: String(TIMEOUT_MS), staleSeconds: '0' })

async function send(app: FastifyInstance, name: string) {
  const { method, url, payload } = operations[name]!
  const start = performance.now()
  const reply = await app.inject({
    method,
    url,
    headers: { authorization: `Basic ${SECRET}`, 'x-request-id': name },
    ...(payload && { payload })
  })
  return { status: reply.statusCode, headers: reply.headers, body: reply.json(), took: performance.now() - start }
}

/** Some operations at once on a CMS in this state: each answer, and each line of the log. */
async function check(
  t: Test,
  names: string[],
  { app, logged }: typeof patient,
  { status, code, message, cause, retryAfter, spared = [] }: Wanted
): Promise<void> {
  logged()
  const replies = await Promise.all(names.map((name) => send(app, name)))
  const lines = logged()
  for (const [index, reply] of replies.entries()) {
    const name = names[index]!
    const errors = lines.filter(({ level, reqId }) => level >= 50 && reqId === name)
    if (spared.includes(name)) {
      t.equal(reply.status, 200, `${name} does without`)
      t.strictSame(errors, [])
      continue
    }
    failed(t, name, reply, status, code)
    // A write may end with a word on its outcome.
    t.match(reply.body.message.split(/; (?=nothing was saved$|whether your change)/)[0], message ?? /./, name)
    t.notMatch(JSON.stringify([reply.body, reply.headers]), LEAK, `${name}: nothing of the CMS's internals`)
    t.equal(reply.headers['retry-after'], retryAfter, name)
    if (status === 401) t.match(reply.headers['www-authenticate'], /^Basic/, 'the challenge is handed on')
    if (status === 504) {
      t.ok(reply.took > TIMEOUT_MS / 2 - 20 && reply.took < TIMEOUT_MS + 4000, `${name} within the deadline: ${Math.round(reply.took)} ms`)
    }
    t.equal(errors.length, status >= 500 ? 1 : 0, `${name}: one line in the log, or none`)
    if (status >= 500) t.match(errors[0], { err: { code, message: cause ?? /./ } }, `${name}: it names the cause`)
  }
  t.notMatch(JSON.stringify(lines), new RegExp(`${SECRET}|hunter2`), 'no credentials in the log')
}

async function works(t: Test, { app } = patient): Promise<void> {
  t.strictSame(await statusesOf(app), [200, 200, 200, 201, 200], 'the next requests work')
}

/** What all operations, at once, are answered with. */
async function statusesOf(app: typeof patient.app): Promise<number[]> {
  return (await Promise.all(Object.keys(operations).map((name) => send(app, name)))).map(({ status }) => status)
}

/** All operations on a CMS that answers so. */
async function all(t: Test, script: Script, wanted: Wanted, kinds = [reads, writes]): Promise<void> {
  const service = wanted.status === 504 ? hasty : patient
  for (const names of kinds) {
    cms.odd = { is: (line) => names.some((name) => operations[name]!.is.test(line)), script }
    await check(t, names, service, wanted)
    cms.odd = undefined
  }
  await works(t, service)
}

t.test('a CMS in health answers everything', async (t) => {
  await works(t, patient)
  await works(t, hasty)
})

interface Oddity {
  status: number
  body?: string | object
  headers?: Record<string, string>
  wanted: [status: number, code: string, message?: string | RegExp]
}

const oddities: Record<string, Oddity> = {
  'HTML 200': { status: 200, body: html, headers: HTML, wanted: [502, 'CMS_INVALID_RESPONSE', notJsonapi] },
  'HTML 404': { status: 404, body: html, headers: HTML, wanted: [502, 'CMS_INVALID_RESPONSE', notJsonapi] },
  'HTML 403': { status: 403, body: html, headers: HTML, wanted: [502, 'CMS_INVALID_RESPONSE', notJsonapi] },
  'HTML 502': { status: 502, body: html, headers: HTML, wanted: [502, 'CMS_FAILED', 'The CMS failed to answer'] },
  'HTML 504': { status: 504, body: html, headers: HTML, wanted: [502, 'CMS_FAILED'] },
  'HTML 503': { status: 503, body: html, headers: HTML, wanted: [503, 'CMS_UNAVAILABLE'] },
  'JSON:API said to be HTML': { status: 200, body: JSON.stringify(individual), headers: HTML, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'JSON:API of no type': { status: 200, body: JSON.stringify(individual), headers: {}, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'broken JSON': {
    status: 200,
    body: JSON.stringify(individual).slice(0, -20),
    headers: JSONAPI,
    wanted: [502, 'CMS_INVALID_RESPONSE', notJsonapi]
  },
  'an empty body': { status: 200, body: '', headers: JSONAPI, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  204: { status: 204, body: '', headers: {}, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'JSON that is a list': { status: 200, body: '[]', headers: JSONAPI, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'JSON that is null': { status: 200, body: 'null', headers: JSONAPI, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'JSON of something else': {
    status: 200,
    body: { message: INTERNALS },
    headers: { 'content-type': 'application/json' },
    wanted: [502, 'CMS_INVALID_RESPONSE']
  },
  'a resource that is a string': { status: 200, body: { data: 'x' }, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'a resource without an id': {
    status: 200,
    body: { data: { type: 'publisher_container--daily' } },
    wanted: [502, 'CMS_INVALID_RESPONSE']
  },
  'a relationship that is null': {
    status: 200,
    body: { data: { ...individual.data, relationships: { uid: null } } },
    wanted: [502, 'CMS_INVALID_RESPONSE']
  },
  'identifiers that are null': {
    status: 200,
    body: { data: { ...individual.data, relationships: { field_articles: { data: [null] } } } },
    wanted: [502, 'CMS_INVALID_RESPONSE']
  },
  'attributes that are a string': {
    status: 200,
    body: { data: { ...individual.data, attributes: 'x' } },
    wanted: [502, 'CMS_INVALID_RESPONSE']
  },
  'included that is no list': { status: 200, body: { ...individual, included: 'x' }, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'errors that are null': { status: 422, body: { errors: [null] }, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  'a redirect': {
    status: 302,
    body: html,
    headers: { location: 'http://10.1.2.3:8080/user/login', ...HTML },
    wanted: [502, 'CMS_INVALID_RESPONSE', notJsonapi]
  },
  'a permanent redirect': { status: 308, body: '', headers: { location: 'https://cms.example/' }, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  304: { status: 304, body: '', headers: {}, wanted: [502, 'CMS_INVALID_RESPONSE'] },
  400: {
    status: 400,
    body: errors(400, `Invalid nested filtering. ${INTERNALS}`),
    wanted: [502, 'CMS_REFUSED', 'The CMS refused the request with status 400']
  },
  '401 with a challenge': {
    status: 401,
    body: errors(401, 'No authentication credentials provided.'),
    headers: { ...JSONAPI, 'www-authenticate': 'Basic realm="CMS"' },
    wanted: [401, 'CMS_UNAUTHORIZED', 'No authentication credentials provided.']
  },
  '401 without a word': { status: 401, body: {}, wanted: [401, 'CMS_UNAUTHORIZED', 'The CMS wants to know who is asking'] },
  403: {
    status: 403,
    body: errors(403, "The 'update publisher_container' permission is required."),
    wanted: [403, 'CMS_FORBIDDEN', "The 'update publisher_container' permission is required."]
  },
  '403 without a word': { status: 403, body: { errors: [] }, wanted: [403, 'CMS_FORBIDDEN', 'Access denied'] },
  '403 in the form of core REST': {
    status: 403,
    body: { message: INTERNALS },
    headers: { 'content-type': 'application/json' },
    wanted: [403, 'CMS_FORBIDDEN', 'Access denied']
  },
  404: {
    status: 404,
    body: errors(404, `The "entity" parameter was not converted for the path "${INTERNALS}"`),
    wanted: [404, 'NOT_FOUND', /^There is no/]
  },
  '405 otherwise': {
    status: 405,
    body: errors(405, `No route found for "PATCH http://10.1.2.3:8080${daily}": Method Not Allowed (Allow: GET)`),
    wanted: [502, 'CMS_REFUSED', 'The CMS refused the request with status 405']
  },
  '406 in the form of core REST': {
    status: 406,
    body: { message: 'No route found for the specified format json. Supported formats: api_json.' },
    headers: { 'content-type': 'application/json' },
    wanted: [502, 'CMS_REFUSED']
  },
  409: {
    status: 409,
    body: errors(409, 'Conflict: Entity already exists.'),
    wanted: [409, 'CONFLICT', 'Conflict: Entity already exists.']
  },
  '409 without a word': { status: 409, body: {}, wanted: [409, 'CONFLICT', 'The CMS sees a conflict'] },
  413: { status: 413, body: errors(413, INTERNALS), wanted: [502, 'CMS_REFUSED'] },
  415: {
    status: 415,
    body: errors(415, 'No route found that matches "Content-Type: application/json"'),
    wanted: [502, 'CMS_REFUSED', 'The CMS refused the request with status 415']
  },
  '422 with a pointer': {
    status: 422,
    body: errors(422, 'title: This value should not be null.', '/data/attributes/title'),
    wanted: [422, 'UNPROCESSABLE', 'Unprocessable Entity: validation failed.\ntitle: This value should not be null.\n']
  },
  '422 of the edition as a whole': {
    status: 422,
    body: errors(422, 'Entity is not valid: The content has either been modified by another user.', '/data'),
    wanted: [422, 'UNPROCESSABLE', 'Unprocessable Entity: validation failed.\n: The content has either been modified by another user.\n']
  },
  '422 without a pointer': {
    status: 422,
    body: errors(422, 'The attribute nosuch does not exist on the publisher_container--daily resource type.'),
    wanted: [422, 'UNPROCESSABLE', 'The attribute nosuch does not exist on the publisher_container--daily resource type.']
  },
  '422 without a word': { status: 422, body: { errors: [{}] }, wanted: [422, 'UNPROCESSABLE', 'The CMS could not process the edition'] },
  '422 of a property that nobody sent': {
    status: 422,
    body: errors(422, "The property 'x' does not exist on the 'title' field of type 'string'. Writable properties are: 'value'."),
    wanted: [422, 'UNPROCESSABLE', /^The property 'x'/]
  },
  '422 of a field that nobody sent': {
    status: 422,
    body: errors(422, "The properties 'x', 'y' do not exist on the 'nosuch' field of type 'string'. Did you mean 'value', 'value'?"),
    wanted: [422, 'UNPROCESSABLE', /^The properties 'x', 'y'/]
  },
  '429 with Retry-After': { status: 429, body: html, headers: { ...HTML, 'retry-after': '7' }, wanted: [503, 'CMS_UNAVAILABLE'] },
  '500 with SQL in it': { status: 500, body: errors(500, INTERNALS), wanted: [502, 'CMS_FAILED', 'The CMS failed to answer'] },
  '500 as text': {
    status: 500,
    body: `The website encountered an unexpected error. ${INTERNALS}`,
    headers: { 'content-type': 'text/plain' },
    wanted: [502, 'CMS_FAILED']
  },
  'maintenance with Retry-After': {
    status: 503,
    body: errors(503, 'CMS is currently under maintenance.'),
    headers: { ...JSONAPI, 'retry-after': '120' },
    wanted: [503, 'CMS_UNAVAILABLE', 'The CMS takes no requests at the moment (maintenance or overload); try again later']
  },
  'maintenance as it was recorded': {
    status: 503,
    body: recording('jsonapi-maintenance-mode-503').response.body,
    wanted: [503, 'CMS_UNAVAILABLE']
  },
  'a status of its own': { status: 599, body: INTERNALS, headers: {}, wanted: [502, 'CMS_FAILED'] }
}

for (const [
  what,
  {
    status,
    body = '',
    headers = JSONAPI,
    wanted: [wantedStatus, code, message]
  }
] of Object.entries(oddities)) {
  t.test(`${what} from the CMS becomes ${wantedStatus} ${code}`, async (t) => {
    await all(t, (response) => say(response, status, body, headers), {
      status: wantedStatus,
      code,
      ...(message && { message }),
      cause: new RegExp(`the CMS answered ${status}: `),
      retryAfter: wantedStatus === 503 ? (headers['retry-after' as keyof typeof headers] ?? '30') : undefined,
      // Labels are done without where the CMS does not show them.
      spared: status >= 400 && status < 500 && status !== 429 && code !== 'CMS_INVALID_RESPONSE' ? ['bundles'] : []
    })
  })
}

const unreachable = { status: 502, code: 'CMS_UNREACHABLE', message: 'The CMS could not be reached' }
const late = { status: 504, code: 'CMS_TIMEOUT', message: `The CMS did not answer within ${TIMEOUT_MS} ms`, cause: /timeout/i }
const tooMuch = { status: 502, code: 'CMS_INVALID_RESPONSE' }

/** Bytes for ever, or until nobody wants more. */
function flood(response: ServerResponse, chunk: string, most: number): void {
  let sent = 0
  const more = () => {
    while (sent < most && !response.destroyed) {
      sent += chunk.length
      if (!response.write(chunk)) return response.once('drain', more)
    }
    return response.end()
  }
  more()
}

const faults: Record<string, [script: Script, wanted: Wanted]> = {
  'a reset before the headers': [(response) => response.socket!.resetAndDestroy(), { ...unreachable, cause: /ECONNRESET/ }],
  'an end before the headers': [(response) => response.socket!.destroy(), { ...unreachable, cause: /other side closed/ }],
  'a reset inside the headers': [
    (response) => response.socket!.write('HTTP/1.1 200 OK\r\nContent-Ty', () => response.socket!.resetAndDestroy()),
    { ...unreachable, cause: /ECONNRESET/ }
  ],
  'no HTTP at all': [
    (response) => response.socket!.end('220 mail.example ESMTP\r\n'),
    { ...unreachable, message: 'The CMS answered something that is not HTTP/1.1', cause: /Expected HTTP/ }
  ],
  'a reset inside the body': [
    (response) =>
      response
        .writeHead(200, { ...JSONAPI, 'content-length': text.length })
        .write(text.slice(0, 100), () => response.socket!.resetAndDestroy()),
    { ...unreachable, cause: /terminated|ECONNRESET/ }
  ],
  'an end inside a chunked body': [
    (response) => response.writeHead(200, JSONAPI).write(text.slice(0, 100), () => response.socket!.destroy()),
    { ...unreachable, cause: /terminated|closed/ }
  ],
  'a body that ends early, its length not told': [
    (response) =>
      response.socket!.end(`HTTP/1.1 200 OK\r\nContent-Type: application/vnd.api+json\r\nConnection: close\r\n\r\n${text.slice(0, 100)}`),
    { status: 502, code: 'CMS_INVALID_RESPONSE', message: notJsonapi, cause: /the CMS answered 200: \d+ bytes/ }
  ],
  'no headers in time': [() => {}, late],
  'headers, but no body in time': [(response) => response.writeHead(200, JSONAPI).flushHeaders(), late],
  'headers drop by drop': [
    (response) => {
      response.socket!.write('HTTP/1.1 200 OK\r\n')
      const drops = setInterval(() => response.socket?.write('X-Drop: 1\r\n'), 20)
      response.socket!.on('close', () => clearInterval(drops))
    },
    late
  ],
  'a body drop by drop': [
    (response) => {
      response.writeHead(200, JSONAPI)
      const drops = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(drops))
    },
    late
  ],
  'a body of 100 MB': [
    (response) => flood(response.writeHead(200, JSONAPI), ' '.repeat(1024 * 1024), 100 * 1024 * 1024),
    { ...tooMuch, message: /^The CMS answered with more than 16 MiB, /, cause: /exceeded/i }
  ],
  'headers of 100 kB': [
    (response) => say(response, 200, text, { ...JSONAPI, 'x-long': 'x'.repeat(100_000) }),
    { ...tooMuch, message: /^The CMS answered with header fields of more than 64 KiB/, cause: /overflow/i }
  ],
  'a redirect loop': [
    (response, { url }) => say(response, 301, html, { location: url!, ...HTML }),
    { status: 502, code: 'CMS_INVALID_RESPONSE', message: notJsonapi, cause: /the CMS answered 301/ }
  ],
  'a failure at the first of two tries and headers that stop at the second': [
    (() => {
      const tried = new Set<string>()
      return (response, { url }) => {
        if (tried.has(url!)) return
        tried.add(url!)
        response.socket!.resetAndDestroy()
      }
    })(),
    late
  ]
}

for (const [what, [script, wanted]] of Object.entries(faults)) {
  t.test(`${what} from the CMS becomes ${wanted.status} ${wanted.code}`, async (t) => {
    // Writes have one try only.
    await all(t, script, wanted, what.includes('two tries') ? [reads] : [reads, writes])
  })
}

t.test('a redirect to another host is not followed, and takes no credentials there', async (t) => {
  let visits = 0
  const elsewhere = createServer((_request, response) => {
    visits++
    response.end()
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  t.teardown(() => elsewhere.close())
  const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/user/login`
  for (const status of [302, 307]) {
    await all(t, (response) => say(response, status, html, { location, ...HTML }), {
      status: 502,
      code: 'CMS_INVALID_RESPONSE',
      message: notJsonapi,
      cause: new RegExp(`the CMS answered ${status}`)
    })
  }
  t.equal(visits, 0)
})

t.test('a CMS that refuses connections is away', async (t) => {
  await cms.down()
  for (const names of [reads, writes]) await check(t, names, patient, { ...unreachable, cause: /ECONNREFUSED/ })
  t.match((await patient.app.inject('/health/ready')).json().dependencies.cms, {
    status: 'unavailable',
    message: 'The CMS could not be reached'
  })
  await cms.up()
  await works(t)
})

t.test('a CMS that accepts no connection is known not to have been written to', async (t) => {
  const deaf = await startDeaf(t, Number(new URL(cms.url).port))
  const start = (ms: number) => buildLogged(t, { CMS_URL: deaf.url, CMS_TIMEOUT_MS: String(ms), staleSeconds: '0' })
  const service = await start(TIMEOUT_MS)
  // undici looks twice a second who has waited too long for a connection.
  const slower = await start(4000)
  for (const names of [reads, writes]) {
    await check(t, names, service, {
      status: 504,
      code: 'CMS_TIMEOUT',
      message: /^No connection to the CMS was free within 500 ms$/,
      cause: /no connection was free: .*not within 500 ms/
    })
    await check(t, names, slower, {
      status: 504,
      code: 'CMS_TIMEOUT',
      message: /^The CMS did not accept a connection within 2000 ms$/,
      cause: /Connect Timeout/
    })
  }
  deaf.wake()
  // The system repeats an unanswered connection after a second, then after two more, and there are several.
  for (const end = performance.now() + 8000; performance.now() < end && (await statusesOf(service.app)).some((status) => status >= 500);) {
    await sleep(50)
  }
  await works(t, service)
})
