import {
  isObject,
  scalarText,
  userIn,
  type Resource,
  type ResourceIdentifier
} from '../../../lib/drupal/document.ts'
import { contentModel, INTERNAL } from '../../../lib/editions/model.ts'
import { createCatalog, type Collection } from '../../../lib/editions/site/catalog.ts'
import { uuidQuery } from '../../../lib/editions/translate/query.ts'
import type { Ask, RowList } from './ask.ts'
import { attributesOf, hasTimes, relationsOf, targetId } from './attributes.ts'
import {
  fieldMembers,
  openTimes,
  timestampMembers,
  type FieldRows,
  type Storage
} from './fields.ts'
import { formMember } from './form.ts'
import { keyMembers } from './keys.ts'
import { lookMembers } from './looks.ts'
import { guessed, hidden, shown, type Member } from './member.ts'
import {
  canonicalPath,
  languageMember,
  mediaPath,
  twinOf,
  USUAL_LANGUAGES,
  withoutPrefix
} from './places.ts'
import { timeZoneMember } from './time-zone.ts'
import { newCaller } from '../../../lib/http/calls.ts'

/** What a site shows of its content model to one account. */
export interface Survey {
  members: Member[]
  /** The fields of editions that show times. */
  times: string[]
  /** How many editions it saw, and how many are hidden on the same pages. */
  editions: { seen: number; hidden: number; permission?: string }
}

/** Bundles that are editions, where not all of an entity type are, and from what that is known. */
export interface BundleChoice {
  bundles: string[]
  certainty: 'shown' | 'guessed'
  why: string
}

/** Asks a person for the path of an entity of a type on the site; undefined where nobody knows. */
export type AskPath = (entityType: string, id: string) => Promise<string | undefined>

/** How many pages of configuration a survey reads: sites have some hundred fields. */
const PAGES = 10

/** How many fields of one kind a survey asks about one by one. */
const TRIES = 20

const DEFAULTS = contentModel({})

/**
 * Every collection of a site, under the names that Drupal gives entity types; those of renamed
 * resource types come from their paths.
 */
export async function collectionsOf({ cms }: Ask): Promise<Collection[]> {
  return (await createCatalog({ cms, model: DEFAULTS }).all(newCaller())).map((collection) => {
    const [entityType, bundle, ...rest] = collection.path.slice(1).split('/')
    return collection.resourceType.includes('--') || !bundle || rest.length > 0
      ? collection
      : { ...collection, entityType: entityType!, bundle }
  })
}

/**
 * Learns what a site shows of its content model: by its entry point, the first page of editions of
 * each bundle, the configuration that the account may see, and by trying paths. It reads only.
 * @param languages to be tried besides those that the site or its editions show
 * @param choice the bundles that are editions; without it each one is
 * @param askPath asks for paths that cannot be guessed
 */
export async function surveySite(
  ask: Ask,
  entityType: string,
  collections: Collection[],
  languages: string[] = [],
  choice?: BundleChoice,
  askPath: AskPath = async () => undefined
): Promise<Survey> {
  const editionCollections = collections.filter(
    (collection) =>
      collection.entityType === entityType && choice?.bundles.includes(collection.bundle) !== false
  )
  const pages = await Promise.all(editionCollections.map(({ path }) => ask.list(path)))
  const rows = pages.flatMap(({ rows }) => rows)
  const byType = new Map(collections.map((collection) => [collection.resourceType, collection]))
  const entityTypeOf = (resourceType: string) =>
    byType.get(resourceType)?.entityType ?? resourceType.split('--', 1)[0]!
  const bundleOf = (resourceType: string) => byType.get(resourceType)?.bundle
  const config = (type: string, query: Array<[string, string]> = []) =>
    listConfig(ask, collections, type, query)

  const storagesOf = (entityType: string) =>
    config('field_storage_config', [['filter[entity_type]', entityType]])
  const storages = await storagesOf(entityType)
  const languageConfig = await config('configurable_language')
  const siteLanguages = languageCodes(
    languageConfig.rows.filter(({ attributes }) => attributes?.locked !== true),
    `${INTERNAL}id`
  )
  const entity = {
    entityType,
    bundles: editionCollections.map(({ bundle }) => bundle),
    rows,
    bundleOf,
    entityTypeOf,
    languages: [...siteLanguages, ...languages, ...USUAL_LANGUAGES]
  }
  const first = keyMembers({ ...entity, twin: undefined, translations: [] })
  const id = idOf(rows[0], first)
  const path = id === undefined ? undefined : await canonicalPath(ask, entityType, id)
  const twin =
    id === undefined
      ? undefined
      : await twinOf(ask, (path ?? `/entity/${entityType}/{id}`).replace('{id}', id))
  const langcode = valueOf(first, 'keys.langcode')
  // Editions may have no language, and yet refer to articles that have one.
  const articles = languageConfig.rows.length > 0 ? [] : await articlesOf(ask, collections)
  const languagesInUse = [
    ...new Set([
      ...siteLanguages,
      ...(langcode === undefined ? [] : languageCodes(rows, langcode)),
      ...languageCodes(articles, 'langcode')
    ])
  ]
  const languageList = await languageMember(ask, languagesInUse, {
    usual: languageConfig.rows.length > 0 ? [] : languages,
    permission: languageConfig.rows.length > 0 ? undefined : languageConfig.permission,
    addressIn: (code) =>
      addressIn(
        ask,
        collections,
        code,
        path === undefined
          ? undefined
          : addressOf(rows, code, { langcode, id: `${INTERNAL}${valueOf(first, 'keys.id')}`, path })
      )
  })
  const needsTranslations =
    langcode !== undefined && valueOf(first, 'keys.defaultLangcode') === undefined
  const keys = keyMembers({
    ...entity,
    twin,
    translations: needsTranslations
      ? await translationsOf(ask, editionCollections, rows, languageList)
      : []
  })
  const bundleEntityType = valueOf(keys, 'bundleEntityType')
  const bundle = valueOf(keys, 'keys.bundle')
  const fields: FieldRows = {
    entityType,
    bundles: entity.bundles,
    rows,
    keys: keys.flatMap(({ name, value }) =>
      name.startsWith('keys.') && typeof value === 'string' ? value : []
    ),
    storages: configuredIn(storages),
    storagesPermission: `the permission '${storages.permission ?? `administer ${entityType} fields`}'`,
    twin,
    tried: await triedTargets(ask, editionCollections, rows, collections),
    entityTypeOf,
    bundleOf,
    bundle: bundle === 'type' ? `${entityType}_type` : bundle
  }
  const times = await triedTimes(ask, editionCollections, fields)
  const memberList = (
    await Promise.all(
      members(keys, fieldMembers(fields)).map(async (member) => {
        return member.name === 'lists'
          ? lookMembers(ask, member, {
              collections,
              entityTypeOf,
              storages: configuredIn(await storagesOf('node'))
            })
          : member
      })
    )
  ).flat()
  const references = Object.values(
    (memberList.findLast(({ name, value }) => name === 'references' && value !== undefined)
      ?.value as Record<string, string> | undefined) ?? {}
  )

  return {
    members: [
      shown('entityType', entityType, 'the entry point of JSON:API has it'),
      ...memberList,
      await bundlesMember(
        editionCollections,
        entityType,
        bundleEntityType === undefined ? undefined : await config(bundleEntityType),
        bundleEntityType,
        choice
      ),
      ...timestampMembers(fields, times),
      formMember({
        entityType,
        bundles: entity.bundles,
        fields: await config('field_config', [['filter[entity_type]', entityType]]),
        displays: await config('entity_form_display', [['filter[targetEntityType]', entityType]])
      }),
      languageList,
      await timeZoneMember(rows, () => userZone(ask, collections)),
      ...resourceTypeMembers(collections),
      ...(await placeMembers(ask, {
        entityType,
        path,
        references: [...new Set(references)],
        rows,
        byType,
        idAttribute: `${INTERNAL}${valueOf(first, 'keys.id')}`,
        prefixes: Object.values((languageList.value ?? {}) as Record<string, string>),
        askPath
      }))
    ],
    times: attributesOf(rows)
      .filter(hasTimes)
      .map(({ name }) => name),
    editions: {
      seen: rows.length,
      hidden: pages.reduce((sum, { hidden }) => sum + hidden, 0),
      ...permissionOf(pages)
    }
  }
}

const members = (...lists: Member[][]): Member[] => lists.flat()

function permissionOf(pages: RowList[]): Pick<RowList, 'permission'> {
  const permission = pages.find(({ permission }) => permission !== undefined)?.permission
  return permission === undefined ? {} : { permission }
}

/** The value of a member; undefined if it is not known, or if there is no such member. */
function valueOf(members: Member[], name: string): string | undefined {
  return (
    (members.find((member) => member.name === name)?.value as string | null | undefined) ??
    undefined
  )
}

function idOf(row: Resource | undefined, keys: Member[]): string | undefined {
  const id = row?.attributes?.[INTERNAL + String(valueOf(keys, 'keys.id'))]
  return id === undefined ? undefined : scalarText(id)
}

/** The configuration of an entity type of configuration that the account may see. */
export async function listConfig(
  { list }: Ask,
  collections: Collection[],
  entityType: string,
  query: Array<[string, string]>
): Promise<RowList> {
  const collection = collections.find((collection) => collection.entityType === entityType)
  return collection ? list(collection.path, query, PAGES) : { rows: [], hidden: 0 }
}

/** The configuration of fields; undefined where none can be seen. */
export function configuredIn({ rows }: RowList): Storage[] | undefined {
  return rows.length > 0 ? rows.map(storageOf) : undefined
}

function storageOf({ attributes = {} }: Resource): Storage {
  return {
    field: scalarText(attributes.field_name),
    type: scalarText(attributes.field_storage_config_type),
    settings: isObject(attributes.settings) ? attributes.settings : {}
  }
}

/** What people call bundles, by their names, as their configuration has it. */
export function labelsIn(rows: Resource[]): Map<string, string> {
  return new Map(
    rows.map(({ attributes = {} }): [string, string] => {
      const id = Object.entries(attributes).find(([name]) => name.startsWith(INTERNAL))?.[1]
      const [, other] =
        Object.entries(attributes).find(
          ([name, value]) =>
            !name.startsWith(INTERNAL) && name !== 'langcode' && typeof value === 'string'
        ) ?? []
      return [scalarText(id), scalarText(attributes.label ?? attributes.name ?? other)]
    })
  )
}

async function bundlesMember(
  editionCollections: Collection[],
  entityType: string,
  list: RowList | undefined,
  bundleEntityType: string | undefined,
  choice: BundleChoice | undefined
): Promise<Member> {
  const names = editionCollections.map(({ bundle }) => bundle)
  const labels = labelsIn(list?.rows ?? [])
  const bundles = names.flatMap((name): Array<[string, string]> =>
    labels.get(name) ? [[name, labels.get(name)!]] : []
  )
  if (choice) {
    const value = names.map((name): [string, string] => [name, labels.get(name) || name])
    const { certainty, why } = choice
    return { name: 'bundles', value: Object.fromEntries(value), certainty, why }
  }
  if (bundles.length === names.length && names.length > 0) {
    return shown(
      'bundles',
      Object.fromEntries(bundles),
      `${String(bundleEntityType)} has their labels`
    )
  }
  if (bundleEntityType === undefined && names.join() === entityType) {
    return hidden('bundles', 'the entity type has no bundles')
  }
  return hidden(
    'bundles',
    `${names.join(', ')}; the permission '${list?.permission ?? `administer ${entityType} types`}' would show their labels`
  )
}

/** The languages in an attribute. */
function languageCodes(rows: Resource[], name: string): string[] {
  const codes = rows.map(({ attributes }) => scalarText(attributes?.[name]))
  return [...new Set(codes)].filter(
    (code) => /^[\w-]+$/.test(code) && code !== 'und' && code !== 'zxx'
  )
}

/** The path of an edition in a language, if one was seen. */
function addressOf(
  rows: Resource[],
  code: string,
  { langcode, id, path }: { langcode: string | undefined; id: string; path: string }
): string | undefined {
  const row =
    langcode === undefined
      ? undefined
      : rows.find(({ attributes }) => attributes?.[langcode] === code)
  return row && path.replace('{id}', scalarText(row.attributes![id]))
}

/** Articles of each type, a page of each. */
async function articlesOf(
  { list }: Ask,
  collections: Collection[],
  query?: Array<[string, string]>
): Promise<Resource[]> {
  const bundles = collections.filter(({ entityType }) => entityType === 'node').slice(0, TRIES)
  return (await Promise.all(bundles.map(({ path }) => list(path, query)))).flatMap(
    ({ rows }) => rows
  )
}

/**
 * The path, without a prefix, of an entity in a language that has no alias: an edition, or an
 * article.
 */
async function addressIn(
  ask: Ask,
  collections: Collection[],
  code: string,
  edition: string | undefined
): Promise<string | undefined> {
  if (edition !== undefined) return edition
  const nodes = await articlesOf(ask, collections, [['filter[langcode]', code]])
  const node = nodes.find(
    ({ attributes }) =>
      attributes?.langcode === code &&
      !(isObject(attributes.path) && typeof attributes.path.alias === 'string')
  )
  return (
    node &&
    DEFAULTS.canonicalPaths.node!.replace('{id}', scalarText(node.attributes![`${INTERNAL}nid`]))
  )
}

/** Editions as each language shows them, beside the same editions in the default language. */
async function translationsOf(
  ask: Ask,
  editionCollections: Collection[],
  rows: Resource[],
  { value }: Member
): Promise<Array<[Resource, Resource]>> {
  const prefixes = Object.values((value ?? {}) as Record<string, string>)
    .filter((prefix) => prefix !== '')
    .slice(0, TRIES)
  const bare = await withoutPrefix(ask)
  const pages = await Promise.all(
    prefixes.flatMap((prefix) =>
      editionCollections.map(({ path }) => ask.at(`/${prefix}${bare}`).list(path))
    )
  )
  const byUuid = new Map(rows.map((row) => [row.id, row]))
  return pages
    .flatMap(({ rows }) => rows)
    .flatMap((row): Array<[Resource, Resource]> =>
      byUuid.has(row.id) ? [[byUuid.get(row.id)!, row]] : []
    )
}

/** The time zone of the account, which Drupal shows to itself alone. */
async function userZone({ cms, one }: Ask, collections: Collection[]): Promise<string | undefined> {
  const { document } = await cms.request({ path: '', caller: newCaller() })
  const id = scalarText(userIn(document)?.id)
  const users = collections.find(({ entityType }) => entityType === 'user')
  if (id === '' || !users) return undefined
  const zone = (await one(`${users.path}/${encodeURIComponent(id)}`))?.attributes?.timezone
  return typeof zone === 'string' ? zone : undefined
}

function resourceTypeMembers(collections: Collection[]): Member[] {
  const aliases = collections.filter(
    ({ resourceType, entityType, bundle }) =>
      !resourceType.includes('--') && entityType !== resourceType && bundle
  )
  return aliases.length === 0
    ? []
    : [
        guessed(
          'resourceTypes',
          Object.fromEntries(
            aliases.map(({ resourceType, entityType, bundle }) => [
              resourceType,
              { entityType, bundle }
            ])
          ),
          'their paths in JSON:API tell it'
        )
      ]
}

/**
 * The entity types of reference fields in which no edition seen has a value: JSON:API sorts by a
 * path only if it leads somewhere.
 */
async function triedTargets(
  { takes }: Ask,
  editionCollections: Collection[],
  rows: Resource[],
  collections: Collection[]
): Promise<Map<string, string>> {
  const empty = relationsOf(rows)
    .filter(({ targets }) => targets.length === 0)
    .slice(0, TRIES)
  const types = Object.entries(DEFAULTS.idKeys).filter(([type]) =>
    collections.some(({ entityType }) => entityType === type)
  )
  const entries = await Promise.all(
    empty.map(async ({ name }): Promise<Array<[string, string]>> => {
      const { path } = collectionOf(
        editionCollections,
        rows.find(({ relationships }) => relationships?.[name] !== undefined)!
      )
      const leads = await Promise.all(
        types.map(([, key]) => takes(path, [['sort', `${name}.${INTERNAL}${key}`]]))
      )
      const matches = types.filter((_type, index) => leads[index])
      return matches.length === 1 ? [[name, matches[0]![0]]] : []
    })
  )
  return new Map(entries.flat())
}

/** The collection of an edition: bundles may have different fields. */
function collectionOf(own: Collection[], { type }: Resource): Collection {
  return [...own.filter(({ resourceType }) => resourceType === type), ...own][0]!
}

/**
 * Time stamps are found by the seconds that Drupal stores, dates by their text alone. Where filters
 * do not work, neither is known.
 */
async function triedTimes(
  { list }: Ask,
  editionCollections: Collection[],
  fields: FieldRows
): Promise<Map<string, 'timestamp' | 'date'>> {
  const kinds = await Promise.all(
    openTimes(fields)
      .slice(0, TRIES)
      .map(async ({ name }): Promise<Array<[string, 'timestamp' | 'date']>> => {
        const timeOf = ({ attributes }: Resource) => [attributes?.[name]].flat()[0]
        const row = fields.rows.find((row) => typeof timeOf(row) === 'string')!
        const { path } = collectionOf(editionCollections, row)
        const seconds = String(Date.parse(String(timeOf(row))) / 1000)
        const [control, bySeconds] = await Promise.all([
          list(path, uuidQuery([row.id])),
          list(path, [...uuidQuery([row.id]), [`filter[${name}]`, seconds]])
        ])
        return control.rows.length === 0 || bySeconds.refused
          ? []
          : [[name, bySeconds.rows.length > 0 ? 'timestamp' : 'date']]
      })
  )
  return new Map(kinds.flat())
}

interface Places {
  entityType: string
  path: string | undefined
  references: string[]
  rows: Resource[]
  byType: Map<string, Collection>
  /** The attribute with the id of an edition. */
  idAttribute: string
  /** Prefixes of languages in paths. */
  prefixes: string[]
  askPath: AskPath
}

/** Ids and canonical paths of the entity types that editions refer to, and of editions. */
async function placeMembers(ask: Ask, places: Places): Promise<Member[]> {
  const { entityType, path, references, rows, byType } = places
  const targets = relationsOf(rows).flatMap(({ targets }) => targets)
  const ofType = (type: string) =>
    targets.filter(
      (target) => byType.get(target.type)?.entityType === type && targetId(target) !== undefined
    )
  const targetOf = (type: string) => ofType(type)[0]
  const otherTypes = references.filter(
    (type) => !Object.hasOwn(DEFAULTS.canonicalPaths, type) && type !== entityType
  )
  const idKeys = await Promise.all(
    references
      .filter((type) => !Object.hasOwn(DEFAULTS.idKeys, type))
      .map(async (type): Promise<Array<[string, string]>> => {
        const target = targetOf(type)
        // Not by a filter, which a custom entity type may answer with nothing.
        const row =
          target &&
          (await ask.one(`${byType.get(target.type)!.path}/${encodeURIComponent(target.id)}`))
        const key = Object.entries(row?.attributes ?? {}).find(
          ([name, value]) => name.startsWith(INTERNAL) && value === targetId(target!)
        )?.[0]
        return key === undefined ? [] : [[type, key.slice(INTERNAL.length)]]
      })
  )
  const paths = await Promise.all(
    otherTypes.map(async (type): Promise<Array<[string, string]>> => {
      const target = targetOf(type)
      const found = target && (await canonicalPath(ask, type, String(targetId(target))))
      return found === undefined ? [] : [[type, found]]
    })
  )
  const media = targetOf('media')
  const standalone = media && (await mediaPath(ask, String(targetId(media))))
  const defaults = references
    .filter((type) => Object.hasOwn(DEFAULTS.canonicalPaths, type))
    .map((type): [string, string] => [type, DEFAULTS.canonicalPaths[type]!])
  const guessedPaths = [
    ...(path === undefined ? [] : [[entityType, path] as [string, string]]),
    ...paths.flat(),
    ...(standalone === undefined ? [] : [['media', standalone] as [string, string]])
  ]
  const open = [...(path === undefined ? [entityType] : []), ...otherTypes].filter(
    (type) => type !== 'file' && !guessedPaths.some(([name]) => name === type)
  )
  const { paths: shownPaths, missing } = await openPaths(ask, places, open, ofType)
  const knownKeys = references
    .filter((type) => Object.hasOwn(DEFAULTS.idKeys, type))
    .map((type): [string, string] => [type, DEFAULTS.idKeys[type]!])
  const allPaths = [...guessedPaths, ...shownPaths]
  return [
    shown(
      'idKeys',
      Object.fromEntries([...knownKeys, ...idKeys.flat()]),
      "Drupal core's own, and what JSON:API marks"
    ),
    guessed(
      'canonicalPaths',
      Object.fromEntries([...defaults, ...allPaths]),
      allPaths.length > 0
        ? `Drupal core's own; the site has pages at ${allPaths.map(([, place]) => place).join(', ')}`
        : "Drupal core's own"
    ),
    ...(missing.length > 0
      ? [
          hidden(
            'canonicalPaths',
            `${missing.join(', ')}: no page at a path that can be guessed, or none at all`
          )
        ]
      : [])
  ]
}

/**
 * The paths of entity types that could not be guessed, as core REST shows them in references, or as
 * a person names them; and the types without one, with the number of references that lack a url.
 */
async function openPaths(
  ask: Ask,
  places: Places,
  types: string[],
  targetsOf: (type: string) => ResourceIdentifier[]
): Promise<{ paths: Array<[string, string]>; missing: string[] }> {
  const paths: Array<[string, string]> = []
  const missing: string[] = []
  for (const type of types.slice(0, TRIES)) {
    const targets = targetsOf(type)
    const id = String(targetId(targets[0] ?? { type, id: '' }) ?? '')
    const item = id === '' ? undefined : await referenceTo(ask, places, type, id)
    // Core REST gives no url to what has no page.
    if (item && item.url === undefined) continue
    const url = item?.url ?? (await places.askPath(type, id))
    const path = url === undefined ? undefined : pathIn(url, id, places.prefixes)
    if (path !== undefined) paths.push([type, path])
    else {
      missing.push(
        targets.length === 0 ? type : `${type} (${targets.length} references seen lack their url)`
      )
    }
  }
  return { paths, missing }
}

/** The item of a reference, as core REST shows it. */
async function referenceTo(
  ask: Ask,
  { entityType, path, rows, idAttribute }: Places,
  type: string,
  id: string
): Promise<{ url: string | undefined } | undefined> {
  const row = rows.find((row) =>
    relationsOf([row]).some(({ targets }) =>
      targets.some(
        (target) => String(targetId(target)) === id && target.type.startsWith(`${type}--`)
      )
    )
  )!
  const place = (path ?? `/entity/${entityType}/{id}`).replace(
    '{id}',
    scalarText(row.attributes?.[idAttribute])
  )
  const items = Object.values((await twinOf(ask, place)) ?? {}).flat()
  const item = items.find(
    (item) => isObject(item) && item.target_type === type && String(item.target_id) === id
  )
  return isObject(item) ? { url: typeof item.url === 'string' ? item.url : undefined } : undefined
}

/** The canonical path in the url of an entity, without the prefix of a language; undefined for an alias. */
export function pathIn(url: string, id: string, prefixes: string[]): string | undefined {
  const pathname = URL.parse(url, 'http://nowhere.invalid')?.pathname
  const [, first, ...rest] = pathname?.split('/') ?? []
  const isPrefixed = rest.length > 0 && prefixes.includes(first!)
  const segments = isPrefixed ? rest : [first!, ...rest]
  const at = segments.lastIndexOf(id)
  return at < 1 ? undefined : `/${segments.with(at, '{id}').join('/')}`
}
