import t from 'tap'
import { bearer } from '../../../test/auth/fixtures.ts'
import { problemsOf } from '../../../test/helper.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { publishEdition } from '../server/tools/publish-edition.ts'
import { anna, ben, openNewsroom, planner, type Newsroom } from './newsroom.ts'

const LOCK = '/api/cloud/data-state/publisher_container/1'
const ALL = { MCP_ALLOW: 'publish, close,restore' }
const ADDED = ['publish_edition', 'close_edition', 'restore_fields']
const tagOf = async ({ call }: Newsroom) => (await call('read_edition', { id: '1' })).body.tag as string
const codeOf = ({ isError, body }: { isError: boolean; body: any }) => (isError ? (body.error?.code ?? body) : 'done')

async function toolsOf({ connect }: Newsroom) {
  const client = await connect(planner)
  return (await client.listTools()).tools
}

t.test('agents publish, close and restore where the settings allow it, and have no tool for it elsewhere', async (t) => {
  for (const [MCP_ALLOW, expected] of [
    [undefined, []],
    ['', []],
    ['close', ['close_edition']],
    [ALL.MCP_ALLOW, ADDED]
  ] as const) {
    const room = await openNewsroom(t, { env: MCP_ALLOW === undefined ? {} : { MCP_ALLOW } })
    const tools = await toolsOf(room)
    t.strictSame(
      tools.map(({ name }) => name).filter((name) => ADDED.includes(name)),
      expected
    )
    t.ok(JSON.stringify(tools).length < 12_000, 'the list stays short')
    for (const name of ADDED.filter((name) => !(expected as readonly string[]).includes(name))) {
      await t.rejects(room.call(name, { id: '1' }), { code: -32602 }, name)
    }
  }
  const env = { ENVIRONMENT: 'test', CMS_URL: 'http://cms.example', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', AUTH: 'none' }
  for (const wrong of ['delete', 'publish close', 'publish,', 'close,delete']) {
    t.match(problemsOf({ ...env, MCP_ALLOW: wrong }), [/^MCP_ALLOW is .* but must be/], wrong)
  }
})

t.test('an agent publishes and unpublishes the edition that it has read', async (t) => {
  const room = await openNewsroom(t, { env: ALL })
  const { call, rest } = room
  const stored = async () => (await rest('GET', '/api/collection/1')).body.status[0].value
  const wasPublished = await stored()
  const args = { id: '1', published: !wasPublished, tag: await tagOf(room) }
  await rest('POST', LOCK, { headers: ben, body: { fieldName: 'status' } })
  t.match((await call('publish_edition', args)).body.error, { code: 'FIELD_LOCKED', locks: [{ holder: { uid: '8' } }] })
  await rest('DELETE', `${LOCK}?fieldName=status`, { headers: ben })
  const first = await call('publish_edition', args)
  t.match(first, { isError: false, body: { saved: true, tag: await tagOf(room) } })
  t.equal(await stored(), !wasPublished)
  t.match((await call('publish_edition', args)).body, { saved: true, tag: first.body.tag, repeated: String })
  t.equal(codeOf(await call('publish_edition', { ...args, published: wasPublished })), 'PRECONDITION_FAILED')
  t.equal(codeOf(await call('publish_edition', { ...args, published: wasPublished, tag: first.body.tag })), 'done')
  t.equal(await stored(), wasPublished)
  t.match(
    (await rest('GET', '/api/collection/1/journal')).body.data.map(({ by }: any) => by.uid),
    ['agent:planner:7', 'agent:planner:7']
  )
  t.equal(codeOf(await call('edit_field', { id: '1', field: 'status', value: true, tag: await tagOf(room) })), 'FORBIDDEN')
  const model = contentModel({})
  const without = { model: { ...model, keys: { ...model.keys, published: null } } } as never
  await t.rejects(publishEdition.run(without, { id: '1', published: true, tag: '"a"' }), { code: 'BAD_REQUEST', message: /names no field/ })
})

t.test('an agent closes an edition that is ready, and is told what is in the way of another', async (t) => {
  const room = await openNewsroom(t, { env: ALL })
  const { call, rest } = room
  await rest('POST', '/api/collection/1', { body: { status: [{ value: false }] } })
  await rest('POST', LOCK, { headers: ben, body: { fieldName: 'title', payload: "Ben's" } })
  const args = { id: '1', tag: await tagOf(room) }
  const refused = await call('close_edition', args)
  t.match(refused, { isError: true, body: { error: { code: 'NOT_READY', blockers: [{ fieldName: 'title' }] } } })
  t.equal(await tagOf(room), args.tag)
  await rest('DELETE', `${LOCK}?fieldName=title`, { headers: ben })
  t.equal(codeOf(await call('close_edition', { ...args, tag: '"older.state"' })), 'PRECONDITION_FAILED')
  t.match((await call('close_edition', args)).body, { saved: true, tag: await tagOf(room), since: [] })
  t.match((await rest('GET', '/api/collection/1/journal')).body.data[0], { kind: 'close', by: { uid: 'agent:planner:7' } })
})

t.test('an agent restores fields from the journal, but not what publishes', async (t) => {
  const room = await openNewsroom(t, { env: ALL })
  const { call, rest } = room
  const { title } = (await rest('GET', '/api/collection/1')).body
  await rest('POST', '/api/collection/1', { body: { title: [{ value: 'A slip' }] } })
  const [{ id: entry }] = (await call('read_journal', { id: '1' })).body.entries
  const args = { id: '1', entry, fields: ['title'], side: 'before', tag: await tagOf(room) }
  for (const [wrong, code] of [
    [{ fields: ['title', 'status'] }, 'FORBIDDEN'],
    [{ fields: ['field_key'] }, 'UNPROCESSABLE'],
    [{ fields: [] }, 'BAD_REQUEST'],
    [{ fields: ['title', 'title'] }, 'BAD_REQUEST'],
    [{ entry: 'x'.repeat(16) }, 'NOT_FOUND'],
    [{ entry: 'x' }, 'BAD_REQUEST'],
    [{ side: 'within' }, 'BAD_REQUEST'],
    [{ tag: '"older.state"' }, 'PRECONDITION_FAILED']
  ] as const) {
    t.equal(codeOf(await call('restore_fields', { ...args, ...wrong })), code, JSON.stringify(wrong))
  }
  await rest('POST', LOCK, { headers: ben, body: { fieldName: 'title' } })
  t.equal(codeOf(await call('restore_fields', args)), 'FIELD_LOCKED')
  await rest('DELETE', `${LOCK}?fieldName=title`, { headers: ben })
  t.match(await call('restore_fields', args), { isError: false, body: { saved: true } })
  t.strictSame((await rest('GET', '/api/collection/1')).body.title, title)
  t.match((await rest('GET', '/api/collection/1/journal')).body.data[0], { kind: 'restore', by: { uid: 'agent:planner:7' } })
})

t.test('what agents may do beside has scopes of its own, and needs the right to edit', async (t) => {
  const url = 'https://h.example/mcp'
  const room = await openNewsroom(t, { env: { MCP_ALLOW: 'restore,close', MCP: url } })
  const { app } = room
  const { scopes_supported: scopes } = (await app.inject('/.well-known/oauth-protected-resource/mcp')).json()
  t.strictSame(scopes, ['read', 'propose', 'edit', 'arrange', 'close', 'restore'])
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const send = (scope: string, name: string) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...headers, ...bearer({ sub: '7', act: { sub: 'planner' }, aud: url, scope }) },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { id: '1', tag: '"a"' } } }
    })
  const refused = await send('read edit arrange propose restore', 'close_edition')
  t.match([refused.statusCode, refused.headers['www-authenticate']], [403, /scope="close read propose edit arrange restore"/])
  t.match((await send('close', 'close_edition')).body, 'PRECONDITION_FAILED')

  const strict = await openNewsroom(t, { env: { ...ALL, AUTH_LOCK_CLAIM: 'scope=edit' } })
  const tag = await tagOf(strict)
  const args = { id: '1', tag, published: true, entry: 'x'.repeat(16), fields: ['title'], side: 'before' }
  for (const [name, names] of [
    ['publish_edition', ['id', 'tag', 'published']],
    ['close_edition', ['id', 'tag']],
    ['restore_fields', ['id', 'tag', 'entry', 'fields', 'side']]
  ] as const) {
    const given = Object.fromEntries(Object.entries(args).filter(([key]) => (names as readonly string[]).includes(key)))
    t.equal(codeOf(await strict.call(name, given)), 'FORBIDDEN', name)
    t.equal(codeOf(await strict.call(name, given, { headers: anna })), 'FORBIDDEN', `${name} without an agent`)
  }
  t.equal(await tagOf(strict), tag)
})
