import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isUncertain } from '#lib/editions/save/outcome.ts'
import { basicAccount, sessionAccount } from '#lib/drupal/accounts.ts'
import { changeLine, createBreaker, type BreakerOptions, type BreakerScope } from '#lib/http/breaker.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, newCaller } from '#lib/http/calls.ts'
import { createJsonapi, type JsonapiRequest } from '#lib/drupal/client.ts'
import { createHttp, isDown } from '#lib/http/client.ts'
import { errors, JSONAPI, say, startDeaf, startScriptedCms, type Script } from '../editions/scripted-cms.ts'

const HTML = { 'content-type': 'text/html' }
const POST: Pick<JsonapiRequest, 'method' | 'body'> = { method: 'POST', body: { data: {} } }

/** A client before a CMS that answers in turn as told, and after that well. */
async function clientFor(t: Test, options: BreakerOptions & { timeoutMs?: number } = {}) {
  const cms = await startScriptedCms(t)
  const script: Script[] = []
  cms.odd = { is: () => script.length > 0, script: (response, request) => script.shift()!(response, request) }
  const breaker = createBreaker(options)
  const http = createHttp({ url: cms.url, timeoutMs: options.timeoutMs ?? 5000, breaker })
  t.teardown(() => http.close())
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const ask = (request: Partial<JsonapiRequest> = {}) => jsonapi.request({ path: '', caller: newCaller(), ...request })
  const outcome = (request: Partial<JsonapiRequest> = {}) =>
    ask(request).then(
      ({ status }) => String(status),
      (error) => error.code as string
    )
  return { cms, script, breaker, http, ask, outcome }
}

const answers =
  (status: number, body: object | string = '<html>', headers: Record<string, string> = HTML): Script =>
  (response) =>
    say(response, status, body, headers)
const resets: Script = (response) => response.socket!.resetAndDestroy()
const maintenance = answers(503, errors(503, 'maintenance'), JSONAPI)
const problem = answers(503, { title: 'Service Unavailable' }, { 'content-type': 'application/problem+json' })

t.test('a read is sent once more where that may do, a write never is', async (t) => {
  const cases: Array<[what: string, script: Script, read: [outcome: string, requests: number], write: string]> = [
    ['a reset', resets, ['200', 2], 'CMS_UNREACHABLE'],
    ['an end', (response) => response.socket!.destroy(), ['200', 2], 'CMS_UNREACHABLE'],
    [
      'a reset in the body',
      (response) => {
        response.writeHead(200, { ...JSONAPI, 'content-length': 100 }).write('{', () => response.socket!.resetAndDestroy())
      },
      ['200', 2],
      'CMS_UNREACHABLE'
    ],
    ['502', answers(502), ['200', 2], 'CMS_FAILED'],
    ['503', answers(503), ['200', 2], 'CMS_UNAVAILABLE'],
    ['504', answers(504), ['200', 2], 'CMS_FAILED'],
    ['502 with Retry-After', answers(502, '', { 'retry-after': '1' }), ['CMS_FAILED', 1], 'CMS_FAILED'],
    ['503 with Retry-After', answers(503, '', { 'retry-after': '1' }), ['CMS_UNAVAILABLE', 1], 'CMS_UNAVAILABLE'],
    ['503 as a problem (RFC 9457)', problem, ['200', 2], 'CMS_UNAVAILABLE'],
    ['maintenance', maintenance, ['CMS_UNAVAILABLE', 1], 'CMS_UNAVAILABLE'],
    ['500', answers(500), ['CMS_FAILED', 1], 'CMS_FAILED'],
    ['429', answers(429), ['CMS_UNAVAILABLE', 1], 'CMS_UNAVAILABLE'],
    ['403', answers(403, errors(403, 'no'), JSONAPI), ['403', 1], '403'],
    ['no HTTP', (response) => response.socket!.end('220 ESMTP\r\n'), ['CMS_UNREACHABLE', 1], 'CMS_UNREACHABLE']
  ]
  const { cms, script, outcome } = await clientFor(t)
  for (const [what, fault, [read, requests], write] of cases) {
    cms.lines.length = 0
    script.push(fault)
    t.equal(await outcome(), read, `${what}: a read`)
    t.equal(cms.lines.length, requests, `${what}: requests of a read`)
    cms.lines.length = 0
    script.push(fault)
    t.equal(await outcome(POST), write, `${what}: a write`)
    t.equal(cms.lines.length, 1, `${what}: one request of a write`)
  }
  script.push(resets, resets, resets)
  t.equal(await outcome(), 'CMS_UNREACHABLE', 'twice, not three times')
  t.equal(script.splice(0).length, 1)

  await cms.down()
  const read = outcome()
  await sleep(20)
  await cms.up()
  t.equal(await read, '200', 'a CMS that is just being restarted is not missed')
})

t.test('cache tags of 24 KiB and more are taken, up to 64 KiB of header fields', async (t) => {
  const { script, ask } = await clientFor(t)
  const tagged = (bytes: number) => answers(200, { data: [] }, { ...JSONAPI, 'x-drupal-cache-tags': 'node:1 '.repeat(bytes / 7) })
  for (const kib of [15, 24, 63]) {
    script.push(tagged(kib * 1024))
    t.equal((await ask()).status, 200, `${kib} KiB`)
  }
  script.push(tagged(65 * 1024))
  await t.rejects(ask(), {
    code: 'CMS_INVALID_RESPONSE',
    message: /^The CMS answered with header fields of more than 64 KiB\. Let Drupal, or the proxy before it, send fewer/
  })
  script.push((response) =>
    response.writeHead(200, { ...JSONAPI, 'x-drupal-cache-tags': 'x'.repeat(24 * 1024) }).end(' '.repeat(17 * 1024 * 1024))
  )
  await t.rejects(ask(), { code: 'CMS_INVALID_RESPONSE', message: /^The CMS answered with more than 16 MiB, / })
})

t.test('a read that is sent twice counts twice', async (t) => {
  const { script, outcome } = await clientFor(t)
  const caller = newCaller()
  script.push(resets)
  t.strictSame(
    await inCall(caller, { requests: 2, ms: 60_000, lookUpMs: 60_000, memory: createAnswerMemory() }, async () => [
      await outcome({ caller }),
      await outcome({ caller })
    ]),
    ['200', 'LIST_TOO_DEEP']
  )
})

t.test('a write of a caller who has hung up is not sent', async (t) => {
  const { cms, outcome } = await clientFor(t)
  const caller = newCaller({}, { answer: Object.assign(new EventEmitter(), { destroyed: true }) })
  const limits = { requests: 1, ms: 60_000, lookUpMs: 60_000, memory: createAnswerMemory() }
  t.equal(await inCall(caller, limits, () => outcome({ ...POST, caller })), 'CALLER_GONE')
  t.strictSame(cms.lines, [])
})

t.test('what tries out a password is sent once', async (t) => {
  const { cms, script, http } = await clientFor(t)
  for (const account of [basicAccount, sessionAccount]) {
    for (const fault of [resets, answers(502)]) {
      cms.lines.length = 0
      script.push(fault, fault)
      await t.rejects(account({ http, jsonapiPath: '/jsonapi' }, 'editor', 'wrong').credentials())
      t.equal(cms.lines.length, 1)
      script.length = 0
    }
  }
})

t.test('a second try ends with the deadline of the first; where there is no time for one, the first counts', async (t) => {
  const { now } = performance
  let later = 0
  performance.now = () => now.call(performance) + later
  t.teardown(() => {
    performance.now = now
  })
  const { script, ask, cms } = await clientFor(t, { timeoutMs: 4000 })
  const after =
    (ms: number, fault: Script): Script =>
    (response, request) => {
      later += ms
      fault(response, request)
    }
  const start = now.call(performance)
  script.push(after(3000, resets), () => {})
  await t.rejects(ask(), { code: 'CMS_TIMEOUT', message: 'The CMS did not answer within 4000 ms' })
  t.ok(now.call(performance) - start < 3000)
  t.equal(cms.lines.splice(0).length, 2)
  for (const fault of [answers(502), resets]) {
    script.push(after(3950, fault), answers(200))
    await t.rejects(ask(), { code: fault === resets ? 'CMS_UNREACHABLE' : 'CMS_FAILED' })
    t.equal(cms.lines.splice(0).length, 1)
    script.length = 0
  }
})

t.test('a write that no connection is free for in time is not sent later', async (t) => {
  const cms = await startScriptedCms(t)
  const deaf = await startDeaf(t, Number(new URL(cms.url).port))
  const http = createHttp({ url: deaf.url, timeoutMs: 300 })
  t.teardown(() => http.close())
  const { request } = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const write = request({ ...POST, path: '', caller: newCaller() })
  await t.rejects(write, { code: 'CMS_TIMEOUT', message: 'No connection to the CMS was free within 300 ms' })
  t.equal(await write.catch(isUncertain), false, 'it is known not to have been saved')
  deaf.wake()
  while (
    await request({ path: '', caller: newCaller() }).then(
      () => false,
      () => true
    )
  );
  t.strictSame([...new Set(cms.lines)], ['GET /jsonapi'])
})

t.test('after failures in a row nothing is sent, until one request has found the CMS well', async (t) => {
  const states: Array<['open' | 'closed', BreakerScope]> = []
  // The monotonic clock stands but for what the test adds. The wall clock is set back by two hours in the meantime.
  const { now } = Date
  const monotonic = performance.now
  // A whole number: of fractions (clock + 5000) - clock may be less than 5000.
  let clock = Math.ceil(performance.now())
  performance.now = () => clock
  t.teardown(() => {
    Date.now = now
    performance.now = monotonic
  })
  const { cms, script, breaker, ask, outcome } = await clientFor(t, {
    failures: 3,
    restMs: 5000,
    onChange: (state, stopped) => states.push([state, stopped])
  })
  script.push(...Array.from({ length: 3 }, () => answers(500)))
  for (let time = 0; time < 3; time++) t.equal(await outcome(), 'CMS_FAILED')
  t.equal(breaker.state(), 'open')
  Date.now = () => now() - 2 * 3600_000

  cms.lines.length = 0
  for (const [request, seconds] of [
    [{}, 5],
    [POST, 4],
    [{}, 1]
  ] as const) {
    const start = now()
    await t.rejects(ask(request), {
      code: 'CMS_UNAVAILABLE',
      message: `The CMS has failed repeatedly (circuit breaker open): nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`,
      statusCode: 503,
      cause: { message: 'not sent after 3 failures in a row, the last of them: status 500' }
    })
    t.ok(now() - start < 4000, 'at once')
    t.equal(await ask(request).catch(({ headers }) => headers['retry-after']), String(seconds))
    clock += seconds === 5 ? 1500 : 3000
  }
  t.strictSame(cms.lines, [])

  const crowd = () => Promise.all(Array.from({ length: 6 }, (_, index) => outcome(index % 2 ? POST : { path: `/${index}` })))
  for (const [fault, first, state] of [
    [answers(502), 'CMS_FAILED', 'open'],
    [resets, 'CMS_UNREACHABLE', 'open'],
    [answers(200, { data: [] }, JSONAPI), '200', 'closed']
  ] as const) {
    clock += 5000
    let release = () => {}
    script.push((...args) => {
      release = () => fault(...args)
    })
    const outcomes = crowd()
    while (cms.lines.length === 0) await sleep(2)
    t.equal(breaker.state(), 'half-open')
    release()
    t.strictSame(await outcomes, [first, ...Array(5).fill('CMS_UNAVAILABLE')])
    t.equal(cms.lines.splice(0).length, 1, 'one request tried it, once')
    t.equal(breaker.state(), state)
  }
  t.strictSame(
    states,
    [
      ['open', 'requests'],
      ['closed', 'requests']
    ],
    'tries that fail are no news'
  )
  t.strictSame(await crowd(), Array(6).fill('200'), 'all are sent again')

  script.push(resets, resets, resets)
  for (let time = 0; time < 3; time++) t.equal(await outcome(POST), 'CMS_UNREACHABLE')
  await t.rejects(ask(), { cause: { message: /the last of them: The CMS could not be reached/, cause: { code: 'CMS_UNREACHABLE' } } })
})

t.test('a CMS that answers is not a failing one, whatever it says; an answer between failures starts the count again', async (t) => {
  const cases: Array<[what: string, script: Script, counts: boolean]> = [
    ['500', answers(500), true],
    ['502', answers(502), true],
    ['504', answers(504), true],
    ['503 of a gateway', answers(503), true],
    ['503 of a gateway that speaks JSON', problem, true],
    ['503 in maintenance', maintenance, false],
    [
      '503 in maintenance, as core REST says it',
      answers(503, { message: 'maintenance' }, { 'content-type': 'Application/JSON; charset=utf-8' }),
      false
    ],
    ['503 that says when', answers(503, '', { 'retry-after': '60' }), false],
    ['429', answers(429), false],
    ['404', answers(404, errors(404, 'x'), JSONAPI), false],
    ['401', answers(401, errors(401, 'x'), JSONAPI), false],
    ['HTML', answers(200), false],
    ['a redirect', answers(302), false],
    ['too much', answers(200, '{}', { ...JSONAPI, 'x-long': 'x'.repeat(50_000) }), false],
    ['a reset', resets, true],
    ['no answer in time', () => {}, true]
  ]
  for (const [what, fault, counts] of cases) {
    const { script, breaker, outcome } = await clientFor(t, {
      failures: 2,
      restMs: 60_000,
      timeoutMs: what === 'no answer in time' ? 400 : 5000
    })
    script.push(fault)
    await outcome(POST)
    await outcome(POST)
    script.push(fault)
    await outcome(POST)
    t.equal(breaker.state(), 'closed', `${what}, a good answer, ${what}`)
    script.push(fault)
    await outcome(POST)
    t.equal(breaker.state(), counts ? 'open' : 'closed', `${what}, ${what}`)
  }
})

t.test('writes that fail are counted, whatever reads come between them', async (t) => {
  const monotonic = performance.now.bind(performance)
  let later = 0
  performance.now = () => monotonic() + later
  t.teardown(() => {
    performance.now = monotonic
  })
  const lines: string[] = []
  const { cms, script, ask, outcome, breaker } = await clientFor(t, {
    failures: 3,
    restMs: 5000,
    timeoutMs: 300,
    onChange: (...change) => lines.push(changeLine(...change))
  })
  const write = async (fault: Script) => {
    script.push(fault)
    const result = await outcome(POST)
    return [result, await outcome()]
  }
  for (let time = 0; time < 3; time++) {
    t.strictSame(await write(() => {}), ['CMS_TIMEOUT', '200'], 'a write that times out, and the look-up after it')
  }
  cms.lines.length = 0
  await t.rejects(ask(POST), {
    code: 'CMS_UNAVAILABLE',
    isLogged: true,
    headers: { 'retry-after': '5' },
    message:
      'The CMS has failed repeatedly to save (circuit breaker open): nothing is sent to it, and so nothing saved, until it is tried again in 5 s'
  })
  t.strictSame([await outcome(), breaker.state(), cms.lines], ['200', 'closed', ['GET /jsonapi']], 'reads are sent')
  later += 5000
  t.strictSame(await write(answers(502)), ['CMS_FAILED', '200'])
  t.equal(await outcome(POST), 'CMS_UNAVAILABLE')
  later += 5000
  t.strictSame([await outcome(POST), await outcome(POST)], ['200', '200'])
  script.push(...Array.from({ length: 3 }, () => answers(500)))
  for (let time = 0; time < 3; time++) await outcome()
  t.equal(await outcome(POST), 'CMS_UNAVAILABLE', 'while no request is sent, no write is')
  later += 5000
  t.equal(await outcome(POST), '200', 'and a write may be what tries it')
  t.strictSame(lines, [
    "the circuit breaker before the CMS's writes is open: no writes are sent but one at a time to try it; 3 failures in a row, the last of them: The CMS did not answer within 300 ms",
    "the circuit breaker before the CMS's writes is closed: writes are sent again",
    'the circuit breaker before the CMS is open: no requests are sent but one at a time to try it; 3 failures in a row, the last of them: status 500',
    'the circuit breaker before the CMS is closed: requests are sent again'
  ])
})

t.test('the same read by the same caller at the same time is one request', async (t) => {
  const { cms, ask, outcome, script } = await clientFor(t)
  const caller = { authorization: 'Basic a', cookie: 'c', 'accept-language': 'de', 'x-request-id': '1', 'x-csrf-token': 't' }
  const same = await Promise.all(
    ['1', '2', '3'].map((id) => ask({ caller: newCaller({ ...caller, 'x-request-id': id, 'x-csrf-token': id }) }))
  )
  t.equal(cms.lines.splice(0).length, 1, 'request id and token do not matter to a read')
  t.ok(same.every((answer) => answer === same[0]))
  await ask({ caller: newCaller(caller) })
  t.equal(cms.lines.splice(0).length, 1, 'afterwards it is another one')

  const others: Array<Partial<JsonapiRequest>> = [
    { caller: newCaller(caller) },
    { caller: newCaller({ ...caller, authorization: 'Basic b' }) },
    { caller: newCaller({ ...caller, cookie: 'd' }) },
    { caller: newCaller({ ...caller, 'accept-language': 'en' }) },
    { caller: newCaller() },
    { caller: newCaller({ authorization: 'c' }) },
    { caller: newCaller({ cookie: 'c' }) },
    { caller: newCaller({ 'accept-language': 'c' }) },
    { caller: newCaller(caller), path: '/x' },
    { caller: newCaller(caller), query: [['a', 'b']] }
  ]
  await Promise.all(others.map((request) => ask(request)))
  t.equal(cms.lines.splice(0).length, others.length, 'anything else does')
  await Promise.all([POST, POST, POST].map((request) => ask({ caller: newCaller(caller), ...request })))
  t.equal(cms.lines.splice(0).length, 3, 'writes are each their own')

  const slow: Script = (response) => {
    setTimeout(() => say(response, 200, { data: [] }), 100)
  }
  script.push(slow)
  const before = outcome()
  while (cms.lines.length === 0) await sleep(2)
  const joined = outcome()
  await ask(POST)
  t.equal(await outcome(), '200')
  t.strictSame(
    cms.lines.splice(0),
    ['GET /jsonapi', 'POST /jsonapi', 'GET /jsonapi'],
    'what is asked after a write gets no answer from before'
  )
  t.strictSame(await Promise.all([before, joined]), ['200', '200'])

  script.push(answers(500))
  t.strictSame(await Promise.all([outcome(), outcome()]), ['CMS_FAILED', 'CMS_FAILED'], 'a failure is shared')
  t.equal(await outcome(), '200', 'and not remembered')
})

t.test('what is read again and has not changed is one document', async (t) => {
  const { ask, script } = await clientFor(t)
  const monday = answers(200, { data: [{ type: 'a', id: 'monday' }] }, JSONAPI)
  const documentOf = async (script_: Script, request: Partial<JsonapiRequest> = {}) => {
    script.push(script_)
    return (await ask(request)).document
  }
  await documentOf(monday)
  const known = await documentOf(monday)
  t.equal(await documentOf(monday), known)
  const others: Array<Partial<JsonapiRequest>> = [
    { caller: newCaller({ authorization: 'Basic b' }) },
    { caller: newCaller({ 'accept-language': 'de' }) },
    { path: '/x' },
    { query: [['a', 'b']] },
    POST
  ]
  for (const request of others) t.not(await documentOf(monday, request), known, JSON.stringify(request))
  t.not(await documentOf(monday, POST), await documentOf(monday, POST), 'what is written is answered for itself')
  t.equal(await documentOf(monday), known)
  t.strictSame(await documentOf(answers(403, errors(403, 'no'), JSONAPI)), errors(403, 'no'))
  t.strictSame(await documentOf(answers(200, { data: [] }, JSONAPI)), { data: [] })
})

t.test('a session cookie goes to each caller who came with one, and no other cookie', async (t) => {
  const { ask, script } = await clientFor(t)
  const renewed: Array<[headers: object, cookies: string[]]> = []
  const callerWith = (headers: Record<string, string>) => newCaller(headers, { onRenewal: (cookies) => renewed.push([headers, cookies]) })
  const session = ['SESS0123abcd=new; path=/; domain=.example.org; HttpOnly; SameSite=Lax', 'SSESS0123abcd=new; path=/; secure']
  // The last three are deletions: by then the browser may have another session under the same name.
  const others = [
    'other=1',
    'big_pipe_nojs=1',
    'xSESS=1',
    'SESS',
    'NO_SESS1=2',
    'SESS0123abcd=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/',
    'SSESS0123abcd=deleted; expires=Thu, 01 Jan 1970 00:00:01 GMT',
    'SESS0123abcd=deleted; path=/; max-age=0'
  ]
  const sets =
    (status: number): Script =>
    (response) => {
      response.writeHead(status, { ...JSONAPI, 'set-cookie': [...session, ...others] }).end('{"data":[],"errors":[]}')
    }
  const callers: Array<Record<string, string>> = [{ cookie: 'SESS1=a' }, { cookie: 'SESS1=a', 'x-request-id': '2' }]
  script.push(sets(200))
  await Promise.all(callers.map((caller) => ask({ caller: callerWith(caller) })))
  t.strictSame(
    renewed.splice(0),
    callers.map((caller) => [caller, session]),
    'also where they shared a request'
  )
  script.push(sets(403))
  await ask({ caller: callerWith(callers[0]!), ...POST })
  t.strictSame(renewed.splice(0), [[callers[0], session]], 'also with a refusal')
  for (const caller of [{}, { authorization: 'Basic x' }, { cookie: 'consent=yes' }]) {
    script.push(sets(200))
    await ask({ caller: callerWith(caller) })
  }
  script.push((response) => {
    response.writeHead(200, { ...JSONAPI, 'set-cookie': others }).end('{"data":[]}')
  })
  await ask({ caller: callerWith(callers[0]!) })
  t.strictSame(renewed, [])
})

t.test('Retry-After is handed on where it is one, and several challenges are', async (t) => {
  const { ask, script } = await clientFor(t)
  for (const [given, wanted] of [
    ['7', '7'],
    ['Sat, 21 Nov 2026 12:00:00 GMT', 'Sat, 21 Nov 2026 12:00:00 GMT'],
    ['soon', '30'],
    ['-1', '30'],
    ['1.5', '30'],
    ['', '30'],
    [['1', '2'], '30']
  ] as const) {
    script.push((response) => {
      response.writeHead(429, { 'retry-after': given as string }).end()
    })
    t.equal(await ask().catch(({ headers }) => headers['retry-after']), wanted)
  }
  script.push((response) => {
    response.writeHead(401, { ...JSONAPI, 'www-authenticate': ['Basic realm="a"', 'Bearer'] }).end('{}')
  })
  t.equal((await ask()).challenge, 'Basic realm="a", Bearer')
})

t.test('the CMS is down when it is away, slow or failing, not when it refuses, asks for patience or is not understood', async (t) => {
  const { ask, script } = await clientFor(t, { timeoutMs: 600 })
  const cases: Array<[script: Script, down: boolean]> = [
    [resets, true],
    [() => {}, true],
    [answers(500), true],
    [maintenance, true],
    [answers(504), true],
    [answers(429), false],
    [answers(200), false],
    [answers(302), false],
    [answers(404), false]
  ]
  for (const [fault, down] of cases) {
    script.push(fault, fault)
    t.equal(await ask(POST).then(() => undefined, isDown), down)
    script.length = 0
  }
  t.notOk(isDown(new TypeError('a defect')))
})
