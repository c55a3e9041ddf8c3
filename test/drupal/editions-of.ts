import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { count, createTally, differences, expected, inFlight, type Tally, type TellsAlias } from './compare.ts'
import { core, quoin, signIn, startService } from './quoin.ts'
import { startRecipe, type RunningSite } from './site.ts'
import type { Recipe } from './variants.ts'

/** What the content script of such a site returns. */
export interface EditionsContent {
  /** Ids of all editions. */
  editions: number[]
  /** Those that have a draft over what is published. */
  pending: number[]
}

/** A site whose editions are compared with core REST: how it is made, and what its editions are called. */
export interface EditionsSite {
  recipe: Recipe
  /** The prefix of each language, in paths and before JSON:API. */
  prefixes: Record<string, string>
  entityType: string
  /** The bundles that are editions. */
  bundles: string[]
  /** Where core REST has an edition. */
  path: (id: number) => string
  fields: { id: string; bundle: string; label: string; key?: string }
  /** The fields that differ from save to save, times and the number of saves before it, and the user of the revision. */
  counted: string[]
  /** Bundles of the entity types that editions refer to and that have aliases. */
  targets: Record<string, string[]>
  /** An alias of a target, as its canonical path. */
  unaliased: (url: string) => string
  /** What lists are asked for. */
  queries: string[]
}

export type Edition = Record<string, any[]>
export type RunningEditions = RunningSite<EditionsContent>

const first = (edition: Edition, field: string | undefined) => (field === undefined ? undefined : edition[field]?.[0]?.value)

export function startEditions({ recipe }: EditionsSite): Promise<RunningEditions> {
  return startRecipe<EditionsContent>(recipe)
}

/** The service beside it. @param prefix of the language that it asks in */
export function startBeside(of: EditionsSite, { url }: RunningEditions, model: string, prefix: string): Promise<FastifyInstance> {
  return startService(url, { CMS_JSONAPI_PATH: prefix + of.recipe.names.jsonapiPath, CONTENT_MODEL: model })
}

/** The url of a target that has translations is that of the original in core REST. Quoin finds it among the edition's own references in other languages, which may be other ones. */
const TRANSLATED = 'url of a target in a translation'

/** What differs but in prefixes and aliases of targets, with these counted. */
function withoutTranslatedUrls({ prefixes, unaliased }: EditionsSite, wanted: Edition, ours: Edition, tally: Tally): Edition {
  const bare = (url: string) => {
    const prefix = Object.values(prefixes).find((prefix) => prefix !== '' && url.startsWith(`${prefix}/`)) ?? ''
    return unaliased(url.slice(prefix.length))
  }
  return Object.fromEntries(
    Object.entries(wanted).map(([field, items]) => [
      field,
      items.map((item, index) => {
        const url = ours[field]?.[index]?.url
        if (typeof item?.url !== 'string' || typeof url !== 'string' || item.url === url || bare(item.url) !== bare(url)) return item
        count(tally, TRANSLATED)
        return { ...item, url }
      })
    ])
  )
}

/** Whether JSON:API shows this user an entity by its uuid, under a prefix: of others neither alias nor prefix are told. */
function showsOf({ targets, recipe }: EditionsSite, site: RunningEditions, session: Record<string, string>, prefix: string): TellsAlias {
  const answers = new Map<string, Promise<boolean>>()
  async function ask(entityType: string, uuid: string): Promise<boolean> {
    const statuses = await Promise.all(
      (targets[entityType] ?? []).map(async (bundle) => {
        const { status } = await fetch(`${site.url}${prefix}${recipe.names.jsonapiPath}/${entityType}/${bundle}/${uuid}`, {
          headers: session
        })
        return status
      })
    )
    return statuses.includes(200)
  }
  return (entityType, uuid) => {
    // Their url without an alias is that of their form.
    if (entityType === 'media') return Promise.resolve(true)
    const answer = answers.get(uuid) ?? ask(entityType, uuid)
    answers.set(uuid, answer)
    return answer
  }
}

/** Reads each edition by both. @returns the tally, and what core REST shows of each edition */
export async function compareReads(
  of: EditionsSite,
  site: RunningEditions,
  service: FastifyInstance,
  user: string,
  prefix: string
): Promise<[Tally, Edition[]]> {
  const tally = createTally()
  const session = await signIn(site, user)
  const tells = showsOf(of, site, session, prefix)
  const visible: Edition[] = []
  await inFlight(4, site.content.editions, async (id) => {
    const rest = await core(site, session, 'GET', prefix + of.path(id))
    const ours = await quoin(service, session, 'GET', `/api/collection/${rest.body.uuid?.[0].value ?? id}`)
    tally.comparisons++
    if (rest.status >= 400) {
      // JSON:API hides which edition has an id.
      if (![403, 404].includes(ours.status)) tally.differences.push(`${id}: ${ours.status} for ${rest.status}`)
      return
    }
    visible.push(rest.body)
    const shown = await expected(rest.body, tally, tells)
    const body = withoutTranslatedUrls(of, shown, ours.body, tally)
    tally.differences.push(...differences({ status: 200, body }, ours).map((line) => `${user} ${id}: ${line}`))
  })
  return [tally, visible]
}

/** The ids that a list has to have, with the total. @param visible the editions that core REST shows the same user */
export function listedIn(
  { fields, entityType }: EditionsSite,
  visible: Edition[],
  list: string,
  query: string
): { total: number; ids: number[] } {
  const { q, status, key, limit, offset } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>
  const wanted = visible
    .filter(
      (edition) =>
        (list === entityType || edition[fields.bundle]![0].target_id === list) &&
        (q === undefined ||
          String(first(edition, fields.label)).toLowerCase().includes(q.toLowerCase()) ||
          first(edition, fields.key) === q) &&
        (status === undefined || first(edition, 'status') === (status === '1')) &&
        (key === undefined || first(edition, fields.key) === key)
    )
    .map((edition) => first(edition, fields.id) as number)
    .toSorted((one, other) => other - one)
  return { total: wanted.length, ids: wanted.slice(Number(offset), Number(offset) + Number(limit)) }
}

/** The lists that are compared: their names, and the questions to them. */
export function listsAsked({ entityType, bundles, queries }: EditionsSite): Array<[list: string, query: string]> {
  return [entityType, ...bundles].flatMap((list) =>
    queries.map((query): [string, string] => [
      list,
      `${new URLSearchParams({ limit: '500', offset: '0', ...Object.fromEntries(new URLSearchParams(query)), total: '1' })}`
    ])
  )
}

export async function compareLists(
  of: EditionsSite,
  site: RunningEditions,
  service: FastifyInstance,
  user: string,
  visible: Edition[]
): Promise<Tally> {
  const tally = createTally()
  const session = await signIn(site, user)
  for (const [list, query] of listsAsked(of)) {
    const { body } = await quoin(service, session, 'GET', `/api/collections/${list}?${query}`)
    const wanted = listedIn(of, visible, list, query)
    const found = { total: body.meta?.total, ids: (body.data ?? []).map((edition: Edition) => first(edition, of.fields.id)) }
    tally.comparisons++
    if (!isDeepStrictEqual(found, wanted)) {
      tally.differences.push(`${user}: ${list}?${query}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)} ${body.message ?? ''}`)
    }
  }
  return tally
}

/**
 * Saves each edition that has this language for its own on two equal sites, by core REST on the first and by Quoin on
 * the second, and compares what core REST then shows.
 */
export async function compareSaves(
  of: EditionsSite,
  [a, b]: [RunningEditions, RunningEditions],
  service: FastifyInstance,
  [language, prefix]: [string, string]
): Promise<Tally> {
  const tally = createTally()
  const [one, other] = [await signIn(a, 'editor'), await signIn(b, 'editor')]
  const { bundle, label } = of.fields
  const settled = (edition: Edition, origin: string): Edition => {
    const fields = Object.entries(edition).filter(([field]) => !of.counted.includes(field))
    return JSON.parse(JSON.stringify(Object.fromEntries(fields)).replaceAll(origin, ''))
  }
  await inFlight(3, a.content.editions, async (id) => {
    const path = prefix + of.path(id)
    const before = await core(a, one, 'GET', path)
    if (before.status !== 200 || before.body.langcode[0].value !== language) return
    const changes = { [label]: [{ value: `${first(before.body, label)}, ${language}` }] }
    const [theirs, ours] = await Promise.all([
      core(a, one, 'PATCH', path, { [bundle]: before.body[bundle], ...changes }),
      quoin(service, other, 'POST', `/api/collection/${before.body.uuid[0].value}`, changes)
    ])
    tally.comparisons++
    // JSON:API changes no entity that has a draft (docs/core-rest.md).
    if (theirs.status === 200 && ours.status === 409 && /newer draft/.test(ours.body.message)) return count(tally, 'a draft is pending')
    if (theirs.status !== ours.status) {
      tally.differences.push(
        `${language} ${id}: ${theirs.status} ${JSON.stringify(theirs.body.message)}, not ${ours.status} ${JSON.stringify(ours.body.message)}`
      )
      return
    }
    const [stored, storedByQuoin] = await Promise.all([core(a, one, 'GET', path), core(b, other, 'GET', path)])
    tally.differences.push(
      ...differences({ status: 200, body: settled(stored.body, a.url) }, { status: 200, body: settled(storedByQuoin.body, b.url) }).map(
        (line) => `${language} ${id}: ${line}`
      )
    )
  })
  return tally
}
