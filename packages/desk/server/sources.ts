import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hashOf, type BuiltPage, type Language } from './built-page.ts'

/** Something of the page that a browser asks for. */
export interface DeskFile {
  type: string
  body: Buffer
  /** The same, compressed. */
  gzipped: Buffer
}

export interface Sources {
  /** The page in a language, with what it has to know of the service. */
  page: (language: Language, settings: object) => { body: string; etag: string }
  /** The hash of the script that the page has in it, as a Content-Security-Policy names it. */
  inlineHash: string
  /** By name. */
  files: ReadonlyMap<string, DeskFile>
  /** The script of the elements that other pages embed, and its entity tag. */
  elements: DeskFile
  elementsTag: string
  /** The name of the icon in it. */
  icon: string
}

/** The page as the package and the image have it. A clone has none. */
const BUILT = join(import.meta.dirname, '../page.json')

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
}

const compress = promisify(gzip)

/**
 * All that is served, read when somebody first asks and then kept, for all instances in this
 * process.
 */
export function readSources(): Promise<Sources> {
  sources ??= openSources(BUILT)
  return sources
}

let sources: Promise<Sources> | undefined

/** Reads the built page, or builds it where there is none. @param path of the built page */
export async function openSources(path: string): Promise<Sources> {
  const { pages, files, elements, inlineHash, icon } = existsSync(path)
    ? readBuilt(path)
    : await build()
  return {
    page: (language, settings) => pageWith(pages[language], settings),
    inlineHash,
    files: new Map(await Promise.all(Object.entries(files).map(compressFile))),
    elements: (await compressFile(['elements.js', elements]))[1],
    elementsTag: `"${hashOf(elements)}"`,
    icon
  }
}

function readBuilt(path: string): BuiltPage {
  return JSON.parse(readFileSync(path, 'utf8'))
}

async function build(): Promise<BuiltPage> {
  // It loads esbuild, which production does not have.
  const { buildPage } = await import('./build-page.ts')
  return buildPage()
}

async function compressFile([name, text]: [string, string]): Promise<[string, DeskFile]> {
  const body = Buffer.from(text)
  return [name, { type: types[extname(name)]!, body, gzipped: await compress(body, { level: 9 }) }]
}

function pageWith(page: string, settings: object): { body: string; etag: string } {
  const text = JSON.stringify(settings)
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
  const body = page.replace('<html ', () => `<html data-settings="${text}" `)
  return { body, etag: `"${hashOf(body)}"` }
}
