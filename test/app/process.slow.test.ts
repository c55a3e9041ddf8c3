import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { DEV, emptyDirectory, runNode, START } from './fixtures/processes.ts'

const PATH = process.env['PATH']
const LISTENS = /^Quoin listens on (http:\/\/127\.0\.0\.1:\d+) /m

t.test('npm run dev listens on 127.0.0.1 and prints two commands that work as printed', async (t) => {
  const cwd = emptyDirectory(t)
  const { child, ended, output, says } = runNode(t, DEV, { cwd, env: { PORT: '0', LOG_LEVEL: 'warn', AWS_PROFILE: 'nobody' } })
  const [, address] = await says(LISTENS)
  const [, lock, list] = await says(/^Try:\n {2}(curl .*)\n {2}(curl .*)\n/m)
  t.ok(lock!.includes(address!) && list!.includes(address!))
  t.same(JSON.parse(await shell(t, lock!)), { success: true }, 'nor does an AWS profile of the user matter')
  const { data, meta } = JSON.parse(await shell(t, list!)) as { data: object[]; meta: object }
  t.match(data, [{ title: [{ value: String }] }, { title: [{ value: String }] }])
  t.match(meta, { limit: 2, offset: 0, hasMore: true })
  t.match(await (await fetch(`${address}/health/ready`)).json(), {
    status: 'ok',
    dependencies: { store: { status: 'ok' }, cms: { status: 'ok' } }
  })
  t.ok(existsSync(join(cwd, '.data')), 'the locks are in .data/')
  t.match(
    await (await fetch(`${address}/desk`)).text(),
    /timeZone&quot;:&quot;Europe\/Berlin&quot;/,
    'the desk has the time zone of the sample site'
  )

  await t.test('a second start on the same files says so and exits with 1, and the first goes on', async (t) => {
    const second = runNode(t, DEV, { cwd, env: { PORT: '0' } })
    t.equal(await second.ended, 1)
    t.match(second.output(), {
      stdout: '',
      stderr:
        /^Quoin cannot start with these settings:\n {2}\.data is in use by another Quoin; stop that one, or set DATA_DIR to another directory\.\n$/
    })
    t.match(await (await fetch(`${address}/api/cloud/data-state/publisher_container/1`)).json(), { success: true, data: { Count: 1 } })
  })

  await t.test('a start on its port names PORT and exits with 1', async (t) => {
    const port = new URL(address!).port
    const second = runNode(t, DEV, { env: { PORT: port } })
    t.equal(await second.ended, 1)
    t.equal(
      second.output().stderr,
      `Quoin cannot start with these settings:\n  PORT is "${port}" but listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`
    )
  })

  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.equal(output().stderr, '')
})

t.test('there is one server, also where localhost has two addresses', async (t) => {
  const hosts = join(emptyDirectory(t), 'hosts.cjs')
  writeFileSync(
    hosts,
    `const dns = require('node:dns')
const { lookup } = dns
dns.lookup = (name, options, done) => name === 'localhost' && options?.all
  ? done(null, [{ address: '127.0.0.1', family: 4 }, { address: '::1', family: 6 }])
  : lookup(name, options, done)`
  )
  const { child, ended, output, says } = runNode(t, ['-r', hosts, ...START], {
    env: { HOST: 'localhost', PORT: '0', ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' }
  })
  const [, address] = await says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
  t.equal((await fetch(`${address}/health/live`)).status, 200)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.equal(output().stdout.match(/listening at/g)?.length, 1)
})

t.test('a part that the settings name replaces the embedded one, and only that', async (t) => {
  const started = (env: Record<string, string>) => {
    const cwd = emptyDirectory(t)
    return { cwd, ...runNode(t, DEV, { cwd, env: { PORT: '0', LOG_LEVEL: 'warn', ...env } }) }
  }
  const engine = await startEngine(t, 'dynalite')
  const users: string[] = []
  const cms = createCms({ content: newspaper(), onRequest: ({ user }) => users.push(user) })
  t.teardown(() => cms.close())
  const ownStore = started({ DYNAMODB_ENDPOINT: engine.endpoint })
  const ownCms = started({ CMS_URL: await cms.listen() })

  await t.test('DYNAMODB_ENDPOINT', async (t) => {
    const [, address] = await ownStore.says(LISTENS)
    t.match(await send(`${address}/api/cloud/data-state/node/1`, { fieldName: 'title', userData: { uid: 7 } }), { success: true })
    t.match((await engine.client.send(new ScanCommand({ TableName: 'DataState' }))).Items, [
      { env_entityType_entityId: 'local-node-1', fieldName: 'title' }
    ])
    t.match(await (await fetch(`${address}/api/collections/daily?limit=1`)).json(), { data: [{}] })
    t.match(ownStore.output().stdout, /sample CMS/)
    t.notMatch(ownStore.output().stdout, /embedded DynamoDB/)
    t.notOk(existsSync(join(ownStore.cwd, '.data')))
  })

  await t.test("CMS_URL, with the callers' own credentials", async (t) => {
    const [, address] = await ownCms.says(LISTENS)
    await fetch(`${address}/api/collections/daily?limit=1`)
    t.strictSame(new Set(users.splice(0)), new Set(['']), 'anonymous')
    await fetch(`${address}/api/collections/daily?limit=1`, { headers: { authorization: `Basic ${btoa('editor:editor')}` } })
    t.strictSame(new Set(users.splice(0)), new Set(['editor']))
    t.match(await send(`${address}/api/cloud/data-state/node/1`, { fieldName: 'title', userData: { uid: 7 } }), { success: true })
    t.match(ownCms.output().stdout, /embedded DynamoDB/)
    t.notMatch(ownCms.output().stdout, /sample CMS/)
  })
})

t.test('SIGTERM lets a running request finish, takes no new one and exits with 0', async (t) => {
  const engine = await startEngine(t, 'dynalite')
  const { child, ended, says, output } = runNode(t, START, {
    env: { PORT: '0', LOG_LEVEL: 'debug', ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: engine.endpoint }
  })
  const [, address] = await says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
  const body = JSON.stringify({ fieldName: 'title', userData: { uid: '7' } })
  const running = request(`${address}/api/cloud/data-state/node/1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length }
  })
  running.write(body.slice(0, 10))
  await says(/"incoming request"/)
  child.kill('SIGTERM')
  await refuses(address!)
  running.end(body.slice(10))
  const [response] = await once(running, 'response')
  t.equal(response.statusCode, 200)
  t.same(JSON.parse((await response.setEncoding('utf8').toArray()).join('')), { success: true })
  t.equal(await ended, 0)
  t.equal(output().stderr, '')
  t.equal((await engine.client.send(new ScanCommand({ TableName: 'DataState' }))).Count, 1, 'what was acknowledged is in the store')
})

async function send(url: string, body: object): Promise<{ success: boolean }> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return (await reply.json()) as { success: boolean }
}

/** Waits until nothing accepts connections there any more. */
async function refuses(address: string): Promise<void> {
  while (
    await fetch(`${address}/health/live`, { headers: { connection: 'close' } }).then(
      () => true,
      () => false
    )
  );
}

/** Runs a command as a user would paste it, and gives what it prints. Where there is no curl, a few lines play it. */
async function shell(t: Test, command: string): Promise<string> {
  const directory = emptyDirectory(t)
  const curl = join(directory, 'curl')
  writeFileSync(
    curl,
    `#!${process.execPath}
const { parseArgs } = require('node:util')
const { values, positionals } = parseArgs({ allowPositionals: true, options: { X: { type: 'string', short: 'X' }, H: { type: 'string', short: 'H' }, d: { type: 'string', short: 'd' } } })
const [name, value] = (values.H ?? 'accept: */*').split(': ')
fetch(positionals[0], { method: values.X, headers: { [name]: value }, body: values.d }).then((reply) => reply.text()).then(console.log)
`
  )
  chmodSync(curl, 0o755)
  const child = spawn('sh', ['-c', command], { env: { PATH: `${PATH}:${directory}` }, stdio: ['ignore', 'pipe', 'inherit'] })
  const text = (await child.stdout.setEncoding('utf8').toArray()).join('')
  await (child.exitCode === null ? once(child, 'exit') : undefined)
  t.equal(child.exitCode, 0, command)
  return text
}
