import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { core, quoin, signIn, startQuoin, type Answer } from './quoin.ts'
import { startSite } from './site.ts'

/** A request of Quoin as undici tells of it. */
interface Sent {
  origin: string
  method: string
  path: string
  body: unknown
}

/** All requests that the test process sends from now on, each with the milliseconds until its answer was complete. */
function listenIn(t: Test) {
  const sent: Array<Sent & { ms: number }> = []
  const began = new Map<object, number>()
  const begin = (message: unknown) => {
    began.set((message as { request: object }).request, performance.now())
  }
  const end = (message: unknown) => {
    const { request } = message as { request: Sent }
    sent.push({
      origin: String(request.origin),
      method: request.method,
      path: request.path,
      body: request.body,
      ms: performance.now() - began.get(request)!
    })
  }
  subscribe('undici:request:create', begin)
  subscribe('undici:request:trailers', end)
  t.teardown(() => {
    unsubscribe('undici:request:create', begin)
    unsubscribe('undici:request:trailers', end)
  })
  return sent
}

const insert = (id: number, where: object = { at: 'end' }) => ({ op: 'insert', article: { target_id: id }, ...where })
const remove = (id: number) => ({ op: 'remove', article: { target_id: id } })
const title = (text: string) => ({ title: [{ value: text }] })
const idsOf = (body: any): number[] => body.field_articles.map(({ target_id: id }: { target_id: number }) => id)
const ascending = (ids: Iterable<number>) => [...ids].sort((one, other) => one - other)
const etagOf = ({ headers }: Answer) => String((headers as Record<string, unknown>)['etag'])

t.test('editors at one edition through instances that share a table', { timeout: 1_800_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  // Enforcing locks they save nothing without a ticket, however slow the engine is.
  const env = { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce' }
  const instances = [await startQuoin(site, env), await startQuoin(site, env), await startQuoin(site, env)] as const
  const lenient = await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint })
  const alone = await startQuoin(site)
  t.teardown(() => Promise.all([...instances, lenient, alone].map((instance) => instance.close())))
  const editors = [await signIn(site, 'editor'), await signIn(site, 'editor2')] as const

  const read = (instance: FastifyInstance, id: number) => quoin(instance, editors[0], 'GET', `/api/collection/${id}`)
  const save = (instance: FastifyInstance, id: number, body: object, who = editors[0], headers = {}) =>
    quoin(instance, who, 'POST', `/api/collection/${id}`, body, headers)
  const arrange = (instance: FastifyInstance, id: number, operations: object[], who = editors[0]) =>
    quoin(instance, who, 'POST', `/api/collection/${id}/articles`, { operations })
  const stored = async (id: number) => (await core(site, editors[0], 'GET', `/publisher_container/${id}`)).body
  /** Whether the newest revision is the one that is shown; else JSON:API refuses every later update. */
  const hasWorkingCopy = async (id: number) =>
    (await site.php(`
$storage = \\Drupal::entityTypeManager()->getStorage('publisher_container');
return $storage->getLatestRevisionId(${id}) != $storage->load(${id})->getRevisionId();`)) === 'true'

  for (const instance of [...instances, lenient, alone]) t.equal((await read(instance, 1)).status, 200)

  await t.test('two who insert at once both find both articles, 10 times', async (t) => {
    for (let round = 0; round < 10; round++) {
      const inserted = [101 + round, 121 + round]
      const replies = await Promise.all(
        inserted.map((id, index) => arrange(instances[index]!, 1, [insert(id, { at: 'start' })], editors[index]))
      )
      t.strictSame(
        replies.map(({ status, body }) => [status, body.meta]),
        Array(2).fill([200, { operations: [{ outcome: 'done' }] }]),
        `round ${round}`
      )
      for (const instance of instances) t.strictSame(ascending(idsOf((await read(instance, 1)).body).slice(0, 2)), inserted)
    }
    t.strictSame(idsOf(await stored(1)).length, new Set(idsOf(await stored(1))).size, 'each stands there once')
    t.notOk(await hasWorkingCopy(1))
  })

  await t.test('while of two who save whole lists the later one wins', async (t) => {
    const before = idsOf((await read(instances[0], 3)).body)
    const lists = [111, 112].map((id) => ({ field_articles: [...before, id].map((target) => ({ target_id: target })) }))
    for (const [index, list] of lists.entries()) t.equal((await save(instances[index]!, 3, list, editors[index])).status, 200)
    t.strictSame(idsOf(await stored(3)), [...before, 112])
  })

  for (const [count, id] of [
    [1, 15],
    [2, 17]
  ] as const) {
    await t.test(
      `what twelve editors at ${count === 1 ? 'one instance' : 'two instances'} insert and remove is there once, or gone`,
      async (t) => {
        const before = idsOf(await stored(id))
        const [last] = before.slice(-1)
        const expected = new Set(before)
        const statuses = new Map<number, number>()
        await Promise.all(
          Array.from({ length: 12 }, async (_, index) => {
            // Each twentieth article is unpublished, which an editor may not put in.
            const own = [141 + index, 161 + index] as const
            const steps = [
              [insert(own[0], { at: 'start' }), insert(own[1], { after: { target_id: last } })],
              [{ op: 'move', article: { target_id: own[0] }, at: 'end' }],
              [remove(own[1])],
              ...(index < 2 && before.length > index + 2 ? [[remove(before[index]!)]] : [])
            ]
            for (const operations of steps) {
              const { status, body } = await arrange(instances[index % count]!, id, operations, editors[index % 2])
              statuses.set(status, (statuses.get(status) ?? 0) + 1)
              if (status !== 200) {
                // An article that was not inserted cannot be moved.
                t.ok(
                  status === 503 ? body.code === 'EDITION_BUSY' : status === 409 && body.code === 'ORDER_CONFLICT' && !expected.has(own[0]),
                  `${status} ${body.message}`
                )
                continue
              }
              for (const { op, article } of operations as Array<ReturnType<typeof remove>>) {
                if (op === 'insert') expected.add(article.target_id)
                if (op === 'remove') expected.delete(article.target_id)
              }
            }
          })
        )
        t.strictSame(ascending(idsOf(await stored(id))), ascending(expected))
        t.strictSame(idsOf((await read(instances[1], id)).body), idsOf(await stored(id)))
        t.ok(statuses.get(200)! > 1, 'some were done')
        t.notOk(await hasWorkingCopy(id))
        t.comment(`${count === 1 ? 'one instance' : 'two instances'}: ${[...statuses].map(([status, n]) => `${n} x ${status}`).join(', ')}`)
      }
    )
  }

  await t.test('of 3 x 100 updates at once each is answered with its own change, or refused, and none is left half done', async (t) => {
    const id = 9
    const sent = listenIn(t)
    const opened = await read(instances[0], id)
    const conditions = [{}, { headers: { 'if-match': etagOf(opened) } }, { body: { changed: opened.body.changed } }]
    const updates = Array.from({ length: 300 }, (_, index) => ({
      text: `Update <${index}>`,
      ...(conditions[index % 3] as { headers?: object; body?: object })
    }))
    const replies = await Promise.all(
      updates.map(({ text, headers, body }, index) =>
        save(instances[Math.floor(index / 100)]!, id, { ...title(text), ...body }, editors[index % 2], headers)
      )
    )

    const codes: Record<number, string> = { 409: 'STALE_EDIT', 412: 'PRECONDITION_FAILED', 503: 'EDITION_BUSY' }
    const patches = sent.filter(({ method }) => method === 'PATCH').map(({ body }) => String(body))
    for (const [index, { status, body }] of replies.entries()) {
      const { text } = updates[index]!
      const times = patches.filter((patch) => patch.includes(text)).length
      if (status === 200) t.strictSame([body.title, times], [[{ value: text }], 1], text)
      else t.equal(body.code, codes[status], `${text}: ${status} ${body.message}`)
      if (status === 503) t.equal(times, 0, `${text}: nothing is sent`)
    }
    const revisions = JSON.parse(
      await site.php(`
$storage = \\Drupal::entityTypeManager()->getStorage('publisher_container');
$ids = $storage->getQuery()->accessCheck(FALSE)->allRevisions()->condition('id', ${id})->sort('revision_id')->execute();
return array_values(array_map(fn ($revision) => $revision->label(), $storage->loadMultipleRevisions(array_keys($ids))));`)
    ) as string[]
    const saved = updates.filter((_, index) => replies[index]!.status === 200).map(({ text }) => text)
    t.strictSame(revisions.slice(1).toSorted(), saved.toSorted(), 'each save that was answered 200 has its revision, and no other has one')
    t.equal((await stored(id)).title[0].value, revisions.at(-1))
    t.notOk(await hasWorkingCopy(id))
    for (const [index, instance] of instances.entries()) {
      t.equal((await save(instance, id, title(`After all ${index}`), editors[index % 2])).status, 200, 'it can still be saved')
    }

    const counts = Map.groupBy(replies, ({ status }) => status)
    t.comment(`3 x 100 updates: ${[...counts].map(([status, { length }]) => `${length} x ${status}`).join(', ')}`)
  })

  await t.test('a save spends next to none of its time on its ticket and its journal entry', async (t) => {
    const sent = listenIn(t)
    const rows: Array<Record<'whole' | 'ticket' | 'entry' | 'again' | 'without', number>> = []
    const sumOf = (requests: typeof sent) => requests.reduce((sum, { ms }) => sum + ms, 0)
    const timed = async (instance: FastifyInstance, id: number, text: string) => {
      const [begin, from] = [performance.now(), sent.length]
      t.equal((await save(instance, id, title(text))).status, 200, text)
      return { ms: performance.now() - begin, stored: sent.slice(from).filter(({ origin }) => origin === endpoint) }
    }
    for (let id = 11; id < 71; id += 2) {
      const { ms: whole, stored } = await timed(lenient, id, `With ${id}`)
      const [entries, tickets] = [true, false].map((isOfJournal) =>
        stored.filter(({ body }) => String(body).includes('#journal-') === isOfJournal)
      )
      t.equal(entries!.length, 2, 'an entry is written before the save and after it')
      rows.push({
        whole,
        ticket: sumOf(tickets!),
        entry: sumOf(entries!),
        again: (await timed(lenient, id, `Again ${id}`)).ms,
        without: (await timed(alone, id, `Without ${id}`)).ms
      })
    }
    const median = (of: (row: (typeof rows)[number]) => number) => rows.map(of).sort((one, other) => one - other)[rows.length >> 1]!
    const ms = (of: keyof (typeof rows)[number]) => `${median((row) => row[of]).toFixed(1)} ms`
    t.comment(
      `a save before Drupal ${site.version}, median of ${rows.length}: ${ms('whole')}, of which its ticket takes ${ms('ticket')} (${median(({ whole, ticket }) => (100 * ticket) / whole).toFixed(1)} %), and its journal entry ${ms('entry')} (${median(({ whole, entry }) => (100 * entry) / whole).toFixed(1)} %); within two seconds of another save ${ms('again')}; without a table ${ms('without')}`
    )
  })
})
