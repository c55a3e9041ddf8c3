import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPresence } from '../page/presence.ts'
import { QuoinError, type LockView, type Presence } from '../../client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const presenceOf = (uid: string, more: Partial<Presence> = {}): Presence => ({
  entityType: 'node',
  entityId: '1',
  userData: { uid, name: uid },
  until: 90,
  ...more
})
const lockOf = (uid: string): LockView => ({ entityType: 'node', entityId: '9', fieldName: 'title', timestamp: 1, userData: { uid } })

/** Ben's page, and a service that refuses with the errors that it is given, and may wait. */
function open(t: Test) {
  const service = { sent: [] as string[], errors: [] as Error[], waiting: undefined as Promise<void> | undefined }
  let changes = 0
  const call = (name: string) => async () => {
    service.sent.push(name)
    await service.waiting
    const error = service.errors.shift()
    if (error) throw error
  }
  const presence = createPresence({
    locks: { attend: call('attend'), leave: call('leave') },
    entity: () => ({ type: 'node', id: '1' }),
    uid: 'ben',
    onChange: () => {
      changes++
    }
  })
  t.teardown(() => presence.end())
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  const sent = () => service.sent.splice(0)
  const names = (board: LockView[] = []) => presence.besides(board).map(({ uid }) => uid)
  return { presence, service, sent, names, pass, changes: () => changes }
}

t.test('a page says that its user looks on once it shows the edition, as long as it is seen, and when it goes', async (t) => {
  const { presence, sent, pass } = open(t)
  presence.see(true)
  t.strictSame(sent(), [], 'nothing is there yet')
  presence.open()
  presence.see(true)
  t.strictSame(sent(), ['attend'])
  await pass(40_000)
  await pass(40_000)
  t.strictSame(sent(), ['attend', 'attend'])
  presence.see(false)
  await pass(400_000)
  t.strictSame(sent(), [], 'in the background it says nothing')
  presence.see(true)
  t.strictSame(sent(), ['attend'])
  await pass(0)
  presence.end()
  presence.end()
  await pass(400_000)
  t.strictSame(sent(), ['leave'])
  presence.see(true)
  t.strictSame(sent(), ['attend'], 'the browser shows the page again')
})

t.test('a page that was never seen has nothing to take back', async (t) => {
  const { presence, sent } = open(t)
  presence.open()
  presence.end()
  t.strictSame(sent(), [])
})

t.test('a page that cannot say so goes on without a word, and tries again', async (t) => {
  const { presence, service, sent, pass, changes } = open(t)
  presence.see(true)
  for (const error of [new QuoinError(503, 'STORE_UNAVAILABLE', 'away'), new QuoinError(429, 'TOO_MANY_REQUESTS', 'fifty')]) {
    service.errors.push(error)
    presence.open()
    await pass(0)
  }
  t.equal(changes(), 0)
  await pass(40_000)
  t.strictSame(sent(), ['attend', 'attend', 'attend'])
  service.errors.push(new QuoinError(0, 'UNREACHABLE', 'away'))
  presence.end()
  await pass(0)
  t.strictSame(sent(), ['leave'])
})

t.test('what arrives after its user has left is taken back again, unless they have come back', async (t) => {
  const { presence, service, sent, pass } = open(t)
  for (const [isBack, last] of [
    [false, ['leave']],
    [true, []]
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<void>()
    service.waiting = promise
    presence.see(true)
    presence.open()
    presence.end()
    if (isBack) presence.see(true)
    sent()
    service.waiting = undefined
    resolve()
    await pass(0)
    t.strictSame(sent(), last)
  }
})

t.test('the others are shown by name while they are there and not at work', async (t) => {
  const { presence, names, changes } = open(t)
  for (const other of [presenceOf('anna', { entityId: '2' }), presenceOf('anna', { entityType: 'term' }), presenceOf('ben')]) {
    presence.hear(other)
  }
  t.strictSame([names(), changes()], [[], 0], 'for other entities, or by oneself')
  for (const uid of ['cora', 'anna', 'dora']) presence.hear(presenceOf(uid))
  presence.hear(presenceOf('anna', { until: 130 }))
  t.strictSame(names(), ['anna', 'cora', 'dora'])
  t.strictSame(names([lockOf('cora')]), ['anna', 'dora'], 'who edits is on the board')
  presence.hear(presenceOf('anna', { until: 0 }))
  t.strictSame(names(), ['cora', 'dora'])
  presence.begin()
  presence.hear(presenceOf('dora'))
  t.strictSame(names(), ['dora'], 'whose leaving was missed')
})

t.test('where another window of the same user is closed, this one says at once that they are still there', async (t) => {
  const { presence, sent } = open(t)
  presence.see(true)
  presence.open()
  sent()
  presence.hear(presenceOf('ben', { until: 0 }))
  t.strictSame(sent(), ['attend'])
  presence.see(false)
  presence.hear(presenceOf('ben', { until: 0 }))
  t.strictSame(sent(), [], 'unless nobody sees it')
})
