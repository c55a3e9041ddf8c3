import { rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import ts from 'typescript'

// `node packages/desk/build-package.ts`: writes to dist what other UIs import, with declarations.

const DIRECTORY = import.meta.dirname
const PACKAGES = join(DIRECTORY, '..')
const DIST = join(DIRECTORY, 'dist')

/** The modules of the client, which is a package of its own, as those of the desk name them. */
const CLIENT = /^\.\.\/(?:\.\.\/)?client\/src\/client\.ts$/

/** Leaves the client out: a UI has it, and its errors have to be of one class. */
const clientOutside: Plugin = {
  name: 'the client is a package of its own',
  setup({ onResolve }) {
    onResolve({ filter: CLIENT }, () => ({ path: '@quoin/client', external: true }))
  }
}

rmSync(DIST, { recursive: true, force: true })
await build({
  entryPoints: [join(DIRECTORY, 'model.ts')],
  outfile: join(DIST, 'model.js'),
  bundle: true,
  minify: true,
  sourcemap: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  plugins: [clientOutside]
})
writeDeclarations()

/** Writes the declarations, which import one another as `.js`, and those of the client by its name. */
function writeDeclarations(): void {
  const { config } = ts.readConfigFile(join(DIRECTORY, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, DIRECTORY)
  const program = ts.createProgram([join(DIRECTORY, 'model.ts')], {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: PACKAGES,
    outDir: DIST
  })
  const { diagnostics } = program.emit(undefined, (path, text) => {
    const inDesk = relative(join(DIST, 'desk'), path)
    if (inDesk.startsWith('..')) return
    ts.sys.writeFile(join(DIST, inDesk), withNames(text))
  })
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, formatHost(program)))
}

function withNames(text: string): string {
  return text
    .replaceAll(/(['"])(?:\.\.\/)+client\/src\/\w+\.ts\1/g, "'@quoin/client'")
    .replaceAll(/(['"]\.{1,2}\/[\w/-]+)\.ts(['"])/g, '$1.js$2')
}

function formatHost(program: ts.Program): ts.FormatDiagnosticsHost {
  return {
    getCurrentDirectory: () => program.getCurrentDirectory(),
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n'
  }
}
