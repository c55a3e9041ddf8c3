import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { openHostile } from '../editions/hostile-cms.ts'
import { MODULE_SECRET, outsideSave, signedBy } from '../boards/fixtures.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { startFakeRedis } from './fixtures/fake-redis.ts'
import { until } from './fixtures/redis-tests.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`

t.test('what one instance has saved, or was refused for a caller, ends the copies of another', async (t) => {
  const { url } = await startFakeRedis(t)
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app: one, cms } = await openHostile(t, {
    env: { EVENTS_BUS_URL: url, DYNAMODB_ENDPOINT: endpoint, CMS_MODULE_SECRET: MODULE_SECRET }
  })
  const two = await build(t, { EVENTS_BUS_URL: url, DYNAMODB_ENDPOINT: endpoint, CMS_URL: cms.url })
  const addresses = []
  for (const app of [one, two]) addresses.push(await app.listen({ host: '127.0.0.1', port: 0 }))
  await until(() => [one, two].every((app) => app.readings.get('quoin_bus_up')!.read() === 1), 'the bus')
  const read = (as: string, url = path) => two.inject({ url, headers: basic(as) })
  const away = () => {
    cms.behave = () => ({ status: 503, body: 'maintenance' })
  }
  const back = () => {
    cms.behave = () => undefined
  }

  const keep = async () => {
    back()
    for (const url of [path, '/api/collections/daily?limit=5']) t.equal((await read('editor', url)).statusCode, 200)
  }
  const isCopied = async (as = 'editor') => {
    away()
    const { statusCode, headers } = await read(as)
    back()
    return statusCode === 200 && headers['age'] !== undefined
  }
  await keep()
  t.ok(await isCopied(), 'there is a copy')
  const { next } = await openEvents(t, `${addresses[1]}/api/cloud/data-state/publisher_container/${id}/events`)
  await next()
  const saved = await one.inject({
    method: 'POST',
    url: path,
    headers: basic('editor2'),
    payload: { title: [{ value: 'From the other' }] }
  })
  t.equal(saved.statusCode, 200)
  t.match(await next(), { event: 'saved', data: { entityId: String(id), fields: Array } }, 'who watches the edition there is told')
  for (const end = performance.now() + 20_000; (await isCopied()) && performance.now() < end;) await sleep(20)
  t.notOk(await isCopied(), 'a save ends it')

  await keep()
  const saves = { saves: [outsideSave({ id: String(id), uuid }, { revision: 1 })] }
  const payload = JSON.stringify(saves)
  const told = await one.inject({ method: 'POST', url: '/drupal/saves', payload, headers: signedBy(MODULE_SECRET, payload) })
  t.equal(told.statusCode, 200)
  t.match(await next(), { event: 'saved', data: { entityId: String(id), etag: null, uid: '8' } })
  for (const end = performance.now() + 20_000; (await isCopied()) && performance.now() < end;) await sleep(20)
  t.notOk(await isCopied(), 'a save in Drupal that one was told ends it')

  await keep()
  t.equal((await read('editor2')).statusCode, 200)
  t.ok(await isCopied())
  cms.behave = ({ path }) =>
    path.includes('publisher_container')
      ? { status: 403, headers: { 'content-type': 'application/vnd.api+json' }, body: { errors: [{ status: '403', detail: 'x' }] } }
      : undefined
  t.equal((await one.inject({ method: 'GET', url: path, headers: basic('editor2') })).statusCode, 403)
  for (const end = performance.now() + 20_000; (await isCopied('editor2')) && performance.now() < end;) await sleep(20)
  t.notOk(await isCopied('editor2'), 'a refusal ends it')
  t.ok(await isCopied('editor'), 'for the one who was refused')

  await keep()
  t.equal((await read('editor2')).statusCode, 200)
  t.ok(await isCopied('editor2'))
  cms.behave = ({ path }) =>
    path.endsWith('/publisher_container/special')
      ? { status: 403, headers: { 'content-type': 'application/vnd.api+json' }, body: { errors: [{ status: '403', detail: 'x' }] } }
      : undefined
  t.equal((await one.inject({ method: 'GET', url: '/api/collections/special', headers: basic('editor2') })).statusCode, 403)
  for (const end = performance.now() + 20_000; (await isCopied('editor2')) && performance.now() < end;) await sleep(20)
  t.notOk(await isCopied('editor2'), 'so does a refusal of more than one edition')
  t.ok(await isCopied('editor'))
})
