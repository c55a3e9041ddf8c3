import { deepStrictEqual, match } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { basic, editionsOf } from '../editions/site.ts'
import fc from '../fixtures/property.ts'
import { build } from '../helper.ts'
import { record, requestsIn } from './fixtures/recorder.ts'
import { createWire } from './fixtures/wire.ts'

/** What may end a path, a parameter, a field or a line, in every spelling that something on the way may undo. */
const PIECES = [
  '%2f',
  '%2F',
  '%5c',
  '%252f',
  '%00',
  '%0d%0a',
  '%0D%0AX-Evil:%201',
  '%250d%250a',
  '%c0%af',
  '%e5%98%8a%e5%98%8d',
  '%',
  '%zz',
  '..',
  '../',
  '..\\',
  './',
  '//',
  '/',
  '\\',
  '?',
  '&',
  '#',
  ';',
  '=',
  '+',
  ' ',
  '\r\n',
  '\n',
  '\r',
  '\0',
  '\t',
  '\u0085',
  '\u2028',
  '\u2029',
  '\uff0f',
  '\u2215',
  '\u2024\u2024',
  '\u560a',
  '\u560d',
  '\u010d\u010a',
  '\u0120HTTP/1.1',
  ' HTTP/1.1\r\nHost: evil\r\n\r\n',
  '[',
  ']',
  '[value]',
  'filter[x]',
  'page[limit]=500',
  '&include=uid',
  '&filter[status]=0',
  '"',
  "'",
  '`',
  '<',
  '>',
  '{',
  '|',
  '^',
  '~',
  '*',
  '@',
  ':',
  'http://evil.example/',
  'a',
  'Z',
  '0',
  'é',
  'ß',
  '日',
  '😀',
  'e\u0301',
  '\u202e',
  '\ufeff',
  '\u0001',
  '\u007f'
]
const hostile = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''))

const cms = createCms({ content: newspaper() })
t.teardown(() => cms.close())
const upstream = await record(t, await cms.listen())
const fastify = await build(t, { CMS_URL: upstream.url })
await fastify.listen({ host: '127.0.0.1', port: 0 })
const wire = createWire((fastify.server.address() as AddressInfo).port)
t.teardown(() => wire.close())

const { id, uuid } = editionsOf(newspaper())[0]!
const editor = basic('editor').authorization
const runs = { numRuns: 150 }

/** Sends a request of which only what is hostile in it is not as it should be. */
async function call(method: string, target: string, fields: Record<string, string> = {}, body?: unknown) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host: 'quoin',
    authorization: editor,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    ...fields
  }
  const head = `${method} ${target} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
  return wire.send(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(text)]))
}

/** As application/x-www-form-urlencoded has it, byte by byte (URL standard, section 5.2). */
function formEncoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) =>
      byte === 0x20
        ? '+'
        : /[A-Za-z0-9*._-]/.test(String.fromCharCode(byte))
          ? String.fromCharCode(byte)
          : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    )
    .join('')
}

/** The paths and the names of parameters that requests go to, without which edition and which of several values. */
function shapesOf(requests: Array<{ line: string }>): string[] {
  return [
    ...new Set(
      requests.map(({ line }) => {
        const [, method, path, query = ''] = /^([A-Z]+) ([^ ?]*)\??([^ ]*) HTTP\/1\.1$/.exec(line) ?? []
        const names = query
          .split('&')
          .filter((pair) => pair !== '')
          .map((pair) => decodeURIComponent(pair.split('=', 1)[0]!).replaceAll(/\[\d+\]|\[c\d\]/g, '[n]'))
        return path === undefined
          ? `not a request line: ${line}`
          : `${method} ${path.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, '{uuid}')} ${[...new Set(names)].sort().join(' ')}`
      })
    )
  ]
}

const LISTS = ['/api/collections/daily', '/api/collections/publisher_container']

/** Letters with a case that not every database knows: of a text with such a part of it is looked for, or the whole in each case. */
const CASED = /(?![ -~])\p{Changes_When_Casemapped}/u

/** What `q` is looked for by, in a query. */
function looksFor(q: string): Set<string> {
  const start = [...q].slice(0, 32).join('')
  return new Set([q, start, start.toLowerCase(), start.toUpperCase(), ...q.split(CASED)].map(formEncoded))
}

/** The shapes of all requests upstream that healthy requests lead to. */
const healthy = new Set(
  shapesOf(
    await upstream.during(async () => {
      const edition = {
        type: 'daily',
        title: [{ value: 'T' }],
        field_key: [{ value: 'k' }],
        field_articles: [{ target_id: 1 }, { target_id: 2 }],
        field_publisher_edition_type: [{ value: 'daily' }]
      }
      // The second time without what was told the first time.
      for (const list of [...LISTS, ...LISTS]) {
        for (const query of [
          '',
          '?q=a',
          '?q=zzzz',
          '?key=a&status=1',
          '?type=daily',
          '?q=a&key=b&status=0&type=special',
          '?total=1&limit=500'
        ]) {
          await call('GET', list + query)
        }
      }
      for (const target of ['bundles', String(id), uuid, '999999', uuid.replace(/^./, 'f')]) await call('GET', `/api/collection/${target}`)
      await call('GET', '/api/publisher-edition/bundles')
      await call('POST', '/api/collection', {}, edition)
      await call('POST', `/api/collection/${id}`, {}, { ...edition, field_articles: [{ target_uuid: uuid, target_type: 'node' }] })
      // Nothing differs, so Quoin asks for the latest version.
      await call('POST', `/api/collection/${id}`, {}, {})
      await call('POST', '/api/collection/999999', {}, edition)
      await call('POST', '/api/collection', {}, { ...edition, field_articles: [{ target_id: 999_999 }] })
      await call('GET', `/api/collection/${uuid}`, { 'accept-language': 'fr' })
    })
  )
)

function isMeant(requests: Array<{ line: string }>): void {
  deepStrictEqual(
    shapesOf(requests).filter((shape) => !healthy.has(shape)),
    []
  )
}

t.test('q and key go upstream as one value, whatever they are', async (t) => {
  let callers = 0
  for (const list of LISTS) {
    for (const name of ['q', 'key']) {
      const lines = async (value: string) => {
        // Each time for a caller who has not been told anything yet.
        const requests = await upstream.during(async () =>
          call('GET', `${list}?${name}=${encodeURIComponent(value)}&limit=1`, { 'accept-language': `en-x-${callers++}` })
        )
        return requests.map(({ line }) => line).sort()
      }
      const template = await lines('MARK')
      t.match(template.join(), /=MARK&/)
      await fc.assert(
        fc.asyncProperty(hostile, async (value) => {
          if (name === 'q' && CASED.test(value)) {
            const cased = await lines(value)
            deepStrictEqual(...([cased, template].map((lines) => shapesOf(lines.map((line) => ({ line })))) as [string[], string[]]))
            const sent = cased.flatMap((line) => [...line.matchAll(/%5Bvalue%5D=([^& ]*)/g)].map(([, given]) => given!))
            return deepStrictEqual(
              sent.filter((given) => !looksFor(value).has(given)),
              []
            )
          }
          deepStrictEqual(await lines(value), template.map((line) => line.replaceAll('=MARK&', () => `=${formEncoded(value)}&`)).sort())
        }),
        { numRuns: 60, includeErrorInReport: true }
      )
    }
  }
})

t.test('{id}, {bundle}, type and the raw query can neither change the path upstream nor add a parameter', async (t) => {
  const spellings: Array<(text: string) => string> = [
    encodeURIComponent,
    (text) => encodeURIComponent(encodeURIComponent(text)),
    (text) => Buffer.from(text.replaceAll(/[\0\r\n ]/g, '')).toString('latin1')
  ]
  const places: Array<(text: string) => string> = [
    (text) => `/api/collection/${text}`,
    (text) => `/api/collection/${id}${text}`,
    (text) => `/api/collection/${uuid}${text}`,
    (text) => `/api/collection/${text}${uuid}`,
    (text) => `/api/collections/${text}`,
    (text) => `/api/collections/daily${text}`,
    (text) => `/api/collections/daily?type=${text}`,
    (text) => `/api/collections/daily?type=daily${text}`,
    (text) => `/api/collections/daily?${text}`,
    (text) => `/api/collections/daily?q=a${text}`,
    (text) => `/api/collections/daily?q=a&${text}=b`,
    (text) => `/api/collections/daily?limit=1${text}`
  ]
  await fc.assert(
    fc.asyncProperty(
      hostile,
      fc.constantFrom(...spellings),
      fc.constantFrom(...places),
      fc.constantFrom('GET', 'POST'),
      async (text, spell, place, method) => {
        const target = place(spell(text))
        isMeant(await upstream.during(async () => call(method, target, {}, method === 'POST' ? { title: [{ value: 'T' }] } : undefined)))
      }
    ),
    { numRuns: 4 * runs.numRuns, includeErrorInReport: true }
  )
  t.pass()
})

t.test('nothing in a body can change the path upstream or add a parameter', async (t) => {
  const wrongs: Array<(text: string) => object> = [
    (text) => ({ type: text }),
    (text) => ({ type: [{ target_id: `daily${text}` }] }),
    (text) => ({ field_publisher_edition_type: [{ value: text }] }),
    (text) => ({ type: 'daily', id: [{ value: text }], uuid: [{ value: text }] }),
    (text) => ({ type: 'daily', field_articles: [{ target_id: text }] }),
    (text) => ({ type: 'daily', field_articles: [{ target_id: 1, target_type: text }] }),
    (text) => ({ type: 'daily', field_articles: [{ target_uuid: text, target_type: 'node' }] }),
    (text) => ({ type: 'daily', field_articles: [{ target_uuid: uuid + text }] }),
    (text) => ({ type: 'daily', [text]: [{ value: text }] }),
    (text) => ({ type: 'daily', [text]: [{ target_id: 1, target_type: 'node' }] }),
    (text) => ({ type: 'daily', langcode: [{ value: text }] })
  ]
  await fc.assert(
    fc.asyncProperty(
      hostile,
      fc.constantFrom(...wrongs),
      fc.constantFrom('/api/collection', `/api/collection/${id}`),
      async (text, wrong, target) => {
        const body = wrong(text)
        isMeant(await upstream.during(async () => call('POST', target, {}, body)))
      }
    ),
    { numRuns: 2 * runs.numRuns, includeErrorInReport: true }
  )
  t.pass()
})

t.test('of the header only what is meant to goes upstream, byte by byte, and never as a line more', async (t) => {
  const bytes = fc
    .array(
      fc.oneof(fc.constantFrom(...PIECES, ', ', ';q=0.5', 'fr-CA', '\x80', '\xff'), fc.string({ unit: 'binary-ascii', maxLength: 5 })),
      { maxLength: 6 }
    )
    .map((pieces) =>
      Buffer.from(pieces.join(''))
        .toString('latin1')
        .replaceAll(/[\r\n\0]/g, '')
    )
  // Of control characters Node lets none through; a request with one goes nowhere.
  const value = fc.oneof(
    { weight: 30, arbitrary: bytes.map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')) },
    { weight: 1, arbitrary: bytes }
  )
  let looked = 0
  const credentials = fc.constantFrom(['authorization'], ['cookie'], ['authorization', 'cookie'], [])
  await fc.assert(
    fc.asyncProperty(
      fc.record({ value, language: value, uid: value, requestId: value, token: value, credentials }),
      async ({ value, language, uid, requestId, token, credentials }) => {
        // Only a session's cookie goes upstream, up to the next one.
        const session = `SESS1=${value.split(';', 1)[0]}`
        const fields = {
          'accept-language': language,
          'x-user-uid': uid,
          'x-request-id': requestId,
          'x-csrf-token': token,
          'x-forwarded-for': uid,
          referer: uid,
          ...Object.fromEntries(credentials.map((name) => [name, name === 'cookie' ? session : value]))
        }
        const head = Object.entries({ host: 'quoin', ...fields })
          .map(([name, text]) => `${name}: ${text}\r\n`)
          .join('')
        let status = 0
        const requests = await upstream.during(async () => {
          status = (await wire.send(Buffer.from(`GET /api/collection/${uuid} HTTP/1.1\r\n${head}\r\n`, 'latin1'))).status
        })
        match(String(status), /^[234]/)
        isMeant(requests)
        // RFC 9110 section 5.5: white space around a value is no part of it.
        const own = (text: string) => text.replaceAll(/^[ \t]+|[ \t]+$/g, '')
        for (const { fields: sent, body } of requests) {
          const got = Object.fromEntries(sent.map(([name, text]) => [name.toLowerCase(), text]))
          const { host: _host, connection: _connection, accept: _accept, 'accept-encoding': _coding, 'x-request-id': id, ...rest } = got
          const expected = {
            ...(own(language) && { 'accept-language': own(language) }),
            // Never both: with a session cookie Drupal demands the token even of a Basic request.
            ...(credentials[0] === 'authorization' && own(value) && { authorization: own(value) }),
            ...((credentials[0] === 'cookie' || (credentials.length > 1 && !own(value))) &&
              own(session) !== 'SESS1=' && { cookie: own(session), 'x-csrf-token': own(token) })
          }
          deepStrictEqual([rest, sent.length, body], [expected, Object.keys(got).length, ''])
          if (/^[\w.:-]{1,128}$/.test(own(requestId))) deepStrictEqual(id, own(requestId))
          else match(id!, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/)
          looked++
        }
      }
    ),
    { ...runs, includeErrorInReport: true }
  )
  t.ok(looked > 50, 'many of them got there')
})

t.test('nothing that the CMS answers can add a line to the header of an answer, or make it fail', async (t) => {
  let odd: { status?: number; fields?: string; body?: (text: string) => string } = {}
  const address = upstream.url
  const between = createServer((near) => {
    near.on('error', () => {})
    near.once('data', async (bytes: Buffer) => {
      const [request] = requestsIn(bytes.toString('latin1'))
      const [method, path] = request!.line.split(' ')
      const headers = request!.fields.filter(([name]) => !/^(?:host|connection|content-length)$/i.test(name))
      const reply = await fetch(address + path, {
        method: method!,
        headers,
        ...(request!.body && { body: Buffer.from(request!.body, 'latin1') })
      })
      const text = await reply.text()
      const body = Buffer.from(odd.body ? odd.body(text) : text)
      near.end(
        Buffer.concat([
          Buffer.from(
            `HTTP/1.1 ${odd.status ?? reply.status} x\r\nConnection: close\r\nContent-Type: application/vnd.api+json\r\nContent-Length: ${body.length}\r\n${odd.fields ?? ''}\r\n`,
            'latin1'
          ),
          body
        ])
      )
    })
  }).listen(0, '127.0.0.1')
  await once(between, 'listening')
  t.teardown(() => between.close())
  const facing = await build(t, { CMS_URL: `http://127.0.0.1:${(between.address() as AddressInfo).port}` })
  await facing.listen({ host: '127.0.0.1', port: 0 })
  const client = createWire((facing.server.address() as AddressInfo).port)
  t.teardown(() => client.close())
  const get = `GET /api/collection/${uuid} HTTP/1.1\r\nHost: x\r\nAuthorization: ${editor}\r\n\r\n`
  const edition = JSON.stringify({ type: 'daily', title: [{ value: 'T' }], field_publisher_edition_type: [{ value: 'daily' }] })
  let keys = 0
  const post = () => {
    const body = edition.replace('}]}', `}],"field_key":[{"value":"injected-${keys++}"}]}`)
    return `POST /api/collection HTTP/1.1\r\nHost: x\r\nAuthorization: ${editor}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  const clean = await client.send(post())
  t.equal(clean.status, 201)
  t.match(clean.headers.get('location'), /^\/api\/collection\/\d+$/)

  const evil = [
    '1\r\nSet-Cookie: evil=1',
    '1\n\nevil',
    '../../evil',
    '//evil.example',
    'ß–日',
    '\u010d\u010aSet-Cookie: evil',
    '\0',
    '"',
    '\ud800',
    '1 2',
    {},
    null,
    [],
    1e300,
    true
  ]
  for (const value of evil) {
    for (const name of ['drupal_internal__id', 'drupal_internal__revision_id', 'drupal_internal__vid', 'changed']) {
      odd = {
        body: (text) => text.replaceAll(new RegExp(`("${name}"):(?:\\d+|"[^"]*")`, 'g'), (_all, key) => `${key}:${JSON.stringify(value)}`)
      }
      for (const request of [get, post()]) {
        const { status, headers } = await client.send(request)
        const what = `${name} ${JSON.stringify(value)} ${request.slice(0, 4)}`
        t.ok(status === 502 || status < 500, `${what}: ${status}`)
        t.notOk(headers.has('set-cookie'), what)
        t.match(headers.get('location') ?? '/api/collection/', /^\/api\/collection\/[\w%.~!*'()-]*$/, what)
        t.match(headers.get('etag') ?? '""', /^"[\x21\x23-\x7e\x80-\xff]*"$/, what)
      }
    }
  }
  const values = [
    'soon',
    '-1',
    '99999999999999999999',
    '',
    'Gr\xc3\xb6\xc3\x9fe \xe2\x80\x93 \xe6\x97\xa5',
    'Gr\xf6\xdfe',
    '7\r\nRetry-After: 8',
    'Basic realm="a"\r\nWWW-Authenticate: Bearer',
    'a\tb'
  ]
  for (const [status, name] of [
    [401, 'WWW-Authenticate'],
    [503, 'Retry-After'],
    [429, 'Retry-After']
  ] as const) {
    for (const value of values) {
      odd = { status, fields: `${name}: ${value}\r\nSet-Cookie: evil=1\r\nX-Evil: 1\r\n` }
      const answer = await client.send(get)
      const what = `${status} ${name}: ${JSON.stringify(value)}`
      t.equal(answer.status, status === 401 ? 401 : 503, what)
      t.notOk(answer.headers.has('set-cookie') || answer.headers.has('x-evil'), what)
      t.ok(answer.headers.has(name.toLowerCase()), what)
    }
  }
})
