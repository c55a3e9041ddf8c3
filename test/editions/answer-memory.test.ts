import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { createEditions } from '#lib/editions/editions.ts'
import { editionLimits } from '#lib/editions/limits.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createStaleCache } from '#lib/editions/stale-cache.ts'
import { Failure } from '#lib/errors.ts'
import { createAnswerMemory, LARGE_ANSWER, type AnswerMemory, type Holding } from '#lib/http/answer-memory.ts'
import { createHttp } from '#lib/http/client.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import type { EditionStore } from '../../plugins/app/editions.ts'
import stale from '../../plugins/app/stale.ts'
import { model } from './fixtures.ts'
import { JSONAPI, startHostileCms } from './hostile-cms.ts'
import { largeSite, uuidOf } from './large-site.ts'
import { basic } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const MOST = 12_000_000
const OVERLOADED = {
  code: 'OVERLOADED',
  statusCode: 503,
  headers: { 'retry-after': '1' },
  message: 'Other answers take the memory that there is for them; try again, or ask for less'
}
const list = { limit: 100, offset: 0, total: false }
const editor = () => ({ ...basic('editor') })

/** Editions before a site of which each answer is large, once they know its resource types. */
async function open(t: Test, { editions: count = 500, characters = LARGE_ANSWER, onWrite = () => {} } = {}) {
  const cms = await startHostileCms(t)
  const http = createHttp({ url: cms.url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const memory = createAnswerMemory(MOST)
  const site = createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model, cmsUrl: cms.url, warn() {} })
  const editions = createEditions({ site, limits: editionLimits(5000, memory) })
  await editions.search('daily', { ...list, limit: 1 }, newCaller(editor()))
  cms.behave = largeSite(count, characters, { onWrite })
  return { cms, editions, memory }
}

/** Takes memory before anybody else does. */
function occupy(memory: AnswerMemory, bytes: number): Holding {
  const holding = memory.open()
  holding.take(bytes)
  return holding
}

/** That nothing is taken of the memory. */
function isFree(t: Test, memory: AnswerMemory): void {
  const [first, other] = [occupy(memory, 1), memory.open()]
  t.doesNotThrow(() => other.take(MOST - 1))
  for (const each of [first, other]) each.end()
}

const noEnd = () => {
  throw new Error('It has just begun')
}

t.test('an answer that has been on its way for long makes room, the oldest first, and only where that helps', async (t) => {
  const memory = createAnswerMemory(1000, 0)
  const ended: string[] = []
  const overs = ['first', 'second', 'third'].map((name) => memory.send(300, () => ended.push(name)))
  await sleep(2)
  const [a, b] = [memory.open(), memory.open()]
  a.take(100)
  t.strictSame(ended, [], 'there is room')
  b.take(201)
  t.strictSame(ended, ['first'])
  for (const over of overs.slice(0, 2)) over()
  t.throws(() => b.take(700), OVERLOADED)
  t.strictSame(ended, ['first'], 'what would not help is not broken off')
  b.take(399)
  b.take(1)
  t.strictSame(ended, ['first', 'third'], 'what is over is not broken off')
  for (const each of [a, b]) each.end()
  isWhole(t, memory, 1000)
})

/** A memory is free again: one call gets all of it. */
function isWhole(t: Test, memory: AnswerMemory, most: number): void {
  const holding = memory.open()
  t.doesNotThrow(() => holding.take(most))
  holding.end()
}

t.test('all together take so much, and each no more; the first gets what other calls have, too', async (t) => {
  const memory = createAnswerMemory(1000)
  const [a, b, c] = [occupy(memory, 600), memory.open(), memory.open()]
  t.throws(() => b.take(401), OVERLOADED)
  b.take(400)
  t.throws(() => c.take(1), OVERLOADED)
  a.take(400)
  t.throws(() => a.take(1), {
    code: 'TOO_LARGE',
    statusCode: 413,
    headers: {},
    message: 'This needs answers of more than 1000 bytes; ask for less'
  })
  a.free(900)
  c.add(400)
  t.throws(() => b.take(101), OVERLOADED, 'what was added counts')
  b.take(100)
  a.end()
  b.take(500)
  b.free(600)
  const [over] = [memory.send(400, noEnd), memory.send(201, noEnd)]
  t.throws(() => b.take(1), OVERLOADED, 'answers on their way count')
  over()
  b.take(1)
  for (const each of [b, c]) each.end()
  const other = [occupy(memory, 1), memory.open()][1]!
  t.throws(() => other.take(799), OVERLOADED)
  other.take(798)
  occupy(createAnswerMemory(), 1_000_000)
})

t.test('a large answer is refused while others take the memory, and leaves nothing behind', async (t) => {
  const { editions, memory } = await open(t)
  const other = occupy(memory, MOST - LARGE_ANSWER)
  for (let turn = 0; turn < 5; turn++) await t.rejects(editions.read(uuidOf(turn + 1), newCaller(editor())), OVERLOADED)
  await t.rejects(editions.search('daily', list, newCaller(editor())), OVERLOADED)
  other.end()
  await editions.read(uuidOf(1), newCaller(editor()))
  await editions.search('daily', list, newCaller(editor()))
  isFree(t, memory)
})

t.test('an answer is refused while it comes', async (t) => {
  const { cms, editions, memory } = await open(t)
  cms.behave = ({ path }, _honest, { response }) => {
    if (!path.endsWith(uuidOf(1))) return undefined
    response.writeHead(200, JSONAPI).write('x'.repeat(1_000_000))
    return 'hang'
  }
  const other = occupy(memory, MOST - 500_000)
  await t.rejects(editions.read(uuidOf(1), newCaller(editor())), OVERLOADED)
  other.end()
  isFree(t, memory)
})

t.test('such a refusal ends no copy', async (t) => {
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  for (const name of ['metrics', 'editions']) await fastify.register(fp(async () => {}, { name }))
  fastify
    .decorate('readings', new Map())
    .decorate('editions', { staleCache: createStaleCache({ seconds: 60, model }), age: () => 0 } as unknown as EditionStore)
  fastify.decorateRequest('caller').addHook('onRequest', async (request) => {
    request.caller = newCaller()
  })
  await fastify.register(stale)
  const failures = [undefined, new Failure('OVERLOADED', 'full'), new Failure('CMS_UNREACHABLE', 'away', { cause: new Error('reset') })]
  fastify.get('/', { config: { staleCache: 'list' } }, async () => {
    const failure = failures.shift()
    if (failure) throw failure
    return 'kept'
  })
  const get = async () => (await fastify.inject('/')).body
  t.equal(await get(), 'kept')
  t.match(await get(), 'full')
  t.equal(await get(), 'kept')
})

t.test('small answers pass', async (t) => {
  const { editions, memory } = await open(t, { characters: 10 })
  occupy(memory, MOST)
  await editions.read(uuidOf(1), newCaller(editor()))
})

t.test('the rows of a list count until it is answered; those that do not match do not', async (t) => {
  const { cms, editions, memory } = await open(t)
  await editions.search('daily', list, newCaller(editor()))
  await t.rejects(editions.search('daily', { ...list, limit: 200 }, newCaller(editor())), { code: 'TOO_LARGE' })
  t.equal(
    (await editions.search('daily', { ...list, limit: 10, total: true }, newCaller(editor()))).total,
    500,
    'nor do those that are only counted'
  )
  const other = occupy(memory, MOST - 1_000_000)
  await t.rejects(editions.search('daily', list, newCaller(editor())), OVERLOADED)
  cms.behave = largeSite(2000, 2000)
  t.equal((await editions.search('daily', { ...list, q: 'is in no title' }, newCaller(editor()))).total, 0, '40 pages of 100 KB')
  other.end()
  isFree(t, memory)
})

t.test('a save is refused before it is sent, never after', async (t) => {
  const { cms, editions, memory } = await open(t, { onWrite: () => other.add(MOST) })
  const other = occupy(memory, MOST)
  await t.rejects(editions.update(uuidOf(1), { title: [{ value: 'New' }] }, newCaller(editor())), OVERLOADED)
  t.notOk(cms.asked.some(({ method }) => method === 'PATCH'))
  other.free(MOST)
  t.match((await editions.update(uuidOf(1), { title: [{ value: 'New' }] }, newCaller(editor()))).json, /New/)
  other.end()
  isFree(t, memory)
})
