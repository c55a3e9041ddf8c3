import type { Caller } from '../../http/calls.ts'
import type { JsonText } from '../../json-text.ts'
import { scalarText } from '../../drupal/document.ts'
import { mapInSlices } from '../../slices.ts'
import { publicName } from '../model.ts'
import type { Site } from '../site/site.ts'
import type { EditionJson } from '../translate/edition-json.ts'
import type { EditionTexts } from '../translate/texts.ts'
import type { createSearch, Search } from './search.ts'

/** What a row of a list is called by. */
export interface RowId {
  /** The integer id. */
  id: string
  uuid: string
}

export interface RowPage {
  /** Each as JSON in core REST's form. */
  editions: Array<JsonText<EditionJson>>
  /** Their ids, in the same order. */
  rows: RowId[]
  hasMore: boolean
  /** How many there are in all; null where that is not known. */
  total: number | null
}

/** Lists rows as texts. @throws {Failure} what the search throws */
export function createRows(
  { model }: Pick<Site, 'model'>,
  search: ReturnType<typeof createSearch>,
  { jsonOf }: EditionTexts
) {
  const idAttribute = publicName(model, model.keys.id)

  return async function rows(bundle: string, query: Search, caller: Caller): Promise<RowPage> {
    const { rows, hasMore, total } = await search(bundle, query, caller)
    return {
      editions: await mapInSlices(rows, jsonOf),
      rows: rows.map(({ resource: { id, attributes } }) => ({
        id: scalarText(attributes?.[idAttribute]),
        uuid: id
      })),
      hasMore,
      total
    }
  }
}
