import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import ts from 'typescript'

// `node dev/build-module.ts packages/client`: writes the modules of a package that others install,
// with their source maps and declarations, to its dist. The client stays outside of those that use
// it: its errors have to be of one class.

/** What `exports` of a package.json says of a module. */
interface Exported {
  default?: string
}

/** A module of the client, as the sources of another package import it. */
const OF_CLIENT = /(?:\.\.\/)+client\/src\/(\w+)\.ts/

const [directory] = process.argv.slice(2).map((path) => resolve(path))
if (!directory) throw new Error('Name the package: node dev/build-module.ts packages/client')
const { exports, peerDependencies = {} } = JSON.parse(
  readFileSync(join(directory, 'package.json'), 'utf8')
) as { exports: Record<string, Exported | string>; peerDependencies?: Record<string, string> }

const dist = join(directory, 'dist')
const sources = existsSync(join(directory, 'src')) ? join(directory, 'src') : directory
const entryPoints = Object.values(exports).flatMap((one) =>
  typeof one === 'string' ? [] : [join(sources, `${basename(one.default!, '.js')}.ts`)]
)

rmSync(dist, { recursive: true, force: true })
await build({
  entryPoints,
  outdir: dist,
  bundle: true,
  minify: true,
  sourcemap: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  external: Object.keys(peerDependencies),
  plugins: [clientOutside()]
})
writeDeclarations(directory)

function clientOutside(): Plugin {
  return {
    name: 'client',
    setup({ onResolve }) {
      onResolve({ filter: OF_CLIENT }, ({ path }) => ({ path: nameInClient(path), external: true }))
    }
  }
}

/** What others call a module of the client: all that has no name of its own is in `.`. */
function nameInClient(path: string): string {
  const [, name] = OF_CLIENT.exec(path)!
  return name === 'live' ? '@quoin/client/live' : '@quoin/client'
}

/** Writes the declarations, which import one another as `.js`: node10 resolves no `.ts`. */
function writeDeclarations(directory: string): void {
  const { config } = ts.readConfigFile(join(directory, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, directory)
  const program = ts.createProgram(entryPoints, {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: resolve(directory, '..'),
    outDir: dist
  })
  const { diagnostics } = program.emit(undefined, (_path, text, _mark, _error, files) => {
    const path = relative(sources, files![0]!.fileName)
    if (path.startsWith('..')) return
    ts.sys.writeFile(
      join(dist, path.replace(/\.ts$/, '.d.ts')),
      text
        .replaceAll(new RegExp(OF_CLIENT, 'g'), nameInClient)
        .replaceAll(/(['"]\.{1,2}\/[\w/-]+)\.ts(['"])/g, '$1.js$2')
    )
  })
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, formatHost(program)))
}

function formatHost(program: ts.Program): ts.FormatDiagnosticsHost {
  return {
    getCurrentDirectory: () => program.getCurrentDirectory(),
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n'
  }
}
