import { isIP } from 'node:net'
import { FormatRegistry } from '@sinclair/typebox'

/** The items of a comma separated list; spaces around them do not count. */
export function itemsIn(list: string): string[] {
  return list.split(',').map((item) => item.trim())
}

/**
 * A host's name, of at most 253 characters. Source: RFC 1123 section 2.1; underscores as container
 * networks have them.
 */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/i

/**
 * Formats of settings that a pattern cannot tell; TypeBox knows them by name once this module is
 * loaded.
 */
FormatRegistry.Set('origins', (list) => itemsIn(list).every(isOrigin))
FormatRegistry.Set('hosts', (list) => itemsIn(list).every((name) => HOST_NAME.test(name)))
FormatRegistry.Set('networks', (list) => itemsIn(list).every(isNetwork))
FormatRegistry.Set('url', (text) => URL.canParse(text))

/**
 * An origin as browsers send it: lower case, no path, no port that is the scheme's own. Source: RFC
 * 6454 section 6.2.
 */
function isOrigin(text: string): boolean {
  return /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/**
 * An address, or a network in CIDR notation (RFC 4632, RFC 4291 section 2.3) that is not the whole
 * internet.
 */
function isNetwork(text: string): boolean {
  const [address, length, ...rest] = text.split('/') as [string, string?]
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return (
    length === undefined ||
    (/^[1-9]\d{0,2}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128))
  )
}
