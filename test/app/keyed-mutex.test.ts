import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createSaveQueue } from '#lib/editions/save/save-queue.ts'
import { Failure } from '#lib/errors.ts'
import { CALLER_GONE } from '#lib/http/calls.ts'
import { createKeyedMutex, type Later } from '#lib/keyed-mutex.ts'

const refusal = (why: string) => new Error(why)

/** Work that a test ends. */
function task<T>(result: T) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun: boolean[] = []
  const work = async (hasWaited: boolean): Promise<T> => {
    begun.push(hasWaited)
    await promise
    return result
  }
  return { work, begun, end: resolve }
}

/** A clock that a test sets forward. */
function clock() {
  const timers = new Set<{ ms: number; run: () => void }>()
  const later: Later = (ms, run) => {
    const timer = { ms, run }
    timers.add(timer)
    return () => {
      timers.delete(timer)
    }
  }
  const elapse = () => {
    for (const { run } of [...timers]) run()
  }
  return { later, elapse, timers }
}

t.test('work on one thing is done by one at a time, in the order of asking, after failures too', async (t) => {
  const mutex = createKeyedMutex({ waitMs: 10_000, refusal })
  const log: string[] = []
  const work =
    (name: string, fails = false) =>
    async (hasWaited: boolean) => {
      log.push(`${name} begins${hasWaited ? ' after others' : ''}`)
      await setImmediate()
      log.push(`${name} ends`)
      if (fails) throw new Error(name)
      return name
    }
  const all = await Promise.allSettled([mutex.run('1', work('a')), mutex.run('1', work('b', true)), mutex.run('1', work('c'))])
  t.strictSame(
    all.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled']
  )
  t.strictSame(log, ['a begins', 'a ends', 'b begins after others', 'b ends', 'c begins after others', 'c ends'])
  t.equal(await mutex.run('1', work('d')), 'd')
  t.equal(log.at(-2), 'd begins', 'nobody is waited for who is done')
})

t.test('work on different things does not wait', async (t) => {
  const mutex = createKeyedMutex({ waitMs: 10_000, refusal })
  const [one, other] = [task('one'), task('other')]
  const first = mutex.run('1', one.work)
  other.end()
  t.equal(await mutex.run('2', other.work), 'other')
  t.strictSame(other.begun, [false])
  one.end()
  t.equal(await first, 'one')
})

t.test(
  'of the saves of one edition at most sixteen wait, ten seconds each; then they are refused, and nothing of theirs is begun',
  async (t) => {
    const { later, elapse, timers } = clock()
    const queue = createSaveQueue({ later })
    const mutex = {
      run: <T>(uuid: string, work: (hasWaited: boolean) => Promise<T>) => queue.run(uuid, queue.now(), ({ isOutdated }) => work(isOutdated))
    }
    const first = task('first')
    const done = mutex.run('1', first.work)
    const late = task('late')
    const waiting = Array.from({ length: 16 }, () => mutex.run('1', late.work))
    await t.rejects(mutex.run('1', late.work), {
      code: 'EDITION_BUSY',
      statusCode: 503,
      headers: { 'retry-after': '5' },
      message: '16 saves of this edition wait already. Nothing of yours was sent: try again later.'
    })
    t.strictSame(
      [...timers].map(({ ms }) => ms),
      Array(16).fill(10_000)
    )
    const outcomes = Promise.allSettled(waiting)
    elapse()
    for (const outcome of await outcomes) {
      t.match(outcome, {
        reason: {
          code: 'EDITION_BUSY',
          message: 'Other saves of this edition have taken more than 10000 ms. Nothing of yours was sent: try again later.'
        }
      })
    }
    t.equal(timers.size, 0)
    const next = task('next')
    next.end()
    const after = mutex.run('1', next.work)
    first.end()
    t.strictSame([await done, await after], ['first', 'next'])
    t.equal(timers.size, 0)
    t.strictSame(late.begun, [])
  }
)

t.test('a save whose time is over while it waits is refused as one that has waited too long', async (t) => {
  const queue = createSaveQueue()
  const first = task('first')
  const done = queue.run('1', 0, async () => first.work(false))
  const waiting = [new AbortController(), new AbortController()]
  const late = waiting.map(({ signal }) => queue.run('1', 0, async () => 'late', signal))
  waiting[0]!.abort(new Failure('CMS_TIMEOUT', 'The CMS is too slow to answer this within 6000 ms'))
  waiting[1]!.abort(CALLER_GONE)
  await t.rejects(late[0]!, {
    code: 'EDITION_BUSY',
    statusCode: 503,
    headers: { 'retry-after': '5' },
    message: 'Other saves of this edition have taken longer than this one may wait. Nothing of yours was sent: try again later.'
  })
  await t.rejects(late[1]!, CALLER_GONE)
  first.end()
  t.equal(await done, 'first')
  const failing = queue.run('1', 0, async () => {
    throw new Failure('CMS_TIMEOUT', 'The CMS did not answer within 2000 ms')
  })
  await t.rejects(failing, { code: 'CMS_TIMEOUT' }, 'a save that has begun')
})

t.test('who hangs up leaves the queue, but not work that has begun', async (t) => {
  const mutex = createKeyedMutex({ waitersMax: 1, waitMs: 10_000, refusal })
  const controllers = [new AbortController(), new AbortController(), new AbortController()]
  const tasks = [task('a'), task('b'), task('c')]
  const [a, b] = [0, 1].map((index) => mutex.run('1', tasks[index]!.work, controllers[index]!.signal))
  const reason = new Error('gone')
  controllers[0]!.abort(reason)
  controllers[1]!.abort(reason)
  await t.rejects(b!, reason)
  await t.rejects(mutex.run('1', tasks[1]!.work, controllers[1]!.signal), reason, 'nor enters it')
  const c = mutex.run('1', tasks[2]!.work, controllers[2]!.signal)
  for (const { end } of tasks) end()
  t.equal(await a, 'a')
  t.equal(await c, 'c')
  t.strictSame(
    tasks.map(({ begun }) => begun),
    [[false], [], [true]]
  )
})
