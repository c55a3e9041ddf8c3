import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import ts from 'typescript'
import manifest from '../../../package.json' with { type: 'json' }
import { projectWith } from '../../client/test/packed.ts'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'

/** A project that has the client, and into which the packed desk is installed. */
let project: string
/** Where the desk stands in it. */
let desk: string

t.before(() => {
  project = projectWith(t)
  desk = installDesk(t, project)
})

function installDesk(t: Test, project: string): string {
  const copy = emptyDirectory(t)
  for (const path of ['package.json', 'tsconfig.json', 'dev/build-module.ts', 'packages/client', 'packages/desk', 'LICENSE']) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true, filter: (from) => !/[\\/](?:dist|test)$/.test(from) })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', project], {
    cwd: join(copy, 'packages/desk'),
    encoding: 'utf8',
    stdio: 'pipe'
  })
    .trim()
    .split('\n')
    .at(-1)!
  const target = join(project, 'node_modules/@quoin/desk')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(project, packed), '--strip-components=1', '-C', target])
  return target
}

t.test('the packed desk has what other UIs import, with declarations, and no source of the page', async (t) => {
  const files = globSync('**/*', { cwd: desk }).filter((path) => statSync(join(desk, path)).isFile())
  t.strictSame(files.filter((path) => !path.endsWith('.d.ts')).sort(), ['README.md', 'dist/model.js', 'dist/model.js.map', 'package.json'])
  const { version, peerDependencies } = JSON.parse(readFileSync(join(desk, 'package.json'), 'utf8'))
  t.strictSame([version, peerDependencies], [manifest.version, { '@quoin/client': manifest.version }])
  const { metafile } = await build({
    entryPoints: [join(desk, 'dist/model.js')],
    bundle: true,
    packages: 'external',
    write: false,
    format: 'esm',
    metafile: true
  })
  t.strictSame(
    [...new Set(Object.values(metafile.outputs)[0]!.imports.map(({ path }) => path))],
    ['@quoin/client'],
    'of others it needs the client alone, whose errors are of one class'
  )
})

t.test('the model runs in Node: an order is changed, refused and taken back', async (t) => {
  const { createOrder, createHistory } = await import(pathToFileURL(join(desk, 'dist/model.js')).href)
  const { QuoinError } = await import(pathToFileURL(join(project, 'node_modules/@quoin/client/dist/client.js')).href)
  const sent: object[] = []
  const refused: string[] = []
  const order = createOrder({
    name: 'field_articles',
    items: [{ target_id: 1 }, { target_id: 2 }],
    async send(operations: object[]) {
      sent.push(...operations)
      if (sent.length > 2) throw new QuoinError(409, 'ORDER_CONFLICT', 'It has changed')
      order.rebase(order.items)
    },
    onChange() {},
    mirror() {},
    onRefuse: ({ code }: { code: string }) => refused.push(code)
  })
  const history = createHistory()
  history.add(order.move('2', 0, 'Moved'))
  const ids = () => order.items.map(({ target_id: id }: { target_id: number }) => id)
  t.strictSame(ids(), [2, 1])
  await new Promise(setImmediate)
  history.undo()
  t.strictSame(ids(), [1, 2])
  await new Promise(setImmediate)
  order.remove(['1'], 'Removed')
  await new Promise(setImmediate)
  t.strictSame([sent.length, refused, ids()], [3, ['ORDER_CONFLICT'], [1, 2]])
})

t.test('a use of the model compiles without a DOM, and each function of it has its comment', async (t) => {
  const file = join(project, 'use.ts')
  writeFileSync(file, USE)
  const recipe = /```ts\n([^]*?)```/.exec(readFileSync(join(ROOT, 'docs/elements.md'), 'utf8'))![1]!
  writeFileSync(join(project, 'recipe-use.ts'), recipe)
  const program = ts.createProgram([file, join(project, 'recipe-use.ts')], {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2024.d.ts'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true
  })
  const own = program.getSourceFiles().filter(({ fileName }) => /use\.ts$|@quoin\/desk/.test(fileName))
  t.ok(own.length > 30)
  t.strictSame(
    own
      .flatMap((source) => ts.getPreEmitDiagnostics(program, source))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    []
  )
  const checker = program.getTypeChecker()
  const entry = program.getSourceFile(join(desk, 'dist/model.d.ts'))!
  const uncommented = checker
    .getExportsOfModule(checker.getSymbolAtLocation(entry)!)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter((symbol) => symbol.flags & ts.SymbolFlags.Function && symbol.getDocumentationComment(checker).length === 0)
  t.strictSame(
    uncommented.map(({ name }) => name),
    []
  )
})

const USE = `import { createClient } from '@quoin/client'
import { createDraftStorage, createForbidden, createSamples, createSession, useLanguage, useZone, type Disk, type Session, type Settings } from '@quoin/desk/model'

export function open (settings: Settings, disk: Disk, localStorage: Storage, id: string): Session {
  useLanguage(['de'])
  useZone('Europe/Berlin')
  const session: Session = createSession({
    client: createClient({ url: 'https://quoin.example.org' }),
    settings,
    user: { uid: '7', name: 'Anna' },
    samples: createSamples(async () => ({})),
    storage: createDraftStorage({ disk, window: { localStorage }, uid: '7', onChange () {} }),
    forbidden: createForbidden({ window: { localStorage }, uid: '7' }),
    labelsOf: async () => ({ data: {}, published: {}, images: {}, sections: {} }),
    looksOf: async () => ({ images: {}, sections: {} }),
    loadJournal: () => Promise.reject(new Error('It has no history')),
    loadProposals: () => Promise.reject(new Error('It has no proposals')),
    onChange: () => console.log(session.orders[0]?.items.length, session.fieldOf('title')?.text),
    onNews () {},
    announce: (text) => console.log(text),
    notify () {},
    onSave: (fieldNames, etag) => console.log(fieldNames, etag),
    onRefuse: (fieldNames, { code }) => console.log(fieldNames, code)
  }, id)
  return session
}
`
