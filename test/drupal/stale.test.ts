import { createServer, request as open, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'

/** What stands between Quoin and the site: passes everything on, counts writes, and fails an answer when told to. */
async function startProxy(target: string) {
  const writes: string[] = []
  let fail: (method: string) => boolean = () => false
  const server = createServer((request, response) => {
    const method = request.method!
    if (method !== 'GET') writes.push(`${method} ${request.url!.split('?')[0]}`)
    const failing = fail(method)
    // The site answers with links to itself: it has to be asked by its own name.
    const onward = open(
      target + request.url,
      { method, headers: { ...request.headers, host: new URL(target).host } },
      (answer: IncomingMessage) => {
        if (failing) {
          answer
            .resume()
            .on('end', () => response.writeHead(500, { 'content-type': 'text/plain' }).end('The website encountered an unexpected error.'))
        } else {
          response.writeHead(answer.statusCode!, answer.headers)
          answer.pipe(response)
        }
      }
    )
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    writes,
    failNext(method: string) {
      let failed = false
      fail = (seen) => !failed && seen === method && (failed = true)
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

t.test('edits of the same edition at the same time, and writes of which nobody knows', { timeout: 600_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const editor = await signIn(site, 'editor')
  const editor2 = await signIn(site, 'editor2')
  const read = (id: number, who = editor) => quoin(service, who, 'GET', `/api/collection/${id}`)
  const save = (id: number, body: object, who = editor, headers: Record<string, string> = {}) =>
    quoin(service, who, 'POST', `/api/collection/${id}`, body, headers)
  const etag = ({ headers }: { headers: Headers | Record<string, unknown> }) => String((headers as Record<string, unknown>)['etag'])
  const title = (text: string) => ({ title: [{ value: text }] })
  const stored = async (id: number) => (await core(site, editor, 'GET', `/publisher_container/${id}`)).body

  await t.test('the ETag changes with every save, even within a second, and with none that changes nothing', async (t) => {
    const seen = new Set([etag(await read(1))])
    for (let save_ = 1; save_ <= 5; save_++) {
      const reply = await save(1, title(`Save ${save_}`))
      t.equal(reply.status, 200)
      t.notOk(seen.has(etag(reply)), `save ${save_}`)
      t.equal(etag(await read(1)), etag(reply))
      seen.add(etag(reply))
    }
    t.ok(seen.has(etag(await save(1, title('Save 5')))))
    // Core REST makes no revision, and within a second the same `changed`.
    for (const text of ['Through core REST', 'Once more', 'And again']) {
      const before = etag(await read(1))
      t.equal((await core(site, editor2, 'PATCH', '/publisher_container/1', { type: 'daily', ...title(text) })).status, 200)
      const after = await read(1)
      t.notOk(seen.has(etag(after)), 'somebody else saved without Quoin')
      seen.add(etag(after))
      t.equal((await save(1, title('Late'), editor, { 'if-match': before })).status, 412)
      t.same(after.body.title, [{ value: text }])
    }
  })

  await t.test('a GET with the ETag of the last answer is answered 304 until somebody saves', async (t) => {
    const known = etag(await read(8))
    const again = () => quoin(service, editor, 'GET', '/api/collection/8', undefined, { 'if-none-match': known })
    t.equal((await again()).status, 304)
    const saved = await save(8, title('Another'), editor2)
    const after = await again()
    t.strictSame([after.status, etag(after).split('.')[0]], [200, etag(saved).split('.')[0]])
  })

  await t.test('If-Match answers 412 when the edition has moved, and saves when it has not', async (t) => {
    const before = etag(await read(2))
    const first = await save(2, title('First'), editor, { 'if-match': before })
    t.equal(first.status, 200)
    const second = await save(2, title('Second'), editor2, { 'if-match': before })
    t.equal(second.status, 412)
    t.match(second.body, { code: 'PRECONDITION_FAILED', message: /Somebody else has saved this edition/ })
    t.equal((await stored(2)).title[0].value, 'First')
    t.equal((await save(2, title('Second'), editor2, { 'if-match': etag(first) })).status, 200)
    t.equal((await save(2, title('Third'), editor, { 'if-match': '*' })).status, 200)
  })

  await t.test('a stale changed answers 409, the present one saves', async (t) => {
    const opened = (await read(3)).body
    await wait(1100)
    t.equal((await save(3, title('Meanwhile'), editor2)).status, 200)
    const late = await save(3, { ...opened, ...title('Late') })
    t.equal(late.status, 409)
    t.match(late.body, { code: 'STALE_EDIT', message: /Somebody else has saved this edition/ })
    t.equal((await stored(3)).title[0].value, 'Meanwhile')
    t.equal((await save(3, { ...(await read(3)).body, ...title('In time') })).status, 200)
  })

  await t.test('two editors who change different fields at once both succeed, 20 times', async (t) => {
    for (let round = 1; round <= 20; round++) {
      const replies = await Promise.all([save(4, title(`Round ${round}`)), save(4, { field_page_count: [{ value: round }] }, editor2)])
      t.strictSame(
        replies.map(({ status }) => status),
        [200, 200]
      )
      t.match(await stored(4), { title: [{ value: `Round ${round}` }], field_page_count: [{ value: round }] }, 'nothing is lost')
    }
  })

  await t.test('of two editors who change the same field at once with If-Match exactly one wins, 20 times', async (t) => {
    for (let round = 1; round <= 20; round++) {
      const tag = etag(await read(5))
      const replies = await Promise.all(
        [
          ['one', editor],
          ['other', editor2]
        ].map(([name, who]) => save(5, title(`Round ${round}, ${name as string}`), who as Record<string, string>, { 'if-match': tag }))
      )
      t.strictSame(replies.map(({ status }) => status).toSorted(), [200, 412], `round ${round}`)
      const winner = replies.find(({ status }) => status === 200)
      t.equal((await stored(5)).title[0].value, winner?.body.title[0].value)
    }
  })

  await t.test('a write that was answered 500 is not repeated, and what came of it is told', async (t) => {
    const proxy = await startProxy(site.url)
    t.teardown(proxy.close)
    const behind = await startQuoin({ ...site, url: proxy.url })
    t.teardown(() => behind.close())
    const count = async () =>
      Number(await site.php("return (int) \\Drupal::entityQuery('publisher_container')->accessCheck(FALSE)->count()->execute();"))
    const before = await count()

    proxy.failNext('PATCH')
    const updated = await quoin(behind, editor, 'POST', '/api/collection/6', title('Saved all the same'))
    t.equal(updated.status, 200, 'it is seen to be saved')
    t.same(updated.body.title, [{ value: 'Saved all the same' }])
    t.equal(proxy.writes.length, 1, 'one request')

    proxy.failNext('POST')
    const created = await quoin(behind, editor, 'POST', '/api/collection', {
      type: 'daily',
      ...title('New'),
      field_key: [{ value: 'stale-new' }]
    })
    t.equal(created.status, 201, 'it is seen to be saved')
    t.equal(proxy.writes.length, 2, 'one request more')
    t.equal(await count(), before + 1, 'one edition')

    const refused = await quoin(behind, editor, 'POST', '/api/collection/7', { status: [] })
    t.equal(refused.status, 502, 'Drupal itself fails')
    t.match(refused.body, { code: 'CMS_FAILED', message: /nothing was saved$/ })
    t.equal(proxy.writes.length, 3, 'one request more')
  })
})
