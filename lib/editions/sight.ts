import type { Jsonapi, JsonapiAnswer } from '../jsonapi/client.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import { resources } from '../jsonapi/document.ts'
import type { Collection } from './catalog.ts'
import { refusal } from './failures.ts'
import { publicName, type ContentModel } from './model.ts'
import { everyQuery, pageQuery, translatedQuery } from './query.ts'

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
export function createSight ({ cms, model }: { cms: Jsonapi, model: ContentModel }) {
  const idAttribute = publicName(model, model.keys.id)

  return async function nothingHidden (collection: Collection, position: number, id: number, caller: Caller): Promise<boolean> {
    const [same, translated] = await Promise.all([
      first(collection, [...everyQuery(model), ...pageQuery(position, 1, model)], caller),
      first(collection, [...translatedQuery(), ...pageQuery(0, 1, model)], caller)
    ])
    if (same.status >= 400) throw refusal(same)
    return resources(same.document)[0]?.attributes?.[idAttribute] === id && !isAny(translated)
  }

  function first ({ path, resourceType }: Collection, query: Array<[string, string]>, caller: Caller): Promise<JsonapiAnswer> {
    return cms.request({ path, query: [...query, [`fields[${resourceType}]`, idAttribute]], caller })
  }
}

/** Whether a filter has found anything, be it hidden. Where no edition can be translated there is not even the field (400). */
function isAny ({ status, document: { data, meta } }: JsonapiAnswer): boolean {
  return status !== 400 && (!Array.isArray(data) || data.length > 0 || meta?.omitted !== undefined)
}
