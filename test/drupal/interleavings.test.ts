import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { startEngineProxy } from '../tickets/fixtures/engine-proxy.ts'
import { as, core, quoin, signIn, startQuoin, type Answer } from './quoin.ts'
import { startSite, type Site } from './site.ts'

const ARTICLE = 4
const LOCKS = `/api/cloud/data-state/node/${ARTICLE}`

/** Stands before a site, and gives its address. @param before is called with each request, before it goes on */
async function startSiteProxy(t: Test, { url }: Site, before: (request: string) => Promise<void>): Promise<string> {
  const server = createServer(async (request, response) => {
    try {
      const {
        method = 'GET',
        url: path = '',
        headers: { host: _host, connection: _connection, 'content-length': _length, ...headers }
      } = request
      const body = await buffer(request)
      await before(method === 'GET' && path.includes('include=') ? 'GET with articles' : method)
      const answer = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: headers as Record<string, string>,
        ...(body.length > 0 && { body })
      })
      response
        .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
        .end(Buffer.from(await answer.arrayBuffer()))
    } catch {
      response.destroy()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('at each request of a close something else is done', { timeout: 1_800_000 }, async (t) => {
  const site = await startSite()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  let before = async (_request: string) => {}
  const env = {
    CMS_URL: await startSiteProxy(t, site, (request) => before(request)),
    DYNAMODB_ENDPOINT: await startEngineProxy(t, endpoint, async (command, body) => {
      await before(command)
      return body
    })
  }
  const [held, other] = [await startQuoin(site, env), await startQuoin(site, { DYNAMODB_ENDPOINT: endpoint })]
  t.teardown(() => Promise.all([held.close(), other.close()]))
  const [editor, editor2] = [await signIn(site, 'editor'), await signIn(site, 'editor2')]
  const { uuid } = (await quoin(other, 'admin', 'GET', `/api/collections/article/${ARTICLE}`)).body

  const lock = () => quoin(other, editor2, 'POST', LOCKS, { fieldName: 'title', userData: { uid: '7', name: 'Ada' }, payload: 'typed' })
  const unlock = () => other.inject({ method: 'DELETE', url: `${LOCKS}?fieldName=title&uid=7`, headers: editor2 })
  const publish = async (status: boolean) => {
    const answer = await fetch(`${site.url}/jsonapi/node/article/${uuid[0].value}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/vnd.api+json', ...as('admin') },
      body: JSON.stringify({ data: { type: 'node--article', id: uuid[0].value, attributes: { status } } })
    })
    if (answer.status !== 200) throw new Error(await answer.text())
  }
  const acts = {
    lock: { prepare: async () => {}, act: lock, undo: unlock, code: /^LOCKED$/ },
    unlock: { prepare: lock, act: unlock, undo: unlock, code: /^LOCKED$/ },
    unpublish: { prepare: async () => {}, act: () => publish(false), undo: () => publish(true), code: /^ARTICLE_(?:HIDDEN|UNPUBLISHED)$/ }
  }
  let count = 0

  /** Closes an edition, and does something else before its request of some number goes on; undefined where it has fewer. */
  async function interleave(
    { prepare, act, undo }: (typeof acts)[keyof typeof acts],
    at: number
  ): Promise<(Answer & { requests: string[]; isClosed: boolean }) | undefined> {
    const { status, body } = await quoin(other, editor2, 'POST', '/api/collection', {
      type: [{ target_id: 'daily' }],
      title: [{ value: 'Monday' }],
      status: [{ value: false }],
      field_key: [{ value: `interleaved-${++count}` }],
      field_publisher_edition_type: [{ value: 'daily' }],
      field_articles: [{ target_id: ARTICLE }]
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    const id = body.id[0].value
    await prepare()
    const requests: string[] = []
    let isDone = false
    let acting: Promise<void> | undefined
    before = async (request) => {
      if (requests.push(request) - 1 === at) {
        acting = act().then(() => {
          isDone = true
        })
      }
      // Requests are sent at the same time: those that come later wait too.
      await acting
    }
    const answer = await quoin(held, editor, 'POST', `/api/collection/${id}/close`, {})
    before = async () => {}
    await undo()
    const isClosed = (await core(site, editor, 'GET', `/publisher_container/${id}`)).body.status[0].value
    return isDone ? { ...answer, requests, isClosed } : undefined
  }

  // What an instance learns of the site first takes more requests.
  t.equal(await interleave(acts.lock, 1000), undefined)

  for (const [name, act] of Object.entries(acts)) {
    await t.test(
      `${name}: never closed over what was there when the last look began, and what comes later is told`,
      { timeout: 900_000 },
      async (t) => {
        const tally = { closed: 0, refused: 0, told: 0 }
        let at = 0
        for (let outcome = await interleave(act, 0); outcome; outcome = await interleave(act, ++at)) {
          const { status, body, requests, isClosed } = outcome
          const what = `before ${requests[at]}, request ${at + 1} of ${requests.length}`
          const since = body.meta?.since ?? []
          t.equal(isClosed, status === 200, `${what}: what is answered is what Drupal has`)
          if (status === 200) tally.closed++
          else {
            tally.refused++
            t.match([status, body], [409, { code: 'NOT_READY', blockers: [{ code: act.code, entityId: String(ARTICLE) }] }], what)
          }
          if (since.length > 0) {
            tally.told++
            t.match(since, [{ code: act.code, entityId: String(ARTICLE) }], what)
          }
          const [look, end] = [
            requests.indexOf('GET with articles'),
            Math.max(requests.indexOf('PATCH'), requests.lastIndexOf('GET with articles'))
          ]
          if (name === 'unlock') {
            if (at <= look) t.equal(status, 200, `${what}: the lock was gone when the look began`)
          } else {
            if (at <= look) t.equal(status, 409, `${what}: it was there when the look began`)
            t.ok(status === 409 || since.length > 0 || at > end, `${what}: what came is told`)
          }
        }
        t.ok(tally.closed > 0 && tally.refused > 0)
        t.comment(
          `Drupal ${site.version}, ${name}: ${at} interleavings, ${tally.closed} closed, ${tally.refused} refused, ${tally.told} told of what came`
        )
      }
    )
  }
})
