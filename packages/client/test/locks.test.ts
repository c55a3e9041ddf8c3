import { UpdateCommand } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import type { QuoinError } from '../src/client.ts'
import { later } from '../src/later.ts'
import { bearer, jwtEnv } from '../../../test/auth/fixtures.ts'
import { anna, ben, failureOf, open, title, until } from './fixtures.ts'

const path = '/api/cloud/data-state/node/42'

/** Collects what onLost hears. */
function losses() {
  const heard: QuoinError[] = []
  return {
    heard,
    onLost: (error: QuoinError) => {
      heard.push(error)
    }
  }
}

t.test('locks that do not expire', async (t) => {
  const { app, seat } = await open(t)
  t.beforeEach(() =>
    app.inject({ method: 'DELETE', url: `${path}?uid=7` }).then(() => app.inject({ method: 'DELETE', url: `${path}?uid=8` }))
  )
  t.afterEach(() => Promise.all(['7', '8'].map((uid) => app.inject({ method: 'DELETE', url: `${path}/drafts?uid=${uid}` }))))

  t.test('a field is locked, its text kept as it is typed, and released', async (t) => {
    const { locks, time } = seat({ ...anna, desk: 'news' })
    const held = await locks.acquire(title, { payload: 'Harbour' })
    t.match(held, { ...title, version: /^\S+$/, expiresAt: undefined, found: undefined, isTyped: false })
    t.match(await locks.list(title), [
      { fieldName: 'title', userData: { ...anna, desk: 'news' }, payload: 'Harbour', version: held.version }
    ])
    const { version } = held
    await held.save('Harbour bridge')
    t.ok(held.isTyped)
    t.not(held.version, version)
    t.match(await locks.list({ type: 'node', id: '42' }, { payload: false }), [{ version: held.version, payload: undefined }])
    t.match(await locks.list(title), [{ payload: 'Harbour bridge' }])
    t.strictSame(time.waits(), [], 'there is nothing to renew')
    await held.release()
    t.strictSame(await locks.list(title), [])
    t.match(await failureOf(held.save('more')), { status: 0, code: 'LOCK_CHANGED' })
    await held.release()
  })

  t.test('a field of another is refused, with who holds it and since when', async (t) => {
    await seat(anna).locks.acquire(title, { payload: 'SECRET' })
    const error = await failureOf(seat(ben).locks.acquire(title))
    t.match(error, {
      name: 'QuoinError',
      status: 423,
      code: 'FIELD_LOCKED',
      message: 'Field is locked by another user',
      lock: { fieldName: 'title', timestamp: Number, userData: anna },
      locks: undefined,
      body: { success: false }
    })
    t.notOk(JSON.stringify(error.body).includes('SECRET'))
  })

  t.test('of the texts that are typed while one is sent, the last alone follows', async (t) => {
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title)
    const go = wire.block()
    const saved = ['H', 'Ha', 'Har', 'Harbour'].map((text) => held.save(text))
    go()
    await Promise.all(saved)
    t.strictSame(
      wire.sent.slice(1).map(({ body }) => body.payload),
      ['H', 'Harbour']
    )
    t.match(await locks.list(title), [{ payload: 'Harbour' }])
  })

  t.test("a takeover is told to who held the field, once, and nothing is written over the other's text", async (t) => {
    const { heard, onLost } = losses()
    const held = await seat(anna).locks.acquire(title, { onLost })
    await held.save("Anna's")
    const other = seat(ben)
    const view = (await other.locks.list(title)).at(0)!
    const mine = await other.locks.overwrite(title, { payload: "Ben's", version: view.version })
    const errors = [await failureOf(held.save('more')), await failureOf(held.save('and more'))]
    for (const error of errors) t.match(error, { status: 423, code: 'FIELD_LOCKED', lock: { userData: ben } })
    t.strictSame(heard, errors.slice(0, 1))
    await held.release()
    t.match(await other.locks.list(title), [{ payload: "Ben's", version: mine.version }])
    t.match(await seat(anna).locks.drafts({ type: 'node', id: '42' }), [{ payload: "Anna's", displacedBy: ben }])
    t.strictSame(await other.locks.drafts(title, { fieldName: 'title' }), [], "a draft is its own user's")
    const left = async () => (await seat(anna).locks.drafts(title)).map(({ id }) => id)
    const [draft] = (await left()) as [string]
    await seat(anna).locks.discard({ ...title, draft: 'another' })
    t.strictSame(await left(), [draft])
    await seat(anna).locks.discard({ ...title, draft })
    t.strictSame(await left(), [])
  })

  t.test('a takeover of what was seen fails when it has changed since', async (t) => {
    const held = await seat(anna).locks.acquire(title)
    const { version } = held
    await held.save('typed meanwhile')
    t.match(await failureOf(seat(ben).locks.overwrite(title, { version })), { status: 412, code: 'LOCK_CHANGED', lock: { userData: anna } })
    await seat(ben).locks.overwrite(title)
    t.match(await seat(ben).locks.list(title), [{ userData: ben }])
  })

  t.test("the user's own lock is taken over from another tab with its text", async (t) => {
    const { heard, onLost } = losses()
    const first = await seat(anna).locks.acquire(title, { payload: 'stored', onLost })
    await first.save('typed')
    const { locks } = seat(anna)
    const second = await locks.acquire(title, { payload: 'stored' })
    t.match(second, { found: 'typed', isTyped: true })
    t.match(await locks.list(title), [{ payload: 'typed' }])
    t.match(await failureOf(first.save('typed more')), { status: 412, code: 'LOCK_CHANGED', lock: { userData: anna } })
    t.match(heard, [{ code: 'LOCK_CHANGED' }])
    await first.release()
    t.match(await locks.list(title), [{ version: second.version }], 'a tab that was left releases nothing')
    const third = await seat(anna).locks.acquire(title, { payload: 'typed' })
    t.match(third, { found: undefined, isTyped: false }, 'the same text needs no telling')
    await third.release()
  })

  t.test('a page that locks anew what it holds goes on with the text that it could not send yet', async (t) => {
    const cases = [
      { what: 'never sent', fate: 'down', found: 'typed, and more' },
      { what: 'sent, without an answer', fate: 'deaf', found: 'typed, and more' },
      {
        what: 'never sent, and the lock was released',
        fate: 'down',
        meanwhile: () => app.inject({ method: 'DELETE', url: `${path}?fieldName=title` }),
        found: 'typed, and more'
      },
      {
        what: 'never sent, and another window has gone on',
        fate: 'down',
        meanwhile: async () => (await seat(anna).locks.acquire(title)).save('typed there'),
        found: 'typed there'
      }
    ] as const
    for (const { what, fate, found, ...more } of cases) {
      const { locks, time, wire } = seat(anna)
      const before = await locks.acquire(title, { payload: 'stored' })
      await before.save('typed')
      wire.fates.push(fate)
      await failureOf(before.save('typed, and more'))
      if ('meanwhile' in more) await more.meanwhile()
      const held = await locks.acquire(title, { payload: 'stored' })
      t.match(held, { found, isTyped: true }, what)
      t.match(await locks.list(title), [{ payload: found, version: held.version }])
      t.strictSame(time.waits(), [], 'and nothing else waits to be sent')
      await held.release()
    }
    const { locks } = seat(anna)
    await locks.acquire(title, { payload: 'kept' })
    await app.inject({ method: 'DELETE', url: `${path}?fieldName=title` })
    t.match(await locks.acquire(title, { payload: 'stored' }), { found: undefined }, 'a text that was sent is where the lock is')
  })

  t.test('an own lock that another program wrote, without a version, is taken over as well', async (t) => {
    const { locks, wire } = seat(anna)
    await locks.acquire(title, { payload: 'typed' })
    wire.fates.push(
      Response.json({ success: false, message: 'Error: changed', error: { code: 'LOCK_CHANGED', message: 'changed' } }, { status: 412 }),
      Response.json({ success: true, data: { Items: [{ fieldName: 'title', userData: anna, timestamp: 5, payload: 'theirs' }] } })
    )
    t.match(await locks.acquire(title), { found: 'theirs' })
    t.strictSame(wire.sent.at(-1)!.headers, { 'content-type': 'application/json' })
    t.match(await locks.list(title), [{ payload: 'theirs' }])
  })

  t.test("a lock that became another's by the time it is looked at is not taken for the own one", async (t) => {
    const { locks, wire } = seat(anna)
    wire.fates.push(
      Response.json(
        { success: false, message: 'Error: changed', error: { code: 'LOCK_CHANGED', message: 'changed', lock: { userData: anna } } },
        { status: 412 }
      ),
      Response.json({ success: true, data: { Items: [{ fieldName: 'title', userData: ben, timestamp: 5, payload: "Ben's" }] } })
    )
    t.match(await locks.acquire(title, { payload: 'stored' }), { found: undefined })
    t.equal(wire.sent.at(-1)!.headers['if-none-match'], '*')
    t.match(await locks.list(title), [{ payload: 'stored' }])
  })

  t.test('an own lock that is gone by the time it is looked at is taken as new', async (t) => {
    const held = await seat(anna).locks.acquire(title, { payload: 'typed' })
    const { locks, wire } = seat(anna)
    wire.fates.push('deaf')
    const go = wire.block()
    const acquired = locks.acquire(title, { payload: 'x' })
    go()
    t.match(await failureOf(acquired), { status: 0, code: 'UNREACHABLE' })
    await held.release()
    t.match(await locks.acquire(title, { payload: 'x' }), { found: undefined })
  })

  t.test('an own lock that another tab keeps changing is not fought over for ever', async (t) => {
    const { locks, wire } = seat(anna)
    const changed = () =>
      Response.json({ success: false, message: 'Error: changed', error: { code: 'LOCK_CHANGED', message: 'changed' } }, { status: 412 })
    const empty = () => Response.json({ success: true, data: { Items: [] } })
    wire.fates.push(changed(), empty(), changed(), empty(), changed())
    t.match(await failureOf(locks.acquire(title)), { status: 412, code: 'LOCK_CHANGED' })
    t.equal(wire.sent.length, 5)
  })

  t.test('a text that cannot be sent stays to be sent, again and again, less and less often', async (t) => {
    const { locks, wire, time } = seat(anna)
    const held = await locks.acquire(title, { payload: 'stored' })
    wire.fates.push(
      'down',
      'down',
      new Response('<h1>Bad Gateway</h1>', { status: 502 }),
      Response.json(
        { success: false, message: 'Error: Server error', error: { code: 'STORE_UNAVAILABLE', message: 'away' } },
        { status: 503, headers: { 'retry-after': '90' } }
      )
    )
    t.match(await failureOf(held.save('typed')), { status: 0, code: 'UNREACHABLE', cause: TypeError, lock: undefined })
    for (const [least, most] of [
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [90_000, 90_000]
    ] as const) {
      const [wait, ...others] = time.waits()
      t.ok(wait! >= least && wait! <= most, `${wait} ms`)
      t.strictSame(others, [])
      const { length } = wire.sent
      time.pass(wait!)
      await until(() => wire.sent.length > length && (time.waits().length > 0 || !wire.fates.length))
    }
    await until(async () => (await locks.list(title))[0]!.payload === 'typed')
    t.strictSame(time.waits(), [], 'and then nothing is left to do')
  })

  t.test('a lock whose last answer was lost is still the own one', async (t) => {
    const { heard, onLost } = losses()
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title, { payload: 'stored', onLost })
    wire.fates.push('deaf', 'deaf')
    for (const text of ['typed', 'typed', 'typed more']) await held.save(text).catch((error) => t.match(error, { code: 'UNREACHABLE' }))
    t.match(await locks.list(title), [{ payload: 'typed more', version: held.version }])
    wire.fates.push('deaf')
    t.match(await failureOf(held.save('the end')), { code: 'UNREACHABLE' })
    await held.release()
    t.strictSame(await locks.list(title), [], 'and can be released')
    t.strictSame(heard, [])
  })

  t.test('a lock whose answers are lost, and which another tab has then, is lost', async (t) => {
    const { heard, onLost } = losses()
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title, { onLost })
    wire.fates.push('deaf')
    t.match(await failureOf(held.save('typed')), { code: 'UNREACHABLE' })
    await (await seat(anna).locks.acquire(title)).save('typed there')
    t.match(await failureOf(held.save('typed here')), { code: 'LOCK_CHANGED' })
    t.match(heard, [{ code: 'LOCK_CHANGED' }])
    t.match(await locks.list(title), [{ payload: 'typed there' }])
  })

  t.test(
    'a release after an unanswered write leaves a lock alone that another window of the same user has by now, and its text',
    async (t) => {
      for (const fate of ['down', 'deaf'] as const) {
        const { locks, wire } = seat(anna)
        const held = await locks.acquire(title)
        wire.fates.push(fate)
        t.match(await failureOf(held.save('a letter')), { code: 'UNREACHABLE' })
        const there = await seat(anna).locks.acquire(title)
        await there.save('An hour of work')
        await held.release()
        t.match(await locks.list(title), [{ payload: 'An hour of work', version: there.version }], fate)
        await there.release()
      }
    }
  )

  t.test('a text that is refused is not sent again, and does not keep the lock from being renewed', async (t) => {
    const { locks, wire, time } = seat(anna)
    const held = await locks.acquire(title, { payload: 'stored' })
    t.match(await failureOf(held.save('x'.repeat(500_000))), { status: 413, code: 'TOO_LARGE', message: /409600/ })
    t.strictSame(time.waits(), [])
    const go = wire.block()
    const [large, small] = [held.save('y'.repeat(500_000)), held.save('small')]
    go()
    t.match(await failureOf(large), { status: 413 })
    await small
    t.match(await locks.list(title), [{ payload: 'small' }], 'what was typed meanwhile is')
  })

  t.test('a failed release can be repeated', async (t) => {
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title)
    wire.fates.push('down')
    t.match(await failureOf(held.release()), { status: 0, code: 'UNREACHABLE' })
    t.equal((await locks.list(title)).length, 1)
    await held.release()
    t.strictSame(await locks.list(title), [])
  })

  t.test('a release that fails for the moment is tried again by itself, until the lock is gone or another one', async (t) => {
    const { locks, time, wire } = seat(anna)
    const held = await locks.acquire(title, { payload: 'a' })
    wire.fates.push('down', 'down')
    await t.rejects(held.release(), { code: 'UNREACHABLE' })
    t.equal(time.waits().length, 1)
    time.pass(time.waits()[0]!)
    await until(() => time.waits().length === 1)
    t.equal((await locks.list(title)).length, 1)
    time.pass(time.waits()[0]!)
    await until(async () => (await locks.list(title)).length === 0)
    t.strictSame(time.waits(), [])

    const again = await locks.acquire(title, { payload: 'b' })
    wire.fates.push('down')
    await t.rejects(again.release(), { code: 'UNREACHABLE' })
    const newer = await seat(anna).locks.acquire(title)
    time.pass(time.waits()[0]!)
    await until(() => wire.fates.length === 0 && time.waits().length === 0)
    t.match(await locks.list(title), [{ version: newer.version }], 'what was taken again meanwhile stays')
    await newer.release()
  })

  t.test('a release waits for the text that is on its way, and what waits behind it is not sent', async (t) => {
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title)
    const go = wire.block()
    const saved = [held.save('one'), held.save('two')]
    const released = held.release()
    go()
    await saved[0]
    t.match(await failureOf(saved[1]!), { code: 'LOCK_CHANGED' })
    await released
    t.strictSame(
      wire.sent.map(({ method, body }) => [method, body?.payload]),
      [
        ['POST', undefined],
        ['POST', 'one'],
        ['DELETE', undefined]
      ]
    )
    t.strictSame(await locks.list(title), [])
  })

  t.test('a lock that is lost while it is being released is not told of', async (t) => {
    const { heard, onLost } = losses()
    const { locks, wire } = seat(anna)
    const held = await locks.acquire(title, { onLost })
    const go = wire.block()
    const saved = failureOf(held.save('typed'))
    const released = held.release()
    await seat(ben).locks.overwrite(title)
    go()
    t.match(await saved, { code: 'FIELD_LOCKED' })
    await released
    t.strictSame(heard, [])
    t.match(await locks.list(title), [{ userData: ben }])
  })

  t.test("the user's locks of an entity are released at once, another's are left", async (t) => {
    const { locks, wire } = seat(anna)
    for (const fieldName of ['title', 'lead']) await locks.acquire({ ...title, fieldName })
    await seat(ben).locks.acquire({ ...title, fieldName: 'body' })
    await locks.release({ ...title, fieldName: 'lead' })
    t.match(
      (await locks.list({ type: 'node', id: '42' })).map(({ fieldName }) => fieldName),
      ['body', 'title']
    )
    await locks.release({ type: 'node', id: '42' })
    t.match(await locks.list({ type: 'node', id: '42' }), [{ userData: ben }])
    const { version } = await locks.acquire(title)
    await locks.release(title, { version: 'another' })
    t.match(await locks.list(title), [{ version }], 'in another version than the one that was seen it stays')
    await locks.release(title, { version })
    t.strictSame(await locks.list(title), [])
    wire.fates.push('down')
    t.match(await failureOf(locks.release(title)), { code: 'UNREACHABLE' })
  })

  t.test('a page that closes releases its locks, but for those with a typed text', async (t) => {
    const page = new EventTarget()
    const { locks, wire } = seat(anna)
    const stop = locks.releaseOnPageHide(page)
    const { heard, onLost } = losses()
    const left = await locks.acquire(title, { payload: 'stored', onLost })
    await locks.acquire({ ...title, fieldName: 'lead' })
    await (await locks.acquire({ ...title, fieldName: 'gone' })).release()
    const typed = await locks.acquire({ ...title, fieldName: 'body' })
    await typed.save('typed')
    const { length } = wire.sent
    page.dispatchEvent(new Event('pagehide'))
    const releases = () => wire.sent.slice(length).filter(({ path }) => path.endsWith('/release')).length
    t.equal(releases(), 2)
    t.ok(
      wire.sent.slice(length).every(({ keepalive, credentials }) => keepalive && credentials === 'include'),
      'which outlive the page, and say who asks'
    )
    const others = async () => (await locks.list({ type: 'node', id: '42' })).filter(({ fieldName }) => fieldName !== 'body')
    await until(async () => (await others()).length === 0)
    t.match(await locks.list({ type: 'node', id: '42' }), [{ fieldName: 'body', payload: 'typed' }])
    t.match(heard, [{ status: 0, code: 'LOCK_CHANGED' }], 'which a page learns that is shown again')
    t.equal(await failureOf(left.save('typed')), heard[0])
    stop()
    await locks.acquire(title)
    page.dispatchEvent(new Event('pagehide'))
    t.equal(releases(), 2)
    t.doesNotThrow(() => locks.releaseOnPageHide(Object.assign(globalThis, { addEventListener() {}, removeEventListener() {} }))())
  })

  t.test('a page that closes sends what is not in the lock yet of a typed text, also behind a write under way', async (t) => {
    const page = new EventTarget()
    const { locks, wire } = seat(anna)
    locks.releaseOnPageHide(page)
    const { heard, onLost } = losses()
    const held = await locks.acquire(title, { onLost })
    const first = held.save('a')
    const second = held.save('ab')
    page.dispatchEvent(new Event('pagehide'))
    t.ok(wire.sent.every(({ path }) => !path.endsWith('/release')))
    t.match(wire.sent.at(-1), { method: 'POST', body: { fieldName: 'title', userData: anna, payload: 'ab' } })
    t.equal(wire.sent.at(-1)!.headers['if-match'], undefined)
    await Promise.all([first, second])
    t.match(await locks.list(title), [{ payload: 'ab' }])
    const { length } = wire.sent
    page.dispatchEvent(new Event('pagehide'))
    t.equal(wire.sent.length, length, 'what is in the lock is not sent again')
    await held.save('abc')
    t.match([await locks.list(title), heard], [[{ payload: 'abc' }], []], 'a page that is shown again goes on')
    await held.release()
  })

  t.test('a lock that was lost unnoticed and is taken anew is not released when the page closes', async (t) => {
    const page = new EventTarget()
    const { locks, wire } = seat(anna)
    locks.releaseOnPageHide(page)
    const { heard, onLost } = losses()
    const before = await locks.acquire(title, { onLost })
    await (await seat(ben).locks.overwrite(title)).release()
    await (await locks.acquire({ ...title, fieldName: 'lead' })).save('typed')
    const held = await locks.acquire(title)
    await held.save('An hour of work')
    const { length } = wire.sent
    page.dispatchEvent(new Event('pagehide'))
    t.strictSame(wire.sent.slice(length), [])
    t.match(await locks.list(title), [{ payload: 'An hour of work', version: held.version }])
    t.match(await failureOf(before.save('late')), { code: 'LOCK_CHANGED' })
    t.strictSame(heard, [], 'who took it anew needs no telling')
  })

  t.test('a page that closes leaves a lock alone that another window of the same user has by now, and its text', async (t) => {
    const page = new EventTarget()
    const answers: Array<Promise<Response>> = []
    const { locks } = seat(anna, { fetch: (...request) => answers[answers.push(fetch(...request)) - 1]! })
    locks.releaseOnPageHide(page)
    await locks.acquire(title)
    await (await seat(anna).locks.acquire(title)).save('typed there')
    page.dispatchEvent(new Event('pagehide'))
    t.equal((await answers.at(-1)!).status, 412)
    t.match(await locks.list(title), [{ payload: 'typed there' }])
  })

  t.test('a page that closes with a text that could not be sent writes it over none that another window has kept since', async (t) => {
    for (const goneOn of [false, true]) {
      const page = new EventTarget()
      const answers: Array<Promise<Response>> = []
      let isDown = false
      const { locks } = seat(anna, {
        fetch: (...request) => {
          if (isDown) return Promise.reject(new TypeError('fetch failed'))
          return answers[answers.push(fetch(...request)) - 1]!
        }
      })
      locks.releaseOnPageHide(page)
      const held = await locks.acquire(title)
      isDown = true
      t.match(await failureOf(held.save('unsent')), { code: 'UNREACHABLE' })
      isDown = false
      if (goneOn) await (await seat(anna).locks.acquire(title)).save('An hour of work')
      page.dispatchEvent(new Event('pagehide'))
      await answers.at(-1)
      t.match(await locks.list(title), [{ payload: goneOn ? 'An hour of work' : 'unsent' }])
      await locks.release(title)
    }
  })

  t.test('what cannot be understood, or does not come in time, is a failure of the same kind', async (t) => {
    const { locks, wire } = seat(anna)
    wire.fates.push(
      new Response('<h1>Log in</h1>'),
      new Response('{"ok":false}', { status: 404 }),
      Response.json({ success: true }),
      new Response(null, { status: 503, headers: { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT' } })
    )
    t.match(await failureOf(locks.list(title)), { status: 200, code: 'INVALID_RESPONSE', body: undefined, passes: false })
    t.match(await failureOf(locks.list(title)), { status: 404, code: 'INVALID_RESPONSE', body: { ok: false } })
    t.match(
      await failureOf(locks.acquire(title)),
      { code: 'INVALID_RESPONSE', message: /^Quoin did not answer this/ },
      'an answer without a version'
    )
    t.match(await failureOf(locks.list(title)), { status: 503, code: 'INVALID_RESPONSE', retryAfter: undefined, passes: true })
    for (const [headers, passes] of [
      [{ 'retry-after': '5' }, true],
      [undefined, false]
    ] as const) {
      const full = { success: false, message: 'Five are open', error: { name: 'x', code: 'TOO_MANY_REQUESTS', message: 'Five are open' } }
      wire.fates.push(Response.json(full, { status: 429, ...(headers && { headers }) }))
      t.match(
        await failureOf(locks.propose(title, 'x')),
        { code: 'TOO_MANY_REQUESTS', passes },
        `${passes}: no time helps where none is told`
      )
    }
    wire.fates.push(new Response('Slow down', { status: 429 }))
    t.match(await failureOf(locks.list(title)), { status: 429, code: 'INVALID_RESPONSE', passes: true })
    t.match(await failureOf(locks.list({ type: 'no-de', id: '1' })), {
      status: 400,
      code: 'BAD_REQUEST',
      message: /^params\/type must match/
    })
    const never = seat(anna, {
      timeoutMs: 20,
      fetch: (_url, init) => new Promise((_resolve, reject) => init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason)))
    })
    t.match(await failureOf(never.locks.list(title)), { status: 0, code: 'UNREACHABLE', cause: { name: 'TimeoutError' }, passes: true })
    const broken = seat(anna, {
      headers: () => {
        throw new Error('no token')
      }
    })
    t.match(await failureOf(broken.locks.list(title)), { status: 0, code: 'UNREACHABLE', cause: { message: 'no token' } })
  })

  t.test('a weak entity tag, as proxies make it, is a version all the same', async (t) => {
    const { locks } = seat(anna, {
      fetch: async (input, init) => {
        const { body, status, headers } = await fetch(input, init)
        const etag = headers.get('etag')
        return new Response(body, { status, headers: { ...Object.fromEntries(headers), ...(etag && { etag: `W/${etag}` }) } })
      }
    })
    const held = await locks.acquire(title)
    await held.save('typed')
    t.match(await locks.list(title), [{ payload: 'typed', version: held.version }])
  })
})

t.test('locks that expire', async (t) => {
  const { app, seat } = await open(t, { LOCK_LEASE_SECONDS: '600' })
  t.afterEach(() =>
    app.inject({ method: 'DELETE', url: `${path}?uid=7` }).then(() => app.inject({ method: 'DELETE', url: `${path}?uid=8` }))
  )

  t.test('a lock whose text was refused is renewed with the one that it has', async (t) => {
    const { locks, time, wire } = seat(anna)
    const held = await locks.acquire(title, { payload: 'stored' })
    t.match(await failureOf(held.save('x'.repeat(500_000))), { status: 413 })
    const { length } = wire.sent
    time.pass(time.waits()[0]!)
    await until(() => wire.sent.length > length)
    t.equal(wire.sent.at(-1)!.body.payload, 'stored')
  })

  t.test('a lock is renewed with its text at a third of the lease, whatever the clock of the page says', async (t) => {
    // A service whose clock is an hour behind.
    const { locks, time, wire } = seat(anna)
    const { fetch: straight } = wire
    const late = seat(anna, {
      fetch: async (input, init) => {
        const { body, status, headers } = await straight(input, init)
        const { date, 'lock-expires': expires, ...rest } = Object.fromEntries(headers) as Record<string, string>
        return new Response(body, {
          status,
          headers: {
            ...rest,
            date: new Date(Date.parse(date!) - 3_600_000).toUTCString(),
            ...(expires !== undefined && { 'lock-expires': String(Number(expires) - 3600) })
          }
        })
      }
    })
    const held = await late.locks.acquire(title, { payload: 'stored' })
    const { version, expiresAt } = held
    t.ok(expiresAt! < Date.now() / 1000 - 2990)
    const [wait] = late.time.waits()
    t.ok(wait! >= 200_000 && wait! < 201_000, `${wait} ms`)
    late.time.pass(wait!)
    await until(() => held.version !== version)
    await until(() => late.time.waits().length === 1)
    t.match(await locks.list(title), [{ payload: 'stored', version: held.version }])
    t.strictSame(wire.sent[1]!.headers['if-match'], `"${version}"`)
    await held.release()
    t.strictSame([...time.waits(), ...late.time.waits()], [], 'and no longer, once it is released')
  })

  t.test("a lock that became another's is found out at its renewal", async (t) => {
    const { heard, onLost } = losses()
    const { locks, time } = seat(anna)
    await locks.acquire(title, { onLost })
    await seat(ben).locks.overwrite(title)
    time.pass(300_000)
    await until(() => heard.length)
    t.match(heard, [{ status: 423, lock: { userData: ben } }])
    t.strictSame(time.waits(), [])
  })

  t.test('a lock that was lost unnoticed and is taken anew is renewed as the new one alone', async (t) => {
    const { locks, time } = seat(anna)
    await locks.acquire(title)
    await seat(ben).locks.overwrite(title)
    await locks.overwrite(title)
    t.equal(time.waits().length, 1)
  })

  t.test('what somebody else released is lost too, since others may have worked on it meanwhile', async (t) => {
    const { heard, onLost } = losses()
    const { locks, time } = seat(anna)
    await locks.acquire(title, { onLost })
    await app.inject({ method: 'DELETE', url: `${path}?fieldName=title` })
    time.pass(300_000)
    await until(() => heard.length)
    t.match(heard, [{ status: 412, code: 'LOCK_CHANGED', lock: undefined }])
  })

  t.test('without a date in the answer the clock of the page has to do, and no lease is renewed all the time', async (t) => {
    const withoutDate = (skewMs: number) =>
      seat(anna, {
        fetch: async (input, init) => {
          const { body, status, headers } = await fetch(input, init)
          const { date: _, 'lock-expires': expires, ...rest } = Object.fromEntries(headers) as Record<string, string>
          return new Response(body, {
            status,
            headers: { ...rest, ...(expires !== undefined && { 'lock-expires': String(Number(expires) - skewMs / 1000) }) }
          })
        }
      })
    for (const [skewMs, least, most] of [
      [0, 199_000, 201_000],
      [3_600_000, 250, 250]
    ] as const) {
      const { locks, time } = withoutDate(skewMs)
      const held = await locks.acquire(title)
      const [wait] = time.waits()
      t.ok(wait! >= least && wait! <= most, `${wait} ms`)
      await held.release()
    }
  })

  t.test('a lease that ran out while the network was down is taken up again, unless somebody came', async (t) => {
    const { app, seat } = await open(t, { LOCK_LEASE_SECONDS: '2' })
    await Promise.all(
      [false, true].map(async (somebodyCame) => {
        const field = { ...title, fieldName: somebodyCame ? 'lead' : 'title' }
        const { heard, onLost } = losses()
        const { locks, wire, time } = seat(anna)
        const held = await locks.acquire(field, { payload: 'typed', onLost })
        wire.fates.push('down')
        time.pass(time.waits()[0]!)
        await until(() => time.waits().length && wire.fates.length === 0)
        await until(async () => (await app.inject(`${path}?fieldName=${field.fieldName}`)).json().data.Count === 0)
        if (somebodyCame) await seat(ben).locks.acquire(field)
        const { version } = held
        time.pass(1000)
        await until(() => (somebodyCame ? heard.length : held.version !== version))
        if (somebodyCame) {
          t.match(heard, [{ lock: { userData: ben } }])
          t.match(await locks.drafts(title), [{ payload: 'typed' }])
        } else {
          t.strictSame(heard, [])
          t.match(await locks.list(field), [{ payload: 'typed', version: held.version }])
          await held.release()
        }
      })
    )
  })

  t.test('a lease that ran out after a lost answer is taken up again, unless somebody came', async (t) => {
    const { store, seat } = await open(t, { LOCK_LEASE_SECONDS: '600' })
    const expire = new UpdateCommand({
      TableName: 'DataState',
      Key: { env_entityType_entityId: 'test-node-42', fieldName: 'title' },
      UpdateExpression: 'SET expiresAt = :past',
      ExpressionAttributeValues: { ':past': 1 }
    })
    for (const somebodyCame of [false, true]) {
      const { heard, onLost } = losses()
      const { locks, wire } = seat(anna)
      const held = await locks.acquire(title, { payload: 'stored', onLost })
      await held.save('typed')
      wire.fates.push('deaf')
      await failureOf(held.save('typed more'))
      await store.send(expire)
      if (somebodyCame) await (await seat(ben).locks.acquire(title)).release()
      const saved = await held.save('typed even more').catch(({ code, lock }) => ({ code, lock }))
      const left = {
        listed: (await locks.list(title)).map(({ payload }) => payload),
        drafts: (await locks.drafts(title)).map(({ payload }) => payload),
        heard: heard.length
      }
      if (somebodyCame) {
        t.match({ saved, ...left }, { saved: { code: 'LOCK_CHANGED', lock: undefined }, listed: [], drafts: ['typed more'], heard: 1 })
      } else t.strictSame({ saved, ...left }, { saved: undefined, listed: ['typed even more'], drafts: [], heard: 0 })
      await held.release()
    }
  })
})

t.test('with authentication the service knows who calls', async (t) => {
  const { seat } = await open(t, jwtEnv(t))
  let token: Record<string, string> = {}
  const { locks, wire, time } = seat(undefined, { headers: async () => token })
  t.match(await failureOf(locks.acquire(title)), { status: 401, code: 'UNAUTHENTICATED' })
  token = bearer({ sub: '7', name: 'Anna' })
  const held = await locks.acquire(title, { payload: 'stored' })
  t.match(await locks.list(title), [{ userData: anna }])
  const good = token
  token = {}
  t.match(await failureOf(held.save('typed')), { status: 401 })
  t.equal(time.waits().length, 1, 'who logs in again has the text that was typed kept')
  token = good
  time.pass(1000)
  await until(async () => (await locks.list(title))[0]!.payload === 'typed')
  t.match(await await seat(undefined, { headers: () => bearer({ sub: '7' }) }).locks.acquire(title), { found: 'typed' })
  await locks.release(title)
  wire.fates.push(
    Response.json(
      { success: false, message: 'Error: changed', error: { code: 'LOCK_CHANGED', message: 'changed', lock: { userData: anna } } },
      { status: 412 }
    ),
    Response.json({ success: true, data: { Items: [{ fieldName: 'title', userData: ben, timestamp: 5, payload: "Ben's" }] } })
  )
  t.match(await locks.acquire(title), { found: undefined }, "and another's lock is not the own one")
  await locks.release(title)
  await locks.acquire(title)
  const page = new EventTarget()
  locks.releaseOnPageHide(page)
  page.dispatchEvent(new Event('pagehide'))
  await until(async () => (await locks.list(title)).length === 0)
  t.match(
    wire.sent.find(({ path }) => path.endsWith('/release')),
    { headers: good, body: { fieldName: 'title' } }
  )
  await locks.acquire(title)
  wire.fates.push('down')
  page.dispatchEvent(new Event('pagehide'))
  t.equal((await locks.list(title)).length, 1, 'a release that fails then fails silently')
})

t.test('what is to come late is not run at once, as timers do beyond 24 days', async (t) => {
  let runs = 0
  const cancel = later(2 ** 40, () => {
    runs++
  })
  later(1, () => {
    runs += 10
  })
  await until(() => runs > 0)
  t.equal(runs, 10)
  cancel()
})

t.test('a text is proposed, listed, taken, discarded or withdrawn, and its author sees what became of it', async (t) => {
  const { seat } = await open(t)
  const [hers, his, nobodys] = [seat(anna).locks, seat({ uid: 8, name: 'Ben' }).locks, seat().locks]
  const entity = { type: 'node', id: '42' }
  const one = await hers.propose(title, 'Harbour', { base: '"e1"', reason: 'shorter' })
  t.match(one, { fieldName: 'title', userData: anna, payload: 'Harbour', base: '"e1"', reason: 'shorter' })
  const two = await hers.propose({ ...title, fieldName: 'body' }, 'Quay')
  t.strictSame(await his.proposals(title), [one])
  await his.takeProposal(entity, one.id)
  t.match(await failureOf(his.discardProposal(entity, one.id)), { status: 409, code: 'CONFLICT' })
  await nobodys.discardProposal(entity, two.id)
  const three = await hers.propose(title, 'Mole')
  await hers.withdrawProposal(entity, three.id)
  t.strictSame(await his.proposals(entity), [])
  t.strictSame(await his.proposals(entity, { settled: true }), [])
  t.strictSame(
    (await hers.proposals(entity, { settled: true })).map(({ id, settled }) => [id, settled!.outcome, settled!.by]).sort(),
    [
      [one.id, 'taken', ben],
      [two.id, 'discarded', undefined],
      [three.id, 'withdrawn', anna]
    ].sort()
  )
  await t.rejects(hers.propose(title, 'x', { signal: AbortSignal.abort() }), { name: 'AbortError' })
})
