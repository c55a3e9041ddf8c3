import type { ErrorObject } from './document.ts'

/**
 * Drupal's error for a change of an entity in a language that the entity does not have. Source:
 * Drupal\jsonapi\Controller\EntityResource::patchIndividual().
 */
const OTHER_LANGUAGE =
  /^The requested translation of the resource object does not exist, instead modify one of the translations that do exist: (.+)\.$/

/** The path of JSON:API in each language. Some sites tell languages by a prefix of the path. */
export interface Languages {
  /** The path of JSON:API for a request in this language. */
  pathOf(language: string): string
  /**
   * The path to try once more where Drupal refused a change because of the language of its path:
   * `/<language>`, the prefix that Drupal gives a language unless told otherwise. Undefined where
   * there is nothing to try.
   */
  guess(language: string | undefined, errors: ErrorObject[] | undefined): string | undefined
  /** Keeps a path that was tried and is right. */
  learn(language: string | undefined, path: string): void
}

/** A value as the code of a language, if it is one that can stand in a header field and a path. */
export function languageCode(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]+$/.test(value) ? value : undefined
}

/** Sites have some ten languages. */
const LEARNED = 200

/**
 * @param jsonapiPath the path of JSON:API; it may have the prefix of a language
 * @param prefixes of the languages, if they are known: an empty one for none
 */
export function createLanguages(
  jsonapiPath: string,
  prefixes?: Readonly<Record<string, string>>
): Languages {
  const own = ownPrefixIn(jsonapiPath, prefixes)
  const bare = own === undefined ? jsonapiPath : jsonapiPath.slice(own.length + 1)
  const paths = new Map(
    Object.entries(prefixes ?? {}).map(([language, prefix]) => [
      language,
      (prefix && `/${prefix}`) + bare
    ])
  )

  return {
    pathOf: (language) => paths.get(language) ?? jsonapiPath,
    guess(language, errors) {
      if (language === undefined || paths.has(language) || otherLanguages(errors) === undefined) {
        return undefined
      }
      return `/${language}${bare}`
    },
    learn(language, path) {
      if (language !== undefined && paths.size < LEARNED) paths.set(language, path)
    }
  }
}

/** The prefix of a language that a path has. @param prefixes of the languages, if they are known */
export function ownPrefixIn(
  jsonapiPath: string,
  prefixes: Readonly<Record<string, string>> = {}
): string | undefined {
  return Object.values(prefixes).find(
    (prefix) => prefix !== '' && jsonapiPath.startsWith(`/${prefix}/`)
  )
}

/**
 * The languages that Drupal names where it refuses a change because of the language of its path, or
 * undefined.
 */
export function otherLanguages(errors: ErrorObject[] | undefined): string | undefined {
  const detail = errors?.[0]?.detail
  return typeof detail === 'string' ? OTHER_LANGUAGE.exec(detail)?.[1] : undefined
}
