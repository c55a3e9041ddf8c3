import type { Caller } from '../../http/calls.ts'
import type { JsonText } from '../../json-text.ts'
import { scalarText } from '../../drupal/document.ts'
import { mapInSlices } from '../../slices.ts'
import { publicName, type ContentModel } from '../model.ts'
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

export interface RowContext {
  model: ContentModel
  search: ReturnType<typeof createSearch>
  editionTexts: EditionTexts
}

/** Lists rows as `listRows` does. */
export function createRows(
  { model }: Pick<Site, 'model'>,
  search: ReturnType<typeof createSearch>,
  editionTexts: EditionTexts
) {
  const context: RowContext = { model, search, editionTexts }
  return (bundle: string, query: Search, caller: Caller) => listRows(context, bundle, query, caller)
}

/** Lists rows as texts. @throws {Failure} what the search throws */
export async function listRows(
  { model, search, editionTexts }: RowContext,
  bundle: string,
  query: Search,
  caller: Caller
): Promise<RowPage> {
  const { rows, hasMore, total } = await search(bundle, query, caller)
  const idAttribute = publicName(model, model.keys.id)
  return {
    editions: await mapInSlices(rows, editionTexts.jsonOf),
    rows: rows.map(({ resource: { id, attributes } }) => ({
      id: scalarText(attributes?.[idAttribute]),
      uuid: id
    })),
    hasMore,
    total
  }
}
