import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { LRUCache } from 'lru-cache'
import t, { type Test } from 'tap'
import type { Check, Identity } from '#lib/auth/identity.ts'
import { jwtCheck, type JwtOptions } from '#lib/auth/jwt.ts'
import { readPublicKey } from '#lib/auth/public-key.ts'
import type { Failure } from '#lib/errors.ts'
import { serving } from '../fixtures/loopback.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { AUDIENCE, claims, ISSUER, jwkOf, pairs, pemOf, stranger, tokenOf, type Pair } from './fixtures.ts'
import { fakeTime } from '../fixtures/time.ts'

const options = { issuer: ISSUER, audience: AUDIENCE, uidClaim: 'sub' }
const checkWith = (pair: Pair, more: Partial<JwtOptions> = {}): Check => jwtCheck({ ...options, keys: readPublicKey(pemOf(pair)), ...more })
const check = checkWith(pairs.ES256)
const seconds = () => Math.floor(Date.now() / 1000)

async function outcome(check: Check, authorization: string | undefined): Promise<Identity | Failure> {
  return check(authorization === undefined ? {} : { authorization }, 'id').catch((failure: Failure) => failure)
}

const ask = (check: Check, token: string) => outcome(check, `Bearer ${token}`)

async function refuses(t: Test, check: Check, token: string, what: string, challenge = 'error="invalid_token"'): Promise<void> {
  const found = (await ask(check, token)) as Failure
  t.match(found, { code: 'UNAUTHENTICATED', statusCode: 401, headers: { 'www-authenticate': String } }, what)
  t.ok(found.headers?.['www-authenticate']?.includes(challenge), `${what}: ${found.headers?.['www-authenticate']}`)
  t.match(
    found.headers?.['www-authenticate'],
    /^Bearer realm="Quoin", error="[a-z_]+", error_description="[ !#-[\]-~]+"$/,
    `${what}: as RFC 6750 has it`
  )
}

t.test('a token of each algorithm is accepted by a key of its kind, and says who calls', async (t) => {
  for (const [alg, pair] of Object.entries(pairs)) {
    t.strictSame(
      await ask(checkWith(pair), tokenOf(claims(), { header: { alg }, signer: pair.privateKey })),
      { uid: '7', name: 'Anna' },
      alg
    )
  }
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'AT+JWT', undefined]) {
    t.strictSame(await ask(check, tokenOf(claims(), { header: { typ } })), { uid: '7', name: 'Anna' }, String(typ))
  }
  t.strictSame(
    await outcome(check, `bEARER   ${tokenOf(claims())}`),
    { uid: '7', name: 'Anna' },
    'the scheme is not case-sensitive (RFC 9110 section 11.1)'
  )
  t.strictSame(await ask(check, tokenOf(claims({ aud: ['other', AUDIENCE] }))), { uid: '7', name: 'Anna' }, 'one of several audiences')
})

t.test('the uid comes from the claim that the settings name, the name from name or preferred_username', async (t) => {
  const other = checkWith(pairs.ES256, { uidClaim: 'drupal.uid' })
  t.strictSame(
    await ask(other, tokenOf(claims({ 'drupal.uid': 12, name: undefined, preferred_username: 'anna' }))),
    { uid: '12', name: 'anna' },
    'an integer counts as its digits'
  )
  t.strictSame(await ask(other, tokenOf(claims({ 'drupal.uid': 0, name: undefined }))), { uid: '0' })
  for (const name of [5.5, null, {}, '', 'x'.repeat(256), 'a\nb', '\ud800']) {
    t.strictSame(await ask(check, tokenOf(claims({ name }))), { uid: '7' }, `a name that is none: ${JSON.stringify(name)}`)
  }
})

t.test('without a bearer token the challenge names no error', async (t) => {
  for (const authorization of [undefined, '', 'Basic YTpi', 'Bearertoken', 'Negotiate x']) {
    t.match(
      await outcome(check, authorization),
      { code: 'UNAUTHENTICATED', headers: { 'www-authenticate': 'Bearer realm="Quoin"' } },
      String(authorization)
    )
  }
})

t.test('what is no token is refused', async (t) => {
  for (const token of [
    '',
    'x',
    'a.b',
    'a.b.c',
    'a.b.c.d.e',
    '..',
    `${tokenOf(claims())} `.repeat(2),
    `${tokenOf(claims())}x`,
    'e30.e30.',
    '🙂'
  ]) {
    await refuses(t, check, token, JSON.stringify(token.slice(0, 20)))
  }
  for (const payload of [[], null, 'text', 5]) await refuses(t, check, tokenOf(payload), `the claims are ${JSON.stringify(payload)}`)
})

t.test('a scheme without a token is an invalid token', async (t) => {
  for (const authorization of ['Bearer', 'bearer ']) {
    t.match(
      await outcome(check, authorization),
      { code: 'UNAUTHENTICATED', headers: { 'www-authenticate': /invalid_token/ } },
      authorization
    )
  }
})

t.test('alg none is refused, with and without a signature', async (t) => {
  for (const alg of ['none', 'None', 'NONE', '']) {
    await refuses(t, check, tokenOf(claims(), { header: { alg }, signer: null }), `alg ${alg}`)
    await refuses(t, check, tokenOf(claims(), { header: { alg } }), `alg ${alg}, signed`)
  }
  const [head, payload] = tokenOf(claims()).split('.')
  await refuses(t, check, `${head}.${payload}.`, 'the signature taken off')
})

t.test('HS256 with the public key as the secret is refused', async (t) => {
  for (const [alg, pair] of Object.entries(pairs)) {
    for (const secret of [pemOf(pair), pemOf(pair).trim(), pair.publicKey.export({ type: 'spki', format: 'der' }).toString('latin1')]) {
      for (const hmac of ['HS256', 'HS384', 'HS512', alg]) {
        await refuses(t, checkWith(pair), tokenOf(claims(), { header: { alg: hmac }, signer: secret }), `${hmac} for a key of ${alg}`)
      }
    }
  }
})

t.test('a token cannot choose another algorithm than that of the key', async (t) => {
  for (const [alg, pair] of Object.entries(pairs)) {
    for (const other of ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'ES256K', 'EdDSA', 'Ed25519', 'ML-DSA-44'].filter(
      (name) => name !== alg
    )) {
      await refuses(
        t,
        checkWith(pair),
        tokenOf(claims(), { header: { alg: other }, signer: pair.privateKey }),
        `${other} for a key of ${alg}`
      )
    }
  }
})

t.test('a key that a token brings along, or points to, is ignored', async (t) => {
  let asked = 0
  const url = await serving(t, (_request, response) => {
    asked++
    response.end(JSON.stringify({ keys: [jwkOf(stranger)] }))
  })
  for (const header of [
    { jwk: jwkOf(stranger) },
    { jku: url },
    { x5u: url },
    { x5c: ['MIIB'] },
    { kid: url },
    { kid: '../../../../dev/null' },
    { jwk: jwkOf(stranger), jku: url, kid: 'a' }
  ]) {
    await refuses(t, check, tokenOf(claims(), { header, signer: stranger.privateKey }), JSON.stringify(header).slice(0, 40))
  }
  t.equal(asked, 0, 'nobody was asked')
  t.strictSame(
    await ask(check, tokenOf(claims(), { header: { jwk: jwkOf(stranger), jku: url } })),
    { uid: '7', name: 'Anna' },
    'and does no harm to a good token'
  )
  for (const header of [{ crit: ['exp'] }, { crit: ['b64'], b64: false }, { crit: [] }]) {
    await refuses(t, check, tokenOf(claims(), { header }), 'an extension that is not understood')
  }
})

t.test('a token of another type of the same issuer is refused', async (t) => {
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'application/logout+jwt', '', 'JWTX']) {
    await refuses(t, check, tokenOf(claims(), { header: { typ } }), typ)
  }
})

t.test('a wrong or missing issuer is refused', async (t) => {
  for (const iss of [undefined, '', 'https://id.example/', 'https://ID.example', [ISSUER], 5, null]) {
    await refuses(t, check, tokenOf(claims({ iss })), JSON.stringify(iss) ?? 'none', 'claim iss')
  }
})

t.test('a wrong or missing audience is refused', async (t) => {
  for (const aud of [undefined, '', 'Quoin', 'quoin2', [], ['other'], [[AUDIENCE]], { quoin: 1 }, null]) {
    await refuses(t, check, tokenOf(claims({ aud })), JSON.stringify(aud) ?? 'none', 'claim aud')
  }
})

t.test('an expired token is refused, half a minute of leeway granted', async (t) => {
  for (const ago of [32, 3600]) await refuses(t, check, tokenOf(claims({ exp: seconds() - ago })), `${ago} s ago`, 'expired')
  t.match(await ask(check, tokenOf(claims({ exp: seconds() - 20 }))), { uid: '7' })
  await refuses(t, check, tokenOf(claims({ exp: 0 })), 'in 1970', 'expired')
})

t.test('a token without exp is refused, and one whose exp is no number', async (t) => {
  for (const exp of [undefined, null, '9999999999', true, [9999999999], 'never']) {
    await refuses(t, check, tokenOf(claims({ exp })), JSON.stringify(exp) ?? 'none', 'claim exp')
  }
})

t.test('a token that is not valid yet is refused, half a minute of leeway granted', async (t) => {
  for (const nbf of [seconds() + 40, seconds() + 3600, '0', null]) {
    await refuses(t, check, tokenOf(claims({ nbf })), JSON.stringify(nbf), 'claim nbf')
  }
  t.match(await ask(check, tokenOf(claims({ nbf: seconds() + 20 }))), { uid: '7' })
})

t.test('a token without a usable uid is refused', async (t) => {
  for (const sub of [undefined, null, '', 1.5, 2 ** 60, true, [], {}, 'x'.repeat(256), '7\n', '7\u0000', '\ud800']) {
    await refuses(t, check, tokenOf(claims({ sub })), JSON.stringify(sub) ?? 'none')
  }
  await refuses(t, checkWith(pairs.ES256, { uidClaim: 'uid' }), tokenOf(claims()), 'another claim', 'The claim uid')
  for (const uidClaim of ['__proto__', 'constructor', 'toString']) {
    await refuses(t, checkWith(pairs.ES256, { uidClaim }), tokenOf(claims()), uidClaim)
  }
})

t.test('a token that was changed anywhere never authenticates', async (t) => {
  const good = tokenOf(claims({ iat: 1 }))
  const bytes = (token: string) => Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('hex')
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ '
  const change = fc.record({
    at: fc.nat(good.length - 1),
    letter: fc.constantFrom(...letters),
    how: fc.constantFrom('replace', 'insert', 'remove', 'cut', 'swap')
  })
  const changed = fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) =>
    changes.reduce((token, { at, letter, how }) => {
      switch (how) {
        case 'replace':
          return token.slice(0, at) + letter + token.slice(at + 1)
        case 'insert':
          return token.slice(0, at) + letter + token.slice(at)
        case 'remove':
          return token.slice(0, at) + token.slice(at + 1)
        case 'cut':
          return token.slice(0, at)
        default:
          return token.slice(at) + token.slice(0, at)
      }
    }, good)
  )
  // A signature has more than one spelling in base64url; the same bytes under the same text are the same token. So is one
  // with more spaces before it (RFC 9110 11.4: 1*SP).
  const same = (changed: string, token = changed.trimStart()) =>
    token.split('.').slice(0, 2).join() === good.split('.').slice(0, 2).join() && bytes(token) === bytes(good)
  await fc.assert(
    fc.asyncProperty(
      changed.filter((token) => !same(token)),
      async (token) => ((await ask(check, token)) as Failure).code === 'UNAUTHENTICATED'
    ),
    { numRuns: runs(500) }
  )
  t.match(await ask(check, good), { uid: '7' }, 'as it was it does')
})

t.test('whatever a signed token says, it authenticates exactly when every claim is right', async (t) => {
  const at = seconds()
  const json = fc.jsonValue({ maxDepth: 1 })
  const claim = <T>(right: T, ...others: unknown[]) =>
    fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(right) }, fc.constantFrom<unknown>(undefined, ...others), json)
  const signers: Array<[string, KeyObject | string | null, boolean]> = [
    ['ES256', pairs.ES256.privateKey, true],
    ['ES256', stranger.privateKey, false],
    ['EdDSA', pairs.EdDSA.privateKey, false],
    ['none', null, false],
    ['HS256', pemOf(pairs.ES256), false]
  ]
  const generated = fc.record({
    iss: claim(ISSUER, 'https://other.example'),
    aud: claim(AUDIENCE, [AUDIENCE], ['x', AUDIENCE], 'x'),
    exp: claim(at + 600, at - 600, at + 1e12),
    nbf: claim(undefined, at - 5, at + 600),
    sub: claim('7', 7, '', 'ü'),
    signer: fc.oneof({ weight: 4, arbitrary: fc.constant(signers[0]!) }, fc.constantFrom(...signers))
  })
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(generated, async ({ signer: [alg, signer, right], ...said }) => {
      const { iss, aud, exp, nbf, sub } = JSON.parse(JSON.stringify(said))
      const good =
        right &&
        iss === ISSUER &&
        (aud === AUDIENCE || (Array.isArray(aud) && aud.includes(AUDIENCE) && aud.every((one) => typeof one === 'string'))) &&
        typeof exp === 'number' &&
        exp > at &&
        (nbf === undefined || (typeof nbf === 'number' && nbf <= at + 30)) &&
        (Number.isSafeInteger(sub) || (typeof sub === 'string' && /^[^\p{Cc}\p{Cs}]{1,255}$/u.test(sub)))
      const found = await ask(check, tokenOf(said, { header: { alg }, signer }))
      if (!good) return 'code' in found && found.code === 'UNAUTHENTICATED'
      accepted++
      return (found as Identity).uid === String(sub)
    }),
    { numRuns: runs(500) }
  )
  t.ok(accepted > runs(500) / 25, `${accepted} were good`)
})

t.test('a key that is none, too short, or not for these algorithms is refused', async (t) => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const wrong: Array<[pem: string, problem: RegExp]> = [
    ['', /has to be a public key in PEM/],
    ['secret', /has to be a public key in PEM/],
    [pairs.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, /has to be a public key in PEM/],
    [(pairs.ES256.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string) + pemOf(pairs.ES256), /has to be a public key in PEM/],
    ['-----BEGIN PUBLIC KEY-----\nsecret\n-----END PUBLIC KEY-----\n', /^its PEM cannot be read$/],
    [pemOf(rsa), /at least 2048 bits/],
    [pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })), /P-256/],
    [pemOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })), /P-256/],
    [pemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 })), /RSA/],
    [pemOf(generateKeyPairSync('x25519')), /Ed25519/]
  ]
  for (const [pem, problem] of wrong) t.throws(() => readPublicKey(pem), { message: problem }, pem.slice(0, 40))
})

const began = performance.now()
let gaveUp = NaN
/** Begun here, so that its seconds pass beside the other tests. */
const hanging = ask(jwtCheck({ ...options, keys: { jwksUrl: await serving(t, () => {}) } }), tokenOf(claims())).finally(() => {
  gaveUp = performance.now() - began
})

/** An issuer whose keys, and whose health, the test decides. The clock is the test's, and who waits for it has it go on. */
async function issuer(t: Test, keys: object[], more: Partial<JwtOptions> = {}) {
  const state: { keys: unknown; asked: number; answer: ((response: ServerResponse, request: IncomingMessage) => unknown) | undefined } = {
    keys,
    asked: 0,
    answer: undefined
  }
  const url = await serving(t, (request, response) => {
    state.asked++
    if (state.answer) state.answer(response, request)
    else response.end(JSON.stringify({ keys: state.keys }))
  })
  let time = Date.now()
  const pass = (ms: number) => {
    time += ms
  }
  const now = () => time
  const clock = {
    now,
    wait: async (ms: number) => {
      pass(ms)
    }
  }
  return {
    state,
    check: jwtCheck({ ...options, keys: { jwksUrl: `${url}/keys` }, ...more }, fakeTime(clock)),
    pass,
    now,
    exp: () => Math.floor(now() / 1000) + 300
  }
}

const signedBy = (pair: Pair, header: object = {}, more: object = {}) => tokenOf(claims(more), { header, signer: pair.privateKey })

t.test('the keys of the issuer are fetched when they are needed, once for all who need them', async (t) => {
  const { state, check } = await issuer(
    t,
    Object.entries(pairs).map(([alg, pair]) => jwkOf(pair, { kid: alg, alg, use: 'sig' }))
  )
  t.equal(state.asked, 0, 'nothing connects at start-up')
  const tokens = Object.entries(pairs).map(([alg, pair]) => signedBy(pair, { alg, kid: alg }))
  for (const found of await Promise.all([...tokens, ...tokens, ...tokens].map((token) => ask(check, token)))) {
    t.strictSame(found, { uid: '7', name: 'Anna' })
  }
  t.equal(state.asked, 1)
})

t.test('a rotated key is accepted with the first token that names it, and a withdrawn one counts no more', async (t) => {
  const { state, check, pass, exp } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'old' })])
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'old' })), { uid: '7' })
  state.keys = [jwkOf(stranger, { kid: 'new' })]
  t.match(await ask(check, signedBy(stranger, { kid: 'new' })), { uid: '7' }, 'however short ago the keys were asked for')
  t.equal(state.asked, 2)
  await refuses(t, check, signedBy(pairs.ES256, { kid: 'old' }), 'the old key')
  await refuses(t, check, signedBy(pairs.ES256, { kid: 'new' }), 'the old key under the new name')

  state.keys = [jwkOf(pairs.ES256, { kid: 'newest' })]
  t.match(await ask(check, signedBy(stranger, { kid: 'new' })), { uid: '7' }, 'keys are believed for a while')
  pass(600_000)
  await refuses(t, check, signedBy(stranger, { kid: 'new' }, { exp: exp() }), 'withdrawn ten minutes ago')
})

t.test('a token that names a key while older keys are on their way waits for the next ones', async (t) => {
  const { state, check } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'old' })])
  const asked = Promise.withResolvers<() => void>()
  state.answer = (response) => {
    const old = JSON.stringify({ keys: state.keys })
    state.answer = undefined
    asked.resolve(() => response.end(old))
  }
  const first = ask(check, signedBy(pairs.ES256, { kid: 'old' }))
  const answer = await asked.promise
  state.keys = [jwkOf(pairs.ES256, { kid: 'old' }), jwkOf(stranger, { kid: 'new' })]
  const second = ask(check, signedBy(stranger, { kid: 'new' }))
  answer()
  t.match(await Promise.all([first, second]), [{ uid: '7' }, { uid: '7' }])
  t.equal(state.asked, 2)
})

t.test('made-up kids do not make Quoin hammer the issuer, nor keep a rotated key out', async (t) => {
  const { state, check, now } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'a' })])
  const from = now()
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' })), { uid: '7' })
  for (let round = 1; round <= 3; round++) {
    state.keys = [jwkOf(pairs.ES256, { kid: 'a' }), jwkOf(stranger, { kid: `new ${round}` })]
    const made = Array.from({ length: 50 }, (_, index) => ask(check, signedBy(stranger, { kid: `${round}.${index}` })))
    t.match(await ask(check, signedBy(stranger, { kid: `new ${round}` })), { uid: '7' })
    for (const refused of await Promise.all(made)) t.match(refused, { code: 'UNAUTHENTICATED' })
    t.equal(state.asked, 1 + round, 'once for all')
  }
  for (let made = 0; made < 5; made++) await refuses(t, check, signedBy(stranger, { kid: `one by one ${made}` }), 'made up')
  t.equal(state.asked, 9)
  t.ok(now() - from >= 8 * 5000, 'every five seconds at most')
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' })), { uid: '7' })
})

t.test('while the issuer is away nobody unknown passes: 503, and it is not asked at every request', async (t) => {
  const { state, check, pass, exp } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'a' })])
  const elsewhere = JSON.stringify({ keys: [jwkOf(pairs.ES256, { kid: 'a' })] })
  const ill: Array<[string, (response: ServerResponse, request: IncomingMessage) => void]> = [
    ['an error', (response) => response.writeHead(500).end('{}')],
    ['a page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['no key set', (response) => response.end('{"keys":"none"}')],
    [
      'a redirection',
      (response, { url }) => (url === '/elsewhere' ? response.end(elsewhere) : response.writeHead(302, { location: '/elsewhere' }).end())
    ],
    ['a cut connection', (response) => response.destroy()]
  ]
  for (const [what, answer] of ill) {
    state.answer = answer
    state.asked = 0
    for (const token of [signedBy(pairs.ES256, { kid: 'a' }), signedBy(stranger), signedBy(pairs.ES256)]) {
      const found = (await ask(check, token)) as Failure
      t.match(found, { code: 'AUTH_UNAVAILABLE', statusCode: 503, headers: { 'retry-after': '5' } }, what)
      t.ok(found.cause, `${what}: the log has the reason`)
    }
    t.equal(state.asked, 1, what)
    pass(5001)
  }
  state.answer = undefined
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' })), { uid: '7' }, 'when it is back they pass')
  state.answer = (response) => response.destroy()
  state.asked = 0
  pass(300_000)
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })), { uid: '7' }, 'known keys outlast an outage')
  t.equal(state.asked, 0)
  t.match(
    await ask(check, signedBy(stranger, { kid: 'b' }, { exp: exp() })),
    { code: 'AUTH_UNAVAILABLE' },
    'whether an unknown kid is good cannot be said'
  )
  t.equal(state.asked, 1)
  pass(300_000)
  for (let minute = 0; minute < 14; minute++) {
    pass(60_000)
    for (const again of [0, 1]) {
      t.match(
        await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp(), again })),
        { uid: '7' },
        `the keys are ten minutes and ${minute + 1} old`
      )
    }
  }
  t.equal(state.asked, 15, 'asked again in vain, once in five seconds at most')
  pass(60_000)
  t.match(
    await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })),
    { code: 'AUTH_UNAVAILABLE' },
    'but for no more than fifteen minutes'
  )
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })), { code: 'AUTH_UNAVAILABLE' })
  state.answer = undefined
  pass(5000)
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })), { uid: '7' })
})

t.test('an issuer whose proxy sends long header fields is understood, and one that never ends is left', async (t) => {
  const { state, check, pass } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'a' })])
  state.answer = (response) => {
    state.answer = (response) => {
      for (let n = 0; n < 20; n++) response.write(' '.repeat(1024 * 1024))
    }
    response.writeHead(200, { 'x-cache-tags': 'x'.repeat(24 * 1024) }).end(JSON.stringify({ keys: state.keys }))
  }
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' })), { uid: '7' })
  pass(600_001 + 15 * 60_000)
  const refused = (await ask(check, tokenOf(claims({ exp: Math.floor(Date.now() / 1000) + 3600 }), { header: { kid: 'a' } }))) as Failure
  t.match(refused, { code: 'AUTH_UNAVAILABLE', cause: { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' } })
})

t.test('only a published key of the right kind and purpose verifies', async (t) => {
  const secret = 'a shared secret, which is long enough for HS256 to take'
  const { state, check, pass, exp } = await issuer(t, [{ kty: 'oct', kid: 'a', k: Buffer.from(secret).toString('base64url') }])
  await refuses(t, check, tokenOf(claims(), { header: { alg: 'HS256', kid: 'a' }, signer: secret }), 'a symmetric key')
  await refuses(t, check, tokenOf(claims(), { header: { alg: 'none', kid: 'a' }, signer: null }), 'none')
  const published: Array<[what: string, keys: object[], header: object, pair: Pair]> = [
    ['a key for encryption', [jwkOf(pairs.ES256, { kid: 'a', use: 'enc' })], { kid: 'a' }, pairs.ES256],
    ['a key that signs only', [jwkOf(pairs.ES256, { kid: 'a', key_ops: ['sign'] })], { kid: 'a' }, pairs.ES256],
    ['a key for another algorithm', [jwkOf(pairs.RS256, { kid: 'a', alg: 'PS256' })], { kid: 'a', alg: 'RS256' }, pairs.RS256],
    ['a key of another type', [jwkOf(pairs.RS256, { kid: 'a' })], { kid: 'a' }, pairs.ES256],
    ['an algorithm that is not allowed', [jwkOf(pairs.RS256, { kid: 'a' })], { kid: 'a', alg: 'RS512' }, pairs.RS256],
    ['several keys and no kid', [jwkOf(pairs.ES256, { kid: 'a' }), jwkOf(stranger, { kid: 'b' })], {}, pairs.ES256],
    ['no key', [], { kid: 'a' }, pairs.ES256]
  ]
  for (const [what, keys, header, pair] of published) {
    state.keys = keys
    pass(600_001)
    await refuses(t, check, signedBy(pair, header, { exp: exp() }), what)
  }
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
  for (const [what, key, pair, alg] of [
    ['a short key', jwkOf(weak), weak, 'RS256'],
    ['a private key', pairs.ES256.privateKey.export({ format: 'jwk' }), pairs.ES256, 'ES256']
  ] as const) {
    state.keys = [key]
    pass(600_001)
    t.match(
      await ask(check, signedBy(pair, { alg }, { exp: exp() })),
      { code: 'UNAUTHENTICATED', message: /The key that the token names cannot be used/ },
      what
    )
  }
  const good = jwkOf(pairs.ES256, { kid: 'good' })
  for (const malformed of [
    { kty: 'EC', crv: 'P-256', kid: 'a' },
    { ...jwkOf(pairs.ES256), kid: 'a', x: 5 },
    { ...jwkOf(pairs.ES256), kid: 'a', x: 'AA' }
  ]) {
    state.keys = [malformed, good]
    pass(600_001)
    t.match(
      await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })),
      { code: 'UNAUTHENTICATED' },
      `a malformed key: ${JSON.stringify(malformed)}`
    )
    t.match(await ask(check, signedBy(pairs.ES256, { kid: 'good' }, { exp: exp() })), { uid: '7' }, 'and no other token')
  }
})

t.test('an entry of the key set that is no key harms no other', async (t) => {
  const { state, check, pass, exp } = await issuer(t, [null, 5, 'a', jwkOf(pairs.ES256, { kid: 'good' })] as object[])
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'good' }, { exp: exp() })), { uid: '7' })
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'a' }, { exp: exp() })), { code: 'UNAUTHENTICATED' })
  state.keys = 'none' as never
  pass(600_001)
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'good' }, { exp: exp() })), { uid: '7' }, 'older keys go on')
  pass(15 * 60_000)
  t.match(await ask(check, signedBy(pairs.ES256, { kid: 'good' }, { exp: exp() })), { code: 'AUTH_UNAVAILABLE' })
})

/** How many signatures were verified while something was done. */
async function verifications(t: Test, work: () => Promise<unknown>): Promise<number> {
  const verify = t.capture(crypto.subtle, 'verify', crypto.subtle.verify)
  await work()
  const { length } = verify.args()
  verify.restore()
  return length
}

t.test('a verified token is not verified again for a minute', async (t) => {
  let now = Date.now()
  const check = jwtCheck({ ...options, keys: readPublicKey(pemOf(pairs.ES256)) }, fakeTime({ now: () => now }))
  const token = tokenOf(claims({ exp: seconds() + 3600 }))
  const asked = (times: number) =>
    verifications(t, async () => {
      for (let time = 0; time < times; time++) t.strictSame(await ask(check, token), { uid: '7', name: 'Anna' })
    })
  t.equal(await asked(100), 1)
  now += 30_000
  t.equal(await asked(10), 0)
  now += 30_000
  t.equal(await asked(10), 1)
  const changed = `${token.slice(0, -4)}AAAA`
  t.equal(await verifications(t, () => refuses(t, check, changed, 'another signature')), 1, 'only the whole token is the same')
  t.equal(await verifications(t, () => refuses(t, check, changed, 'another signature')), 1, 'a refusal is not remembered')
})

t.test('a token is remembered no longer than it lives', async (t) => {
  let now = Date.now()
  const check = jwtCheck({ ...options, keys: readPublicKey(pemOf(pairs.ES256)) }, fakeTime({ now: () => now }))
  const token = tokenOf(claims({ exp: seconds() + 20 }))
  t.match(await ask(check, token), { uid: '7' })
  now += 21_000
  t.equal(await verifications(t, () => ask(check, token)), 1, 'within the leeway it is verified each time')
  t.equal(await verifications(t, () => ask(check, token)), 1)
  now += 30_000
  await refuses(t, check, token, 'later', 'expired')
})

t.test('a token is remembered no longer than the key that verified it', async (t) => {
  const { state, check, pass, exp } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'old' })])
  const old = signedBy(pairs.ES256, { kid: 'old' })
  t.match(await ask(check, old), { uid: '7' })
  state.keys = [jwkOf(stranger, { kid: 'new' })]
  t.match(await ask(check, old), { uid: '7' })
  t.match(await ask(check, signedBy(stranger, { kid: 'new' })), { uid: '7' })
  await refuses(t, check, old, 'the issuer has published other keys since')

  const late = signedBy(stranger, { kid: 'new' }, { exp: Math.floor(exp() + 600) })
  pass(599_000)
  t.match(await ask(check, late), { uid: '7' })
  state.keys = [jwkOf(pairs.ES256, { kid: 'newest' })]
  pass(1000)
  await refuses(t, check, late, 'the keys are to be asked for again')
})

t.test('a token that old keys verify while new ones arrive is not remembered', async (t) => {
  const { state, check } = await issuer(t, [jwkOf(pairs.ES256, { kid: 'old' })])
  const old = signedBy(pairs.ES256, { kid: 'old' })
  await ask(check, signedBy(pairs.ES256, { kid: 'old' }, { first: 1 }))
  state.keys = [jwkOf(stranger, { kid: 'new' })]
  const { verify } = crypto.subtle
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  crypto.subtle.verify = async (...args: Parameters<typeof verify>) => {
    begun.resolve()
    await go.promise
    return verify.apply(crypto.subtle, args)
  }
  t.teardown(() => {
    crypto.subtle.verify = verify
  })
  const pending = ask(check, old)
  await begun.promise
  crypto.subtle.verify = verify
  t.match(await ask(check, signedBy(stranger, { kid: 'new' })), { uid: '7' })
  go.resolve()
  t.match(await pending, { uid: '7' })
  await refuses(t, check, old, 'withdrawn')
})

t.test('the memory of tokens is bounded', async (t) => {
  const check = checkWith(pairs.ES256, {})
  const first = tokenOf(claims({ n: -1 }))
  await ask(check, first)
  const set = t.capture(LRUCache.prototype, 'set', LRUCache.prototype.set)
  await ask(check, tokenOf(claims({ n: 0 })))
  const [
    {
      receiver: memory,
      args: [key]
    }
  ] = set() as unknown as [{ receiver: LRUCache<string, object>; args: [string] }]
  t.match(key, /^[\w+/]{43}=$/, 'by a hash of the token')
  t.equal(memory.max, 10_000)
  t.notOk(JSON.stringify(memory.dump()).includes(first.split('.')[2]!))
})

t.test('a claim says who may lock: by its value, a list with it, or words with it', async (t) => {
  const lockers = checkWith(pairs.ES256, { lock: { claim: 'roles', value: 'editor' } })
  for (const roles of ['editor', ['editor'], ['reader', 'editor'], 'reader editor', 'openid editor profile']) {
    t.strictSame(await ask(lockers, tokenOf(claims({ roles }))), { uid: '7', name: 'Anna', mayLock: true }, JSON.stringify(roles))
  }
  for (const roles of [
    undefined,
    null,
    '',
    'reader',
    'editors',
    'chief-editor',
    'editor,reader',
    ['reader'],
    [['editor']],
    ['chief editor'],
    { editor: true },
    true,
    5
  ]) {
    t.strictSame(await ask(lockers, tokenOf(claims({ roles }))), { uid: '7', name: 'Anna', mayLock: false }, JSON.stringify(roles))
  }
  for (const claim of ['constructor', '__proto__']) {
    t.match(await ask(checkWith(pairs.ES256, { lock: { claim, value: 'editor' } }), tokenOf(claims())), { mayLock: false })
  }
})

t.test('an issuer that does not answer is given up on after five seconds', async (t) => {
  t.match(await hanging, { code: 'AUTH_UNAVAILABLE' })
  t.ok(gaveUp > 4500 && gaveUp < 15_000, `${gaveUp} ms`)
})
