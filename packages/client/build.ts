import { join } from 'node:path'
import { build } from 'esbuild'
import ts from 'typescript'

// `node packages/client/build.ts`: writes the module, its source map and its declarations to dist.

const DIRECTORY = import.meta.dirname

await build({
  entryPoints: [join(DIRECTORY, 'src/client.ts')],
  outfile: join(DIRECTORY, 'dist/client.js'),
  bundle: true,
  minify: true,
  sourcemap: true,
  format: 'esm',
  target: 'es2022'
})
writeDeclarations()

/** Writes the declarations, which import one another as `.js`: node10 resolves no `.ts`. */
function writeDeclarations(): void {
  const { config } = ts.readConfigFile(join(DIRECTORY, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, DIRECTORY)
  const program = ts.createProgram(fileNames, options)
  const { diagnostics } = program.emit(undefined, (path, text) =>
    ts.sys.writeFile(path, text.replaceAll(/(['"]\.\/\w+)\.ts(['"])/g, '$1.js$2'))
  )
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
