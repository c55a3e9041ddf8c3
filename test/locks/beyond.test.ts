import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { GetCommand, PutCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { matchesWeakly } from '#lib/http/entity-tag.ts'
import { versionTag, listTag, versionsIn } from '#lib/locks/etag.ts'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import type { LockList } from '#lib/locks/schemas.ts'
import { createVersions } from '#lib/table/version.ts'
import { build } from '../helper.ts'
import { engineNames, needsDynoxide, startEngine } from './fixtures/engines.ts'
import { asClient, memoryStore, type Command } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const DAY = 86_400

for (const engine of engineNames) {
  t.test(`beyond the contract over ${engine}`, async (t) => {
    const { endpoint, client } = await startEngine(t, engine)
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
    const leased = await build(t, { DYNAMODB_ENDPOINT: endpoint, LOCK_LEASE_SECONDS: '60', DRAFT_DAYS: '2' })
    const stored = async (id: string, fieldName = 'title') =>
      (await client.send(new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: `test-node-${id}`, fieldName } }))).Item

    t.test('without a lease nothing says that a lock ends', async (t) => {
      const reply = await send(app, 'POST', 'forever', { fieldName: 'title', userData: ada })
      t.equal(reply.headers['lock-expires'], undefined)
      t.strictSame(Object.keys((await stored('forever'))!).sort(), [
        'env_entityType_entityId',
        'fieldName',
        'timestamp',
        'userData',
        'version'
      ])
    })

    t.test("with a lease POST and PUT say when the lock ends, by the server's clock", async (t) => {
      const before = Math.ceil(Date.now() / 1000)
      for (const [method, fieldName] of [
        ['POST', 'a'],
        ['PUT', 'b'],
        ['POST', 'a']
      ] as const) {
        const reply = await send(leased, method, 'leased', { fieldName, userData: ada, timestamp: 5, expiresAt: 6, version: 'mine' })
        t.equal(reply.body, '{"success":true}')
        const ends = Number(reply.headers['lock-expires'])
        t.ok(ends >= before + 60 && ends <= Math.ceil(Date.now() / 1000) + 60, method)
        t.match(await stored('leased', fieldName), { timestamp: 5, expiresAt: ends, removeAt: ends + 2 * DAY })
        t.equal(
          (await send(leased, 'POST', 'leased', { fieldName, userData: bob })).json().error.lock.expiresAt,
          ends,
          'and so does a refusal'
        )
      }
    })

    t.test("an expired lock is nobody's: not listed, free for POST, whatever the engine has cleaned up", async (t) => {
      let time = 1_700_000_000_300
      const locks = createLocks({ client, table: 'DataState', environment: 'lease', leaseSeconds: 10, time: fakeTime({ now: () => time }) })
      const at = { type: 'node', id: '1' }
      const take = (userData: typeof ada, payload?: string) =>
        locks.acquire(at, { fieldName: 'title', userData, ...(payload && { payload }) })
      t.match(await take(ada), { outcome: 'acquired', expiresAt: 1_700_000_011 })
      time = 1_700_000_010_999
      t.match(
        await take(bob),
        { outcome: 'held', lock: { userData: ada, expiresAt: 1_700_000_011 } },
        'it holds for no less than its lease'
      )
      t.equal((await locks.list(at)).Count, 1)
      time = 1_700_000_011_000
      t.match(await locks.list(at), { Items: [], Count: 0 })
      t.match(await locks.list(at, { fieldName: 'title' }), { Items: [], Count: 0 })
      t.match(await take(bob, 'of Bob'), { outcome: 'acquired', expiresAt: 1_700_000_021 })
      time += 9_000
      t.match(await take(bob, 'of Bob'), { outcome: 'acquired', expiresAt: 1_700_000_030 }, 'the holder renews')
      time += 9_000
      t.match(await take(ada), { outcome: 'held' }, 'a renewed lock holds on')
      time += 2_000
      t.match(await take(bob, 'again'), { outcome: 'acquired' }, 'nor is an expired lock lost to its holder when nobody wants it')
      time += 60_000
      t.match(await take(ada, 'of Ada'), { outcome: 'acquired' })
      t.match(await locks.drafts.list(at), { Items: [{ fieldName: 'title', payload: 'again', userData: bob, displacedBy: ada }], Count: 1 })
      time += 60_000
      await locks.release(at, { uid: '7' })
      t.match(await locks.acquire(at, { fieldName: 'title', userData: bob }, { alone: true }), { outcome: 'acquired' })
      time += 60_000
      t.match(
        await locks.acquire(at, { fieldName: 'title', userData: bob, payload: 'x' }, { alone: true }),
        { outcome: 'acquired' },
        "an expired lock is no other tab's"
      )
      time += 60_000
      t.match(await locks.acquire(at, { fieldName: 'title', userData: bob }, { alone: true }), { outcome: 'acquired' })
      t.equal((await locks.drafts.list(at, { uid: '8' })).Items[0]?.payload, 'x', 'whose text is kept all the same')
      time += 60_000
      const ifMatch = ['another']
      for (const userData of [ada, bob]) {
        t.strictSame(
          await locks.acquire(at, { fieldName: 'title', userData }, { ifMatch }),
          { outcome: 'changed' },
          'nor does it stand in the way of another version'
        )
      }
      t.strictSame(await locks.overwrite(at, { fieldName: 'title', userData: ada }, { ifMatch }), { outcome: 'changed' })
      t.strictSame(await locks.release(at, { fieldName: 'title' }, { ifMatch }), { outcome: 'changed' })
    })

    t.test('a user takes an expired lock of their own back through another instance, and leaves no draft', async (t) => {
      let time = 1_700_000_000_000
      const open = () =>
        createLocks({ client, table: 'DataState', environment: 'back', leaseSeconds: 2, time: fakeTime({ now: () => time }) })
      const at = { type: 'node', id: '1' }
      await open().acquire(at, { fieldName: 'title', userData: ada, payload: 'earlier' })
      // The first instance may still be waiting for its answer, so the quick condition refuses the second one.
      time += 3000
      t.match(await open().acquire(at, { fieldName: 'title', userData: ada, payload: 'now' }), { outcome: 'acquired' })
      t.match(await open().drafts.list(at), { Count: 0 })
    })

    t.test('a record of others with an expiry that is no number does not expire', async (t) => {
      const item = { env_entityType_entityId: 'test-node-odd', fieldName: 'title', expiresAt: '2020-01-01', userData: ada, payload: 'p' }
      await client.send(new PutCommand({ TableName: 'DataState', Item: item }))
      t.equal((await list(app, 'odd')).Count, 1)
      t.equal((await send(app, 'POST', 'odd', { fieldName: 'title', userData: bob })).statusCode, 423)
    })

    t.test('every write gives the record a new version, which ETag and GET tell', async (t) => {
      const seen = new Set<string>()
      for (const method of ['POST', 'PUT', 'POST', 'PUT'] as const) {
        const reply = await send(app, method, 'version', { fieldName: 'title', userData: ada })
        const [, version] = /^"([\w-]{16})"$/.exec(String(reply.headers.etag))!
        t.equal((await list(app, 'version')).Items[0].version, version)
        seen.add(version!)
      }
      t.equal(seen.size, 4)
    })

    t.test('If-Match lets a PUT through only if nobody has written since', async (t) => {
      const body = { fieldName: 'title', userData: ada, payload: 'of Ada' }
      const { etag: first } = (await send(app, 'POST', 'match', body)).headers
      const { etag: second } = (await send(app, 'PUT', 'match', body, { 'if-match': String(first) })).headers
      await refused(t, await send(app, 'PUT', 'match', body, { 'if-match': String(first) }), ada)
      await refused(t, await send(app, 'PUT', 'match', { fieldName: 'title', userData: bob }, { 'if-match': `W/${second}, nonsense` }), ada)
      const over = await send(
        app,
        'PUT',
        'match',
        { fieldName: 'title', userData: bob, payload: 'of Bob' },
        { 'if-match': `"other", ${second}` }
      )
      t.equal(over.statusCode, 200, 'nor does it matter who has written')
      await refused(t, await send(app, 'PUT', 'match', body, { 'if-match': String(second) }), bob)
      t.equal((await stored('match'))!['payload'], 'of Bob')
      t.equal((await send(app, 'PUT', 'match', body, { 'if-match': '*' })).statusCode, 200)
      const gone = await send(app, 'PUT', 'absent', body, { 'if-match': '*' })
      t.equal(gone.statusCode, 412)
      t.strictSame(
        gone.json().error,
        { name: 'ConditionalCheckFailedException', code: 'LOCK_CHANGED', message: 'The lock is not the one that was asked for' },
        'nobody holds what is not there'
      )
      await refused(t, await send(app, 'POST', 'match', body, { 'if-match': String(second) }), ada)
      t.equal(
        (await send(app, 'POST', 'match', { fieldName: 'title', userData: bob }, { 'if-match': String(second) })).statusCode,
        423,
        'another user is told that first'
      )
    })

    t.test('If-Match lets a DELETE through only if nobody has written since', async (t) => {
      const body = { fieldName: 'title', userData: ada, payload: 'of Ada' }
      const { etag: first } = (await send(app, 'POST', 'unmatch', body)).headers
      const { etag: second } = (await send(app, 'POST', 'unmatch', body)).headers
      for (const query of ['?fieldName=title', '?fieldName=title&uid=7', '?fieldName=title&uid=8']) {
        await refused(t, await send(app, 'DELETE', `unmatch${query}`, undefined, { 'if-match': String(first) }), ada)
      }
      const both = await send(app, 'DELETE', 'unmatch?uid=7', undefined, { 'if-match': String(second) })
      t.match([both.statusCode, both.json().message], [400, /If-Match needs fieldName/])
      t.equal(
        (await send(app, 'DELETE', 'unmatch?fieldName=title&uid=8', undefined, { 'if-match': String(second) })).body,
        '{"success":true}'
      )
      t.ok(await stored('unmatch'), "another's lock is left alone")
      for (const what of ['it goes', 'what is gone is released']) {
        t.equal(
          (await send(app, 'DELETE', 'unmatch?fieldName=title', undefined, { 'if-match': String(second) })).body,
          '{"success":true}',
          what
        )
      }
      t.equal(await stored('unmatch'), undefined)
      t.match((await send(app, 'GET', 'unmatch/drafts')).json().data, { Items: [{ payload: 'of Ada' }], Count: 1 })
    })

    t.test("If-None-Match: * refuses the same user's other tab", async (t) => {
      const alone = { 'if-none-match': '*' }
      const body = { fieldName: 'title', userData: { ...ada, tab: 1 }, payload: 'typed here' }
      t.equal((await send(app, 'POST', 'tabs', body, alone)).statusCode, 200)
      await refused(t, await send(app, 'POST', 'tabs', { fieldName: 'title', userData: { ...ada, tab: 2 } }, alone), { ...ada, tab: 1 })
      t.equal(
        (await send(app, 'POST', 'tabs', { fieldName: 'title', userData: bob }, alone)).statusCode,
        423,
        'another user is refused as ever'
      )
      t.equal((await send(app, 'POST', 'tabs', body)).statusCode, 200, 'without it the holder renews')
      const other = await send(app, 'POST', 'tabs', body, { 'if-none-match': '"x"' })
      t.match([other.statusCode, other.json().error.code], [400, 'BAD_REQUEST'])
      for (const [method, path] of [
        ['PUT', 'tabs'],
        ['DELETE', 'tabs?fieldName=title'],
        ['POST', 'tabs/release?fieldName=title']
      ] as const) {
        const { statusCode, json } = await send(app, method, path, method === 'PUT' ? { ...body, userData: bob } : undefined, alone)
        t.strictSame(
          [statusCode, json().error.message],
          [400, 'headers/if-none-match is taken only by reads and by the POST that locks a field'],
          method
        )
      }
      t.match((await stored('tabs'))!['userData'], ada, 'and changes nothing')
    })

    t.test('a page that closes releases by POST, with the parameters in the query or in the body', async (t) => {
      const release = (body: object | string | undefined, type: string | undefined, query = '') =>
        app.inject({
          method: 'POST',
          url: `/api/cloud/data-state/node/beacon/release${query}`,
          ...(body !== undefined && { body }),
          headers: { ...(type && { 'content-type': type }) }
        })
      const ways: Array<[body: object | string | undefined, type: string | undefined, query: string]> = [
        [undefined, undefined, '?uid=7'],
        [undefined, undefined, '?fieldName=title'],
        [{ uid: 7 }, 'application/json', ''],
        [{ fieldName: 'title', uid: '7' }, 'application/json', ''],
        ['{"uid":"7"}', 'text/plain;charset=UTF-8', ''],
        ['{"fieldName":"title"}', 'text/plain', ''],
        ['{"uid":"8"}', 'text/plain', '?uid=7'],
        ['', 'text/plain', '?uid=7']
      ]
      for (const [body, type, query] of ways) {
        await send(app, 'POST', 'beacon', { fieldName: 'title', userData: ada })
        const reply = await release(body, type, query)
        t.match([reply.statusCode, reply.body], [200, '{"success":true}'], `${query} ${String(body)}`)
        t.equal((await list(app, 'beacon')).Count, 0)
      }
      await send(app, 'POST', 'beacon', { fieldName: 'title', userData: ada })
      t.equal((await release('{"fieldName":"title","uid":"8"}', 'text/plain')).statusCode, 200)
      t.equal((await list(app, 'beacon')).Count, 1, "another's lock is left alone")
      const wrong: Array<[status: number, body: object | string | undefined, type: string | undefined]> = [
        [400, undefined, undefined],
        [400, '{}', 'text/plain'],
        [400, 'uid=7', 'text/plain'],
        [400, '[]', 'text/plain'],
        [400, '{"uid":""}', 'text/plain'],
        [400, { fieldName: 5 }, 'application/json'],
        [415, 'uid=7', 'application/x-www-form-urlencoded']
      ]
      for (const [status, body, type] of wrong) {
        t.match(
          (await release(body, type)).json(),
          { success: false, error: { code: status === 400 ? 'BAD_REQUEST' : 'UNSUPPORTED_MEDIA_TYPE' } },
          String(body)
        )
      }
      const elsewhere = await app.inject({
        method: 'POST',
        url: '/api/cloud/data-state/node/beacon',
        body: '{}',
        headers: { 'content-type': 'text/plain' }
      })
      t.equal(elsewhere.statusCode, 415, 'nowhere else is text taken')
      t.equal(elsewhere.json().message, 'Error: headers/content-type must be application/json')
      t.equal(
        (await release('uid=7', 'application/x-www-form-urlencoded')).json().message,
        'Error: headers/content-type must be application/json or text/plain'
      )
    })

    t.test('payload=0 leaves the payloads out, and If-None-Match is answered 304 while nothing changes', async (t) => {
      await send(leased, 'POST', 'poll', { fieldName: 'title', userData: ada, payload: 'long', timestamp: 1 })
      const { payload, removeAt, ...record } = (await stored('poll'))!
      t.strictSame(await list(app, 'poll', '?payload=0'), { Items: [record], Count: 1, ScannedCount: 1 })
      t.strictSame(await list(app, 'poll', '?payload=0&fieldName=title'), { Items: [record], Count: 1, ScannedCount: 1 })
      t.equal((await list(app, 'poll', '?payload=1')).Items[0].payload, 'long')
      t.equal((await send(app, 'GET', 'poll?payload=2')).statusCode, 400)

      for (const query of ['', '?payload=0', '?excludeUid=8']) {
        const first = await send(app, 'GET', `poll${query}`)
        const etag = String(first.headers.etag)
        t.match(etag, /^W\/"[\w-]{22}"$/)
        for (const known of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
          const second = await send(app, 'GET', `poll${query}`, undefined, { 'if-none-match': known })
          t.match([second.statusCode, second.body, second.headers.etag], [304, '', etag])
          const head = await send(app, 'HEAD', `poll${query}`, undefined, { 'if-none-match': known })
          t.match(
            [head.statusCode, head.headers.etag, head.headers['content-length']],
            [304, etag, first.headers['content-length']],
            'HEAD tells the length of the whole answer'
          )
        }
        await send(app, 'POST', 'poll', { fieldName: 'title', userData: ada, payload: 'longer', timestamp: 1 })
        const third = await send(app, 'GET', `poll${query}`, undefined, { 'if-none-match': etag })
        t.equal(third.statusCode, 200)
        t.not(third.headers.etag, etag)
      }
      const { etag } = (await send(app, 'GET', 'poll')).headers
      await send(app, 'DELETE', 'poll?uid=7')
      t.equal((await send(app, 'GET', 'poll', undefined, { 'if-none-match': String(etag) })).statusCode, 200)
    })
  })
}

t.test('entity tags are read and compared as HTTP has it', async (t) => {
  const version = 'Zm9vYmFyYmF6cXV4'
  t.strictSame(versionsIn(versionTag(version)), [version])
  t.strictSame(versionsIn(' "a" ,W/"b","c", d, "" '), ['a', 'c'])
  t.strictSame([versionsIn(' * '), versionsIn('W/"a"'), versionsIn('')], ['*', ['-'], ['-']])
  const tags = (length: number) => Array.from({ length }, (_, index) => `"${index}"`).join()
  t.equal((versionsIn(tags(100)) as string[]).length, 100)
  t.throws(() => versionsIn(tags(101)), { code: 'BAD_REQUEST', message: 'headers/if-match names 101 entity tags; at most 100 are taken' })
  t.strictSame(
    ['"a"', 'W/"a"', '"b", W/"a"', '*', '"b"', ''].map((tags) => matchesWeakly(tags, 'W/"a"')),
    [true, true, true, true, false, false]
  )
  const tag = (...Items: object[]) => listTag({ Items, Count: 0, ScannedCount: 0 } as unknown as LockList)
  t.equal(tag({ version, a: 1, b: 2 }), tag({ b: 2, version, a: 1 }), 'an engine keeps no order of members')
  t.equal(
    tag({ a: 1, userData: { uid: '7', list: [{ b: 1, c: null }, 2] } }),
    tag({ userData: { list: [{ c: null, b: 1 }, 2], uid: '7' }, a: 1 }),
    'nor of those of a record of others'
  )
  t.equal(
    new Set([tag(), tag({ version }), tag({ version: 'x' }), tag({ version }, { version }), tag({ a: 1 }), tag({ a: 2 })]).size,
    6,
    'a record of others counts with all it has'
  )
})

t.test('a request repeated because its answer was lost finds its own write', needsDynoxide, async (t) => {
  const { client } = await startEngine(t, 'dynoxide')
  const twice = {
    async send(command: PutCommand) {
      if (command.constructor.name === 'PutCommand') await client.send(command).catch(() => {})
      return client.send(command)
    }
  } as unknown as DynamoDBDocumentClient
  const locks = createLocks({ client: twice, table: 'DataState', environment: 'test' })
  const at = { type: 'node', id: '1' }
  const request = { fieldName: 'title', userData: ada, payload: 'p' }
  const first = await locks.acquire(at, request, { alone: true })
  t.equal(first.outcome, 'acquired')
  const second = await locks.overwrite(at, { ...request, userData: bob }, { ifMatch: [(first as { version: string }).version] })
  t.equal(second.outcome, 'acquired')
  t.equal((await locks.overwrite(at, request)).outcome, 'acquired')
})

t.test('a lock that expires while it is asked for is free', async (t) => {
  for (const alone of [true, false]) {
    const store = memoryStore()
    let time = 1_700_000_000_000
    const slow = asClient({
      async send(command) {
        const reply = store.send(command)
        time += 20
        return reply
      }
    })
    const locks = createLocks({
      client: slow,
      table: 'DataState',
      environment: 'test',
      leaseSeconds: 60,
      time: fakeTime({ now: () => time })
    })
    const at = { type: 'node', id: '1' }
    await locks.acquire(at, { fieldName: 'title', userData: ada })
    time = 1_700_000_059_990
    t.match(await locks.acquire(at, { fieldName: 'title', userData: bob }, { alone }), { outcome: 'acquired' })
  }
})

t.test('a DELETE that was refused for what is no longer so tries again', async (t) => {
  const store = memoryStore({ tells: false })
  let refusals = 0
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    client: asClient({
      async send(command) {
        if (command.constructor.name === 'DeleteCommand' && refusals-- > 0) {
          throw new ConditionalCheckFailedException({ message: 'refused', $metadata: {} })
        }
        return store.send(command)
      }
    })
  })
  const at = { type: 'node', id: '1' }
  for (const foreign of [false, true]) {
    for (const [uid, conditions] of [
      ['7', { ifMatch: '*' }],
      ['7', {}],
      [undefined, {}]
    ] as const) {
      await locks.acquire(at, { fieldName: 'title', userData: ada })
      if (foreign) for (const item of store.items.values()) delete item['version']
      refusals = 1
      await locks.release(at, { fieldName: 'title', ...(uid && { uid }) }, conditions)
      t.equal(store.items.size, 0, 'with a version or, of another writer, without one')
    }
  }
})

t.test('a write that reaches the store late, after it was repeated, undoes nothing that was answered since', async (t) => {
  const store = memoryStore()
  let time = 1_700_000_000_000
  let last: Command | undefined
  const client = asClient({
    async send(command) {
      if (command.input['ConditionExpression'] !== undefined) last ??= command
      return store.send(command)
    }
  })
  const [locks, slow] = [0, 5000].map((behind) =>
    createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ now: () => time - behind }) })
  ) as [Locks, Locks]
  const at = { type: 'node', id: '1' }
  const take = (userData: typeof ada, payload?: string) => ({ fieldName: 'title', userData, ...(payload !== undefined && { payload }) })
  const held = async () => (await locks.list(at)).Items.map(({ userData, payload }) => [userData.uid, payload])
  for (const [then, clock] of [
    [locks, 'the same instance'],
    [slow, 'an instance whose clock is behind']
  ] as const) {
    const late = async (left: unknown[], what: string) => {
      t.strictSame(await held(), left, `${what}, at ${clock}`)
      await t.rejects(store.send(last!), { name: 'ConditionalCheckFailedException' })
      t.strictSame(await held(), left, `${what}, and late, at ${clock}`)
      last = undefined
      time += 1000
      await locks.release(at, { fieldName: 'title' })
      last = undefined
    }
    await locks.acquire(at, take(ada, 'first letters'))
    t.equal((await then.acquire(at, take(ada, 'an hour of work'))).outcome, 'acquired')
    await late([['7', 'an hour of work']], 'a POST')

    await locks.overwrite(at, take(ada))
    t.equal((await then.overwrite(at, take(bob))).outcome, 'acquired')
    await late([['8', undefined]], 'a PUT')

    await locks.acquire(at, take(ada))
    last = undefined
    await locks.release(at, { fieldName: 'title', uid: '7' })
    await then.acquire(at, take(ada, 'anew'))
    if (then === locks) await late([['7', 'anew']], 'a DELETE')
    else await locks.release(at, { fieldName: 'title' })

    await locks.acquire(at, take(ada, 'older'))
    t.strictSame(await then.release(at, { fieldName: 'title', uid: '7' }), { outcome: 'released' })
    t.strictSame(await held(), [], `a release, at ${clock}`)
    last = undefined
  }
})

t.test('a version is greater than all before it, whatever came before', async (t) => {
  let time = 1_700_000_000_000
  const next = createVersions(fakeTime({ now: () => time }))
  const versions: string[] = []
  for (let count = 0; count < 300; count++) {
    versions.push(next())
    if (count % 100 === 50) time += 1
    if (count === 200) time -= 10_000
  }
  t.strictSame(
    versions.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    versions
  )
  t.ok(versions.every((version) => /^[\w-]{16}$/.test(version)))
  const ahead = createVersions(fakeTime({ now: () => time + 60_000 }))()
  t.ok(next(ahead) > ahead, "another's, of a clock that is ahead")
  for (const old of ['zzzzzzzzzzzzzzzz', undefined, 7, 'ü']) {
    t.equal(next(old).slice(0, 3), ahead.slice(0, 3), 'what tells no time moves none')
  }
})

async function refused(t: Test, reply: Awaited<ReturnType<FastifyInstance['inject']>>, userData: object): Promise<void> {
  t.equal(reply.statusCode, 412)
  const {
    error: {
      lock: { timestamp, ...lock },
      ...error
    },
    ...rest
  } = reply.json()
  t.strictSame(rest, { success: false, message: 'Error: The lock is not the one that was asked for' })
  t.strictSame(error, {
    name: 'ConditionalCheckFailedException',
    code: 'LOCK_CHANGED',
    message: 'The lock is not the one that was asked for'
  })
  t.strictSame(lock, { fieldName: 'title', userData }, 'the present holder, without the payload')
}

function send(
  app: FastifyInstance,
  method: 'POST' | 'PUT' | 'GET' | 'HEAD' | 'DELETE',
  id: string,
  body?: object,
  headers: Record<string, string> = {}
) {
  return app.inject({ method, url: `/api/cloud/data-state/node/${id}`, headers, ...(body && { body }) })
}

async function list(app: FastifyInstance, id: string, query = '') {
  return (await send(app, 'GET', id + query)).json().data
}
