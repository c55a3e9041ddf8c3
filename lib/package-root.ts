import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

/** The directory of the files that Quoin serves or reads: that of its package.json, wherever this module was compiled to. */
export const PACKAGE_ROOT = dirname(findPackageJSON(import.meta.url)!)

/** How one runs a verb of Quoin here: by npm in a clone, by npx where it is installed as a package, whose modules are compiled. */
export function commandFor(
  verb: 'doctor' | 'model' | 'table',
  module = import.meta.filename
): string {
  return `${module.endsWith('.ts') ? 'npm run' : 'npx quoin'} ${verb}`
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
