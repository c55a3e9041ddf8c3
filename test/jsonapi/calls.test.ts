import { EventEmitter } from 'node:events'
import t from 'tap'
import { abortable, type Signal } from '#lib/http/aborter.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, newCaller, type Caller } from '#lib/http/calls.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { createSingleFlight } from '#lib/http/single-flight.ts'

const LIMITS = { requests: 2, ms: 60_000, lookUpMs: 60_000, memory: createAnswerMemory() }
const never = new Promise<never>(() => {})
/** An answer that nobody has taken yet. */
const answer = () => Object.assign(new EventEmitter(), { destroyed: false })
/** Work that ends with its call. */
const waiting = ({ budget }: Caller) => abortable(never, budget!.signal)

t.test('a call ends when its time is over, and when its caller hangs up', async (t) => {
  const slow = newCaller()
  await t.rejects(
    inCall(slow, { ...LIMITS, ms: 20 }, () => waiting(slow)),
    { code: 'CMS_TIMEOUT', message: 'The CMS is too slow to answer this within 20 ms', cause: { code: 'NOT_SENT' } }
  )

  const reply = answer()
  const impatient = newCaller({}, { answer: reply })
  const call = inCall(impatient, LIMITS, () => waiting(impatient))
  t.equal(reply.listenerCount('close'), 1)
  reply.emit('close')
  await t.rejects(call, { code: 'CALLER_GONE' })
  t.equal(reply.listenerCount('close'), 0)
  t.equal(await inCall(impatient, LIMITS, async () => 1), 1)
  t.equal(reply.listenerCount('close'), 0)
})

t.test('requests are counted, with those that are sent again, and more may be granted', async (t) => {
  const caller = newCaller()
  await inCall(caller, LIMITS, async () => {
    const call = caller.budget!
    call.spend()
    call.retry()
    t.throws(() => call.spend(), {
      code: 'LIST_TOO_DEEP',
      statusCode: 503,
      headers: {},
      message: /^This takes more than 2 requests to the CMS: /
    })
    call.allow(1)
    call.spend()
    t.throws(() => call.spend(), { message: /^This takes more than 3 requests/ })
  })
})

t.test('a call gives its memory back, and what outlives it takes none', async (t) => {
  const memory = createAnswerMemory(100)
  const caller = newCaller()
  const call = await inCall(caller, { ...LIMITS, memory }, async () => {
    caller.budget!.take(60)
    return caller.budget!
  })
  for (const late of [call.take, call.takeOutcome, call.free]) late(60)
  const [first, other] = [memory.open(), memory.open()]
  first.take(1)
  t.doesNotThrow(() => other.take(99))
  t.throws(() => other.take(1), { code: 'OVERLOADED' })
})

t.test('what runs at the same time for one caller is one call; afterwards there is another', async (t) => {
  const caller = newCaller()
  const { promise, resolve } = Promise.withResolvers<void>()
  let first: unknown
  const whole = inCall(caller, LIMITS, async () => {
    first = caller.budget
    await promise
  })
  await inCall(caller, LIMITS, async () => {
    t.equal(caller.budget, first)
  })
  resolve()
  await whole
  await inCall(caller, LIMITS, async () => {
    t.not(caller.budget, first)
  })
})

t.test('who has gone before waits for nothing', async (t) => {
  const reason = new Error('gone')
  await t.rejects(abortable(never, AbortSignal.abort(reason)), reason)
  t.equal(await abortable(Promise.resolve(1), undefined), 1)
})

t.test('what fails leaves nothing behind', async (t) => {
  const caller = newCaller()
  let rest: Promise<unknown> = never
  const reason = new Error('the first')
  await t.rejects(
    inCall(caller, LIMITS, () => {
      rest = waiting(caller)
      return Promise.all([rest, Promise.reject(reason)])
    }),
    reason
  )
  await t.rejects(rest, { code: 'CALLER_GONE' })
})

t.test('after a write reads have a time of their own, caller or not', async (t) => {
  const reply = answer()
  const caller = newCaller({}, { answer: reply })
  await inCall(caller, { ...LIMITS, lookUpMs: 20 }, async () => {
    const call = caller.budget!
    t.equal(call.signal, call.waiting)
    reply.emit('close')
    t.ok(call.signal.aborted)
    call.endWrite()
    t.notOk(call.signal.aborted)
    t.equal(call.signal, call.signal)
    t.ok(call.waiting.aborted, 'another write is not begun')
    await t.rejects(waiting(caller), { code: 'CMS_TIMEOUT', message: 'The CMS is too slow to answer this within 20 ms' })
    call.endWrite()
    t.notOk(call.signal.aborted, 'nor does the time of one write end that of the next')
  })
})

t.test('shared work goes on while one waits for it, and is aborted when nobody does', async (t) => {
  const { share, forgetAll } = createSingleFlight<string>()
  const signals: Signal[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  const work = (signal: Signal) => {
    signals.push(signal)
    return abortable(promise, signal)
  }
  const callers = [new AbortController(), new AbortController()]
  const gone = new Error('gone')
  const [a, b] = callers.map(({ signal }) => share('k', work, signal))
  callers[0]!.abort(gone)
  await t.rejects(a!, gone)
  t.notOk(signals[0]!.aborted)
  callers[1]!.abort(gone)
  await t.rejects(b!, gone)
  await new Promise((resolve) => setImmediate(resolve))
  t.match(signals[0], { aborted: true, reason: { code: 'CALLER_GONE' } })
  await t.rejects(share('k', work, callers[0]!.signal), gone)
  t.equal(signals.length, 1, 'who has gone begins nothing')

  const patient = share('k', work)
  const late = new AbortController()
  const other = share('k', work, late.signal)
  forgetAll()
  late.abort(gone)
  await t.rejects(other, gone)
  t.equal(signals.length, 2, 'what was aborted is not joined')
  t.notOk(signals[1]!.aborted, 'who cannot hang up waits')
  resolve('done')
  t.equal(await patient, 'done')
})

t.test('a request that is made again with renewed credentials counts twice', async (t) => {
  const caller = newCaller()
  let statuses = [401, 200]
  const { request } = createJsonapi({
    http: {
      send: async () => ({
        status: statuses.shift()!,
        headers: { 'content-type': 'application/vnd.api+json' },
        body: Buffer.from('{"data":[]}')
      }),
      close: async () => {}
    },
    jsonapiPath: '/jsonapi',
    account: { credentials: async () => ({}), renew: async () => true }
  })
  t.equal((await request({ path: '', caller })).status, 200)
  statuses = [401, 200]
  await inCall(caller, LIMITS, async () => {
    t.equal((await request({ path: '', caller })).status, 200)
    await t.rejects(request({ path: '', caller }), { code: 'LIST_TOO_DEEP' })
  })
})
