import { identifiers, type Resource } from '../../drupal/document.ts'
import { texts } from '../../errors.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'
import { invalid } from './failures.ts'
import { isLost } from './read.ts'

/** A reference to an entity that is gone, as Quoin shows it: JSON:API does not tell its id. */
export const GONE: FieldItem = Object.freeze({ target_id: null })

/** Whether an item stands for an entity that is gone. */
export function isGone({ target_id: id, target_uuid: uuid }: Record<string, unknown>): boolean {
  return id === null && (uuid === undefined || uuid === null)
}

/** The positions at which a relationship refers to entities that are gone. */
export function goneIn({ relationships }: Resource, name: string): number[] {
  return identifiers(relationships?.[name]).flatMap((identifier, delta) =>
    isLost(identifier) ? [delta] : []
  )
}

/**
 * Refuses a changed list that still refers to an entity that is gone, as core REST does. JSON:API
 * can name no such entity, so Drupal would drop the reference.
 * Source: Drupal\Core\Entity\Plugin\Validation\Constraint\ValidReferenceConstraintValidator.
 * @param changes the fields that differ from the edition
 * @throws {Failure} UNPROCESSABLE with a violation for each
 */
export function refuseGone(changes: EditionJson, current: Resource, model: ContentModel): void {
  const violations = Object.entries(changes).flatMap(([field, items]) =>
    goneIn(current, publicName(model, field)).length === 0
      ? []
      : items.flatMap((item, delta) =>
          isGone(item)
            ? [{ path: `${field}.${delta}.target_id`, message: texts.referenceGone }]
            : []
        )
  )
  if (violations.length > 0) throw invalid(violations)
}
