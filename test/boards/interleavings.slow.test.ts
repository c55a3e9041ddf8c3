import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { JSONAPI, startHostileCms } from '../editions/hostile-cms.ts'
import { basic } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { startEngineProxy } from '../tickets/fixtures/engine-proxy.ts'

const ARTICLE = 4
const LOCKS = `/api/cloud/data-state/node/${ARTICLE}`

/** For how long a second close is waited for while the first is held, in milliseconds: it may wait for the first. */
const CLOSE_MS = 100

interface Answer {
  status: number
  body: any
}
type Send = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: object) => Promise<Answer>

interface Newsroom {
  /** The instance whose requests to the CMS and to the table can be held. */
  held: Send
  other: Send
  /** Says in Drupal's own form whether the article is published. */
  publish: (status: boolean) => Promise<void>
  /** Called with each request of the instance, before it goes on. */
  gate: { before: (request: string) => Promise<void> }
  /** Makes an edition that is ready to close. */
  edition: () => Promise<string>
}

async function startNewsroom(t: Test): Promise<Newsroom> {
  const content = newspaper()
  const { uuid } = content.entities.find(({ type, id }) => type === 'node--article' && id === ARTICLE)!
  const cms = await startHostileCms(t, { content })
  const { endpoint } = await startEngine(t, 'dynalite')
  const gate: Newsroom['gate'] = { before: async () => {} }
  cms.behave = async ({ method, query, headers, body }) => {
    const name = method === 'GET' && query.has('include') ? 'GET with articles' : body === '{}' ? 'whether it may be edited' : method
    if (headers.authorization === basic('editor').authorization) {
      await gate.before(name)
    }
    return undefined
  }
  const proxy = await startEngineProxy(t, endpoint, async (command, body) => {
    await gate.before(command)
    return body
  })
  const instance = async (user: string, engine: string): Promise<Send> => {
    const app: FastifyInstance = await build(t, {
      CMS_URL: cms.url,
      CMS_AUTH: 'basic',
      CMS_USER: user,
      CMS_PASSWORD: user,
      DYNAMODB_ENDPOINT: engine
    })
    return async (method, url, body) => {
      const answer = await app.inject({ method, url, headers: { 'x-user-uid': user }, ...(body && { body }) })
      return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() }
    }
  }
  const [held, other] = [await instance('editor', proxy), await instance('editor2', endpoint)]
  let count = 0
  return {
    held,
    other,
    gate,
    async publish(status) {
      const answer = await fetch(`${cms.url}/jsonapi/node/article/${uuid}`, {
        method: 'PATCH',
        headers: { ...JSONAPI, ...basic('admin') },
        body: JSON.stringify({ data: { type: 'node--article', id: uuid, attributes: { status } } })
      })
      if (answer.status !== 200) throw new Error(await answer.text())
    },
    async edition() {
      const { status, body } = await other('POST', '/api/collection', {
        type: [{ target_id: 'daily' }],
        title: [{ value: 'Monday' }],
        status: [{ value: false }],
        field_key: [{ value: `interleaved-${++count}` }],
        field_publisher_edition_type: [{ value: 'daily' }],
        field_articles: [{ target_id: ARTICLE }]
      })
      if (status !== 201) throw new Error(JSON.stringify(body))
      return String(body.id[0].value)
    }
  }
}

/** What is done while a close is held at one of its requests. */
interface Act {
  /** What was done before the close. */
  prepare?: (newsroom: Newsroom) => Promise<unknown>
  act: (newsroom: Newsroom, edition: string) => Promise<unknown>
  undo?: (newsroom: Newsroom) => Promise<unknown>
}

const lock = ({ other }: Newsroom) => other('POST', LOCKS, { fieldName: 'title', userData: { uid: '7', name: 'Ada' }, payload: 'typed' })
const unlock = ({ other }: Newsroom) => other('DELETE', `${LOCKS}?fieldName=title&uid=7`)

const acts: Record<'lock' | 'unlock' | 'unpublish' | 'close', Act> = {
  lock: { act: lock, undo: unlock },
  unlock: { prepare: lock, act: unlock },
  unpublish: { act: ({ publish }) => publish(false), undo: ({ publish }) => publish(true) },
  close: { act: ({ other }, edition) => other('POST', `/api/collection/${edition}/close`, {}) }
}

interface Outcome extends Answer {
  /** The requests in the order of their coming. */
  requests: string[]
  /** What another close was answered. */
  acted: unknown
}

/** Closes an edition, and does something else before its request of some number goes on; undefined where it has fewer. */
async function interleave(
  newsroom: Newsroom,
  { prepare, act, undo }: Act,
  at: number,
  close: (send: Send, edition: string) => Promise<Answer>
): Promise<Outcome | undefined> {
  const edition = await newsroom.edition()
  await prepare?.(newsroom)
  const requests: string[] = []
  let acting: Promise<unknown> | undefined
  let held: Promise<unknown> | undefined
  newsroom.gate.before = async (request) => {
    if (requests.push(request) - 1 === at) {
      acting = act(newsroom, edition)
      held = act === acts.close.act ? Promise.race([acting, sleep(CLOSE_MS)]) : acting
    }
    // Requests are sent at the same time: those that come later wait too.
    await held
  }
  const answer = await close(newsroom.held, edition)
  newsroom.gate.before = async () => {}
  const acted = await acting
  await (undo ?? unlock)(newsroom)
  return acting && { ...answer, requests, acted }
}

const closeAtOnce = (send: Send, edition: string) => send('POST', `/api/collection/${edition}/close`, {})

/** Looks first, and sets the status then. */
async function lookAndSave(send: Send, edition: string): Promise<Answer> {
  const look = await send('GET', `/api/collection/${edition}/readiness`)
  return look.body.ready ? send('POST', `/api/collection/${edition}`, { status: [{ value: true }] }) : { status: 409, body: look.body }
}

/** What became of an act before each request of a close: its own outcomes, one after the other. */
async function interleavings(newsroom: Newsroom, act: Act, close = closeAtOnce): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (
    let outcome = await interleave(newsroom, act, 0, close);
    outcome;
    outcome = await interleave(newsroom, act, outcomes.length, close)
  ) {
    outcomes.push(outcome)
  }
  return outcomes
}

/** Whether an edition was closed over what had come at some request, before its save or the last look, and nobody was told. */
function isClosedOver({ status, body, requests }: Outcome, at: number): boolean {
  const end = Math.max(requests.indexOf('PATCH'), requests.lastIndexOf('GET with articles'))
  return status === 200 && at <= end && !(body.meta?.since?.length > 0)
}

t.test('at each request of a close something else is done', async (t) => {
  const newsroom = await startNewsroom(t)
  // What an instance learns of the site first takes more requests.
  t.match(await closeAtOnce(newsroom.held, await newsroom.edition()), { status: 200, body: { meta: { since: [] } } })
  const counts = (outcomes: Outcome[]) =>
    `${outcomes.length} interleavings, ${outcomes.filter(({ status }) => status === 200).length} closed, ${outcomes.filter(({ body }) => body.meta?.since?.length > 0).length} told of what came`

  for (const name of ['lock', 'unpublish'] as const) {
    await t.test(`${name}: never closed over what was there when the look began, and what comes later is told`, async (t) => {
      const outcomes = await interleavings(newsroom, acts[name])
      t.comment(counts(outcomes))
      for (const [at, { status, body, requests }] of outcomes.entries()) {
        const [looks, saves] = [requests.indexOf('GET with articles'), requests.indexOf('PATCH')]
        const what = `before ${requests[at]}, request ${at + 1} of ${requests.length}`
        if (at <= looks) t.match([status, body], [409, { code: 'NOT_READY', blockers: [Object] }], what)
        else t.match(status, saves >= 0 ? 200 : 409, what)
        t.notOk(isClosedOver(outcomes[at]!, at), what)
        if (body.meta?.since.length > 0) {
          t.match(body.meta.since, [{ code: name === 'lock' ? 'LOCKED' : 'ARTICLE_HIDDEN', entityId: String(ARTICLE) }], what)
        }
      }
      t.ok(outcomes.some(({ status }) => status === 409) && outcomes.some(({ body }) => body.meta?.since.length > 0))
    })
  }

  await t.test('unlock: closed where the lock was gone when the look began, and not where the look has seen it', async (t) => {
    const outcomes = await interleavings(newsroom, acts.unlock)
    t.comment(counts(outcomes))
    for (const [at, { status, requests, body }] of outcomes.entries()) {
      const what = `before ${requests[at]}, request ${at + 1} of ${requests.length}`
      if (at <= requests.indexOf('GET with articles')) t.match([status, body], [200, { meta: { since: [] } }], what)
      else t.equal(status, requests.includes('PATCH') ? 200 : 409, what)
    }
    t.ok(outcomes.some(({ status }) => status === 409))
  })

  await t.test('close: of two who close one saves, and both find it closed', async (t) => {
    const outcomes = await interleavings(newsroom, acts.close)
    t.comment(counts(outcomes))
    for (const [at, outcome] of outcomes.entries()) {
      t.match(
        [outcome.status, outcome.acted],
        [200, { status: 200, body: { data: { status: [{ value: true }] }, meta: { since: [] } } }],
        `before ${outcome.requests[at]}, request ${at + 1}`
      )
    }
  })

  await t.test('where one looks first and saves then, an edition is closed over a lock, and nobody is told', async (t) => {
    const outcomes = await interleavings(newsroom, acts.lock, lookAndSave)
    t.comment(`${counts(outcomes)}; ${outcomes.filter(isClosedOver).length} closed over a lock`)
    t.ok(outcomes.some(isClosedOver))
  })
})
