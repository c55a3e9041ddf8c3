import t from 'tap'
import { claims, jwtEnv, tokenOf } from '../auth/fixtures.ts'
import { buildLogged } from '../helper.ts'
import { say, startFakeEngine, works, type Script } from '../locks/fixtures/fake-engine.ts'

const LOCK = '/api/cloud/data-state/node/1'
const MINUTES_20 = 20 * 60_000
/** DynamoDB refuses signatures that are older or newer, in milliseconds. */
const SIGNATURE_MS = 5 * 60_000

/** The time that a request was signed for. */
function signedAt(date: unknown): number {
  return Date.parse(String(date).replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z'))
}

t.test('with a store 20 minutes ahead one request at the start is refused, then all go by its clock', async (t) => {
  const engine = await startFakeEngine(t)
  const refused: string[] = []
  const leases: number[] = []
  const now = () => Date.now() + MINUTES_20
  const script: Script = (operation, input, response) => {
    response.setHeader('date', new Date(now()).toUTCString())
    if (Math.abs(signedAt(response.req.headers['x-amz-date']) - now()) > SIGNATURE_MS) {
      refused.push(operation)
      say(response, 400, { __type: 'com.amazon.coral.service#InvalidSignatureException', message: 'Signature not yet current' })
      return
    }
    if (operation === 'PutItem') leases.push(Number(input['Item'].expiresAt.N) * 1000 - now())
    works(operation, input, response)
  }
  engine.script = script

  const { app: fastify, logged } = await buildLogged(t, { DYNAMODB_ENDPOINT: engine.endpoint, LOCK_LEASE_SECONDS: '60', METRICS_PORT: '0' })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const metrics = logged()
    .map(({ msg }) => /^Metrics at (.*)$/.exec(msg)?.[1])
    .find(Boolean)!
  for (let count = 0; count < 3; count++) {
    const reply = await fastify.inject({ method: 'POST', url: LOCK, body: { fieldName: 'title', userData: { uid: '7' } } })
    t.strictSame([reply.statusCode, reply.json()], [200, { success: true }])
    t.ok(Math.abs(Date.parse(String(reply.headers['date'])) - now()) < 10_000, 'an answer says the time of the store')
  }
  t.strictSame(refused, ['GetItem'], 'only what measures')
  t.ok(leases.length === 3 && leases.every((ms) => Math.abs(ms - 60_000) < 10_000), `${leases}`)

  const { dependencies } = (await fastify.inject('/health/ready')).json()
  t.match(dependencies.store, {
    status: 'ok',
    message: /^this machine's clock is 1(?:199|200)\.\d s behind the store's; Quoin corrects for it, NTP would set it$/
  })
  const offset = Number(/^quoin_store_clock_offset_seconds (\S+)$/m.exec(await (await fetch(metrics)).text())?.[1])
  t.ok(Math.abs(offset - 1200) < 2, `${offset} s`)
  t.match(
    logged().filter(({ level }) => level === 40),
    [{ msg: /^this machine's clock is 1(?:199|200)\.\d s behind/, offsetMs: Number }],
    'one warning'
  )

  engine.script = works
  for (let count = 0; count < 4; count++) await fastify.inject(LOCK)
  t.match(
    logged()
      .filter(({ level }) => level === 40)
      .at(-1),
    { msg: "this machine's clock agrees with the store's again", offsetMs: 0 }
  )
})

t.test('tokens hold by the time of the store', async (t) => {
  const engine = await startFakeEngine(t)
  engine.script = (operation, input, response) => {
    response.setHeader('date', new Date(Date.now() + MINUTES_20).toUTCString())
    works(operation, input, response)
  }
  const { app: fastify } = await buildLogged(t, { DYNAMODB_ENDPOINT: engine.endpoint, ...jwtEnv(t) })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  await fastify.inject('/health/ready')
  const seconds = () => Math.floor(Date.now() / 1000)
  const statusOf = async (more: object) =>
    (await fastify.inject({ url: LOCK, headers: { authorization: `Bearer ${tokenOf(claims(more))}` } })).statusCode
  t.equal(await statusOf({ exp: seconds() + 1800 }), 200)
  t.equal(await statusOf({ exp: seconds() + 600 }), 401, 'it is over by the time of the store')
  t.equal(await statusOf({ exp: seconds() + 1800, nbf: seconds() + 900 }), 200, 'it has begun')
})
