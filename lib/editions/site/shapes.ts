import { LRUCache } from 'lru-cache'
import type { Resource } from '../../drupal/document.ts'
import { internalName, type ContentModel } from '../model.ts'
import { createPlans, type Plan, type Plans } from '../translate/plans.ts'
import { shapeOf, type FieldShape, type Shape } from '../translate/shape.ts'

/** The fields of each resource type, as documents have shown them. */
export interface Shapes {
  /** Takes in the fields that a resource shows. */
  learn(resource: Resource): void
  /**
   * Fields (by internal name) of a resource type; undefined until a document has shown one. Another
   * object as soon as one of them changes.
   */
  of(resourceType: string): Shape | undefined
  /** Notes that Drupal does not include a relationship, named by its internal name. */
  exclude(resourceType: string, field: string): void
  /** Drops all fields of a resource type except those that Drupal does not include. */
  keepExcluded(resourceType: string): void
  /** Drops a resource type whose fields have changed. */
  forget(resourceType: string): void
}

/**
 * How many fields and properties Quoin remembers, those of all resource types together. Large sites
 * have some thousand.
 */
const REMEMBERED = 100_000

/**
 * The same of one resource type. With more than these it forgets all but those of the last
 * document.
 */
const OF_TYPE = 10_000

export interface ShapesContext {
  model: ContentModel
  planFor: Plans
  shapes: LRUCache<string, Shape>
  /** For resources with the same members: the members that were empty in all of them so far. */
  empty: WeakMap<Plan, EmptyMembers>
}

/** The members, by public name, that were empty in all resources when their type had this shape. */
interface EmptyMembers {
  shape: Shape
  attributes: string[]
  relationships: string[]
}

/**
 * Remembers field shapes. Every JSON:API document shows which fields are relationships and which
 * hold many items, even where they are empty. Source: Drupal\jsonapi\Normalizer\FieldNormalizer,
 * EntityReferenceFieldNormalizer.
 */
export function createShapes(model: ContentModel, planFor: Plans = createPlans(model)): Shapes {
  const shapes = new LRUCache<string, Shape>({ maxSize: REMEMBERED, sizeCalculation: weightOf })
  const context: ShapesContext = { model, planFor, shapes, empty: new WeakMap() }
  return {
    learn: (resource) => learnShape(context, resource),
    of: (resourceType) => shapes.get(resourceType),
    exclude: (resourceType, field) => excludeField(context, resourceType, field),
    keepExcluded: (resourceType) => keepExcluded(context, resourceType),
    forget: (resourceType) => {
      shapes.delete(resourceType)
    }
  }
}

export function learnShape(context: ShapesContext, resource: Resource): void {
  const { model, planFor, shapes, empty } = context
  const before = shapes.get(resource.type)
  const plan = planFor(resource)
  // Nearly no resource shows anything new.
  if (before && showsNothingNew(resource, before, empty.get(plan))) return
  const shape = mergeShapes(before, shapeOf(resource, model))
  shapes.set(resource.type, shape)
  const ofName = (name: string) => shape.get(internalName(model, name))!
  empty.set(plan, {
    shape,
    attributes: plan.names.attributes.filter((name) => !ofName(name).properties),
    relationships: plan.names.relationships.filter((name) => !ofName(name).sample)
  })
}

function showsNothingNew(
  { attributes, relationships }: Resource,
  shape: Shape,
  last: EmptyMembers | undefined
): boolean {
  return (
    last?.shape === shape &&
    last.attributes.every((name) => isEmpty(attributes![name])) &&
    last.relationships.every((name) => isEmpty(relationships![name]!.data))
  )
}

/** A shape with what a resource shows besides; the same object where that is nothing. */
function mergeShapes(before: Shape | undefined, own: Shape): Shape {
  const fresh = [...own].filter(([field, { sample, properties }]) => {
    const earlier = before?.get(field)
    return !earlier || (sample && !earlier.sample) || (properties && !earlier.properties)
  })
  if (before && fresh.length === 0) return before
  const all = new Map<string, FieldShape>([...(before ?? []), ...fresh])
  return weightOf(all) <= OF_TYPE ? all : own
}

export function excludeField({ shapes }: ShapesContext, resourceType: string, field: string): void {
  const shape = shapes.get(resourceType)!
  shapes.set(resourceType, new Map(shape).set(field, { ...shape.get(field)!, isExcluded: true }))
}

export function keepExcluded({ shapes }: ShapesContext, resourceType: string): void {
  const excluded = [...shapes.get(resourceType)!].filter(([, { isExcluded }]) => isExcluded)
  shapes.set(resourceType, new Map(excluded))
}

/** What a shape counts: its fields and their properties, and one for itself. */
function weightOf(shape: Shape): number {
  let weight = 1 + shape.size
  for (const { properties } of shape.values()) weight += properties?.length ?? 0
  return weight
}

function isEmpty(data: unknown): boolean {
  return data === null || (Array.isArray(data) && data.length === 0)
}
