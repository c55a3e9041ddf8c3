import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { openRedis } from '#lib/bus/redis.ts'
import { fingerprint, markOf } from '#lib/drupal/credentials.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { editionsOf } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startFakeRedis } from './fixtures/fake-redis.ts'
import { FOREIGN } from './fixtures/hostile-wire.ts'
import { until } from './fixtures/redis-tests.ts'
import { newCaller } from '#lib/http/calls.ts'

const { id } = editionsOf(newspaper()).find(({ published }) => published)!

/** The mark of an account. One in 64 others has the same. */
function markOfAccount(url: string, password: string): string {
  return markOf(fingerprint(newCaller({ authorization: JSON.stringify([url, { kind: 'session', user: 'editor', password }]) })))
}

/** Wrong passwords, of which the first does whose account has another mark than the right one. */
const WRONG = Array.from({ length: 20 }, (_, index) => `wrong ${index}`)

/** Instances before one CMS with one bus, each with the right password or a wrong one, and what goes over the bus. */
async function open(t: Test, areRight: boolean[]) {
  const { url } = await startFakeRedis(t)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const cmsUrl = await cms.listen()
  const wrong = WRONG.find((password) => markOfAccount(cmsUrl, password) !== markOfAccount(cmsUrl, 'editor'))!
  const instances: FastifyInstance[] = []
  for (const isRight of areRight) {
    instances.push(
      await build(t, {
        CMS_URL: cmsUrl,
        CMS_AUTH: 'session',
        CMS_USER: 'editor',
        CMS_PASSWORD: isRight ? 'editor' : wrong,
        EVENTS_BUS_URL: url
      })
    )
  }
  for (const instance of instances) await instance.listen({ host: '127.0.0.1', port: 0 })
  await until(() => instances.every((instance) => instance.readings.get('quoin_bus_up')!.read() === 1), 'the bus')

  const texts: string[] = []
  const { wire } = await openRedis(url, 'quoin:DataState:test', () => {})
  const isHere = Promise.withResolvers<void>()
  wire.open(
    (text) => {
      texts.push(text)
    },
    (isConnected) => {
      if (isConnected) isHere.resolve()
    }
  )
  t.teardown(() => wire.close())
  await isHere.promise
  const codes = () =>
    Promise.all(
      instances.map(async (instance) => {
        const { statusCode, body } = await instance.inject(`/api/collection/${id}`)
        return statusCode === 200 ? 200 : (JSON.parse(body).code as string)
      })
    )
  return {
    codes,
    instances,
    texts,
    send: wire.send,
    wrongMark: markOfAccount(cmsUrl, wrong),
    logins: () => cms.requestLines.filter((line) => line.startsWith('POST /user/login')).length
  }
}

t.test('five instances with a wrong password are one wrong try, and one with another password goes on', async (t) => {
  const { codes, instances, texts, send, wrongMark, logins } = await open(t, [...Array(5).fill(false), true])
  t.match((await instances[0]!.inject(`/api/collection/${id}`)).json(), { code: 'CMS_LOGIN_REFUSED' })
  await until(() => texts.some((text) => text.includes('"account"')), 'the notice')
  // Whoever has ignored this has heard the notice before it.
  await send('nonsense')
  await until(
    () =>
      instances.every((instance) => (instance.readings.get('quoin_bus_messages_total')!.read() as Record<string, number>)['ignored']! > 0),
    'what comes after it'
  )
  t.strictSame(await codes(), ['CMS_LOGIN_REFUSED', ...Array(4).fill('CMS_UNAVAILABLE'), 200])
  t.equal(logins(), 2, 'the wrong one and the right one')
  t.match(JSON.parse(texts.find((text) => text.includes('"account"'))!).body, { account: wrongMark })
  t.match(wrongMark, /^.$/)
})

t.test('a bus that lies about an account has it wait at most', async (t) => {
  const { codes, texts, send, logins } = await open(t, [true, true])
  t.strictSame(await codes(), [200, 200])
  const marks = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/']
  const lie = (body: unknown, v = 1) => JSON.stringify({ v, from: 'other', topic: 'account', body })
  const lies = [
    ...FOREIGN,
    ...marks.map((account) => lie({ account })),
    lie({ account: 'A' }, 0),
    lie({ account: 'AB' }),
    lie({ account: null }),
    lie('A'),
    lie({ account: 'x'.repeat(100_000) })
  ]
  for (const text of [...lies, ...lies]) await send(text)
  await send(lie({ account: 'last' }))
  await until(() => texts.some((text) => text.includes('"last"')), 'the last lie')
  for (let time = 0; time < 5; time++) t.strictSame(await codes(), [200, 200], 'sessions that are alive go on')
  t.equal(logins(), 2)
})
