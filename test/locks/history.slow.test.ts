import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import { engineNames, startEngine } from './fixtures/engines.ts'
import { memoryStore, type Command, type Send } from './fixtures/memory-store.ts'
import { at, faulty, fieldName, history, LEASE, LOCK, right, tooFast } from './fixtures/history.ts'
import { fitsOneHolder, sharedVersions, type Call } from './fixtures/one-holder.ts'

t.test('150 histories of 8 clients, with pauses longer than the lease and killed instances, fit one holder', async (t) => {
  const outcomes: Record<string, number> = {}
  for (let seed = 1; seed <= 150; seed++) {
    const store = memoryStore({ tells: seed % 2 === 0 })
    const calls = await history(store, seed, seed % 3 === 0 ? {} : { isThere: () => store.items.has(LOCK) })
    if (!right(calls)) t.fail(`seed ${seed}: ${JSON.stringify(calls)}`)
    for (const { verb, outcome, ifMatch } of calls) {
      const what = `${verb}${ifMatch === undefined ? '' : ' fenced'}: ${outcome ?? 'lost'}`
      outcomes[what] = (outcomes[what] ?? 0) + 1
    }
  }
  t.comment(JSON.stringify(outcomes))
  for (const what of [
    'acquire: acquired',
    'acquire: held',
    'acquire: changed',
    'acquire: lost',
    'overwrite: acquired',
    'overwrite fenced: acquired',
    'overwrite fenced: changed',
    'release: released',
    'release fenced: changed',
    'read: read'
  ]) {
    t.ok(outcomes[what]! > 10, what)
  }
})

/** How many histories with faults are tried, from the seed FIRST on. FAULTS, as JSON, replaces members of Faults. */
const HISTORIES = Number(process.env['HISTORIES'] ?? 40)
const FIRST = Number(process.env['FIRST'] ?? 1)
const FAULTS = JSON.parse(process.env['FAULTS'] ?? '{}') as object

t.test('histories with late and lost attempts fit one holder', async (t) => {
  const outcomes: Record<string, number> = {}
  for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) {
    const calls = await faulty(seed, FAULTS)
    if (!right(calls)) t.fail(`seed ${seed}: ${JSON.stringify(calls)}`)
    for (const { verb, outcome = 'lost' } of calls) outcomes[`${verb}: ${outcome}`] = (outcomes[`${verb}: ${outcome}`] ?? 0) + 1
  }
  t.comment(`${HISTORIES} histories: ${JSON.stringify(outcomes)}`)
  for (const what of ['acquire: acquired', 'acquire: held', 'overwrite: acquired', 'overwrite: lost', 'release: released']) {
    t.ok(outcomes[what]! > 10, what)
  }
})

/** How many histories a twin may need until it shows what it lacks: one in thirty does. */
const TWIN_SEEDS = 300

t.test('the checker catches late attempts at a store to which writes are sent again, and without tombstones', async (t) => {
  const withoutTombstones = (command: Command): Command =>
    command.input['Item']?.expiresAt === 0
      ? {
          constructor: { name: 'DeleteCommand' },
          input: {
            ...command.input,
            Key: { env_entityType_entityId: command.input['Item'].env_entityType_entityId, fieldName },
            Item: undefined
          }
        }
      : command
  const twins: Record<string, (seed: number) => Promise<Call[]>> = {
    'with writes that are sent again': (seed) => faulty(seed, { insists: true }),
    'without tombstones': (seed) => faulty(seed, {}, withoutTombstones)
  }
  for (const [what, twin] of Object.entries(twins)) {
    let seed = 1
    while (seed < TWIN_SEEDS && right(await twin(seed))) seed++
    t.comment(`${what}: caught at seed ${seed}`)
    t.ok(seed < TWIN_SEEDS, what)
  }
})

t.test('the checker catches a lock without its condition, and one without the check of its version', async (t) => {
  const replaced =
    (pattern: RegExp, by: string | undefined) =>
    ({ constructor, input }: Command): Command => ({
      constructor,
      input: { ...input, ConditionExpression: by === undefined ? undefined : input['ConditionExpression']?.replace(pattern, by) }
    })
  const twins = {
    'without any condition': replaced(/.*/, undefined),
    'without the check that there is no later one': replaced(/NOT #version > :latest/g, 'attribute_exists(#version)'),
    'without the check of the version': replaced(/#version (?:= :version|IN \([^)]*\))/g, 'attribute_exists(#version)'),
    'without the check of the owner': replaced(/#userData\.#uid = :uid/g, 'attribute_exists(#userData)'),
    'without the check of the expiry': replaced(/#expiresAt <= :now/g, 'attribute_exists(#expiresAt)')
  }
  for (const [what, change] of Object.entries(twins)) {
    let caught = 0
    for (let seed = 1; seed <= 30; seed++) {
      const store = memoryStore()
      if (!right(await history(store, seed, { change, isThere: () => store.items.has(LOCK) }))) caught++
    }
    t.comment(`${what}: ${caught} of 30`)
    t.ok(caught > 0, what)
  }
})

t.test('the checker knows what one lock may say', async (t) => {
  const call = (members: Partial<Call>, called: number, returned = called + 1): Call => ({
    verb: 'acquire',
    outcome: 'acquired',
    called,
    returned,
    from: 0,
    to: 0,
    expiresAt: LEASE,
    ...members
  })
  const of = (uid: string, members: Partial<Call> = {}) => ({ uid, text: uid, ...members })
  const taken = call(of('a'), 0)
  t.ok(fitsOneHolder([taken, call(of('a', { text: 'a2' }), 2), call({ verb: 'read', outcome: 'read', text: 'a2' }, 4)]))
  t.notOk(fitsOneHolder([taken, call(of('b'), 2)]), 'two holders')
  t.ok(fitsOneHolder([taken, call(of('b', { to: LEASE }), 2)]), 'once the lease is over')
  t.notOk(fitsOneHolder([taken, call(of('b', { outcome: 'held', holder: 'a', from: LEASE }), 2)]), 'no longer held')
  t.ok(
    fitsOneHolder([
      { ...taken, returned: 5 },
      call({ verb: 'read', outcome: 'read', text: undefined }, 1),
      call({ verb: 'read', outcome: 'read', text: 'a' }, 3)
    ]),
    'in between'
  )
  t.notOk(
    fitsOneHolder([
      { ...taken, returned: 5 },
      call({ verb: 'read', outcome: 'read', text: 'a' }, 1),
      call({ verb: 'read', outcome: 'read', text: undefined }, 3)
    ]),
    'and back'
  )
  const { outcome, ...lost } = taken
  for (const text of ['a', undefined]) {
    t.ok(fitsOneHolder([lost, call({ verb: 'read', outcome: 'read', text }, 2)]), 'what was lost may have happened or not')
  }
  t.notOk(fitsOneHolder([taken, call(of('b', { verb: 'overwrite', ifMatch: 'x' }), 2)]), 'another version')
  t.notOk(fitsOneHolder([taken, call({ verb: 'release', outcome: 'released', uid: 'b' }, 2), call(of('b'), 4)]), "another's release")
  t.strictSame(sharedVersions([call(of('a', { ifMatch: 'x' }), 0), call(of('b', { verb: 'overwrite', ifMatch: 'x' }), 2)]), ['x'])
})

for (const engine of engineNames) {
  t.test(`over ${engine}`, async (t) => {
    const { client } = await startEngine(t, engine)
    const store = client as unknown as Send

    t.test('histories fit one holder', async (t) => {
      for (let seed = 1; seed <= 3; seed++) t.ok(right(await history(store, seed, { environment: `history-${seed}` })), `seed ${seed}`)
    })

    t.test('50 workers that add to a number under the lock, ten times each, make 500', async (t) => {
      t.equal(await sum(createLocks({ client, table: 'DataState', environment: 'stress' }), 50, 10, true), 500)
    })

    t.test('without the lock they do not', async (t) => {
      t.not(await sum(createLocks({ client, table: 'DataState', environment: 'unlocked' }), 20, 3, false), 60)
    })
  })
}

/** What a number is in the end that workers read, add one to and write back, each so many rounds: kept in the payload of a field. */
async function sum(locks: Locks, workers: number, rounds: number, locked: boolean): Promise<number> {
  const counter = { fieldName: 'counter', userData: { uid: 'counter' } }
  const read = async () => Number((await locks.list(at, { fieldName: 'counter' })).Items[0]?.payload ?? 0)
  const waiting: Array<() => void> = []
  const mayGoOn = async (uid: string) =>
    !locked || (await locks.acquire(at, { fieldName: 'mutex', userData: { uid } }).catch(tooFast)).outcome === 'acquired'
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      const uid = String(worker)
      for (let round = 0; round < rounds; round++) {
        while (!(await mayGoOn(uid))) {
          await Promise.race([new Promise<void>((resolve) => waiting.push(resolve)), setTimeout(2000 + Math.random() * 1000)])
        }
        await locks.overwrite(at, { ...counter, payload: String((await read()) + 1) })
        if (locked) await locks.release(at, { fieldName: 'mutex', uid })
        // Some race for it, not all: a slow engine would be kept busy with refusals.
        for (const wake of waiting.splice(0, 3)) wake()
      }
    })
  )
  return read()
}
