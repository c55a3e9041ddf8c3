import { identifiers, isObject, type Resource, type ResourceIdentifier } from '../jsonapi/document.ts'
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
 * Whether a member of a resource identifier's `meta` is a property of the field item.
 * Source: Drupal\jsonapi\JsonApiResource\ResourceIdentifier (arity), EntityReferenceFieldNormalizer (links).
 */
export function isProperty (name: string): boolean {
  return name !== 'arity' && name !== 'links' && !name.startsWith('drupal_internal__')
}

/**
 * Translates a JSON:API resource object of an edition to core REST's JSON. Total: never throws, whatever the values are;
 * fields it does not know pass through. A list has thousands of items, so none is made that is not in the answer.
 */
export function read (resource: Resource, model: ContentModel, urlOf: UrlOf = () => undefined): Entity {
  const entity: Entity = { [model.keys.uuid]: [{ value: resource.id }] }
  const { attributes, relationships } = resource
  for (const name of namesIn(attributes)) {
    const field = internalName(model, name)
    put(entity, field, attributeItems(field, attributes![name], model))
  }
  for (const name of namesIn(relationships)) {
    put(entity, internalName(model, name), identifiers(relationships![name]).map((identifier) => referenceItem(identifier, model, urlOf)))
  }
  const { bundle } = model.keys
  if (!Object.hasOwn(entity, bundle)) put<Item[]>(entity, bundle, [{ target_id: splitType(model, resource.type).bundle, target_type: model.bundleEntityType }])
  return entity
}

function namesIn (members: unknown): string[] {
  return isObject(members) ? Object.keys(members) : []
}

/** Sets a member, be its name what it may: JSON has `__proto__` too. */
function put<T> (object: Record<string, T>, name: string, value: T): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  else object[name] = value
}

function attributeItems (field: string, value: unknown, model: ContentModel): Item[] {
  if (value === null || value === undefined) return []
  if (model.rawFields.includes(field)) return [value as Item]
  return Array.isArray(value) ? value.map((item) => attributeItem(field, item, model)) : [attributeItem(field, value, model)]
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
  const item: Item = { target_id: meta?.drupal_internal__target_id ?? null }
  for (const name of namesIn(meta)) if (isProperty(name)) put(item, name, meta![name])
  item.target_type = meta?.target_type ?? entityType
  item.target_uuid = id
  if (url !== undefined) item.url = url
  return item
}

/** Whether an identifier stands for an entity that is gone (`missing`) or never was (`virtual`: the root of a vocabulary). */
export function isLost (identifier: ResourceIdentifier): boolean {
  return identifier.id === 'missing' || identifier.id === 'virtual'
}
