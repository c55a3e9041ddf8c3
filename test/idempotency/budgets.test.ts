import t from 'tap'
import { createBudgets } from '#lib/saves/budgets.ts'
import { asClient, memoryStore, type Send } from '../locks/fixtures/memory-store.ts'
import { systemTime } from '#lib/time.ts'

const AGENT = 'agent:planner:7'
const RECORD = JSON.stringify([`test#writes-${AGENT}`, 'writes'])
/** Twenty seconds into a minute, ten minutes before midnight (UTC). */
const START = Date.UTC(2026, 10, 27, 23, 50, 20)

/** Budgets of an instance whose clock is as `clock` says, in milliseconds. */
function budgets(store: Send, clock: { now: number }, limits: { perMinute?: number; perDay?: number } = {}) {
  const time = { ...systemTime, now: () => clock.now, wait: async () => {} }
  return createBudgets({ client: asClient(store), table: 'DataState', environment: 'test', time, perMinute: 3, perDay: 5, ...limits })
}

t.test('an agent has so many writes a minute and a day, and is told when there are more', async (t) => {
  const clock = { now: START }
  const { spend } = budgets(memoryStore(), clock)
  for (let count = 0; count < 3; count++) await spend(AGENT)
  await t.rejects(spend(AGENT), {
    code: 'TOO_MANY_REQUESTS',
    message: 'An agent has 3 writes a minute, and this one has used them. Nothing was done: try again in 40 s',
    headers: { 'retry-after': '40' }
  })
  await spend('agent:scribe:7')
  clock.now += 40_000
  await spend(AGENT)
  await spend(AGENT)
  await t.rejects(spend(AGENT), { code: 'TOO_MANY_REQUESTS', message: /5 writes a day/, headers: { 'retry-after': '540' } })
  clock.now += 540_000
  await spend(AGENT)
})

t.test('instances count together, also where they count at once', async (t) => {
  const store = memoryStore()
  const clock = { now: START }
  const instances = [budgets(store, clock), budgets(store, clock)]
  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => instances[index % 2]!.spend(AGENT)))
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
  for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'TOO_MANY_REQUESTS' })
})

t.test('an instance whose clock is ahead begins the next minute for all, a wrong clock does not', async (t) => {
  const store = memoryStore()
  const clock = { now: Date.UTC(2026, 10, 27, 12, 0, 59) }
  const [here, ahead, wrong] = [0, 2000, 86_400_000].map((ms) =>
    budgets(
      store,
      {
        get now() {
          return clock.now + ms
        }
      },
      { perDay: 1000 }
    )
  )
  for (let count = 0; count < 3; count++) await ahead!.spend(AGENT)
  await t.rejects(here!.spend(AGENT), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '61' } })
  store.items.clear()
  clock.now += 1_000_000
  for (let count = 0; count < 3; count++) await wrong!.spend(AGENT)
  await here!.spend(AGENT)
})

t.test('a record of another form counts nothing, and is replaced', async (t) => {
  const store = memoryStore()
  store.items.set(RECORD, { env_entityType_entityId: `test#writes-${AGENT}`, fieldName: 'writes', version: 'x', ofDay: 'many' })
  await budgets(store, { now: START }).spend(AGENT)
  t.match(store.items.get(RECORD), { ofMinute: 1, ofDay: 1, leaseUntil: 0, removeAt: START / 1000 + 2 * 86_400 })
})

t.test('what cannot be counted is not done', async (t) => {
  const store = memoryStore()
  const contested: Send = {
    async send(command) {
      if (command.constructor.name !== 'GetCommand') {
        store.items.set(RECORD, { ...command.input['Item'], version: String(Math.random()), ofMinute: 0, ofDay: 0 })
      }
      return store.send(command)
    }
  }
  await t.rejects(budgets(contested, { now: START }).spend(AGENT), { code: 'STORE_UNAVAILABLE', message: /counted at once/ })
  const away: Send = {
    async send() {
      throw new Error('away')
    }
  }
  await t.rejects(budgets(away, { now: START }).spend(AGENT), { code: 'STORE_FAILED' })
})
