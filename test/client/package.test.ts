import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import ts from 'typescript'
import manifest from '../../package.json' with { type: 'json' }
import { imageFiles } from '../app/fixtures/image.ts'
import { emptyDirectory, ROOT } from '../app/fixtures/processes.ts'
import { recipes } from './recipes.ts'

/** The most that the client may have as one ES module, gzipped, in bytes. */
const MOST = 5000

t.test('the client is one small ES module that exports what is documented', async (t) => {
  const outfile = join(emptyDirectory(t), 'client.js')
  const [entry, ...options] = manifest.scripts['build:client'].split(' ').slice(1)
  t.strictSame(options, ['--bundle', '--minify', '--format=esm', '--target=es2022', '--outfile=dist/client.js'])
  t.equal(manifest.exports['./client'].default, './dist/client.js')
  const { metafile } = await build({ entryPoints: [join(ROOT, entry!)], bundle: true, minify: true, format: 'esm', target: 'es2022', outfile, metafile: true })
  const { imports, exports } = Object.values(metafile.outputs)[0]!
  t.strictSame(imports, [], 'it needs nothing else')
  t.strictSame(exports.sort(), ['QuoinError', 'createClient'])
  const { length } = gzipSync(readFileSync(outfile))
  t.comment(`${length} bytes gzipped`)
  t.ok(length < MOST, `${length} bytes`)
  const { createClient } = await import(outfile)
  t.match(createClient(), { locks: { acquire: Function }, editions: { search: Function } })
})

t.test('npm pack takes the client that it has built, the sources with its types, and no tests', async (t) => {
  const directory = emptyDirectory(t)
  for (const path of [...imageFiles(), '.gitignore', 'test/client/package.test.ts']) cpSync(join(ROOT, path), join(directory, path))
  const { types, default: built } = manifest.exports['./client']
  mkdirSync(join(directory, dirname(built)))
  writeFileSync(join(directory, built), '')
  const [{ files }] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' }))
  const packed = files.map(({ path }: { path: string }) => `./${path}`)
  t.ok(packed.includes(types))
  t.strictSame(packed.sort(), [built, ...imageFiles().filter((path) => path !== 'package-lock.json').map((path) => `./${path}`)].sort())
})

/** What the recipes take as given. */
const GIVEN = `import { locks, editions } from './recipe-0.ts'
import { QuoinError, type Held } from 'quoin/client'
declare const list: HTMLElement
declare function store (text: string): Promise<void>
`

t.test('the recipes in docs/client.md fit the client', async (t) => {
  const blocks = recipes()
  t.equal(blocks.length, 5)
  const modules = blocks.map((code, index) => index === 0 ? `declare const token: string\n${code}` : `${GIVEN}${code}\nexport {}\n`)
  const wrong = `${GIVEN}locks.acquire({ type: 'node', id: 42, fieldName: 'title' })`
  t.strictSame(problemsOf([...modules, wrong]), ["recipe-5.ts: Type 'number' is not assignable to type 'string'."], 'only what was made wrong on purpose is found')
})

/** What the compiler says of these modules, as a page of an application that uses the package would be compiled. */
function problemsOf (modules: string[]): string[] {
  const files = new Map(modules.map((code, index) => [join(ROOT, `recipe-${index}.ts`), code]))
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true
  }
  const host = ts.createCompilerHost(options)
  const { readFile, fileExists, getSourceFile } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.readFile = (name) => files.get(name) ?? readFile(name)
  host.getSourceFile = (name, version, ...rest) => files.has(name) ? ts.createSourceFile(name, files.get(name)!, version) : getSourceFile(name, version, ...rest)
  const program = ts.createProgram([...files.keys()], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => `${file?.fileName.split('/').at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
}
