import t from 'tap'
import { createLocks } from '#lib/locks/locks.ts'
import { asClient, memoryStore } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const at = { type: 'node', id: '1' }
const [ada, bob] = [
  { uid: '7', name: 'Ada' },
  { uid: '8', name: 'Bob' }
]

t.test('no condition has nested parentheses, for which dynalite takes a time exponential in their depth', async (t) => {
  const conditions = new Set<string>()
  const { send } = memoryStore()
  let time = 1_700_000_000_000
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    leaseSeconds: 60,
    time: fakeTime({ now: () => time }),
    client: asClient({
      async send(command) {
        if (command.input['ConditionExpression'] !== undefined) conditions.add(command.input['ConditionExpression'])
        return send(command)
      }
    })
  })
  for (const payload of [{}, { payload: 'text' }]) {
    const of = (userData: object) => ({ fieldName: 'title', userData: userData as typeof ada, ...payload })
    for (const ifMatch of [undefined, '*' as const, ['a', 'b']]) {
      for (const alone of [false, true]) await locks.acquire(at, of(ada), { alone, ifMatch })
      await locks.acquire(at, of(ada))
      await locks.overwrite(at, of(bob), { ifMatch })
      await locks.release(at, { fieldName: 'title', uid: '8' }, { ifMatch })
      await locks.acquire(at, of(ada))
      await locks.release(at, { fieldName: 'title' }, { ifMatch })
      time += 120_000
    }
  }
  t.ok(conditions.size >= 10, `${conditions.size} conditions`)
  for (const expression of conditions) {
    t.notMatch(expression.replace(/(?:attribute_(?:not_)?exists|contains|IN ?)\([^()]*\)/g, ''), /[()]/, expression)
  }
})
