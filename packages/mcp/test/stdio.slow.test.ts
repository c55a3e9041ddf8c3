import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'
import { ask, readRemote, type Remote } from '../stdio/remote.ts'
import { serveStandardInput } from '../stdio/serve.ts'
import { openNewsroom, planner, type Era } from './newsroom.ts'

/** What `npm run mcp` runs. */
const MCP = ['-r', join(ROOT, 'config/node-version.cjs'), join(ROOT, 'cli.ts'), 'mcp']

const { signal } = new AbortController()
const token = planner.authorization.slice('Bearer '.length)
const TOOL = { name: 'read_edition', arguments: { id: '1' } }

/** The SDK's client, with `quoin mcp` as the process that it starts. */
async function connect(t: Test, env: Record<string, string>, era: Era): Promise<Client> {
  const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: era } } })
  t.teardown(() => client.close())
  await client.connect(new StdioClientTransport({ command: process.execPath, args: MCP, env, cwd: emptyDirectory(t) }))
  return client
}

/** `quoin mcp` as a process. */
function start(t: Test, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, MCP, { cwd: emptyDirectory(t), env, stdio: 'pipe' })
  t.teardown(() => child.kill('SIGKILL'))
  const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { child, ended: output.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number | null })) }
}

/** Something that answers in place of Quoin. */
async function answering(t: Test, listener: RequestListener, timeoutMs = 10_000): Promise<Remote> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, headers: {}, timeoutMs }
}

function textIn({ content }: { content: unknown }): string {
  return (content as Array<{ text: string }>)[0]!.text
}

for (const era of ['2026-07-28', 'legacy'] satisfies Era[]) {
  t.test(`quoin mcp gives a client of the era ${era} the tools of a running Quoin`, async (t) => {
    const { url, app } = await openNewsroom(t)
    const client = await connect(t, { QUOIN_URL: url, QUOIN_TOKEN: token }, era)
    t.match(client.getInstructions(), /^Quoin keeps the editions/)
    const { tools } = await client.listTools()
    t.match(
      tools.find(({ name }) => name === TOOL.name),
      { annotations: { readOnlyHint: true }, inputSchema: { required: ['id'] } }
    )
    const read = await client.callTool(TOOL)
    t.notOk(read.isError)
    t.ok(JSON.parse(textIn(read)).tag)
    t.match(await client.callTool({ ...TOOL, arguments: { id: '99999' } }), { isError: true })
    await t.rejects(client.callTool({ name: 'read_minds', arguments: {} }), { code: -32602 })
    await t.rejects(client.callTool({ name: 'läs', arguments: {} }), { code: -32602 })
    await app.close()
    t.match(JSON.parse(textIn(await client.callTool(TOOL))), { error: { code: 'QUOIN_UNREACHABLE' } })
    await t.rejects(client.listTools(), { code: -32603, message: /Quoin cannot be reached/ })
  })
}

t.test('with AUTH=none the environment says which agent calls, and for whom', async (t) => {
  const { url, app } = await openNewsroom(t, { auth: false })
  const seen: unknown[] = []
  app.server.prependListener('request', ({ headers }) => seen.push([headers['quoin-agent'], headers['x-user-uid']]))
  const client = await connect(t, { QUOIN_URL: `${url}/`, QUOIN_AGENT: 'Plänner', QUOIN_USER: '7' }, '2026-07-28')
  t.notOk((await client.callTool(TOOL)).isError)
  t.strictSame(seen.at(-1), ['Pl%C3%A4nner', '7'])
})

t.test('a Quoin that does not know the caller says so to the model', async (t) => {
  const { url } = await openNewsroom(t)
  const client = await connect(t, { QUOIN_URL: url }, '2026-07-28')
  const refused = await client.callTool(TOOL)
  t.ok(refused.isError)
  t.match(JSON.parse(textIn(refused)), { error: { message: /^A bearer token is needed/ } })
})

t.test('quoin mcp ends when its input does, and when it is told to', async (t) => {
  const env = { QUOIN_URL: 'http://127.0.0.1:9' }
  const first = start(t, env)
  first.child.stdin.end()
  t.match(await first.ended, { stdout: '', stderr: '', code: 0 })
  const second = start(t, env)
  second.child.stdin.write(
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}\n'
  )
  await once(second.child.stdout, 'readable')
  second.child.kill('SIGTERM')
  const { stdout, stderr, code } = await second.ended
  t.match([stderr, code], ['', 0])
  t.match(JSON.parse(stdout), { id: 1, result: { serverInfo: { name: 'quoin' } } })
})

t.test('quoin mcp says in one line what is wrong, and nothing of it on its output', async (t) => {
  t.match(await start(t).ended, { stdout: '', stderr: /^quoin mcp: QUOIN_URL has to be .*\n$/, code: 1 })
  const noise = start(t, { QUOIN_URL: 'http://127.0.0.1:9' })
  noise.child.stdin.end('no message\n{"jsonrpc":"2.0"}\n')
  const { stdout, stderr, code } = await noise.ended
  t.match([stdout, code], ['', 0])
  for (const line of stderr.trim().split('\n')) t.match(line, /^quoin mcp: /)
})

t.test('a message of more than 4 MiB ends it', async (t) => {
  const input = new PassThrough()
  const failed = Promise.withResolvers<Error>()
  const remote = { url: 'http://127.0.0.1:9/mcp', headers: {}, timeoutMs: 1000 }
  serveStandardInput(remote, { input, output: new PassThrough(), onError: failed.resolve })
  input.write('x'.repeat(4 * 1024 * 1024 + 1))
  t.match(await failed.promise, { message: /exceed/ })
  t.equal(input.listenerCount('data'), 0)
})

t.test('the environment names a Quoin and its credentials, or is refused', async (t) => {
  const { url, headers } = readRemote({ QUOIN_URL: 'https://h.example/quoin//', QUOIN_AUTHORIZATION: 'Basic eA==', QUOIN_USER: 'ä' })
  t.strictSame({ url, headers }, { url: 'https://h.example/quoin/mcp', headers: { authorization: 'Basic eA==', 'x-user-uid': '%C3%A4' } })
  for (const [env, message] of [
    [{}, /^QUOIN_URL/],
    [{ QUOIN_URL: 'quoin' }, /^QUOIN_URL/],
    [{ QUOIN_URL: 'ftp://h' }, /^QUOIN_URL/],
    [{ QUOIN_URL: 'https://a:b@h' }, /^QUOIN_URL/],
    [{ QUOIN_URL: 'https://h', QUOIN_TOKEN: 'a', QUOIN_AUTHORIZATION: 'b' }, /both set/],
    [{ QUOIN_URL: 'https://h', QUOIN_TOKEN: 'a\nb' }, /one line/]
  ] as const) {
    t.throws(() => readRemote(env), { message })
  }
})

t.test('what answers strangely in place of Quoin is named', async (t) => {
  for (const [status, body, failure] of [
    [200, 'a page', { code: 'QUOIN_STRANGE', message: /answered 200/ }],
    [404, '', { code: 'QUOIN_STRANGE', message: /has it MCP=on\?/ }],
    [204, '', { code: 'QUOIN_STRANGE' }],
    [200, 'null', { code: 'QUOIN_STRANGE' }],
    [200, '{"result":5}', { code: 'QUOIN_STRANGE' }],
    [200, '{"error":{"code":"x"}}', { code: 'QUOIN_STRANGE' }],
    [200, '{"error":{"code":-32603}}', { code: -32603 }],
    [429, '{"message":"later"}', { code: 'HTTP_429', message: 'later' }],
    [403, '{"message":"no","code":"FORBIDDEN"}', { code: 'FORBIDDEN', message: 'no' }],
    [200, ' '.repeat(1024 * 1024 + 1), { code: 'QUOIN_STRANGE', message: /more than/ }]
  ] as const) {
    const remote = await answering(t, (_request, response) => response.writeHead(status).end(body))
    await t.rejects(ask(remote, 'tools/call', TOOL, signal), failure, `${status} ${body.slice(0, 40)}`)
  }
})

t.test('credentials are sent to no other address', async (t) => {
  const remote = await answering(t, (_request, response) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end())
  await t.rejects(ask(remote, 'tools/list', {}, signal), { code: 'QUOIN_UNREACHABLE' })
})

t.test('a call that takes too long ends, and says that its outcome is unknown', async (t) => {
  const remote = await answering(t, () => {}, 50)
  await t.rejects(ask(remote, 'tools/call', TOOL, signal), { code: 'QUOIN_TIMEOUT', message: /is not known/ })
})
