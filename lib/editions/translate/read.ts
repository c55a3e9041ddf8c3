import {
  identifiers,
  isObject,
  scalarText,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { splitType, type ContentModel } from '../model.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'
import { planOf, type AttributePlan, type Plan } from './plans.ts'

/** Gives the `url` of a reference, or undefined where none is known. */
export type UrlOf = (identifier: ResourceIdentifier, entityType: string) => string | undefined

/**
 * An edition as JSON:API gives it, with the urls of its references. As long as neither changes, a
 * caller gets the same two objects every time.
 */
export interface LoadedEdition {
  resource: Resource
  urlOf: UrlOf
}

/**
 * What core REST puts beside every time stamp. Source:
 * Drupal\serialization\Normalizer\TimestampItemNormalizer.
 */
export const TIMESTAMP_FORMAT = 'Y-m-d\\TH:i:sP'

/**
 * Whether a member of a resource identifier's `meta` is a property of the field item.
 * Source: Drupal\jsonapi\JsonApiResource\ResourceIdentifier (arity), EntityReferenceFieldNormalizer
 * (links).
 */
export function isProperty(name: string): boolean {
  return name !== 'arity' && name !== 'links' && !name.startsWith('drupal_internal__')
}

/**
 * Translates a JSON:API resource object of an edition to core REST's JSON. Total: never throws,
 * whatever the values are; fields it does not know pass through. A list has thousands of items, so
 * none is made that is not in the answer.
 * @param plan of resources with the members of this one
 */
export function read(
  resource: Resource,
  model: ContentModel,
  urlOf: UrlOf = () => undefined,
  plan: Plan = planOf(resource, model)
): EditionJson {
  const { attributes = {}, relationships = {} } = resource
  const entity: EditionJson = { ...plan.blank }
  entity[model.keys.uuid] = [{ value: resource.id }]
  for (const attribute of plan.attributes) {
    entity[attribute.field] = attributeItems(attributes[attribute.name], attribute)
  }
  for (let index = 0; index < plan.relationships.length; index++) {
    const references = identifiers(relationships[plan.names.relationships[index]!])
    entity[plan.relationships[index]!] = references.map((identifier) =>
      referenceItem(identifier, model, urlOf)
    )
  }
  if (plan.bundle) entity[model.keys.bundle!] = [{ ...plan.bundle }]
  return entity
}

function attributeItems(value: unknown, plan: AttributePlan): FieldItem[] {
  if (value === null || value === undefined) return []
  // JSON:API makes a list of several maps. It looks the same as one map that holds a list of
  // objects.
  if (plan.raw) return Array.isArray(value) && value.every(isObject) ? value : [value as FieldItem]
  return Array.isArray(value)
    ? value.map((item) => attributeItem(item, plan))
    : [attributeItem(value, plan)]
}

function attributeItem(value: unknown, { main, timestamp }: AttributePlan): FieldItem {
  const item: FieldItem = isObject(value) ? value : main === 'value' ? { value } : { [main]: value }
  return timestamp && typeof item.value === 'string' ? { ...item, format: TIMESTAMP_FORMAT } : item
}

function referenceItem(
  identifier: ResourceIdentifier,
  model: ContentModel,
  urlOf: UrlOf
): FieldItem {
  if (!isObject(identifier) || isLost(identifier)) return { target_id: null }
  const { type, id, meta } = identifier
  const { entityType } = splitType(model, scalarText(type))
  const url = urlOf(identifier, entityType)
  const item: FieldItem = { target_id: meta?.drupal_internal__target_id ?? null }
  for (const name in meta) if (isProperty(name)) put(item, name, meta[name])
  item.target_type = meta?.target_type ?? entityType
  item.target_uuid = id
  if (url !== undefined) item.url = url
  return item
}

/** Sets a member of any name: JSON may have `__proto__` too. */
function put(item: FieldItem, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(item, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true
    })
  } else item[name] = value
}

/**
 * Whether an identifier stands for an entity that is gone (`missing`) or never was (`virtual`: the
 * root of a vocabulary).
 */
export function isLost(identifier: ResourceIdentifier): boolean {
  return identifier.id === 'missing' || identifier.id === 'virtual'
}
