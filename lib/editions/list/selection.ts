import { scalarText, type Resource } from '../../jsonapi/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Selection } from '../translate/query.ts'

/**
 * Whether an edition matches a selection; does what Drupal's filters do. The comparison ignores case, as most databases do.
 * It does not ignore accents, as some databases do.
 */
export function matchesSelection ({ q, status, types = [], key }: Selection, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const value = (field: string) => attributes[publicName(model, field)]
  const keyOfEdition = keyIn(attributes, model)
  const { editionType } = model.fields
  return (!q || hasInTitle(q, attributes, model) || keyOfEdition === q) &&
    (status === undefined || value(model.keys.published) === (status === 1)) &&
    (editionType === null || types.every((type) => value(editionType) === type)) &&
    (key === undefined || keyOfEdition === key)
}

/** An edition's key in the publishing system; empty where it has none. */
function keyIn (attributes: Record<string, unknown>, model: ContentModel): string {
  const { key } = model.fields
  return key === null ? '' : scalarText(attributes[publicName(model, key)])
}

/** Compares as a database may do: ignores case and accents. */
const alike = new Intl.Collator('en', { sensitivity: 'base' })

/**
 * Whether an edition that Drupal has found matches by its title, or by its exact key. It does not where only the database takes
 * its key for the same. For titles Drupal's comparison counts.
 */
export function matchesText (q: string, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const key = keyIn(attributes, model)
  return key === q || alike.compare(key, q) !== 0 || hasInTitle(q, attributes, model)
}

function hasInTitle (q: string, attributes: Record<string, unknown>, model: ContentModel): boolean {
  return scalarText(attributes[publicName(model, model.keys.label)]).toLowerCase().includes(q.toLowerCase())
}
