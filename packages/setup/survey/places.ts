import { isObject } from '../../../lib/drupal/document.ts'
import type { Ask, Plain } from './ask.ts'
import { guessed, hidden, shown, type Member } from './member.ts'

/** An id that no entity has. */
const NOBODY = '999999999'

/** The languages of most sites, to be tried where the account may not see those of the site. */
export const USUAL_LANGUAGES = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'nl',
  'pt',
  'pt-br',
  'pt-pt',
  'da',
  'sv',
  'nb',
  'nn',
  'fi',
  'is',
  'et',
  'lv',
  'lt',
  'pl',
  'cs',
  'sk',
  'hu',
  'sl',
  'hr',
  'bs',
  'sr',
  'ro',
  'bg',
  'el',
  'tr',
  'ru',
  'uk',
  'ca',
  'eu',
  'gl',
  'ga',
  'cy',
  'ar',
  'he',
  'fa',
  'hi',
  'bn',
  'ur',
  'ja',
  'ko',
  'zh-hans',
  'zh-hant',
  'vi',
  'th',
  'id',
  'ms',
  'sw',
  'af'
]

/** How many languages a survey tries. */
const LANGUAGES = 100

/**
 * Finds the canonical path of an entity type: a path that Drupal knows with an id, while it does
 * not know one made up. Core answers a page that exists in no JSON with 406, and one that is
 * refused with 401 or 403.
 */
export async function canonicalPath(
  { json }: Ask,
  entityType: string,
  id: string
): Promise<string | undefined> {
  const withDashes = entityType.replaceAll('_', '-')
  const names = [
    entityType,
    withDashes,
    entityType.replaceAll('_', '/'),
    ...[entityType, withDashes].flatMap((name) => [
      `admin/content/${name}`,
      `admin/structure/${name}`,
      `${name}s`
    ])
  ]
  const paths = [
    ...names.map((name) => `${name}/{id}`),
    ...[entityType, `${entityType}s`, withDashes, `${withDashes}s`].flatMap((name) => [
      `${name}/{id}/show`,
      `${name}/{id}/view`
    ])
  ]
  const madeUp = await json(`/quoin-has-made-this-up/${id}`, false)
  if (madeUp?.status !== 404) return undefined
  return firstOf([...new Set(paths)], async (path) =>
    isThere(
      await json(`/${path.replace('{id}', id)}`, false),
      await json(`/${path.replace('{id}', NOBODY)}`, false)
    )
  )
}

/**
 * Media have pages of their own, or are shown in their form alone. Source:
 * Drupal\media\Routing\MediaRouteProvider (media.settings, standalone_url).
 */
export async function mediaPath({ json }: Ask, id: string): Promise<string | undefined> {
  return await firstOf(['media/{id}'], async () =>
    isThere(await json(`/media/${id}`, false), await json(`/media/${NOBODY}`, false))
  )
}

async function firstOf(
  paths: string[],
  isRight: (path: string) => Promise<boolean>
): Promise<string | undefined> {
  const [path, ...rest] = paths
  if (path === undefined) return undefined
  return (await isRight(path)) ? `/${path}` : firstOf(rest, isRight)
}

/**
 * A path of JSON is converted, so an entity that is not there is 404; another kind of page is 406
 * for every id.
 */
function isThere(page: Plain | undefined, nobody: Plain | undefined): boolean {
  const isPage = page !== undefined && [200, 401, 403, 406].includes(page.status)
  return isPage && (page.status === 406 || nobody?.status === 404)
}

/** How a survey looks for the prefixes of languages. */
export interface LanguageSearch {
  /** Languages to be tried besides those that are used. */
  usual: string[]
  /** What would show the site's languages, where the account may not see them. */
  permission: string | undefined
  /** The path of an entity in a language, without a prefix. */
  addressIn: (code: string) => Promise<string | undefined>
}

/**
 * The prefixes of languages, by trying `/<language>` before the path of JSON:API: Drupal says in
 * Content-Language which language a path is in. JSON:API does not show how a site tells languages.
 * Another prefix stands in the `Link` of an entity in that language.
 * @param languagesInUse languages that the site or its editions show
 */
export async function languageMember(
  ask: Ask,
  languagesInUse: string[],
  { usual, permission, addressIn }: LanguageSearch
): Promise<Member> {
  const bare = await withoutPrefix(ask)
  const page = await ask.json(bare, false)
  if (page === undefined) return hidden('languages', `no usable answer at ${bare}?_format=json`)
  const ownLanguage = page.language
  const codes = [
    ...new Set([...(ownLanguage === undefined ? [] : [ownLanguage]), ...languagesInUse, ...usual])
  ].slice(0, LANGUAGES)
  const attempts = await oneByOne(codes, async (code): Promise<[string, string | undefined]> => {
    const isRight = async (prefix: string) => {
      const answer = await ask.json(`/${prefix}${bare}`, false)
      return (
        answer !== undefined &&
        answer.status !== 404 &&
        answer.status < 500 &&
        answer.language === code
      )
    }
    const ownPrefix = await firstPrefix(
      [...new Set([code, code.toLowerCase(), code.split('-', 1)[0]!])],
      isRight
    )
    if (ownPrefix !== undefined || code === ownLanguage) return [code, ownPrefix ?? '']
    const linkPrefix = languagesInUse.includes(code)
      ? await linkedPrefix(ask, await addressIn(code))
      : undefined
    return [code, linkPrefix !== undefined && (await isRight(linkPrefix)) ? linkPrefix : undefined]
  })
  const prefixes = attempts.filter((entry): entry is [string, string] => entry[1] !== undefined)
  const without = attempts
    .filter(([code, prefix]) => prefix === undefined && languagesInUse.includes(code))
    .map(([code]) => code)
  const permissionNote =
    permission === undefined ? '' : `; '${permission}' would show the others, if there are any`
  if (prefixes.length < 2 && prefixes.every(([, prefix]) => prefix === '')) {
    return hidden(
      'languages',
      without.length > 0
        ? `${without.join(', ')} have no path of their own, so the site tells languages otherwise, or by prefixes that cannot be guessed${permissionNote}`
        : `one language is all that can be seen${permissionNote}`
    )
  }
  const why = `found by trying /<language>${bare}${without.length > 0 ? `; ${without.join(', ')} have another prefix, which cannot be guessed` : ''}${permissionNote}`
  return (permission === undefined && without.length === 0 ? shown : guessed)(
    'languages',
    Object.fromEntries(prefixes),
    why
  )
}

/** The prefix that Drupal gives the path of an entity, that of the entity's language. */
async function linkedPrefix(
  { canonicalOf }: Ask,
  address: string | undefined
): Promise<string | undefined> {
  const canonical = address === undefined ? undefined : await canonicalOf(address)
  return canonical?.endsWith(address!)
    ? canonical.slice(0, -address!.length).split('/').at(-1) || undefined
    : undefined
}

/** The path of JSON:API without the prefix of a language, which CMS_JSONAPI_PATH may have. */
export async function withoutPrefix({ json, jsonapiPath }: Ask): Promise<string> {
  const prefix = /^\/([^/]+)(\/.+)$/.exec(jsonapiPath)
  const language = prefix && (await json(jsonapiPath, false))?.language
  return language?.split('-', 1)[0] === prefix?.[1]?.split('-', 1)[0] && prefix
    ? prefix[2]!
    : jsonapiPath
}

async function firstPrefix(
  prefixes: string[],
  isRight: (prefix: string) => Promise<boolean>
): Promise<string | undefined> {
  const [prefix, ...rest] = prefixes
  if (prefix === undefined) return undefined
  return (await isRight(prefix)) ? prefix : firstPrefix(rest, isRight)
}

async function oneByOne<Item, Result>(
  items: Item[],
  work: (item: Item) => Promise<Result>
): Promise<Result[]> {
  return items.reduce<Promise<Result[]>>(
    async (before, item) => [...(await before), await work(item)],
    Promise.resolve([])
  )
}

/** An edition as core REST shows it: with internal names, and a format beside each time stamp. */
export async function twinOf(
  { json }: Ask,
  path: string
): Promise<Record<string, unknown> | undefined> {
  const answer = await json(path, true)
  const isEntity =
    answer?.status === 200 &&
    isObject(answer.object) &&
    Object.values(answer.object).every(Array.isArray)
  return isEntity ? answer.object : undefined
}
