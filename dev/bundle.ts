import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build, type Metafile } from 'esbuild'
import manifest from '../package.json' with { type: 'json' }

// `node dev/bundle.ts <directory>`: bundles the command `quoin`, with the packages that it needs,
// for the package and the image. A start loads ten files in place of 900: it takes half the CPU.

const ROOT = join(import.meta.dirname, '..')

/**
 * What stays in node_modules: the optional packages; pino, which starts a file of its own in a
 * thread; what is in CommonJS and loaded later (`checkLaterOnes`); and what `quoin dev` and a desk
 * that is not built load, which production does not have.
 */
const EXTERNAL = [
  ...Object.keys(manifest.peerDependencies),
  'pino',
  '@prometheus-io/client',
  'dynalite',
  'classic-level',
  'esbuild'
]

/** What modules in CommonJS need in an ES module. */
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`

/** The folder of a package in a path, such as `node_modules/@fastify/cors/`. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+\//

/** @param outdir where `cli.js` and its chunks go */
async function bundle(outdir: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['cli.ts'],
    outdir,
    // The desk finds its page by the place of its module, packages/desk/server.
    chunkNames: 'packages/desk/server/[name]-[hash]',
    external: EXTERNAL,
    tsconfigRaw: '{}',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.20',
    // Of ES modules esbuild leaves out what is not used.
    mainFields: ['module', 'main'],
    banner: { js: REQUIRE },
    metafile: true,
    logLevel: 'warning'
  })
  checkLaterOnes(metafile)
  const packages = Object.keys(metafile.inputs).flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])
  const licenses = [...new Set(packages)].sort().map(licenseOf)
  writeFileSync(join(outdir, 'LICENSES.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`))
}

/**
 * Of a module in CommonJS that is loaded by `import()` esbuild exports the default alone.
 * @throws {Error} where there is one
 */
function checkLaterOnes({ inputs }: Metafile): void {
  for (const { imports } of Object.values(inputs)) {
    for (const { kind, path } of imports) {
      if (kind === 'dynamic-import' && inputs[path]?.format === 'cjs') {
        throw new Error(`${path} has to be external`)
      }
    }
  }
}

/** The name of a package, its version and its license, which may be copied only along with it. */
function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(join(ROOT, folder, 'package.json'), 'utf8')
  ) as Record<string, string>
  const [file] = globSync('{LICENSE,LICENCE,license,License}*', { cwd: join(ROOT, folder) })
  const text = file === undefined ? '' : readFileSync(join(ROOT, folder, file), 'utf8')
  return `${name} ${version} (${license})\n\n${text}`
}

const [outdir] = process.argv.slice(2)
if (!outdir) throw new Error('Name the directory to bundle to: node dev/bundle.ts <directory>')
await bundle(resolve(outdir))
