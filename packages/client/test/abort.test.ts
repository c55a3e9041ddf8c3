import t from 'tap'
import { EventSource } from 'eventsource'
import { createClient, type QuoinError } from '../src/client.ts'
import { anna, ben, failureOf, open, title, until } from './fixtures.ts'

const node = { type: 'node', id: '42' }
const reason = new Error('not wanted any more')
const { app, seat, url } = await open(t)
t.beforeEach(() => Promise.all(['7', '8'].map((uid) => app.inject({ method: 'DELETE', url: `/api/cloud/data-state/node/42?uid=${uid}` }))))

const present = async () => (await seat().locks.list(node)).map(({ userData, payload }) => [userData.uid, payload])

/** A signal, and what aborts it. */
function aborter() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(reason) }
}

for (const verb of ['acquire', 'overwrite'] as const) {
  t.test(`a lock is released that an aborted ${verb} was granted nevertheless`, async (t) => {
    const { locks, wire, time } = seat(anna)
    const { signal, abort } = aborter()
    const go = wire.block()
    const lock = failureOf(locks[verb](title, { payload: 'Harbour', signal }))
    await until(() => wire.sent.length)
    abort()
    t.equal(await lock, reason, 'the caller waits no longer')
    wire.fates.push('down')
    go()
    await until(() => time.waits().length)
    t.strictSame(await present(), [['7', 'Harbour']], 'it was granted')
    t.match(
      wire.sent.map(({ method }) => method),
      [verb === 'acquire' ? 'POST' : 'PUT', 'DELETE']
    )
    time.pass(1000)
    await until(async () => (await present()).length === 0)
    t.strictSame(time.waits(), [], 'it is not renewed')
  })
}

t.test('an aborted acquire that is refused, or does not get through, leaves nothing to do', async (t) => {
  await seat(ben).locks.acquire(title, { payload: "Ben's" })
  for (const isDown of [false, true]) {
    const { locks, wire, time } = seat(anna)
    const { signal, abort } = aborter()
    const go = wire.block()
    const lock = failureOf(locks.acquire(title, { signal }))
    await until(() => wire.sent.length)
    abort()
    t.equal(await lock, reason)
    if (isDown) wire.fates.push('down')
    go()
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.strictSame([wire.sent.length, time.waits(), await present()], [1, [], [['8', "Ben's"]]])
  }
})

t.test('an aborted acquire goes no further than the request under way', async (t) => {
  await seat(anna).locks.acquire(title, { payload: 'in another tab' })
  const { locks, wire } = seat(anna)
  const { signal, abort } = aborter()
  const go = wire.block()
  const lock = failureOf(locks.acquire(title, { signal }))
  await until(() => wire.sent.length)
  abort()
  go()
  t.equal(await lock, reason)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(wire.sent.length, 1)
  t.strictSame(await present(), [['7', 'in another tab']])
})

for (const verb of ['acquire', 'overwrite'] as const) {
  t.test(`an aborted ${verb} does not cost the page the lock that it has of the field`, async (t) => {
    const { locks, wire } = seat(anna)
    const heard: QuoinError[] = []
    const held = await locks.acquire(title, {
      onLost: (error) => {
        heard.push(error)
      }
    })
    await held.save('typed')
    const { length } = wire.sent
    const { signal, abort } = aborter()
    // An acquire is refused first, since the user has the lock already; it looks at the lock, and takes it in a new version.
    const requests = verb === 'acquire' ? 3 : 1
    const go = wire.block({ passing: requests - 1 })
    const lock = failureOf(locks[verb](title, { payload: 'typed', signal }))
    await until(() => wire.sent.length === length + requests)
    abort()
    t.equal(await lock, reason)
    go()
    const { version } = held
    await until(() => held.version !== version)
    t.match(await locks.list(node), [{ payload: 'typed', version: held.version }])
    await held.save('typed on')
    t.strictSame([await present(), heard], [[['7', 'typed on']], []])
    await held.release()
    t.strictSame(await present(), [])
  })
}

t.test('an aborted acquire leaves a lock of another tab, which it had taken over, with its text', async (t) => {
  await (await seat(anna).locks.acquire(title)).save('in another tab')
  const { locks, wire } = seat(anna)
  const { signal, abort } = aborter()
  const go = wire.block({ passing: 2 })
  const lock = failureOf(locks.acquire(title, { signal }))
  await until(() => wire.sent.length === 3)
  abort()
  t.equal(await lock, reason)
  go()
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame([wire.sent.length, await present()], [3, [['7', 'in another tab']]])
})

t.test('who acquires again, as a page does that is shown twice, has the lock of the second', async (t) => {
  const { locks } = seat(anna)
  const heard: QuoinError[] = []
  const { signal, abort } = aborter()
  const first = failureOf(locks.acquire(title, { signal }))
  abort()
  const held = await locks.acquire(title, {
    onLost: (error) => {
      heard.push(error)
    }
  })
  t.equal(await first, reason)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await held.save('typed')
  t.strictSame([await present(), heard], [[['7', 'typed']], []])
})

t.test('an aborted save waits no longer, and its text gives way to the one before it', async (t) => {
  const { locks, wire } = seat(anna)
  const held = await locks.acquire(title, { payload: 'stored' })
  const [first, second] = [aborter(), aborter()]
  const go = wire.block()
  const texts = [failureOf(held.save('a', first)), failureOf(held.save('ab', second))]
  await until(() => wire.sent.length === 2)
  second.abort()
  first.abort()
  t.strictSame(await Promise.all(texts), [reason, reason])
  go()
  await until(() => wire.sent.length === 3)
  await until(async () => (await present())[0]![1] === 'stored')
  t.strictSame(
    wire.sent.slice(1).map(({ body }) => body.payload),
    ['a', 'stored'],
    'what was on its way got there, and is put right'
  )
  const gone = aborter()
  gone.abort()
  t.equal(await failureOf(held.save('abc', gone)), reason)
  const late = aborter()
  const save = held.save('abcd', late)
  const last = held.save('abcde')
  late.abort()
  await failureOf(save)
  await last
  t.strictSame(await present(), [['7', 'abcde']], 'a text that is typed since is not withdrawn')
})

t.test('an aborted release may be called again, and is not tried again by itself', async (t) => {
  const { locks, wire, time } = seat(anna)
  const held = await locks.acquire(title)
  t.equal(await failureOf(held.release({ signal: AbortSignal.abort(reason) })), reason)
  await held.save('it is held still')
  const { signal, abort } = aborter()
  const go = wire.block()
  const release = failureOf(held.release({ signal }))
  await until(() => wire.sent.length === 3)
  abort()
  go()
  t.equal(await release, reason)
  t.strictSame(time.waits(), [])
  await held.release()
  t.strictSame(await present(), [])
  const next = await locks.acquire(title)
  const writes = wire.block()
  const save = next.save('on its way').catch(() => {})
  const behind = aborter()
  const waits = failureOf(next.release(behind))
  behind.abort()
  t.equal(await waits, reason, 'nor does it wait for a write under way')
  writes()
  await save
})

t.test('what headers() is asked for is waited for no longer than the signal, or the time that an answer has', async (t) => {
  const headers = () => new Promise<Record<string, string>>(() => {})
  const { signal, abort } = aborter()
  const list = failureOf(seat(anna, { headers }).locks.list(title, { signal }))
  abort()
  t.equal(await list, reason)
  t.match(await failureOf(seat(anna, { headers, timeoutMs: 10 }).locks.list(title)), { code: 'UNREACHABLE' })
})

t.test('what is followed is followed until its signal is aborted', async (t) => {
  const { locks, editions } = createClient({ url, user: anna, EventSource })
  const { signal, abort } = aborter()
  let heard = 0
  const listener = {
    locks: () => {
      heard++
    }
  }
  locks.subscribe(node, listener, { signal })
  await until(() => heard === 1)
  abort()
  for (const stop of [locks.subscribe(node, listener, { signal }), editions.subscribe(60, listener, { signal })]) stop()
  await locks.acquire(title)
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(heard, 1)

  const page = new EventTarget()
  const closing = aborter()
  locks.releaseOnPageHide(page, closing)
  closing.abort()
  page.dispatchEvent(new Event('pagehide'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.strictSame(await present(), [['7', undefined]], 'nor is anything released when the page closes')
})
