import { createHash } from 'node:crypto'
import { basename, extname } from 'node:path'

/** The languages of the desk. The first is for users who ask for none of them. */
export const LANGUAGES = ['en', 'de', 'fr'] as const

export type Language = (typeof LANGUAGES)[number]

/**
 * All that the desk serves, but what the page has to know of a service. It can be written as JSON.
 */
export interface BuiltPage {
  pages: Record<Language, string>
  /** The hash of the script that the pages have in them, as a Content-Security-Policy names it. */
  inlineHash: string
  /**
   * The texts of the files, by name. The name has a hash of the content, so other content has
   * another name.
   */
  files: Record<string, string>
  /** The script of the elements that other pages embed. */
  elements: string
  /** The name of the icon in it. */
  icon: string
}

export function hashOf(content: string): string {
  return createHash('sha256')
    .update(content)
    .digest('base64url')
    .replaceAll(/[-_]/g, '')
    .slice(0, 22)
}

/** `desk-4fTx0bQ9.js` of `desk.js` */
export function nameWith(hash: string, name: string): string {
  const extension = extname(name)
  return `${basename(name, extension)}-${hash.slice(0, 12)}${extension}`
}
