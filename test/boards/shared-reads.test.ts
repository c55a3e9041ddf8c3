import { EventEmitter } from 'node:events'
import t from 'tap'
import { createBoards } from '#lib/boards/boards.ts'
import { createSharedReads } from '#lib/boards/shared-reads.ts'
import { contentModel } from '#lib/editions/model.ts'
import { Failure } from '#lib/errors.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, type Caller, newCaller } from '#lib/http/calls.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { asClient, memoryStore } from '../locks/fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const EDITION = { id: [{ value: 1 }], field_articles: [{ target_id: 4, target_type: 'node' }] }

t.test('an answer serves all who are the same to the CMS, for its time', async (t) => {
  let [now, count] = [0, 0]
  const share = createSharedReads<string>(fakeTime({ monotonic: () => now }))
  const join = (id: string, caller: Caller, lastsMs: number) =>
    share(id, caller, lastsMs, async ({ headers: { authorization = 'nobody' } }) => `${id} ${authorization} ${++count}`)
  const [ada, other, ben] = [
    join('1', newCaller({ 'x-request-id': 'a' }), 100),
    join('1', newCaller({ 'x-request-id': 'b' }), 100),
    join('1', newCaller({ authorization: 'ben' }), 100)
  ]
  t.strictSame(await Promise.all([ada, other, ben, join('2', newCaller(), 100)].map(({ ask }) => ask())), [
    '1 nobody 1',
    '1 nobody 1',
    '1 ben 2',
    '2 nobody 3'
  ])
  t.equal(await join('1', newCaller({ 'accept-language': 'de' }), 100).ask(), '1 nobody 4', 'the CMS answers in a language')
  now = 99
  t.equal(await other.ask(), '1 nobody 1')
  now = 100
  t.equal(await other.ask(), '1 nobody 5')
  ada.forget()
  t.equal(await other.ask(), '1 nobody 6', 'what is outdated serves nobody')
  ada.leave()
  ada.leave()
  t.equal(await join('1', newCaller(), 100).ask(), '1 nobody 6', 'it stays as long as somebody reads it')
  ben.leave()
  t.equal(await join('1', newCaller({ authorization: 'ben' }), 100).ask(), '1 ben 7', 'and no longer')
})

t.test('watchers of one board ask the CMS once in a heartbeat, and each with his own credentials for himself', async (t) => {
  const heartbeatMs = 200
  const locks = createLocks({ client: asClient(memoryStore()), table: 'DataState', environment: 'test', feed: { heartbeatMs } })
  t.teardown(locks.feed.close)
  const asked: Record<string, number> = {}
  let isRefused = false
  const editions = {
    async bare(_id: string, { headers: { authorization = 'service' } }: Caller) {
      asked[authorization] = (asked[authorization] ?? 0) + 1
      if (isRefused && authorization === 'ben') throw new Failure('CMS_FORBIDDEN', 'no longer yours')
      return EDITION
    }
  }
  const boards = createBoards({ locks, editions, model: contentModel({}) })
  const callers: Caller[] = [
    ...Array.from({ length: 20 }, (_, n) => newCaller({ 'x-request-id': String(n) })),
    newCaller({ authorization: 'ben' }),
    newCaller({ authorization: 'ada' })
  ]
  const began = performance.now()
  const watchers = await Promise.all(callers.map((caller) => boards.watch('1', caller)))
  /** Each takes this many heartbeats, or all until the end. */
  const beats = (count: number) =>
    Promise.all(
      watchers.map(async ({ next }) => {
        let batch
        for (let seen = 0; seen < count && (batch = await next()) !== undefined;) if (batch[0]!.event === 'heartbeat') seen++
        return batch !== undefined
      })
    )
  t.notOk((await beats(3)).includes(false))
  const most = Math.ceil((performance.now() - began) / heartbeatMs / 0.9)
  t.ok(asked['service']! - 20 <= most, `${asked['service']! - 20} of at most ${most}, beside the first of each`)
  t.ok(asked['service']! > 20 && asked['ben']! > 1 && asked['ada']! > 1)
  isRefused = true
  t.strictSame(
    await beats(2),
    callers.map(({ headers }) => headers['authorization'] !== 'ben'),
    'who is refused ends, and nobody else'
  )
  t.equal(locks.feed.counts().watchers, 21)
})

t.test('a watcher who hangs up while the CMS is asked for all ends nobody else', async (t) => {
  const feed = {
    async watch() {
      const batches = [[{ event: 'snapshot', locks: [] }], [{ event: 'heartbeat' }]]
      return { heartbeatMs: 100_000, next: async () => batches.shift(), leave() {} }
    }
  }
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reads = 0
  const editions = {
    bare: (_id: string, caller: Caller) =>
      inCall(caller, { requests: 1, ms: 10_000, lookUpMs: 10_000, memory: createAnswerMemory() }, async () => {
        if (++reads <= 2) return EDITION
        asked.resolve()
        await answered.promise
        return EDITION
      })
  }
  const answers = [1, 2].map(() => Object.assign(new EventEmitter(), { destroyed: false }))
  const callers = answers.map((answer) => newCaller({}, { answer }))
  const boards = createBoards({ locks: { feed } as never, editions, model: contentModel({}) })
  const watchers = await Promise.all(callers.map((caller) => boards.watch('1', caller)))
  for (const { next } of watchers) t.match(await next(), [{ event: 'snapshot' }])
  const beats = watchers.map(({ next }) => next())
  await asked.promise
  t.strictSame(
    answers.map((answer) => answer.listenerCount('close')),
    [0, 0],
    'it does not end with a caller'
  )
  watchers[0]!.leave()
  answered.resolve()
  t.strictSame(await Promise.all(beats), [undefined, [{ event: 'heartbeat' }]])
})

t.test('after a save the next heartbeat asks anew', async (t) => {
  const [heartbeat, saved] = [[{ event: 'heartbeat' }], [{ event: 'saved', saved: { fields: ['title'] } }]]
  const batches = [heartbeat, heartbeat, saved, heartbeat]
  const locks = { feed: { watch: async () => ({ heartbeatMs: 100_000, next: async () => batches.shift(), leave() {} }) } }
  let reads = 0
  const editions = {
    async bare() {
      reads++
      return EDITION
    }
  }
  const watcher = await createBoards({ locks: locks as never, editions, model: contentModel({}) }).watch('1', newCaller())
  const counts: number[] = []
  while (await watcher.next()) counts.push(reads)
  t.strictSame(counts, [2, 2, 2, 3])
})
