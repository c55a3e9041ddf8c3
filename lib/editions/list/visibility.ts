import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../jsonapi/client.ts'
import { fingerprint } from '../../jsonapi/credentials.ts'
import { resources } from '../../jsonapi/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { refusal } from '../translate/failures.ts'
import { everyQuery, pageQuery, translatedQuery } from '../translate/query.ts'

/**
 * Whether a caller may see every edition of a collection down to the one with this id, whose position among all of them is
 * given, without looking at each. Drupal tells of a hidden row only in the page that it is in. But a filter leaves nothing
 * that may not be seen: hook_jsonapi_entity_filter_access() allows a subset only "if all entities within the subset are
 * viewable". So where an edition has the same position in the list that every edition passes a filter for, none before it
 * is hidden.
 *
 * Where there are translations that does not hold: a filter takes an edition for published that is so in a language that
 * is not shown.
 */
export function createVisibilityCheck ({ cms, model }: { cms: Jsonapi, model: ContentModel }) {
  const idAttribute = publicName(model, model.keys.id)

  return async function nothingHidden (collection: Collection, position: number, id: number, caller: Caller): Promise<boolean> {
    const [same, translated] = await Promise.all([
      first(collection, [...everyQuery(model), ...pageQuery(position, 1, model)], caller),
      first(collection, [...translatedQuery(model), ...pageQuery(0, 1, model)], caller)
    ])
    if (same.status >= 400) throw refusal(same)
    return resources(same.document)[0]?.attributes?.[idAttribute] === id && !isAny(translated)
  }

  function first ({ path, resourceType }: Collection, query: Array<[string, string]>, caller: Caller): Promise<JsonapiAnswer> {
    return cms.request({ path, query: [...query, [`fields[${resourceType}]`, idAttribute]], caller })
  }
}

/** How long it is believed that a collection hides nothing from a caller, as long as the CMS counts the same, in milliseconds. */
const REMEMBERED_MS = 60_000

/** How many callers and collections that is remembered of. */
const REMEMBERED = 1000

/**
 * Whether the CMS's count of a list (`meta.count`, which a module adds) counts nothing that is hidden from the caller. It
 * counts what the query finds, before access is checked. Where as many editions pass a filter that all of them pass, none
 * is hidden, with the same reservation as above; what is filtered has nothing hidden but translations.
 */
export function createCountCheck ({ cms, model, now = Date.now }: { cms: Jsonapi, model: ContentModel, now?: () => number }) {
  const remembered = new LRUCache<string, { at: number, count: number }>({ max: REMEMBERED })

  return async function isOwnCount ({ path, resourceType }: Collection, isFiltered: boolean, count: number, caller: Caller): Promise<boolean> {
    const key = `${path}:${isFiltered}:${fingerprint(caller)}`
    const last = remembered.get(key)
    if (last && now() - last.at < REMEMBERED_MS && (isFiltered || last.count === count)) return true
    const at = now()
    const first = (query: Array<[string, string]>) =>
      cms.request({ path, query: [...query, ...pageQuery(0, 1, model), [`fields[${resourceType}]`, publicName(model, model.keys.id)]], caller })
    const [passing, translated] = await Promise.all([isFiltered ? undefined : first(everyQuery(model)), first(translatedQuery(model))])
    if ((passing && passing.document.meta?.count !== count) || isAny(translated)) return false
    remembered.set(key, { at, count })
    return true
  }
}

/** Whether a filter has found anything, be it hidden. Where no edition can be translated there is not even the field (400). */
function isAny ({ status, document: { data, meta } }: JsonapiAnswer): boolean {
  return status !== 400 && (!Array.isArray(data) || data.length > 0 || meta?.omitted !== undefined)
}
