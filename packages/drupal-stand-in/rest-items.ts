import { fieldViewAccess, type Viewer } from './access.ts'
import { readFormatted, readValue } from './dates.ts'
import { CmsError } from './errors.ts'
import {
  entityTypes,
  filterProperties,
  isReference,
  mainProperty,
  writableProperties,
  type Field
} from './model.ts'
import { fieldItems, showItem } from './resource.ts'
import type { Site } from './site.ts'
import { type Entity, type Item, valueOf } from './store.ts'

/**
 * The page of an entity on the site, where it has one: files by their whole address, the others by
 * their path.
 */
export function canonicalUrl(site: Site, entity: Entity): string | undefined {
  switch (entity.entityType) {
    case 'node':
      return (entity.fields.path?.[0]?.alias as string | null | undefined) ?? `/node/${entity.id}`
    case 'taxonomy_term':
      return `/taxonomy/term/${entity.id}`
    case 'user':
      return `/user/${entity.id}`
    case 'file':
      return `${site.origin()}/sites/default/files/${encodeURI(String(valueOf(entity, 'uri')).replace('public://', ''))}`
    case 'publisher_container':
      return `/publisher_container/${entity.id}`
    default:
      return undefined
  }
}

function showReference(site: Site, field: Field, item: Item): object {
  const target = site.store.byId(field.target!, item.target_id as number | string)
  if (!target) return { ...item, target_id: item.target_id === 0 ? null : item.target_id }
  const url = canonicalUrl(site, target)
  return {
    ...item,
    target_type: field.target,
    target_uuid: target.uuid,
    ...(url === undefined ? {} : { url })
  }
}

const isTimestamp = (field: Field) =>
  field.type === 'created' || field.type === 'changed' || field.type === 'timestamp'

const ownFormats = ['U', 'Y-m-d\\TH:i:sP', 'Y-m-d\\TH:i:sO']

function showRestItem(site: Site, field: Field, item: Item): unknown {
  if (isReference(field)) return showReference(site, field, item)
  const value = showItem(site, field, item)
  if (isTimestamp(field)) return { value, format: 'Y-m-d\\TH:i:sP' }
  return filterProperties(field).length > 1 ? value : { value }
}

/**
 * An entity as core REST writes it in json: every field that the viewer may see, as a list of
 * items.
 */
export function restEntity(site: Site, viewer: Viewer, entity: Entity): Record<string, unknown> {
  const properties: Record<string, unknown> = {}
  for (const field of entityTypes[entity.entityType]!.fields) {
    if (!fieldViewAccess(viewer, entity.entityType, field.name, entity).allowed) continue
    const list = fieldItems(entity, field)
    properties[field.name] =
      entity.entityType === 'taxonomy_term' && field.name === 'description' && list.length === 0
        ? [{ value: null, format: null, processed: '' }]
        : list.map((item) => showRestItem(site, field, item))
  }
  return properties
}

function readReference(site: Site, field: Field, data: Record<string, unknown>): Item {
  const properties = Object.fromEntries(
    Object.entries(data).filter(([name]) => writableProperties(field).includes(name))
  )
  const { target_uuid: uuid, target_type: type } = data
  if (uuid !== undefined) {
    if (type !== undefined && type !== field.target) {
      throw new CmsError(
        422,
        `The field "${field.name}" property "target_type" must be set to "${field.target}" or omitted.`
      )
    }
    const target = site.store.byUuid(field.target!, String(uuid))
    if (!target) {
      throw new CmsError(
        422,
        `No "${String(type ?? '')}" entity found with UUID "${String(uuid)}" for field "0".`
      )
    }
    return { ...properties, target_id: target.id }
  }
  return properties.target_id === undefined
    ? properties
    : { ...properties, target_id: integer(properties.target_id) }
}

const integer = (value: unknown) =>
  typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value

function readItem(site: Site, field: Field, data: unknown): Item {
  if (typeof data !== 'object' || data === null) {
    const main = mainProperty(field)
    return { [main]: isReference(field) ? integer(data) : readValue(field, data) }
  }
  if (isReference(field)) return readReference(site, field, data as Record<string, unknown>)
  const { value: date, format } = data as { value?: unknown; format?: unknown }
  if (isTimestamp(field) && typeof format === 'string' && !ownFormats.includes(format)) {
    return { value: readFormatted(date, format, site.now(), site.timeZone) }
  }
  const names = [...writableProperties(field), 'processed']
  const properties = Object.entries(data).filter(([name]) => names.includes(name))
  return Object.fromEntries(
    properties.map(([name, value]) => [name, name === 'value' ? readValue(field, value) : value])
  )
}

/**
 * The items of a field sent to core REST: a list, or an object whose values are taken for items.
 * Unknown properties are dropped in silence; null, an empty list and other empty values clear the
 * field.
 */
export function readItems(site: Site, field: Field, data: unknown): Item[] {
  if (!data) return []
  if (typeof data !== 'object') {
    throw new CmsError(422, `Field values for "${field.name}" must use an array structure`)
  }
  return Object.values(data).map((one) => readItem(site, field, one))
}
