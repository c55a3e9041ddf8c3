import { hash } from 'node:crypto'
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import { unansweredBy } from '#lib/table/fence.ts'
import { contentModel } from '#lib/editions/model.ts'
import { Failure } from '#lib/errors.ts'
import { newCaller } from '#lib/http/calls.ts'
import { createUpserts, type UpsertsDeps } from '#lib/saves/upserts.ts'
import { asClient, memoryStore, type Command, type Item, type Send } from '../locks/fixtures/memory-store.ts'
import { type Faked, steppedTime } from '../fixtures/time.ts'

const START = Date.UTC(2026, 10, 23)

interface Row {
  uuid: string
  body: Record<string, any>
}

/** A site in memory, a table whose commands can be altered, and instances that share both. */
function newsroom(changes: object = {}) {
  const store = memoryStore()
  const clock = { now: START }
  const rows: Row[] = []
  const desk = {
    alter: undefined as ((command: Command) => Promise<Item> | undefined) | undefined,
    creating: async () => {},
    isHidden: false
  }
  const send: Send = {
    async send(command) {
      return (await desk.alter?.(command)) ?? store.send(command)
    }
  }
  const textOf = ({ uuid }: Row) => ({ json: '{}', etag: '"t"', id: '1', uuid })
  const editions = {
    bundles: async () => [{ id: 'daily', label: 'Daily' }],
    types: async () => [{ id: 'extra', label: 'Extra' }],
    search: async () => ({ rows: desk.isHidden ? [] : rows.map(({ uuid }) => ({ id: '1', uuid })) }),
    async bare(uuid: string) {
      const row = rows.find((row) => row.uuid === uuid)
      if (!row) throw new Failure('NOT_FOUND', 'no')
      return row.body
    },
    async create(body: Record<string, any>) {
      await desk.creating()
      const row = { uuid: body['uuid'][0].value, body }
      rows.push(row)
      return { ...textOf(row), isNew: true }
    },
    update: async (uuid: string, body: object) => ({ ...textOf({ uuid, body }), isShared: true })
  }
  const instance = ({ time, ...deps }: Faked<UpsertsDeps> = {}) =>
    createUpserts({
      client: asClient(send),
      table: 'DataState',
      environment: 'test',
      editions: editions as never,
      model: contentModel(changes),
      time: steppedTime(clock, time),
      ...deps
    })
  return { store, clock, rows, desk, editions, instance }
}

const lost = () => unansweredBy(new Error('socket hang up'))

t.test('two editions that have the key already are a conflict', async (t) => {
  const { rows, instance } = newsroom()
  rows.push({ uuid: 'a', body: {} }, { uuid: 'b', body: {} })
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'CONFLICT', details: { uuid: 'a' } })
})

t.test('an edition type is a name for its editions too', async (t) => {
  const { rows, instance } = newsroom()
  t.match(await instance().upsert('extra', 'k', { field_publisher_edition_type: [{ value: 'extra' }] }, newCaller()), { isNew: true })
  t.match(rows[0]!.body, { field_publisher_edition_type: [{ value: 'extra' }], field_key: [{ value: 'k' }] })
  await t.rejects(instance().upsert('extra', 'k', { field_publisher_edition_type: [{ value: 'daily' }] }, newCaller()), {
    code: 'UNPROCESSABLE'
  })
  await t.rejects(
    newsroom({ fields: { editionType: null } })
      .instance()
      .upsert('extra', 'k', {}, newCaller()),
    { code: 'NOT_FOUND' }
  )
})

t.test('the key may have a property of another name, and the entity type no bundles', async (t) => {
  const { rows, instance } = newsroom({ keys: { bundle: null }, mainProperty: { field_key: 'code' } })
  await instance().upsert('daily', 'k', { field_key: [{ code: 'k' }] }, newCaller())
  t.strictSame(Object.keys(rows[0]!.body), ['field_key', 'uuid'])
  t.strictSame(rows[0]!.body['field_key'], [{ code: 'k' }])
})

t.test('a body may name the uuid of the edition to be', async (t) => {
  const { rows, instance } = newsroom()
  const uuid = 'a1c0ffee-0000-4000-8000-000000000901'
  await instance().upsert('daily', 'k', { uuid: [{ value: uuid }] }, newCaller())
  t.equal(rows[0]!.uuid, uuid)
})

t.test('an upsert waits for another instance, but not for ever', async (t) => {
  const { rows, desk, instance } = newsroom()
  const [started, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  desk.creating = () => {
    started.resolve()
    return ended.promise
  }
  const first = instance().upsert('daily', 'k', {}, newCaller())
  await started.promise
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'EDITION_BUSY' })
  let looks = 0
  const second = instance({
    time: {
      wait: async () => {
        if (++looks === 2) {
          ended.resolve()
          await first
        }
      }
    }
  }).upsert('daily', 'k', {}, newCaller())
  t.match(await second, { isNew: false })
  t.equal(rows.length, 1)
})

t.test('what was created after this call looked for it is changed, though it is not found yet', async (t) => {
  const { rows, desk, instance } = newsroom()
  await instance().upsert('daily', 'k', {}, newCaller())
  desk.isHidden = true
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: false, uuid: rows[0]!.uuid })
  rows[0]!.body['field_key'] = [{ value: 'another' }]
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: true })
  t.equal(rows.length, 2, 'unless it has another key by now')
})

t.test("a reservation that is taken over by two is one's", async (t) => {
  const { store, desk, instance } = newsroom()
  await instance().upsert('daily', 'k', {}, newCaller())
  const [record] = [...store.items.values()]
  desk.isHidden = true
  let count = 0
  desk.alter = async (command) => {
    if (command.input['ExpressionAttributeValues']?.[':version'] === record!['version'] && ++count === 1) {
      await store.send({
        constructor: { name: 'PutCommand' },
        input: { Item: { ...record, version: 'of another', leaseUntil: START + 60_000 } }
      })
    }
    return undefined as never
  }
  store.items.set([...store.items.keys()][0]!, { ...record!, uuid: 'gone' })
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'EDITION_BUSY' })
  t.equal(count, 1)
})

t.test('what cannot be looked at is not created again', async (t) => {
  const { desk, editions, instance } = newsroom()
  await instance().upsert('daily', 'k', {}, newCaller())
  desk.isHidden = true
  editions.bare = async () => {
    throw new Failure('CMS_TIMEOUT', 'slow')
  }
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'CMS_TIMEOUT' })
})

t.test('puts that got no answer and are sent again find their own records', async (t) => {
  const { store, desk, rows, instance } = newsroom()
  const seen = new Set<unknown>()
  desk.alter = async (command) => {
    const answer = await store.send(command)
    const { version } = command.input['Item'] ?? {}
    if (version === undefined || seen.has(version)) return answer
    seen.add(version)
    throw lost()
  }
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: true })
  rows.splice(0)
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: true }, 'also when it takes over')
  t.equal(rows.length, 1)
})

t.test('a reservation that was just given back is asked for again', async (t) => {
  const { desk, instance } = newsroom()
  let count = 0
  desk.alter = ({ constructor: { name } }) =>
    name === 'PutCommand' && ++count === 1 ? Promise.reject(new ConditionalCheckFailedException({ message: '', $metadata: {} })) : undefined
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: true })
})

t.test('a create whose outcome is not known keeps its reservation for a while, and what cannot be noted is no failure', async (t) => {
  const { store, clock, desk, rows, instance } = newsroom()
  desk.creating = async () => {
    throw new Failure('CMS_TIMEOUT', 'slow')
  }
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'CMS_TIMEOUT' })
  const [{ uuid, leaseUntil }] = [...store.items.values()] as [Item]
  t.equal(leaseUntil, clock.now + 8000)
  clock.now += 8000
  desk.creating = async () => {
    desk.alter = () => Promise.reject(new Error('away'))
  }
  t.match(await instance().upsert('daily', 'k', {}, newCaller()), { isNew: true, uuid })
  t.equal(rows.length, 1)
  rows.splice(0)
  desk.alter = undefined
  clock.now += 30_000
  desk.creating = async () => {
    desk.alter = () => Promise.reject(new Error('away'))
    throw new Failure('UNPROCESSABLE', 'no')
  }
  await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'UNPROCESSABLE' })
})

t.test('an upsert whose create broke off is answered as created, if nobody has changed the edition since', async (t) => {
  const { rows, instance } = newsroom()
  rows.push({ uuid: 'a', body: {} })
  const attempt = { uuid: 'u', earlier: { before: '', after: '' }, intend: async () => {}, confirm() {}, conclude: async () => {} }
  t.match(await instance().upsert('daily', 'k', {}, newCaller(), { attempt }), { isNew: true, uuid: 'a' })
  t.match(await instance().upsert('daily', 'k', {}, newCaller(), { attempt: { ...attempt, earlier: undefined } }), { isNew: false })
})

const reservation = { env_entityType_entityId: `test#key-${hash('sha256', JSON.stringify(['daily', 'k']), 'base64url')}`, fieldName: 'key' }
const UUID = 'a1c0ffee-0000-4000-8000-000000000902'

t.test("what is no reservation is in nobody's way", async (t) => {
  const strange = [
    {},
    { uuid: UUID },
    { version: 5, uuid: UUID, leaseUntil: START + 1000 * 3600 * 24 * 365, isDone: 'no' },
    { version: 'v', uuid: 'none', leaseUntil: 'soon' },
    { version: '~', leaseUntil: 0 },
    { version: null, uuid: { of: UUID }, leaseUntil: null }
  ]
  for (const members of strange) {
    const { store, clock, rows, instance } = newsroom()
    await store.send(new PutCommand({ TableName: 'DataState', Item: { ...reservation, ...members } }) as unknown as Command)
    if (typeof (members as Item)['leaseUntil'] === 'number' && (members as Item)['leaseUntil'] > START) {
      await t.rejects(instance().upsert('daily', 'k', {}, newCaller()), { code: 'EDITION_BUSY' }, 'each instance sees for itself')
    }
    const patient = instance()
    for (let count = 0; count < 4 && rows.length === 0; count++) await patient.upsert('daily', 'k', {}, newCaller()).catch(() => {})
    t.equal(rows.length, 1, JSON.stringify(members))
    t.ok(clock.now - START < 60_000, `${clock.now - START} ms`)
  }
})

t.test('who hangs up while another instance creates the edition waits no longer', async (t) => {
  const { clock, desk, instance } = newsroom()
  desk.creating = () => new Promise(() => {})
  instance()
    .upsert('daily', 'k', {}, newCaller())
    .catch(() => {})
  const answer = { destroyed: false, once() {}, off() {} }
  const caller = newCaller({}, { answer })
  const waiting = instance({
    time: {
      wait: async (ms) => {
        clock.now += ms
        answer.destroyed = true
      }
    }
  })
  await t.rejects(waiting.upsert('daily', 'k', {}, caller), { code: 'CALLER_GONE' })
  t.ok(clock.now - START <= 25)
})

t.test('many upserts of one instance after one that failed do not wait longer than ten seconds', async (t) => {
  const { clock, desk, instance } = newsroom()
  desk.creating = async () => {
    clock.now += 1500
    throw new Failure('UNPROCESSABLE', 'no')
  }
  const tickets = instance()
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => tickets.upsert('daily', 'k', {}, newCaller())))
  t.ok(results.every(({ status }) => status === 'rejected'))
  t.ok(clock.now - START < 20_000, `${clock.now - START} ms`)
})
