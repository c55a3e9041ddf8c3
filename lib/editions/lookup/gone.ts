import type { Caller } from '../../http/calls.ts'
import { primaryData, scalarText, type Resource } from '../../drupal/document.ts'
import { publicName } from '../model.ts'
import type { Site } from '../site/site.ts'
import { sameItems, targetName } from '../translate/canonical.ts'
import type { EditionJson, FieldItem } from '../translate/edition-json.ts'
import { GONE, goneIn } from '../translate/gone.ts'
import { deltaQuery, uuidQuery } from '../translate/query.ts'
import { read } from '../translate/read.ts'

/** What a look at references to entities that are gone works with. */
export type GoneContext = Pick<Site, 'cms' | 'catalog' | 'filters' | 'model'>

/** A reference that stands where the edition refers to what is gone, and the id that a body has. */
interface NamedReference {
  field: string
  delta: number
  id: string
}

/** How many positions Quoin asks Drupal about: each is one more join of a database query. */
const ASKED_MAX = 20

/**
 * A body in which lists are as Quoin shows them that differ from the edition in nothing but the ids
 * of entities that are gone. Core REST shows these ids, JSON:API does not. So Quoin asks Drupal
 * whether the edition has the ids of the body at these positions. Where the caller may not filter,
 * an id that no entity has counts as that of the reference whose place it takes.
 * @param isFound whether any of the references in these fields can be found
 */
export async function nameGone(
  context: GoneContext,
  resource: Resource,
  body: EditionJson,
  caller: Caller,
  isFound: (fields: EditionJson) => Promise<boolean>
): Promise<EditionJson> {
  const named = namedReferences(context, resource, body)
  if (named.length === 0) return body
  const evidence = await evidenceOf(context, resource, named, caller)
  if (evidence === 'other') return body
  const fields = Map.groupBy(named, ({ field }) => field)
  const isOther = evidence === 'unknown' && (await isFound(itemsOf(body, fields)))
  if (isOther) return body
  const shown = [...fields].map(([field, references]) => [
    field,
    withoutIds(
      body[field]!,
      references.map(({ delta }) => delta)
    )
  ])
  return { ...body, ...Object.fromEntries(shown) }
}

/** The ids that lists of a body have in the places of what is gone, where nothing else differs. */
function namedReferences(
  { model }: GoneContext,
  resource: Resource,
  body: EditionJson
): NamedReference[] {
  return Object.entries(body).flatMap(([field, items]) => {
    const deltas = goneIn(resource, publicName(model, field)).filter(
      (delta) => items[delta] && idOf(items[delta]) !== ''
    )
    if (deltas.length === 0) return []
    const current = read(resource, model)[field]!
    return sameItems(field, current, withoutIds(items, deltas), model)
      ? deltas.map((delta) => ({ field, delta, id: idOf(items[delta]!) }))
      : []
  })
}

function withoutIds(items: FieldItem[], deltas: number[]): FieldItem[] {
  return items.map((item, delta) => (deltas.includes(delta) ? GONE : item))
}

/** The items of a body that have these ids. */
function itemsOf(body: EditionJson, fields: ReadonlyMap<string, NamedReference[]>): EditionJson {
  return Object.fromEntries(
    [...fields].map(([field, references]) => [
      field,
      references.map(({ delta }) => body[field]![delta]!)
    ])
  )
}

/** The id of an item that has nothing else to name its target by, or empty. */
function idOf(item: FieldItem): string {
  return scalarText(item.target_uuid) === '' ? scalarText(targetName(item)) : ''
}

/** Whether the edition has these ids at these positions, as far as Drupal tells the caller. */
async function evidenceOf(
  { cms, catalog, filters, model }: GoneContext,
  { type, id: uuid, relationships }: Resource,
  named: NamedReference[],
  caller: Caller
): Promise<'same' | 'other' | 'unknown'> {
  if (named.length > ASKED_MAX) return 'unknown'
  const collections = await catalog.editions(caller)
  const collection = collections.find(({ resourceType }) => resourceType === type)!
  const { document } = await cms.request({
    path: collection.path,
    query: [
      ...uuidQuery([uuid]),
      ...named.flatMap(({ field, delta, id }) => {
        const name = publicName(model, field)
        const isMany = Array.isArray(relationships![name]!.data)
        return deltaQuery(name, isMany ? delta : undefined, id)
      }),
      [`fields[${type}]`, publicName(model, model.keys.id)]
    ],
    caller
  })
  if (primaryData(document).length > 0) return 'same'
  return (await filters.reach([collection], caller)) === 'all' ? 'other' : 'unknown'
}
