import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, transform, type Plugin } from 'esbuild'
import { hashOf, LANGUAGES, nameWith, type Language } from './built-page.ts'
import { linkScripts, options, PAGE, textsOf } from './bundling.ts'

const ELEMENTS = join(import.meta.dirname, '../elements')

/** The kinds of elements: `<quoin-running-order>` and so on. */
export const KINDS = ['running-order', 'board'] as const

/** The client as the modules of the desk name it. */
const CLIENT = /client\/src\/client\.ts$/

/** What other pages load to embed parts of the desk. */
export interface BuiltElements {
  /** The script that defines the elements. It finds the files in the folder `files` beside it. */
  script: string
  /** By name, each with a hash of its content. */
  files: Record<string, string>
}

/**
 * Builds the elements. What fills them is a script for each language, which takes the client from a
 * script of its own: so all elements of a page share one.
 */
export async function buildElements(): Promise<BuiltElements> {
  const client = await bundleClient()
  const [styles, ...languages] = await Promise.all([
    stylesOfElements(),
    ...LANGUAGES.map((language) => bundleLanguage(language, client.name))
  ])
  const parts = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      Object.fromEntries(
        languages.map(({ language, names }) => [language, `./files/${names[`${kind}.js`]}`])
      )
    ])
  )
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(ELEMENTS, 'elements.ts')],
    format: 'esm',
    define: { ELEMENT_STYLES: JSON.stringify(styles), ELEMENT_PARTS: JSON.stringify(parts) },
    plugins: [clientAt(`./files/${client.name}`)]
  })
  return {
    script: outputFiles[0]!.text,
    files: Object.assign({ [client.name]: client.text }, ...languages.map(({ files }) => files))
  }
}

async function bundleClient(): Promise<{ name: string; text: string }> {
  const { outputFiles } = await build({
    ...options,
    entryPoints: [join(PAGE, '../../client/src/client.ts')],
    format: 'esm'
  })
  const { text } = outputFiles[0]!
  return { name: nameWith(hashOf(text), 'client.js'), text }
}

async function bundleLanguage(language: Language, clientName: string) {
  const { outputFiles } = await build({
    ...options,
    entryPoints: KINDS.map((kind) => join(ELEMENTS, `${kind}.ts`)),
    outdir: ELEMENTS,
    splitting: true,
    format: 'esm',
    plugins: [textsOf(language), clientAt(`./${clientName}`)]
  })
  // esbuild's own hash in their names tells the chunks apart.
  const linked = linkScripts(outputFiles, (name) => `${basename(name, '.js')}-${language}.js`)
  return { language, ...linked }
}

/** Leaves the client to a script of its own. */
function clientAt(path: string): Plugin {
  return {
    name: 'one client',
    setup({ onResolve }) {
      onResolve({ filter: CLIENT }, () => ({ path, external: true }))
    }
  }
}

/** The styles of the desk, so that they hold within an element alone. */
async function stylesOfElements(): Promise<string> {
  const { outputFiles } = await build({ ...options, entryPoints: [join(PAGE, 'desk.css')] })
  const own = await transform(readFileSync(join(ELEMENTS, 'elements.css'), 'utf8'), {
    loader: 'css',
    minify: true
  })
  return embedded(outputFiles[0]!.text, own.code)
}

/**
 * Turns the styles of a page into those of a part: what they say of the page they say of the part,
 * sizes can be scaled by `--quoin-rem`, widths are those of the part, and it is dark where the page
 * around is.
 * @param styles minified
 * @param own what follows the reset, and goes before the page's
 */
export function embedded(styles: string, own: string): string {
  const dark = /@media ?\(prefers-color-scheme: ?dark\)\{:root\{([^}]*)\}\}/
  const [, darkTokens = ''] = dark.exec(styles) ?? []
  const scaled = styles
    .replace(dark, '')
    .replaceAll(/@media ?\(max-width: ?([\d.]+rem)\)/g, '@container (max-width:$1)')
    .replaceAll(/(^|[,}{])(:root|html|body)(?=[,{])/g, '$1.part')
    .replace(/\.part\{color-scheme: ?light dark;/, '.part{color-scheme:light dark}:host,.part{')
    .replaceAll(/(?<!max-width:|[\w-])(\d*\.?\d+)rem\b(?!\))/g, 'calc($1*var(--rem))')
  return [
    ':host{--rem:var(--quoin-rem,1rem)}',
    own,
    scaled,
    `@media (prefers-color-scheme:dark){.part:not(.is-light){${darkTokens}}}`,
    `.part.is-dark{${darkTokens}}`
  ].join('\n')
}
