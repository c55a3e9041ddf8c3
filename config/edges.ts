import { FormatRegistry } from '@sinclair/typebox'

/** The items of a comma separated list; spaces around them do not count. */
export function itemsIn (list: string): string[] {
  return list.split(',').map((item) => item.trim())
}

/** A format that a pattern cannot tell; TypeBox knows it by name once this module is loaded. */
FormatRegistry.Set('origins', (list) => itemsIn(list).every(isOrigin))

/** An origin as browsers send it: lower case, no path, no port that is the scheme's own. Source: RFC 6454 section 6.2. */
function isOrigin (text: string): boolean {
  return /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}
