import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { cmsAdvice } from '../../packages/setup/doctor/advice.ts'
import { line } from '../../packages/setup/diagnosis.ts'
import { Failure } from '#lib/errors.ts'
import { createHttp } from '#lib/http/client.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { errorAsLogged } from '../../config/fastify.ts'
import { raw, startRawServer, type Pieces } from '../fixtures/raw-server.ts'
import { buildLogged } from '../helper.ts'
import { newCaller } from '#lib/http/calls.ts'

const HTML = { 'content-type': 'text/html; charset=UTF-8' }
const JSONAPI = { 'content-type': 'application/vnd.api+json' }
const DOCUMENT = JSON.stringify({ data: [], meta: { title: 'é' } })
const CREDENTIALS = Buffer.from('editor:hunter2').toString('base64')
const BASIC = { authorization: `Basic ${CREDENTIALS}` }

async function clientFor(t: Test, answer: Pieces) {
  const cms = await startRawServer(t, () => answer)
  const http = createHttp({ url: cms.url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const ask = (write = false) =>
    jsonapi.request({ path: '', caller: newCaller(BASIC), ...(write && { method: 'POST' as const, body: { data: {} } }) })
  const failure = () =>
    ask().then(
      () => {
        throw new Error('it was taken for JSON:API')
      },
      (error: Failure) => error
    )
  return { ...cms, ask, failure }
}

const cut = (text: string, index: number) =>
  Buffer.concat([Buffer.from(text.slice(0, index)), Buffer.from([0xe9]), Buffer.from(text.slice(index))])

const SETTINGS = /; are CMS_URL and CMS_JSONAPI_PATH right and is Drupal's module jsonapi on\?$/
const TO_CORRECT = /: correct CMS_URL, CMS_JSONAPI_PATH and CONTENT_MODEL, and turn Drupal's module jsonapi on$/

/** What comes, what a caller is told of it, and what the log and the doctor say. */
const cases: Record<string, [answer: Pieces, told: RegExp | string, logged: RegExp | string, remedy: RegExp | string]> = {
  'a redirect to https': [
    raw(301, { location: 'https://www.cms.example:8443/jsonapi?token=hunter2#x' }),
    /: a redirect \(status 301\) to https:\/\/…\/jsonapi; correct CMS_URL or CMS_JSONAPI_PATH, so that they name the address to which it redirects$/,
    'the CMS answered 301: a redirect to https://www.cms.example:8443/jsonapi',
    /: correct CMS_URL or CMS_JSONAPI_PATH/
  ],
  'a redirect to a login': [
    raw(302, { location: '/user/login?destination=/jsonapi' }),
    /: a redirect \(status 302\) to \/user\/login; a login stands before Drupal's JSON:API: let Quoin's requests through it$/,
    'the CMS answered 302: a redirect to /user/login',
    /: a login stands before/
  ],
  'a redirect to a single sign-on, with credentials in the address': [
    raw(307, { location: 'https://editor:hunter2@login.example/saml2?SAMLRequest=abc' }),
    /: a redirect \(status 307\) to https:\/\/…\/saml2; a login stands/,
    'the CMS answered 307: a redirect to https://login.example/saml2',
    /: a login stands before/
  ],
  'a redirect to nowhere': [
    raw(302, { location: 'http://[' }),
    /: status 302 without an address; are CMS_URL/,
    'the CMS answered 302: no address',
    TO_CORRECT
  ],
  'not modified, though nobody asked': [raw(304, {}), /: status 304 without an address/, 'the CMS answered 304: no address', TO_CORRECT],
  'a content coding': [
    raw(200, { ...JSONAPI, 'content-encoding': 'gzip' }, gzipSync(DOCUMENT)),
    /: a body in the content coding gzip \(status 200\); Quoin asks for none \(Accept-Encoding: identity\): let the proxy before Drupal heed it$/,
    /^the CMS answered 200: content coding gzip, \d+ bytes$/,
    /: Quoin asks for none/
  ],
  'a login page': [
    raw(200, HTML, '<html><head><title>Log in\n | The Daily</title></head><form><input name="p" type="password"></form></html>'),
    /: a login page \(status 200, "Log in \| The Daily"\); a login stands before/,
    'the CMS answered 200: Log in | The Daily',
    /: a login stands before/
  ],
  'a refused host, as Drupal says it': [
    raw(400, HTML, 'The provided host name is not valid for this server.'),
    /: a refusal of the host in CMS_URL \(status 400\); correct CMS_URL, or name its host in trusted_host_patterns in settings\.php$/,
    'the CMS answered 400: The provided host name is not valid for this server.',
    /: correct CMS_URL, or name its host/
  ],
  'a misdirected request': [
    raw(421, HTML, '<title>421 Misdirected Request</title>'),
    /: a refusal of the host in CMS_URL \(status 421\)/,
    'the CMS answered 421: 421 Misdirected Request',
    /trusted_host_patterns/
  ],
  'a page': [
    raw(404, HTML, '<title>Page not found</title><body>'),
    /: a page of HTML \(status 404, "Page not found"\); are CMS_URL/,
    'the CMS answered 404: Page not found',
    TO_CORRECT
  ],
  'a page without a title': [
    raw(403, HTML, '<html><body><b>Blocked</b> by the\u0007 firewall'),
    /: a page of HTML \(status 403\); are CMS_URL/,
    'the CMS answered 403: Blocked by the firewall',
    TO_CORRECT
  ],
  'a page that says it is JSON': [
    raw(200, JSONAPI, ' <!DOCTYPE html><title>Hello</title>'),
    /: a page of HTML \(status 200, "Hello"\)/,
    'the CMS answered 200: Hello',
    TO_CORRECT
  ],
  'a page with a title of 10 kB': [
    raw(200, HTML, `<title>${'x'.repeat(10_000)}</title>`),
    /\(status 200, "x{100}"\)/,
    /^the CMS answered 200: x{200}$/,
    TO_CORRECT
  ],
  'a page that repeats the password': [
    raw(403, HTML, `<title>Blocked</title>${CREDENTIALS}`),
    /: a page of HTML \(status 403\); are/,
    /^the CMS answered 403: \d+ bytes, which repeat credentials$/,
    TO_CORRECT
  ],
  'plain text': [
    raw(404, { 'content-type': 'text/plain' }, '404 page not found\n'),
    /: a body of the type text\/plain \(status 404\); are/,
    'the CMS answered 404: 404 page not found',
    TO_CORRECT
  ],
  'a media type that is none': [
    raw(200, { 'content-type': 'a/b"<script>' }, 'x'),
    /: a body of the type a\/b script\s+\(status 200\)/,
    'the CMS answered 200: 1 bytes',
    TO_CORRECT
  ],
  'no media type': [
    raw(200, {}, DOCUMENT),
    /: a body without a media type \(status 200\)/,
    /^the CMS answered 200: \d+ bytes$/,
    TO_CORRECT
  ],
  'no body': [raw(200, JSONAPI), /: nothing \(status 200\); are/, 'the CMS answered 200: no bytes', TO_CORRECT],
  'JSON of another form': [
    raw(200, { 'content-type': 'application/json' }, '{"secret":1}'),
    /: JSON of another form \(status 200\); are/,
    'the CMS answered 200: 12 bytes',
    TO_CORRECT
  ],
  'JSON that breaks off': [
    raw(200, JSONAPI, DOCUMENT.slice(0, -3)),
    /: JSON that is broken \(status 200\); something writes into it, or it breaks off/,
    /^the CMS answered 200: \d+ bytes$/,
    /: something writes into it/
  ],
  'a warning of PHP before the JSON': [
    raw(200, JSONAPI, `Warning: foo\n${DOCUMENT}`),
    /: JSON that is broken/,
    /^the CMS answered 200: \d+ bytes$/,
    /: something writes into it/
  ],
  'JSON in Latin-1': [
    raw(200, JSONAPI, cut('{"data":[],"a":"Caf"}', 19)),
    /: JSON that is not UTF-8 \(status 200\); a text in Drupal has bytes of another encoding/,
    'the CMS answered 200: not UTF-8 from byte 19 of 22 on',
    /: a text in Drupal/
  ],
  'JSON with an odd byte after two real U+FFFD': [
    raw(200, JSONAPI, cut('{"data":[],"a":"\uFFFDé\uFFFDx"}', 20)),
    /: JSON that is not UTF-8/,
    'the CMS answered 200: not UTF-8 from byte 25 of 28 on',
    /: a text in Drupal/
  ],
  'JSON that ends within a letter': [
    raw(200, JSONAPI, Buffer.from('{"data":[],"a":"é').subarray(0, -1)),
    /: JSON that is not UTF-8/,
    'the CMS answered 200: not UTF-8 from byte 16 of 17 on',
    /: a text in Drupal/
  ],
  'an error in Latin-1': [
    raw(422, JSONAPI, cut('{"errors":[{"detail":"x"}]}', 22)),
    /: JSON that is not UTF-8 \(status 422\)/,
    /not UTF-8/,
    /: a text in Drupal/
  ]
}

t.test('whatever comes that is not JSON:API is named to the caller, the log and the doctor', async (t) => {
  for (const [what, [answer, told, logged, remedy]] of Object.entries(cases)) {
    const { failure } = await clientFor(t, answer)
    const error = await failure()
    t.equal(error.code, 'CMS_INVALID_RESPONSE', what)
    t.match(error.message, told, what)
    t.match(error.message, /^The CMS answered something that is not JSON:API: /, what)
    t.equal(SETTINGS.test(error.message), remedy === TO_CORRECT, `${what}: settings are named where they may be wrong`)
    const cause = (error.cause as Error).message
    if (typeof logged === 'string') t.equal(cause, logged, what)
    else t.match(cause, logged, what)
    t.ok(errorAsLogged(error).message.includes(cause), `${what}: the log has it`)
    const diagnosis = line(cmsAdvice(error, 'https://cms.example'))
    t.ok(diagnosis.includes(cause), `${what}: the doctor says ${diagnosis}`)
    t.match(diagnosis, remedy, what)
    t.notMatch(
      [error.message, cause, diagnosis].join('\n'),
      /hunter2|secret|token=|SAMLRequest|\p{Cc}(?<!\n)/u,
      `${what}: no credentials, no control characters`
    )
  }
})

t.test('an answer of JSON:API is asked for without a content coding', async (t) => {
  const { ask, requests } = await clientFor(t, raw(200, JSONAPI, DOCUMENT))
  t.equal((await ask()).status, 200)
  t.match(requests, [/\r\naccept-encoding: identity(?:\r\n|$)/])
})

t.test('header fields that are too long, and bytes that are not HTTP, are called so', async (t) => {
  const long = await (await clientFor(t, raw(200, { ...JSONAPI, 'x-drupal-cache-tags': 'node:1 '.repeat(20_000) }, DOCUMENT))).failure()
  t.match(long, {
    code: 'CMS_INVALID_RESPONSE',
    message: /^The CMS answered with header fields of more than 64 KiB\. .*X-Drupal-Cache-Tags/
  })
  t.equal(line(cmsAdvice(long, 'https://cms.example')), `!    CMS: ${long.message}`, 'the doctor has no other remedy')
  const smtp = await (await clientFor(t, '220 mail.example ESMTP\r\n')).failure()
  t.match(smtp, { code: 'CMS_UNREACHABLE', message: 'The CMS answered something that is not HTTP/1.1' })
})

t.test('interim answers that nobody asked for are read over, whole or in pieces, before any answer of a connection', async (t) => {
  const answer = raw(200, JSONAPI, DOCUMENT)
  const early = 'HTTP/1.1 100 Continue\r\n\r\n'
  const letters = Array.from(early + answer.toString('latin1', 0, 20), (letter) => Buffer.from(letter, 'latin1'))
  const flows: Record<string, Pieces> = {
    'with the answer': Buffer.concat([Buffer.from(early), answer]),
    'before the answer': [early, answer],
    'of HTTP/1.0, without a reason': ['HTTP/1.0 100\r\n\r\n', answer],
    'with fields': ['HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n', answer],
    twice: [early, Buffer.concat([Buffer.from(early), answer])],
    'byte by byte': [...letters, answer.subarray(20)],
    '102 and 103': ['HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', answer],
    'before a body that looks like one': [early, raw(200, JSONAPI, JSON.stringify({ data: [], meta: { text: early } }))]
  }
  for (const [what, pieces] of Object.entries(flows)) {
    const { ask, requests } = await clientFor(t, pieces)
    for (const write of [true, false, true, false]) {
      t.match(await ask(write), { status: 200, document: { data: [] } }, `${what}, ${write ? 'a write' : 'a read'}`)
    }
    t.equal(requests.length, 4, `${what}: each is sent once`)
  }
})

t.test('interim answers without an end, or without an answer behind them, are an outage', async (t) => {
  const flood = await clientFor(t, Array(20).fill('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)))
  t.match(await flood.failure(), { code: 'CMS_UNREACHABLE' })
  const endless = await clientFor(t, `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(200_000)}`)
  t.match(await endless.failure(), { code: 'CMS_INVALID_RESPONSE', message: /with header fields of more than/ })
})

t.test('the application tells its callers and its log what the CMS said', async (t) => {
  const { url } = await startRawServer(t, () => raw(302, { location: 'https://sso.example/login?ticket=abc' }))
  const { app, logged } = await buildLogged(t, { CMS_URL: url })
  const reply = await app.inject({ url: '/api/collections/daily', headers: BASIC })
  t.match(reply.json(), {
    statusCode: 502,
    code: 'CMS_INVALID_RESPONSE',
    message: /a redirect \(status 302\) to https:\/\/…\/login; a login stands before/
  })
  t.match(
    logged().find(({ level }) => level >= 50),
    { err: { message: /the CMS answered 302: a redirect to https:\/\/sso\.example\/login$/ } }
  )
  const health = await app.inject('/health/ready')
  t.match(health.json().dependencies.cms, { status: 'unavailable', message: /a redirect \(status 302\)/ })
})
