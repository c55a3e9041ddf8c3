import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import t from 'tap'
import { Failure } from '#lib/errors.ts'
import { basicAccount, oauthAccount, sessionAccount, type Account, type AccountOptions } from '#lib/drupal/accounts.ts'
import type { HttpAnswer } from '#lib/http/exchange.ts'
import type { Http } from '#lib/http/client.ts'
import { isUncertain } from '#lib/editions/save/outcome.ts'
import { recording, versions, type Version } from '../fixtures/recordings.ts'
import { fakeTime } from '../fixtures/time.ts'

const CALLERS = 50
const HOUR_MS = 3_600_000

type Kind = 'session' | 'basic' | 'oauth'
const KINDS: Record<Kind, (options: AccountOptions, user: string, password: string) => Account> = {
  session: sessionAccount,
  basic: basicAccount,
  oauth: oauthAccount
}

/** What an account makes of an answer: it is in; refused for good; locked out for an hour; none the wiser. */
type Verdict = 'in' | 'refused' | 'locked' | 'unclear'
type Verdicts = Partial<Record<Kind, Verdict>>

function answer(status: number, body: object | string, contentType: string, headers: IncomingHttpHeaders = {}): HttpAnswer {
  return {
    status,
    headers: { 'content-type': contentType, ...headers },
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

const json = (status: number, body: object | string, headers?: IncomingHttpHeaders) => answer(status, body, 'application/json', headers)
const html = (status: number, headers?: IncomingHttpHeaders) =>
  answer(status, '<html><title>Request blocked</title>', 'text/html; charset=utf-8', headers)

/** As a Drupal answered that was recorded. */
function recorded(name: string, version?: Version): HttpAnswer {
  const { status, headers, body } = recording(name, version).response
  return answer(status, body, headers['content-type']!, headers['set-cookie'] ? { 'set-cookie': [headers['set-cookie']] } : {})
}

const well: Record<Kind, HttpAnswer> = {
  session: json(200, { current_user: { uid: '2' }, csrf_token: 'token' }, { 'set-cookie': ['SESSa=b; path=/'] }),
  basic: recorded('jsonapi-entrypoint-editor-meta-links-me'),
  oauth: json(200, { access_token: 'a.token', token_type: 'Bearer', expires_in: 300 })
}

/** Whatever answers these, no kind of account learns anything of its credentials. */
const UNCLEAR: Array<[what: string, answer: HttpAnswer | Failure]> = [
  ['the page of a firewall, 403', html(403)],
  ['the page of a firewall, 200', html(200)],
  ['a page, 400', html(400)],
  ['a page, 401, as a proxy wants it', html(401, { 'www-authenticate': 'Basic realm="staging"' })],
  ['a page, 404', html(404)],
  ["Drupal's 404, as a document", json(404, { message: 'No route found for "POST http://cms.example/user/login"' })],
  ['405', json(405, { message: 'No route found for "POST http://cms.example/user/login": Method Not Allowed (Allow: GET)' })],
  ['406', recorded('jsonapi-unknown-query-param-uncached-format')],
  ['a redirect', html(302, { location: '/' })],
  ['a redirect for good', html(308, { location: 'https://cms.example/' })],
  ["a gateway's JSON, 400", json(400, { message: 'Bad Request' })],
  ["a gateway's JSON, 403", json(403, { message: 'Forbidden' })],
  ["a gateway's JSON, 401", json(401, { error: { code: 401 } })],
  ["Drupal's words on a page", answer(400, JSON.stringify({ message: 'Sorry, unrecognized username or password.' }), 'text/html')],
  ['words that are none', json(400, { message: { toString: 1 } })],
  ['errors that say nothing', answer(403, { errors: [{}] }, 'application/vnd.api+json')],
  ['errors that are none', answer(403, { errors: [{ detail: { toString: 1 } }] }, 'application/vnd.api+json')],
  ['no JSON', json(200, '{"csrf_token":')],
  ['a list', json(200, [])],
  ['nothing', json(200, '')],
  ['what is missing', json(400, { message: 'Missing credentials.' })],
  ['too much', json(429, { message: 'Too many requests' }, { 'retry-after': '5' })],
  ['500', answer(500, 'The website encountered an unexpected error.', 'text/plain')],
  ['502', html(502)],
  ['maintenance', recorded('jsonapi-maintenance-mode-503')],
  ['504', html(504)],
  [
    'no connection',
    new Failure('CMS_UNREACHABLE', 'The CMS could not be reached', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
  ],
  ['no answer', new Failure('CMS_TIMEOUT', 'The CMS did not answer', { cause: new Error('late') })]
]

/** What tells one kind of account something, and the others nothing. */
const TELLING: Array<[what: string, answer: HttpAnswer, verdicts: Verdicts]> = [
  ...versions.flatMap((version): typeof TELLING => [
    [`a wrong password, ${version}`, recorded('session-login-wrong-password', version), { session: 'refused' }],
    [`an unknown user, ${version}`, recorded('session-login-unknown-user', version), { session: 'refused' }],
    [`a blocked user, ${version}`, recorded('session-login-blocked-user', version), { session: 'refused' }],
    [`a session already, ${version}`, recorded('session-login-while-logged-in', version), {}],
    [`anonymous, ${version}`, recorded('jsonapi-entrypoint-anonymous', version), { basic: 'refused' }],
    [`403, ${version}`, recorded('jsonapi-individual-unpublished-article-reader-403', version), { basic: 'refused' }],
    [`401, ${version}`, recorded('jsonapi-post-anonymous-401', version), { basic: 'refused' }]
  ]),
  // Source: Drupal\user\Controller\UserAuthenticationController::floodControl(), its three texts.
  ['a lockout of the address', json(403, { message: 'Access is blocked because of IP based flood prevention.' }), { session: 'locked' }],
  [
    'a lockout of the account',
    json(403, {
      message:
        'There have been more than 5 failed login attempts for this account. It is temporarily blocked. Try again later or request a new password.'
    }),
    { session: 'locked' }
  ],
  [
    'a lockout of both',
    json(403, { message: 'Too many failed login attempts from your IP address. This IP address is temporarily blocked.' }),
    { session: 'locked' }
  ],
  ['no cookie', json(200, { csrf_token: 'token' }), {}],
  ['no token', json(200, { current_user: {} }, { 'set-cookie': ['SESSa=b'] }), {}],
  ['a document of something else', json(200, { status: 'ok' }), {}],
  ...['invalid_client', 'unauthorized_client', 'invalid_grant', 'access_denied'].flatMap((error) =>
    [400, 401, 403].map((status): (typeof TELLING)[number] => [
      `${status} ${error}`,
      json(status, { error, error_description: 'x', message: 'Client authentication failed' }),
      { oauth: 'refused' }
    ])
  ),
  ['OAuth: a grant that is off', json(400, { error: 'unsupported_grant_type', message: 'x' }), {}],
  ['OAuth: a body that was lost', json(400, { error: 'invalid_request' }), {}],
  ['OAuth: words on a page', answer(401, '{"error":"invalid_client"}', 'text/html'), {}],
  ['OAuth: a fault', json(500, { error: 'invalid_client' }), {}],
  ['OAuth: no token', json(200, { token_type: 'Bearer' }), {}]
]

/** An account before something that answers as the test says, by the test's clock. */
function accountBefore(kind: Kind, said: HttpAnswer | Failure, joinPeers?: AccountOptions['joinPeers']) {
  const state = { said, now: 1_000_000, random: 0, asked: 0 }
  const http: Http = {
    async send({ method }) {
      // A login that went well is looked at once, and is known.
      if (kind !== 'basic' && method === 'GET' && state.said === well[kind]) return well.basic
      state.asked++
      if (state.said instanceof Failure) throw state.said
      return state.said
    },
    close: async () => {}
  }
  const account = KINDS[kind](
    { http, jsonapiPath: '/jsonapi', time: fakeTime({ monotonic: () => state.now, random: () => state.random }), joinPeers },
    'editor',
    'a password'
  )
  /** What that many callers get who ask at once, each different one once. */
  const ask = async () => {
    const results = await Promise.all(
      Array.from({ length: CALLERS }, () =>
        account.credentials().then(
          () => 'in',
          (failure: Failure) => failure
        )
      )
    )
    return [...new Set(results)]
  }
  return { account, state, ask }
}

type Before = ReturnType<typeof accountBefore>

/** What the callers got: one code, and a message and Retry-After where they count. */
function failedWith(
  results: Array<string | Failure>,
  what: string,
  code: RegExp,
  { message = /./, seconds }: { message?: RegExp; seconds?: number } = {}
) {
  for (const failure of results) {
    assert.ok(failure instanceof Failure, what)
    assert.match(failure.code, code, what)
    assert.match(failure.message, message, what)
    assert.equal(isUncertain(failure), false, `${what}: a write was certainly not sent`)
    if (seconds !== undefined) assert.equal(failure.headers['retry-after'], String(seconds), what)
  }
}

async function isRefused({ state, ask }: Before, what: string, kind: Kind) {
  failedWith(await ask(), what, /^CMS_LOGIN_REFUSED$/, { message: /operator has to correct the settings/ })
  state.said = well[kind]
  state.now += 365 * 24 * HOUR_MS
  failedWith(await ask(), what, /^CMS_LOGIN_REFUSED$/)
  assert.equal(state.asked, 1, `${what}: once and never again`)
}

async function isLocked({ state, ask }: Before, what: string, kind: Kind) {
  failedWith(await ask(), what, /^CMS_UNAVAILABLE$/, { message: /locked out.*in 3600 s$/, seconds: 3600 })
  state.now += HOUR_MS - 1
  failedWith(await ask(), what, /^CMS_UNAVAILABLE$/, { seconds: 1 })
  assert.equal(state.asked, 1, `${what}: nothing is tried for an hour`)
  state.now += 1
  await ask()
  assert.equal(state.asked, 2, what)
  state.now += HOUR_MS
  state.said = well[kind]
  assert.deepEqual(await ask(), ['in'], `${what}: then it is in again`)
}

async function isUnclear({ state, ask }: Before, what: string, kind: Kind) {
  let asked = 0
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    failedWith(await ask(), what, /^CMS_(?:FAILED|UNREACHABLE|TIMEOUT)$/)
    assert.equal(state.asked, ++asked, `${what}: one try for all`)
    state.now += seconds * 1000 - 1
    failedWith(await ask(), what, /^CMS_UNAVAILABLE$/, {
      message: /nothing is sent to it, and so nothing saved, until it is tried again in 1 s$/,
      seconds: 1
    })
    assert.equal(state.asked, asked, `${what}: nothing is tried for ${seconds} s`)
    state.now += 1
  }
  state.said = well[kind]
  assert.deepEqual(await ask(), ['in'], `${what}: it recovers by itself`)
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  t.test(`a ${kind} account gives up only when Drupal refuses it, and tries again what says nothing of it`, async (t) => {
    for (const [what, said, verdicts] of [
      ...UNCLEAR.map(([what, said]): [string, HttpAnswer | Failure, Verdicts] => [what, said, {}]),
      ...TELLING
    ]) {
      const before = accountBefore(kind, said)
      const verdict = verdicts[kind]
      if (verdict === 'refused') await isRefused(before, what, kind)
      else if (verdict === 'locked') await isLocked(before, what, kind)
      else await isUnclear(before, what, kind)
    }
    t.strictSame(await accountBefore(kind, well[kind]).ask(), ['in'])
  })
}

t.test('the pause is shortened at random, and the first again after a success', async (t) => {
  const { account, state, ask } = accountBefore('oauth', html(500))
  state.random = 1
  for (const ms of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    const asked = state.asked
    await ask()
    state.now += ms - 1
    await ask()
    t.equal(state.asked, asked + 1, `${ms} ms`)
    state.now += 1
  }
  state.said = well.oauth
  t.strictSame(await ask(), ['in'])
  state.said = html(500)
  t.equal(await account.renew(await account.credentials(), 401), true)
  const asked = state.asked
  await ask()
  state.now += 500
  await ask()
  t.equal(state.asked, asked + 2)
})

t.test('what the circuit breaker keeps back is no try', async (t) => {
  const open = new Failure('CMS_UNAVAILABLE', 'The circuit breaker is open', {
    headers: { 'retry-after': '5' },
    cause: new Error('not sent')
  })
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const { state, ask } = accountBefore(kind, open)
    t.strictSame(await ask(), [open])
    state.said = well[kind]
    t.strictSame(await ask(), ['in'], 'and no pause follows it')
  }
})

t.test('a session whose check says nothing is neither given up nor used, and a dead one is opened again', async (t) => {
  const { account, state, ask } = accountBefore('session', well.session)
  const session = await account.credentials()
  state.said = html(403)
  state.now += 60_000
  t.match(await ask(), [{ code: 'CMS_FAILED' }])
  await t.rejects(account.renew(session, 403), { code: 'CMS_UNAVAILABLE' })
  t.equal(state.asked, 2, 'the check, once for all')
  state.now += 1000
  state.said = recorded('jsonapi-entrypoint-editor-meta-links-me')
  t.equal(await account.credentials(), session, 'it is alive')
  t.equal(state.asked, 3)
  t.equal(await account.renew(session, 403), false, 'just looked at')
  state.now += 1000
  t.equal(await account.renew(session, 403), false, 'a refusal is meant')
  t.equal(state.asked, 4)
})

/** What each kind of account is refused with. */
const REFUSALS: Record<Kind, HttpAnswer> = {
  session: recorded('session-login-wrong-password'),
  basic: recorded('jsonapi-entrypoint-anonymous'),
  oauth: json(401, { error: 'invalid_client' })
}

/** An account, how often it has told its peers of a refusal, and what they tell it. */
function accountWithPeers(kind: Kind, said: HttpAnswer) {
  const peers = { told: 0, tell: () => {} }
  const before = accountBefore(kind, said, (hear) => {
    peers.tell = hear
    return () => {
      peers.told++
    }
  })
  return { ...before, peers }
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  t.test(`a ${kind} account that another instance was refused rests once, and then tries once`, async (t) => {
    const before = accountWithPeers(kind, REFUSALS[kind])
    const { state, ask, peers } = before
    peers.tell()
    for (let time = 0; time < 3; time++) {
      failedWith(await ask(), kind, /^CMS_UNAVAILABLE$/, {
        message: /refused this service's account to another instance.*in 3600 s$/,
        seconds: 3600
      })
      peers.tell()
    }
    state.now += HOUR_MS - 1
    peers.tell()
    failedWith(await ask(), kind, /^CMS_UNAVAILABLE$/, { seconds: 1 })
    t.strictSame([state.asked, peers.told], [0, 0], 'nothing is tried, and who hears tells nobody')
    state.now += 1
    await isRefused(before, kind, kind)
    t.equal(peers.told, 1, 'its own refusal is told, once')
  })
}

for (const kind of ['basic', 'oauth'] as const) {
  t.test(`a ${kind} account that Drupal accepts loses a minute an hour at most to a bus that says otherwise`, async (t) => {
    const { state, ask, peers } = accountWithPeers(kind, well[kind])
    t.strictSame(await ask(), ['in'])
    let late = 0
    for (let time = 0; time < 720; time++) {
      state.now += 10_000
      peers.tell()
      const results = await ask()
      if (results[0] === 'in') continue
      failedWith(results, kind, /^CMS_UNAVAILABLE$/, { message: /to another instance/ })
      late += 10
    }
    t.ok(late <= 120, `${late} s of two hours`)
    t.ok(state.asked > 10, 'it is tried again and again')
    t.equal(peers.told, 0)
  })
}

t.test('a session that ends after such a notice is opened again within a minute', async (t) => {
  const { state, ask, peers } = accountWithPeers('session', well.session)
  t.strictSame(await ask(), ['in'])
  state.now += 59_000
  peers.tell()
  state.now += 1000
  state.said = recorded('jsonapi-entrypoint-anonymous')
  failedWith(await ask(), 'session', /^CMS_UNAVAILABLE$/, { seconds: 59 })
  state.said = well.session
  state.now += 59_000
  peers.tell()
  t.strictSame(await ask(), ['in'])
})

t.test('a rest of which another instance is the reason is shortened at random too', async (t) => {
  const { state, ask, peers } = accountWithPeers('basic', well.basic)
  state.random = 1
  peers.tell()
  failedWith(await ask(), 'basic', /^CMS_UNAVAILABLE$/, { seconds: 1800 })
  state.now += HOUR_MS / 2
  t.strictSame(await ask(), ['in'])
})

t.test('a session that is alive goes on, whatever is said of the account', async (t) => {
  const { state, ask, peers } = accountWithPeers('session', well.session)
  t.strictSame(await ask(), ['in'])
  peers.tell()
  state.said = recorded('jsonapi-entrypoint-editor-meta-links-me')
  for (let minute = 0; minute < 5; minute++) {
    state.now += 60_000
    t.strictSame(await ask(), ['in'])
  }
})
