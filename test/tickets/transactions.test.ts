import { PutCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { contentModel } from '#lib/editions/model.ts'
import { createGuardedTurns } from '#lib/boards/guard.ts'
import { createStore } from '#lib/table/client.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { createTickets, type TicketsDeps } from '#lib/saves/tickets.ts'
import { engineNames, needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { say, startFakeEngine, works, type Script } from '../locks/fixtures/fake-engine.ts'
import { fakeTime } from '../fixtures/time.ts'

const UUID = '855d568c-a40d-43fb-a97a-426045895e11'
const entity = { type: 'publisher_container', id: '1' }

function ticketsOf(client: TicketsDeps['client'], deps: Partial<TicketsDeps> = {}) {
  return createTickets({
    client,
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ now: Date.now, ready: () => undefined, wait: async () => {} }),
    required: true,
    warn() {},
    ...deps
  })
}

/** An engine that says what a script says to transactions, and takes everything else. */
async function scripted(t: Test, script: Script) {
  const engine = await startFakeEngine(t)
  engine.script = (operation, ...rest) => (operation === 'TransactWriteItems' ? script : works)(operation, ...rest)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint })
  t.teardown(destroy)
  return { engine, client }
}

const cancelled =
  (...codes: string[]): Script =>
  (_operation, _input, response) =>
    say(response, 400, {
      __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
      Message: 'Transaction cancelled',
      ...(codes.length > 0 && { CancellationReasons: codes.map((Code) => ({ Code })) })
    })

t.test('a ticket is taken anew only as long as no other holds one of the fields', needsDynoxide, async (t) => {
  const { client } = await startEngine(t, engineNames[0]!)
  const locks = createLocks({ client, table: 'DataState', environment: 'test', leaseSeconds: 60, foreignSeconds: 100 })
  const heard: Array<Error | undefined> = []
  const ticket = await ticketsOf(client, { onTransactions: (refusal) => heard.push(refusal) }).take(UUID, Date.now())
  const seconds = Math.floor(Date.now() / 1000)
  for (const [fieldName, item] of Object.entries({
    expired: { userData: { uid: '8' }, expiresAt: seconds - 1 },
    tombstone: { expiresAt: 0, version: 'x', fencedUntil: seconds + 100 },
    foreign: { timestamp: seconds - 200 },
    nameless: { timestamp: seconds - 10 },
    other: { userData: { uid: '8', name: 'Ben' }, timestamp: 5, expiresAt: seconds + 100, payload: 'text' }
  })) {
    await client.send(
      new PutCommand({ TableName: 'DataState', Item: { env_entityType_entityId: 'test-publisher_container-1', fieldName, ...item } })
    )
  }
  await locks.acquire(entity, { fieldName: 'own', userData: { uid: '7' }, payload: 'text' })

  t.strictSame(await ticket.renewIf(locks.checks(entity, ['absent', 'expired', 'foreign', 'own', 'tombstone'], { uid: '7' })), [])
  t.match(await ticket.renewIf(locks.checks(entity, ['absent', 'nameless', 'other', 'own'], { uid: '7' })), [
    { fieldName: 'nameless', timestamp: seconds - 10 },
    { fieldName: 'other', userData: { uid: '8', name: 'Ben' }, timestamp: 5 }
  ])
  t.match(
    await ticket.renewIf(locks.checks(entity, ['own'], { uid: undefined })),
    [{ fieldName: 'own', userData: { uid: '7' } }],
    "to nobody in particular every lock is another's"
  )
  ticket.confirm()
  t.strictSame(heard, [undefined], 'the store has transactions, which is told once')

  const stolen = { env_entityType_entityId: `test#save-${UUID}`, fieldName: 'save', version: 'zzz', leaseUntil: Date.now() + 60_000 }
  await client.send(new PutCommand({ TableName: 'DataState', Item: stolen }))
  await t.rejects(ticket.renewIf(locks.checks(entity, ['absent'], { uid: '7' })), {
    code: 'EDITION_BUSY',
    message: /^This instance was halted/
  })
  t.throws(() => ticket.confirm(), { code: 'EDITION_BUSY' })
  await ticket.end(true)
})

t.test('a store without transactions is asked for one once, and so is one whose credentials may not', async (t) => {
  for (const name of ['UnknownOperationException', 'AccessDeniedException']) {
    const { engine, client } = await scripted(t, (_operation, _input, response) =>
      say(response, 400, { __type: `com.amazon.coral.service#${name}` })
    )
    const heard: Array<string | undefined> = []
    const tickets = ticketsOf(client, { onTransactions: (refusal) => heard.push(refusal?.name) })
    const ticket = await tickets.take(UUID, Date.now())
    t.equal(await ticket.renewIf([]), undefined)
    t.equal(await (await tickets.take(UUID, Date.now())).renewIf([]), undefined)
    t.strictSame(heard, [name])
    t.equal(engine.operations.filter((operation) => operation === 'TransactWriteItems').length, 1)
    await ticket.end(true)
  }
  const { engine, client } = await scripted(t, works)
  const heard: Array<string | undefined> = []
  const tickets = ticketsOf(client, { onTransactions: (refusal) => heard.push(refusal?.name) })
  const ticket = await tickets.take(UUID, Date.now())
  t.strictSame(await ticket.renewIf([]), [])
  engine.script = (_operation, _input, response) => say(response, 400, { __type: 'com.amazon.coral.service#AccessDeniedException' })
  t.equal(await ticket.renewIf([]), undefined)
  t.strictSame(heard, [undefined, 'AccessDeniedException'], 'a permission that is withdrawn is told too')
})

t.test('a transaction that meets another write is tried again, and then the save is 503 with nothing sent', async (t) => {
  let left = 2
  const { engine, client } = await scripted(t, (...request) =>
    (left-- > 0 ? (left === 0 ? cancelled() : cancelled('None', 'TransactionConflict')) : works)(...request)
  )
  const ticket = await ticketsOf(client).take(UUID, Date.now())
  t.strictSame(await ticket.renewIf([]), [])
  left = Infinity
  await t.rejects(ticket.renewIf([]), { code: 'STORE_UNAVAILABLE', statusCode: 503, headers: { 'retry-after': '1' } })
  t.equal(engine.operations.filter((operation) => operation === 'TransactWriteItems').length, 3 + 6)
})

t.test('a lock whose record does not come with the refusal is named by its field', async (t) => {
  const { client } = await scripted(t, cancelled('None', 'ConditionalCheckFailed', 'None'))
  const locks = createLocks({ client, table: 'DataState', environment: 'test' })
  const turns = createGuardedTurns({ tickets: ticketsOf(client), locks, model: contentModel({}), isForAll: true })
  const turn = await turns.take(UUID, turns.now())
  await t.rejects(turn.permit!({ edition: { id: [{ value: 1 }] }, fields: ['title', 'status'], uid: '7' }), {
    code: 'FIELD_LOCKED',
    message: 'Nothing was saved: status is locked by somebody'
  })
})

t.test('a lock is written although a transaction with it is under way', async (t) => {
  const engine = await startFakeEngine(t)
  let left = 1
  engine.script = (operation, input, response) =>
    left-- > 0
      ? say(response, 400, {
          __type: 'com.amazonaws.dynamodb.v20120810#TransactionConflictException',
          message: 'Transaction is ongoing for the item'
        })
      : works(operation, input, response)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint })
  t.teardown(destroy)
  const locks = createLocks({ client, table: 'DataState', environment: 'test' })
  t.match(await locks.acquire(entity, { fieldName: 'title', userData: { uid: '7' } }), { outcome: 'acquired' })
  t.strictSame(engine.operations, ['PutItem', 'PutItem'])
  left = Infinity
  await t.rejects(locks.acquire(entity, { fieldName: 'title', userData: { uid: '7' } }), { code: 'STORE_UNAVAILABLE' })
})

t.test('what one transaction cannot check is looked at', async (t) => {
  const { engine, client } = await scripted(t, works)
  const locks = createLocks({ client, table: 'DataState', environment: 'test' })
  const turns = createGuardedTurns({ tickets: ticketsOf(client), locks, model: contentModel({}), isForAll: true })
  const turn = await turns.take(UUID, turns.now())
  const fields = Array.from({ length: 100 }, (_, index) => `field_${index}`)
  await turn.permit!({ edition: { id: [{ value: 1 }] }, fields: fields.slice(1), uid: '7' })
  await turn.permit!({ edition: { id: [{ value: 1 }] }, fields, uid: '7' })
  t.strictSame(engine.operations, ['PutItem', 'TransactWriteItems', 'Query'])
  await turn.end(true)
})
