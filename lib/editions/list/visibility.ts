import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../drupal/client.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import { resources } from '../../drupal/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { refusal } from '../translate/failures.ts'
import { everyQuery, pageQuery, translatedQuery, type Parameters } from '../translate/query.ts'
import { systemTime, type Time } from '../../time.ts'

export interface VisibilityContext {
  cms: Jsonapi
  model: ContentModel
}

/**
 * Checks whether a caller may see every edition of a collection down to the one with this id, at
 * this position, without reading all of them. Drupal mentions a hidden row only in the page that it
 * is in. But a filtered list has no row that the caller may not see:
 * hook_jsonapi_entity_filter_access() allows a subset only "if all entities within the subset are
 * viewable". So the check filters by a condition that every edition meets. Where the edition is at
 * the same position then, none before it is hidden.
 *
 * This does not hold where there are translations: a filter also finds an edition that is published
 * only in a language that is not shown.
 */
export async function isAllVisible(
  context: VisibilityContext,
  collection: Collection,
  position: number,
  id: number,
  caller: Caller
): Promise<boolean> {
  const { model } = context
  const [answer, translations] = await Promise.all([
    firstId(context, collection, [...everyQuery(model), ...pageQuery(position, 1, model)], caller),
    firstTranslated(context, collection, caller)
  ])
  if (answer.status >= 400) throw refusal(answer)
  const [row] = resources(answer.document)
  return row?.attributes?.[publicName(model, model.keys.id)] === id && !isAny(translations)
}

/** The answer to a filter for translations; undefined where the content model has none. */
async function firstTranslated(
  context: VisibilityContext,
  collection: Collection,
  caller: Caller
): Promise<JsonapiAnswer | undefined> {
  const { model } = context
  const { defaultLangcode } = model.keys
  if (defaultLangcode === null) return undefined
  const query = [...translatedQuery(defaultLangcode), ...pageQuery(0, 1, model)]
  return firstId(context, collection, query, caller)
}

/** Asks for rows with nothing but their ids. */
function firstId(
  { cms, model }: VisibilityContext,
  { path, resourceType }: Collection,
  query: Parameters,
  caller: Caller
): Promise<JsonapiAnswer> {
  const idAttribute = publicName(model, model.keys.id)
  return cms.request({
    path,
    query: [...query, [`fields[${resourceType}]`, idAttribute]],
    caller
  })
}

/**
 * How long Quoin takes it for granted that a collection hides nothing from a caller, while the
 * CMS's count stays the same, in milliseconds.
 */
const REMEMBERED_MS = 60_000

/** For how many callers and collections Quoin remembers this. */
const REMEMBERED = 1000

export interface CountContext extends VisibilityContext {
  time: Time
  /** The counts that have no hidden edition in them, by collection and caller. */
  counts: LRUCache<string, { at: number; count: number }>
}

export function countContext({
  cms,
  model,
  time = systemTime
}: VisibilityContext & { time?: Time }): CountContext {
  return { cms, model, time, counts: new LRUCache({ max: REMEMBERED }) }
}

/**
 * Checks whether the CMS's count of a list (`meta.count`, which a module adds) has no hidden
 * edition in it: it counts before access is checked. Where a filter that every edition meets has
 * the same count, none is hidden. The limit is the same as above: translations. In a filtered list
 * only translations can be hidden.
 */
export async function isOwnCount(
  context: CountContext,
  collection: Collection,
  isFiltered: boolean,
  count: number,
  caller: Caller
): Promise<boolean> {
  const { model, time, counts } = context
  const key = `${collection.path}:${isFiltered}:${fingerprint(caller)}`
  const last = counts.get(key)
  const isRecent = last && time.monotonic() - last.at < REMEMBERED_MS
  if (isRecent && (isFiltered || last.count === count)) return true
  const at = time.monotonic()
  const everyFirst = [...everyQuery(model), ...pageQuery(0, 1, model)]
  const [every, translations] = await Promise.all([
    isFiltered ? undefined : firstId(context, collection, everyFirst, caller),
    firstTranslated(context, collection, caller)
  ])
  if ((every && every.document.meta?.count !== count) || isAny(translations)) return false
  counts.set(key, { at, count })
  return true
}

/**
 * Whether a filter, if there was one, has found anything, hidden or not. Where no edition can be
 * translated the field does not exist (400).
 */
function isAny(answer: JsonapiAnswer | undefined): boolean {
  if (!answer) return false
  const {
    status,
    document: { data, meta }
  } = answer
  return status !== 400 && (!Array.isArray(data) || data.length > 0 || meta?.omitted !== undefined)
}
