import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import ts from 'typescript'

// `node dev/build-module.ts packages/client`: writes the modules of a package that others install,
// with their source maps and declarations, to its dist. The client stays outside of those that use
// it.

/** What `exports` of a package.json says of a module. */
interface Exported {
  default?: string
}

/** A module of the client, as the sources of another package import it. */
const OF_CLIENT = /\.\.\/\.\.\/client\/src\/(client|live)\.ts/

const [directory] = process.argv.slice(2).map((path) => resolve(path))
if (!directory) throw new Error('Name the package: node dev/build-module.ts packages/client')
const { exports, peerDependencies = {} } = JSON.parse(
  readFileSync(join(directory, 'package.json'), 'utf8')
) as { exports: Record<string, Exported | string>; peerDependencies?: Record<string, string> }

await build({
  entryPoints: Object.values(exports).flatMap((one) =>
    typeof one === 'string' ? [] : [join(directory, 'src', `${basename(one.default!, '.js')}.ts`)]
  ),
  outdir: join(directory, 'dist'),
  bundle: true,
  minify: true,
  sourcemap: true,
  format: 'esm',
  target: 'es2022',
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

function nameInClient(path: string): string {
  const [, name] = OF_CLIENT.exec(path)!
  return name === 'client' ? '@quoin/client' : `@quoin/client/${name}`
}

/** Writes the declarations, which import one another as `.js`: node10 resolves no `.ts`. */
function writeDeclarations(directory: string): void {
  const { config } = ts.readConfigFile(join(directory, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, directory)
  const program = ts.createProgram(fileNames, options)
  const { diagnostics } = program.emit(undefined, (path, text, _mark, _error, files) => {
    if (!files?.[0]?.fileName.startsWith(join(directory, 'src'))) return
    ts.sys.writeFile(
      join(directory, 'dist', basename(path)),
      text
        .replaceAll(new RegExp(OF_CLIENT, 'g'), nameInClient)
        .replaceAll(/(['"]\.\/[\w-]+)\.ts(['"])/g, '$1.js$2')
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
