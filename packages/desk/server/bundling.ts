import { basename, join } from 'node:path'
import type { OutputFile, Plugin } from 'esbuild'
import { hashOf, nameWith, type Language } from './built-page.ts'

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

/**
 * Gives scripts that import each other their names, each with the hash of all of them.
 * @param nameOf what a script is called without the hash, by the name that esbuild gave it
 * @returns the files by their new names, and the new names by those that esbuild gave
 */
export function linkScripts(
  scripts: OutputFile[],
  nameOf: (name: string) => string
): { files: Record<string, string>; names: Record<string, string> } {
  const hash = hashOf(scripts.map(({ text }) => text).join(''))
  const names = Object.fromEntries(
    scripts.map(({ path }) => [basename(path), nameWith(hash, nameOf(basename(path)))])
  )
  const withLinks = (text: string) =>
    Object.entries(names).reduce(
      (text, [name, newName]) => text.replaceAll(`"./${name}"`, `"./${newName}"`),
      text
    )
  return {
    files: Object.fromEntries(
      scripts.map(({ path, text }) => [names[basename(path)]!, withLinks(text)])
    ),
    names
  }
}
