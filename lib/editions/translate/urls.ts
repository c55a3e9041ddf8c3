import { isObject, scalarText } from '../../drupal/document.ts'
import { ownPrefixIn } from '../../drupal/languages.ts'
import type { ContentModel } from '../model.ts'

import type { UrlOf } from './read.ts'

/**
 * The path alias of a reference's target, or the URL of its file. Neither where the caller may not
 * see the target.
 */
export interface Target {
  alias?: string
  fileUrl?: string
  /** Its language, whose prefix the url has on a site with such. */
  langcode?: string
  /** Whether the CMS has shown it in a translation, and nobody has looked for its original yet. */
  isTranslation?: true
}

/**
 * Targets by their type and uuid: uuids are unique, but nothing in JSON:API says so of two types.
 */
export type Targets = ReadonlyMap<string, ReadonlyMap<string, Target>>

/**
 * An absolute path that a URL parser leaves as it is: nothing to escape, to resolve or to cut off.
 */
const SAFE_PATH = /^(?:\/(?!\.|%2e)[\w.~!$&'()*+,;=:@%-]+)+$/i

/**
 * The urls of references as core REST gives them: a file's is absolute, other targets have a path
 * alias or else their canonical path, both from the root and with the prefix of the target's
 * language. A target that the caller may not see counts as one in the site's default language.
 * Source: Drupal\serialization\Normalizer\EntityReferenceFieldItemNormalizer,
 * Drupal\Core\Entity\EntityBase::toUrl().
 * @param site the CMS's URL, with a path if Drupal lives under one
 * @param targets as the CMS has shown them to the caller
 * @param jsonapiPath the path of JSON:API, which may have the prefix of a language: that of targets
 *   without a language. Source: Drupal\language\Plugin\LanguageNegotiation\LanguageNegotiationUrl
 */
export function urlsOf(
  targets: Targets,
  model: ContentModel,
  site: URL,
  jsonapiPath = '/jsonapi'
): UrlOf {
  const { origin, pathname } = site
  const root = pathname.replace(/\/$/, '')
  const bases = new Map(
    Object.entries(model.languages ?? {}).map(([langcode, prefix]) => [
      langcode,
      prefix === '' ? root : `${root}/${prefix}`
    ])
  )
  const [ofDefaultLanguage = root] = bases.values()
  const ownPrefix = ownPrefixIn(jsonapiPath, model.languages)
  bases.set(WITHOUT_LANGUAGE, ownPrefix === undefined ? ofDefaultLanguage : `${root}/${ownPrefix}`)

  return (identifier, entityType) => {
    const { alias, fileUrl, langcode } = targets.get(identifier.type)?.get(identifier.id) ?? {}
    if (fileUrl !== undefined) {
      if (SAFE_PATH.test(fileUrl)) return origin + fileUrl
      return webUrl(fileUrl, origin)
    }
    // What no language applies to (`zxx`) has no prefix.
    const base = langcode === undefined ? ofDefaultLanguage : (bases.get(langcode) ?? root)
    if (alias !== undefined) return base + alias
    const canonical = model.canonicalPaths[entityType]
    const target = scalarText(identifier.meta?.drupal_internal__target_id)
    return canonical && target !== ''
      ? base + withOneSlash(canonical.replace('{id}', () => encode(target)))
      : undefined
  }
}

/** Drupal's code for a language that is not specified. */
const WITHOUT_LANGUAGE = 'und'

/**
 * The url of a file, if it is one of the web: a module may give another scheme, such as
 * `javascript:`.
 */
function webUrl(fileUrl: string, origin: string): string | undefined {
  const url = URL.parse(fileUrl, origin)
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined
  // That of a remote file or a CDN is absolute already, and stays as Drupal writes it.
  return URL.canParse(fileUrl) ? fileUrl : url.href
}

/** The names that a resource type gives the keys of its languages. */
export interface LanguageKeys {
  langcode: string
  /** Tells an original from its translations. */
  defaultLangcode: string
}

/** How nearly all entity types call them. */
export const LANGUAGE_KEYS: LanguageKeys = {
  langcode: 'langcode',
  defaultLangcode: 'default_langcode'
}

/** The target that the attributes of an included resource describe. */
export function targetOf(attributes: Record<string, unknown> = {}, keys = LANGUAGE_KEYS): Target {
  const { path, uri, [keys.langcode]: langcode, [keys.defaultLangcode]: isOriginal } = attributes
  return {
    ...(isObject(path) &&
      typeof path.alias === 'string' &&
      path.alias.startsWith('/') && { alias: encode(withOneSlash(path.alias)) }),
    ...(isObject(uri) && typeof uri.url === 'string' && { fileUrl: uri.url }),
    ...(typeof langcode === 'string' && { langcode }),
    ...(isOriginal === false && { isTranslation: true })
  }
}

/**
 * An alias with one slash at its beginning: with two it would be the url of another host. Source:
 * Drupal\Core\Routing\UrlGenerator::generateFromRoute(),
 * Drupal\path_alias\PathProcessor\AliasPathProcessor::processOutbound().
 */
function withOneSlash(alias: string): string {
  return alias.startsWith('//') ? alias.replace(/^\/+/, '/') : alias
}

/**
 * An alias as a URL has it: each part percent-encoded (RFC 3986, as PHP's rawurlencode() does it),
 * `.` and `..` too. Source: Drupal\Core\Routing\UrlGenerator::generateFromRoute().
 */
function encode(alias: string): string {
  if (PLAIN.test(alias) || NAME.test(alias)) return alias
  return alias
    .split('/')
    .map((part) =>
      /^\.\.?$/.test(part)
        ? part.replaceAll('.', '%2E')
        : encodeURIComponent(part.toWellFormed()).replace(
            /[!'()*]/g,
            (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`
          )
    )
    .join('/')
}

/** An alias with nothing to encode, as nearly all are. */
const PLAIN = /^(?:\/(?!\.)[\w.~-]+)+$/

/** An id or a machine name. */
const NAME = /^\w+$/
