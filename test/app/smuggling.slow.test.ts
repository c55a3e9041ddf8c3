import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { basic, editionsOf, open } from '../editions/site.ts'
import { newspaper } from '../../dev/content.ts'
import fc from '../fixtures/property.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const LOCK = '/api/cloud/data-state/node/1'
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
const AFTER = 'GET /after HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

const { endpoint } = await startEngine(t, 'dynalite')
const { app: fastify, call } = await open(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
await fastify.listen({ host: '127.0.0.1', port: 0 })
const { port } = fastify.server.address() as AddressInfo
const handled: string[] = []
fastify.server.on('request', ({ url }) => handled.push(String(url)))

/** What is answered to bytes until the connection ends, and which requests the service has seen in them. */
async function exchange(bytes: string): Promise<{ statuses: number[]; bodies: string[]; seen: string[] }> {
  handled.length = 0
  const socket = connect(port, '127.0.0.1')
    .setEncoding('latin1')
    .on('error', () => {})
  socket.setTimeout(20_000, () => socket.destroy())
  socket.write(Buffer.from(bytes, 'latin1'))
  let text = ''
  for await (const chunk of socket) text += chunk
  const answers = text.split(/(?=HTTP\/1\.1 \d{3} )/)
  return {
    statuses: answers.map((answer) => Number(answer.slice(9, 12))).filter((status) => status >= 200),
    bodies: answers.map((answer) => answer.split('\r\n\r\n')[1] ?? ''),
    seen: [...handled]
  }
}

const isLater = (url: string) => url === '/smuggled' || url === '/after'

const chunked = (chunks: string) =>
  `POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`
const sized = (fields: string, body = '') => `POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${fields}\r\n${body}`
const length = (text: string) => `Content-Length: ${text.length}\r\n`

const refused: Array<[rule: string, bytes: string]> = [
  ['Content-Length beside Transfer-Encoding', sized('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
  [
    'Transfer-Encoding beside Content-Length',
    sized(`Transfer-Encoding: chunked\r\n${length(`0\r\n\r\n${SMUGGLED}`)}`, `0\r\n\r\n${SMUGGLED}`)
  ],
  ['two lengths that differ', sized(`Content-Length: 0\r\n${length(SMUGGLED)}`, SMUGGLED)],
  ['two lengths that are the same', sized(`${length(SMUGGLED)}${length(SMUGGLED)}`, SMUGGLED)],
  ['a list of lengths', sized(`Content-Length: ${SMUGGLED.length}, ${SMUGGLED.length}\r\n`, SMUGGLED)],
  ['a length with a sign', sized(`Content-Length: +${SMUGGLED.length}\r\n`, SMUGGLED)],
  ['a negative length', sized('Content-Length: -1\r\n', SMUGGLED)],
  ['a hexadecimal length', sized('Content-Length: 0x24\r\n', SMUGGLED)],
  ['a length with a space in it', sized('Content-Length: 3 6\r\n', SMUGGLED)],
  ['no length', sized('Content-Length:\r\n', SMUGGLED)],
  ['a length beyond all numbers', sized('Content-Length: 18446744073709551652\r\n', SMUGGLED)],
  ['a space before the colon', sized('Content-Length : 36\r\n', SMUGGLED)],
  ['a space before the colon of Transfer-Encoding', sized('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
  [
    'Transfer-Encoding twice, not ending in chunked',
    sized('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${SMUGGLED}`)
  ],
  ['chunked not last', sized('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${SMUGGLED}`)],
  ['a transfer coding that is none', sized('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
  ['a vertical tab before the coding', sized('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${SMUGGLED}`)],
  ['a folded line (obs-fold)', sized(`X-A: b\r\n ${length(SMUGGLED)}`, SMUGGLED)],
  ['a folded length', sized(`Content-Length:\r\n ${SMUGGLED.length}\r\n`, SMUGGLED)],
  ['white space before the first field', 'GET /health/live HTTP/1.1\r\n Host: x\r\n\r\n'],
  ['lines that end in LF alone', 'GET /health/live HTTP/1.1\nHost: x\n\n'],
  ['one field that ends in LF alone', 'GET /health/live HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n'],
  ['a header that ends in LF LF', `GET /health/live HTTP/1.1\r\nHost: x\n\n${SMUGGLED}`],
  ['CR alone within a field', 'GET /health/live HTTP/1.1\r\nHost: x\rX-A: b\r\n\r\n'],
  ['NUL within a field', 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n'],
  ['a field without a name', 'GET /health/live HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n'],
  ['a field without a colon', 'GET /health/live HTTP/1.1\r\nHost: x\r\nX-A\r\n\r\n'],
  ['a space within the target', 'GET /health/live x HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['HTTP/0.9', 'GET /health/live\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['another protocol', 'GET /health/live RTSP/1.0\r\nHost: x\r\n\r\n'],
  [
    'Transfer-Encoding in HTTP/1.0 beside a length',
    `POST ${LOCK} HTTP/1.0\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`
  ]
]

/** What is refused otherwise than with one 400. What follows a line of HTTP/0.9 is refused by itself. */
const OTHER_STATUSES: Record<string, number[]> = { 'a transfer coding that is none': [501], 'HTTP/0.9': [505, 400] }

const brokenChunks: Array<[rule: string, chunks: string]> = [
  ['a hexadecimal prefix', `0x2\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a negative chunk', `-2\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a chunk beyond all numbers', `FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['no size', `\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a size that is none', `zz\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a chunk longer than its size', `2\r\n{}x\r\n0\r\n\r\n${SMUGGLED}`],
  ['a size that ends in LF alone', `2\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a chunk that ends in LF alone', `2\r\n{}\n0\r\n\r\n${SMUGGLED}`],
  ['an extension that ends in LF alone', `2;a=b\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['CR within an extension', `2;a\rb\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a line within a quoted extension', `2;a="\r\n{}\r\n0\r\n\r\n${SMUGGLED}"\r\n{}\r\n0\r\n\r\n`],
  ['endless extensions', `2;${'a'.repeat(100_000)}\r\n{}\r\n0\r\n\r\n${SMUGGLED}`],
  ['a folded trailer', `2\r\n{}\r\n0\r\nX-A: b\r\n c\r\n\r\n${SMUGGLED}`]
]

t.test('what two parsers may understand differently is refused, and nothing after it on the connection is a request', async (t) => {
  for (const [rule, bytes] of refused) {
    const { statuses, bodies, seen } = await exchange(bytes + AFTER)
    t.strictSame([statuses, seen.filter(isLater)], [OTHER_STATUSES[rule] ?? [400], []], rule)
    t.ok(['BAD_REQUEST'].includes(JSON.parse(bodies[0]!).code ?? JSON.parse(bodies[0]!).error.code), `${rule}: in shape`)
  }
  for (const [rule, chunks] of brokenChunks) {
    const { statuses, seen } = await exchange(chunked(chunks) + AFTER)
    t.strictSame([statuses, seen.filter(isLater)], [[400], []], `chunks: ${rule}`)
  }
})

t.test('a request within a body is never answered, however its own request ends', async (t) => {
  const body = `${SMUGGLED}POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`
  const encoded = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const targets: Array<[line: string, type: string, status: number]> = [
    [`POST ${LOCK}`, 'application/json', 400],
    [`POST ${LOCK}`, 'text/html', 415],
    [`PATCH ${LOCK}`, 'text/html', 405],
    ['POST /nowhere', 'application/json', 404],
    ['POST /api/collection/%zz', 'application/json', 400],
    ['GET /health/live', 'text/html', 200],
    [`GET ${LOCK}`, 'application/json', 200],
    [`DELETE ${LOCK}?uid=7`, 'text/html', 415],
    ['HEAD /health/live', 'text/html', 200],
    ['OPTIONS /health/live', 'text/html', 405],
    [`POST ${LOCK}/release?uid=7`, 'text/plain', 400],
    ['POST /api/collection', 'application/json', 400]
  ]
  for (const [line, type, status] of targets) {
    for (const [framing, sent] of [
      [length(body), body],
      ['Transfer-Encoding: chunked\r\n', encoded]
    ] as const) {
      for (const more of [
        '',
        'Expect: 100-continue\r\n',
        'Connection: Upgrade\r\nUpgrade: h2c\r\n',
        'Connection: keep-alive, Content-Length\r\n'
      ]) {
        const { statuses, seen } = await exchange(
          `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${framing}${more}\r\n${sent}${AFTER}`
        )
        t.strictSame(
          [statuses[0], statuses.slice(1).filter((one) => one !== 404).length, seen.includes('/smuggled')],
          [status, 0, false],
          JSON.stringify([line, framing, more])
        )
        t.ok(statuses.length === 2 || statuses.length === 1, 'the next request is answered, or the connection is closed')
      }
    }
  }
  const large = await exchange(sized(`Content-Length: ${5 * 1024 * 1024}\r\n`, 'x'.repeat(100_000) + SMUGGLED))
  t.strictSame([large.statuses, large.seen], [[413], [LOCK]], 'too large to be read, and its rest does not come: the connection is closed')
})

t.test('legal framing is taken as it is', async (t) => {
  const body = JSON.stringify({ fieldName: 'title', userData: { uid: '7' } })
  const framed: Array<[what: string, bytes: string]> = [
    ['a length', sized(length(body), body)],
    ['a length with spaces around', sized(`Content-Length:\t ${body.length} \r\n`, body)],
    ['chunks', chunked(`5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`)],
    [
      'chunks with extensions and a trailer',
      chunked(`${body.length.toString(16).toUpperCase()};a=b;c="d"\r\n${body}\r\n000;e\r\nX-Trailer: x\r\n\r\n`)
    ],
    ['chunked in capitals', sized('Transfer-Encoding: CHUNKED\r\n', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)],
    ['empty lines before', `\r\n\r\n${sized(length(body), body)}`]
  ]
  for (const [what, bytes] of framed) t.strictSame((await exchange(bytes + AFTER)).statuses, [200, 404], what)
  const { statuses, seen } = await exchange(
    framed
      .map(([, bytes]) => bytes)
      .slice(0, 5)
      .join('') + AFTER
  )
  t.strictSame(
    [statuses, seen],
    [
      [200, 200, 200, 200, 200, 404],
      [...Array(5).fill(LOCK), '/after']
    ],
    'one after the other, in order'
  )
})

t.test('a request for another protocol is answered as without, and as the last of its connection', async (t) => {
  const body = JSON.stringify({ fieldName: 'title', userData: { uid: '7' } })
  for (const protocol of ['websocket', 'h2c', 'TLS/1.0, HTTP/2.0']) {
    const upgrade = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\n`
    const asked: Array<[bytes: string, status: number]> = [
      [`GET /health/live HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`, 200],
      [sized(length(body) + upgrade, body), 200],
      [`GET /api/collection/%zz HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`, 400]
    ]
    for (const [bytes, status] of asked) {
      const { statuses, seen } = await exchange(bytes + SMUGGLED + AFTER)
      t.strictSame([statuses, seen.filter(isLater)], [[status], []], `${protocol}: ${bytes.slice(0, 20)}`)
    }
  }
})

t.test('a refused request is answered in the shape of its path, whatever bytes that has', async (t) => {
  for (const path of ['/api/collection/1?\xc2\xa0=1', '/api/collection/\xa0', '/api/\xff']) {
    const { statuses, bodies } = await exchange(`NONSENSE ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    t.strictSame(statuses, [400], path)
    t.match(JSON.parse(bodies[0]!), { statusCode: 400, code: 'BAD_REQUEST' }, path)
  }
  t.match(JSON.parse((await exchange(`NONSENSE ${LOCK}?\xc2\xa0 HTTP/1.1\r\nHost: x\r\n\r\n`)).bodies[0]!), { success: false })
})

t.test('no body, query or header field reaches a prototype, and what is kept is plain data', async (t) => {
  const before = JSON.stringify(
    [Object.prototype, Array.prototype, Function.prototype].map((prototype) => Object.getOwnPropertyNames(prototype).sort())
  )
  const isClean = (what: string) => {
    const now = JSON.stringify(
      [Object.prototype, Array.prototype, Function.prototype].map((prototype) => Object.getOwnPropertyNames(prototype).sort())
    )
    if (now !== before || ({} as { polluted?: unknown }).polluted !== undefined) t.fail(`${what} changed a prototype`)
  }
  const poison = [
    '"__proto__":{"polluted":1}',
    '"\\u005f\\u005fproto__":{"polluted":1}',
    '"constructor":{"prototype":{"polluted":1}}',
    '"constructor":{"\\u0070rototype":{"polluted":1}}',
    '"__proto__":null',
    '"__proto__":[]',
    '"__proto__":"x"'
  ]
  const edition = editionsOf(newspaper())[0]!
  const bodies: Array<[method: string, url: string, body: (member: string) => string]> = [
    ['POST', LOCK, (member) => `{"fieldName":"f","userData":{"uid":"7"},${member}}`],
    ['PUT', LOCK, (member) => `{"fieldName":"f","userData":{"uid":"7",${member}}}`],
    ['PUT', LOCK, (member) => `{"fieldName":"f","userData":{"uid":"7","deep":[{"deeper":{${member}}}]}}`],
    ['POST', `${LOCK}/release`, (member) => `{"uid":"7",${member}}`],
    ['POST', '/api/collection', (member) => `{"type":"daily",${member}}`],
    ['POST', `/api/collection/${edition.id}`, (member) => `{"title":[{"value":"T",${member}}]}`],
    ['POST', `/api/collection/${edition.id}`, (member) => `{"field_link":[{"uri":"internal:/","options":{"attributes":{${member}}}}]}`],
    ['POST', '/nowhere', (member) => `{${member}}`]
  ]
  for (const [method, url, body] of bodies) {
    for (const member of poison) {
      const reply = await fastify.inject({
        method: method as 'POST',
        url,
        headers: { ...basic('editor'), 'content-type': 'application/json' },
        body: body(member)
      })
      t.equal(reply.statusCode, url === '/nowhere' ? 404 : 400, `${method} ${url} ${body(member)}`)
      isClean(body(member))
    }
  }
  const names = [
    '__proto__',
    'constructor',
    'prototype',
    '__proto__[polluted]',
    '__proto__.polluted',
    'constructor[prototype][polluted]',
    'constructor.prototype.polluted',
    '[__proto__]',
    'fieldName[__proto__]',
    'toString',
    'hasOwnProperty'
  ]
  for (const url of [LOCK, `${LOCK}/drafts`, '/api/collections/daily', `/api/collection/${edition.id}`, '/health/live', '/docs/json']) {
    for (const name of names) {
      for (const query of [`${name}=1`, `${encodeURIComponent(name)}=1&${name}=2`, `q=a&${name}`]) {
        const reply = await fastify.inject({
          url: `${url}?${query}`,
          headers: { ...basic('editor'), [name.replaceAll(/[[\].]/g, '')]: 'x' }
        })
        t.ok(reply.statusCode < 500, `${url}?${query}: ${reply.statusCode}`)
        isClean(query)
      }
    }
  }

  const names2 = [
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
    '__lookupSetter__',
    'then',
    'length'
  ]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('__proto__', ...names2),
      fc.constantFrom('__proto__', ...names2),
      fc.constantFrom('__proto__', ...names2),
      fc.dictionary(fc.constantFrom(...names2), fc.constantFrom<unknown>('x', 1, null, [1], { a: 1 })),
      async (type, field, uid, more) => {
        const url = `/api/cloud/data-state/${type}/${uid}`
        const record = { fieldName: field, userData: { ...more, uid }, payload: type }
        const sent = async (method: 'PUT' | 'DELETE' | 'GET', target: string, body?: object) =>
          fastify.inject({ method, url: target, ...(body && { body }) })
        if ((await sent('PUT', url, record)).statusCode !== 200) throw new Error('a lock is not taken')
        if ((await sent('PUT', url, { ...record, userData: { uid: 'other' } })).statusCode !== 200) {
          throw new Error('a lock is not taken over')
        }
        const [kept] = (await sent('GET', `${url}/drafts?fieldName=${field}&uid=${uid}`)).json().data.Items
        t.same({ fieldName: kept.fieldName, userData: kept.userData, payload: kept.payload }, record)
        if (!Object.keys(record.userData).every((name) => Object.hasOwn(kept.userData, name))) throw new Error('a member was lost')
        for (const target of [`${url}?uid=other`, `${url}/drafts?fieldName=${field}`]) {
          if ((await sent('DELETE', target)).statusCode !== 200) throw new Error('it is not released')
        }
        isClean(JSON.stringify(record))
      }
    ),
    { numRuns: 60, includeErrorInReport: true }
  )

  for (const name of names2) {
    const reply = await call('POST', `/api/collection/${edition.id}`, {
      as: 'editor',
      body: JSON.parse(`{"${name}":[{"value":1}],"title":[{"value":"T","${name}":"x"}]}`)
    })
    t.ok(reply.status < 500, `a field ${name}: ${reply.status}`)
    isClean(name)
  }
})
