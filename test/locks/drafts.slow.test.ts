import { isDeepStrictEqual } from 'node:util'
import { GetCommand, PutCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import { MARGIN, recordOf } from '#lib/locks/record.ts'
import { ITEM_LIMIT, itemSize } from '#lib/table/item.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from './fixtures/engines.ts'
import { asClient, memoryStore, type Command, type Item } from './fixtures/memory-store.ts'
import { randomOf, scheduled } from './fixtures/schedule.ts'
import { fakeTime } from '../fixtures/time.ts'

const at = { type: 'node', id: '1' }
const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const DAY = 86_400
const LATER = 1_800_000_000_000

/** Everything that takes a lock with a text from its owner; the lock of the last has expired by then. */
const displacing: Record<string, (locks: Locks) => Promise<{ outcome: string }>> = {
  'PUT by another user': (locks) => locks.overwrite(at, { fieldName: 'title', userData: bob, payload: 'of Bob' }),
  'PUT by another user with If-Match': (locks) => locks.overwrite(at, { fieldName: 'title', userData: bob }, { ifMatch: '*' }),
  'DELETE without a uid': (locks) => locks.release(at, { fieldName: 'title' }),
  'DELETE without a uid with If-Match': (locks) => locks.release(at, { fieldName: 'title' }, { ifMatch: '*' }),
  'POST on an expired lock': (locks) => locks.acquire(at, { fieldName: 'title', userData: bob, payload: 'of Bob' }),
  "POST on an expired lock that is nobody else's": (locks) => locks.acquire(at, { fieldName: 'title', userData: bob }, { alone: true })
}

for (const engine of engineNames) {
  t.test(`drafts over ${engine}`, async (t) => {
    const { client, endpoint } = await startEngine(t, engine)
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, ENVIRONMENT: 'web' })
    let environments = 0
    const texts = async (environment: string, now = () => LATER) => {
      const locks = createLocks({ client, table: 'DataState', environment, time: fakeTime({ now }) })
      const { Item } = await client.send(
        new GetCommand({
          TableName: 'DataState',
          Key: { env_entityType_entityId: `${environment}-node-1`, fieldName: 'title' },
          ConsistentRead: true
        })
      )
      return { record: Item?.['payload'], drafts: (await locks.drafts.list(at)).Items.map(({ payload }) => payload) }
    }

    t.test("the text of a lock that another user takes over or releases is kept, its owner's own changes are not", async (t) => {
      const url = '/api/cloud/data-state/node/1'
      const send = (method: 'POST' | 'PUT' | 'DELETE', query: string, userData?: object, payload?: string) =>
        app.inject({
          method,
          url: url + query,
          ...(userData && { body: { fieldName: 'title', userData, timestamp: 5, ...(payload !== undefined && { payload }) } })
        })
      const drafts = async (query = '') => (await app.inject(`${url}/drafts${query}`)).json()
      t.strictSame(await drafts(), { success: true, data: { Items: [], Count: 0 } })
      const { etag } = (await send('POST', '', { ...ada, constructor: 'x', deep: [{ a: null }] }, 'first')).headers
      await send('PUT', '', { ...ada, constructor: 'x', deep: [{ a: null }] }, 'second')
      await send('DELETE', '?fieldName=title&uid=8')
      t.equal((await drafts()).data.Count, 0)
      const second = (await app.inject(url)).json().data.Items[0].version
      t.not(etag, `"${second}"`)
      const before = Math.floor(Date.now() / 1000)
      await send('PUT', '', { ...bob, avatar: 'b.png' }, 'of Bob')
      const { success, data } = await drafts()
      const [{ id, displacedAt, ...draft }] = data.Items
      t.equal(id, second)
      t.ok(success && displacedAt >= before && displacedAt <= Date.now() / 1000)
      // Not tap's comparison, which asks an object's member `constructor` for its class.
      t.ok(
        isDeepStrictEqual(draft, {
          fieldName: 'title',
          timestamp: 5,
          userData: { ...ada, constructor: 'x', deep: [{ a: null }] },
          payload: 'second',
          version: second,
          displacedBy: bob
        }),
        'who had it, with all members, and who has it now'
      )
      await send('DELETE', '?fieldName=title')
      t.match(
        (await drafts()).data.Items.find(({ payload }: { payload: string }) => payload === 'of Bob'),
        { userData: bob, displacedBy: undefined },
        'released by nobody in particular'
      )
      await send('POST', '', ada, 'third')
      await send('DELETE', '?uid=7')
      await send('POST', '', ada)
      await send('PUT', '', bob)
      await send('DELETE', '?fieldName=title')
      t.equal((await drafts()).data.Count, 2, 'what its owner releases is not kept, nor is what has no text')

      await app.inject({ method: 'POST', url, body: { fieldName: 'body', userData: ada, payload: 'a body' } })
      await app.inject({ method: 'DELETE', url: `${url}?fieldName=body` })
      for (const [query, count] of [
        ['', 3],
        ['?uid=7', 2],
        ['?fieldName=title', 2],
        ['?fieldName=title&uid=7', 1],
        ['?fieldName=none', 0],
        ['?uid=9', 0]
      ] as const) {
        t.equal((await drafts(query)).data.Count, count, query)
      }
      for (const path of ['', '?fieldName=title', '?uid=7']) {
        t.equal((await app.inject(url + path)).json().data.Count, 0, 'drafts never show among the locks')
      }

      await send('POST', '', ada, 'fourth')
      await send('DELETE', '?fieldName=title')
      const { id: fourth } = (await drafts()).data.Items.find(({ payload }: { payload: string }) => payload === 'fourth')
      t.match((await drafts(`?draft=${fourth}`)).data, { Items: [{ payload: 'fourth' }], Count: 1 })
      t.equal((await drafts('?draft=none')).data.Count, 0)
      const discard = (query: string) => app.inject({ method: 'DELETE', url: `${url}/drafts${query}` })
      for (const query of [`?uid=8&draft=${fourth}`, `?fieldName=none&draft=${fourth}`, '?uid=7&draft=none']) {
        t.equal((await discard(query)).body, '{"success":true}')
        t.equal((await drafts()).data.Count, 4, query)
      }
      t.match((await discard(`?draft=${fourth}`)).json(), {
        error: { code: 'BAD_REQUEST', message: 'querystring must have fieldName or uid' }
      })
      t.match((await discard('?uid=7&draft=')).json(), {
        error: { code: 'BAD_REQUEST', message: 'querystring/draft must NOT have fewer than 1 characters' }
      })
      await discard(`?fieldName=title&uid=7&draft=${fourth}`)
      t.notOk((await drafts()).data.Items.some(({ payload }: { payload: string }) => payload === 'fourth'))
      t.equal((await drafts('?fieldName=title&uid=7')).data.Count, 1, 'the other one of the field is left')

      t.match((await app.inject({ method: 'DELETE', url: `${url}/drafts` })).json(), {
        success: false,
        error: { code: 'BAD_REQUEST', message: 'querystring must have fieldName or uid' }
      })
      for (const [query, left] of [
        ['?uid=9', 3],
        ['?fieldName=title&uid=7', 2],
        ['?fieldName=title', 1],
        ['?uid=7', 0],
        ['?uid=7', 0]
      ] as const) {
        t.equal((await app.inject({ method: 'DELETE', url: `${url}/drafts${query}` })).body, '{"success":true}')
        t.equal((await drafts()).data.Count, left, query)
      }
    })

    t.test('drafts come with the newest first and are not shown when their days are over', async (t) => {
      let time = LATER
      const locks = createLocks({ client, table: 'DataState', environment: 'old', draftDays: 2, time: fakeTime({ now: () => time }) })
      for (const payload of ['one', 'two']) {
        await locks.overwrite(at, { fieldName: 'title', userData: ada, payload })
        await locks.overwrite(at, { fieldName: 'title', userData: bob })
        time += DAY * 1000
      }
      const payloads = async () => (await locks.drafts.list(at)).Items.map(({ payload }) => payload)
      t.strictSame(await payloads(), ['two'])
      time -= 1000
      t.strictSame(await payloads(), ['two', 'one'])
      time += 3 * DAY * 1000
      t.strictSame(await payloads(), [])

      const times = [...'abcdef']
      for (const payload of times) {
        await locks.overwrite(at, { fieldName: 'title', userData: ada, payload })
        await locks.overwrite(at, { fieldName: 'title', userData: bob })
        time += 1
      }
      t.strictSame(await payloads(), times.toReversed(), 'also those of one second')
      t.ok(
        (await locks.drafts.list(at)).Items.every(({ displacedAt }) => displacedAt === Math.floor(time / 1000)),
        'which tell the second'
      )
    })

    t.test('the text of an expired lock is a draft before anybody takes the field', async (t) => {
      let time = LATER
      const options = { table: 'DataState', environment: 'left', leaseSeconds: 60, draftDays: 2, time: fakeTime({ now: () => time }) }
      const locks = createLocks({ ...options, client })
      /** The same, while something happens before the first command of a name, or once one has been done. */
      const during = (when: 'before' | 'after', name: string, happens: () => Promise<unknown>) => {
        let happened = false
        const first = async () => {
          if (happened) return
          happened = true
          await happens()
        }
        return createLocks({
          ...options,
          client: asClient({
            async send(command) {
              const meant = command.constructor.name === name
              if (meant && when === 'before') await first()
              const output = await client.send(command as never)
              if (meant && when === 'after') await first()
              return output
            }
          })
        })
      }
      const crash = async () => {
        throw new Error('the process has ended')
      }
      const shown = async (query = {}, from = locks) =>
        (await from.drafts.list(at, query)).Items.map(({ fieldName, payload, displacedBy }) => [fieldName, payload, displacedBy?.uid])
      await locks.acquire(at, { fieldName: 'title', userData: ada, timestamp: 5, payload: 'of Ada' })
      await locks.acquire(at, { fieldName: 'empty', userData: ada })
      await locks.acquire(at, { fieldName: 'lead', userData: ada, payload: 'of Ada too' })
      time += 10_000
      await locks.acquire(at, { fieldName: 'body', userData: bob, payload: 'of Bob' })
      t.strictSame(await shown(), [], 'a lock that holds is none')
      const {
        Items: [held]
      } = await locks.list(at, { fieldName: 'title' })
      time += 60_000
      t.strictSame(
        await shown(),
        [
          ['body', 'of Bob', undefined],
          ['lead', 'of Ada too', undefined],
          ['title', 'of Ada', undefined]
        ],
        'the newest first'
      )
      t.strictSame(await shown({ uid: '7' }), [
        ['lead', 'of Ada too', undefined],
        ['title', 'of Ada', undefined]
      ])
      t.strictSame(await shown({ fieldName: 'body', uid: '7' }), [])
      t.strictSame(await locks.drafts.list(at, { fieldName: 'title' }), {
        Items: [
          {
            id: held!.version,
            fieldName: 'title',
            timestamp: 5,
            userData: ada,
            payload: 'of Ada',
            version: held!.version,
            displacedAt: LATER / 1000 + 60
          }
        ],
        Count: 1
      })

      for (const query of [{ uid: '7' }, { fieldName: 'title', uid: '7' }]) await locks.release(at, query)
      t.strictSame(
        await shown({ uid: '7' }),
        [
          ['lead', 'of Ada too', undefined],
          ['title', 'of Ada', undefined]
        ],
        'and is none that her release takes with it'
      )

      await t.rejects(during('after', 'PutCommand', crash).overwrite(at, { fieldName: 'title', userData: bob }))
      t.strictSame(await shown({ fieldName: 'title' }), [['title', 'of Ada', '8']], 'one that somebody was about to displace is shown once')
      const displaced = () => locks.overwrite(at, { fieldName: 'lead', userData: bob })
      t.strictSame(
        await shown({ fieldName: 'lead' }, during('after', 'QueryCommand', displaced)),
        [['lead', 'of Ada too', '8']],
        'and so is one that is displaced meanwhile'
      )

      const renewed = () => locks.acquire(at, { fieldName: 'body', userData: bob, payload: 'of Bob, and more' })
      await during('before', 'DeleteCommand', renewed).drafts.discard(at, { fieldName: 'body' })
      t.match(
        (await locks.list(at, { fieldName: 'body' })).Items,
        [{ payload: 'of Bob, and more' }],
        'a lock that is renewed meanwhile is not discarded'
      )
      time += 60_000
      await locks.drafts.discard(at, { uid: '8', draft: held!.version! })
      t.equal((await shown()).length, 3)
      for (const draft of [held!.version!, undefined]) await locks.drafts.discard(at, { uid: '7', ...(draft !== undefined && { draft }) })
      t.strictSame(await shown(), [['body', 'of Bob, and more', undefined]])
      time += 2 * DAY * 1000 - 1000
      t.equal((await shown()).length, 1)
      time += 1000
      t.strictSame(await shown(), [], 'its days are over')

      const { version } = (await locks.acquire(at, { fieldName: 'title', userData: ada, payload: 'once more' })) as { version: string }
      time += 60_000
      for (const [ifMatch, outcome, left] of [
        ['an older one', 'changed', ['once more']],
        [version, 'released', []]
      ] as const) {
        t.match(await locks.release(at, { fieldName: 'title', uid: '7' }, { ifMatch: [ifMatch] }), { outcome })
        t.strictSame(
          (await shown()).map(([, payload]) => payload),
          left,
          "whose version is named goes with its owner's release"
        )
      }
    })

    t.test('a draft fits whenever its lock did, the longest names and keys included', async (t) => {
      const locks = createLocks({
        client,
        table: 'DataState',
        environment: 'fit',
        leaseSeconds: 31_536_000,
        time: fakeTime({ now: () => LATER - 1 })
      })
      for (const [fieldName, displacer] of [
        ['🔑'.repeat(255), { uid: '8'.repeat(128), name: '' }],
        ['a', { uid: '8', name: 'x'.repeat(127) }],
        ['b', { uid: '8', name: 'x'.repeat(128) }],
        ['c', { uid: 'é'.repeat(65) }],
        ['d', { uid: 'é'.repeat(200), name: 'Bob' }]
      ] as const) {
        const request = { fieldName, userData: ada, timestamp: 1, payload: '' }
        const room = ITEM_LIMIT - MARGIN - itemSize(recordOf('fit-node-1', request, 0))
        t.equal((await locks.acquire(at, { ...request, payload: 'x'.repeat(room) })).outcome, 'acquired')
        await t.rejects(locks.overwrite(at, { ...request, payload: 'x'.repeat(room + 1) }), { code: 'TOO_LARGE' })
        t.equal((await locks.overwrite(at, { fieldName, userData: displacer })).outcome, 'acquired')
        const {
          Items: [draft]
        } = await locks.drafts.list(at, { fieldName })
        t.equal(draft?.payload.length, room)
        t.equal(draft?.fieldName, fieldName)
        const { uid, name } = displacer as { uid: string; name?: string }
        t.same(
          draft?.displacedBy,
          Buffer.byteLength(uid) > 128
            ? { uid: `${'é'.repeat(62)}…` }
            : { uid, ...(name !== undefined && uid.length + name.length <= 128 && { name }) }
        )
      }
    })

    t.test('records of others are kept and replaced too', async (t) => {
      const locks = createLocks({ client, table: 'DataState', environment: 'others', time: fakeTime({ now: () => LATER }) })
      const odd: Item[] = [
        { payload: 'a' },
        { payload: 'b', userData: 'nobody', timestamp: 'x' },
        { payload: 'c', userData: { uid: 5, tags: new Set(['x']), bytes: new Uint8Array([1]), none: null } },
        { payload: 'd', expiresAt: 1 },
        { payload: 'e', timestamp: 12345678901234567890n }
      ]
      for (const item of odd) {
        await client.send(
          new PutCommand({ TableName: 'DataState', Item: { env_entityType_entityId: 'others-node-1', fieldName: 'title', ...item } })
        )
        t.equal(
          (item['expiresAt']
            ? await locks.acquire(at, { fieldName: 'title', userData: bob })
            : await locks.overwrite(at, { fieldName: 'title', userData: bob })
          ).outcome,
          'acquired'
        )
      }
      const { Items } = await locks.drafts.list(at)
      t.strictSame(Items.map(({ payload }) => payload).sort(), ['a', 'b', 'c', 'd', 'e'])
      t.equal(
        String(Items.find(({ payload }) => payload === 'e')?.timestamp),
        '12345678901234567890',
        'a number that JavaScript does not hold, as it was'
      )
      for (const [index, { id }] of Items.entries()) {
        await locks.drafts.discard(at, { fieldName: 'title', draft: id })
        t.strictSame((await locks.drafts.list(at)).Items, Items.slice(index + 1))
      }
    })

    t.test('at no point of a crash is a text in neither place, and calling again finishes the work', async (t) => {
      let points = 0
      for (const [what, operation] of Object.entries(displacing)) {
        for (const when of ['before', 'after'] as const) {
          for (let calls = 1, crashed = true; crashed; calls++) {
            const environment = `crash-${environments++}`
            const expired = what.includes('expired')
            const options = { table: 'DataState', environment, time: fakeTime({ now: () => LATER }) }
            await createLocks({
              ...options,
              client,
              leaseSeconds: 1,
              time: fakeTime({ now: () => (expired ? LATER - 60_000 : LATER) })
            }).acquire(at, {
              fieldName: 'title',
              userData: ada,
              payload: 'of Ada'
            })
            crashed = false
            let count = 0
            const crashing = {
              async send(command: GetCommand) {
                if (++count < calls) return client.send(command)
                crashed = true
                if (when === 'after') await client.send(command).catch(() => {})
                throw new Error('the process has ended')
              }
            } as unknown as DynamoDBDocumentClient
            const outcome = await operation(createLocks({ ...options, client: crashing })).then(
              ({ outcome }) => outcome,
              () => 'crashed'
            )
            const { record, drafts } = await texts(environment)
            t.ok(record === 'of Ada' || drafts.includes('of Ada'), `${what}: ${when} call ${calls}`)
            if (record === 'of Ada' && !expired) {
              t.strictSame(drafts, [], `${what}: ${when} call ${calls}: what its holder has still is no draft`)
            }
            points++
            t.equal(outcome, crashed ? 'crashed' : outcome === 'released' ? 'released' : 'acquired')
            await operation(createLocks({ ...options, client }))
            const later = await texts(environment)
            t.not(later.record, 'of Ada')
            if (!(what.includes('If-Match') && later.record === undefined && drafts.length === 0)) t.ok(later.drafts.includes('of Ada'))
          }
        }
      }
      t.comment(`${points} points`)
      t.ok(points >= 6 * 2 * 3)
    })
  })
}

t.test("the holder's own writes stay one request to the store, and so does what displaces no text", async (t) => {
  const { send: deliver } = memoryStore()
  const names: string[] = []
  let time = LATER
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ now: () => time }),
    client: asClient({
      send(command: Command) {
        names.push(command.constructor.name)
        return deliver(command)
      }
    })
  })
  const own = { fieldName: 'title', userData: ada, payload: 'text' }
  await locks.acquire(at, own)
  await locks.acquire(at, own)
  await locks.overwrite(at, own)
  await locks.release(at, { fieldName: 'title', uid: '7' })
  await locks.overwrite(at, { fieldName: 'title', userData: ada })
  time += 9000
  await locks.overwrite(at, { fieldName: 'title', userData: bob })
  await locks.release(at, { fieldName: 'title' })
  t.strictSame(names.splice(0), ['PutCommand', 'PutCommand', 'PutCommand', 'DeleteCommand', 'PutCommand', 'PutCommand', 'DeleteCommand'])
  await locks.acquire(at, own)
  await locks.overwrite(at, { fieldName: 'title', userData: bob, payload: 'text' })
  t.strictSame(
    names,
    ['PutCommand', 'PutCommand', 'PutCommand', 'QueryCommand', 'PutCommand'],
    'a takeover asks, keeps, looks for drafts to trim, and replaces'
  )
})

type Operation = (locks: Locks, text: string) => Promise<{ outcome: string }>

const operations: Array<[uid: string, Operation]> = [
  ['7', (locks, payload) => locks.acquire(at, { fieldName: 'title', userData: ada, payload })],
  ['7', (locks, payload) => locks.overwrite(at, { fieldName: 'title', userData: ada, payload })],
  ['7', (locks, payload) => locks.overwrite(at, { fieldName: 'title', userData: ada, payload }, { ifMatch: '*' })],
  ['7', (locks) => locks.release(at, { fieldName: 'title', uid: '7' })],
  ['7', (locks) => locks.release(at, { uid: '7' })],
  ['8', (locks, payload) => locks.acquire(at, { fieldName: 'title', userData: bob, payload })],
  ['8', (locks, payload) => locks.acquire(at, { fieldName: 'title', userData: bob, payload }, { alone: true })],
  ['8', (locks, payload) => locks.overwrite(at, { fieldName: 'title', userData: bob, payload })],
  ['9', (locks, payload) => locks.overwrite(at, { fieldName: 'title', userData: { uid: '9' }, payload })],
  ['9', (locks) => locks.overwrite(at, { fieldName: 'title', userData: { uid: '9' } }, { ifMatch: '*' })],
  ['', (locks) => locks.release(at, { fieldName: 'title' })],
  ['', (locks) => locks.release(at, { fieldName: 'title' }, { ifMatch: '*' })]
]

/**
 * Two or three operations on one lock, interleaved call by call by the seed, one of them perhaps killed at one.
 * @param change what becomes of each command on its way to the store
 * @returns the texts that were lost: in neither place after a step of somebody who did not own them
 */
async function interleaved(seed: number, change: (command: Command) => Command | undefined = (command) => command): Promise<string[]> {
  const random = randomOf(seed)
  const { items, send } = memoryStore({ tells: random() < 0.5 })
  const schedule = scheduled(
    {
      send: async (command) => {
        const changed = change(command)
        return changed ? send(changed) : {}
      }
    },
    random
  )
  const options = { table: 'DataState', environment: 'test', time: fakeTime({ now: () => LATER, wait: async () => {} }) }
  const expired = random() < 0.4
  await createLocks({
    ...options,
    client: asClient({ send }),
    leaseSeconds: 1,
    time: fakeTime({ ...options.time, now: () => (expired ? LATER - 60_000 : LATER) })
  }).acquire(at, { fieldName: 'title', userData: ada, payload: 'text 0' })

  const record = () => items.get('["test-node-1","title"]')
  const lost: string[] = []
  const acknowledged: string[] = ['text 0']
  const seen = new Set(acknowledged)
  let before = record()
  for (let count = 0, many = 2 + Math.floor(random() * 2); count < many; count++) {
    const [uid, operation] = operations[Math.floor(random() * operations.length)]!
    const text = `text ${count + 1}`
    const locks = createLocks({ ...options, client: asClient(schedule.of(uid)) })
    operation(locks, text).then(
      ({ outcome }) => {
        if (outcome === 'acquired' && operation.toString().includes('payload')) acknowledged.push(text)
      },
      (error) => lost.push(String(error))
    )
  }
  const killed = random() < 0.3 ? Math.floor(random() * 6) : -1
  let step = 0
  await schedule.run({
    dies: () => (step++ === killed ? (random() < 0.5 ? 'before' : 'after') : undefined),
    afterStep(uid) {
      const now = record()
      if (now?.['payload'] !== undefined) seen.add(now['payload'])
      const text = before?.['payload']
      if (
        text !== undefined &&
        now?.['version'] !== before!['version'] &&
        before!['userData'].uid !== uid &&
        ![...items.values()].some((item) => item['payload'] === text)
      ) {
        lost.push(text)
      }
      before = now
    }
  })
  return [...lost, ...acknowledged.filter((text) => !seen.has(text))]
}

t.test('in 2000 interleavings of two or three operations no acknowledged text is missing', async (t) => {
  for (let seed = 1; seed <= 2000; seed++) {
    const lost = await interleaved(seed)
    if (lost.length > 0) t.fail(`seed ${seed} loses ${lost.join()}`)
  }
  t.pass('none is missing')
})

t.test('the same without the version in the condition, or without the draft, loses some', async (t) => {
  const unversioned = (command: Command) => ({
    constructor: command.constructor,
    input: {
      ...command.input,
      ConditionExpression: command.input['ConditionExpression']?.replace('#version = :version', 'attribute_exists(#version)')
    }
  })
  const draftless = (command: Command) => (String(command.input['Item']?.env_entityType_entityId).endsWith('#drafts') ? undefined : command)
  for (const [what, change] of Object.entries({ unversioned, draftless })) {
    let lossy = 0
    for (let seed = 1; seed <= 300; seed++) if ((await interleaved(seed, change)).some((text) => text.startsWith('text '))) lossy++
    t.comment(`${what}: ${lossy} of 300 lose a text`)
    t.ok(lossy > 10, what)
  }
})

t.test('a PUT that never finds the lock as it was a moment ago gives up and says so', async (t) => {
  const store = memoryStore()
  const options = { table: 'DataState', environment: 'test', time: fakeTime({ wait: async () => {} }) }
  const owner = createLocks({ ...options, client: asClient(store) })
  await owner.acquire(at, { fieldName: 'title', userData: ada, payload: 'text' })
  const racing = createLocks({
    ...options,
    client: asClient({
      async send(command) {
        if (command.input['ConditionExpression']) await owner.acquire(at, { fieldName: 'title', userData: ada, payload: 'text' })
        return store.send(command)
      }
    })
  })
  const giveUp = { code: 'STORE_UNAVAILABLE', message: /changes hands too fast/ }
  await t.rejects(racing.overwrite(at, { fieldName: 'title', userData: bob }), giveUp)
  await t.rejects(racing.release(at, { fieldName: 'title' }), giveUp)
})
