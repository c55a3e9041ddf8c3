import { identifiers, scalarText, type Resource } from '../../drupal/document.ts'
import { texts } from '../../errors.ts'
import { publicName, type ContentModel } from '../model.ts'
import { sameItems, targetName } from './canonical.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'
import { invalid } from './failures.ts'
import { isLost, read } from './read.ts'

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

/**
 * References to entities that are gone which changed lists keep, by the public names of their
 * fields: the position in the new list, and the one in the edition.
 */
export type KeptReferences = Record<string, Array<[to: number, from: number]>>

/**
 * The references to entities that are gone which a change keeps. JSON:API cannot name them, so
 * Quoin's module puts them back (packages/drupal-module/quoin/src/KeptReferences.php).
 * @param changes the fields that differ from the edition
 * @throws {Failure} UNPROCESSABLE where a list has more of them than the edition, and for a field of
 *   one value
 */
export function keptReferences(
  changes: EditionJson,
  current: Resource,
  model: ContentModel
): KeptReferences {
  const kept = Object.entries(changes).flatMap(([field, items]) => {
    const name = publicName(model, field)
    const from = goneIn(current, name)
    const to = items.flatMap((item, index) => (isGone(item) ? [index] : []))
    if (from.length === 0 || to.length === 0) return []
    const isMany = Array.isArray(current.relationships![name]!.data)
    if (to.length > from.length || !isMany) refuseGone({ [field]: items }, current, model)
    const before = read(current, model)[field]!
    const pairs = pairGone(before, from, items, to, (one, other) =>
      sameItems(field, one, other, model)
    )
    const sent = items.map((item) => isGone(item) || hasTarget(item))
    return [
      [
        name,
        pairs.map(([index, delta]) => [sent.slice(0, index).filter(Boolean).length, delta])
      ] as const
    ]
  })
  return Object.fromEntries(kept) as KeptReferences
}

/** Whether an item names what it refers to. Others are dropped. */
function hasTarget(item: FieldItem): boolean {
  return scalarText(targetName(item)) !== '' || scalarText(item.target_uuid) !== ''
}

/**
 * Which of the references that are gone a new list has where. All look the same, so where some were
 * taken out, those stay whose neighbours do.
 */
function pairGone(
  before: FieldItem[],
  from: number[],
  after: FieldItem[],
  to: number[],
  isSame: (one: FieldItem[], other: FieldItem[]) => boolean
): Array<[to: number, from: number]> {
  const isBeside = (index: number, delta: number) =>
    [-1, 1].some((step) => isSame(around(before, delta, step), around(after, index, step)))
  const left = [...from]
  const take = (position: number) => left.splice(position, 1)[0]!
  const isAll = to.length === from.length
  const beside = to.map((index) => {
    const position = isAll ? 0 : left.findIndex((delta) => isBeside(index, delta))
    return position < 0 ? undefined : take(position)
  })
  return to.map((index, order) => [index, beside[order] ?? take(0)])
}

/** The item beside a position, as a list; empty at an end. */
function around(items: FieldItem[], index: number, step: number): FieldItem[] {
  return index + step < 0 ? [] : items.slice(index + step, index + step + 1)
}

/** A resource with the references that are kept in its lists, as the saved edition shows them. */
export function withKept<Sent extends Pick<Resource, 'relationships'>>(
  resource: Sent,
  kept: KeptReferences,
  current: Resource
): Sent {
  const relationships = { ...resource.relationships }
  for (const [name, positions] of Object.entries(kept)) {
    const data = identifiers(relationships[name]).slice()
    const stored = identifiers(current.relationships?.[name])
    for (const [to, from] of positions) data.splice(to, 0, stored[from]!)
    relationships[name] = { ...relationships[name], data }
  }
  return { ...resource, relationships }
}
