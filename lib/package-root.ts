import { findPackageJSON } from 'node:module'
import { dirname } from 'node:path'

/** The directory of the files that Quoin serves or reads: that of its package.json, wherever this module was compiled to. */
export const PACKAGE_ROOT = dirname(findPackageJSON(import.meta.url)!)
