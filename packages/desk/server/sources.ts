import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { OutputFile } from 'esbuild'
import { PACKAGE_ROOT } from '../../../lib/package-root.ts'

/** Something of the page that a browser asks for. */
export interface DeskFile {
  type: string
  body: Buffer
  /** The same, compressed. */
  gzipped: Buffer
}

/** The languages of the desk. The first is for users who ask for none of them. */
export const LANGUAGES = ['en', 'de', 'fr'] as const

export type Language = (typeof LANGUAGES)[number]

export interface Sources {
  /** The page in a language, with what it has to know of the service. */
  page: (language: Language, settings: object) => { body: string; etag: string }
  /** The hash of the script that the page has in it, as a Content-Security-Policy names it. */
  inlineHash: string
  /** By name. The name has a hash of the content, so other content has another name. */
  files: ReadonlyMap<string, DeskFile>
  /** The name of the icon in it. */
  icon: string
}

const DESK = join(PACKAGE_ROOT, 'packages/desk/page')

/** Where the files are, as seen from the page: all addresses are relative, so that it works wherever /desk is served. */
const FILES = 'desk/files/'

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
}

const compress = promisify(gzip)

/** All that is served, made when somebody first asks and then kept, for all instances in this process. */
export function readSources(): Promise<Sources> {
  sources ??= bundle()
  return sources
}

let sources: Promise<Sources> | undefined

/** The modules with the texts of one language, which is the first group: `texts-de.ts`. */
const TEXTS = /[\\/]texts(?:-\w+)?-(en|de|fr)\.ts$/

/** What esbuild makes of the modules. */
interface Bundles {
  styles: string
  /** The script that the page has in it. */
  early: string
  /** For each language one script of the page's modules, the client and lit-html, and another of each module that is imported when it is needed. */
  scripts: Array<{ language: Language; outputFiles: OutputFile[]; page: string }>
}

async function buildAll(): Promise<Bundles> {
  // It takes 4 ms of CPU and 2 MiB to load, which a service without the desk does not need.
  const { build } = await import('esbuild')
  const options = {
    outdir: DESK,
    absWorkingDir: DESK,
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    charset: 'utf8',
    target: 'es2022',
    tsconfigRaw: '{}',
    logLevel: 'silent'
  } as const
  const buildScripts = (language: Language) =>
    build({
      ...options,
      entryPoints: [join(DESK, 'main.ts')],
      // Code that scripts share would become a script of its own, and one more request. This way they share the page's script.
      inject: [join(DESK, 'main.ts')],
      splitting: true,
      format: 'esm',
      plugins: [
        {
          name: 'one language',
          setup({ onLoad }) {
            onLoad({ filter: TEXTS }, ({ path }) => {
              const [, other] = TEXTS.exec(path)!
              return other === language
                ? undefined
                : { contents: `export const ${other} = undefined` }
            })
          }
        }
      ]
    })
  const [styles, early, ...builds] = await Promise.all([
    build({ ...options, entryPoints: [join(DESK, 'desk.css')] }),
    build({ ...options, entryPoints: [join(DESK, 'early.ts')], format: 'iife' }),
    ...LANGUAGES.map(buildScripts)
  ])
  return {
    styles: styles.outputFiles[0]!.text,
    early: early.outputFiles[0]!.text.trim(),
    scripts: builds.map(({ outputFiles, metafile }, index) => ({
      language: LANGUAGES[index]!,
      outputFiles,
      page: metafile.outputs['main.js']!.imports[0]!.path
    }))
  }
}

/** Gives what esbuild has made its names and compresses it, and makes the page of each language. */
async function bundle(): Promise<Sources> {
  const { styles, early, scripts } = await buildAll()
  const files = new Map<string, DeskFile>()
  async function add(name: string, text: string, hash = hashOf(text)): Promise<string> {
    const body = Buffer.from(text)
    const hashedName = nameWith(hash, name)
    files.set(hashedName, {
      type: types[extname(name)]!,
      body,
      gzipped: await compress(body, { level: 9 })
    })
    return hashedName
  }
  const [icon, style] = await Promise.all([
    add('icon.svg', readFileSync(join(DESK, 'icon.svg'), 'utf8')),
    add('desk.css', styles)
  ])
  const html = readFileSync(join(DESK, 'index.html'), 'utf8')
  // So small a picture comes with the page.
  const picture = `data:image/svg+xml,${encodeURIComponent(files.get(icon)!.body.toString())}`
  const pages = new Map<Language, string>()
  for (const { language, outputFiles, page } of scripts) {
    const names: Record<string, string> = {
      'desk.css': style,
      'main.ts': await addScripts(outputFiles, page)
    }
    pages.set(
      language,
      html
        .replace(`${FILES}desk/icon.svg`, () => picture)
        .replace('<script></script>', () => `<script>${early}</script>`)
        .replaceAll(/desk\/files\/desk\/([\w.]+)/g, (_, name: string) => FILES + names[name]!)
        .replace('lang="en"', `lang="${language}"`)
    )
  }

  /** @returns the name of the page's script */
  async function addScripts(outputFiles: OutputFile[], page: string): Promise<string> {
    const scripts = outputFiles
      .map(({ path, text }) => ({ name: basename(path), text }))
      .filter(({ name }) => name.endsWith('.js') && name !== 'main.js')
    // They name each other, so each has the hash of all.
    const hash = hashOf(scripts.map(({ text }) => text).join(''))
    const plain = new Map(
      scripts.map(({ name }) => [
        name,
        name === page ? 'desk.js' : name.replace(/-\w+\.js$/, '.js')
      ])
    )
    const withLinks = (text: string) =>
      scripts.reduce(
        (text, { name }) =>
          text.replaceAll(`"./${name}"`, `"./${nameWith(hash, plain.get(name)!)}"`),
        text
      )
    for (const { name, text } of scripts) await add(plain.get(name)!, withLinks(text), hash)
    return nameWith(hash, 'desk.js')
  }

  return {
    files,
    icon,
    inlineHash: `'sha256-${createHash('sha256').update(early).digest('base64')}'`,
    page(language, settings) {
      const text = JSON.stringify(settings)
        .replaceAll('&', '&amp;')
        .replaceAll('"', '&quot;')
        .replaceAll('<', '&lt;')
      const body = pages.get(language)!.replace('<html ', () => `<html data-settings="${text}" `)
      return { body, etag: `"${hashOf(body)}"` }
    }
  }
}

/** `desk-4fTx0bQ9.js` of `desk.js` */
function nameWith(hash: string, name: string): string {
  const extension = extname(name)
  return `${basename(name, extension)}-${hash.slice(0, 12)}${extension}`
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256')
    .update(content)
    .digest('base64url')
    .replaceAll(/[-_]/g, '')
    .slice(0, 22)
}
