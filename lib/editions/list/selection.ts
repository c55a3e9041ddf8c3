import { scalarText, type Resource } from '../../drupal/document.ts'
import { attributeOf, type ContentModel } from '../model.ts'
import type { Selection } from '../translate/query.ts'

/**
 * Whether an edition matches a selection by the values that it shows. Titles are compared without
 * regard to case, keys exactly, whatever the database of the site does.
 */
export function matchesSelection(
  { q, status, types = [], key }: Selection,
  { attributes = {} }: Pick<Resource, 'attributes'>,
  model: ContentModel
): boolean {
  const {
    keys: { label, published },
    fields
  } = model
  const value = (field: string | null) => attributeOf(attributes, field, model)
  return (
    (!q ||
      scalarText(value(label)).toLowerCase().includes(q.toLowerCase()) ||
      scalarText(value(fields.key)) === q) &&
    (status === undefined || value(published) === (status === 1)) &&
    (fields.editionType === null || types.every((type) => value(fields.editionType) === type)) &&
    (key === undefined || scalarText(value(fields.key)) === key)
  )
}
