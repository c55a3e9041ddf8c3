import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// `npm run sbom`: prints the bill of materials of what production runs, in CycloneDX. Not by `npm sbom --omit dev` in this
// tree: npm leaves out every package that a development tool needs too, such as ajv (`.dev` of its query selectors).

interface Package {
  link?: boolean
  dev?: boolean
  devOptional?: boolean
  devDependencies?: object
  optionalDependencies?: object
  workspaces?: unknown
}

const ROOT = join(import.meta.dirname, '..')
const readJson = (name: string) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))

/** A manifest without what production does not install. */
function prune<T extends Package>({
  devDependencies,
  optionalDependencies,
  workspaces,
  ...manifest
}: T) {
  return manifest
}

const { packages, ...lock } = readJson('package-lock.json') as { packages: Record<string, Package> }
const { '': root, ...dependencies } = packages
// A link leads to a folder of this tree (packages/): none has a dependency that production installs.
const productionPackages = Object.entries(dependencies).filter(
  ([path, { link, dev, devOptional }]) =>
    path.includes('node_modules/') && !link && !dev && !devOptional
)

const directory = mkdtempSync(join(tmpdir(), 'sbom-'))
try {
  // npm calls the whole by the name of its directory.
  const cwd = join(directory, 'quoin')
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(prune(readJson('package.json'))))
  writeFileSync(
    join(cwd, 'package-lock.json'),
    JSON.stringify({
      ...lock,
      packages: { '': prune(root!), ...Object.fromEntries(productionPackages) }
    })
  )
  execFileSync(
    'npm',
    ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'],
    { cwd, stdio: ['ignore', 'inherit', 'inherit'] }
  )
} finally {
  rmSync(directory, { recursive: true })
}
