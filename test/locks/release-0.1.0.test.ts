import t from 'tap'
import { createLocks } from '../../lib/locks/locks.ts'
import { createTickets } from '../../lib/tickets/tickets.ts'
import { startEngine } from './fixtures/engines.ts'
import { createRelease010 } from './fixtures/release-0.1.0.ts'

const at = { type: 'node', id: '1' }
const UUID = '855d568c-a40d-43fb-a97a-426045895e11'
const userData = (uid: string) => ({ uid })

t.test('a release runs beside 0.1.0: each keeps the locks of the other, reads its drafts, and finds what it released free', async (t) => {
  const { client } = await startEngine(t, 'dynalite')
  const clock = { seconds: 1_800_000_000 }
  const earlier = createRelease010(client, 'test-node-1', () => clock.seconds)
  const deps = { client, table: 'DataState', environment: 'test', now: () => clock.seconds * 1000 }
  const locks = createLocks({ ...deps, leaseSeconds: 600 })
  const request = (fieldName: string, uid: string, payload?: string) => ({ fieldName, userData: userData(uid), ...(payload !== undefined && { payload }) })
  const shown = async () => (await locks.list(at)).Items.map(({ fieldName, userData, payload }) => [fieldName, userData.uid, payload])
  const shownEarlier = async () => (await earlier.list()).map(({ fieldName, userData, payload }) => [fieldName, userData.uid, payload])

  t.ok(await earlier.acquire('title', '7', 'hers'))
  t.match(await locks.acquire(at, request('title', '8')), { outcome: 'held', lock: { userData: userData('7') } })
  t.match(await locks.acquire(at, request('title', '7', 'more of hers')), { outcome: 'acquired' }, 'its owner goes on')
  t.ok(await earlier.acquire('title', '7', 'all of hers'), 'and back')

  t.match(await locks.acquire(at, request('body', '8', 'his')), { outcome: 'acquired' })
  t.notOk(await earlier.acquire('body', '7'))
  t.notOk(await earlier.overwrite('body', '7'), 'a text of the newer release is kept before a takeover')
  t.notOk(await earlier.release('body', '7'))
  t.strictSame(await shown(), [['body', '8', 'his'], ['title', '7', 'all of hers']])
  t.strictSame(await shownEarlier(), await shown())

  t.match(await locks.overwrite(at, request('title', '8', 'taken')), { outcome: 'acquired' })
  t.match((await locks.drafts.list(at)).Items, [{ fieldName: 'title', payload: 'all of hers' }], 'a takeover keeps the text of the earlier release')
  t.match(await earlier.drafts(), [{ field: 'title', payload: 'all of hers', userData: userData('7') }])
  await earlier.keep('body', '7', 'an earlier draft')
  t.match((await locks.drafts.list(at, { fieldName: 'body' })).Items, [{ fieldName: 'body', payload: 'an earlier draft' }])

  for (const fieldName of ['title', 'body']) t.match(await locks.release(at, { fieldName, uid: '8' }), { outcome: 'released' })
  t.strictSame([await shown(), await shownEarlier()], [[], []])
  t.ok(await earlier.acquire('title', '7', 'again'), 'what was released is free')
  t.ok(await earlier.release('title', '7'))
  t.match(await locks.acquire(at, request('title', '8')), { outcome: 'acquired' })

  clock.seconds += 601
  t.ok(await earlier.acquire('title', '7'), 'a lease of the newer release ends')
  clock.seconds += 601
  t.match(await locks.acquire(at, request('title', '8')), { outcome: 'acquired' }, 'and one of the earlier release')

  const before = await shownEarlier()
  const tickets = createTickets({ ...deps, ready: () => undefined, required: true, warn () {} })
  const ticket = await tickets.take(UUID, deps.now())
  t.ok(ticket.isShared)
  t.strictSame(await shownEarlier(), before, 'it does not see a ticket')
  await locks.presence.enter(at, { userData: userData('9') })
  t.strictSame(await shownEarlier(), before, 'nor who looks on')
  await ticket.end(true)
})
