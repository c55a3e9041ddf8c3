import { Type, type Static } from '@sinclair/typebox'
import type { ContentModel } from '../editions/model.ts'
import { instant } from '../editions/translate/canonical.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { scalarText } from '../drupal/document.ts'

/** What an edition looked like, to tell whether it is still the same. */
export const EditionState = Type.Object({
  /** By its entity tag, which belongs to a caller. */
  etag: Type.String(),
  /** By the time of its last change, in milliseconds since 1970. */
  changed: Type.Optional(Type.Number()),
  language: Type.Optional(Type.String())
})
export type EditionState = Static<typeof EditionState>

/** What an edition looks like. */
export function stateOf(
  edition: EditionJson,
  etag: string,
  { keys }: Pick<ContentModel, 'keys'>
): EditionState {
  const changed = keys.changed === null ? NaN : instant(edition[keys.changed]?.[0]?.['value'])
  const language = keys.langcode === null ? '' : scalarText(edition[keys.langcode]?.[0]?.['value'])
  return {
    etag,
    ...(!Number.isNaN(changed) && { changed }),
    ...(language !== '' && { language })
  }
}
