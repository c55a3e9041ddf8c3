import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { agentOf, agentUid } from '#lib/agents.ts'
import { jwtCheck } from '#lib/auth/jwt.ts'
import { readPublicKey } from '#lib/auth/public-key.ts'
import { readConfig } from '../../config/env.ts'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine, type EngineName } from '../locks/fixtures/engines.ts'
import { AUDIENCE, bearer, claims, ISSUER, jwtEnv, pairs, pemOf, tokenOf } from './fixtures.ts'

const LOCK = '/api/cloud/data-state/publisher_container/1'
const AGENT = 'agent:planner:7'
const anna = bearer({ sub: '7', name: 'Anna' })
const ben = bearer({ sub: '8', name: 'Ben' })
const planner = bearer({ sub: '7', name: 'Anna', act: { sub: 'planner' } })
const scribe = bearer({ sub: '7', name: 'Anna', act: { sub: 'scribe' } })
const NEW = { 'if-none-match': '*' }

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
interface Answer {
  status: number
  body: any
  etag: string
}

/** The application before a stand-in CMS, with AUTH=jwt and a claim of agents, or with other settings. */
async function newsroom(t: Test, { env = {}, engine = 'dynalite' }: { env?: Record<string, string>; engine?: EngineName } = {}) {
  const { endpoint } = await startEngine(t, engine)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const fastify = await build(t, {
    CMS_URL: await cms.listen(),
    DYNAMODB_ENDPOINT: endpoint,
    ...jwtEnv(t),
    AUTH_AGENT_CLAIM: 'act.sub',
    AUTH_ADMINS: '1,7',
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    ...env
  })
  return { fastify, send: sendTo(fastify) }
}

const sendTo =
  (fastify: FastifyInstance) =>
  async (headers: Record<string, string>, method: Method, url: string, body?: object): Promise<Answer> => {
    const reply = await fastify.inject({ method, url, headers, ...(body && { body }) })
    return { status: reply.statusCode, body: reply.json(), etag: String(reply.headers.etag) }
  }

const code = ({ status, body }: Answer) => [status, body.code ?? body.error?.code]

t.test('the uid of an agent says which agent it is and for whom it works, and is taken apart again', (t) => {
  for (const agent of [
    { name: 'planner', principal: '7' },
    { name: 'https://agents.example/a:b', principal: 'agent:x' },
    { name: 'Plänér %', principal: 'ä:ö' }
  ]) {
    t.strictSame(agentOf(agentUid(agent)!), agent)
  }
  t.equal(agentUid({ name: 'planner', principal: '7' }), AGENT)
  t.equal(agentUid({ name: 'ä'.repeat(50), principal: '7' }), undefined, 'beyond 255 characters there is none')
  t.equal(agentOf('7'), undefined)
  for (const uid of ['agent:', 'agent:planner', 'agent::7', 'agent:planner:', 'agent:planner:7:8', 'agent:%E4:7']) {
    t.throws(() => agentOf(uid), { code: 'BAD_REQUEST', message: /begins as that of an agent/ }, uid)
  }
  t.end()
})

t.test('a token says whether an agent calls, by the claim that the settings name', async (t) => {
  const options = { keys: readPublicKey(pemOf(pairs.ES256)), issuer: ISSUER, audience: AUDIENCE, uidClaim: 'sub' }
  const ask = (agentClaim: string | undefined, more: object) =>
    jwtCheck({ ...options, ...(agentClaim && { agentClaim }) })({ authorization: `Bearer ${tokenOf(claims(more))}` }, 'id')

  t.strictSame(await ask('act.sub', { act: { sub: 'planner' } }), { uid: AGENT, name: 'planner (Anna)' })
  t.strictSame(await ask('act.sub', { act: { sub: 'planner', act: { sub: 'gateway' } } }), { uid: AGENT, name: 'planner (Anna)' })
  t.strictSame(await ask('azp', { azp: 'planner', name: undefined }), { uid: AGENT, name: 'planner (7)' })
  const named = 'https://id.example/agent'
  t.strictSame(await ask(named, { [named]: 'planner' }), { uid: AGENT, name: 'planner (Anna)' }, 'the name of a claim may have dots')
  t.strictSame(await ask(named, {}), { uid: '7', name: 'Anna' })
  t.strictSame(await ask('act.sub', { act: { sub: 'planner' }, name: 'A'.repeat(250) }), { uid: AGENT, name: 'planner' })
  for (const more of [{}, { act: undefined }, { azp: 'desk' }]) {
    t.strictSame(await ask('act.sub', more), { uid: '7', name: 'Anna' }, JSON.stringify(more))
  }
  t.strictSame(await ask(undefined, { act: { sub: 'planner' } }), { uid: '7', name: 'Anna' }, 'without the setting nobody is an agent')
  for (const act of [{}, null, 'planner', { sub: {} }, ...['', 5.5, null, ['planner'], 'a\nb', 'ä'.repeat(50)].map((sub) => ({ sub }))]) {
    await t.rejects(ask('act.sub', { act }), { code: 'UNAUTHENTICATED', message: /names an agent that makes no uid/ }, JSON.stringify(act))
  }
  for (const agentClaim of ['act.sub', undefined]) {
    await t.rejects(ask(agentClaim, { sub: AGENT }), { code: 'UNAUTHENTICATED' }, 'no user goes by the uid of an agent')
  }
})

t.test('an agent is marked at its lock, and nobody else is', async (t) => {
  const { send } = await newsroom(t)
  const marks = { agent: 'chief', principal: '1', tab: 'x' }
  t.equal((await send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName: 'title', payload: 'a', userData: marks })).status, 200)
  t.equal((await send(ben, 'POST', LOCK, { fieldName: 'field_key', userData: marks })).status, 200)
  t.match(
    (await send(ben, 'GET', LOCK)).body.data.Items.map(({ userData }: { userData: object }) => userData),
    [
      { uid: '8', name: 'Ben', tab: 'x', agent: undefined, principal: undefined },
      { uid: AGENT, name: 'planner (Anna)', agent: 'planner', principal: '7', tab: 'x' }
    ]
  )
})

t.test('an agent locks what is free, and renews and releases by version alone', async (t) => {
  const { send } = await newsroom(t)
  const field = { fieldName: 'title', payload: 'draft' }
  for (const headers of [{}, { 'if-match': '*' }]) {
    t.strictSame(code(await send({ ...planner, ...headers }, 'POST', LOCK, field)), [428, 'PRECONDITION_REQUIRED'], JSON.stringify(headers))
  }
  t.strictSame((await send(ben, 'GET', LOCK)).body.data.Items, [], 'nothing was locked')
  const first = await send({ ...planner, ...NEW }, 'POST', LOCK, field)
  t.equal(first.status, 200)
  t.strictSame(
    code(await send({ ...planner, ...NEW }, 'POST', LOCK, { ...field, payload: 'of another session' })),
    [412, 'LOCK_CHANGED'],
    'another session of it is another holder'
  )
  const second = await send({ ...planner, 'if-match': first.etag }, 'POST', LOCK, { ...field, payload: 'more' })
  t.equal(second.status, 200)
  for (const [headers, url] of [
    [{}, `${LOCK}?fieldName=title`],
    [{ 'if-match': '*' }, `${LOCK}?fieldName=title`],
    [{}, `${LOCK}?uid=${encodeURIComponent(AGENT)}`]
  ] as const) {
    t.strictSame(code(await send({ ...planner, ...headers }, 'DELETE', url)), [428, 'PRECONDITION_REQUIRED'], url)
  }
  t.strictSame(code(await send({ ...planner, 'if-match': first.etag }, 'DELETE', `${LOCK}?fieldName=title`)), [412, 'LOCK_CHANGED'])
  t.match((await send(ben, 'GET', LOCK)).body.data.Items, [{ payload: 'more' }])
  t.equal((await send({ ...planner, 'if-match': second.etag }, 'DELETE', `${LOCK}?fieldName=title`)).status, 200)
  t.strictSame((await send(ben, 'GET', LOCK)).body.data.Items, [])
})

t.test('an agent takes nothing from anybody: not from its own user, not from another agent', async (t) => {
  const { send } = await newsroom(t)
  await send(anna, 'POST', LOCK, { fieldName: 'title', payload: "Anna's" })
  await send({ ...scribe, ...NEW }, 'POST', LOCK, { fieldName: 'field_key', payload: "the scribe's" })
  for (const fieldName of ['title', 'field_key']) {
    t.strictSame(code(await send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName, payload: 'x' })), [423, 'FIELD_LOCKED'], fieldName)
    t.strictSame(code(await send(planner, 'PUT', LOCK, { fieldName, payload: 'x' })), [403, 'FORBIDDEN'], fieldName)
  }
  const locks = (await send(ben, 'GET', LOCK)).body.data.Items
  t.match(locks, [{ payload: "the scribe's" }, { payload: "Anna's" }])
  for (const { fieldName, version } of locks) {
    const headers = { ...planner, 'if-match': `"${version}"` }
    t.not((await send(headers, 'DELETE', `${LOCK}?fieldName=${fieldName}&uid=7`)).status, 200)
    await send(headers, 'DELETE', `${LOCK}?fieldName=${fieldName}`)
    await send(headers, 'POST', LOCK, { fieldName, payload: 'x' })
  }
  t.strictSame(
    (await send(ben, 'GET', LOCK)).body.data.Items,
    locks,
    'nor by the version of their locks, though its user is an administrator'
  )
  t.strictSame((await send(anna, 'GET', `${LOCK}/drafts`)).body.data.Items, [])
})

t.test('an agent locks three fields at once, of all entities', async (t) => {
  const { send } = await newsroom(t)
  const take = (fieldName: string, id = '1') =>
    send({ ...planner, ...NEW }, 'POST', `/api/cloud/data-state/publisher_container/${id}`, { fieldName })
  const first = await take('title')
  await take('title', '2')
  await take('field_key', '2')
  const refused = await take('field_key')
  t.strictSame(code(refused), [429, 'TOO_MANY_REQUESTS'])
  t.match(refused.body.error.message, /^An agent locks 3 fields at once at most, and has locked title, title, field_key: /)
  t.equal((await send({ ...planner, 'if-match': first.etag }, 'POST', LOCK, { fieldName: 'title' })).status, 200, 'it renews what it has')
  t.equal((await send({ ...scribe, ...NEW }, 'POST', LOCK, { fieldName: 'status' })).status, 200, 'each agent has its own three')
  await send(ben, 'PUT', LOCK, { fieldName: 'title' })
  t.equal((await take('field_key')).status, 200, 'what a person has taken over counts no more')
  t.strictSame(code(await take('status', '2')), [429, 'TOO_MANY_REQUESTS'])
})

t.test('many requests of an agent at once lock three fields', async (t) => {
  const { send } = await newsroom(t)
  const names = ['title', 'status', 'field_key', 'field_link', 'field_note', 'field_more']
  const answers = await Promise.all(names.map((fieldName) => send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName })))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 200, 200, 429, 429, 429])
  t.equal((await send(ben, 'GET', LOCK)).body.data.Items.length, 3)
})

t.test('the lock of an agent ends by itself where those of people stay, and its text is kept', async (t) => {
  const { send } = await newsroom(t, { env: { agentLeaseSeconds: '90', LOCK_LEASE_SECONDS: '0' } })
  await send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName: 'title' })
  await send(ben, 'POST', LOCK, { fieldName: 'field_key' })
  const [key, title] = (await send(ben, 'GET', LOCK)).body.data.Items
  t.equal(key.expiresAt, undefined)
  t.ok(Math.abs(title.expiresAt - title.timestamp - 90) <= 1)
})

t.test('an agent whom a person asks for a field gives it back at once, and its text is kept', async (t) => {
  const { send } = await newsroom(t)
  await send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName: 'title', payload: 'half a head' })
  t.strictSame(
    code(await send(scribe, 'POST', `${LOCK}/requests`, { fieldName: 'title' })),
    [202, undefined],
    'another agent asks as all do'
  )
  t.match((await send(ben, 'GET', LOCK)).body.data.Items, [{ payload: 'half a head' }])
  t.strictSame(code(await send(ben, 'POST', `${LOCK}/requests`, { fieldName: 'title' })), [409, 'FIELD_NOT_LOCKED'])
  t.strictSame((await send(ben, 'GET', LOCK)).body.data.Items, [])
  t.match((await send(ben, 'GET', `${LOCK}/proposals`)).body.data.Items, [{ payload: 'half a head', userData: { uid: AGENT } }])
  t.strictSame((await send(planner, 'GET', `${LOCK}/drafts`)).body.data.Items, [], 'one place is enough')
  t.equal((await send(ben, 'POST', LOCK, { fieldName: 'title' })).status, 200)
})

t.test('with AUTH=none an agent says who it is by its uid, and the same holds for it', async (t) => {
  const { send } = await newsroom(t, { env: { AUTH: 'none', AUTH_AGENT_CLAIM: '' } })
  const userData = { uid: AGENT, name: 'Planner' }
  t.strictSame(code(await send({}, 'POST', LOCK, { fieldName: 'title', userData })), [428, 'PRECONDITION_REQUIRED'])
  t.strictSame(code(await send({}, 'PUT', LOCK, { fieldName: 'title', userData })), [403, 'FORBIDDEN'])
  t.strictSame(code(await send(NEW, 'POST', LOCK, { fieldName: 'title', userData: { uid: 'agent:planner' } })), [400, 'BAD_REQUEST'])
  t.equal((await send(NEW, 'POST', LOCK, { fieldName: 'title', userData })).status, 200)
  t.strictSame((await send({}, 'GET', LOCK)).body.data.Items[0].userData, { ...userData, agent: 'planner', principal: '7' })
  t.strictSame(code(await send({}, 'DELETE', `${LOCK}?uid=${encodeURIComponent(AGENT)}`)), [428, 'PRECONDITION_REQUIRED'])
})

for (const engine of ['dynalite', 'dynoxide'] as const) {
  t.test(`an agent saves over no lock, whatever EDITION_LOCKS is, over ${engine}`, async (t) => {
    const { fastify, send } = await newsroom(t, { engine })
    const change = { title: [{ value: 'By the planner' }] }
    const read = async () => (await send(planner, 'GET', '/api/collection/1')).etag
    const save = async (headers: Record<string, string>, who = planner) =>
      code(await send({ ...who, 'if-match': await read(), ...headers }, 'POST', '/api/collection/1', change))

    t.strictSame(code(await send(planner, 'POST', '/api/collection/1', change)), [428, 'PRECONDITION_REQUIRED'])
    t.strictSame(code(await send({ ...planner, 'if-match': '*' }, 'POST', '/api/collection/1', change)), [428, 'PRECONDITION_REQUIRED'])
    const { uuid } = (await send(anna, 'GET', '/api/collection/1')).body
    for (const id of ['1', uuid[0].value]) {
      const url = `/api/cloud/data-state/publisher_container/${id}`
      await send(anna, 'POST', url, { fieldName: 'title', payload: "Anna's" })
      t.strictSame(await save({}), [423, 'FIELD_LOCKED'], 'its own user has locked it')
      await send(anna, 'DELETE', `${url}?fieldName=title`)
    }

    const { etag: version } = await send({ ...planner, ...NEW }, 'POST', LOCK, { fieldName: 'title', payload: 'By the planner' })
    t.strictSame(await save({}), [423, 'FIELD_LOCKED'], 'the lock may be of another session')
    t.strictSame(await save({ 'lock-match': '"other"' }), [423, 'FIELD_LOCKED'])
    t.strictSame(await save({ 'lock-match': version }, scribe), [423, 'FIELD_LOCKED'], 'a version lets its owner alone through')
    t.strictSame(await save({ 'lock-match': '*' }), [400, 'BAD_REQUEST'])
    t.strictSame(await save({ 'lock-match': Array(101).fill('"a"').join() }), [400, 'BAD_REQUEST'])
    const { next } = await openEvents(t, `${await fastify.listen({ host: '127.0.0.1', port: 0 })}${LOCK}/events`, ben)
    t.match(await next(), { event: 'snapshot' })
    t.strictSame(await save({ 'lock-match': `"other", ${version}` }), [200, undefined])
    const { event, data } = await next()
    t.strictSame(
      [event, Object.keys(data).sort()],
      ['saved', ['entityId', 'entityType', 'etag', 'fields', 'name', 'uid']],
      'the versions are told to nobody'
    )
    t.match((await send(anna, 'GET', '/api/collection/1')).body, change)

    await send(ben, 'PUT', LOCK, { fieldName: 'title' })
    t.equal((await send(anna, 'POST', '/api/collection/1', { title: [{ value: 'By Anna' }] })).status, 200, 'people save as before')
    t.strictSame(
      code(await send(planner, 'POST', '/api/collection/1/order', { operations: [{ op: 'remove', article: '9999' }] })).at(0) !== 428,
      true,
      'operations say what they expect'
    )
  })
}

t.test('with EDITION_LOCKS=enforce a person can name the versions of locks too, and is held to them', async (t) => {
  const { send } = await newsroom(t, { env: { EDITION_LOCKS: 'enforce' } })
  const { etag } = await send(anna, 'POST', LOCK, { fieldName: 'title' })
  const save = (headers: Record<string, string>) =>
    send({ ...anna, ...headers }, 'POST', '/api/collection/1', { title: [{ value: `By ${JSON.stringify(headers)}` }] })
  t.strictSame(code(await save({ 'lock-match': '"another tab"' })), [423, 'FIELD_LOCKED'])
  t.equal((await save({ 'lock-match': etag })).status, 200)
  t.equal((await save({})).status, 200)
})

t.test('without the store an agent saves nothing', async (t) => {
  const { fastify, send } = await newsroom(t)
  const { etag } = await send(planner, 'GET', '/api/collection/1')
  await fastify.close()
  const { send: sendElsewhere } = await newsroom(t, { env: { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' } })
  t.strictSame(code(await sendElsewhere({ ...planner, 'if-match': etag }, 'POST', '/api/collection/1', { title: [{ value: 'x' }] })), [
    503,
    'STORE_UNAVAILABLE'
  ])
})

t.test('a claim that cannot be one is refused at the start', (t) => {
  for (const claim of ['a b', 'a"b', 'a\\b']) {
    t.throws(() => readConfig({ AUTH_AGENT_CLAIM: claim }), { message: /AUTH_AGENT_CLAIM is / }, claim)
  }
  t.end()
})
