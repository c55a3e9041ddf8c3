import { setTimeout as sleep } from 'node:timers/promises'
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import t, { type Test } from 'tap'
import { createStore } from '#lib/table/client.ts'
import { createTickets, type TicketsDeps } from '#lib/saves/tickets.ts'
import { engineNames, needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { fails, say, startFakeEngine, works } from '../locks/fixtures/fake-engine.ts'
import { asClient, memoryStore, type Command, type Send } from '../locks/fixtures/memory-store.ts'
import { type Faked, fakeTime, steppedTime } from '../fixtures/time.ts'
import { systemTime } from '#lib/time.ts'

const UUID = '855d568c-a40d-43fb-a97a-426045895e11'
const START = Date.UTC(2026, 10, 23)

/** A table, a clock that waiting moves, and instances that share both. */
function newsroom({ store = memoryStore() as Send } = {}) {
  const clock = { now: START }
  const commands: Command[] = []
  const counted: Send = {
    send: (command) => {
      commands.push(command)
      return store.send(command)
    }
  }
  const warnings: Error[] = []
  const instance = ({ time, ...deps }: Faked<TicketsDeps> = {}) =>
    createTickets({
      client: asClient(counted),
      table: 'DataState',
      environment: 'test',
      time: steppedTime(clock, time),
      warn: (failure) => warnings.push(failure),
      ...deps
    })
  return { clock, commands, warnings, instance }
}

/** A table in which each ticket that is asked for is another one's by then. */
function alwaysRefusing(item: Record<string, unknown>): Send {
  return {
    async send() {
      throw Object.assign(new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {} }), {
        Item: marshall({ env_entityType_entityId: `test#save-${UUID}`, fieldName: 'save', ...item })
      })
    }
  }
}

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort(new Error('gone')) }
}

for (const name of engineNames) {
  t.test(`of many instances one at a time has the turn, on ${name}`, name === 'dynoxide' ? needsDynoxide : {}, async (t) => {
    const { client } = await startEngine(t, name)
    const tickets = () =>
      createTickets({
        client,
        table: 'DataState',
        environment: 'test',
        time: systemTime,
        warn: (failure) => t.fail(failure.message)
      })
    let holders = 0
    const turns = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const turn = await tickets().take(UUID, Date.now())
        t.equal(++holders, 1)
        await sleep(5)
        turn.confirm()
        holders--
        await turn.end(true)
        return turn
      })
    )
    t.equal(turns.filter(({ isOutdated }) => !isOutdated).length, 1, 'all but the first have to look again')
    t.ok(turns.every(({ isShared }) => isShared))
  })
}

t.test('a save that meets no other costs two writes, and no look at the edition', async (t) => {
  const { clock, commands, instance } = newsroom()
  const [anna, ben] = [instance(), instance()]
  const first = await anna.take(UUID, anna.now())
  await first.end(true)
  t.equal(first.isOutdated, false)
  t.strictSame(
    commands.splice(0).map(({ constructor: { name } }) => name),
    ['PutCommand', 'PutCommand']
  )

  t.equal((await ben.take(UUID, clock.now - 1)).isOutdated, true, 'looked at before the other save ended')
  clock.now += 60_000
  const late = await anna.take(UUID, clock.now)
  t.equal(late.isOutdated, true, 'after one that never ended')
  await late.end(true)
  clock.now += 1999
  const soon = await ben.take(UUID, clock.now)
  t.equal(soon.isOutdated, true, 'clocks may differ by two seconds')
  await soon.end(true)
  clock.now += 2001
  t.equal((await anna.take(UUID, clock.now)).isOutdated, false)
  t.equal((await anna.take(UUID.replace('8', '9'), clock.now)).isOutdated, false, 'another edition has turns of its own')
})

t.test('who waits has to look again, and is refused after ten seconds', async (t) => {
  const { clock, instance } = newsroom()
  const [anna, ben] = [instance(), instance()]
  const turn = await anna.take(UUID, clock.now)
  // A renewal, as the timer of a real clock makes one.
  const renewing = instance({
    time: {
      wait: async (ms) => {
        clock.now += ms
        if (clock.now > START + 3000) await turn.end(true)
      }
    }
  })
  t.equal((await renewing.take(UUID, clock.now)).isOutdated, true)
  const startedAt = clock.now
  await t.rejects(ben.take(UUID, clock.now), {
    code: 'EDITION_BUSY',
    statusCode: 503,
    headers: { 'retry-after': '5' },
    message: 'Saves through another instance have taken more than 10000 ms. Nothing of yours was sent: try again later.'
  })
  t.ok(clock.now - startedAt > 9000 && clock.now - startedAt <= 10_000, `${clock.now - startedAt} ms`)
  const gone = new Error('gone')
  await t.rejects(ben.take(UUID, clock.now, { aborted: true, reason: gone } as AbortSignal), gone, 'who hangs up waits no longer')
})

t.test('a crashed instance keeps the others away for the lease, and one that was halted notices', async (t) => {
  const { clock, instance } = newsroom()
  const [crashed, other] = [instance(), instance()]
  const turn = await crashed.take(UUID, clock.now)
  turn.confirm()
  clock.now += 14_999
  turn.confirm()
  clock.now += 1
  t.throws(() => turn.confirm(), { code: 'EDITION_BUSY', message: /^This instance was halted/ })
  const next = await other.take(UUID, clock.now)
  t.equal(next.isOutdated, true)
  await turn.end(true)
  next.confirm()
  await t.rejects(crashed.take(UUID, clock.now), { code: 'EDITION_BUSY' }, "it gives back nothing that is another's")
})

t.test('a turn is renewed while the save runs, and lost where another has it', async (t) => {
  const { commands, instance } = newsroom()
  const turn = await instance({ leaseMs: 600, time: { monotonic: () => performance.now() } }).take(UUID, START)
  while (commands.length < 3) await sleep(5)
  turn.confirm()
  await turn.end(true)
  const { length } = commands
  await sleep(300)
  t.equal(commands.length, length, 'and not after it')

  const { items, send } = memoryStore()
  let isAway = false
  const store = newsroom({ store: { send: async (command) => (isAway ? Promise.reject(new Error('away')) : send(command)) } })
  const lost = await store.instance({ leaseMs: 30 }).take(UUID, START)
  isAway = true
  await sleep(25)
  lost.confirm()
  isAway = false
  for (const [key, item] of items) items.set(key, { ...item, version: 'zzz' })
  for (let count = store.commands.length; store.commands.length < count + 2;) await sleep(5)
  t.throws(() => lost.confirm(), { code: 'EDITION_BUSY' })
  await lost.end(true)
})

t.test('a save that timed out keeps its turn for eight seconds more, since Drupal may still be at it', async (t) => {
  const { clock, instance } = newsroom()
  const [anna, ben] = [instance(), instance()]
  await (await anna.take(UUID, clock.now)).end(false)
  const before = clock.now
  const turn = await ben.take(UUID, clock.now)
  t.ok(clock.now - before >= 8000 && clock.now - before < 8500, `${clock.now - before} ms`)
  t.equal(turn.isOutdated, true)
})

t.test('the clock is measured before anything is written, and a record goes by time to live', async (t) => {
  const { clock, commands, instance } = newsroom()
  const measured = Promise.withResolvers<void>()
  const taking = instance({ time: { ready: () => measured.promise } }).take(UUID, clock.now)
  await sleep(10)
  t.equal(commands.length, 0)
  measured.resolve()
  await (await taking).end(true)
  for (const { input } of commands) t.equal(input['Item']['removeAt'], START / 1000 + 3600)
})

t.test('an attempt that reaches the table late takes no ticket', async (t) => {
  const memory = memoryStore()
  const { clock, commands, instance } = newsroom({ store: memory })
  await (await instance().take(UUID, clock.now)).end(true)
  await t.rejects(memory.send(commands[0]!), { name: 'ConditionalCheckFailedException' })
  // Of an instance whose clock is behind that of the last holder.
  const { length } = commands
  const turn = await instance({ time: { now: () => clock.now - 500 } }).take(UUID, clock.now)
  t.equal(clock.now, START, 'though who is behind need not wait')
  t.equal(commands.length - length, 2, 'one try more, with a greater version')
  await turn.end(true)
})

t.test('a free ticket of a clock that is far ahead costs one write more, and no more than that', async (t) => {
  const { clock, commands, instance } = newsroom()
  for (const hours of [1, 2, 24 * 365]) {
    await (await instance({ time: { now: () => clock.now + hours * 3_600_000 + 1000 } }).take(UUID, clock.now)).end(true)
    commands.length = 0
    const turn = await instance().take(UUID, clock.now)
    t.equal(clock.now, START, 'nobody waits')
    t.equal(commands.length, 2)
    t.equal(turn.isOutdated, true, 'nothing tells when it was given back')
    await turn.end(true)
  }
})

t.test('saves wait for a free ticket that is always replaced, with pauses and for ten seconds', async (t) => {
  const { clock, commands, instance } = newsroom({ store: alwaysRefusing({ version: 'zzzzzzzzzzzz', leaseUntil: 0 }) })
  await t.rejects(instance({ required: true }).take(UUID, clock.now), { code: 'EDITION_BUSY' })
  t.ok(commands.length < 60, `${commands.length} writes`)
  const { signal, abort } = abortable()
  commands.length = 0
  const leaving = instance({
    required: true,
    time: {
      wait: () => {
        abort()
        return new Promise(() => {})
      }
    }
  }).take(UUID, clock.now, signal)
  await t.rejects(leaving, { message: 'gone' }, 'who hangs up does not wait for the end of a pause')
  t.equal(commands.length, 2)
})

for (const name of ['memory', ...engineNames] as const) {
  t.test(`what is no ticket is in nobody's way, in ${name}`, name === 'dynoxide' ? needsDynoxide : {}, async (t) => {
    const store = name === 'memory' ? memoryStore() : ((await startEngine(t, name)).client as unknown as Send)
    const key = { env_entityType_entityId: `test#save-${UUID}`, fieldName: 'save' }
    const strange = [
      {},
      { version: 'v' },
      { version: '~~~~' },
      { version: 5, leaseUntil: START + 5000 },
      { leaseUntil: START + 5000 },
      { version: 'v', leaseUntil: 'soon' },
      { version: null, leaseUntil: null },
      { version: ['v'], leaseUntil: { at: 1 } },
      { version: 'v', endedAt: 'long ago', revision: 'the newest' }
    ]
    for (const members of strange) {
      const { clock, commands, instance } = newsroom({ store })
      await store.send(new PutCommand({ TableName: 'DataState', Item: { ...key, ...members } }) as unknown as Command)
      const [anna, ben] = [instance({ required: true }), instance({ required: true })]
      const turn = await anna.take(UUID, clock.now)
      t.strictSame([clock.now, commands.length], [START, 1], JSON.stringify(members))
      t.equal(turn.isOutdated, true, 'nothing tells that no save has ended meanwhile')
      await t.rejects(ben.take(UUID, clock.now), { code: 'EDITION_BUSY' }, 'then it is a ticket')
      await turn.end(true)
      t.equal(await ben.isHeld(UUID), false)
    }
  })
}

t.test('a lease that ends later than any can is over when nobody has renewed it for as long as one holds', async (t) => {
  const { clock, instance } = newsroom()
  const ahead = instance({ time: { now: () => clock.now + 7_200_000 }, leaseMs: 15_000 })
  const [ben, carla] = [instance(), instance()]
  await ahead.take(UUID, clock.now)
  await t.rejects(ben.take(UUID, clock.now), { code: 'EDITION_BUSY' })
  t.equal(await ben.isHeld(UUID), true)
  await t.rejects(carla.take(UUID, clock.now), { code: 'EDITION_BUSY' }, 'each sees for itself')
  const turn = await ben.take(UUID, clock.now)
  t.ok(clock.now - START >= 15_000 && clock.now - START < 25_000, `${clock.now - START} ms`)
  t.equal(turn.isOutdated, true)
})

t.test('a ticket whose put was carried out without an answer is one all the same', async (t) => {
  const engine = await startFakeEngine(t)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint })
  t.teardown(destroy)
  const { clock, warnings, instance } = newsroom({ store: client as unknown as Send })
  let carriedOut: object | undefined
  engine.script = (_operation, input, response) => {
    if (carriedOut) {
      return say(response, 400, {
        __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
        message: 'The conditional request failed',
        Item: carriedOut
      })
    }
    carriedOut = input['Item']
    response.destroy()
  }
  const turn = await instance().take(UUID, clock.now)
  t.strictSame([turn.isShared, turn.isOutdated, warnings.length], [true, true, 0])
  t.strictSame(engine.operations, ['PutItem', 'PutItem'])
  let isLost = true
  engine.script = (_operation, input, response) => {
    if (isLost) response.destroy()
    else say(response, 200, {})
    carriedOut = input['Item']
    isLost = false
  }
  await turn.end(true)
  t.match(carriedOut, { leaseUntil: { N: '0' } }, 'and it is given back until there is an answer')
  t.equal(engine.operations.length, 4)
})

t.test('a ticket that is cleaned up while it is asked about is asked for again', async (t) => {
  const memory = memoryStore({ tells: false })
  const { clock, commands, instance } = newsroom({ store: memory })
  const other = createTickets({
    client: asClient({
      send: async (command) => {
        if (command.constructor.name === 'GetCommand') memory.items.clear()
        return memory.send(command)
      }
    }),
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ now: () => clock.now, ready: () => undefined, wait: async () => {} }),
    warn() {}
  })
  await instance().take(UUID, clock.now)
  t.equal((await other.take(UUID, clock.now)).isOutdated, true)
  t.equal(commands.length, 1)
})

t.test('while the store is away saves take turns within their instance, and ask again after five seconds', async (t) => {
  const engine = await startFakeEngine(t)
  engine.script = fails('InternalServerError', 500)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint, attempts: 1 })
  t.teardown(destroy)
  const { clock, warnings, instance } = newsroom({ store: client as unknown as Send })
  const tickets = instance()
  const turn = await tickets.take(UUID, clock.now)
  turn.confirm()
  t.equal(await turn.renewIf([]), undefined)
  await turn.end(true)
  t.strictSame([turn.isShared, turn.isOutdated, warnings.length, engine.operations.splice(0).length], [false, false, 1, 3])
  t.equal((await tickets.take(UUID, clock.now)).isShared, false)
  t.equal(engine.operations.length, 0, 'it is left alone')
  clock.now += 5001
  engine.script = works
  t.equal((await tickets.take(UUID, clock.now)).isShared, true)
  engine.script = fails('InternalServerError', 500)
  await t.rejects(
    instance({ required: true }).take(UUID, clock.now),
    { code: 'STORE_FAILED', statusCode: 500 },
    'with EDITION_LOCKS=enforce nothing is saved without'
  )
})

t.test('a ticket that comes when nobody waits for it any more is given back', async (t: Test) => {
  const engine = await startFakeEngine(t)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint, attemptMs: 5000 })
  t.teardown(destroy)
  const given = Promise.withResolvers<Record<string, any>>()
  engine.script = (_operation, input, response) => {
    if (input['Item'].leaseUntil.N === '0') given.resolve(input)
    if (engine.operations.length > 1) return say(response, 200, {})
    setTimeout(() => say(response, 200, {}), 1100)
  }
  const { clock, warnings, instance } = newsroom({ store: client as unknown as Send })
  t.equal((await instance().take(UUID, clock.now)).isShared, false)
  t.match(warnings, [{ message: 'the store has not answered within 1000 ms' }])
  t.ok((await given.promise)['Item'].endedAt)

  const read = Promise.withResolvers<void>()
  const slow = newsroom({
    store: {
      async send({ constructor: { name } }) {
        if (name === 'GetCommand') return [setImmediate(read.resolve), {}][1] as object
        await sleep(1100)
        throw new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {} })
      }
    }
  })
  t.equal((await slow.instance().take(UUID, clock.now)).isShared, false)
  await read.promise
  t.strictSame(
    slow.commands.map(({ constructor: { name } }) => name),
    ['PutCommand', 'GetCommand'],
    'one that another has is not'
  )
})
