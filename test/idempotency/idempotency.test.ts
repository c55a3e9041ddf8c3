import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { unansweredBy } from '#lib/table/fence.ts'
import { Failure } from '#lib/errors.ts'
import { createIdempotency, type KeyedRequest } from '#lib/saves/idempotency.ts'
import { asClient, memoryStore, type Command, type Item, type Send } from '../locks/fixtures/memory-store.ts'
import { steppedTime } from '../fixtures/time.ts'

const START = Date.UTC(2026, 10, 23)
const request: KeyedRequest = { uid: '7', method: 'POST', path: '/api/collection/1', key: '"one"', body: { title: 'Late' } }
const intent = { before: 'b', after: 'a' }
const done = { status: 200, uuid: '855d568c-a40d-43fb-a97a-426045895e11', etag: '"t"' }
const saves = async () => ({ result: 'saved', done })

/** A table in memory whose commands can be altered, a clock, and instances that share both. */
function newsroom({ tells = true } = {}) {
  const store = memoryStore({ tells })
  const clock = { now: START }
  const commands: Command[] = []
  const desk = { alter: undefined as ((command: Command) => Promise<Item> | undefined) | undefined }
  const send: Send = {
    async send(command) {
      commands.push(command)
      return (await desk.alter?.(command)) ?? store.send(command)
    }
  }
  const instance = () =>
    createIdempotency({
      client: asClient(send),
      table: 'DataState',
      environment: 'test',
      timeoutMs: 10_000,
      time: steppedTime(clock)
    })
  return { store, clock, commands, desk, instance }
}

for (const tells of [true, false]) {
  t.test(
    `a request is done once and costs three writes, in a table that tells ${tells ? 'what is' : 'not what is'} in the way`,
    async (t) => {
      const { commands, instance } = newsroom({ tells })
      const work = async (attempt: { intend: (intent: object) => Promise<void> }) => {
        await attempt.intend({ ...intent, outcomes: ['done', 'already'] })
        return { result: 'saved', done: { ...done, outcomes: ['done' as const, 'already' as const] } }
      }
      t.strictSame(await instance().once(request, work as never), { result: 'saved', isReplayed: false })
      t.strictSame(
        commands.splice(0).map(({ constructor: { name } }) => name),
        ['PutCommand', 'PutCommand', 'PutCommand']
      )
      t.strictSame(
        await instance().once(request, () => {
          throw new Error('not twice')
        }),
        { earlier: { ...done, outcomes: ['done', 'already'] } }
      )
      t.strictSame(
        commands.map(({ constructor: { name } }) => name),
        tells ? ['PutCommand'] : ['PutCommand', 'GetCommand']
      )
    }
  )
}

t.test('what a change came to is noted once, while its turn ends, and stays whatever fails after it', async (t) => {
  const change = { uuid: done.uuid, etag: done.etag, outcomes: ['done' as const] }
  for (const failure of [undefined, new Error('the answer cannot be made')]) {
    const { commands, instance } = newsroom()
    const result = instance().once(request, async (attempt) => {
      await attempt.intend(intent)
      await attempt.conclude(change)
      if (failure) throw failure
      return saves()
    })
    if (failure) await t.rejects(result, failure)
    else t.strictSame(await result, { result: 'saved', isReplayed: false })
    t.equal(commands.length, 3)
    t.strictSame(await instance().once(request, saves), { earlier: { status: 200, ...change } })
  }
})

t.test('a put that got no answer and is sent again finds its own record', async (t) => {
  const { store, desk, instance } = newsroom()
  const lost = new Set<unknown>()
  desk.alter = async (command) => {
    const { version } = command.input['Item'] ?? {}
    const answer = await store.send(command)
    if (version === undefined || lost.has(version)) return answer
    lost.add(version)
    throw unansweredBy(new Error('socket hang up'))
  }
  t.strictSame(
    await instance().once(request, async (attempt) => {
      await attempt.intend(intent)
      return saves()
    }),
    { result: 'saved', isReplayed: false }
  )
  t.equal(lost.size, 3)
  t.match(await instance().once(request, saves), { earlier: done })
})

t.test('a record whose day is over counts as none, though the table still has it', async (t) => {
  const { clock, instance } = newsroom()
  await instance().once(request, saves)
  clock.now += 86_400_000 - 1
  t.match(await instance().once(request, saves), { earlier: done })
  clock.now += 1000
  t.match(await instance().once({ ...request, body: 'another' }, saves), { result: 'saved', isReplayed: false })
})

t.test('a record of another form refuses the request, since nothing tells whether it was done', async (t) => {
  const { store, instance } = newsroom()
  await instance().once(request, saves)
  const [item] = [...store.items.values()]
  await store.send({ constructor: { name: 'PutCommand' }, input: { Item: { ...item, status: '200' } } })
  await t.rejects(instance().once(request, saves), { code: 'STORE_FAILED' })
})

t.test('a record that is gone before it could be read is busy', async (t) => {
  const { desk, instance } = newsroom()
  desk.alter = ({ constructor: { name } }) =>
    name === 'PutCommand' ? Promise.reject(new ConditionalCheckFailedException({ message: '', $metadata: {} })) : undefined
  await t.rejects(instance().once(request, saves), { code: 'IDEMPOTENCY_KEY_BUSY', headers: { 'retry-after': '1' } })
})

/** An attempt that is under way until it is told to end. */
function hold(
  requests: ReturnType<typeof createIdempotency>,
  begin: (attempt: Parameters<Parameters<typeof requests.once>[1]>[0]) => Promise<void> = async () => {}
) {
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const result = requests.once(request, async (attempt) => {
    await begin(attempt)
    started.resolve()
    await ended.promise
    await attempt.intend(intent)
    attempt.confirm()
    return saves()
  })
  return { started: started.promise, end: ended.resolve, result }
}

t.test('an attempt is left alone for 15 seconds, and then may do nothing more once another has begun', async (t) => {
  const { clock, instance } = newsroom()
  const first = hold(instance())
  await first.started
  await t.rejects(instance().once(request, saves), { code: 'IDEMPOTENCY_KEY_BUSY', headers: { 'retry-after': '15' } })
  clock.now += 15_000
  t.match(await instance().once(request, saves), { result: 'saved', isReplayed: false })
  first.end()
  await t.rejects(first.result, { code: 'IDEMPOTENCY_KEY_BUSY' })
  t.match(await instance().once(request, saves), { earlier: done }, 'nor does it take away what the other has noted')
})

t.test('of two attempts that find a third one broken off, one goes on', async (t) => {
  const { store, clock, desk, instance } = newsroom()
  const first = hold(instance())
  await first.started
  clock.now += 15_000
  desk.alter = async (command) => {
    if (command.input['ExpressionAttributeValues'] === undefined) return undefined as never
    desk.alter = undefined
    const [item] = [...store.items.values()]
    await store.send({ constructor: { name: 'PutCommand' }, input: { Item: { ...item, version: 'of another' } } })
    return undefined as never
  }
  await t.rejects(instance().once(request, saves), { code: 'IDEMPOTENCY_KEY_BUSY' })
  first.end()
  await t.rejects(first.result)
})

t.test('once something is sent the next attempt waits as long as the CMS may take, and 8 seconds more', async (t) => {
  const { clock, instance } = newsroom()
  const first = hold(instance(), (attempt) => attempt.intend(intent))
  await first.started
  clock.now += 17_999
  await t.rejects(instance().once(request, saves), { code: 'IDEMPOTENCY_KEY_BUSY', headers: { 'retry-after': '1' } })
  clock.now++
  let earlier
  t.match(
    await instance().once(request, async (attempt) => {
      earlier = attempt.earlier
      return saves()
    }),
    { result: 'saved', isReplayed: true }
  )
  t.strictSame(earlier, intent)
  first.end()
  await t.rejects(first.result)
})

t.test('an attempt that was halted before it sends sends nothing', async (t) => {
  const { clock, instance } = newsroom()
  await t.rejects(
    instance().once(request, async (attempt) => {
      await attempt.intend(intent)
      attempt.confirm()
      clock.now += 18_000
      attempt.confirm()
      return saves()
    }),
    { code: 'IDEMPOTENCY_KEY_BUSY' }
  )
})

t.test('what a failed attempt leaves to the next one', async (t) => {
  const refused = new Failure('UNPROCESSABLE', 'no')
  const unknown = new Failure('CMS_TIMEOUT', 'slow')
  const cases: Array<[what: string, intends: boolean, error: Error, leaves: 'nothing' | 'its intent']> = [
    ['a refusal, with nothing sent', false, refused, 'nothing'],
    ['a CMS that is away, with nothing sent', false, unknown, 'nothing'],
    ['a refusal of what was sent', true, refused, 'nothing'],
    ['no answer to what was sent', true, unknown, 'its intent'],
    ['a defect after something was sent', true, new Error('defect'), 'its intent']
  ]
  for (const [what, intends, error, leaves] of cases) {
    const { store, clock, instance } = newsroom()
    await t.rejects(
      instance().once(request, async (attempt) => {
        if (intends) await attempt.intend(intent)
        throw error
      }),
      error
    )
    if (leaves === 'nothing') t.equal(store.items.size, 0, what)
    else {
      await t.rejects(instance().once(request, saves), { code: 'IDEMPOTENCY_KEY_BUSY', headers: { 'retry-after': '8' } }, what)
      clock.now += 8000
      for (const error of [refused, unknown]) {
        await t.rejects(
          instance().once(request, async (attempt) => {
            t.strictSame(attempt.earlier, intent)
            throw error
          }),
          error,
          'until it is known, it stays'
        )
      }
      t.match(
        await instance().once(request, async (attempt) => {
          await attempt.intend(intent)
          return saves()
        }),
        { isReplayed: false }
      )
    }
  }
})

t.test('what is saved is answered although it could not be noted; and what is refused, although that could not', async (t) => {
  const { desk, clock, instance } = newsroom()
  t.match(
    await instance().once(request, async (attempt) => {
      await attempt.intend(intent)
      desk.alter = () => Promise.reject(new Error('away'))
      return saves()
    }),
    { result: 'saved' }
  )
  desk.alter = undefined
  clock.now += 18_000
  const refused = new Failure('UNPROCESSABLE', 'no')
  await t.rejects(
    instance().once(request, async (attempt) => {
      t.strictSame(attempt.earlier, intent)
      desk.alter = () => Promise.reject(new Error('away'))
      throw refused
    }),
    refused
  )
})

t.test('a lease of a clock that is far ahead keeps the next attempt away for as long as one holds', async (t) => {
  const { store, clock, instance } = newsroom()
  await instance()
    .once(request, async (attempt) => {
      await attempt.intend(intent)
      throw new Error('crashed')
    })
    .catch(() => {})
  for (const [key, item] of store.items) store.items.set(key, { ...item, leaseUntil: START + 3_600_000, version: '~~~~~~~~~~~~~~~~' })
  const next = instance()
  const error: Failure = await next.once(request, saves).catch((error) => error)
  t.match(error, { code: 'IDEMPOTENCY_KEY_BUSY', headers: { 'retry-after': '18' } })
  clock.now += 18_000
  t.match(await next.once(request, saves), { result: 'saved' })
})

t.test('a record whose lease or version has another form is taken over', async (t) => {
  for (const members of [{ leaseUntil: undefined }, { leaseUntil: 'soon', version: undefined }, { version: 7 }]) {
    const { store, clock, instance } = newsroom()
    await instance()
      .once(request, async (attempt) => {
        await attempt.intend(intent)
        throw new Error('crashed')
      })
      .catch(() => {})
    clock.now += 60_000
    for (const [key, item] of store.items) store.items.set(key, JSON.parse(JSON.stringify({ ...item, ...members })))
    t.match(await instance().once(request, saves), { result: 'saved' }, JSON.stringify(members))
    t.match(await instance().once(request, saves), { earlier: done })
  }
})
