import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { dropDatabase, restoreDatabase } from './database.ts'
import { runInSite } from './php.ts'
import { freePort } from '../fixtures/free-port.ts'
import { endAbandoned, startServer } from './server.ts'
import { isAlive, snapshot } from './snapshot.ts'
import { findTree, ignored, layOut } from './tree.ts'
import { recipeOf, variants, type Names, type Recipe, type Variant } from './variants.ts'

export interface SiteOptions {
  /** Which content model, `bundles` unless told. */
  variant?: Variant
  /** How many requests the server takes at once, 4 unless told. */
  workers?: number
}

/** What the content script made, by the names it returns. */
export interface Content {
  users: Record<string, number>
  articles: { count: number; first: number; aliased: number; hiddenAliased: number; deleted: number[] }
  sections: number[]
  deletedSection: number
  files: number[]
  editions: number
  cases: Record<EditionCase, number>
}

export type EditionCase =
  | 'empty'
  | 'emptyUnpublished'
  | 'twice'
  | 'many'
  | 'aliased'
  | 'hiddenTargets'
  | 'dangling'
  | 'foreignFormat'
  | 'zero'
  | 'german'
  | 'translated'
  | 'translatedUnpublished'
  | 'revised'

/** A running Drupal of its own, on a copy of the freshly installed content. */
export interface RunningSite<Made> {
  /** Without a slash at the end, as http://127.0.0.1:4711. */
  url: string
  /** The web root. */
  root: string
  /** The version of core. */
  version: string
  /** What its content script returned. */
  content: Made
  /** Brings the freshly installed content back; the url stays. */
  reset: () => Promise<void>
  /** Runs PHP as user 1 in the booted site; gives what it printed or, as JSON, returned. */
  php: (code: string) => Promise<string>
  /** Ends the server and removes the site. */
  stop: () => Promise<void>
}

/** A site of one of the variants. */
export interface Site extends RunningSite<Content> {
  names: Names
}

let count = 0

/**
 * Starts a Drupal for tests. The first start installs it (a minute), later ones copy what was installed; several can
 * run at once, and those of one variant are equal in every id, uuid and value.
 */
export async function startSite(options: SiteOptions = {}): Promise<Site> {
  const { variant = 'bundles', workers = 4 } = options
  return { ...(await startRecipe<Content>(recipeOf(variant), workers)), names: variants[variant] }
}

/** Starts a site that is made by a recipe. */
export async function startRecipe<Made>(recipe: Recipe, workers = 4): Promise<RunningSite<Made>> {
  const tree = await findTree()
  const fresh = await snapshot(recipe, tree)
  sweep()
  const folder = join(ignored, 'run', `${process.pid}-${++count}-${recipe.id}`)
  rmSync(folder, { recursive: true, force: true })
  const root = layOut(tree, folder)
  const own = join(root, 'sites/default')
  const serve = (port: number) => startServer({ web: root, workers, port, folder })

  async function refresh(): Promise<void> {
    rmSync(own, { recursive: true, force: true })
    mkdirSync(join(root, 'sites'), { recursive: true })
    cpSync(fresh, own, { recursive: true, preserveTimestamps: true })
    await restoreDatabase(root, fresh)
  }

  await refresh()
  let server = await serve(await freePort())
  return {
    url: server.url,
    root,
    version: tree.version,
    content: JSON.parse(readFileSync(join(fresh, 'content.json'), 'utf8')) as Made,
    async reset() {
      await server.stop()
      await refresh()
      server = await serve(server.port)
    },
    php: (code) => runInSite(root, code, server.url),
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
      await dropDatabase(root)
    }
  }
}

/** Ends and removes the sites of test processes that were killed before they could. */
function sweep(): void {
  const folder = join(ignored, 'run')
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    if (isAlive(Number.parseInt(name))) continue
    endAbandoned(join(folder, name))
    rmSync(join(folder, name), { recursive: true, force: true })
  }
}
