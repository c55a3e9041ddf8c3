import { LRUCache } from 'lru-cache'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { isCrossSite } from '#lib/auth/cross-site.ts'
import { drupalCheck } from '#lib/auth/drupal.ts'
import type { Failure } from '#lib/errors.ts'
import { createBreaker } from '#lib/http/breaker.ts'
import { createHttp } from '#lib/http/client.ts'
import { createRefusals } from '#lib/drupal/refusals.ts'
import { serving } from '../fixtures/loopback.ts'
import { build } from '../helper.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const REFUSED = { code: 'UNAUTHENTICATED', statusCode: 401, headers: { 'www-authenticate': 'Cookie realm="Drupal"' } }
const basic = (user: string, password = user) => ({ authorization: `Basic ${btoa(`${user}:${password}`)}` })

async function sampleCms(t: Test, basePath = ''): Promise<{ cms: Cms; url: string }> {
  const cms = createCms({ content: newspaper(), basePath })
  t.teardown(() => cms.close())
  return { cms, url: await cms.listen() }
}

/** The session cookie of a user, as Drupal's login gives it, and how to end it. */
async function login(url: string, name: string) {
  const answer = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, pass: name })
  })
  const cookie = answer.headers.get('set-cookie')!.split(';')[0]!
  const { logout_token: token } = (await answer.json()) as { logout_token: string }
  return { cookie, logout: () => fetch(`${url}/user/logout?_format=json&token=${token}`, { method: 'POST', headers: { cookie } }) }
}

/** The check over the sample CMS, with the test's clock. */
async function checking(t: Test, { most, basePath = '' }: { most?: number; basePath?: string } = {}) {
  const { cms, url } = await sampleCms(t, basePath)
  const http = createHttp({ url, timeoutMs: 2000 })
  t.teardown(() => http.close())
  const clock = { now: 1_000_000 }
  const check = drupalCheck({ http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }), ...(most && { most }) })
  const who = (headers: Record<string, string>) => check(headers, 'id').catch((failure: Failure) => failure)
  const asked = () => cms.requestLines.filter((line) => /^GET \S*\/jsonapi 200$/.test(line)).length
  return { cms, url, clock, who, asked }
}

t.test('whose session or password it is, Drupal says: uid and display name', async (t) => {
  for (const basePath of ['', '/cms']) {
    const { url, who } = await checking(t, { basePath })
    const { cookie } = await login(url, 'editor')
    t.strictSame(await who({ cookie }), { uid: '2', name: 'editor' })
    t.strictSame(await who(basic('reader')), { uid: '4', name: 'reader' })
    t.strictSame(await who({ cookie: `_ga=1; ${cookie}; theme=dark` }), { uid: '2', name: 'editor' }, 'among other cookies')
    t.strictSame(await who({ cookie, ...basic('reader') }), { uid: '4', name: 'reader' }, 'Authorization goes first, as towards the CMS')
  }
})

t.test('an unrelated cookie is no other identity, and one that a setting names is', async (t) => {
  const sent: Array<string | undefined> = []
  const url = await serving(t, ({ url, headers }, response) => {
    sent.push(headers.cookie)
    response.writeHead(200, { 'content-type': 'application/vnd.api+json' })
    const entry = { data: [], meta: { links: { me: { meta: { id: '11111111-1111-4111-8111-111111111111' } } } } }
    response.end(
      JSON.stringify(
        url === '/jsonapi'
          ? entry
          : {
              data: {
                type: 'user--user',
                id: '11111111-1111-4111-8111-111111111111',
                attributes: { drupal_internal__uid: 7, display_name: 'Ada' }
              }
            }
      )
    )
  })
  const http = createHttp({ url, timeoutMs: 2000 })
  t.teardown(() => http.close())
  const check = drupalCheck({ http, jsonapiPath: '/jsonapi', cookieNames: ['saml'] })
  for (const cookie of ['SESSa=1', '_ga=1; SESSa=1', 'SESSa=1; theme=dark']) {
    t.strictSame(await check({ cookie }, 'id'), { uid: '7', name: 'Ada' })
  }
  t.strictSame(sent, ['SESSa=1', 'SESSa=1'], 'one caller, asked about once: the entry point, and his name')
  await check({ cookie: 'saml=1; _ga=1' }, 'id')
  t.strictSame(sent.slice(2), ['saml=1', 'saml=1'])
})

t.test('anonymous is refused although Drupal answers 200', async (t) => {
  const { cms, who } = await checking(t)
  t.match(await who({ cookie: 'SESS12ca17b49af2289436f303e0166030a2=ended' }), REFUSED, 'a session that has ended')
  t.match(await who({ authorization: 'Bearer abc' }), REFUSED, 'a scheme that nothing at Drupal takes')
  t.match(await who({ authorization: 'Basic !' }), REFUSED, 'no credentials at all')
  t.strictSame(cms.requestLines, ['GET /jsonapi 200', 'GET /jsonapi 200', 'GET /jsonapi 200'])
  t.match(await who({}), REFUSED)
  t.match(await who({ cookie: '_ga=1; SESS=; theme=dark' }), REFUSED, 'without a session cookie Drupal is not asked')
  t.equal(cms.requests, 3)
})

t.test('a wrong password is refused without a second try, for longer than Drupal counts five', async (t) => {
  const { clock, who, asked } = await checking(t)
  for (let hours = 0; hours < 6; hours += 0.25) {
    t.match(await who(basic('editor', 'wrong')), REFUSED)
    clock.now += 15 * 60_000
  }
  t.equal(asked(), 4, 'four times in six hours')
  t.strictSame(await who(basic('editor')), { uid: '2', name: 'editor' }, 'the right one is not locked out')
})

t.test('a refused session is asked about again after a few seconds', async (t) => {
  const { clock, who, asked } = await checking(t)
  const cookie = 'SESSabc=made-up'
  for (const [ms, times] of [
    [0, 1],
    [4999, 1],
    [1, 2],
    [5000, 3]
  ] as const) {
    clock.now += ms
    t.match(await who({ cookie }), REFUSED)
    t.equal(asked(), times)
  }
})

t.test('the memory of accepted credentials ends after a minute', async (t) => {
  const { url, clock, who, asked } = await checking(t)
  const { cookie, logout } = await login(url, 'editor')
  t.match(await who({ cookie }), { uid: '2' })
  t.equal((await logout()).status, 204)
  clock.now += 59_999
  t.match(await who({ cookie }), { uid: '2' })
  t.equal(asked(), 1)
  clock.now += 1
  t.match(await who({ cookie }), REFUSED)
  t.equal(asked(), 2)
})

t.test('concurrent checks of the same credentials share one call', async (t) => {
  const { who, asked, cms } = await checking(t)
  const given = await Promise.all(Array.from({ length: 50 }, () => who(basic('editor'))))
  t.ok(given.every((one) => 'uid' in one && one.uid === '2'))
  t.equal(cms.requests, 2, 'the entry point and the user, once')
  await Promise.all([who(basic('reader')), who(basic('reader', 'wrong')), who(basic('editor'))])
  t.equal(asked(), 3, 'different ones do not')
})

t.test('a hash of the credentials is remembered and never the credentials', async (t) => {
  const { url, who } = await checking(t)
  const { cookie } = await login(url, 'editor')
  const kept = [Map, LRUCache].map(({ prototype }) =>
    t.capture(prototype as Map<unknown, unknown>, 'set', prototype.set as typeof Map.prototype.set)
  )
  const secret = cookie.split('=')[1]!
  await who({ cookie })
  await who({ cookie: 'SESSabc=hunter2' })
  await who(basic('reader', 'hunter3'))
  const hashed = kept
    .flatMap(({ args }) => args() as Array<[unknown, unknown]>)
    .filter(([key]) => typeof key === 'string' && /^[\w+/]{43}=$/.test(key))
  t.equal(new Set(hashed.map(([key]) => key)).size, 3)
  t.ok(hashed.length >= 6, 'three pending, one accepted, two refused')
  const all = JSON.stringify(hashed)
  for (const part of [secret, 'hunter2', 'hunter3', btoa('reader:hunter3'), btoa('hunter3')]) t.notOk(all.includes(part))
  t.ok(all.includes('"editor"'), 'and this looks where they would be')
})

t.test('the memory is bounded, and made-up credentials push nobody out', async (t) => {
  const { who, asked } = await checking(t, { most: 2 })
  await who(basic('editor'))
  for (let made = 0; made < 10; made++) await who({ cookie: `SESSabc=${made}` })
  t.equal(asked(), 11)
  await who(basic('editor'))
  await who({ cookie: 'SESSabc=9' })
  t.equal(asked(), 11, 'both are remembered')
  await who({ cookie: 'SESSabc=0' })
  t.equal(asked(), 12, 'those from before are not')
  await who(basic('reader'))
  await who(basic('admin'))
  await who(basic('editor'))
  t.equal(asked(), 15, 'the third has pushed the first out')
})

t.test('while Drupal is away unknown callers get 503 and remembered ones go on', async (t) => {
  const { cms, clock, who } = await checking(t)
  const AWAY = { code: 'AUTH_UNAVAILABLE', statusCode: 503, headers: { 'retry-after': '5' } }
  await who(basic('editor'))
  cms.settings.maintenance = true
  const before = cms.requests
  t.match(await who(basic('reader')), AWAY)
  t.match(await who(basic('reader', 'wrong')), AWAY, 'nor is anybody refused')
  clock.now += 61_000
  for (let seconds = 0; seconds < 30; seconds++) {
    t.match(await who(basic('editor')), { uid: '2' })
    clock.now += 1000
  }
  t.equal(cms.requests - before, 5, 'tried every ten seconds')
  clock.now += 15 * 60_000
  t.match(await who(basic('editor')), AWAY, 'not for ever')
  cms.settings.maintenance = false
  t.match(await who(basic('editor')), { uid: '2' })
  t.match(await who(basic('reader', 'wrong')), REFUSED)
  await cms.close()
  t.match(await who(basic('reader')), { code: 'AUTH_UNAVAILABLE', headers: { 'retry-after': '5' }, cause: { code: 'CMS_UNREACHABLE' } })
})

t.test('who was accepted and has logged out is not let in again while Drupal is away', async (t) => {
  const { cms, url, clock, who } = await checking(t)
  const { cookie, logout } = await login(url, 'editor')
  t.match(await who({ cookie }), { uid: '2' })
  t.equal((await logout()).status, 204)
  clock.now += 61_000
  t.match(await who({ cookie }), REFUSED)
  clock.now += 6000
  cms.settings.maintenance = true
  t.match(await who({ cookie }), { code: 'AUTH_UNAVAILABLE' })
})

t.test('who was refused something is asked about once more, and then remembered', async (t) => {
  const { cms, url } = await sampleCms(t)
  const http = createHttp({ url, timeoutMs: 2000 })
  t.teardown(() => http.close())
  const refusals = createRefusals()
  // The clocks are those of the service.
  const check = drupalCheck({ http, jsonapiPath: '/jsonapi', refusals })
  const asked = () => cms.requestLines.filter((line) => line === 'GET /jsonapi 200').length
  const caller = basic('editor')
  for (let i = 0; i < 3; i++) await check(caller, 'id')
  t.equal(asked(), 1)
  refusals.tell(newCaller(caller))
  for (let i = 0; i < 3; i++) await check(caller, 'id')
  t.equal(asked(), 2)
})

t.test('what Drupal answers otherwise is a refusal or a 503, and never a pass', async (t) => {
  const uuid = '855d568c-a40d-43fb-a97a-426045895e11'
  const me = (id: unknown) => ({ data: [], meta: { links: { me: { meta: { id } } } } })
  const UNKNOWN = { code: 'AUTH_UNAVAILABLE', statusCode: 503, headers: { 'retry-after': '5' } }
  const user = (attributes: object) => ({ data: { type: 'user--user', id: uuid, attributes } })
  const gone = { errors: [] }
  type Reply = [status: number, body: object | string, headers?: Record<string, string>]
  const answers: Array<[what: string, found: object, ...Reply[]]> = [
    ['a refused token (simple_oauth)', REFUSED, [401, gone]],
    ['a forbidden entry point', REFUSED, [403, gone]],
    ['no links', REFUSED, [200, { data: [], meta: { links: [] } }]],
    ['no entry point', UNKNOWN, [404, '<html>']],
    ['a redirection', UNKNOWN, [302, '', { location: '/' }]],
    ['a page', { ...UNKNOWN, cause: { cause: { message: /^the CMS answered 200: 13 bytes$/ } } }, [200, '<html>hunter2']],
    ['no document', UNKNOWN, [200, '[]']],
    [
      'an error',
      { ...UNKNOWN, cause: { message: /^the CMS answered 500: Internal Server Error$/ } },
      [500, { errors: [{ title: 'Internal Server Error', detail: 'hunter2' }] }]
    ],
    ['overload', { ...UNKNOWN, headers: { 'retry-after': '17' } }, [429, gone, { 'retry-after': '17' }]],
    ['overload until a day', UNKNOWN, [503, gone, { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT' }]],
    ['no uuid', UNKNOWN, [200, me('../../node/article')]],
    ['no string', UNKNOWN, [200, me(5)]],
    ['no meta', UNKNOWN, [200, { data: [], meta: { links: { me: {} } } }]],
    ['no object', UNKNOWN, [200, { data: [], meta: { links: { me: 'me' } } }]],
    ['a user who is gone', UNKNOWN, [200, me(uuid)], [404, gone]],
    ['a user who may not see themselves', UNKNOWN, [200, me(uuid)], [403, gone]],
    ['a label without a uid', UNKNOWN, [200, me(uuid)], [200, user({ display_name: 'editor' })]],
    ['a uid that is none', UNKNOWN, [200, me(uuid)], [200, user({ drupal_internal__uid: {} })]],
    [
      'another user',
      UNKNOWN,
      [200, me(uuid)],
      [200, { data: { type: 'user--user', id: '11111111-1111-4111-8111-111111111111', attributes: { drupal_internal__uid: 1 } } }]
    ],
    ['no display name', { uid: '2' }, [200, me(uuid)], [200, user({ drupal_internal__uid: 2 })]]
  ]
  let replies: Reply[] = []
  let asked = 0
  const url = await serving(t, (_request, response) => {
    asked++
    const [status, body, headers] = replies.shift()!
    response
      .writeHead(status, { 'content-type': 'application/vnd.api+json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  const http = createHttp({ url, timeoutMs: 2000 })
  t.teardown(() => http.close())
  for (const [what, found, ...told] of answers) {
    replies = [...told]
    asked = 0
    const given = await drupalCheck({ http, jsonapiPath: '/jsonapi' })(basic('editor'), 'id').catch((failure: Failure) => failure)
    t.match(given, found, what)
    t.equal(asked, told.length, `${what}: nothing is sent twice`)
  }
})

t.test('when Drupal is next tried, after failures in a row, is told to who cannot be checked until then', async (t) => {
  const url = await serving(t, (_request, response) => {
    response.writeHead(500).end()
  })
  const http = createHttp({ url, timeoutMs: 2000, breaker: createBreaker({ failures: 1, restMs: 60_000 }) })
  t.teardown(() => http.close())
  const check = drupalCheck({ http, jsonapiPath: '/jsonapi' })
  await t.rejects(check(basic('editor'), 'id'), { code: 'AUTH_UNAVAILABLE', headers: { 'retry-after': '5' } })
  await t.rejects(check(basic('editor'), 'id'), { code: 'AUTH_UNAVAILABLE', headers: { 'retry-after': /^[56]\d$/ } })
})

t.test('what a browser says of where a write comes from decides, and then its host', async (t) => {
  const host = 'quoin.example.org:8443'
  const cookie = 'SESSabc=1'
  const cases: Array<[refused: boolean, headers: Record<string, string>, trusted?: string[]]> = [
    [false, { cookie }],
    [false, { cookie, 'sec-fetch-site': 'same-origin', origin: 'https://quoin.example.org:8443' }],
    [false, { cookie, 'sec-fetch-site': 'same-site', origin: 'https://desk.example.org' }],
    [false, { cookie, 'sec-fetch-site': 'none' }],
    [true, { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    [true, { cookie, 'sec-fetch-site': 'cross-site' }],
    [true, { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://quoin.example.org:8443' }],
    [true, { cookie, 'sec-fetch-site': 'SAME-ORIGIN' }],
    [true, { cookie, 'sec-fetch-site': '' }],
    [true, { cookie, 'sec-fetch-site': 'same-origin, cross-site' }],
    [false, { cookie, origin: 'http://quoin.example.org:8443' }],
    [false, { cookie, origin: 'http://quoin.example.org:3000' }],
    [false, { cookie, origin: 'http://QUOIN.example.org' }],
    [true, { cookie, origin: 'http://evil.example' }],
    [true, { cookie, origin: 'http://quoin.example.org.evil.example' }],
    [true, { cookie, origin: 'http://evil.example/quoin.example.org:8443' }],
    [true, { cookie, origin: 'null' }],
    [true, { cookie, origin: '' }],
    [true, { cookie, origin: 'null', host: '::' }],
    [true, { ...basic('editor'), 'sec-fetch-site': 'cross-site' }],
    [true, { authorization: 'Negotiate YII', 'sec-fetch-site': 'cross-site' }],
    [true, { authorization: 'NTLM TlRM', origin: 'http://evil.example' }],
    [true, { authorization: 'Bearers x', 'sec-fetch-site': 'cross-site' }],
    [false, { authorization: 'bearer x', 'sec-fetch-site': 'cross-site' }],
    [false, basic('editor')],
    [false, { cookie, authorization: 'Bearer x', 'sec-fetch-site': 'cross-site' }],
    [false, { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://desk.example' }, ['https://desk.example']],
    [true, { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, ['https://desk.example']]
  ]
  for (const [refused, headers, trusted] of cases) {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
      t.equal(isCrossSite({ method, headers: { host, ...headers } }, trusted), refused, `${method} ${JSON.stringify(headers)}`)
    }
    for (const method of ['GET', 'HEAD', 'OPTIONS']) t.equal(isCrossSite({ method, headers: { host, ...headers } }, trusted), false, method)
  }
})

t.test('cross-site writes with a cookie are refused before Drupal is asked; sendBeacon of the same site passes', async (t) => {
  const { cms, url } = await sampleCms(t)
  const fastify = await build(t, { AUTH: 'drupal', CMS_URL: url })
  const { cookie } = await login(url, 'editor')
  const before = cms.requests
  const beacon = (headers: Record<string, string>) =>
    fastify.inject({
      method: 'POST',
      url: '/api/cloud/data-state/node/1/release',
      headers: { cookie, 'content-type': 'text/plain;charset=UTF-8', ...headers },
      body: '{}'
    })
  const refused = await beacon({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', origin: 'https://evil.example' })
  t.equal(refused.statusCode, 403)
  t.match(refused.json(), { success: false, message: /^Error: /, error: { name: 'ForbiddenError', code: 'FORBIDDEN' } })
  for (const [method, path] of [
    ['POST', '/api/cloud/data-state/node/1'],
    ['PUT', '/api/cloud/data-state/node/1'],
    ['DELETE', '/api/cloud/data-state/node/1?uid=2'],
    ['POST', '/api/collection'],
    ['POST', '/api/collection/1']
  ] as const) {
    const { statusCode, body } = await fastify.inject({ method, url: path, headers: { cookie, origin: 'https://evil.example' } })
    t.strictSame([statusCode, body.includes('FORBIDDEN')], [403, true], `${method} ${path}`)
  }
  t.equal(cms.requests, before)
  for (const site of ['same-origin', 'same-site']) {
    const { statusCode, json } = await beacon({ 'sec-fetch-site': site, origin: 'https://desk.example.org' })
    t.strictSame([statusCode, json().error.code], [400, 'BAD_REQUEST'], `from ${site} its body is looked at`)
  }
  const read = await fastify.inject({ url: '/api/collections/daily?limit=1', headers: { cookie, 'sec-fetch-site': 'cross-site' } })
  t.equal(read.statusCode, 200, 'reading changes nothing; whether another page may see the answer is for CORS')
})

t.test('editions are read and written with the credentials that were checked', async (t) => {
  const { url } = await sampleCms(t)
  const fastify = await build(t, { AUTH: 'drupal', CMS_URL: url })
  const { cookie } = await login(url, 'editor')
  const hidden = (headers: Record<string, string>) => fastify.inject({ url: '/api/collections/publisher_container?status=0', headers })
  t.ok((await hidden({ cookie })).json().data.length > 0)
  t.strictSame((await hidden(basic('reader'))).json().data, [])
  const reply = await hidden(basic('reader', 'wrong'))
  t.match(
    [reply.statusCode, reply.headers['www-authenticate'], reply.json()],
    [
      401,
      'Cookie realm="Drupal"',
      { statusCode: 401, error: 'Unauthorized', code: 'UNAUTHENTICATED', message: 'The CMS does not know these credentials' }
    ]
  )
  const unguarded = await fastify.inject({
    method: 'POST',
    url: '/api/collection/60',
    headers: { cookie },
    body: { title: [{ value: 'x' }] }
  })
  t.match([unguarded.statusCode, unguarded.json()], [403, { code: 'CMS_FORBIDDEN' }], 'towards Drupal a cookie needs its token as ever')
})
