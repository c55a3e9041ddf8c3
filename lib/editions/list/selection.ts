import { scalarText, type Resource } from '../../jsonapi/document.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Selection } from '../translate/query.ts'

/**
 * Whether an edition's attributes are what a list is asked for: what Drupal's filters do, done here. Text is compared without
 * regard to case, as most databases do; letters with and without accents differ, which some databases see otherwise.
 */
export function matchesSelection ({ q, status, types = [], key }: Selection, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const value = (field: string) => attributes[publicName(model, field)]
  const { editionType } = model.fields
  return (!q || hasInTitle(q, attributes, model) || scalarText(value(model.fields.key)) === q) &&
    (status === undefined || value(model.keys.published) === (status === 1)) &&
    (editionType === null || types.every((type) => value(editionType) === type)) &&
    (key === undefined || scalarText(value(model.fields.key)) === key)
}

/** Texts that a database takes for the same: without regard to case and accents. */
const alike = new Intl.Collator('en', { sensitivity: 'base' })

/**
 * Whether Drupal has found an edition by its title, or by its exact key: not by a key that only its database takes for the
 * same. Titles are Drupal's to compare.
 */
export function matchesText (q: string, { attributes = {} }: Pick<Resource, 'attributes'>, model: ContentModel): boolean {
  const key = scalarText(attributes[publicName(model, model.fields.key)])
  return key === q || alike.compare(key, q) !== 0 || hasInTitle(q, attributes, model)
}

function hasInTitle (q: string, attributes: Record<string, unknown>, model: ContentModel): boolean {
  return scalarText(attributes[publicName(model, model.keys.label)]).toLowerCase().includes(q.toLowerCase())
}
