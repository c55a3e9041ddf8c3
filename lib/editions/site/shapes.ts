import { identifiers, isObject, type Relationship, type Resource, type ResourceIdentifier } from '../../jsonapi/document.ts'
import { internalName, splitType, type ContentModel } from '../model.ts'
import { planFor, type Plan } from '../translate/plans.ts'

/** What documents have shown of one field. */
export interface FieldShape {
  kind: 'attribute' | 'relationship'
  /** Whether the field holds many items: its value is a list, empty or not. */
  many: boolean
  /** An identifier seen in this relationship, if any: tells the target's type and the names of the item's properties. */
  sample?: ResourceIdentifier
  /** Whether Drupal refuses to include what it refers to. */
  isExcluded?: boolean
}

export type Shape = ReadonlyMap<string, FieldShape>

/** What has been learned about the fields of each resource type, from the documents that came by. */
export interface Shapes {
  learn (resource: Resource): void
  /** Fields (by internal name) of a resource type; undefined while no document of it was seen. */
  of (resourceType: string): Shape | undefined
  /** For a relationship, by its internal name, that Drupal does not include. */
  exclude (resourceType: string, field: string): void
  /** For a resource type whose fields have changed. */
  forget (resourceType: string): void
}

/**
 * A memory of field shapes. Every JSON:API document shows which fields are relationships and which hold many items, even
 * where they are empty. Source: Drupal\jsonapi\Normalizer\FieldNormalizer, EntityReferenceFieldNormalizer.
 */
export function createShapes (model: ContentModel): Shapes {
  const shapes = new Map<string, Map<string, FieldShape>>()
  /** Of resources with the same members: the relationships, by their public names, that were empty in all seen so far. */
  const empty = new WeakMap<Plan, { shape: Shape, names: string[] }>()

  function learn (resource: Resource): void {
    const shape = shapes.get(resource.type) ?? shapes.set(resource.type, new Map()).get(resource.type)!
    const plan = planFor(resource, model)
    const known = empty.get(plan)
    // Of nearly all that come by there is nothing to learn.
    if (known?.shape === shape && known.names.every((name) => isEmpty(resource.relationships![name]!.data))) return
    for (const [field, seen] of shapeOf(resource, model)) {
      const known = shape.get(field)
      if (!known || (seen.sample && !known.sample)) shape.set(field, seen)
    }
    empty.set(plan, { shape, names: plan.names.relationships.filter((name) => !shape.get(internalName(model, name))!.sample) })
  }

  function exclude (resourceType: string, field: string): void {
    const shape = shapes.get(resourceType)!
    shape.set(field, { ...shape.get(field)!, isExcluded: true })
  }

  return { learn, of: (resourceType) => shapes.get(resourceType), exclude, forget: (resourceType) => { shapes.delete(resourceType) } }
}

/** The shape that one resource shows. */
export function shapeOf (resource: Resource, model: ContentModel): Map<string, FieldShape> {
  const shape = new Map<string, FieldShape>()
  for (const [name, value] of Object.entries(resource.attributes ?? {})) {
    shape.set(internalName(model, name), { kind: 'attribute', many: Array.isArray(value) })
  }
  for (const [name, relationship] of Object.entries(resource.relationships ?? {})) {
    const sample = identifiers(relationship).find(({ id }) => id !== 'missing' && id !== 'virtual')
    shape.set(internalName(model, name), {
      kind: 'relationship', many: Array.isArray(relationship.data), ...(sample && { sample })
    })
  }
  return shape
}

/** The shape that one resource shows, and what others of its type refer to in the references that are empty in it. */
export function completed (shape: Shape, learned: Shape | undefined): Shape {
  return new Map([...shape].map(([field, shown]) => [field, { ...learned?.get(field), ...shown }]))
}

function isEmpty (data: Relationship['data']): boolean {
  return data === null || (Array.isArray(data) && data.length === 0)
}

/** Whether an identifier names a content entity: those have integer ids, config entities have machine names. */
export function isContentEntity (identifier: ResourceIdentifier): boolean {
  return !isObject(identifier.meta) || typeof identifier.meta.drupal_internal__target_id !== 'string'
}

/** The entity type that a reference field holds: as seen, else as the content model says. */
export function targetEntityType (field: string, shape: FieldShape | undefined, model: ContentModel): string | undefined {
  return shape?.sample ? splitType(model, shape.sample.type).entityType : model.references[field]
}
