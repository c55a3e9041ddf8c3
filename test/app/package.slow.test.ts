import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import ts from 'typescript'
import lock from '../../package-lock.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import { closure, imageFiles, production, type Package } from './fixtures/image.ts'
import { emptyDirectory, ROOT, runNode } from './fixtures/processes.ts'

/** What `npm run prepack` needs besides what the image has. */
const SOURCES = [
  'dev',
  'packages/desk',
  'packages/drupal-module',
  'packages/drupal-stand-in',
  'tsconfig.json',
  'tsconfig.build.json',
  'docs',
  'README.md',
  'LICENSE',
  '.gitignore'
]

/** The packages that installing the service's brings along, without the optional ones. What is nested comes with its folder. */
const installed = production.filter((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path))

/** An empty project into which the service is installed, as `npm install` of the packed file does. */
let project: string

t.before(() => {
  project = projectWith(t)
})

function projectWith(t: Test): string {
  const copy = emptyDirectory(t)
  for (const path of [...imageFiles(), ...SOURCES]) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const directory = emptyDirectory(t)
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: copy, encoding: 'utf8', stdio: 'pipe' })
    .trim()
    .split('\n')
    .at(-1)!
  const target = join(directory, 'node_modules/quoin')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(directory, packed), '--strip-components=1', '-C', target])
  // The registry may be out of reach: the packages are those that are here.
  for (const path of [...installed, 'node_modules/@types/node', 'node_modules/undici-types']) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(directory, path))
  }
  const bin = join(directory, 'node_modules/.bin')
  mkdirSync(bin)
  chmodSync(join(target, manifest.bin.quoin), 0o755)
  symlinkSync(join('../quoin', manifest.bin.quoin), join(bin, 'quoin'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module","private":true}')
  return directory
}

/** Runs a verb as a consumer does. */
function quoin(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const { PATH, HOME } = process.env
  const { status, stdout, stderr } = spawnSync('npx', ['--no', '--', 'quoin', ...args], {
    cwd: project,
    env: { PATH: `${dirname(process.execPath)}:${PATH}`, HOME },
    encoding: 'utf8'
  })
  return { status, stdout, stderr }
}

t.test('the package has what runs, with the declarations that a host needs, and nothing else', async (t) => {
  const directory = join(project, 'node_modules/quoin')
  const filesIn = (directory: string) => globSync('**/*', { cwd: directory }).filter((path) => statSync(join(directory, path)).isFile())
  const drupalModule = 'dist/packages/drupal-module/quoin'
  t.strictSame(
    filesIn(join(directory, drupalModule)).sort(),
    [...filesIn(join(ROOT, 'packages/drupal-module/quoin')), 'js/dist/form.js'].sort(),
    "Drupal's module, whole"
  )
  const files = filesIn(directory).filter((path) => !path.startsWith(drupalModule))
  const pages = files.filter((path) => path.startsWith('docs/'))
  t.strictSame(pages.sort(), globSync('docs/*.md', { cwd: ROOT }).sort(), 'the pages that messages and README.md name')
  const rest = files.filter((path) => !pages.includes(path) && !path.startsWith('dist/'))
  t.strictSame(rest.sort(), ['LICENSE', 'README.md', 'config/content-model.json', 'config/content-model.schema.json', 'package.json'])
  t.strictSame(
    files.filter((path) => path.startsWith('dist/') && !/\.(?:js|d\.ts)$/.test(path)),
    ['dist/LICENSES.txt', 'dist/packages/desk/page.json'],
    'what the desk is served from, and the licenses of what is bundled'
  )
  const licenses = readFileSync(join(directory, 'dist/LICENSES.txt'), 'utf8')
  for (const name of ['fastify', '@aws-sdk/client-dynamodb', 'undici', '@sinclair/typebox']) {
    t.match(licenses, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((?:MIT|Apache-2.0)\\)\n\n\\s*\\w`, 'm'), name)
  }
  t.ok(files.includes('dist/app.d.ts'))
  const declarations = files.filter((path) => path.endsWith('.d.ts') && path.startsWith('dist/'))
  t.notMatch(
    declarations.map((path) => readFileSync(join(directory, path), 'utf8')).join(''),
    /declare module/,
    "a host's Fastify has none of Quoin's own decorators"
  )
})

t.test('production installs few packages', async (t) => {
  const { dependencies } = manifest
  t.ok(
    Object.keys(dependencies).length <= 20,
    `the aim is at most 20 dependencies, and package.json has ${Object.keys(dependencies).length}: what one feature needs is an optional peer, what only types need a development dependency`
  )
  t.ok(production.length <= 120, `the aim is at most 120 packages, and \`npm ci --omit=dev\` installs ${production.length}`)
  t.strictSame([...production].sort(), closure(Object.keys(dependencies)).sort(), 'what the lock marks is what the dependencies need')
})

t.test('every optional package is there for development, in the same range', async (t) => {
  const { peerDependencies, peerDependenciesMeta, devDependencies, dependencies } = manifest
  for (const [name, range] of Object.entries(peerDependencies)) {
    t.equal((devDependencies as Record<string, string>)[name], range, name)
    t.notOk(name in dependencies, name)
  }
  t.strictSame(
    peerDependenciesMeta,
    Object.fromEntries(Object.keys(peerDependencies).map((name) => [name, { optional: true }])),
    'npm installs none of them by itself'
  )
})

t.test("the consumer's Node stays the consumer's", async (t) => {
  t.notOk('optionalDependencies' in manifest)
  for (const path of installed) t.notOk('node' in ((lock.packages as Record<string, Package>)[path]!.bin ?? {}), path)
  t.notOk(installed.some((path) => /(?:@quoin\/|node-)linux-x64/.test(path)))
})

t.test('npx quoin says what it is and what it can do, and what it cannot', async (t) => {
  t.match(quoin('--version'), { status: 0, stdout: `${manifest.version}\n` })
  const help = quoin('--help')
  t.equal(help.status, 0)
  for (const [page] of help.stdout.matchAll(/docs\/[\w-]+\.md/g)) t.ok(existsSync(join(project, 'node_modules/quoin', page)), page)
  for (const verb of ['start', 'dev', 'doctor', 'model', 'types', 'table', 'mcp', 'drupal-key', '--help', '--version']) {
    t.match(help.stdout, new RegExp(`^  ${verb} `, 'm'))
  }
  t.match(quoin('strat'), { status: 2, stdout: '', stderr: /^There is no quoin strat\n[^]*Usage: quoin/m })
  t.match(quoin('start', '--port', '80'), { status: 2, stderr: /^quoin start takes nothing more, but was given --port 80\n/m })
  t.match(quoin(), { status: 2, stderr: /Usage: quoin/ })
  t.match(quoin('start'), { status: 1, stderr: /^Quoin cannot start with these settings:\n {2}ENVIRONMENT is missing/m })
  t.match(quoin('doctor'), { status: 1, stdout: /ENVIRONMENT is missing/ })
  t.match(quoin('model'), { status: 1, stderr: /CMS_URL is missing/ })
  t.match(quoin('model', '--entity'), { status: 1, stderr: /--entity-type=<name>/ })
  t.match(quoin('table'), { status: 1, stderr: /AWS_REGION is missing/ })
  t.match(quoin('mcp'), { status: 1, stdout: '', stderr: /^quoin mcp: QUOIN_URL has to be the address of a running Quoin, .*\n$/ })
  t.match(quoin('dev'), { status: 1, stderr: /npm install --save-dev dynalite@\d+ classic-level@\d+/ })
})

t.test('npx quoin says how to install the optional package that a setting needs', async (t) => {
  const store = { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9' }
  const { ioredis } = manifest.peerDependencies
  for (const [setting, value, command] of [
    ['EVENTS_BUS_URL', 'redis://127.0.0.1:9', `npm install ioredis@${ioredis}\n`],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9', 'npm install @opentelemetry/api@'],
    ['MCP', 'on', `npm install @modelcontextprotocol/server@${manifest.peerDependencies['@modelcontextprotocol/server']}\n`]
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [join(project, 'node_modules/.bin/quoin'), 'start'], {
      cwd: project,
      env: { ...store, [setting]: value, PORT: '0' },
      encoding: 'utf8'
    })
    t.equal(status, 1, setting)
    t.match(stderr, /^Quoin cannot start: these settings need the package \S+, which is not installed\. Run npm install /)
    t.match(stderr, command)
  }
})

t.test('npx quoin mcp says in one line which package it needs', async (t) => {
  const said = spawnSync(process.execPath, [join(project, 'node_modules/.bin/quoin'), 'mcp'], {
    cwd: project,
    env: { QUOIN_URL: 'http://127.0.0.1:9' },
    encoding: 'utf8'
  })
  t.match(said, {
    status: 1,
    stdout: '',
    stderr: /^quoin mcp: the package @modelcontextprotocol\/server is not installed\. Run npm install @modelcontextprotocol\/server@.*\n$/
  })
})

t.test('beside the package of their protocol the tools for agents are at /mcp', async (t) => {
  for (const path of closure(['@modelcontextprotocol/server'])) {
    const link = join(project, path)
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, path), link)
    t.teardown(() => rmSync(link))
  }
  const service = runNode(t, [join(project, 'node_modules/.bin/quoin'), 'start'], {
    cwd: project,
    env: { ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', MCP: 'on', PORT: '0' }
  })
  const [, url] = await service.says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  })
  t.match([answer.status, await answer.text()], [200, /"name":"read_edition"/])
  service.child.kill('SIGTERM')
  t.equal(await service.ended, 0)
})

t.test('npx quoin names its own commands, not those of a clone', (t) => {
  for (const [name, text] of [
    ['.env', 'CMS_URL=http://127.0.0.1:9'],
    ['content-model.json', '{}']
  ] as const) {
    writeFileSync(join(project, name), text)
    t.teardown(() => rmSync(join(project, name)))
  }
  t.match(quoin('model'), {
    status: 1,
    stdout: 'content-model.json is there already: see whether it is right with npx --no -- quoin doctor, or'
  })
  t.end()
})

t.test('npx quoin refuses an older Node in one line', async (t) => {
  const preload = join(project, 'older-node.cjs')
  const withoutNewer =
    "const builtin = require('node:module'); for (const name of ['enableCompileCache', 'findPackageJSON']) delete builtin[name]; builtin.syncBuiltinESMExports()"
  for (const [version, status, stderr] of [
    ['20.20.2', 1, /^Quoin needs Node 22\.20 or later; this is Node 20\.20\.2\.\n$/],
    ['22.19.9', 1, /^Quoin needs Node/],
    ['22.20.0', 1, /ENVIRONMENT is missing/],
    ['26.0.0', 1, /ENVIRONMENT is missing/]
  ] as const) {
    writeFileSync(
      preload,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } }); ${version.startsWith('20.') ? withoutNewer : ''}`
    )
    const { stdout, ...said } = spawnSync(
      process.execPath,
      ['-r', preload, join(project, 'node_modules/quoin', manifest.bin.quoin), 'start'],
      { cwd: project, env: {}, encoding: 'utf8' }
    )
    t.match(said, { status, stderr }, version)
    t.equal(stdout, '')
  }
})

t.test('npx quoin keeps what Node has compiled, where it may write', (t) => {
  const home = join(project, 'node_modules/quoin/node_modules')
  const message = /ENVIRONMENT is missing/
  rmSync(home, { recursive: true, force: true })
  t.match(quoin('start'), { status: 1, stderr: message })
  t.ok(globSync('.cache/node/*/*', { cwd: home }).length > 5)
  rmSync(home, { recursive: true })
  writeFileSync(home, 'no directory can be made here')
  t.match(quoin('start'), { status: 1, stderr: message })
  rmSync(home)
  t.end()
})

/** A host, as docs/embedding.md has it. */
const HOST = /^```ts\n([^]*?)^```$/m.exec(readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8'))![1]!

t.test('a host serves it below a prefix: the API, the desk and the documentation', async (t) => {
  writeFileSync(
    join(project, 'host.js'),
    `${HOST}
const answers = {}
const files = [...(await host.inject('/quoin/desk')).body.matchAll(/(?:href|src)="(desk[^"]+)"/g)].map(([, path]) => '/quoin/' + path)
for (const url of ['/own', '/quoin/health/live', '/quoin/desk', ...files, '/quoin/docs/json']) {
  const { statusCode, body } = await host.inject(url)
  answers[url] = [statusCode, body.length]
}
console.log(JSON.stringify(answers))
await host.close()
`
  )
  const env = { ENVIRONMENT: 'test', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', DESK: 'on', PORT: '0' }
  const stdout = execFileSync(process.execPath, ['host.js'], { cwd: project, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const answers = JSON.parse(/^\{"\/own.*$/m.exec(stdout)![0]) as Record<string, [number, number]>
  t.equal(Object.keys(answers).length, 6)
  for (const [url, [status, length]] of Object.entries(answers)) t.ok(status === 200 && length > 0, `${url}: ${status}, ${length} bytes`)
})

/** Each part of the settings as a module of a host gives it away, and options that leave something open. */
const PARTS = `import { readConfig, type AppOptions } from 'quoin'
export const config = readConfig(process.env)
export const { auth, cms, contentModel, locks } = config
export const jwt = auth?.kind === 'jwt' ? auth.jwt : undefined
export const keys = jwt?.keys
export const all = { ...config }
export const options: AppOptions = { config, prefix: process.env['PREFIX'] }
`

const require = createRequire(import.meta.url)

/** tap brings one of its own. */
const earlier = createRequire(require.resolve('@tapjs/test'))('typescript') as typeof ts

const compilers = { [`TypeScript ${ts.version}`]: ts, 'TypeScript 5.9': earlier }

/** Modules of a host: as it is documented, as it gives settings away, and with a mistake made on purpose. */
const MODULES = {
  'host.ts': HOST,
  'parts.ts': PARTS,
  'wrong.ts': HOST.replace("prefix: '/quoin'", 'prefix: 5')
}

for (const [name, compiler] of Object.entries(compilers)) {
  t.test(`a host that uses it compiles with ${name} and every strict flag`, async (t) => {
    const paths = Object.entries(MODULES).map(([name, code]) => {
      writeFileSync(join(project, name), code)
      return join(project, name)
    })
    const { options, errors } = compiler.convertCompilerOptionsFromJson(
      {
        target: 'es2023',
        lib: ['es2023'],
        types: ['node'],
        module: 'nodenext',
        noEmit: true,
        declaration: true,
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        noImplicitOverride: true,
        noImplicitReturns: true,
        noPropertyAccessFromIndexSignature: true,
        verbatimModuleSyntax: true,
        isolatedModules: true,
        skipLibCheck: false,
        preserveSymlinks: true
      },
      project
    )
    t.strictSame(errors, [])
    const program = compiler.createProgram(paths, options)
    const problems = (path: string): string[] =>
      compiler
        .getPreEmitDiagnostics(program, program.getSourceFile(path))
        .map(({ messageText }) => compiler.flattenDiagnosticMessageText(messageText, '\n'))
    const [host, parts, wrong] = paths.map(problems)
    t.strictSame(host, [])
    t.strictSame(parts, [], 'the declarations of a host can name every type that the settings have')
    t.match(wrong, [/not assignable|No overload/], 'only what is made wrong on purpose is found')
    const own = program.getSourceFiles().filter(({ fileName }) => fileName.includes('/node_modules/quoin/'))
    t.ok(own.length > 0)
    for (const { fileName } of own) t.strictSame(problems(fileName), [], `${fileName.split('/node_modules/').at(-1)} has no mistake`)
  })
}
