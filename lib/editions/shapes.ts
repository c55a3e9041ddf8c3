import { identifiers, isObject, type Relationship, type Resource, type ResourceIdentifier } from '../jsonapi/document.ts'
import { internalName, splitType, type ContentModel } from './model.ts'

/** What documents have shown of one field. */
export interface FieldShape {
  kind: 'attribute' | 'relationship'
  /** Whether the field holds many items: its value is a list, empty or not. */
  many: boolean
  /** An identifier seen in this relationship, if any: tells the target's type and the names of the item's properties. */
  sample?: ResourceIdentifier
}

export type Shape = ReadonlyMap<string, FieldShape>

/** What has been learned about the fields of each resource type, from the documents that came by. */
export interface Shapes {
  learn (resource: Resource): void
  /** Fields (by internal name) of a resource type; undefined while no document of it was seen. */
  of (resourceType: string): Shape | undefined
  /** For a resource type whose fields have changed. */
  forget (resourceType: string): void
}

/**
 * A memory of field shapes. Every JSON:API document shows which fields are relationships and which hold many items, even
 * where they are empty. Source: Drupal\jsonapi\Normalizer\FieldNormalizer, EntityReferenceFieldNormalizer.
 */
export function createShapes (model: ContentModel): Shapes {
  const shapes = new Map<string, Map<string, FieldShape>>()

  function learn (resource: Resource): void {
    const shape = shapes.get(resource.type) ?? shapes.set(resource.type, new Map()).get(resource.type)!
    if (isKnown(resource, shape)) return
    for (const [field, seen] of shapeOf(resource, model)) {
      const known = shape.get(field)
      if (!known || (seen.sample && !known.sample)) shape.set(field, seen)
    }
  }

  /** Whether there is nothing to learn from a resource, as of nearly all that come by. */
  function isKnown ({ attributes, relationships = {} }: Resource, shape: Shape): boolean {
    for (const name in attributes) if (!shape.has(internalName(model, name))) return false
    for (const name in relationships) {
      const known = shape.get(internalName(model, name))
      if (!known || !(known.sample ?? isEmpty(relationships[name]!.data))) return false
    }
    return true
  }

  return { learn, of: (resourceType) => shapes.get(resourceType), forget: (resourceType) => { shapes.delete(resourceType) } }
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
