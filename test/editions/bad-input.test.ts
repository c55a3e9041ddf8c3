import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { BODY_LIMIT } from '../../config/fastify.ts'
import { basic, editionsOf, failed, open, writes, type Reply } from './site.ts'

const { app, cms, call } = await open(t)
await app.listen({ host: '127.0.0.1', port: 0 })
const { port } = app.server.address() as AddressInfo

const json = { ...basic('editor'), 'content-type': 'application/json' }
const healthy = { type: 'daily', title: [{ value: 'T' }] }
const edition = editionsOf(newspaper())[0]!
const endpoints: Array<[what: string, path: string]> = [
  ['create', '/api/collection'],
  ['update', `/api/collection/${edition.id}`],
  ['update by uuid', `/api/collection/${edition.uuid}`]
]

/** A body of the members given, beside those of a healthy one. */
const beside = (members: string) => `{"type":"daily",${members}}`
const nested = (open: string, levels: number, close: string) => open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels)

const FORBIDDEN_NAME = /^The request body has a member __proto__ or constructor\.prototype, which is not taken$/

const badBodies: Array<[what: string, body: string | Buffer, message: RegExp]> = [
  ['malformed JSON', '{"title": [', /not valid JSON/],
  ['half a string', '{"a', /not valid JSON/],
  ['two documents', '{}{}', /not valid JSON/],
  ['a comment', '{} // x', /not valid JSON/],
  ['no body', '', /^body must be object$/],
  ['null', 'null', /^body must be object$/],
  ['a list', '[]', /^body must be object$/],
  ['a list of editions', '[{"title":[{"value":"x"}]}]', /^body must be object$/],
  ['a string', '"title"', /^body must be object$/],
  ['a number', '5', /^body must be object$/],
  ['a boolean', 'true', /^body must be object$/],
  ['__proto__ as a field', beside('"__proto__":{"title":[{"value":"x"}]}'), FORBIDDEN_NAME],
  ['__proto__ as a property', beside('"title":[{"value":"x","__proto__":{"a":1}}]'), FORBIDDEN_NAME],
  ['__proto__ in escapes', beside('"\\u005f_proto__":[]'), FORBIDDEN_NAME],
  ['constructor.prototype', beside('"constructor":{"prototype":{"a":1}}'), FORBIDDEN_NAME],
  ['a lone surrogate', beside('"title":[{"value":"\\ud83d"}]'), /lone surrogate/],
  ['a lone surrogate the other way round', beside('"title":[{"value":"\\udf5e\\ud83d"}]'), /lone surrogate/],
  ['a lone surrogate in a name', beside('"\\ud83d":[]'), /lone surrogate/],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not UTF-8/],
  ['Latin-1', Buffer.from(beside('"title":["Größe"]'), 'latin1'), /not UTF-8/],
  ['a surrogate in UTF-8', Buffer.concat([Buffer.from('{"title":["'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"]}')]), /not UTF-8/],
  ['lists deep enough to exhaust a stack', beside(`"title":${nested('[', 100_000, ']')}`), /^body is nested more than 500 levels deep$/],
  ['objects deeper than PHP reads', beside(`"field_link":[${nested('{"a":', 500, '}')}]`), /^body is nested more than 500 levels deep$/],
  [
    'more values than an edition can have',
    beside(`"title":[${'[],'.repeat(50_000)}[]]`),
    /^body has more than 50000 values, those of all levels together$/
  ],
  [
    'more fields than an edition can have',
    beside(Array.from({ length: 50_000 }, (_, index) => `"f${index}":0`).join()),
    /^body has more than 50000 values, those of all levels together$/
  ]
]

for (const [what, path] of endpoints) {
  t.test(`${what} answers 400 to what is no edition and says why`, async (t) => {
    for (const [kind, body, message] of badBodies) {
      const reply = await call('POST', path, { body, headers: json })
      failed(t, kind, reply, 400, 'BAD_REQUEST', message)
      t.strictSame(reply.upstream, [], 'the CMS is not asked')
    }
  })

  t.test(`${what} answers 422 in core's words to fields of the wrong form`, async (t) => {
    const primitive =
      'Unprocessable Entity: validation failed.\nfield_articles.0.target_id: This value should be of the correct primitive type.\n'
    const empty =
      /^(?:If provided "target_uuid" cannot be empty for field|No "" entity found with UUID|Unprocessable Entity: validation failed\.\nfield_articles)/
    const cases: Array<[members: string, message: string | RegExp]> = [
      ['"title":"T"', 'Field values for "title" must use an array structure'],
      ['"title":5', 'Field values for "title" must use an array structure'],
      ['"title":false', 'Field values for "title" must use an array structure'],
      ['"field_articles":"4"', 'Field values for "field_articles" must use an array structure'],
      ['"field_articles":[true]', primitive],
      ['"field_articles":[[4]]', primitive],
      ['"field_articles":[{"target_id":true}]', primitive],
      ['"field_articles":[{"target_id":{"value":4}}]', primitive],
      ['"field_articles":[{"target_id":4,"target_uuid":""}]', empty],
      ['"field_articles":[{"target_uuid":5}]', empty],
      ['"field_articles":[{"target_uuid":["x"]}]', empty],
      ['"field_articles":[{"target_uuid":"x/../y`"}]', 'No "" entity found with UUID "x/../y`" for field "0".'],
      [
        '"field_articles":[{"target_id":"4 OR 1=1"}]',
        /^Unprocessable Entity: validation failed\.\nfield_articles\.0\.target_id: The referenced entity \(node: 4 OR 1=1\) does not exist\.\n/
      ],
      [
        '"field_articles":[{"target_id":-4.5}]',
        /^Unprocessable Entity: validation failed\.\nfield_articles\.0\.target_id: The referenced entity \(node: -4\.5\) does not exist\.\n/
      ],
      [
        '"field_articles":[{"target_id":1e300}]',
        /^Unprocessable Entity: validation failed\.\nfield_articles\.0\.target_id: The referenced entity \(node: 1e\+300\) does not exist\.\n/
      ],
      [
        '"field_nosuch":[{"target_id":4}]',
        'The field "field_nosuch" needs the property "target_type": no edition seen so far tells what it refers to'
      ],
      [
        '"field_nosuch":[{"target_id":4,"target_type":"__proto__"}]',
        'Unprocessable Entity: validation failed.\nfield_nosuch.0.target_id: The referenced entity (__proto__: 4) does not exist.\n'
      ],
      ['"constructor":[{"value":1}]', 'The attribute constructor does not exist on the publisher_container--daily resource type.'],
      ['"toString":[{"value":1}]', 'The attribute toString does not exist on the publisher_container--daily resource type.'],
      ['"":[{"value":1}]', 'The attribute  does not exist on the publisher_container--daily resource type.'],
      ['"field_page_count":[{"value":"abc"}]', /^Unprocessable Entity: validation failed\.\nfield_page_count\.0\.value: /],
      [
        '"status":[{"value":"true"}]',
        'Unprocessable Entity: validation failed.\nstatus.0.value: This value should be of the correct primitive type.\n'
      ],
      ['"created":[{"value":"yesterday"}]', /^The specified date "yesterday" is not in an accepted format/],
      [
        `"title":[{"value":"${'x'.repeat(256)}"}]`,
        'Unprocessable Entity: validation failed.\ntitle.0.value: Title: may not be longer than 255 characters.\n'
      ]
    ]
    for (const [members, message] of cases) {
      const reply = await call('POST', path, { body: beside(`"field_key":["bad"],"title":["T"],${members}`), headers: json })
      failed(t, members.slice(0, 60), reply, 422, 'UNPROCESSABLE', message)
      t.ok(
        writes(reply.upstream).every((line) => / 4\d\d$/.test(line)),
        'nothing is written'
      )
    }
  })

  t.test(`${what} takes application/json only`, async (t) => {
    for (const type of [
      'application/vnd.api+json',
      'application/hal+json',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'nonsense',
      'application/json, text/plain'
    ]) {
      const reply = await call('POST', path, { body: JSON.stringify(healthy), headers: { ...json, 'content-type': type } })
      failed(t, type, reply, 415, 'UNSUPPORTED_MEDIA_TYPE', 'headers/content-type must be application/json')
      t.strictSame(reply.upstream, [])
    }
    const untyped = await exchange(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`)
    failed(t, 'none', untyped, 415, 'UNSUPPORTED_MEDIA_TYPE')
    const without = await exchange(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
    failed(t, 'neither type nor body', without, 400, 'BAD_REQUEST', 'body must be object')
  })

  t.test(`${what} answers 413 with both sizes, whether the size is announced or not`, async (t) => {
    const text = JSON.stringify({ ...healthy, revision_log: [{ value: 'x'.repeat(BODY_LIMIT) }] })
    failed(
      t,
      'announced',
      await call('POST', path, { body: text, headers: json }),
      413,
      'TOO_LARGE',
      `The request body has ${text.length} bytes; at most ${BODY_LIMIT} bytes are taken`
    )
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    failed(
      t,
      'not announced',
      await exchange(`${head}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`),
      413,
      'TOO_LARGE',
      `The request body has more than ${BODY_LIMIT} bytes; at most ${BODY_LIMIT} bytes are taken`
    )
  })
}

t.test('an id is an integer or a uuid: anything else answers 400, or 404 where it makes another path', async (t) => {
  const ids = [
    '0',
    '05',
    '-1',
    '+5',
    '1.5',
    '1e1',
    '%205',
    '5%20',
    '5%00',
    '%00',
    '%2F',
    '5%2F6',
    '..',
    '..%2F5',
    '%2e%2e%2F5',
    '%252F',
    'abc',
    '__proto__',
    'constructor',
    'bundles%00',
    'null',
    '%F0%9F%97%9E',
    '%C3%A9',
    '5%E2%80%8B',
    '99999999999999999999',
    'x'.repeat(300),
    edition.uuid.slice(1),
    `${edition.uuid}0`,
    `{${edition.uuid}}`,
    edition.uuid.replaceAll('-', ''),
    '5;x=y',
    "5'--",
    ''
  ]
  for (const id of ids) {
    for (const [method, body] of [
      ['GET', ''],
      ['POST', JSON.stringify(healthy)]
    ] as const) {
      const reply = await raw(method, `/api/collection/${id}`, body)
      failed(t, `${method} ${id.slice(0, 60)}`, reply, 400, 'BAD_REQUEST', /^params\/id must match pattern/)
    }
  }
  for (const path of [
    '/api/collection/5/',
    '/api/collection/5/6',
    '/api/collection/../collection/5',
    '/api/collection//5',
    '/api',
    '/api/collectio',
    '/API/collection/5',
    '/api/publisher-edition',
    '/api/publisher-edition/bundles/x'
  ]) {
    failed(t, path, await raw('GET', path), 404, 'NOT_FOUND', `There is nothing at GET ${path}`)
  }
  t.strictSame(
    writes(cms.requestLines).filter((line) => / 2\d\d$/.test(line)),
    []
  )
})

t.test('a bundle that does not exist answers 404 whatever its letters', async (t) => {
  for (const bundle of [
    'weekly',
    'DAILY',
    '%2F',
    'daily%2F..',
    '..%2Fdaily',
    '%00',
    'daily%00',
    '%20daily',
    '%F0%9F%97%9E',
    '__proto__',
    'constructor',
    'publisher_container--daily',
    "daily'--",
    'x'.repeat(64)
  ]) {
    failed(t, bundle, await raw('GET', `/api/collections/${bundle}`), 404, 'NOT_FOUND', /^There is no bundle or list /)
  }
  failed(t, 'none', await raw('GET', '/api/collections/'), 400, 'BAD_REQUEST', 'params/bundle must NOT have fewer than 1 characters')
  failed(
    t,
    'too long',
    await raw('GET', `/api/collections/${'x'.repeat(65)}`),
    400,
    'BAD_REQUEST',
    'params/bundle must NOT have more than 64 characters'
  )
})

t.test('a parameter of a list that is wrong answers 400 and says what is allowed', async (t) => {
  const integers = [
    'abc',
    '1e1',
    '%205',
    '5%20',
    '+5',
    '%2B5',
    '05',
    '0x10',
    '5.0',
    '5.5',
    'Infinity',
    'NaN',
    'true',
    'null',
    '--5',
    '5,6',
    '-99999999999999999999',
    '%00',
    '%D9%A5'
  ]
  const cases: Array<[query: string, message: string | RegExp]> = [
    ...integers.flatMap((value): Array<[string, string | RegExp]> => [
      [`limit=${value}`, 'querystring/limit must be integer'],
      [`offset=${value}`, /^querystring\/offset must be (?:integer|<= 100000)$/],
      [`status=${value}`, /^querystring\/status must be integer$/],
      [`total=${value}`, /^querystring\/total must be integer$/]
    ]),
    ['limit=0', 'querystring/limit must be >= 1'],
    ['limit=-1', 'querystring/limit must be >= 1'],
    ['offset=-1', 'querystring/offset must be >= 0'],
    ['offset=100001', 'querystring/offset must be <= 100000'],
    ['status=2', 'querystring/status must be 0 or 1'],
    ['status=-1', 'querystring/status must be 0 or 1'],
    ['total=0', 'querystring/total must be 1'],
    ['type=weekly', 'querystring/type must be "daily" or "special"'],
    ['type=__proto__', 'querystring/type must be "daily" or "special"'],
    ['type=constructor', 'querystring/type must be "daily" or "special"'],
    [`key=${'x'.repeat(256)}`, 'querystring/key must NOT have more than 255 characters'],
    [`q=${'x'.repeat(256)}`, 'querystring/q must NOT have more than 255 characters'],
    ['limit=1&limit=1', 'querystring/limit must be integer'],
    ['offset=1&offset=2', 'querystring/offset must be integer'],
    ['status=1&status=0', 'querystring/status must be integer'],
    ['q=a&q=b', 'querystring/q must be string'],
    ['type=daily&type=daily', 'querystring/type must be string'],
    ['key=a&key=b', 'querystring/key must be string'],
    ['total=1&total=1', 'querystring/total must be integer'],
    ['_format=json&_format=json', /^querystring\/_format must be /],
    ['_format=xml', 'querystring/_format must be "json"'],
    ['q=%ff', 'The query string is not percent-encoded UTF-8'],
    ['q=%ED%A0%80', 'The query string is not percent-encoded UTF-8'],
    ['q=100%', 'The query string is not percent-encoded UTF-8'],
    ['%zz=1', 'The query string is not percent-encoded UTF-8']
  ]
  for (const [query, message] of cases) {
    const before = cms.requestLines.length
    failed(t, query.slice(0, 40), await raw('GET', `/api/collections/publisher_container?${query}`), 400, 'BAD_REQUEST', message)
    t.ok(
      cms.requestLines.slice(before).every((line) => !line.includes('/publisher_container/')),
      'no list is read'
    )
  }
})

t.test('what is just within the limits is taken', async (t) => {
  for (const query of [
    'limit=1',
    'limit=500',
    'offset=0',
    'offset=100000',
    'status=0',
    `q=${'%C3%A9'.repeat(255)}`,
    `key=${'%F0%9F%97%9E'.repeat(255)}`,
    'q=%00',
    '',
    '&',
    'q=',
    'q=a+b'
  ]) {
    t.equal((await raw('GET', `/api/collections/publisher_container?${query}`)).status, 200, query.slice(0, 40))
  }
  t.equal((await raw('GET', '/api/collections/publisher_container?offset=100000&limit=500')).body.meta.hasMore, false)
  t.equal((await raw('GET', '/api/collection/999999999999999999')).status, 404)
  const deep = await call('POST', '/api/collection', {
    body: beside(
      `"title":["T"],"field_key":["deep"],"field_link":[{"uri":"https://paper.example","options":${nested('{"a":', 495, '}')}}]`
    ),
    headers: json
  })
  t.equal(deep.status, 201, deep.body.message)
  const astral = await call('POST', '/api/collection', {
    body: beside('"title":["\\ud83d\\udd11 \\\\ud83d"],"field_key":["astral"]'),
    headers: { ...json, 'content-type': 'application/json; charset=utf-8' }
  })
  t.equal(astral.body.title?.[0].value, '🔑 \\ud83d')
})

t.test('what forms and caches send beside what they mean is taken as meant', async (t) => {
  const list = async (query: string) => (await raw('GET', `/api/collections/publisher_container?${query}`)).body
  const plain = await list('')
  const unknown = [
    'foo=1',
    '_=1732',
    'page=0',
    'Limit=1',
    'limit[]=1',
    'filter[title]=x',
    '__proto__=1',
    'constructor=1',
    'types=special',
    'toString=',
    '=1',
    '_=1&_=2',
    'foo'
  ]
  for (const query of ['q=&status=&type=&key=&limit=&offset=&total=&_format=', 'limit', ...unknown]) {
    t.strictSame(await list(query), plain, query)
  }
  t.equal(plain.meta.limit, 20)
  for (const limit of ['501', '1000', '9007199254740993', '99999999999999999999', '9'.repeat(400)]) {
    const { data, meta, links } = await list(`limit=${limit}&_=1`)
    t.strictSame(
      [data.length, meta.limit, links.self],
      [Math.min(500, meta.total), 500, '/api/collections/publisher_container?limit=500&offset=0'],
      limit.slice(0, 30)
    )
  }
  const { links } = await list('limit=2&status=1&q=&_=1732')
  t.equal(links.next, '/api/collections/publisher_container?limit=2&status=1&offset=2', 'links say what was meant')
})

t.test('paths and methods that do not exist answer 404 and 405, what is no proper request 400 and more', async (t) => {
  const allowed: Array<[path: string, allow: string]> = [
    ['/api/collection', 'POST'],
    ['/api/collection/5', 'POST, GET, HEAD'],
    ['/api/collection/bundles', 'GET, HEAD, POST'],
    ['/api/publisher-edition/bundles', 'GET, HEAD'],
    ['/api/collections/daily', 'GET, HEAD']
  ]
  for (const [path, allow] of allowed) {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE']) {
      const reply = await raw(method, path, method === 'PUT' ? '{}' : '')
      failed(t, `${method} ${path}`, reply, 405, 'METHOD_NOT_ALLOWED', /is not allowed here; allowed: /)
      t.strictSame(String(reply.headers.allow).split(', ').sort(), allow.split(', ').sort(), `${path}: ${reply.headers.allow}`)
    }
  }
  failed(t, 'GET of create', await raw('GET', '/api/collection'), 405, 'METHOD_NOT_ALLOWED')
  const cases: Array<[status: number, code: string, text: string]> = [
    [400, 'BAD_REQUEST', 'GET /api/collection/%zz HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'BAD_REQUEST', 'GET /api/collections/%ff HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'BAD_REQUEST', 'GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'BAD_REQUEST', 'GET /api/collection/\u0001 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'BAD_REQUEST', 'POST /api/collection HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n'],
    [400, 'BAD_REQUEST', 'POST /api/collection HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n'],
    [
      400,
      'BAD_REQUEST',
      'POST /api/collection HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'
    ],
    [414, 'URI_TOO_LONG', `GET /api/collection/${'1'.repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [431, 'HEADERS_TOO_LARGE', `GET /api/collection/5 HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`]
  ]
  for (const [status, code, text] of cases) failed(t, text.slice(0, 50), await exchange(text), status, code)
})

t.test('HEAD answers as GET does, without a body', async (t) => {
  for (const path of [
    `/api/collection/${edition.id}`,
    '/api/collections/daily',
    '/api/collection/bundles',
    '/api/publisher-edition/bundles'
  ]) {
    const headers = basic('editor')
    const [head, get] = await Promise.all([
      fetch(`http://127.0.0.1:${port}${path}`, { method: 'HEAD', headers }),
      fetch(`http://127.0.0.1:${port}${path}`, { headers })
    ])
    t.strictSame(
      [head.status, head.headers.get('content-type'), head.headers.get('etag'), await head.text()],
      [200, get.headers.get('content-type'), get.headers.get('etag'), ''],
      path
    )
    t.not(await get.text(), '')
  }
  t.equal((await fetch(`http://127.0.0.1:${port}/api/collection/999`, { method: 'HEAD', headers: basic('editor') })).status, 404)
  t.equal((await fetch(`http://127.0.0.1:${port}/api/collection/x`, { method: 'HEAD' })).status, 400)
})

t.test('after all of it nothing but the two good ones is written, and the process serves on', async (t) => {
  t.equal(writes(cms.requestLines).filter((line) => / 2\d\d$/.test(line)).length, 2)
  t.equal(cms.requestLines.filter((line) => / 5\d\d$/.test(line)).length, 0)
  const { body } = await call('GET', '/api/collections/publisher_container?limit=500&total=1', { as: 'editor' })
  t.equal(body.meta.total, 62)
  t.equal((await call('POST', `/api/collection/${edition.id}`, { body: { title: [{ value: 'Healthy' }] }, as: 'editor' })).status, 200)
})

/** Sends a request whose path is not touched by any URL parser, as an editor. */
async function raw(method: string, path: string, body = ''): Promise<Reply> {
  const fields = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return exchange(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${basic('editor').authorization}\r\n${fields}\r\n${body}`
  )
}

/** What the server answers to some text, to the end of the answer or of the connection. */
async function exchange(text: string): Promise<Reply> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (chunk: string) => {
    answer += chunk
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer)
    if (length && Buffer.byteLength(answer.slice(answer.indexOf('\r\n\r\n') + 4)) >= Number(length[1])) socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(text)
  await once(socket, 'close')
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)])
  )
  return { status: Number(head.split(' ')[1]), headers, body: JSON.parse(body), upstream: [] }
}
