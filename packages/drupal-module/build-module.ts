import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'

const SOURCE = join(import.meta.dirname, 'quoin')

/**
 * Makes the module as it is copied into a Drupal: the folder `quoin`, and one script of its edit
 * form's sources and of Quoin's client.
 * @param folder is emptied before
 */
export function buildModule(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(SOURCE, folder, { recursive: true })
  buildSync({
    entryPoints: [join(SOURCE, 'js/form.js')],
    outfile: join(folder, 'js/dist/form.js'),
    alias: { '@quoin/client': join(import.meta.dirname, '../client/src/client.ts') },
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    tsconfigRaw: '{}',
    logLevel: 'warning'
  })
}
