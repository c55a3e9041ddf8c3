import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import type { Language } from './built-page.ts'

/** Where the modules of the page are. */
export const PAGE = join(import.meta.dirname, '../page')

/** How esbuild bundles them. */
export const options = {
  outdir: PAGE,
  absWorkingDir: PAGE,
  write: false,
  metafile: true,
  bundle: true,
  minify: true,
  charset: 'utf8',
  target: 'es2022',
  tsconfigRaw: '{}',
  logLevel: 'silent'
} as const

/** The modules with the texts of one language, which is the first group: `texts-de.ts`. */
const TEXTS = /[\\/]texts(?:-\w+)?-(en|de|fr)\.ts$/

/** Leaves out the texts of the other languages. */
export function textsOf(language: Language): Plugin {
  return {
    name: 'one language',
    setup({ onLoad }) {
      onLoad({ filter: TEXTS }, ({ path }) => {
        const [, other] = TEXTS.exec(path)!
        return other === language ? undefined : { contents: `export const ${other} = undefined` }
      })
    }
  }
}
