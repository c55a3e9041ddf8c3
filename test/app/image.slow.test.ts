import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import lock from '../../package-lock.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { claims, jwtEnv, tokenOf } from '../auth/fixtures.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { execForm, layOutClone, layOutImage, ofImage } from './fixtures/image.ts'
import { startCollector } from './fixtures/otlp.ts'
import { emptyDirectory, ROOT, runNode } from './fixtures/processes.ts'

/** The directory of the image. */
let cwd: string

t.before(() => {
  cwd = layOutImage(t)
})

t.test('the image runs the service, its health check, the doctor and the table', async (t) => {
  for (const name of ['tap', 'esbuild', 'lit-html']) {
    t.notOk(existsSync(join(cwd, 'node_modules', name)), `${name}, which only development needs, is not there`)
  }
  const [node, ...start] = execForm(/^CMD (\[.*\])$/m)
  t.equal(node, 'node')
  const store = { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' }
  const env = { ...store, ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', HOST: '0.0.0.0', PORT: '0', DESK: 'on' }
  const service = runNode(t, start, { cwd, env })
  const [, port] = await service.says(/listening at http:\/\/127\.0\.0\.1:(\d+)/)
  t.same(await (await fetch(`http://127.0.0.1:${port}/health/live`)).json(), { status: 'ok' })
  for (const path of ['docs', 'docs/json']) t.equal((await fetch(`http://127.0.0.1:${port}/${path}`)).status, 200, path)
  const [script] = /desk\/files\/[\w-]+\.js/.exec(await (await fetch(`http://127.0.0.1:${port}/desk`)).text())!
  t.equal((await fetch(`http://127.0.0.1:${port}/${script}`)).status, 200)

  const [, ...check] = execForm(/^HEALTHCHECK [^\n]*\\\n\s*CMD (\[.*\])$/m)
  const [healthy, ill, table, doctor] = [
    runNode(t, check, { cwd, env: { PORT: port! } }),
    runNode(t, check, { cwd, env: { PORT: '9' } }),
    runNode(t, [...start.slice(0, -1), 'table'], { cwd, env: store }),
    runNode(t, [...start.slice(0, -1), 'doctor'], { cwd, env })
  ]
  t.strictSame(await Promise.all([healthy.ended, ill.ended, table.ended, doctor.ended]), [0, 1, 1, 1])
  t.match(table.output(), { stderr: '', stdout: /^! {4}table DataState: there was no answer/ })
  t.match(doctor.output(), { stderr: '', stdout: /^! {4}CMS: http:\/\/127\.0\.0\.1:9 cannot be reached/m })

  service.child.kill('SIGTERM')
  t.equal(await service.ended, 0, 'SIGTERM ends it well')
  t.equal(service.output().stderr, '')
})

t.test('what settings ask for is loaded from the bundle, or from beside it', async (t) => {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const collector = await startCollector(t)
  const { endpoint } = await startEngine(t, 'dynalite')
  const [, ...start] = execForm(/^CMD (\[.*\])$/m)
  const service = runNode(t, start, {
    cwd,
    env: {
      ENVIRONMENT: 'test',
      PORT: '0',
      METRICS_PORT: '0',
      DYNAMODB_ENDPOINT: endpoint,
      CMS_URL: await cms.listen(),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      RATE_LIMIT: '1000',
      MCP: 'on',
      ...jwtEnv(t),
      CMS_AUTH: 'basic',
      CMS_USER: 'editor',
      CMS_PASSWORD: 'editor'
    }
  })
  const [, metrics] = await service.says(/Metrics at (http:[^"]+)"/)
  const [, url] = await service.says(/Server listening at (http:\/\/127\.0\.0\.1:\d+)/)
  const headers = { authorization: `Bearer ${tokenOf(claims())}`, 'content-type': 'application/json' }
  const send = (path: string, body?: object) =>
    fetch(`${url}${path}`, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })

  t.equal((await fetch(`${url}/api/collections/publisher_container`)).status, 401)
  const list = await send('/api/collections/publisher_container?limit=2')
  t.equal(list.status, 200)
  t.equal(((await list.json()) as { data: unknown[] }).data.length, 2)
  const lock = '/api/cloud/data-state/node/1'
  t.equal((await send(lock, { fieldName: 'title', userData: { uid: '7' } })).status, 200)
  t.equal((await send(lock, { fieldName: 7 })).status, 400, 'a schema is compiled')
  t.equal((await send(lock)).status, 200)
  const mcp = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...headers, accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  })
  t.match([mcp.status, await mcp.text()], [200, /"name":"read_edition"/])
  t.match(await (await fetch(metrics!)).text(), /^quoin_lock_outcomes_total\{/m)

  service.child.kill('SIGTERM')
  t.equal(await service.ended, 0)
  t.ok(collector.spans.length > 0, 'the traces were sent')
  t.equal(service.output().stderr, '')
})

/** What `npm start` runs. */
const [, , ...npmStart] = manifest.scripts.start.split(' ')

t.test('without packages/desk a clone serves everything but the desk', async (t) => {
  const cwd = layOutClone(t, ofImage)
  rmSync(join(cwd, 'packages/desk'), { recursive: true })
  const env = { ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', PORT: '0', DESK: 'on' }
  const service = runNode(t, npmStart, { cwd, env })
  const [, port] = await service.says(/listening at http:\/\/127\.0\.0\.1:(\d+)/)
  const lines = service.output().stdout.match(/^.*without the desk.*$/gm)!
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0]!), {
    level: 40,
    msg: /^DESK=on, but Quoin starts without the desk, which is not installed: Cannot find module/
  })
  t.equal((await fetch(`http://127.0.0.1:${port}/desk`)).status, 404)
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).url, `http://127.0.0.1:${port}/docs`)
  service.child.kill('SIGTERM')
  t.equal(await service.ended, 0)
})

t.test('npm ci --omit=dev alone brings what starts; a setting that needs an optional package says how to install it', async (t) => {
  const cwd = layOutClone(t)
  for (const name of Object.keys(manifest.peerDependencies)) {
    // The client library of Prometheus brings this one.
    if (name !== '@opentelemetry/api') t.notOk(existsSync(join(cwd, 'node_modules', name)), `${name} is not there`)
  }
  const env = { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', PORT: '0' }
  const service = runNode(t, npmStart, { cwd, env })
  const [, port] = await service.says(/listening at http:\/\/127\.0\.0\.1:(\d+)/)
  const home = await fetch(`http://127.0.0.1:${port}/`)
  t.match(home, { status: 200, url: `http://127.0.0.1:${port}/docs/json` })
  t.match(await home.json(), { openapi: '3.1.0' })
  t.equal((await fetch(`http://127.0.0.1:${port}/docs`)).status, 404)
  t.match(service.output().stdout, 'need the package @fastify/swagger-ui, which is not installed: run npm run install:optional')
  service.child.kill('SIGTERM')
  t.equal(await service.ended, 0)
  for (const [setting, value, name] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9', '@opentelemetry/core'],
    ['EVENTS_BUS_URL', 'redis://127.0.0.1:9', 'ioredis'],
    ['RATE_LIMIT', '100', '@fastify/rate-limit'],
    ['MCP', 'on', '@modelcontextprotocol/server']
  ] as const) {
    const failing = runNode(t, npmStart, { cwd, env: { ...env, [setting]: value } })
    t.equal(await failing.ended, 1, setting)
    t.match(
      failing.output().stderr,
      `Quoin cannot start: these settings need the package ${name}, which is not installed. Run npm run install:optional`
    )
  }
})

t.test('npm run install:optional names every optional package in the version of the lock', async (t) => {
  const cwd = emptyDirectory(t)
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(ROOT, name), join(cwd, name))
  const bin = emptyDirectory(t)
  writeFileSync(join(bin, 'npm'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 })
  const PATH = `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`
  const said = execFileSync('sh', ['-c', manifest.scripts['install:optional']], { cwd, encoding: 'utf8', env: { ...process.env, PATH } })
  const [command, ...args] = said.trim().split('\n')
  t.equal(command, 'install')
  const [options, packages] = [args.filter((each) => each.startsWith('--')), args.filter((each) => !each.startsWith('--'))]
  // With --save-prod npm takes them for needed in production, and with --no-save it leaves the manifest and the lock as they are.
  for (const option of ['--no-save', '--save-prod', '--omit=dev']) t.ok(options.includes(option), option)
  const { packages: locked } = lock as { packages: Record<string, { version?: string }> }
  t.strictSame(
    packages,
    Object.keys(manifest.peerDependencies).map((name) => `${name}@${locked[`node_modules/${name}`]!.version}`)
  )
})

t.test('npm ci needs no more than what the image has by then', async (t) => {
  const cwd = emptyDirectory(t)
  const [, sources, command] = /^COPY (.*) \.\/\nRUN (npm ci .*?) && /m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))!
  for (const source of sources!.split(' ')) cpSync(join(ROOT, source), join(cwd, source))
  const [npm, ...args] = command!.split(' ')
  const said = execFileSync(npm!, [...args, '--dry-run', '--offline'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  t.match(said, /^added \d+ packages/m)
  t.match(said, /^add fastify /m)
  t.notMatch(said, /^add tap /m)
})
