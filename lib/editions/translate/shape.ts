import {
  identifiers,
  isObject,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { internalName, splitType, type ContentModel } from '../model.ts'
import { isLost } from './read.ts'

/** What documents show of one field. */
export interface FieldShape {
  kind: 'attribute' | 'relationship'
  /** Whether the field holds many items: its value is a list, empty or not. */
  many: boolean
  /**
   * The properties that an item of this attribute shows, none where it is a bare value; undefined
   * where it has no item.
   */
  properties?: string[]
  /**
   * One identifier of this relationship, if it has any: it tells the target's type and the item's
   * properties.
   */
  sample?: ResourceIdentifier
  /** Whether Drupal refuses to include the targets. */
  isExcluded?: boolean
}

/** The fields of a resource type, by internal name. */
export type Shape = ReadonlyMap<string, FieldShape>

/** The shape that one resource shows. */
export function shapeOf(resource: Resource, model: ContentModel): Map<string, FieldShape> {
  const shape = new Map<string, FieldShape>()
  for (const [name, value] of Object.entries(resource.attributes ?? {})) {
    const properties = propertiesOf(value)
    shape.set(internalName(model, name), {
      kind: 'attribute',
      many: Array.isArray(value),
      ...(properties && { properties })
    })
  }
  for (const [name, relationship] of Object.entries(resource.relationships ?? {})) {
    const sample = identifiers(relationship).find((identifier) => !isLost(identifier))
    shape.set(internalName(model, name), {
      kind: 'relationship',
      many: Array.isArray(relationship.data),
      ...(sample && { sample: sampleOf(sample) })
    })
  }
  return shape
}

/**
 * Of what a sample says of its target as much as is looked at. It is remembered, and the rest may
 * be of any size.
 */
function sampleOf({ type, id, meta }: ResourceIdentifier): ResourceIdentifier {
  if (!isObject(meta)) return { type, id }
  const members = LOOKED_AT.filter((name) => meta[name] !== undefined).map((name) => [
    name,
    isShort(meta[name]) ? meta[name] : null
  ])
  return { type, id, meta: Object.fromEntries(members) }
}

/** What tells content entities from others, and revisions from entities. */
const LOOKED_AT = ['drupal_internal__target_id', 'target_revision_id']

function isShort(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value.length <= SHORT)
}

/** In characters. The name of a config entity has 255 at most. */
const SHORT = 255

function propertiesOf(value: unknown): string[] | undefined {
  const item: unknown = Array.isArray(value) ? value[0] : value
  if (item === null || item === undefined) return undefined
  return isObject(item) ? Object.keys(item) : []
}

/**
 * The shape that one resource shows, with the targets that others of its type have where its own
 * references are empty.
 */
export function complete(shape: Shape, ofType: Shape | undefined): Shape {
  return new Map(
    [...shape].map(([field, fieldShape]) => [field, { ...ofType?.get(field), ...fieldShape }])
  )
}

/**
 * Whether an identifier names a content entity: those have integer ids, config entities have
 * machine names.
 */
export function isContentEntity(identifier: ResourceIdentifier): boolean {
  return (
    !isObject(identifier.meta) || typeof identifier.meta.drupal_internal__target_id !== 'string'
  )
}

/**
 * The entity type that a reference field holds: as documents show it, else as the content model
 * names it.
 */
export function targetEntityType(
  field: string,
  shape: FieldShape | undefined,
  model: ContentModel
): string | undefined {
  return shape?.sample ? splitType(model, shape.sample.type).entityType : model.references[field]
}
