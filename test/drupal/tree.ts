import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildModule } from '../../packages/drupal-module/build-module.ts'
import { linkFolder } from './files.ts'
import { run } from './php.ts'

/** Where a Drupal lies: `web` holds core, `vendor` is Composer's; both below `base`. */
export interface Tree {
  base: string
  web: string
  vendor: string
  version: string
}

/** The git-ignored folder for everything that is installed or made. */
export const ignored = fileURLToPath(new URL('site', import.meta.url))

/**
 * The Drupal to make sites from: the one at DRUPAL_ROOT (the web root, or the folder above it), else the one in
 * site/tree, which Composer installs when there is none.
 */
export async function findTree(): Promise<Tree> {
  const given = process.env['DRUPAL_ROOT']
  if (given) {
    const tree = treeAt(resolve(given))
    if (!tree) throw new Error(`DRUPAL_ROOT=${given} has no core/lib/Drupal.php with a vendor/autoload.php`)
    return tree
  }
  const folder = join(ignored, 'tree')
  return treeAt(folder) ?? (await composerInstall(folder))
}

function treeAt(folder: string): Tree | undefined {
  const web = ['web', 'docroot', 'html', 'public', '.']
    .map((name) => join(folder, name))
    .find((path) => existsSync(join(path, 'core/lib/Drupal.php')))
  const vendor = web && [join(web, 'vendor'), resolve(web, '../vendor')].find((path) => existsSync(join(path, 'autoload.php')))
  if (!web || !vendor) return undefined
  const version = /const VERSION = '([^']+)'/.exec(readFileSync(join(web, 'core/lib/Drupal.php'), 'utf8'))?.[1] ?? 'unknown'
  return { base: resolve(vendor, '..') === web ? web : resolve(web, '..'), web, vendor, version }
}

async function composerInstall(folder: string): Promise<Tree> {
  mkdirSync(folder, { recursive: true })
  cpSync(new URL('composer.json', import.meta.url), join(folder, 'composer.json'))
  await run('composer', ['install', '--no-interaction', '--no-dev', '--no-progress', '--working-dir', folder], { cwd: folder })
  const tree = treeAt(folder)
  if (!tree) throw new Error(`Composer left no Drupal in ${folder}`)
  return tree
}

/** Lays the code of a site out in a new folder: core and vendor of the tree, our modules and scripts, and the
 * module of Quoin, which no recipe enables. Gives the web root. */
export function layOut(tree: Tree, folder: string): string {
  const web = join(folder, relative(tree.base, tree.web))
  linkFolder(tree.vendor, join(folder, relative(tree.base, tree.vendor)))
  linkFolder(join(tree.web, 'core'), join(web, 'core'), ['tests', 'node_modules'])
  cpSync(new URL('modules', import.meta.url), join(web, 'modules'), { recursive: true })
  buildModule(join(web, 'modules/quoin'))
  cpSync(join(tree.web, 'core/assets/scaffold/files/index.php'), join(web, 'index.php'))
  const vendor = relative(tree.web, tree.vendor)
  writeFileSync(join(web, 'autoload.php'), `<?php\nreturn require __DIR__ . '/${vendor}/autoload.php';\n`)
  // What index.php requires as of Drupal 11.4, as core's scaffold writes it.
  writeFileSync(join(web, 'autoload_runtime.php'), `<?php\nrequire_once __DIR__ . '/${vendor}/autoload_runtime.php';\n`)
  return web
}
