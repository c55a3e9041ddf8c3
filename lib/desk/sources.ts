import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, extname, join, posix } from 'node:path'
import { PACKAGE_ROOT } from '../package-root.ts'

/** Something of the page that a browser asks for. */
export interface Source {
  type: string
  body: string
  /** A strong entity tag of the body (RFC 9110 section 8.8.3). */
  etag: string
}

/** What the page consists of, by path from packages/: its own files, the client, and the modules of lit-html that it imports. */
const PACKAGES = join(PACKAGE_ROOT, 'packages')
const OWN = ['desk/*.{ts,css,svg}', 'client/src/*.ts']
const LIT = ['lit-html.js', 'directive.js', 'directive-helpers.js', 'directives/live.js', 'directives/repeat.js']

/** Where all of it is served: the paths below are those from packages/, so that relative imports hold. */
const FILES = '/desk/files/'

const types: Record<string, string> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.html': 'text/html; charset=utf-8'
}

/** The files of the page by URL path: where they are. */
function findFiles (): Array<[url: string, path: string]> {
  const lit = dirname(findPackageJSON('lit-html', import.meta.url)!)
  const own = globSync(OWN, { cwd: PACKAGES }).sort()
  return [...LIT.map((path): [string, string] => [`${FILES}lit-html/${path}`, join(lit, path)]), ...own.map((path): [string, string] => [FILES + path, join(PACKAGES, path)])]
}

/** The URL paths of the page and its files. */
export function sourcePaths (): string[] {
  return ['/desk', ...findFiles().map(([url]) => url)]
}

/**
 * Reads the page and its files, by URL path. TypeScript loses its types, each replaced by as many spaces, so that lines
 * and columns stay; there is no build step. All addresses are relative, so that the page works wherever /desk is served.
 */
export async function readSources (): Promise<Map<string, Source>> {
  // What Node itself strips types with; it is large, and nothing else needs it.
  const { transformSync } = await import('amaro')
  const files = findFiles().map(([url, path]): [string, string] => {
    const text = readFileSync(path, 'utf8')
    return [url, path.endsWith('.ts') ? resolved(transformSync(text, { mode: 'strip-only' }).code, url) : withoutMap(text)]
  })
  const modules = files.map(([path]) => path).filter((path) => /\.[jt]s$/.test(path)).map((path) => `<link rel="modulepreload" href="${path.slice(1)}">`)
  const page = readFileSync(join(PACKAGES, 'desk/index.html'), 'utf8').replace('<!-- modules -->', modules.join('\n  '))
  return new Map([['/desk', source('.html', page)], ...files.map(([path, text]): [string, Source] => [path, source(extname(path), text)])])
}

/** A browser finds a package only by an address; an import map would have to stand inline in the page. */
function resolved (code: string, url: string): string {
  const lit = posix.relative(posix.dirname(url), `${FILES}lit-html`)
  return code.replaceAll(/(?<= from )'lit-html(\/[^']+)?'/g, (_, path = '/lit-html.js') => `'${lit}${path}'`)
}

function withoutMap (code: string): string {
  return code.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')
}

function source (extension: string, body: string): Source {
  return { type: types[extension]!, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}
