import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { build } from '../helper.ts'

const DESK = 'https://desk.example'

t.test('the whole application turns requests away when it is pressed for seconds, not for one halt', async (t) => {
  const fastify = await build(t, { CORS_ORIGINS: DESK })
  const get = async (url: string) => fastify.inject({ url, headers: { origin: DESK } })
  const status = async () => (await get('/api/collections/daily?limit=0')).statusCode
  const seen = async (ms: number, halt: number) => {
    const statuses = new Set<number>()
    for (const end = Date.now() + ms; Date.now() < end; statuses.add(await status())) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, halt)
      await sleep(1)
    }
    return [...statuses].sort()
  }
  t.strictSame(await seen(1, 7000), [400], 'one halt')
  t.strictSame(await seen(4000, 0), [400], 'after it')

  t.strictSame(await seen(10_000, 800), [400, 503], 'every turn of the loop takes as long')
  for (const url of ['/api/cloud/data-state/node/1', '/api/collection/1', '/nowhere', '/docs']) {
    const { statusCode, headers } = await get(url)
    t.match(
      { statusCode, headers },
      { statusCode: 503, headers: { 'retry-after': '5', 'access-control-allow-origin': DESK, 'x-content-type-options': 'nosniff' } },
      url
    )
  }
  t.strictSame(
    [(await get('/health/live')).statusCode, (await get('/health/ready')).json().status],
    [200, 'unavailable'],
    'health answers as ever'
  )
  await seen(2500, 0)
  t.equal(await status(), 400, 'it ends when the loop is in time again')
})
