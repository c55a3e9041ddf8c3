import t from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { buildLogged } from '../../../test/helper.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'
import { editField } from '../server/tools/edit-field.ts'
import { codeOf, editOf, heal, LOCK, MINE, openFaulty, placesOf } from './faulty-room.ts'
import type { Fate, Line } from './line.ts'
import { ben, planner } from './newsroom.ts'

/** Fails all releases: nothing of a lock can be removed. */
const noRelease = (line: Line): void => {
  line.fate = (_count, { operation }) => (operation === 'DeleteItem' ? 'broken' : 'answered')
}

t.test('a lock that cannot be given back is told of, with when it ends', async (t) => {
  const room = await openFaulty(t)
  noRelease(room.toStore)
  const saved = await room.call('edit_field', await editOf(room, 'Saved'))
  t.match(saved, { isError: false, body: { saved: true, ownLock: /^The lock could not be given back. It ends by itself at 20/ } })
  heal(room)
  t.match((await placesOf(room, 'Saved')).lock, { userData: { uid: MINE }, expiresAt: Number })
  await room.rest('POST', `${LOCK}/requests`, { headers: ben, body: { fieldName: 'title' } })

  const args = await editOf(room, 'x'.repeat(300))
  noRelease(room.toStore)
  const refused = await room.call('edit_field', args)
  t.match(refused.body.error, { code: 'UNPROCESSABLE', ownLock: /^The lock could not be given back. It ends by itself at 20/ })
  heal(room)
})

t.test('a save whose outcome nobody knows leaves the text as a draft', async (t) => {
  const room = await openFaulty(t)
  const args = await editOf(room, 'Perhaps')
  room.toCms.fate = (_count, { method }) => (method === 'PATCH' ? 'dropped' : 'answered')
  t.match(codeOf(await room.call('edit_field', args)), /^CMS_/)
  heal(room)
  const { isSaved, isKept, lock } = await placesOf(room, 'Perhaps')
  t.strictSame([isSaved, isKept, lock], [false, true, undefined])
})

t.test('a caller that hangs up in the middle has given the lock back', async (t) => {
  const room = await openFaulty(t)
  const args = await editOf(room, 'By one who has gone')
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<Fate>()
  room.toCms.fate = (_count, { method }) => {
    if (method === 'GET') return 'answered'
    reached.resolve()
    return goOn.promise
  }
  const gone = new AbortController()
  const client = await room.connect(planner)
  const calling = client.callTool({ name: 'edit_field', arguments: args }, { signal: gone.signal }).catch(() => 'gone')
  await reached.promise
  t.match((await placesOf(room, args.value)).lock, { userData: { uid: MINE } })
  gone.abort()
  t.equal(await calling, 'gone')
  goOn.resolve('answered')
  for (let count = 0; count < 100 && (await placesOf(room, args.value)).lock; count++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { lock, isSaved, isKept } = await placesOf(room, args.value)
  t.equal(lock, undefined)
  t.ok(isSaved || isKept)
})

t.test('a call is one line in the log, whatever it does', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const account = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const { app, logged } = await buildLogged(t, { MCP: 'on', CMS_URL: await cms.listen(), DYNAMODB_ENDPOINT: endpoint, ...account })
  const headers = {
    accept: 'application/json, text/event-stream',
    'quoin-agent': 'planner',
    'x-user-uid': '7',
    'mcp-protocol-version': '2025-06-18'
  }
  async function edit(value: string): Promise<string> {
    const tag = (await app.inject('/api/collection/1')).headers.etag
    logged()
    const params = { name: 'edit_field', arguments: { id: '1', field: 'title', value, tag } }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    return (await app.inject({ method: 'POST', url: '/mcp', headers, body })).body
  }
  t.match(await edit('The first save tells once that dynalite has no transactions'), /saved/)
  t.match(await edit('Logged'), /saved/)
  t.equal(logged().length, 1)
})

t.test('a defect is told as it is, after the lock was given back', async (t) => {
  const released: unknown[] = []
  const call = {
    agent: { uid: MINE, name: 'planner', principal: '7' },
    model: { keys: {}, closing: {}, lockLanguages: [], lockTypes: {}, mainProperty: {}, lockIds: 'id', entityType: 'edition' },
    reply: {},
    request: { async demandLock() {} },
    services: {
      editions: {
        read: async () => ({ etag: '"a.b"', json: JSON.stringify({ title: [{ value: 'x' }] }) }),
        async update() {
          throw new TypeError('a defect')
        }
      },
      locks: {
        acquire: async () => ({ outcome: 'acquired', version: 'v', timestamp: 1, expiresAt: 2 }),
        async release(...release: unknown[]) {
          released.push(release)
        }
      },
      budgets: { async spend() {} },
      idempotency: { once: async (_request: object, work: (attempt: object) => unknown) => work({}) }
    }
  }
  await t.rejects(editField.run(call as never, { id: '1', field: 'title', value: 'y', tag: '"a.b"' }), { message: 'a defect' })
  t.match(released, [[{}, { fieldName: 'title' }, { ifMatch: ['v'] }]])
})
