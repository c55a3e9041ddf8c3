import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createTurns } from '../../lib/editions/turns.ts'

t.test('work on one thing is done by one at a time, in the order of asking, after failures too', async (t) => {
  const turns = createTurns()
  const log: string[] = []
  const work = (name: string, fails = false) => async (waited: boolean) => {
    log.push(`${name} begins${waited ? ' after others' : ''}`)
    await wait(5)
    log.push(`${name} ends`)
    if (fails) throw new Error(name)
    return name
  }
  const all = await Promise.allSettled([turns.take('1', work('a')), turns.take('1', work('b', true)), turns.take('1', work('c'))])
  t.strictSame(all.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
  t.strictSame(log, ['a begins', 'a ends', 'b begins after others', 'b ends', 'c begins after others', 'c ends'])
  t.equal(await turns.take('1', work('d')), 'd')
  t.equal(log.at(-2), 'd begins', 'nobody is waited for who is done')
})

t.test('work on different things does not wait', async (t) => {
  const turns = createTurns()
  const begun: boolean[] = []
  let finish = () => {}
  const first = turns.take('1', () => new Promise<void>((resolve) => { finish = resolve }))
  await turns.take('2', async (waited) => { begun.push(waited) })
  t.strictSame(begun, [false])
  finish()
  await first
})
