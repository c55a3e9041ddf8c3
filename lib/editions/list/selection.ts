import { identifiers, isSameUuid, scalarText, type Resource } from '../../drupal/document.ts'
import { attributeOf, publicName, type ContentModel } from '../model.ts'
import { instant } from '../translate/canonical.ts'
import type { SectionSelection, Selection } from '../translate/query.ts'

/**
 * Whether an edition matches a selection by the values that it shows. Titles are compared without
 * regard to case, keys exactly, whatever the database of the site does.
 */
export function matchesSelection(
  { q, status, types = [], key, section, ...times }: Selection,
  resource: Pick<Resource, 'attributes' | 'relationships'>,
  model: ContentModel
): boolean {
  const { attributes = {} } = resource
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
    (key === undefined || scalarText(value(fields.key)) === key) &&
    (section === undefined || isInSection(section, resource, model)) &&
    isChangedWithin(times, instant(value(model.keys.changed)))
  )
}

function isInSection(
  { field, value }: SectionSelection,
  { attributes = {}, relationships = {} }: Pick<Resource, 'attributes' | 'relationships'>,
  model: ContentModel
): boolean {
  const relationship = relationships[publicName(model, field)]
  return relationship
    ? identifiers(relationship).some(({ id }) => isSameUuid(id, value))
    : [attributeOf(attributes, field, model)].flat().includes(value)
}

/** Of a row that does not show when it was changed nobody knows whether it is meant. */
function isChangedWithin(
  { changedFrom, changedBefore }: Pick<Selection, 'changedFrom' | 'changedBefore'>,
  at: number
): boolean {
  return (
    (changedFrom === undefined || at >= changedFrom) &&
    (changedBefore === undefined || at < changedBefore)
  )
}
