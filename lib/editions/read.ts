import { identifiers, isObject, type Relationship, type Resource, type ResourceIdentifier } from '../jsonapi/document.ts'
import { internalName, splitType, type ContentModel } from './model.ts'

/** One item of a field, in core REST's JSON: its properties by name. */
export type Item = Record<string, unknown>

/** An entity in core REST's JSON (`?_format=json`): every field a list of items. */
export type Entity = Record<string, Item[]>

/** Gives the `url` of a reference, or undefined where none is known. */
export type UrlOf = (identifier: ResourceIdentifier, entityType: string) => string | undefined

/** What core REST puts beside every time stamp. Source: Drupal\serialization\Normalizer\TimestampItemNormalizer. */
const TIMESTAMP_FORMAT = 'Y-m-d\\TH:i:sP'

/**
 * The members of a resource identifier's `meta` that are no properties of the field item.
 * Source: Drupal\jsonapi\JsonApiResource\ResourceIdentifier (arity), EntityReferenceFieldNormalizer (links).
 */
export const NOT_A_PROPERTY = /^(?:arity|links|drupal_internal__.*)$/

/**
 * Translates a JSON:API resource object of an edition to core REST's JSON. Total: never throws, whatever the values are;
 * fields it does not know pass through.
 */
export function read (resource: Resource, model: ContentModel, urlOf: UrlOf = () => undefined): Entity {
  const entity: Entity = Object.create(null)
  entity[model.keys.uuid] = [{ value: resource.id }]
  for (const [name, value] of entries(resource.attributes)) {
    const field = internalName(model, name)
    entity[field] = attributeItems(field, value, model)
  }
  for (const [name, relationship] of entries(resource.relationships)) {
    entity[internalName(model, name)] = identifiers(relationship as Relationship).map((identifier) => referenceItem(identifier, model, urlOf))
  }
  const { bundle } = splitType(model, resource.type)
  entity[model.keys.bundle] ??= [{ target_id: bundle, target_type: model.bundleEntityType }]
  return { ...entity }
}

function entries (members: unknown): Array<[string, unknown]> {
  return isObject(members) ? Object.entries(members) : []
}

function attributeItems (field: string, value: unknown, model: ContentModel): Item[] {
  if (value === null || value === undefined) return []
  if (model.rawFields.includes(field)) return [value as Item]
  return [value].flat().map((item) => attributeItem(field, item, model))
}

function attributeItem (field: string, value: unknown, model: ContentModel): Item {
  const item: Item = isObject(value) ? value : { [model.mainProperty[field] ?? 'value']: value }
  const isTimestamp = typeof item.value === 'string' && model.timestampFields.includes(field)
  return isTimestamp ? { ...item, format: TIMESTAMP_FORMAT } : item
}

function referenceItem (identifier: ResourceIdentifier, model: ContentModel, urlOf: UrlOf): Item {
  if (!isObject(identifier) || isLost(identifier)) return { target_id: null }
  const { type, id, meta } = identifier
  const { entityType } = splitType(model, String(type))
  const url = urlOf(identifier, entityType)
  return {
    target_id: isObject(meta) ? meta.drupal_internal__target_id ?? null : null,
    ...properties(meta),
    target_type: isObject(meta) ? meta.target_type ?? entityType : entityType,
    target_uuid: id,
    ...(url !== undefined && { url })
  }
}

/** Whether an identifier stands for an entity that is gone (`missing`) or never was (`virtual`: the root of a vocabulary). */
export function isLost (identifier: ResourceIdentifier): boolean {
  return identifier.id === 'missing' || identifier.id === 'virtual'
}

/** The field item's own properties in an identifier's `meta`, such as an image's alt and title. */
export function properties (meta: unknown): Item {
  return Object.fromEntries(entries(meta).filter(([name]) => !NOT_A_PROPERTY.test(name)))
}
