import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../drupal/client.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import { resources } from '../../drupal/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { refusal } from '../translate/failures.ts'
import { everyQuery, pageQuery, translatedQuery } from '../translate/query.ts'

/**
 * Checks whether a caller may see every edition of a collection down to the one with this id, at this position, without reading
 * all of them. Drupal mentions a hidden row only in the page that it is in. But a filtered list has no row that the caller may
 * not see: hook_jsonapi_entity_filter_access() allows a subset only "if all entities within the subset are viewable". So the
 * check filters by a condition that every edition meets. Where the edition is at the same position then, none before it is
 * hidden.
 *
 * This does not hold where there are translations: a filter also finds an edition that is published only in a language that
 * is not shown.
 */
export function createVisibilityCheck({ cms, model }: { cms: Jsonapi; model: ContentModel }) {
  const idAttribute = publicName(model, model.keys.id)
  const { defaultLangcode } = model.keys

  return async function isAllVisible(
    collection: Collection,
    position: number,
    id: number,
    caller: Caller
  ): Promise<boolean> {
    const [rowAnswer, translations] = await Promise.all([
      first(collection, [...everyQuery(model), ...pageQuery(position, 1, model)], caller),
      defaultLangcode === null
        ? undefined
        : first(
            collection,
            [...translatedQuery(defaultLangcode), ...pageQuery(0, 1, model)],
            caller
          )
    ])
    if (rowAnswer.status >= 400) throw refusal(rowAnswer)
    return (
      resources(rowAnswer.document)[0]?.attributes?.[idAttribute] === id && !isAny(translations)
    )
  }

  function first(
    { path, resourceType }: Collection,
    query: Array<[string, string]>,
    caller: Caller
  ): Promise<JsonapiAnswer> {
    return cms.request({
      path,
      query: [...query, [`fields[${resourceType}]`, idAttribute]],
      caller
    })
  }
}

/** How long Quoin takes it for granted that a collection hides nothing from a caller, while the CMS's count stays the same, in milliseconds. */
const REMEMBERED_MS = 60_000

/** For how many callers and collections Quoin remembers this. */
const REMEMBERED = 1000

/**
 * Checks whether the CMS's count of a list (`meta.count`, which a module adds) has no hidden edition in it: it counts before
 * access is checked. Where a filter that every edition meets has the same count, none is hidden. The limit is the same as
 * above: translations. In a filtered list only translations can be hidden.
 */
export function createCountCheck({
  cms,
  model,
  now = () => performance.now()
}: {
  cms: Jsonapi
  model: ContentModel
  now?: () => number
}) {
  const counts = new LRUCache<string, { at: number; count: number }>({ max: REMEMBERED })
  const { defaultLangcode } = model.keys

  return async function isOwnCount(
    { path, resourceType }: Collection,
    isFiltered: boolean,
    count: number,
    caller: Caller
  ): Promise<boolean> {
    const key = `${path}:${isFiltered}:${fingerprint(caller)}`
    const last = counts.get(key)
    if (last && now() - last.at < REMEMBERED_MS && (isFiltered || last.count === count)) return true
    const at = now()
    const first = (query: Array<[string, string]>) =>
      cms.request({
        path,
        query: [
          ...query,
          ...pageQuery(0, 1, model),
          [`fields[${resourceType}]`, publicName(model, model.keys.id)]
        ],
        caller
      })
    const [passing, translations] = await Promise.all([
      isFiltered ? undefined : first(everyQuery(model)),
      defaultLangcode === null ? undefined : first(translatedQuery(defaultLangcode))
    ])
    if ((passing && passing.document.meta?.count !== count) || isAny(translations)) return false
    counts.set(key, { at, count })
    return true
  }
}

/** Whether a filter, if there was one, has found anything, hidden or not. Where no edition can be translated the field does not exist (400). */
function isAny(answer: JsonapiAnswer | undefined): boolean {
  if (!answer) return false
  const {
    status,
    document: { data, meta }
  } = answer
  return status !== 400 && (!Array.isArray(data) || data.length > 0 || meta?.omitted !== undefined)
}
