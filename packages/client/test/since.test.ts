import t from 'tap'
import { anna, ben, failureOf, open, title, until } from './fixtures.ts'

const url = '/api/cloud/data-state/node/42'
const SINCE = 1_700_000_000

t.test('since when a field is locked stays as it was, whatever is renewed, and costs no request', async (t) => {
  const { app, seat } = await open(t, { LOCK_LEASE_SECONDS: '600' })
  const { locks, wire, time } = seat(anna)
  const held = await locks.acquire(title, { payload: 'Harbour' })
  const [{ timestamp }] = (await locks.list(title)) as unknown as [{ timestamp: number }]
  wire.sent.length = 0
  await held.save('Harbour bridge')
  time.pass(300_000)
  await until(() => wire.sent.length === 2)
  t.match(
    wire.sent,
    [
      { method: 'POST', body: { timestamp } },
      { method: 'POST', body: { timestamp } }
    ],
    'the text and the renewal'
  )
  await until(async () => (await locks.list(title))[0]?.version === held.version)
  await held.release()

  // As if Anna had begun long ago, in a tab that is closed by now.
  await app.inject({ method: 'POST', url, payload: { fieldName: 'title', userData: anna, payload: 'Harbour', timestamp: SINCE } })
  const other = seat(ben)
  const told: unknown[] = []
  t.teardown(other.locks.subscribe(title, { locks: (now) => told.push(now.map(({ timestamp }) => timestamp)) }))
  await until(() => told.length > 0)
  const again = await locks.acquire(title)
  await again.save('Harbour bridge to open')
  await until(() => told.length >= 3)
  t.strictSame([...new Set(told.flat())], [SINCE], 'events tell it')
  t.match(await failureOf(other.locks.acquire(title)), { lock: { timestamp: SINCE } }, 'and so do refusals')
  t.match(await locks.list(title), [{ timestamp: SINCE, payload: 'Harbour bridge to open' }])

  const taken = await other.locks.overwrite(title)
  t.not((await locks.list(title))[0]?.timestamp, SINCE, 'who takes over begins anew')
  await taken.release()
})

t.test("what a page sends on its way out keeps it too, and a time that is none is another program's affair", async (t) => {
  const { app, seat } = await open(t)
  const { locks, wire } = seat(anna)
  await app.inject({ method: 'POST', url, payload: { fieldName: 'title', userData: anna, timestamp: SINCE } })
  let leave = () => {}
  locks.releaseOnPageHide({
    addEventListener: (_type, listener) => {
      leave = listener
    },
    removeEventListener: () => {}
  })
  const held = await locks.acquire(title)
  wire.fates.push('down')
  await failureOf(held.save('typed'))
  leave()
  t.match(wire.sent.at(-1), { keepalive: true, body: { payload: 'typed', timestamp: SINCE } })

  const odd = seat(ben, {
    fetch: async (...request) => {
      const response = await fetch(...request)
      const { body, status, headers } = new Response((await response.text()).replaceAll(/"timestamp":\d+/g, '"timestamp":"once"'), response)
      headers.delete('lock-since')
      return new Response(body, { status, headers })
    }
  })
  await app.inject({ method: 'POST', url, payload: { fieldName: 'lead', userData: ben } })
  const lead = await odd.locks.acquire({ ...title, fieldName: 'lead' })
  await lead.save('text')
  t.match(await locks.list({ ...title, fieldName: 'lead' }), [{ timestamp: Number, payload: 'text' }])
})

t.test('a lock says by the clock of the service when its user last typed; a renewal says the same again', async (t) => {
  const { seat } = await open(t, { LOCK_LEASE_SECONDS: '600' })
  /** By how much the service's clock is ahead, in seconds. */
  let ahead = 3600
  const sent: Array<{ payload?: string; typedAt?: number; isLast?: boolean }> = []
  const clocked: typeof fetch = async (address, init) => {
    if (init?.method === 'POST') {
      const { payload, userData } = JSON.parse(String(init.body))
      sent.push({ payload, ...(userData.typedAt && { typedAt: userData.typedAt }), ...(init.keepalive && { isLast: true }) })
    }
    if (init?.keepalive) throw new TypeError('fetch failed')
    const response = await fetch(address!, init)
    const headers = new Headers(response.headers)
    headers.set('date', new Date(Date.now() + ahead * 1000).toUTCString())
    return new Response(response.body, { status: response.status, headers })
  }
  const { locks, time } = seat(anna, { fetch: clocked })
  let leave = () => {}
  locks.releaseOnPageHide({
    addEventListener: (_type, listener) => {
      leave = listener
    },
    removeEventListener: () => {}
  })
  const held = await locks.acquire(title, { payload: 'Harbour' })
  t.strictSame(sent, [{ payload: 'Harbour' }], 'where nothing was typed, nothing is said')
  await held.save('Harbour')
  const { typedAt } = sent.at(-1)!
  const now = Math.floor(Date.now() / 1000)
  t.ok(typedAt! > now + 3590 && typedAt! <= now + 3600, `${typedAt! - now} s from now`)
  t.match(await locks.list(title), [{ userData: { ...anna, typedAt } }])

  ahead = 7200
  time.pass(time.waits()[0]!)
  await until(() => sent.length === 3)
  await until(() => time.waits().length > 0)
  await held.save('Harbour')
  t.strictSame(
    sent.slice(2),
    [
      { payload: 'Harbour', typedAt },
      { payload: 'Harbour', typedAt }
    ],
    'a renewal, and the same text'
  )
  const other = seat({ ...anna, desk: 'news' })
  const found = await other.locks.acquire(title)
  t.match(await other.locks.list(title), [{ userData: { ...anna, desk: 'news', typedAt } }], 'another window of the user')
  await found.release()

  const again = await locks.acquire(title)
  const saved = again.save('Harbour bridge')
  leave()
  await saved
  const last = sent.find(({ isLast }) => isLast)!
  t.equal(last.payload, 'Harbour bridge')
  t.ok(last.typedAt! > now + 7190, 'and what a page sends on its way out')
  t.match(await locks.acquire(title), { found: 'Harbour bridge' })
  t.match(await locks.list(title), [{ userData: { typedAt: last.typedAt } }], 'the page that takes its own lock anew')
  const { save } = await locks.acquire(title)
  await save('Harbour bridge opens', { age: 60_000 })
  const { typedAt: earlier } = sent.at(-1)!
  t.ok(earlier! > now + 7130 && earlier! < now + 7190, 'a text that was typed a minute ago')
  await seat(ben).locks.overwrite(title)
  t.strictSame((await locks.list(title))[0]?.userData, ben, 'who takes over has not typed')
})
