import type { ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import { GetCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { createStore } from '#lib/table/client.ts'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'

const HOURS_MS = 7_200_000
const TYPE = 'application/x-amz-json-1.0'

/** Answers with a `Date` that is so far from this machine's clock. */
function answer(response: ServerResponse, ahead: number, status: number, headers: Record<string, string>, body: string): void {
  response.writeHead(status, { date: new Date(Date.now() + ahead).toUTCString(), ...headers }).end(body)
}

const genuine = (response: ServerResponse, ahead = 0, body = '{}') =>
  answer(response, ahead, 200, { 'content-type': TYPE, 'x-amz-crc32': String(crc32(body)) }, body)

/** A store that says what the script says, and its client. */
async function before(t: Test) {
  const engine = await startFakeEngine(t)
  const { client, clock, destroy } = createStore({ region: 'local', endpoint: engine.endpoint, attempts: 1 })
  t.teardown(destroy)
  const get = () => client.send(new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: 'test', fieldName: 'title' } }))
  clock.start(get)
  return { engine, clock, get }
}

const strangers: Array<[who: string, status: number, headers: Record<string, string>, body: string]> = [
  ['a proxy that is overloaded', 503, { 'content-type': 'text/html' }, '<html>Service Unavailable</html>'],
  ['a proxy that speaks JSON', 502, { 'content-type': TYPE }, '{"__type":"BadGateway","message":"no"}'],
  ['a proxy that gives its requests ids', 504, { 'content-type': 'text/html', 'x-amzn-requestid': 'ID' }, 'Gateway Timeout'],
  ['a success without a checksum', 200, { 'content-type': TYPE, 'x-amzn-requestid': 'ID' }, '{}'],
  ['a success with another checksum', 200, { 'content-type': TYPE, 'x-amz-crc32': '1' }, '{}'],
  ['a page to log in at', 200, { 'content-type': 'text/html' }, '<html>Welcome to the hotel</html>']
]

for (const [who, status, headers, body] of strangers) {
  t.test(`the Date of ${who} changes nothing`, async (t) => {
    const { engine, clock, get } = await before(t)
    engine.script = (_operation, _input, response) => answer(response, HOURS_MS, status, headers, body)
    await get().catch(() => {})
    t.equal(clock.offset(), 0, 'before anything is known')
    engine.script = (_operation, _input, response) => genuine(response)
    await get()
    t.equal(clock.time.ready(), undefined)
    engine.script = (_operation, _input, response) => answer(response, HOURS_MS, status, headers, body)
    for (let count = 0; count < 4; count++) await get().catch(() => {})
    t.equal(clock.offset(), 0)
    t.equal(clock.time.ready(), undefined, 'and raises no doubt')
  })
}

t.test('the Date of the store is believed: of a success with its checksum, and of an error with its id and its name', async (t) => {
  const answers = [
    (response: ServerResponse) => genuine(response, HOURS_MS),
    (response: ServerResponse) =>
      answer(
        response,
        HOURS_MS,
        400,
        { 'content-type': TYPE, 'x-amzn-requestid': 'ID' },
        '{"__type":"com.amazon.coral.service#InvalidSignatureException"}'
      )
  ]
  for (const say of answers) {
    const { engine, clock } = await before(t)
    engine.script = (_operation, _input, response) => say(response)
    await clock.time.ready()
    t.ok(Math.abs(clock.offset() - HOURS_MS) < 3000, `${clock.offset()} ms`)
    t.equal(clock.time.ready(), undefined)
  }
})

t.test('one genuine answer with an odd Date has the store asked before anything is decided', async (t) => {
  const { engine, clock, get } = await before(t)
  let odd = 0
  engine.script = (_operation, _input, response) => genuine(response, odd)
  await get()
  odd = HOURS_MS
  await get()
  t.equal(clock.offset(), 0)
  odd = 0
  const { length } = engine.operations
  await clock.time.ready()
  t.equal(engine.operations.length - length, 1)
  t.equal(clock.time.ready(), undefined)
})

t.test('an engine without Date or checksum works, by the clock of this machine', async (t) => {
  const { engine, clock, get } = await before(t)
  engine.script = (_operation, _input, response) => {
    response.sendDate = false
    response.writeHead(200, { 'content-type': TYPE }).end('{}')
  }
  await clock.time.ready()
  await get()
  t.equal(clock.time.ready(), undefined)
  t.ok(Math.abs(clock.time.now() - Date.now()) < 1000)
})
