import { readValue } from './dates.ts'
import { CmsError } from './errors.ts'
import { entityTypes, isReference, mainProperty, writableProperties, type Field } from './model.ts'
import { resourceTypes, type Site } from './site.ts'
import type { Item } from './store.ts'

/** A sent resource: its id, and every sent field as items, not yet validated. */
export interface RequestDocument {
  id: string | undefined
  attributes: string[]
  relationships: string[]
  fields: Map<Field, Item[]>
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

type Json = Record<string, any>

/** The decoded body of a write; 400 for an empty or broken one. */
export function readBody(text: string): Json {
  if (text === '') throw new CmsError(400, 'Empty request body.')
  try {
    return JSON.parse(text)
  } catch {
    throw new CmsError(400, 'Syntax error')
  }
}

const levenshtein = (left: string, right: string): number => {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      next.push(
        Math.min(
          next[j - 1]! + 1,
          row[j]! + 1,
          row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1)
        )
      )
    }
    row = next
  }
  return row.at(-1)!
}

function refuseProperties(field: Field, unknownNames: string[]): never {
  const writable = writableProperties(field)
  const suggestions = unknownNames.flatMap((name) =>
    writable
      .filter((one) => levenshtein(name, one) <= name.length / 3 || one.includes(name))
      .slice(0, 1)
  )
  const subject =
    unknownNames.length === 1
      ? `The property '${unknownNames[0]}' does`
      : `The properties '${unknownNames.join("', '")}' do`
  const advice =
    suggestions.length === unknownNames.length
      ? `Did you mean '${suggestions.join("', '")}'?`
      : `Writable properties are: '${writable.join("', '")}'.`
  throw new CmsError(
    422,
    `${subject} not exist on the '${field.name}' field of type '${typeId(field)}'. ${advice}`
  )
}

const typeId = (field: Field): string => (field.type === 'date' ? 'datetime' : field.type)

function property(field: Field, name: string, value: unknown): unknown {
  return name === 'value' ? readValue(field, value) : value
}

function denormalizeItem(field: Field, data: unknown): Item | null {
  if (data === null) return null
  const main = mainProperty(field)
  if (typeof data !== 'object') return { [main]: property(field, main, data) }
  const properties = new Set([
    ...writableProperties(field),
    ...(field.type.startsWith('text_') ? ['processed'] : [])
  ])
  const unknown = Object.keys(data).filter((name) => !properties.has(name))
  if (unknown.length > 0) refuseProperties(field, unknown)
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, property(field, name, value)])
  )
}

/**
 * The items of one sent attribute: a bare value, an object, or a list of either, whatever the
 * field's cardinality.
 */
export function denormalizeField(field: Field, data: unknown): Item[] {
  const list = Array.isArray(data) ? data : [data]
  return list.map((one) => denormalizeItem(field, one)).filter((one) => one !== null)
}

/**
 * The items of one sent relationship. Only the first item decides the entity type, the bundle is
 * not looked at, and the first unknown uuid fails the whole write with 404
 * (JsonApiDocumentTopLevelNormalizer::denormalize).
 */
function resolveRelationship(site: Site, relationship: Json | null): Json[] {
  const identifier =
    relationship?.data?.type !== undefined && relationship.data.id !== undefined
      ? [relationship.data]
      : relationship?.data
  if (!identifier || (Array.isArray(identifier) && identifier.length === 0)) return []
  const first = identifier[0]
  if (!first?.id) throw new CmsError(400, 'No ID specified for related resource')
  if (!first.type) throw new CmsError(400, 'No type specified for related resource')
  if (!resourceTypes(site).includes(first.type)) {
    throw new CmsError(400, `Invalid type specified for related resource: '${first.type}'`)
  }
  const entityType = String(first.type).split('--')[0]!
  return (identifier as Json[]).flatMap(({ type, id, meta }) => {
    if (id === 'virtual') return []
    const target = site.store.byUuid(entityType, String(id))
    if (!target) {
      throw new CmsError(
        404,
        `The resource identified by \`${type}:${id}\` (given as a relationship item) could not be found.`
      )
    }
    const properties = Object.entries({ target_id: target.id, ...meta }).filter(
      ([name]) => !name.startsWith('drupal_internal__')
    )
    return [Object.fromEntries(properties)]
  })
}

/** A member that has to be an object; PHP fails on anything else that is not empty. */
function member(data: Json, name: string): Json {
  const value: unknown = data[name] || {}
  if (typeof value === 'object') return value as Json
  throw new CmsError(
    500,
    `array_intersect_key(): Argument #2 must be of type array, ${typeof value === 'number' ? 'int' : typeof value} given`
  )
}

/**
 * Reads the document of a POST or PATCH against an entity type; the type it names is not compared
 * with anything.
 */
export function denormalize(
  site: Site,
  entityType: string,
  type: string,
  body: Json
): RequestDocument {
  const { fields } = entityTypes[entityType]!
  const data = body?.data
  if (!data?.type) throw new CmsError(400, 'Resource object must include a "type".')
  if (data.id && !uuidShape.test(data.id)) {
    throw new CmsError(
      422,
      'IDs should be properly generated and formatted UUIDs as described in RFC 4122.'
    )
  }
  const attributes = member(data, 'attributes')
  const relationships = member(data, 'relationships')
  const misplacedFields = fields.filter((field) => isReference(field) && field.public in attributes)
  if (misplacedFields.length > 0) {
    throw new CmsError(
      422,
      `The following relationship fields were provided as attributes: [ ${misplacedFields.map((one) => one.public).join(', ')} ]`
    )
  }
  const references = Object.fromEntries(
    Object.entries(relationships).map(([name, one]) => [name, resolveRelationship(site, one)])
  )
  const itemsByField = new Map<Field, Item[]>()
  for (const [name, value] of Object.entries({ ...attributes, ...references })) {
    const field =
      fields.find((one) => one.public === name) ?? fields.find((one) => one.name === name)
    if (!field) {
      throw new CmsError(422, `The attribute ${name} does not exist on the ${type} resource type.`)
    }
    itemsByField.set(field, denormalizeField(field, value))
  }
  return {
    id: data.id || undefined,
    attributes: Object.keys(attributes),
    relationships: Object.keys(relationships),
    fields: itemsByField
  }
}
