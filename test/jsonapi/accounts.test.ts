import type { RequestListener, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { basicAccount, oauthAccount, sessionAccount, type Account, type AccountOptions } from '#lib/drupal/accounts.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { cmsAdvice } from '../../packages/setup/doctor/advice.ts'
import { createHttp, type Http } from '#lib/http/client.ts'
import { serving } from '../fixtures/loopback.ts'
import { build } from '../helper.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const CALLERS = 50

/** The sample CMS and what an account needs to speak to it; the clock is the test's. */
async function cmsFor(t: Test) {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { send, close } = createHttp({ url: await cms.listen(), timeoutMs: 2000 })
  t.teardown(() => close())
  let logoutToken = ''
  const http: Http = {
    async send(request) {
      const answer = await send(request)
      if (request.path.startsWith('/user/login')) logoutToken = JSON.parse(answer.body.toString()).logout_token
      return answer
    },
    close
  }
  const clock = { now: 1_000_000 }
  const options: AccountOptions = { http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }
  const count = (pattern: RegExp) => cms.requestLines.filter((line) => pattern.test(line)).length
  /** Ends the session as an administrator's logout would. */
  const end = async (headers: Record<string, string>) => {
    const { status } = await send({
      method: 'POST',
      path: `/user/logout?_format=json&token=${logoutToken}`,
      headers: { ...headers, 'content-type': 'application/json' }
    })
    t.equal(status, 204)
  }
  return { options, clock, count, end }
}

/** HTTP to a server that answers as told. */
async function fake(t: Test, handler: RequestListener) {
  const http = createHttp({ url: await serving(t, handler), timeoutMs: 2000 })
  t.teardown(() => http.close())
  return http
}

/** What the entry point answers to a user, and to anybody. */
const KNOWN = { data: [], meta: { links: { me: { meta: { id: 'a-uuid' } } } } }
const ANONYMOUS = { data: [] }

const asJson = (response: ServerResponse, status: number, body: unknown) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

t.test('a session is opened once, however many ask for it at the same time', async (t) => {
  const { options, count } = await cmsFor(t)
  const account = sessionAccount(options, 'editor', 'editor')
  const given = await Promise.all(Array.from({ length: CALLERS }, () => account.credentials()))
  t.match(given[0], { cookie: /^SESS\w+=/, 'x-csrf-token': /./ })
  t.equal(new Set(given).size, 1)
  t.equal(count(/^POST \/user\/login/), 1)
})

t.test('requests are made with the session: unpublished editions are seen and writes are accepted', async (t) => {
  const { options } = await cmsFor(t)
  const cms = createJsonapi({ ...options, account: sessionAccount(options, 'editor', 'editor') })
  const unpublished = await cms.request({ path: '/publisher_container/daily', query: [['filter[status]', '0']], caller: newCaller() })
  t.ok((unpublished.document.data as unknown[]).length > 0)
  const body = { data: { type: 'publisher_container--daily', attributes: { title: 'T', field_key: 'a-new-key' } } }
  t.equal((await cms.request({ method: 'POST', path: '/publisher_container/daily', body, caller: newCaller() })).status, 201)
})

t.test('a session that has ended is opened again: after a refusal at once, else within a minute', async (t) => {
  const { options, clock, count, end } = await cmsFor(t)
  const account = sessionAccount(options, 'editor', 'editor')
  const cms = createJsonapi({ ...options, account })
  const unpublished = () =>
    cms
      .request({ path: '/publisher_container/daily', query: [['filter[status]', '0']], caller: newCaller() })
      .then(({ document }) => (document.data as unknown[]).length)
  const create = (key: string) =>
    cms.request({
      method: 'POST',
      path: '/publisher_container/daily',
      body: { data: { type: 'publisher_container--daily', attributes: { title: 'T', field_key: key } } },
      caller: newCaller()
    })

  await end(await account.credentials())
  clock.now += 2000
  t.equal((await create('k-1')).status, 201, 'refused, opened again, written')
  t.equal(count(/^POST \/user\/login/), 2)
  t.equal(count(/^POST .*publisher_container.* 201/), 1, 'once')

  await end(await account.credentials())
  t.equal(await unpublished(), 0, 'for a while an ended session is taken for anonymous')
  clock.now += 61_000
  const looked = count(/^GET \/jsonapi /)
  const seen = await Promise.all(Array.from({ length: CALLERS }, unpublished))
  t.ok(seen.every((rows) => rows > 0))
  t.equal(count(/^POST \/user\/login/), 3, 'opened once for all')
  t.equal(count(/^GET \/jsonapi /) - looked, 2, 'the old one and the new one are looked at once for all')
})

t.test('a living session is looked at once a minute', async (t) => {
  const { options, clock, count } = await cmsFor(t)
  const account = sessionAccount(options, 'editor', 'editor')
  const opened = await account.credentials()
  for (const looked of [2, 3]) {
    clock.now += 60_000
    for (let time = 0; time < 3; time++) t.equal(await account.credentials(), opened)
    t.equal(count(/^GET \/jsonapi /), looked)
  }
})

t.test('a refusal that is meant for a living session is passed on', async (t) => {
  const { options, clock, count } = await cmsFor(t)
  const account = sessionAccount(options, 'reader', 'reader')
  const cms = createJsonapi({ ...options, account })
  const attempt = () =>
    cms.request({
      method: 'POST',
      path: '/publisher_container/daily',
      body: { data: { type: 'publisher_container--daily', attributes: { title: 'T', field_key: 'k' } } },
      caller: newCaller()
    })
  t.equal((await attempt()).status, 403)
  t.equal(count(/^GET \/jsonapi /), 1, 'just opened and looked at, so it is alive')
  clock.now += 2000
  t.equal((await attempt()).status, 403)
  t.equal(count(/^GET \/jsonapi /), 2)
  t.equal(count(/^POST \/user\/login/), 1)
  t.equal(await account.renew({ cookie: 'of an earlier session' }, 403), true, 'another request has renewed it')
})

t.test('one refused login is the last, and the caller learns whose fault it is', async (t) => {
  const { options, count } = await cmsFor(t)
  for (const account of [sessionAccount(options, 'editor', 'wrong'), basicAccount(options, 'editor', 'wrong')]) {
    for (let time = 0; time < 3; time++) {
      await t.rejects(account.credentials(), {
        code: 'CMS_LOGIN_REFUSED',
        statusCode: 502,
        message: /operator has to correct the settings/
      })
    }
  }
  t.equal(count(/^POST \/user\/login/), 1)
  t.equal(count(/^GET \/jsonapi /), 1)
})

t.test('a Basic account is tried out once a minute, and where a request was refused', async (t) => {
  const { options, clock, count } = await cmsFor(t)
  const account = basicAccount(options, 'editor', 'editor')
  const all = () => Promise.all(Array.from({ length: CALLERS }, () => account.credentials()))
  await all()
  t.equal(count(/^GET \/jsonapi /), 1)
  t.equal(await account.renew(await account.credentials(), 403), false, 'a refusal is meant')
  t.equal(count(/^GET \/jsonapi /), 1, 'just seen to be known')
  clock.now += 2000
  t.equal(await account.renew(await account.credentials(), 403), false)
  t.equal(count(/^GET \/jsonapi /), 2)
  clock.now += 61_000
  await all()
  t.equal(count(/^GET \/jsonapi /), 3)
})

t.test('a Basic account that the CMS knows no more is no anonymous one', async (t) => {
  let known = true
  let asked = 0
  const http = await fake(t, (request, response) =>
    asJson((asked++, response), 200, {
      data: [],
      meta: known && request.headers.authorization ? { links: { me: { href: 'http://cms.example/jsonapi/user/user/7' } } } : {}
    })
  )
  const clock = { now: 0 }
  const options = { http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }
  const notices: Array<(account: Account, used: Record<string, string>) => Promise<unknown>> = [
    (account) => {
      clock.now += 60_000
      return account.credentials()
    },
    (account, used) => {
      clock.now += 1000
      return account.renew(used, 403)
    }
  ]
  for (const notice of notices) {
    known = true
    const account = basicAccount(options, 'editor', 'editor')
    const used = await account.credentials()
    known = false
    await t.rejects(notice(account, used), { code: 'CMS_LOGIN_REFUSED', message: /operator has to correct the settings/ })
    await t.rejects(account.credentials(), { code: 'CMS_LOGIN_REFUSED' })
    asked = 0
    clock.now += 3_599_000
    await t.rejects(account.credentials(), { code: 'CMS_LOGIN_REFUSED' })
    t.equal(asked, 0, 'it is left alone, since Drupal counts each failure')
    clock.now += 1000
    await t.rejects(account.credentials(), { code: 'CMS_LOGIN_REFUSED' })
    known = true
    await t.rejects(account.credentials(), { code: 'CMS_LOGIN_REFUSED' })
    clock.now += 3_600_000
    await Promise.all([account.credentials(), account.credentials()])
    t.equal(asked, 2, 'and then tried again, since a lockout ends')
  }
})

t.test('a CMS that is ill at login is asked again after a pause', async (t) => {
  const answers = [
    (response: ServerResponse) => response.writeHead(500).end('PDOException'),
    (response: ServerResponse) => response.writeHead(429).end(),
    (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    (response: ServerResponse) =>
      asJson(response.setHeader('set-cookie', ['SESSa=b; path=/', 'other=c']), 200, { csrf_token: 't\r\nx: y' }),
    (response: ServerResponse) => asJson(response.setHeader('set-cookie', ['SESSa=b; path=/', 'other=c']), 200, { csrf_token: 't' }),
    (response: ServerResponse) => asJson(response, 200, KNOWN)
  ]
  const http = await fake(t, (request, response) => request.resume().on('end', () => answers.shift()!(response)))
  const clock = { now: 0 }
  const account = sessionAccount({ http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }, 'u', 'p')
  for (let time = 0; time < 4; time++) {
    await t.rejects(account.credentials(), { code: 'CMS_FAILED' })
    await t.rejects(account.credentials(), { code: 'CMS_UNAVAILABLE' })
    clock.now += 60_000
  }
  t.strictSame(await account.credentials(), { cookie: 'SESSa=b; other=c', 'x-csrf-token': 't' })
})

t.test('an OAuth token is fetched once, replaced before its end and where it is not accepted, not for what it may not do', async (t) => {
  let granted = 0
  const bodies: string[] = []
  const http = await fake(t, (request, response) => {
    let body = ''
    request
      .on('data', (chunk) => {
        body += chunk
      })
      .on('end', () => {
        if (request.url === '/oauth/token') {
          bodies.push(body)
          return asJson(response, 200, { access_token: `t${++granted}`, token_type: 'Bearer', expires_in: 300 })
        }
        if (request.url === '/jsonapi/forbidden') {
          return response.writeHead(403, { 'content-type': 'application/vnd.api+json' }).end('{"errors":[]}')
        }
        const accepted = request.headers.authorization === `Bearer t${granted}` && granted !== 3
        if (request.url === '/jsonapi') return asJson(response, 200, KNOWN)
        return response
          .writeHead(accepted ? 200 : 401, { 'content-type': 'application/vnd.api+json' })
          .end(accepted ? '{"data":[]}' : '{"errors":[]}')
      })
  })
  const clock = { now: 0 }
  const options = { http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }
  const account = oauthAccount(options, 'client', 'a secret&')
  await Promise.all(Array.from({ length: CALLERS }, () => account.credentials()))
  t.strictSame(bodies, ['grant_type=client_credentials&client_id=client&client_secret=a+secret%26'])
  clock.now = 269_000
  t.strictSame(await account.credentials(), { authorization: 'Bearer t1' })
  clock.now = 271_000
  t.strictSame(await account.credentials(), { authorization: 'Bearer t2' }, 'half a minute before its end')
  const cms = createJsonapi({ ...options, account })
  t.equal((await cms.request({ path: '/x', caller: newCaller() })).status, 200)
  await account.renew(await account.credentials(), 401)
  t.equal((await cms.request({ path: '/x', caller: newCaller() })).status, 200, 't3 is refused, t4 is not')
  t.equal((await cms.request({ path: '/forbidden', caller: newCaller() })).status, 403)
  t.equal(granted, 4)
})

t.test('a token that ends, or is not accepted any more, is replaced once for all who ask, however late each learns of it', async (t) => {
  let granted = 0
  const http = await fake(t, (request, response) =>
    request
      .resume()
      .on('end', () => asJson(response, 200, request.method === 'GET' ? KNOWN : { access_token: `t${++granted}`, expires_in: 300 }))
  )
  const clock = { now: 0 }
  const account = oauthAccount({ http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }, 'c', 's')
  const first = await account.credentials()
  clock.now = 271_000
  const given = await Promise.all(Array.from({ length: CALLERS }, () => account.credentials()))
  t.strictSame(new Set(given), new Set([given[0]]))
  t.not(given[0], first)
  t.equal(granted, 2, 'where it ends')

  const refused = given[0]!
  const renewed = await Promise.all(
    Array.from({ length: CALLERS }, async (_, turns) => {
      for (let turn = 0; turn < turns; turn++) await setImmediate()
      t.equal(await account.renew(refused, 401), true)
      return account.credentials()
    })
  )
  t.equal(new Set(renewed).size, 1)
  t.equal(granted, 3, 'where it is withdrawn')
})

t.test('a refused client is not tried again, an ill token endpoint is', async (t) => {
  let asked = 0
  const refusing = await fake(t, (request, response) => {
    asked++
    request.resume().on('end', () => asJson(response, 401, { error: 'invalid_client' }))
  })
  const account = oauthAccount({ http: refusing, jsonapiPath: '/jsonapi' }, 'c', 's')
  for (let time = 0; time < 3; time++) await t.rejects(account.credentials(), { code: 'CMS_LOGIN_REFUSED' })
  t.equal(asked, 1)
  const answers = [{ token: 'none' }, ['no object'], { access_token: 'without-an-end' }]
  const ill = await fake(t, (request, response) =>
    request.resume().on('end', () => asJson(response, 200, request.method === 'GET' ? KNOWN : answers.shift()))
  )
  const clock = { now: 0 }
  const other = oauthAccount({ http: ill, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }, 'c', 's')
  for (let time = 0; time < 2; time++) {
    await t.rejects(other.credentials(), { code: 'CMS_FAILED' })
    clock.now += 60_000
  }
  for (let time = 0; time < 2; time++) t.strictSame(await other.credentials(), { authorization: 'Bearer without-an-end' })
})

/** A Drupal with simple_oauth whose tokens live so long, and what it says of itself. */
async function oauthSite(
  t: Test,
  grant: (number: number) => object = (number) => ({ access_token: `t${number}`, token_type: 'Bearer', expires_in: 300 })
) {
  const site = { granted: 0, looks: 0, isHeeded: true, clock: 1_000_000 }
  const http = await fake(t, (request, response) =>
    request.resume().on('end', () => {
      if (request.url === '/oauth/token') return asJson(response, 200, grant(++site.granted))
      if (request.url === '/jsonapi') site.looks++
      const isUser = site.isHeeded && request.headers.authorization === `Bearer t${site.granted}`
      if (request.url === '/jsonapi/forbidden') {
        return response.writeHead(403, { 'content-type': 'application/vnd.api+json' }).end('{"errors":[]}')
      }
      return asJson(response, 200, isUser ? KNOWN : ANONYMOUS)
    })
  )
  const options = { http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => site.clock, random: () => 0 }) }
  const account = oauthAccount(options, 'client', 'secret')
  return { site, account, cms: createJsonapi({ ...options, account }) }
}

t.test('a token that does not reach Drupal is no anonymous one: nothing is sent with it, and it is tried again in a minute', async (t) => {
  const { site, account, cms } = await oauthSite(t)
  site.isHeeded = false
  const refused = {
    code: 'CMS_LOGIN_REFUSED',
    message: /its operator has to see to it$/,
    cause: { message: /token, which it takes for nobody's \(does the web server hand on Authorization, .*tried again in 60 s$/ }
  }
  for (let time = 0; time < 3; time++) await t.rejects(cms.request({ path: '/node/article', caller: newCaller() }), refused)
  t.match(cmsAdvice(await account.credentials().catch((error) => error), ''), { remedy: /^have the web server hand on Authorization/ })
  t.strictSame([site.granted, site.looks], [1, 1])
  site.clock += 60_000
  await t.rejects(account.credentials(), refused)
  site.isHeeded = true
  site.clock += 60_000
  t.match((await cms.request({ path: '/node/article', caller: newCaller() })).document, KNOWN)
  t.strictSame([site.granted, site.looks], [3, 3], 'once Drupal sees it, it is used')
})

t.test('a token that Drupal knows no more is replaced, within a minute or after a refusal', async (t) => {
  const { site, account, cms } = await oauthSite(t)
  const first = await account.credentials()
  site.clock += 59_999
  t.equal(await account.credentials(), first)
  t.equal(site.looks, 1)
  site.clock += 1
  t.equal(await account.credentials(), first, 'looked at once a minute')
  t.equal(site.looks, 2)
  t.equal(await account.renew(first, 403), false, 'a refusal is meant: it was just looked at')
  site.clock += 1000
  t.equal(await account.renew(first, 403), false, 'a refusal is meant')
  t.equal(site.looks, 3)
  site.granted++
  site.clock += 1000
  t.equal(await account.renew(first, 403), true, 'the token is dead')
  t.strictSame(await account.credentials(), { authorization: 'Bearer t3' })
  t.equal(await account.renew(first, 403), true, 'another request has renewed it')
  site.isHeeded = false
  site.clock += 60_000
  await t.rejects(cms.request({ path: '/node/article', caller: newCaller() }), { code: 'CMS_LOGIN_REFUSED' })
})

t.test('a look at a token that says nothing is made again, with the same token', async (t) => {
  let looks = 0
  let granted = 0
  const http = await fake(t, (request, response) =>
    request.resume().on('end', () => {
      if (request.method === 'POST') return asJson(response, 200, { access_token: `t${++granted}` })
      return ++looks === 1 ? response.writeHead(502).end() : asJson(response, 200, KNOWN)
    })
  )
  const clock = { now: 0 }
  const account = oauthAccount({ http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => clock.now }) }, 'c', 's')
  await t.rejects(account.credentials(), { code: 'CMS_FAILED' })
  clock.now += 1000
  t.strictSame(await account.credentials(), { authorization: 'Bearer t1' })
})

t.test('an odd token is a failed login, and no outage of the CMS', async (t) => {
  const odd: Array<[what: string, grant: object]> = [
    ['a line break', { access_token: 'a\r\nx: y' }],
    ['no ASCII', { access_token: 'ключ' }],
    ['a space', { access_token: 'a b' }],
    ['nothing', { access_token: '' }],
    ['more than header fields hold', { access_token: 'a'.repeat(8001) }],
    ['another type', { access_token: 'a', token_type: 'mac' }],
    ['a type that is none', { access_token: 'a', token_type: { toString: 1 } }]
  ]
  for (const [what, grant] of odd) {
    const { site, account } = await oauthSite(t, () => grant)
    for (let time = 0; time < 2; time++) {
      await t.rejects(
        account.credentials(),
        { code: 'CMS_LOGIN_REFUSED', cause: { message: /tokens that cannot be sent as Bearer; tried again in 60 s$/ } },
        what
      )
    }
    t.strictSame([site.granted, site.looks], [1, 0], `${what}: it is not sent`)
  }
})

t.test('a token that lives shortly, or not at all by its own word, is not fetched for each request', async (t) => {
  for (const [seconds, grants] of [
    [20, 1],
    [3, 5],
    [0, 1],
    [-5, 1],
    ['x', 1]
  ] as const) {
    const { site, account } = await oauthSite(t, (number) => ({ access_token: `t${number}`, token_type: 'bearer', expires_in: seconds }))
    for (let time = 0; time < 10; time++) {
      site.clock += 1001
      await account.credentials()
    }
    t.equal(site.granted, grants, `expires_in ${seconds}`)
  }
})

t.test('a session whose cookie does not reach Drupal is no anonymous one', async (t) => {
  const http = await fake(t, (request, response) =>
    request
      .resume()
      .on('end', () =>
        request.method === 'POST'
          ? asJson(response.setHeader('set-cookie', 'SESSa=b'), 200, { csrf_token: 't' })
          : asJson(response, 200, ANONYMOUS)
      )
  )
  const account = sessionAccount({ http, jsonapiPath: '/jsonapi' }, 'u', 'p')
  await t.rejects(account.credentials(), {
    code: 'CMS_LOGIN_REFUSED',
    cause: { message: /session, which it takes for nobody's .*tried again in 60 s$/ }
  })
})

t.test('the application uses the account that the settings name', async (t) => {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const titles = async (env: Record<string, string>) => {
    const app = await build(t, { CMS_URL, ...env })
    const reply = await app.inject('/api/collections/publisher_container?status=0')
    return reply.statusCode === 200 ? reply.json().data.length : reply.json().code
  }
  t.equal(await titles({}), 0)
  t.ok((await titles({ CMS_AUTH: 'session', CMS_USER: 'editor', CMS_PASSWORD: 'editor' })) > 0)
  t.equal(await titles({ CMS_AUTH: 'session', CMS_USER: 'editor', CMS_PASSWORD: 'wrong' }), 'CMS_LOGIN_REFUSED')
  t.equal(
    await titles({ CMS_AUTH: 'oauth', CMS_CLIENT_ID: 'c', CMS_CLIENT_SECRET: 's' }),
    'CMS_FAILED',
    'the sample CMS has no simple_oauth'
  )
})
