import t from 'tap'
import type { FeedEvent } from '#lib/locks/feed-events.ts'
import { PROPOSALS_OF_ENTITY, PROPOSALS_OF_FIELD, SETTLED_MAX } from '#lib/locks/proposals.ts'
import { recordsOf } from '#lib/locks/record.ts'
import { holds, memoryStore, type Command, type Item, type Send } from './fixtures/memory-store.ts'
import { contestedStore, instance } from './fixtures/signs.ts'
import { take } from './fixtures/watching.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const planner = { uid: 'agent:planner:7', name: 'Planner' }
const marks = { agent: 'planner', principal: '7' }
const node = { type: 'node', id: '1' }
const NOW = 1_767_225_600
const DAYS = 30 * 86_400
const SIGNS = 'proposals'.padStart(256, '#')

/** A store that does something before it is sent a command, which may fail. */
function watchedStore(before: (command: Command, item: Item | undefined) => void) {
  const store = memoryStore()
  const watched: Send = {
    async send(command) {
      before(command, command.input['Item'] ?? command.input['Key'])
      return store.send(command)
    }
  }
  return { ...store, ...watched }
}

/** A store that can be told to fail at some commands. */
function sickStore() {
  let isSick: (command: Command, item: Item | undefined) => boolean = () => false
  const store = watchedStore((command, item) => {
    if (isSick(command, item)) throw Object.assign(new Error('away'), { name: 'TimeoutError' })
  })
  return {
    ...store,
    fail: (when: typeof isSick) => {
      isSick = when
    },
    heal: () => {
      isSick = () => false
    }
  }
}

const isPut = ({ constructor: { name } }: Command) => name === 'PutCommand'
const isText = (item: Item | undefined) => item?.['env_entityType_entityId'] === 'test-node-1#proposals'
const isSigns = (item: Item | undefined) => item?.['fieldName'] === SIGNS
const textsIn = ({ items }: { items: Map<string, Item> }) => [...items.values()].filter(isText)
const signsIn = ({ items }: { items: Map<string, Item> }): Item[] =>
  [...items.values()].filter(isSigns).flatMap(({ proposals }) => proposals as Item[])

t.test('a proposal is told without its text, listed with it letter by letter, and is among no locks', async (t) => {
  const locks = instance(t, memoryStore(), { time: { now: () => NOW * 1000 } })
  await locks.acquire(node, { fieldName: 'title', userData: ada, payload: 'Harbour' })
  const watcher = await locks.feed.watch([node])
  const { id: before } = (await take(watcher)) as FeedEvent & { id: string }
  const payload = '</b>"}]\n\ndata: {"until":0}\u202e ﷽ \u0000'
  const proposal = await locks.proposals.propose(node, {
    fieldName: 'title',
    userData: { ...planner, mail: 'x' } as typeof planner,
    payload,
    base: '"e1"',
    reason: 'shorter'
  })
  t.match(proposal.id, /^[\w-]{38}$/)
  t.strictSame(proposal, {
    id: proposal.id,
    fieldName: 'title',
    userData: { ...planner, ...marks },
    payload,
    base: '"e1"',
    reason: 'shorter',
    createdAt: NOW,
    until: NOW + DAYS
  })
  const told = (await take(watcher)) as FeedEvent & { id: string }
  t.strictSame(told, {
    event: 'proposed',
    id: told.id,
    proposal: {
      entityType: 'node',
      entityId: '1',
      fieldName: 'title',
      id: proposal.id,
      userData: { ...planner, ...marks },
      until: NOW + DAYS
    }
  })
  t.not(told.id, before, 'it names another state')
  const late = await locks.feed.watch([node])
  t.match(await late.next(), [
    { event: 'snapshot', locks: [{ fieldName: 'title' }] },
    { event: 'proposed', id: told.id }
  ])
  t.strictSame(await locks.proposals.list(node), { Items: [proposal], Count: 1 })
  t.match(await locks.list(node), { Items: [{ fieldName: 'title', payload: 'Harbour' }], Count: 1, ScannedCount: 1 })
  t.equal((await locks.drafts.list(node)).Count, 0)
  await locks.release(node, { uid: '7' })
  t.match(await take(watcher), { event: 'released' })
  t.equal((await locks.proposals.list(node)).Count, 1, 'it needs no lock')
})

t.test('the release before this one takes what tells of proposals for nothing', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store, { time: { now: () => NOW * 1000 } })
  await locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' })
  const record = [...store.items.values()].find(isSigns)!
  t.match(record, { env_entityType_entityId: 'test-node-1', expiresAt: 0, removeAt: NOW + DAYS })
  for (const now of [{ now: NOW }, { now: NOW, foreign: NOW - 86_400 }]) {
    for (const user of [{}, { uid: '7' }, { excludeUid: '8' }]) {
      const query = recordsOf('test-node-1', { ...user, now })
      t.notOk(holds(query.FilterExpression, query, record), 'a list of locks, and a release of all')
    }
  }
  t.match(await locks.acquire(node, { fieldName: 'title', userData: bob }), { outcome: 'acquired' })
})

t.test('who takes, discards or withdraws it settles it once, and its author sees what became of it', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store, { time: { now: () => NOW * 1000 } })
  const propose = (payload: string) => locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload })
  const [one, two, three, four] = [await propose('1'), await propose('2'), await propose('3'), await propose('4')]
  const watcher = await locks.feed.watch([node])
  await take(watcher)
  for (let count = 0; count < 4; count++) await take(watcher)

  await locks.proposals.settle(node, one.id, { by: bob, isTaken: true })
  t.match(await take(watcher), { event: 'proposed', proposal: { id: one.id, until: 0 } })
  await locks.proposals.settle(node, two.id, { by: bob })
  await locks.proposals.settle(node, three.id, { by: { uid: '7', name: undefined }, isTaken: true })
  await locks.proposals.settle(node, four.id, { by: undefined })
  t.strictSame(await locks.proposals.list(node), { Items: [], Count: 0 })
  const { payload: _taken, ...rest } = one
  t.strictSame((await locks.proposals.list(node, { settled: 1, uid: '7' })).Items, [
    { ...four, settled: { outcome: 'discarded', at: NOW } },
    { ...three, settled: { outcome: 'withdrawn', at: NOW, by: { uid: '7' } } },
    { ...two, settled: { outcome: 'discarded', at: NOW, by: bob } },
    { ...rest, settled: { outcome: 'taken', at: NOW, by: bob } }
  ])
  t.equal((await locks.proposals.list(node, { settled: 1, uid: '8' })).Count, 0)
  t.equal((await locks.proposals.list(node, { settled: 1, fieldName: 'title' })).Count, 4)
  t.equal((await locks.proposals.list(node, { settled: 1, fieldName: 'body' })).Count, 0)

  await t.rejects(locks.proposals.settle(node, one.id, { by: ada }), { code: 'CONFLICT', message: 'This proposal was taken already' })
  await t.rejects(locks.proposals.settle(node, 'x'.repeat(38), { by: ada }), { code: 'NOT_FOUND' })
  await t.rejects(locks.proposals.settle({ type: 'node', id: '2' }, two.id, { by: ada }), { code: 'NOT_FOUND' })
})

t.test('a list may be of one field or one author, the newest first', async (t) => {
  let now = NOW
  const locks = instance(t, memoryStore(), { time: { now: () => now * 1000 } })
  for (const [fieldName, userData] of [
    ['title', ada],
    ['body', ada],
    ['title', bob]
  ] as const) {
    now++
    await locks.proposals.propose(node, { fieldName, userData, payload: `${fieldName} of ${userData.name}` })
  }
  const list = async (query: object) => (await locks.proposals.list(node, query)).Items.map(({ payload }) => payload)
  t.strictSame(await list({}), ['title of Bob', 'body of Ada', 'title of Ada'])
  t.strictSame(await list({ fieldName: 'title' }), ['title of Bob', 'title of Ada'])
  t.strictSame(await list({ uid: '7' }), ['body of Ada', 'title of Ada'])
  t.strictSame(await list({ uid: '7', fieldName: 'title', settled: 0 }), ['title of Ada'])
})

t.test('an agent says what it has read, and withdraws its own alone', async (t) => {
  const locks = instance(t, memoryStore())
  const request = { fieldName: 'title', userData: planner, payload: 'x' }
  await t.rejects(locks.proposals.propose(node, request), { code: 'PRECONDITION_REQUIRED', message: /base is needed/ })
  await t.rejects(locks.proposals.propose(node, { ...request, userData: { uid: 'agent:planner' }, base: 'v' }), { code: 'BAD_REQUEST' })
  const own = await locks.proposals.propose(node, { ...request, base: 'v1' })
  const persons = await locks.proposals.propose(node, { ...request, userData: { uid: 7 } })
  t.strictSame(persons.userData, { uid: '7' })
  for (const isTaken of [true, false]) {
    await t.rejects(locks.proposals.settle(node, persons.id, { by: planner, isTaken }), { code: 'FORBIDDEN' }, "not even its principal's")
  }
  await locks.proposals.settle(node, own.id, { by: planner })
  t.match((await locks.proposals.list(node)).Items, [{ id: persons.id }])
})

t.test('of ten who propose at once through two instances five are heard for a field, and twenty for an entity', async (t) => {
  const store = memoryStore()
  const instances = [instance(t, store), instance(t, store)]
  const propose = (fieldName: string, index: number) =>
    instances[index % 2]!.proposals.propose(node, { fieldName, userData: { uid: String(index) }, payload: `${index}` })
  const tenFor = async (fieldName: string) => {
    const results = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => propose(fieldName, index)))
    for (const result of results) {
      if (result.status === 'fulfilled') continue
      t.match(result.reason, { code: 'TOO_MANY_REQUESTS', headers: {} })
      t.strictSame(result.reason.headers, {}, 'no time makes room')
      t.match(result.reason.message, /^(5|20) proposals for .* are open, the most allowed: take or discard one of them, or withdraw yours$/)
    }
    return results.filter(({ status }) => status === 'fulfilled').length
  }
  t.equal(await tenFor('a'), PROPOSALS_OF_FIELD)
  for (const fieldName of ['b', 'c', 'd']) t.equal(await tenFor(fieldName), PROPOSALS_OF_FIELD)
  t.equal(await tenFor('e'), 0)
  const { Items } = await instances[0]!.proposals.list(node)
  t.equal(Items.length, PROPOSALS_OF_ENTITY)
  t.equal(textsIn(store).length, PROPOSALS_OF_ENTITY, 'a text that is refused is not kept')
  await instances[0]!.proposals.settle(node, Items[0]!.id, { by: bob })
  t.match(await propose('e', 1), { fieldName: 'e' })
})

t.test('a text beyond what the store takes is refused with the limit, and leaves nothing', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store)
  const propose = (length: number) => locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x'.repeat(length) })
  await t.rejects(propose(409_600), {
    code: 'TOO_LARGE',
    message: /^The proposal would have \d+ bytes in the store; at most 409600 bytes are taken$/
  })
  t.equal(store.items.size, 0)
  const long = { uid: 'ß'.repeat(255), name: '語'.repeat(255) }
  const { id } = await propose(406_000)
  await locks.proposals.settle(node, id, { by: long })
  const [item] = textsIn(store)
  t.ok(Buffer.byteLength(JSON.stringify(item)) < 409_600, 'and what becomes of it fits too')
})

t.test('twenty long proposals are listed, and the memory for them is bounded', async (t) => {
  const takes: number[] = []
  const memory = { open: () => ({ take: (bytes: number) => takes.push(bytes), end: () => takes.push(-1) }) }
  const locks = instance(t, memoryStore(), { memory: memory as never })
  for (let index = 0; index < PROPOSALS_OF_ENTITY; index++) {
    await locks.proposals.propose(node, { fieldName: `${index}`, userData: ada, payload: 'x'.repeat(400_000) })
  }
  t.equal((await locks.proposals.list(node)).Count, PROPOSALS_OF_ENTITY)
  t.equal(takes.length, PROPOSALS_OF_ENTITY + 1)
  t.ok(takes.slice(0, -1).every((bytes) => bytes > 400_000))
})

t.test('where the store fails at the text, at its sign, or at both, nothing is half there', async (t) => {
  const store = sickStore()
  const locks = instance(t, store)
  const propose = () => locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' })
  const failsAt = async (when: Parameters<typeof store.fail>[0]) => {
    store.fail(when)
    await t.rejects(propose(), { code: 'STORE_UNAVAILABLE' })
    store.heal()
    t.strictSame(await locks.proposals.list(node), { Items: [], Count: 0 })
    t.equal((await locks.proposals.list(node, { settled: 1 })).Count, 0)
  }
  await failsAt((command, item) => isPut(command) && isText(item))
  t.equal(textsIn(store).length, 0)
  await failsAt((command, item) => isPut(command) && isSigns(item))
  t.equal(textsIn(store).length, 0, 'the text has gone with it')
  await failsAt((_, item) => isSigns(item))
  t.equal(textsIn(store).length, 1, 'a kill between the two writes leaves a text that nobody sees')
  t.equal(signsIn(store).length, 0)
  t.match(await propose(), { fieldName: 'title' })
  t.equal((await locks.proposals.list(node)).Count, 1)
})

t.test('a sign without its text, or of a settled one, is not shown as open, and goes', async (t) => {
  const store = sickStore()
  const locks = instance(t, store)
  const propose = (payload: string) => locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload })
  const [gone, settled, open] = [await propose('1'), await propose('2'), await propose('3')]
  store.items.delete(JSON.stringify(['test-node-1#proposals', gone.id]))
  const name = JSON.stringify(['test-node-1#proposals', settled.id])
  store.items.set(name, { ...store.items.get(name), settled: { outcome: 'taken', at: 1 } })
  const watcher = await locks.feed.watch([node])
  await take(watcher)
  for (let count = 0; count < 3; count++) await take(watcher)
  store.fail((command) => isPut(command))
  t.match(await locks.proposals.list(node), { Items: [{ id: open.id }], Count: 1 }, 'whether it can be removed or not')
  store.heal()
  t.match(await locks.proposals.list(node), { Items: [{ id: open.id }], Count: 1 })
  t.match(await take(watcher), { event: 'proposed', proposal: { id: gone.id, until: 0 } })
  t.match(await take(watcher), { event: 'proposed', proposal: { id: settled.id, until: 0 } })
  t.equal(signsIn(store).length, 1)
})

t.test('who says the same again has one proposal, until it is settled', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store)
  const said = { fieldName: 'title', userData: ada, payload: 'x', base: '"e1"', reason: 'shorter' }
  const propose = async (more: object = {}) => (await locks.proposals.propose(node, { ...said, ...more })).id
  const id = await propose()
  const proposal = (await locks.proposals.list(node)).Items[0]!
  t.strictSame(await locks.proposals.propose(node, said), proposal)
  t.strictSame(await Promise.all([propose(), propose(), propose()]), [id, id, id])
  t.equal(textsIn(store).length, 1, 'no second text stays')
  const others = [{ userData: bob }, { fieldName: 'body' }, { payload: 'y' }, { base: '"e2"' }, { reason: 'longer' }]
  for (const other of others) t.not(await propose(other), id, JSON.stringify(other))
  t.equal((await locks.proposals.list(node)).Count, 1 + others.length)

  await locks.proposals.settle(node, id, { by: bob })
  const next = await propose()
  t.not(next, id, 'what was discarded may be proposed again')
  store.items.delete(JSON.stringify(['test-node-1#proposals', next]))
  const last = await propose()
  t.not(last, next, 'a sign without its text is no proposal')
  t.notOk(signsIn(store).some((sign) => sign['id'] === next))
})

t.test('of proposals that say the same at two instances at once one is open', async (t) => {
  const store = memoryStore()
  const [here, there] = [instance(t, store), instance(t, store)]
  const said = { fieldName: 'title', userData: ada, payload: 'x' }
  const both = await Promise.all([here.proposals.propose(node, said), there.proposals.propose(node, said)])
  t.equal(both[0].id, both[1].id)
  t.equal((await here.proposals.list(node)).Count, 1)
})

t.test('a settlement that breaks off between its two writes is not open any more, and goes on when it is sent again', async (t) => {
  const store = sickStore()
  const locks = instance(t, store)
  const { id } = await locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' })
  store.fail((command, item) => isPut(command) && isSigns(item))
  await t.rejects(locks.proposals.settle(node, id, { by: bob }), { code: 'STORE_UNAVAILABLE' })
  t.equal((await locks.proposals.list(node)).Count, 1, 'still open')
  store.fail((command, item) => isPut(command) && isText(item))
  await t.rejects(locks.proposals.settle(node, id, { by: bob }), { code: 'STORE_UNAVAILABLE' })
  store.heal()
  t.equal((await locks.proposals.list(node)).Count, 0)
  t.equal((await locks.proposals.list(node, { settled: 1 })).Count, 0)
  await locks.proposals.settle(node, id, { by: bob, isTaken: true })
  t.match(await locks.proposals.list(node, { settled: 1 }), { Items: [{ id, settled: { outcome: 'taken' } }] })
})

t.test('of two who settle at once one has done so, and the other is told', async (t) => {
  const store = memoryStore()
  const [here, there] = [instance(t, store), instance(t, store)]
  const { id } = await here.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' })
  const results = await Promise.allSettled([
    here.proposals.settle(node, id, { by: ada }),
    there.proposals.settle(node, id, { by: bob, isTaken: true })
  ])
  t.strictSame(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { code: 'CONFLICT', message: /^This proposal was (taken|withdrawn) already$/ } }
  )
})

t.test('what time to live takes away meanwhile, or has not taken yet, is not there', async (t) => {
  let now = NOW
  const store = watchedStore((command, item) => {
    if (isPut(command) && item?.['settled']) store.items.delete(JSON.stringify(['test-node-1#proposals', item['fieldName']]))
  })
  const locks = instance(t, store, { time: { now: () => now * 1000 }, draftDays: 1 })
  const propose = () => locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' })
  await t.rejects(locks.proposals.settle(node, (await propose()).id, { by: bob }), { code: 'NOT_FOUND' })
  const { id } = await propose()
  now += 86_400
  t.equal((await locks.proposals.list(node)).Count, 0)
  await t.rejects(locks.proposals.settle(node, id, { by: bob }), { code: 'NOT_FOUND' })
})

t.test('the newest fifty settled ones of a field and author are kept', async (t) => {
  let now = NOW
  const store = sickStore()
  const locks = instance(t, store, { time: { now: () => now * 1000 } })
  const settle = async (userData = ada, fieldName = 'title') => {
    now++
    const { id } = await locks.proposals.propose(node, { fieldName, userData, payload: String(now) })
    await locks.proposals.settle(node, id, { by: ada })
  }
  await settle(bob)
  await settle(ada, 'body')
  for (let count = 0; count < SETTLED_MAX; count++) await settle()
  store.fail(({ constructor: { name } }) => name === 'DeleteCommand')
  await settle()
  t.equal((await locks.proposals.list(node, { settled: 1, uid: '7', fieldName: 'title' })).Count, SETTLED_MAX + 1)
  store.heal()
  await settle()
  const { Items } = await locks.proposals.list(node, { settled: 1, uid: '7', fieldName: 'title' })
  t.equal(Items.length, SETTLED_MAX)
  t.equal(Items.at(-1)!.payload, String(NOW + 5), 'the oldest two have gone')
  t.equal((await locks.proposals.list(node, { settled: 1 })).Count, SETTLED_MAX + 2)
})

t.test('a record that changes all the time is given up, and the text goes', async (t) => {
  const store = contestedStore('proposals')
  const locks = instance(t, store)
  await t.rejects(locks.proposals.propose(node, { fieldName: 'title', userData: ada, payload: 'x' }), {
    code: 'STORE_UNAVAILABLE',
    headers: { 'retry-after': '1' }
  })
  t.equal((await locks.proposals.list(node)).Count, 0)
})

t.test('petitions, those who look on and proposals do not disturb each other', async (t) => {
  const locks = instance(t, memoryStore())
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  await locks.petitions.file(node, { fieldName: 'title', userData: bob })
  await locks.presence.enter(node, { userData: bob })
  const { id } = await locks.proposals.propose(node, { fieldName: 'title', userData: bob, payload: 'x' })
  const watcher = await locks.feed.watch([node])
  t.match(await watcher.next(), [
    { event: 'snapshot' },
    { event: 'requested', petition: { userData: bob } },
    { event: 'present', presence: { userData: bob } },
    { event: 'proposed', proposal: { id, userData: bob } }
  ])
  await locks.petitions.withdraw(node, { uid: '8' })
  t.match(await take(watcher), { event: 'requested', petition: { until: 0 } })
  await locks.proposals.settle(node, id, { by: ada })
  t.match(await take(watcher), { event: 'proposed', proposal: { until: 0 } })
})

t.test('an agent that a person asks leaves its text as a proposal, which at no moment is nowhere', async (t) => {
  const text = 'half a head'
  let isWatched = false
  const store = watchedStore(() => {
    if (!isWatched) return
    const items = [...store.items.values()]
    const hasSign = (id: string) => items.some((item) => isSigns(item) && item['proposals'].some((sign: Item) => sign['id'] === id))
    const places = items.filter((item) => item['payload'] === text && (!isText(item) || hasSign(item['fieldName'])))
    t.ok(places.length > 0)
  })
  const locks = instance(t, store)
  const acquired = await locks.acquire(node, { fieldName: 'title', userData: planner, payload: text }, { alone: true })
  isWatched = true
  t.match(await locks.petitions.file(node, { fieldName: 'title', userData: bob }), { outcome: 'unheld' })
  t.equal((await locks.drafts.list(node)).Count, 0)
  t.match(await locks.proposals.list(node), {
    Items: [
      { fieldName: 'title', payload: text, userData: { ...planner, ...marks }, base: acquired.outcome === 'acquired' && acquired.version }
    ],
    Count: 1
  })
})

t.test('where its text cannot be a proposal it stays a draft', async (t) => {
  const store = sickStore()
  const locks = instance(t, store)
  const handOver = async (fieldName: string, payload?: string) => {
    const content = payload === undefined ? {} : { payload }
    await locks.acquire(node, { fieldName, userData: planner, ...content }, { alone: true })
    t.match(await locks.petitions.file(node, { fieldName, userData: bob }), { outcome: 'unheld' })
  }
  const drafts = async () => (await locks.drafts.list(node)).Items.map(({ fieldName }) => fieldName).sort()

  store.fail((command, item) => isPut(command) && isText(item))
  await handOver('text', 'the store fails at the text')
  store.fail((command, item) => isPut(command) && isSigns(item))
  await handOver('sign', 'the store fails at the sign')
  store.heal()
  await handOver('long', 'x'.repeat(409_000))
  for (let count = 0; count < PROPOSALS_OF_FIELD; count++) {
    await locks.proposals.propose(node, { fieldName: 'full', userData: ada, payload: `${count}` })
  }
  await handOver('full', 'as many as may be are open')
  await handOver('empty')
  t.strictSame(await drafts(), ['full', 'long', 'sign', 'text'])
  t.equal((await locks.proposals.list(node, { uid: planner.uid })).Count, 0)

  store.fail(({ constructor: { name } }, item) => name === 'DeleteCommand' && item?.['env_entityType_entityId'].endsWith('#drafts'))
  await handOver('both', 'the draft cannot be dropped')
  store.heal()
  t.ok((await drafts()).includes('both'), 'twice is better than not at all')
  t.equal((await locks.proposals.list(node, { uid: planner.uid })).Count, 1)
})

t.test('what another program has in a lock of an agent stays a draft, unless it is a text', async (t) => {
  const store = memoryStore()
  const put = (fieldName: string, more: object) =>
    store.items.set(JSON.stringify(['test-node-1', fieldName]), {
      env_entityType_entityId: 'test-node-1',
      fieldName,
      timestamp: 5,
      version: 'v',
      userData: planner,
      ...more
    })
  put('body', { payload: { rich: 'text' } })
  put('title', { payload: 'x', userData: { ...planner, name: 'é'.repeat(256) } })
  const locks = instance(t, store)
  for (const fieldName of ['body', 'title']) {
    t.match(await locks.petitions.file(node, { fieldName, userData: bob }), { outcome: 'unheld' })
  }
  t.match(await locks.drafts.list(node), { Items: [{ fieldName: 'body' }], Count: 1 })
  t.strictSame(
    (await locks.proposals.list(node)).Items.map(({ userData }) => userData),
    [{ uid: planner.uid, ...marks }],
    'without a name that long'
  )
})
