import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createRequests, outlive } from '../../packages/desk/requests.ts'
import { QuoinError, type LockView, type Petition } from '../../packages/client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout', 'Date'] })
t.teardown(() => mock.timers.reset())

const petitionOf = (uid: string, more: Partial<Petition> = {}): Petition => ({ entityType: 'node', entityId: '1', fieldName: 'title', userData: { uid }, until: 60, ...more })
const lockOf = (uid: string): LockView => ({ entityType: 'node', entityId: '1', fieldName: 'title', timestamp: 1, userData: { uid } })

/** What Ben asks for, and a service that refuses with the errors that it is given, and may wait. */
function open (t: Test) {
  const service = { sent: [] as string[], errors: [] as Error[], waiting: undefined as Promise<void> | undefined }
  const [begun, refused, said]: [string[], string[], string[]] = [[], [], []]
  let changes = 0
  const call = (name: string) => async ({ fieldName }: { fieldName: string }) => {
    service.sent.push(`${name} ${fieldName}`)
    await service.waiting
    const error = service.errors.shift()
    if (error) throw error
  }
  const requests = createRequests({
    locks: { ask: call('ask'), withdraw: call('withdraw') },
    entity: () => ({ type: 'node', id: '1' }),
    uid: 'ben',
    onBegin: ({ userData }) => { begun.push(userData.uid) },
    onRefuse: (fieldName, { code }) => { refused.push(`${fieldName} ${code}`) },
    onChange: () => { changes++ },
    announce: (text) => { said.push(text) }
  })
  t.teardown(() => requests.end())
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  const sent = () => service.sent.splice(0)
  return { requests, service, sent, begun, refused, said, pass, changes: () => changes }
}

t.test('a request is said once, goes on until it is withdrawn, and is withdrawn once', async (t) => {
  const { requests, sent, said, pass } = open(t)
  t.equal(requests.since('title'), undefined)
  requests.ask('title')
  requests.ask('title')
  t.equal(requests.since('title'), Date.now() / 1000)
  t.match(said, [/^asked \d\d:\d\d$/])
  await pass(0)
  await pass(25_000)
  await pass(25_000)
  t.strictSame(sent(), ['ask title', 'ask title', 'ask title'])
  requests.withdraw('title')
  requests.withdraw('title')
  await pass(50_000)
  t.strictSame([sent(), requests.since('title')], [['withdraw title'], undefined])
})

t.test('a request that is withdrawn before it has arrived is withdrawn again, unless it was made anew', async (t) => {
  const { requests, service, sent, pass } = open(t)
  const gate = Promise.withResolvers<void>()
  service.waiting = gate.promise
  requests.ask('title')
  requests.withdraw('title')
  requests.ask('body')
  requests.withdraw('body')
  requests.ask('body')
  gate.resolve()
  await pass(0)
  t.strictSame(sent(), ['ask title', 'withdraw title', 'ask body', 'withdraw body', 'ask body', 'withdraw title'])
  t.type(requests.since('body'), 'number')
  requests.end()
  t.strictSame(sent(), ['withdraw body'], 'all that stands is withdrawn when the page goes')
})

t.test('a request that is refused is over; what nobody holds any more needs no word', async (t) => {
  const { requests, service, refused, pass } = open(t)
  service.errors = [new QuoinError(429, 'TOO_MANY_REQUESTS', 'Five ask')]
  requests.ask('title')
  await pass(0)
  t.strictSame([requests.since('title'), refused], [undefined, ['title TOO_MANY_REQUESTS']])
  service.errors = [new QuoinError(409, 'FIELD_NOT_LOCKED', 'free')]
  requests.ask('title')
  await pass(0)
  t.strictSame([requests.since('title'), refused.length], [undefined, 1])
  service.errors = [new QuoinError(429, 'TOO_MANY_REQUESTS', 'Five ask'), new QuoinError(503, 'STORE_UNAVAILABLE', 'away')]
  requests.ask('title')
  requests.withdraw('title')
  await pass(0)
  t.equal(refused.length, 1, 'nor what is not wanted any more')
})

t.test('a request is over once the field is free or one has it', async (t) => {
  const { requests, sent, pass } = open(t)
  for (const board of [[], [lockOf('ben')]]) {
    requests.ask('title')
    await pass(0)
    requests.board([lockOf('anna')])
    t.type(requests.since('title'), 'number')
    requests.board(board)
    await pass(60_000)
    t.strictSame([requests.since('title'), sent()], [undefined, ['ask title']])
  }
})

t.test('who asks is told once, shown while it is heard of, and not once put off', async (t) => {
  const { requests, begun, pass } = open(t)
  const shown = () => requests.of('title').map(({ userData }) => userData.uid)
  for (const petition of [petitionOf('anna', { entityId: '2' }), petitionOf('anna', { entityType: 'term' }), petitionOf('ben')]) requests.hear(petition)
  t.strictSame([shown(), begun], [[], []], 'for other entities, or by oneself')
  requests.hear(petitionOf('anna'))
  requests.hear(petitionOf('anna', { until: 90 }))
  requests.hear(petitionOf('cora', { fieldName: 'body' }))
  t.strictSame([shown(), begun], [['anna'], ['anna', 'cora']])
  requests.putOff(requests.of('title')[0]!)
  requests.hear(petitionOf('anna', { until: 120 }))
  t.strictSame(shown(), [], 'sent again it stays put off')
  requests.hear(petitionOf('anna', { until: 0 }))
  requests.hear(petitionOf('anna', { until: 200 }))
  t.strictSame([shown(), begun], [['anna'], ['anna', 'cora', 'anna']], 'another one is shown')
  await pass(70_000)
  t.strictSame(shown(), [], 'whose end was not heard')
})

t.test('a withdrawal arrives although the page closes', async (t) => {
  const kept: Array<boolean | undefined> = []
  const send = outlive(async (_, init) => { kept.push(init?.keepalive); return new Response() })
  await send('/api/cloud/data-state/node/1/requests?fieldName=title', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1/presence?uid=ben', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1?fieldName=title', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1/requests?fieldName=title', { method: 'POST' })
  await send('/api')
  t.strictSame(kept, [true, true, undefined, undefined, undefined])
})
