import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'
import manifest from 'quoin/package.json' with { type: 'json' }

/**
 * The directory of the files that Quoin serves or reads: that of its package.json, wherever this
 * module was compiled to.
 */
export const PACKAGE_ROOT = dirname(findPackageJSON(import.meta.url)!)

/** The version of this Quoin. */
export const QUOIN_VERSION = manifest.version

/**
 * How one runs a verb of Quoin here: by npm in a clone, by npx where it is installed as a package,
 * whose modules are compiled.
 */
export function commandFor(
  verb: 'doctor' | 'model' | 'table' | 'types',
  module = import.meta.filename
): string {
  if (!module.endsWith('.ts')) return `npx --no -- quoin ${verb}`
  // In a clone `npm run types` checks the types of the code.
  return `npm run ${verb === 'types' ? 'types:content' : verb}`
}

/** Whether a package is installed that production may do without. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/**
 * How one installs an optional package here. In a clone one command installs all of them, in the
 * locked versions. Beside an installed Quoin npm adds this one, in a version that Quoin takes;
 * OpenTelemetry's packages are of use only together.
 */
export function installCommandFor(name: string, module = import.meta.filename): string {
  if (module.endsWith('.ts')) return 'npm run install:optional'
  const start = name.startsWith('@opentelemetry/') ? '@opentelemetry/' : name
  const packages = Object.entries(manifest.peerDependencies)
    .filter(([peer]) => peer.startsWith(start))
    .map(([peer, range]) => `${peer}@${range}`)
  return `npm install ${packages.join(' ') || name}`
}
