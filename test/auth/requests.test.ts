import { Validator } from '@seriousme/openapi-schema-validator'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { withoutToken } from '#lib/auth/bearer.ts'
import { schemasOf } from '../fixtures/document-schemas.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { serving } from '../fixtures/loopback.ts'
import { build, buildLogged, testConfig } from '../helper.ts'
import { needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { bearer, claims, jwtEnv, tokenOf } from './fixtures.ts'

const LOCK = '/api/cloud/data-state/node/1'
const EDITION = '/api/collection/1'
const env = jwtEnv(t)

/** The application with a feed that takes its token in the query, and every line of its log. */
async function withFeed(t: Test, env: Record<string, string>): Promise<{ fastify: FastifyInstance; lines: string[] }> {
  const { app: fastify, lines } = await buildLogged(t, env, {
    level: 'trace',
    prepare(fastify) {
      fastify.get('/api/feed/events', { config: { tokenInQuery: true } }, async ({ identity: user, uid, query, headers }) => ({
        user,
        uid,
        query,
        authorization: headers.authorization
      }))
      for (const url of ['/api/who', '/outside']) fastify.get(url, async ({ identity: user, uid }) => ({ user, uid }))
    }
  })
  return { fastify, lines }
}

/** Every route of the application, with values for its parameters. */
async function routes(): Promise<Array<{ method: string; url: string; pattern: string }>> {
  const found: RouteOptions[] = []
  const bare = Fastify(fastifyOptions)
  t.teardown(() => bare.close())
  bare.addHook('onRoute', (route) => {
    found.push(route)
  })
  await bare.register(standalone, { config: testConfig(env) })
  await bare.ready()
  return found.flatMap(({ method, url }) =>
    [method]
      .flat()
      .map((name) => ({ method: name, pattern: url, url: url.replace(':type', 'node').replace(':bundle', 'daily').replace(/:\w+/, '1') }))
  )
}

t.test('every route below /api wants to know who calls; health and docs do not', async (t) => {
  const fastify = await build(t, { ...env, CMS_URL: 'http://127.0.0.1:9' })
  let refused = 0
  for (const { method, url, pattern } of await routes()) {
    const reply = await fastify.inject({ method: method as 'GET', url })
    if (!pattern.startsWith('/api/')) {
      t.not(reply.statusCode, 401, `${method} ${url}`)
      continue
    }
    refused++
    t.strictSame([reply.statusCode, reply.headers['www-authenticate']], [401, 'Bearer realm="Quoin"'], `${method} ${url}`)
    const message = 'A bearer token is needed: Authorization: Bearer <token>'
    if (method === 'HEAD') continue
    t.strictSame(
      reply.json(),
      url.startsWith('/api/cloud/data-state/')
        ? { success: false, message: `Error: ${message}`, error: { name: 'UnauthorizedError', code: 'UNAUTHENTICATED', message } }
        : { message, statusCode: 401, error: 'Unauthorized', code: 'UNAUTHENTICATED' },
      `${method} ${url}`
    )
  }
  t.ok(refused >= 15, `${refused} routes`)
  for (const url of ['/api/cloud/data%2Dstate/node/1', '/%61pi/collection/1', `http://x${LOCK}`, `${LOCK}?x=/health/live`]) {
    t.equal((await fastify.inject(url)).statusCode, 401, `${url} is the same path`)
  }
  t.equal((await fastify.inject('/api/nothing')).statusCode, 404)
  t.equal((await fastify.inject({ method: 'PATCH', url: LOCK })).statusCode, 405)
})

t.test('who is not known is refused before the body is read or looked at', async (t) => {
  const fastify = await build(t, env)
  const bodies: Array<[type: string, body: string]> = [
    ['application/json', '{"half":'],
    ['text/xml', '<a/>'],
    ['application/json', '{}'],
    ['application/json', `"${'x'.repeat(5_000_000)}"`]
  ]
  for (const url of [LOCK, `${LOCK}/release`, EDITION, '/api/collection']) {
    for (const [type, body] of bodies) {
      t.equal(
        (await fastify.inject({ method: 'POST', url, headers: { 'content-type': type }, body })).statusCode,
        401,
        `${url} ${body.slice(0, 10)}`
      )
    }
  }
  t.equal(
    (await fastify.inject({ method: 'POST', url: LOCK, headers: { ...bearer(), 'content-type': 'application/json' }, body: '{"half":' }))
      .statusCode,
    400,
    'who is known is told'
  )

  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  socket.write(`POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n`)
  const [text] = await once(socket, 'data')
  t.match(text, /^HTTP\/1\.1 401 /, 'not a byte of the body was sent')
  socket.destroy()
})

t.test('the caller is on the request, and an administrator is who the settings say', async (t) => {
  const { fastify } = await withFeed(t, { ...env, AUTH_ADMINS: ' 1,9 ,, ' })
  const who = async (sub: string) => (await fastify.inject({ url: '/api/who', headers: bearer({ sub }) })).json()
  t.strictSame(await who('7'), { user: { uid: '7', name: 'Anna', admin: false }, uid: '7' })
  for (const [sub, admin] of [
    ['1', true],
    ['9', true],
    ['19', false],
    ['01', false],
    ['1,9', false]
  ] as const) {
    t.equal((await who(sub)).user.admin, admin, sub)
  }
  const { fastify: none } = await withFeed(t, env)
  t.equal(
    (await none.inject({ url: '/api/who', headers: bearer({ sub: '1' }) })).json().user.admin,
    false,
    'without the setting there is none'
  )
})

t.test('X-User-Uid says who calls with AUTH=none, and for whom a request is meant otherwise', async (t) => {
  const { fastify: none } = await withFeed(t, {})
  const who = (headers: Record<string, string>) => none.inject({ url: '/api/who', headers })
  t.strictSame((await who({})).json(), {})
  t.strictSame((await who({ 'x-user-uid': '7' })).json(), { uid: '7' })
  t.strictSame(
    (await who({ 'x-user-uid': `${'x'.repeat(254)}~`, ...bearer() })).json(),
    { uid: `${'x'.repeat(254)}~` },
    'a token is not looked at'
  )
  for (const wrong of ['', 'x'.repeat(3061), '7 8', '7\t', 'é', '7, 8']) {
    const { statusCode, json } = await who({ 'x-user-uid': wrong })
    t.match(
      [statusCode, json()],
      [400, { code: 'BAD_REQUEST', message: 'headers/x-user-uid must be 1 to 3060 visible characters of ASCII' }],
      JSON.stringify(wrong)
    )
  }
  const { fastify: jwt } = await withFeed(t, env)
  t.equal((await jwt.inject({ url: '/api/who', headers: { 'x-user-uid': '7' } })).statusCode, 401, 'it is no credential')
  for (const uid of ['8', '', 'not a uid', '07']) {
    const { statusCode, json } = await jwt.inject({ url: '/api/who', headers: { ...bearer(), 'x-user-uid': uid } })
    t.match(
      [statusCode, json()],
      [
        403,
        {
          code: 'USER_CHANGED',
          message: `Nothing was done: the request is meant for user ${JSON.stringify(uid)}, but you are signed in as "7"`
        }
      ],
      uid
    )
  }
  for (const sub of ['7', 'Zoë Müller', '100%', '🔑'.repeat(127)]) {
    for (const named of new Set([encodeURIComponent(sub), ...(/^[!-~]+$/.test(sub) ? [sub] : [])])) {
      t.equal(
        (await jwt.inject({ url: '/api/who', headers: { ...bearer({ sub }), 'x-user-uid': named } })).json().uid,
        sub,
        named.slice(0, 40)
      )
    }
  }
  t.strictSame((await jwt.inject({ url: '/outside', headers: { 'x-user-uid': '8' } })).json(), {}, 'nor where nobody is asked for')
})

t.test('a feed takes the token in its query, and nothing else does', async (t) => {
  const { fastify } = await withFeed(t, env)
  const token = tokenOf(claims())
  const fed = await fastify.inject(`/api/feed/events?fields=a&access_token=${token}&payload=0`)
  t.equal(fed.statusCode, 200)
  t.strictSame(fed.json(), {
    user: { uid: '7', name: 'Anna', admin: false },
    uid: '7',
    query: { fields: 'a', payload: '0' },
    authorization: `Bearer ${token}`
  })
  t.match(fed.headers['cache-control'], /private/, 'RFC 6750 section 2.3')
  t.equal((await fastify.inject({ url: '/api/feed/events', headers: bearer() })).json().uid, '7', 'the header is as good')

  t.match((await fastify.inject(`/api/feed/events?access_token=${token}x`)).headers['www-authenticate'], /invalid_token/)
  t.match((await fastify.inject('/api/feed/events?access_token=')).headers['www-authenticate'], /invalid_token/)
  t.equal((await fastify.inject('/api/feed/events')).headers['www-authenticate'], 'Bearer realm="Quoin"')
  for (const [url, headers] of [
    [`/api/feed/events?access_token=${token}`, bearer()],
    [`/api/feed/events?access_token=${token}&access_token=${token}`, {}]
  ] as Array<[string, Record<string, string>]>) {
    const {
      statusCode,
      headers: { 'www-authenticate': challenge }
    } = await fastify.inject({ url, headers })
    t.match([statusCode, challenge], [400, /error="invalid_request"/], 'a token is sent once (RFC 6750 section 2)')
  }
  for (const url of [`/api/who?access_token=${token}`, `${LOCK}?access_token=${token}`, `/api/collections/daily?access_token=${token}`]) {
    t.equal((await fastify.inject(url)).statusCode, 401, url.slice(0, 30))
  }
  t.equal((await fastify.inject({ method: 'POST', url: `${LOCK}/release?access_token=${token}`, body: {} })).statusCode, 401)
})

t.test('a token is taken out of a URL by whatever name and separator it is found, and nothing else is', async (t) => {
  const cases = [
    ['/a?access_token=S', '/a?access_token=[Redacted]'],
    ['/a?b=1&ACCESS_TOKEN=S&c=2', '/a?b=1&ACCESS_TOKEN=[Redacted]&c=2'],
    ['/a?%61ccess_token=S', '/a?%61ccess_token=[Redacted]'],
    ['/a?access%5Ftoken=S', '/a?access%5Ftoken=[Redacted]'],
    ['/a?a;access_token=S', '/a?a;access_token=[Redacted]'],
    ['/a?access_token=S;b=1', '/a?access_token=[Redacted];b=1'],
    ['GET /a?access_token=S#b failed', 'GET /a?access_token=[Redacted]#b failed'],
    ['/access_token/1?b=%25&c;d', '/access_token/1?b=%25&c;d']
  ] as const
  for (const [url, logged] of cases) t.equal(withoutToken(url), logged)
})

t.test('a token in a query never reaches the log, however the request ends', async (t) => {
  const { fastify, lines } = await withFeed(t, env)
  const secret = 'hunter2'
  const good = tokenOf(claims({ sub: '7', name: secret }))
  const urls = [
    `/api/feed/events?access_token=${secret}`,
    `/api/feed/events?fields=a&access_token=${good}&x=1`,
    `/api/feed/events?ACCESS_TOKEN=${secret}`,
    `/api/feed/events?%61ccess_token=${secret}`,
    `/api/feed/events?access%5ftoken=${secret}`,
    `/api/feed/events?a;access_token=${secret}`,
    `/api/who?access_token=${secret}`,
    `/nowhere?access_token=${secret}`,
    `/api/%zz?access_token=${secret}`,
    `/api/feed/events?access_token=${secret}&x=%ff`,
    `/${'x'.repeat(5000)}?access_token=${secret}`,
    `/docs/json?access_token=${secret}`,
    `${LOCK}?access_token=${secret}&access_token=${secret}`
  ]
  for (const url of urls) await fastify.inject(url)
  await fastify.inject({ method: 'PATCH', url: `/api/feed/events?access_token=${secret}` })
  const [, payload, signature] = good.split('.')
  t.ok(lines.length > urls.length)
  t.strictSame(
    lines.filter((line) => [secret, payload, signature].some((part) => line.includes(part!))),
    []
  )
  t.strictSame(
    lines
      .map((line) => JSON.parse(line).path)
      .filter(Boolean)
      .slice(0, 2),
    ['/api/feed/events', '/api/feed/events'],
    'no query is'
  )
})

t.test('the token goes on to Drupal only where the settings say so', async (t) => {
  const seen: Array<string | undefined> = []
  const CMS_URL = await serving(t, ({ headers, url }, response) => {
    seen.push(headers.authorization)
    const me = url === '/jsonapi' ? { meta: { links: { me: {} } }, links: { 'publisher_container--daily': { href: 'x' } } } : {}
    response.writeHead(200, { 'content-type': 'application/vnd.api+json' }).end(JSON.stringify({ data: [], ...me }))
  })
  const token = bearer()
  const asking = async (more: Record<string, string>) => {
    seen.length = 0
    const fastify = await build(t, { ...env, CMS_URL, ...more })
    await fastify.inject({ url: '/api/collections/daily', headers: { ...token, cookie: 'SESSabc=1' } })
    return [...new Set(seen)]
  }
  t.strictSame(await asking({ CMS_AUTH: 'passthrough' }), [token.authorization])
  t.strictSame(await asking({ CMS_AUTH: 'basic', CMS_USER: 'u', CMS_PASSWORD: 'p' }), [`Basic ${btoa('u:p')}`])
})

t.test('OpenAPI shows how callers are known, and what they are answered else', async (t) => {
  for (const [settings, schemes] of [
    [env, ['bearer']],
    [{ AUTH: 'drupal' }, ['session', 'basic', 'bearer']]
  ] as const) {
    const { fastify } = await withFeed(t, settings)
    const document = (await fastify.inject('/docs/json')).json()
    t.strictSame(Object.keys(document.components.securitySchemes), [...schemes, 'accessToken'])
    const validator = new Validator()
    t.strictSame((await validator.validate(structuredClone(document))).errors, undefined)
    const validatorOf = schemasOf(document)
    const errorsOf = (schema: object, value: unknown) => {
      const validate = validatorOf(schema)
      return validate(value) ? [] : validate.errors
    }
    for (const [path, item] of Object.entries(document.paths) as Array<[string, Record<string, any>]>) {
      for (const [method, operation] of Object.entries(item)) {
        const name = `${method} ${path}`
        if (!path.startsWith('/api/')) t.notHas(operation, { security: [] }, name)
        if (!path.startsWith('/api/') || path === '/api/who' || path === '/api/feed/events') continue
        t.strictSame(
          operation.security,
          [...schemes, ...(path.endsWith('/events') ? ['accessToken'] : [])].map((scheme) => ({ [scheme]: [] })),
          name
        )
        for (const [status, code] of [
          ['401', 'UNAUTHENTICATED'],
          ['403', 'FORBIDDEN'],
          ['503', 'AUTH_UNAVAILABLE']
        ] as const) {
          const {
            description,
            content: {
              'application/json': { schema, examples, example }
            }
          } = operation.responses[status]
          t.ok(description && example === undefined && examples[code], `${name} ${status}`)
          const values = (Object.values(examples) as Array<{ value: any }>).map(({ value }) => value)
          t.strictSame(
            values.flatMap((value) => errorsOf(schema, value)),
            [],
            `${name} ${status}: the examples are right`
          )
          const shape = path.startsWith('/api/cloud/data-state/') ? { success: false, message: /^Error: / } : { statusCode: Number(status) }
          t.match(
            values,
            values.map(() => shape),
            `${name} ${status}`
          )
        }
      }
    }
    const reply = await fastify.inject(LOCK)
    t.strictSame(
      errorsOf(document.paths['/api/cloud/data-state/{type}/{id}'].get.responses[401].content['application/json'].schema, reply.json()),
      []
    )
  }
  const { components, paths } = (
    await (await build(t, { CMS_AUTH: 'basic', CMS_USER: 'u', CMS_PASSWORD: 'p' })).inject('/docs/json')
  ).json()
  t.notHas(components, { securitySchemes: {} })
  t.notHas(paths['/api/cloud/data-state/{type}/{id}'].post, { security: [] })
  t.notHas(paths['/api/collection'].post, { security: [] })
})

t.test(
  'OpenAPI shows with AUTH=none which credentials of a caller go on to Drupal, and what a session needs besides to write',
  async (t) => {
    const document = (await (await build(t)).inject('/docs/json')).json()
    t.strictSame((await new Validator().validate(structuredClone(document))).errors, undefined)
    const { components, paths } = document
    t.strictSame(Object.keys(components.securitySchemes), ['session', 'basic', 'bearer'])
    for (const [path, item] of Object.entries(paths) as Array<[string, Record<string, any>]>) {
      for (const [method, { security, parameters = [] }] of Object.entries(item)) {
        const ofEditions = path.startsWith('/api/') && !path.startsWith('/api/cloud/')
        t.strictSame(security, ofEditions ? [{}, { session: [] }, { basic: [] }, { bearer: [] }] : undefined, `${method} ${path}`)
        t.equal(
          parameters.some(({ name }: { name: string }) => name === 'x-csrf-token'),
          ofEditions && method !== 'get',
          `${method} ${path}`
        )
      }
    }
  }
)

t.test('a feed shows in OpenAPI that it takes the token in its query', async (t) => {
  const fastify = Fastify(fastifyOptions)
  t.teardown(() => fastify.close())
  const failure = {
    description: 'Wrong',
    content: { 'application/json': { schema: { type: 'object', properties: { message: { type: 'string' } } } } }
  }
  await fastify.register(standalone, { config: testConfig(env) })
  fastify.get('/api/x/events', { config: { tokenInQuery: true }, schema: { response: { 400: failure } } }, async () => 'x')
  await fastify.ready()
  const { security, responses } = (await fastify.inject('/docs/json')).json().paths['/api/x/events'].get
  t.strictSame(security, [{ bearer: [] }, { accessToken: [] }])
  t.strictSame(Object.keys(responses), ['400', '401', '403', '503'])
})

t.test('with AUTH=none a page of another site cannot release locks by what browsers send unasked', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const fastify = await build(t, { DYNAMODB_ENDPOINT: endpoint, CORS_ORIGINS: 'https://desk.example' })
  const url = '/api/cloud/data-state/node/csrf'
  const browser = { host: 'quoin.example', 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  const body = { fieldName: 'title', userData: { uid: '7' }, payload: 'two hours of typing' }
  const send = (path: string, headers: Record<string, string>, payload: string | object) =>
    fastify.inject({ method: 'POST', url: url + path, headers, payload })
  t.equal(
    (await send('', { ...browser, 'content-type': 'application/json' }, body)).statusCode,
    200,
    'what browsers ask about first is left to CORS'
  )
  for (const [what, headers] of [
    ['text', { ...browser, 'content-type': 'text/plain;charset=UTF-8' }],
    ['a form', { ...browser, 'content-type': 'application/x-www-form-urlencoded' }],
    ['nothing', browser],
    ['over plain HTTP', { host: browser.host, origin: browser.origin, 'content-type': 'text/plain' }]
  ] as const) {
    const { statusCode, json } = await send('/release?uid=7', headers, '')
    t.strictSame([statusCode, json().error.code], [403, 'FORBIDDEN'], what)
  }
  t.equal(
    (await send('', { ...browser, 'content-type': 'text/plain' }, JSON.stringify({ ...body, fieldName: 'lead' }))).statusCode,
    415,
    'whatever takes JSON alone'
  )
  t.equal((await fastify.inject(url)).json().data.Count, 1)
  for (const trusted of [{ ...browser, origin: 'https://desk.example' }, { ...browser, 'sec-fetch-site': 'same-site' }, {}]) {
    await send('', { 'content-type': 'application/json' }, body)
    t.equal((await send('/release', { ...trusted, 'content-type': 'text/plain' }, '{"uid":"7"}')).body, '{"success":true}')
    t.equal((await fastify.inject(url)).json().data.Count, 0)
  }
})

t.test('the log warns of AUTH=none on more than this machine', async (t) => {
  const warned = async (settings: Record<string, string>) =>
    (await withFeed(t, settings)).lines
      .map((line) => JSON.parse(line))
      .filter(({ level }) => level >= 40)
      .map(({ msg }) => msg)
  for (const HOST of ['0.0.0.0', '::', '192.0.2.1', 'quoin.example.org', '127.0.0.1.example.org', 'localhost.example.org']) {
    t.match(await warned({ HOST }), [/^AUTH=none: whoever reaches /], HOST)
  }
  for (const HOST of ['127.0.0.1', 'localhost', '::1', '127.1.2.3']) t.strictSame(await warned({ HOST }), [], HOST)
  for (const settings of [env, { AUTH: 'drupal' }]) t.strictSame(await warned({ HOST: '0.0.0.0', ...settings }), [])
})

t.test('an answer goes on while nobody can say who calls, and ends once it is nobody or somebody else', async (t) => {
  const monotonic = performance.now.bind(performance)
  let later = 0
  t.intercept(performance, 'now', { value: () => monotonic() + later })
  const uuid = '855d568c-a40d-43fb-a97a-426045895e11'
  const me = { meta: { links: { me: { meta: { id: uuid } } } } }
  const drupal = { status: 200, uid: 7, entry: me as object }
  const CMS_URL = await serving(t, ({ url }, response) => {
    const document =
      url === '/jsonapi' ? drupal.entry : { data: { type: 'user--user', id: uuid, attributes: { drupal_internal__uid: drupal.uid } } }
    response.writeHead(drupal.status, { 'content-type': 'application/vnd.api+json' }).end(JSON.stringify(document))
  })
  const { app } = await buildLogged(
    t,
    { AUTH: 'drupal', CMS_URL },
    {
      prepare(fastify) {
        fastify.get<{ Querystring: { change: string } }>('/api/long', async (request) => {
          Object.assign(drupal, JSON.parse(request.query.change))
          later += 16 * 60_000
          return { welcome: await request.isWelcome() }
        })
      }
    }
  )
  for (const [change, welcome, what] of [
    [{}, true, 'the same'],
    [{ status: 503 }, true, 'Drupal is away'],
    [{ uid: 8 }, false, 'another user by the same cookie'],
    [{ entry: {} }, false, 'the session has ended']
  ] as const) {
    Object.assign(drupal, { status: 200, uid: 7, entry: me })
    later += 16 * 60_000
    const reply = await app.inject({ url: `/api/long?change=${JSON.stringify(change)}`, headers: { cookie: 'SESSabc=1' } })
    t.strictSame(reply.json(), { welcome }, what)
  }
})

t.test('an event stream is for known callers, by a token in the query too, and ends when the token does', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const fastify = await build(t, { ...env, DYNAMODB_ENDPOINT: endpoint, heartbeatSeconds: '1' })
  const url = `${await fastify.listen({ host: '127.0.0.1', port: 0 })}${LOCK}/events`
  t.equal((await fetch(url)).status, 401)
  const lasting = await openEvents(t, url, bearer())
  const ending = await openEvents(t, `${url}?access_token=${tokenOf(claims({ exp: Math.floor(Date.now() / 1000) - 27 }))}`)
  t.match([await lasting.next(), await ending.next()], [{ event: 'snapshot' }, { event: 'snapshot' }])
  await ending.ended
  t.ok(ending.response.complete)
  t.notOk(lasting.response.complete)
  t.ok(lasting.heartbeats.length > 0)
})
