import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPetitions, outlive } from '../page/petitions.ts'
import { QuoinError, type LockView, type Petition } from '../../client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout', 'Date'] })
t.teardown(() => mock.timers.reset())

const petitionOf = (uid: string, more: Partial<Petition> = {}): Petition => ({
  entityType: 'node',
  entityId: '1',
  fieldName: 'title',
  userData: { uid },
  until: 60,
  ...more
})
const lockOf = (uid: string): LockView => ({ entityType: 'node', entityId: '1', fieldName: 'title', timestamp: 1, userData: { uid } })

/** What Ben asks for, and a service that refuses with the errors that it is given, and may wait. */
function open(t: Test) {
  const service = { sent: [] as string[], errors: [] as Error[], waiting: undefined as Promise<void> | undefined }
  const [begun, refused, said]: [string[], string[], string[]] = [[], [], []]
  let changes = 0
  const call =
    (name: string) =>
    async ({ fieldName }: { fieldName: string }) => {
      service.sent.push(`${name} ${fieldName}`)
      await service.waiting
      const error = service.errors.shift()
      if (error) throw error
    }
  const petitions = createPetitions({
    locks: { ask: call('ask'), withdraw: call('withdraw') },
    entity: () => ({ type: 'node', id: '1' }),
    uid: 'ben',
    onBegin: ({ userData }) => {
      begun.push(userData.uid)
    },
    onRefuse: (fieldName, { code }) => {
      refused.push(`${fieldName} ${code}`)
    },
    onChange: () => {
      changes++
    },
    announce: (text) => {
      said.push(text)
    }
  })
  t.teardown(() => petitions.end())
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  const sent = () => service.sent.splice(0)
  return { petitions, service, sent, begun, refused, said, pass, changes: () => changes }
}

t.test('a petition is said once, goes on until it is withdrawn, and is withdrawn once', async (t) => {
  const { petitions, sent, said, pass } = open(t)
  t.equal(petitions.since('title'), undefined)
  petitions.ask('title')
  petitions.ask('title')
  t.equal(petitions.since('title'), Date.now() / 1000)
  t.match(said, [/^asked \d\d:\d\d$/])
  await pass(0)
  await pass(25_000)
  await pass(25_000)
  t.strictSame(sent(), ['ask title', 'ask title', 'ask title'])
  petitions.withdraw('title')
  petitions.withdraw('title')
  await pass(50_000)
  t.strictSame([sent(), petitions.since('title')], [['withdraw title'], undefined])
})

t.test('a petition that is withdrawn before it has arrived is withdrawn again, unless it was made anew', async (t) => {
  const { petitions, service, sent, pass } = open(t)
  const gate = Promise.withResolvers<void>()
  service.waiting = gate.promise
  petitions.ask('title')
  petitions.withdraw('title')
  petitions.ask('body')
  petitions.withdraw('body')
  petitions.ask('body')
  gate.resolve()
  await pass(0)
  t.strictSame(sent(), ['ask title', 'withdraw title', 'ask body', 'withdraw body', 'ask body', 'withdraw title'])
  t.type(petitions.since('body'), 'number')
  petitions.end()
  t.strictSame(sent(), ['withdraw body'], 'all that stands is withdrawn when the page goes')
})

t.test('a petition that is refused is over; what nobody holds any more needs no word', async (t) => {
  const { petitions, service, refused, pass } = open(t)
  service.errors = [new QuoinError(429, 'TOO_MANY_REQUESTS', 'Five ask')]
  petitions.ask('title')
  await pass(0)
  t.strictSame([petitions.since('title'), refused], [undefined, ['title TOO_MANY_REQUESTS']])
  service.errors = [new QuoinError(409, 'FIELD_NOT_LOCKED', 'free')]
  petitions.ask('title')
  await pass(0)
  t.strictSame([petitions.since('title'), refused.length], [undefined, 1])
  service.errors = [new QuoinError(429, 'TOO_MANY_REQUESTS', 'Five ask'), new QuoinError(503, 'STORE_UNAVAILABLE', 'away')]
  petitions.ask('title')
  petitions.withdraw('title')
  await pass(0)
  t.equal(refused.length, 1, 'nor what is not wanted any more')
})

t.test('a petition is over once the field is free or one has it', async (t) => {
  const { petitions, sent, pass } = open(t)
  for (const board of [[], [lockOf('ben')]]) {
    petitions.ask('title')
    await pass(0)
    petitions.board([lockOf('anna')])
    t.type(petitions.since('title'), 'number')
    petitions.board(board)
    await pass(60_000)
    t.strictSame([petitions.since('title'), sent()], [undefined, ['ask title', 'withdraw title']], 'the next holder is not asked')
  }
})

t.test('who asks is told once, shown while it is heard of, and not once put off', async (t) => {
  const { petitions, begun, pass } = open(t)
  const shown = () => petitions.of('title').map(({ userData }) => userData.uid)
  for (const petition of [petitionOf('anna', { entityId: '2' }), petitionOf('anna', { entityType: 'term' }), petitionOf('ben')]) {
    petitions.hear(petition)
  }
  t.strictSame([shown(), begun], [[], []], 'for other entities, or by oneself')
  petitions.hear(petitionOf('anna'))
  petitions.hear(petitionOf('anna', { until: 90 }))
  petitions.hear(petitionOf('cora', { fieldName: 'body' }))
  t.strictSame([shown(), begun], [['anna'], ['anna', 'cora']])
  petitions.putOff(petitions.of('title')[0]!)
  petitions.hear(petitionOf('anna', { until: 120 }))
  t.strictSame(shown(), [], 'sent again it stays put off')
  petitions.hear(petitionOf('anna', { until: 0 }))
  petitions.hear(petitionOf('anna', { until: 200 }))
  t.strictSame([shown(), begun], [['anna'], ['anna', 'cora', 'anna']], 'another one is shown')
  await pass(70_000)
  t.strictSame(shown(), [], 'whose end was not heard')
})

t.test('a withdrawal arrives although the page closes', async (t) => {
  const kept: Array<boolean | undefined> = []
  const send = outlive(async (_, init) => {
    kept.push(init?.keepalive)
    return new Response()
  })
  await send('/api/cloud/data-state/node/1/requests?fieldName=title', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1/presence?uid=ben', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1?fieldName=title', { method: 'DELETE' })
  await send('/api/cloud/data-state/node/1/requests?fieldName=title', { method: 'POST' })
  await send('/api')
  t.strictSame(kept, [true, true, undefined, undefined, undefined])
})
