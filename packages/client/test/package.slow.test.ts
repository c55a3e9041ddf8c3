import { cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import ts from 'typescript'
import manifest from '../../../package.json' with { type: 'json' }
import { ROOT } from '../../../test/app/fixtures/processes.ts'
import { addExamples, projectWith } from './packed.ts'
import { testRecipes } from './recipe-tests.ts'
import { recipes } from './recipes.ts'

/** The most that the client may have as one ES module, gzipped, and its package unpacked, in bytes. */
const MOST = 6000
const MOST_UNPACKED = 250_000

/** The same of what stands on it. */
const MOST_LIVE = 2100
const MOST_HOOKS = { react: 700, vue: 1000 }

/** What leaves nothing in the code that runs. */
const OF_TYPES = ['content.ts', 'failures.ts', 'live.ts', 'wire.ts']

/** Where the client stands once it is built and packed, and an empty project has it installed. */
let project: string

t.before(() => {
  project = projectWith(t, Object.keys(MOST_HOOKS))
})

t.test('the client is one small ES module that exports what is documented', async (t) => {
  const directory = join(project, 'node_modules/@quoin/client')
  const file = join(directory, 'dist/client.js')
  const { metafile } = await build({ entryPoints: [file], bundle: true, write: false, format: 'esm', metafile: true })
  const { imports, exports } = Object.values(metafile.outputs)[0]!
  t.strictSame(imports, [], 'it needs nothing else')
  t.strictSame(exports.sort(), ['QuoinError', 'createClient'])
  const { length } = gzipSync(readFileSync(file))
  t.comment(`${length} bytes gzipped`)
  t.ok(length < MOST, `${length} bytes`)
  const { createClient, QuoinError } = await import(file)
  const error = new QuoinError(423, 'FIELD_LOCKED', 'Field is locked')
  t.match([error.name, error.constructor.name, error.stack], ['QuoinError', 'QuoinError', /^QuoinError: Field is locked\n/], 'minified too')
  t.match(createClient(), { locks: { acquire: Function }, editions: { search: Function } })
})

t.test('what keeps a page up to date is another small module, which needs nothing of the first', async (t) => {
  const file = join(project, 'node_modules/@quoin/client/dist/live.js')
  const { metafile } = await build({ entryPoints: [file], bundle: true, write: false, format: 'esm', metafile: true })
  const { imports, exports } = Object.values(metafile.outputs)[0]!
  t.strictSame(imports, [])
  t.strictSame(exports.sort(), ['liveBoard', 'liveEdition', 'liveLock', 'liveOthers'])
  const { length } = gzipSync(readFileSync(file))
  t.comment(`${length} bytes gzipped`)
  t.ok(length < MOST_LIVE, `${length} bytes`)
})

for (const [name, most] of Object.entries(MOST_HOOKS)) {
  t.test(`@quoin/${name} is one small ES module that imports the client and ${name}`, async (t) => {
    const directory = join(project, 'node_modules/@quoin', name)
    const file = join(directory, `dist/${name}.js`)
    const { metafile } = await build({
      entryPoints: [file],
      bundle: true,
      write: false,
      format: 'esm',
      metafile: true,
      external: ['@quoin/client', name]
    })
    const { imports, exports } = Object.values(metafile.outputs)[0]!
    t.strictSame(imports.map(({ path }) => path).sort(), ['@quoin/client/live', name])
    t.strictSame(exports.sort(), ['useBoard', 'useEdition', 'useLock', 'useOthers'])
    const { length } = gzipSync(readFileSync(file))
    t.comment(`${length} bytes gzipped`)
    t.ok(length < most, `${length} bytes`)
    const files = globSync('**/*', { cwd: directory }).filter((path) => statSync(join(directory, path)).isFile())
    t.strictSame(files.sort(), ['LICENSE', 'README.md', `dist/${name}.d.ts`, `dist/${name}.js`, `dist/${name}.js.map`, 'package.json'])
    t.notMatch(readFileSync(join(directory, `dist/${name}.d.ts`), 'utf8'), /client\/src/, 'its declarations name the client as others do')
    const packed = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      version: string
      dependencies?: object
      peerDependencies: object
    }
    t.strictSame(
      [packed.version, packed.dependencies, Object.keys(packed.peerDependencies)],
      [manifest.version, undefined, ['@quoin/client', name]]
    )
    for (const path of ['LICENSE']) t.equal(readFileSync(join(directory, path), 'utf8'), readFileSync(join(ROOT, path), 'utf8'))
  })
}

t.test('the recipes run from the package', async (t) => {
  await testRecipes(t, (await import(join(project, 'node_modules/@quoin/client/dist/client.js'))).createClient)
})

t.test('its package has that module, its types and nothing else', async (t) => {
  const directory = join(project, 'node_modules/@quoin/client')
  const files = globSync('**/*', { cwd: directory }).filter((path) => statSync(join(directory, path)).isFile())
  t.strictSame(files.filter((path) => !path.endsWith('.d.ts')).sort(), [
    'LICENSE',
    'README.md',
    'dist/client.js',
    'dist/client.js.map',
    'dist/live.js',
    'dist/live.js.map',
    'package.json'
  ])
  t.equal(readFileSync(join(directory, 'LICENSE'), 'utf8'), readFileSync(join(ROOT, 'LICENSE'), 'utf8'))
  t.notMatch(
    files
      .filter((path) => !path.endsWith('.map'))
      .map((path) => readFileSync(join(directory, path), 'utf8'))
      .join('\n'),
    /from ['"](?!\.\/[\w-]+\.js['"]|@quoin\/client)/,
    'it imports nothing, and its files one another by the names that they have'
  )
  const mapOf = (name: string) =>
    JSON.parse(readFileSync(join(directory, `dist/${name}.js.map`), 'utf8')) as { sources: string[]; sourcesContent: string[] }
  const maps = [mapOf('client'), mapOf('live')]
  const sources = globSync('*.ts', { cwd: join(ROOT, 'packages/client/src') }).filter((name) => !OF_TYPES.includes(name))
  t.strictSame(
    [...new Set(maps.flatMap(({ sources }) => sources))].sort(),
    sources.map((name) => `../src/${name}`).sort(),
    'the source maps have the code that runs'
  )
  for (const { sources, sourcesContent } of maps) t.equal(sourcesContent.length, sources.length)
  const size = files.reduce((sum, path) => sum + statSync(join(directory, path)).size, 0)
  t.comment(`${size} bytes installed`)
  t.ok(size < MOST_UNPACKED, `${size} bytes`)
  const { dependencies, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    dependencies?: object
    version: string
  }
  t.equal(dependencies, undefined)
  t.equal(version, manifest.version, 'its version is that of the service')
})

/** A use of every verb, as a page of an application has it. */
const EVERY_VERB = `import {
  createClient, QuoinError, type Board, type Client, type Draft, type Edition, type ErrorCode, type Held, type LockRecord, type LockView, type Page, type Petition, type Presence, type Proposal, type ProposalView, type ReadEdition
} from '@quoin/client'

const client: Client = createClient({ url: 'https://quoin.example.org', headers: () => ({ authorization: 'Bearer x' }), user: { uid: 7, name: 'Anna' }, entityType: 'issue', timeoutMs: 1000 })
const { locks, editions } = client
const { signal } = new AbortController()
const entity = { type: 'node', id: '42' }
const field = { ...entity, fieldName: 'title' }

export async function everyVerb (): Promise<void> {
  const held: Held = await locks.acquire(field, { payload: 'Harbour', onLost: (error) => { console.log(error.lock?.userData.name) }, signal })
  const taken: Held = await locks.overwrite(field, { payload: 'Harbour', version: held.version, signal })
  await taken.save('Harbour bridge', { age: 400, signal })
  await taken.release({ signal })
  await locks.release(field, { version: held.version, signal })
  await locks.release(entity)
  const records: LockRecord[] = await locks.list(entity, { payload: false, signal })
  const texts: Draft[] = await locks.drafts(entity, { fieldName: 'title', signal })
  for (const { id } of texts) await locks.discard({ ...field, draft: id }, { signal })
  await locks.ask(field, { signal })
  await locks.withdraw(field, { signal })
  await locks.attend(entity, { signal })
  await locks.leave(entity, { signal })
  const proposal: Proposal = await locks.propose(field, 'Harbour', { base: '"e1"', reason: 'shorter', signal })
  const proposals: Proposal[] = await locks.proposals(entity, { settled: true, signal })
  await locks.takeProposal(entity, proposal.id, { signal })
  await locks.discardProposal(entity, proposals[0]!.id, { signal })
  await locks.withdrawProposal(entity, proposal.id, { signal })
  const unsubscribe: () => void = locks.subscribe(entity, { locks: (views: LockView[], isStale) => { console.log(views.length, isStale) }, down () {}, requested: ({ fieldName, userData, until }: Petition) => { console.log(fieldName, userData.name, until) }, present: ({ userData, until }: Presence) => { console.log(userData.name, until) }, proposed: ({ id, until }: ProposalView) => { console.log(id, until) } }, { signal })
  unsubscribe()
  locks.releaseOnPageHide(window, { signal })()

  const { edition, etag, age }: ReadEdition = await editions.create('daily', { title: [{ value: 'Monday' }] }, { signal })
  const title: string | undefined = edition.title?.[0]?.value
  await editions.update(60, { title: [{ value: title }] }, { ifMatch: etag, signal })
  const read: Edition = (await editions.read('60', { signal })).edition
  const pages: Page[] = []
  for await (const page of editions.search({ bundle: 'daily', q: 'november', status: 1, limit: 5, total: true, signal })) pages.push(page)
  for await (const page of editions.search()) pages.push(page)
  for await (const page of editions.search(filters)) pages.push(page)
  const labels: string[] = [...await editions.bundles({ signal }), ...await editions.types({ signal })].map(({ label }) => label)
  const board: Board = await editions.locks(60, { signal })
  editions.subscribe(60, { locks () {} }, { signal })()
  editions.watch({ bundle: 'daily', q: 'x', status: 1, limit: 50, signal }, { locks () {}, saved () {} })()
  console.log(records, read, age, labels, board.entities)
}

// What a UI leaves open is undefined.
const optional = <Value>(value: Value): Value | undefined => Math.random() < 0.5 ? value : undefined
const filters = { bundle: optional('daily'), q: optional('november'), status: optional<0 | 1>(1), type: optional('daily'), key: optional('k'), limit: optional(5), offset: optional(5), total: optional(true), placed: optional(true), locks: optional(true), signal: optional(signal) }
export const other: Client = createClient({ url: optional('x'), headers: optional(() => ({})), user: optional({ uid: 7 }), entityType: optional('issue'), fetch: optional(fetch), EventSource: optional(EventSource), timeoutMs: optional(5) })

export function codeOf (error: unknown): ErrorCode | undefined {
  return error instanceof QuoinError ? error.code : undefined
}
`

/** A use with the site's own types, as `quoin types` writes them. */
const TYPED = `import { createClient, type Client, type Reference, type Value } from '@quoin/client'

export interface MyEdition { title: Array<Value<string>>, field_articles: Reference[] }
export interface Article { nid: Array<Value<number>> }

const client: Client<MyEdition, { article: Article }> = createClient<MyEdition, { article: Article }>()
const { edition } = await client.editions.read(12)
export const title: string | undefined = edition.title[0]?.value
export const saved: MyEdition = (await client.editions.update(12, { field_articles: [{ target_id: 4 }] })).edition
for await (const { editions } of client.editions.search({ bundle: 'article' })) console.log(editions[0]?.nid[0]?.value)
`

/** A use of what stands on the client, with the site's own types. */
const HOOKS = `import { createClient, type Client, type Presence, type Reference, type Value } from '@quoin/client'
import { liveBoard, liveEdition, liveLock, liveOthers } from '@quoin/client/live'
import * as react from '@quoin/react'
import * as vue from '@quoin/vue'

export interface MyEdition { title: Array<Value<string>>, field_articles: Reference[] }
export interface Article { nid: Array<Value<number>> }

const client: Client<MyEdition, { article: Article }> = createClient<MyEdition, { article: Article }>({ user: { uid: 7 } })
const field = { type: 'node', id: '42', fieldName: 'title' }
const seen = liveEdition(client, 12)
seen.subscribe(({ edition }) => { console.log(edition?.title[0]?.value.length) })()
liveBoard(client, 12).subscribe(({ locks, isLive }) => { console.log(locks.length, isLive) })()
liveOthers(client, field, { stream: 12 }).subscribe(({ others }) => { console.log(others.length) })()
liveLock(client, field).focus('text')

export function useOfReact (): string | undefined {
  const { edition, error, save } = react.useEdition(client, 12)
  const lock = react.useLock(client, field, { text: 'text', store: (text) => save({ title: [{ value: text }], field_articles: [{ target_id: 4 }] }) })
  const others: Presence[] = react.useOthers(client, field, { stream: 12 })
  if (error?.code === 'NOT_FOUND' || others.length > react.useBoard(client, field).locks.length) return lock.text
  return edition?.title[0]?.value
}

export function useOfVue (): string | undefined {
  const { edition, save } = vue.useEdition(client, () => 12)
  const lock = vue.useLock(client, () => field, { text: 'text', store: (text) => save({ title: [{ value: text }] }) })
  const { locks } = vue.useBoard(client, 12)
  return locks.value.length > vue.useOthers(client, field).value.length ? lock.text.value : edition.value?.title[0]?.value
}

// @ts-expect-error the site has no such field
export const wrong = (): unknown => react.useEdition(client, 12).edition?.field_strange
// @ts-expect-error a title is a list of items
export const wrongSave = (): unknown => vue.useEdition(client, 12).save({ title: 'Monday' })
`

const require = createRequire(import.meta.url)

/** The compiler that tap has for itself, an earlier one. */
const earlier = createRequire(require.resolve('@tapjs/test'))('typescript') as typeof ts

/** Two versions of the compiler, as outside projects have them. */
const compilers = Object.fromEntries([ts, earlier].map((compiler) => [`TypeScript ${compiler.versionMajorMinor}`, compiler]))

t.test('whatever a client can do has its comment in the declarations', (t) => {
  const directory = join(project, 'node_modules/@quoin/client/dist')
  const declared = globSync('*.d.ts', { cwd: directory }).flatMap((name) => {
    const source = ts.createSourceFile(name, readFileSync(join(directory, name), 'utf8'), ts.ScriptTarget.ES2022, true)
    return source.statements
      .filter(ts.isInterfaceDeclaration)
      .map((node): [string, string[]] => [
        node.name.text,
        node.members
          .filter((member) => !ts.getJSDocCommentsAndTags(member).length)
          .map((member) => member.name?.getText() ?? member.getText())
      ])
  })
  const methods = new Map(declared)
  for (const name of ['Client', 'Editions', 'Locks', 'Held']) t.ok(methods.has(name), name)
  t.strictSame([methods.get('Editions'), methods.get('Locks'), methods.get('Client')], [[], [], []])
  t.strictSame(methods.get('Held'), [])
  t.end()
})

t.test('the client is compiled by two versions of TypeScript', async (t) => {
  t.strictSame(Object.keys(compilers), ['TypeScript 6.0', 'TypeScript 5.9'])
})

/** How outside projects have modules found. Of TypeScript 6 on, node10 has to be asked for twice. */
const RESOLUTIONS = {
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  node10: { module: 'esnext', moduleResolution: 'node10', allowImportingTsExtensions: false }
}

for (const [name, compiler] of Object.entries(compilers)) {
  for (const [resolution, modules] of Object.entries(RESOLUTIONS)) {
    t.test(`a use of every verb compiles with ${name}, ${resolution} and every strict flag`, async (t) => {
      const isDeprecated = resolution === 'node10' && compiler === ts
      t.strictSame(problemsOf(compiler, modules, [EVERY_VERB, TYPED], isDeprecated ? { ignoreDeprecations: '6.0' } : {}), [])
    })
  }
}

t.test('a library that hands on the client can be compiled with declarations of its own', async (t) => {
  const library =
    "import { createClient } from '@quoin/client'\nexport const { locks, editions } = createClient()\nexport const board = await editions.locks(60)\n"
  for (const compiler of Object.values(compilers)) {
    t.strictSame(problemsOf(compiler, RESOLUTIONS.nodenext, [library], { declaration: true }), [])
  }
})

t.test('the examples for React and Vue, and hooks with the types of a site, compile with every strict flag', async (t) => {
  const pages = addExamples(project)
  for (const [name, compiler] of Object.entries(compilers)) {
    for (const [resolution, modules] of Object.entries(RESOLUTIONS)) {
      const isDeprecated = resolution === 'node10' && compiler === ts
      const more = { skipLibCheck: true, ...(isDeprecated && { ignoreDeprecations: '6.0' }) }
      t.strictSame(problemsOf(compiler, modules, [HOOKS], more), [], `${name}, ${resolution}`)
    }
  }
  // That of React and Vue itself is their affair.
  t.strictSame(problemsIn(ts, RESOLUTIONS.bundler, pages, { jsx: 'react-jsx', skipLibCheck: true }), [])
})

/** What the recipes take as given. */
const GIVEN = `import { locks, editions } from './module-0.ts'
import { QuoinError, type Held } from '@quoin/client'
declare const list: HTMLElement
declare function store (text: string): Promise<void>
`

t.test('the recipes in docs/client.md fit the client', async (t) => {
  const blocks = recipes()
  cpSync(join(ROOT, 'packages/setup/test/fixtures/newspaper-types.txt'), join(project, 'content.ts'))
  t.equal(blocks.length, 15)
  const modules = blocks.map((code, index) => (index === 0 ? `declare const token: string\n${code}` : `${GIVEN}${code}\nexport {}\n`))
  const wrong = `${GIVEN}locks.acquire({ type: 'node', id: 42, fieldName: 'title' })`
  t.strictSame(
    problemsOf(ts, RESOLUTIONS.bundler, [...modules, wrong], {
      noUnusedLocals: false,
      noUnusedParameters: false,
      noImplicitReturns: false,
      noPropertyAccessFromIndexSignature: false
    }),
    ["module-15.ts: Type 'number' is not assignable to type 'string'."],
    'only what was made wrong on purpose is found'
  )
})

/** Every flag that makes the compiler stricter; with none of the package's own types left out. */
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  noPropertyAccessFromIndexSignature: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: false
}

/** What a compiler says of these modules in the project. */
function problemsOf(compiler: typeof ts, modules: object, sources: string[], more: object = {}): string[] {
  const names = sources.map((code, index) => {
    const name = join(project, `module-${index}.ts`)
    writeFileSync(name, code)
    return name
  })
  return problemsIn(compiler, modules, names, more)
}

function problemsIn(compiler: typeof ts, modules: object, names: string[], more: object = {}): string[] {
  const { options, errors } = compiler.convertCompilerOptionsFromJson(
    {
      target: 'es2022',
      lib: ['es2023', 'dom', 'dom.iterable'],
      types: [],
      noEmit: true,
      allowImportingTsExtensions: true,
      ...modules,
      ...STRICT,
      ...more
    },
    project
  )
  const program = compiler.createProgram(names, options)
  // The compiler's own declarations are not in question, and take most of the time.
  const files = program.getSourceFiles().filter((file) => !program.isSourceFileDefaultLibrary(file))
  const problems = new Set([...errors, ...files.flatMap((file) => compiler.getPreEmitDiagnostics(program, file))])
  return [...problems].map(
    ({ file, messageText }) => `${file?.fileName.split('/').at(-1)}: ${compiler.flattenDiagnosticMessageText(messageText, '\n')}`
  )
}
