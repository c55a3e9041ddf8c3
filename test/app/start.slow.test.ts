import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { problemsOf } from '../helper.ts'
import { emptyDirectory, ROOT, runNode, START } from './fixtures/processes.ts'

const enough = { ENVIRONMENT: 'test', CMS_URL: 'https://cms.example', AWS_REGION: 'eu-central-1' }

t.test('npm start reports all that is missing and exits with 1 before it listens', async (t) => {
  const { ended, output } = runNode(t, START)
  t.equal(await ended, 1)
  t.strictSame(output(), {
    stdout: '',
    stderr: `Quoin cannot start with these settings:\n${problemsOf({})
      .map((problem) => `  ${problem}\n`)
      .join('')}`
  })
})

t.test('npm start never falls back to an embedded part', async (t) => {
  const cwd = emptyDirectory(t)
  const { ended, output } = runNode(t, START, { cwd, env: { ENVIRONMENT: 'local', DATA_DIR: join(cwd, 'data'), PORT: '0' } })
  t.equal(await ended, 1)
  t.match(output().stderr, /CMS_URL is missing.*\n.*AWS_REGION is missing/)
  t.notOk(existsSync(join(cwd, 'data')), 'no engine was started')
})

t.test('npm start says that PORT is in use', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { ended, output } = runNode(t, START, { env: { ...enough, PORT: String(port) } })
  t.equal(await ended, 1)
  t.strictSame(output(), {
    stdout: '',
    stderr: `Quoin cannot start with these settings:\n  PORT is "${port}" but listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`
  })
})

t.test('a failure of the system ends a command with one line', async (t) => {
  const code = `const { giveUp } = await import(${JSON.stringify(join(ROOT, 'server.ts'))}); giveUp(Object.assign(new Error('write ENOSPC'), { syscall: 'write' }))`
  const { ended, output } = runNode(t, ['--input-type=module', '-e', code])
  t.equal(await ended, 1)
  t.strictSame(output(), { stdout: '', stderr: 'Quoin cannot start: write ENOSPC\n' })
})

t.test('npm start reads .env, and what the environment says already wins', async (t) => {
  const cwd = emptyDirectory(t)
  writeFileSync(
    join(cwd, '.env'),
    '# settings\nENVIRONMENT=test\nCMS_URL="http://127.0.0.1:9"\nDYNAMODB_ENDPOINT=http://127.0.0.1:9\nPORT=nonsense\nLOG_LEVEL=info\n'
  )
  const { child, ended, output, says } = runNode(t, START, { cwd, env: { PORT: '0', CMS_TIMEOUT: '5' } })
  const [, address] = await says(/"msg":"Server listening at (http:\/\/127\.0\.0\.1:\d+)"/)
  t.same(await (await fetch(`${address}/health/live`)).json(), { status: 'ok' })
  child.kill('SIGINT')
  t.equal(await ended, 0, 'Ctrl-C ends it well')
  t.equal(output().stderr, '')
  t.match(
    output().stdout,
    /"level":40,[^\n]*"msg":"CMS_TIMEOUT is not a setting; do you mean CMS_TIMEOUT_MS\?"/,
    'a misspelt setting is in the log'
  )
  for (const line of output().stdout.trim().split('\n')) t.type(JSON.parse(line).level, 'number', 'the log is one JSON object a line')
})

t.test('npm start says that .env cannot be read', async (t) => {
  const cwd = emptyDirectory(t)
  mkdirSync(join(cwd, '.env'))
  const { ended, output } = runNode(t, START, { cwd, env: enough })
  t.equal(await ended, 1)
  t.match(output().stderr, /^Quoin cannot start with these settings:\n {2}\.env cannot be read: .*\n$/)
})

t.test('an older Node is refused in one readable line', async (t) => {
  const guard = join(ROOT, 'config/node-version.cjs')
  const fake = join(emptyDirectory(t), 'fake.cjs')
  writeFileSync(fake, "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: process.env.FAKE_NODE } })\n")
  const withVersion = async (version: string) => {
    const { ended, output } = runNode(t, ['-r', fake, guard], { env: { ...process.env, FAKE_NODE: version } })
    return { version, code: await ended, ...output() }
  }
  for (const { version, code, stdout, stderr } of await Promise.all(['20.19.5', '22.19.9', '18.0.0'].map(withVersion))) {
    t.equal(code, 1, version)
    t.equal(stdout, '')
    t.match(stderr, new RegExp(`^Quoin needs Node 22\\.20 or later; this is Node ${version.replaceAll('.', '\\.')}\\. [^\\n]*\\n$`))
  }
  for (const { version, code, stdout, stderr } of await Promise.all(['22.20.0', '23.0.0', '24.1.0', '100.0.0-nightly'].map(withVersion))) {
    t.strictSame({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' }, version)
  }
})
