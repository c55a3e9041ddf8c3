import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createDatabase, databaseKind, dropDatabase, dumpDatabase } from './database.ts'
import { php, phpOptions, run, runInSite, script } from './php.ts'
import { ignored, layOut, type Tree } from './tree.ts'
import type { Recipe } from './variants.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

/**
 * The folder with a freshly installed site's own data (its sites/default: database, files, settings, content.json).
 * Installed once; the name tells of which core, module, script and names, so that a change of any makes a new one.
 */
export async function snapshot(recipe: Recipe, tree: Tree): Promise<string> {
  const folder = join(ignored, 'snapshots', `${recipe.id}-${fingerprint(recipe, tree)}`)
  const lock = `${folder}.lock`
  mkdirSync(join(ignored, 'snapshots'), { recursive: true })
  while (!existsSync(folder)) {
    if (!takeLock(lock)) {
      await wait(500)
      continue
    }
    try {
      if (!existsSync(folder)) await install(recipe, tree, folder)
    } finally {
      rmSync(lock, { force: true })
    }
  }
  return folder
}

function fingerprint(recipe: Recipe, tree: Tree): string {
  const hash = createHash('sha256').update(
    JSON.stringify([tree.version, packages(tree), recipe, ...(databaseKind === 'sqlite' ? [] : [databaseKind])])
  )
  for (const file of globSync(['composer.json', 'modules/**/*.*', 'php/*'], { cwd: here }).sort()) {
    hash.update(file).update(readFileSync(join(here, file)))
  }
  return hash.digest('hex').slice(0, 12)
}

/** What Composer says it installed: a library can change what is compiled into the site. */
function packages(tree: Tree): string {
  const list = join(tree.vendor, 'composer/installed.json')
  return existsSync(list) ? readFileSync(list, 'utf8') : ''
}

/** One process installs, others wait; the lock of a process that is gone counts for nothing. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    const owner = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0
    if (owner && !isAlive(owner)) rmSync(lock, { force: true })
    return false
  }
}

/** Whether a process of this id is there. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function install(
  { names, structure, content: contentScript, profile = 'minimal' }: Recipe,
  tree: Tree,
  folder: string
): Promise<void> {
  const work = `${folder}.${process.pid}`
  const web = layOut(tree, work)
  const site = join(web, 'sites/default')
  try {
    for (const name of ['files', 'sync']) mkdirSync(join(site, name), { recursive: true })
    cpSync(script('settings.php'), join(site, 'settings.php'))
    writeFileSync(join(site, 'services.yml'), services(tree, names.jsonapiPath))
    await createDatabase(web)
    await run(php, [...phpOptions, script('install.php'), profile], { cwd: web })
    const given = `$names = json_decode(base64_decode('${Buffer.from(JSON.stringify(names)).toString('base64')}'), TRUE);`
    await runInSite(web, `${given} require '${script(structure)}';`)
    const content = await runInSite(web, `${given} return require '${script(contentScript)}';`)
    // Whatever the container and the routes need is in the caches when the first site starts.
    await runInSite(web, "\\Drupal::service('router.route_provider')->getAllRoutes();")
    writeFileSync(join(site, 'content.json'), content)
    await dumpDatabase(web, site)
    renameSync(site, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
    await dropDatabase(web)
  }
}

/** Drupal's own default services, with the path of JSON:API where it is another. */
function services(tree: Tree, jsonapiPath: string): string {
  const defaults = readFileSync(join(tree.web, 'core/assets/scaffold/files/default.services.yml'), 'utf8')
  return defaults.replace(/^parameters:\n/m, `parameters:\n  jsonapi.base_path: ${jsonapiPath}\n`)
}
