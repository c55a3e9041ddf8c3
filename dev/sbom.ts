import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// `npm run sbom`: prints the bill of materials of what the image runs, in CycloneDX: what
// production installs, with the optional packages. Not by `npm sbom --omit dev` in this tree: npm
// leaves out every package that a development tool needs too, such as ajv (`.dev` of its query
// selectors). So a tree is made of the lock that has none.

interface Manifest {
  dependencies: object
  peerDependencies: object
  peerDependenciesMeta?: object
  devDependencies?: object
  workspaces?: unknown
}

const ROOT = join(import.meta.dirname, '..')

/**
 * The manifest with the optional packages among the others, and without what the image does not
 * install.
 */
function manifestOfImage({
  devDependencies,
  workspaces,
  dependencies,
  peerDependencies,
  peerDependenciesMeta,
  ...manifest
}: Manifest) {
  return { ...manifest, dependencies: { ...dependencies, ...peerDependencies } }
}

const directory = mkdtempSync(join(tmpdir(), 'sbom-'))
try {
  // npm calls the whole by the name of its directory.
  const cwd = join(directory, 'quoin')
  mkdirSync(cwd)
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifestOfImage(manifest)))
  cpSync(join(ROOT, 'package-lock.json'), join(cwd, 'package-lock.json'))
  const npm = (...args: string[]) =>
    execFileSync('npm', [...args, '--package-lock-only'], {
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
      encoding: 'utf8'
    })
  // Takes out of the lock what the manifest does not need. Nothing is asked of a registry.
  npm('install', '--offline', '--no-audit', '--no-fund', '--loglevel=error')
  process.stdout.write(npm('sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'))
} finally {
  rmSync(directory, { recursive: true })
}
