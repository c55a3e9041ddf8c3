import type { Caller } from '../../http/calls.ts'
import { splitType, type ContentModel } from '../model.ts'
import type { EditionJson, FieldItem } from '../translate/edition-json.ts'
import type { LoadedEdition } from '../translate/read.ts'
import type { Load } from './finder.ts'

/** How many other editions are looked at. */
const LOOKED_AT = 20

/** Most items of a field, and most characters of a text, that a sample has. */
const ITEMS = 3
const LONGEST = 100

/** Items of fields, by the fields' names. */
export type FieldSamples = Record<string, FieldItem[]>

export interface SamplesDeps {
  model: ContentModel
  load: Load
  /** The newest editions of a bundle. */
  newest: (bundle: string, limit: number, caller: Caller) => Promise<LoadedEdition[]>
  jsonOf: (edition: LoadedEdition) => EditionJson
}

/**
 * What the empty fields of an edition hold in the newest 20 others of its bundle. JSON:API does not
 * tell an editor what kind of value a field takes. Of each field there are the items of the edition
 * with most of them, three at most; long texts are cut.
 */
export function createSamples({ model, load, newest, jsonOf }: SamplesDeps) {
  /**
   * @param id integer id or uuid of the edition
   * @throws {Failure} as `Load`, and as a search
   */
  return async function samples(id: string, caller: Caller): Promise<FieldSamples> {
    const edition = await load(id, caller)
    const empty = Object.entries(jsonOf(edition))
      .filter(([, items]) => items.length === 0)
      .map(([name]) => name)
    if (empty.length === 0) return {}
    const others = (
      await newest(splitType(model, edition.resource.type).bundle, LOOKED_AT, caller)
    ).map(jsonOf)
    return Object.fromEntries(
      empty.flatMap((name) => {
        const items = longest(others, name)
        return items.length === 0 ? [] : [[name, items.slice(0, ITEMS).map(shortened)]]
      })
    )
  }
}

function longest(editions: EditionJson[], name: string): FieldItem[] {
  return editions
    .map((edition) => edition[name] ?? [])
    .reduce((most, items) => (items.length > most.length ? items : most), [])
}

/** An item with its texts cut. Of several lines a text keeps two. */
function shortened(item: FieldItem): FieldItem {
  return Object.fromEntries(
    Object.entries(item).map(([property, value]) => [
      property,
      typeof value === 'string' && value.length > LONGEST
        ? `${value.slice(0, LONGEST)}${/[\r\n]/.test(value) ? '\n' : ''}`
        : value
    ])
  )
}
