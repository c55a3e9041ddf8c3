import { entityAccess, fieldViewAccess, type Viewer } from './access.ts'
import { showDateTime, showTimestamp } from './dates.ts'
import { entityTypes, isReference, type Field } from './model.ts'
import { isRevisionable, resourceUrl, type Site } from './site.ts'
import { type Entity, type Item, valueOf } from './store.ts'
import { processedText } from './text.ts'

export interface Identifier {
  type: string
  id: string
  meta: Record<string, unknown>
}

export interface Resource {
  type: string
  id: string
  links?: Record<string, { href: string }>
  attributes?: Record<string, unknown>
  relationships?: Record<string, unknown>
}

const about = 'https://www.drupal.org/docs/8/modules/json-api/core-concepts#'

const special = (type: string, id: 'missing' | 'virtual'): Identifier => ({
  type,
  id,
  meta: {
    links: {
      help: {
        href: about + id,
        meta: { about: `Usage and meaning of the '${id}' resource identifier.` }
      }
    }
  }
})

/** The attribute's form of one item: a bare value for a single property, an object for more. */
export function showItem(site: Site, field: Field, item: Item): unknown {
  const { value } = item
  switch (field.type) {
    case 'created':
    case 'changed':
    case 'timestamp':
      return typeof value === 'number' ? showTimestamp(value) : null
    case 'datetime':
      return showDateTime(String(value), site.timeZone)
    case 'text_long':
    case 'text_with_summary': {
      const format = (item.format as string | undefined) ?? null
      const text = { value, format, processed: processedText(String(value), format) }
      return field.type === 'text_long' ? text : { ...text, summary: item.summary ?? '' }
    }
    case 'link': {
      const options = item.options as object | undefined
      return {
        uri: item.uri,
        title: item.title ?? null,
        options: options && Object.keys(options).length > 0 ? options : []
      }
    }
    case 'file_uri':
      return {
        value,
        url: `/sites/default/files/${encodeURI(String(value).replace('public://', ''))}`
      }
    case 'path':
    case 'comment':
      return item
    default:
      return value ?? null
  }
}

function attribute(site: Site, field: Field, items: Item[]): unknown {
  const shown = items.map((item) => showItem(site, field, item))
  return field.many ? shown : (shown[0] ?? null)
}

/**
 * The identifiers a relationship holds; a deleted target is "missing", the root of a vocabulary
 * "virtual".
 */
export function identifiers(site: Site, entity: Entity, field: Field): Identifier[] {
  const list = (entity.fields[field.name] ?? []).map((item) => {
    const { target_id: targetId, ...properties } = item
    const target = site.store.byId(field.target!, targetId as number | string)
    if (!target) {
      const type = `${field.target}--${field.targetBundle ?? entity.bundle}`
      return special(type, targetId === 0 ? 'virtual' : 'missing')
    }
    const meta = { ...properties, drupal_internal__target_id: targetId }
    return { type: `${target.entityType}--${target.bundle}`, id: target.uuid, meta }
  })
  const count = (id: string) => list.filter((one) => one.id === id).length
  const counts = new Map<string, number>()
  return list.map((identifier) => {
    if (count(identifier.id) < 2) return identifier
    const arity = counts.get(identifier.id) ?? 0
    counts.set(identifier.id, arity + 1)
    return { ...identifier, meta: { arity, ...identifier.meta } }
  })
}

/** The `data` of a relationship: a list for a field of many values, else one identifier or null. */
export function relationshipData(
  site: Site,
  entity: Entity,
  field: Field
): Identifier[] | Identifier | null {
  const list = identifiers(site, entity, field)
  return field.many ? list : (list[0] ?? null)
}

/** The query that links inside a resource carry, naming its revision. */
export const versionQuery = (entity: Entity): string =>
  isRevisionable(entity.entityType) ? `?resourceVersion=id%3A${entity.revision}` : ''

export interface ResourceView {
  viewer: Viewer
  fields: Map<string, Set<string>>
  /**
   * The bundle named in links and type when it is not the entity's own: a PATCH answers under the
   * bundle of its path.
   */
  bundle?: string
  /**
   * Whether the answer is to a write: Drupal neither keeps it nor takes it from what it has kept.
   */
  isWritten?: boolean
}

/** Whether only the label of the entity may be seen: users show their name to everybody. */
export const isLabelOnly = (viewer: Viewer, entity: Entity): boolean =>
  entity.entityType === 'user' && !entityAccess(viewer, entity, 'view').allowed

/**
 * The entity as a JSON:API resource object for that viewer, with only the asked fields of its type.
 */
export function resource(site: Site, entity: Entity, view: ResourceView): Resource {
  const bundle = view.bundle ?? entity.bundle
  const type = `${entity.entityType}--${bundle}`
  const url = resourceUrl(site, entity, bundle)
  const version = versionQuery(entity)
  const fieldNames = view.fields.get(type)
  const isWanted = (name: string) => fieldNames === undefined || fieldNames.has(name)
  const links: Record<string, { href: string }> = { self: { href: url + version } }
  const current = site.store.byUuid(entity.entityType, entity.uuid)
  if (
    current &&
    current.revision !== entity.revision &&
    site.cache.late(entity.uuid) !== entity.revision
  ) {
    links['latest-version'] = { href: `${url}?resourceVersion=rel%3Alatest-version` }
    links['working-copy'] = { href: `${url}?resourceVersion=rel%3Aworking-copy` }
  }
  const isDefault = valueOf(entity, 'default_langcode') !== false
  const attributes: Record<string, unknown> = {}
  const relationships: Record<string, unknown> = {}
  if (entity.entityType === 'user' && isWanted('display_name')) {
    attributes.display_name = valueOf(entity, 'name')
  }
  for (const [name, value] of Object.entries(entity.config ?? {})) {
    if (isWanted(name)) attributes[name] = value
  }
  const definitions = isLabelOnly(view.viewer, entity)
    ? []
    : (entityTypes[entity.entityType]?.fields ?? [])
  for (const field of definitions) {
    if (field.type === 'uuid' || !isWanted(field.public)) continue
    if (!fieldViewAccess(view.viewer, entity.entityType, field.name, entity).allowed) continue
    if (!isReference(field)) {
      attributes[field.public] = attribute(site, field, fieldItems(entity, field))
      continue
    }
    const data = relationshipData(
      site,
      { ...entity, fields: { ...entity.fields, [field.name]: fieldItems(entity, field) } },
      field
    )
    relationships[field.public] = !isDefault
      ? { data }
      : {
          data,
          links: {
            related: { href: `${url}/${field.public}${version}` },
            self: { href: `${url}/relationships/${field.public}${version}` }
          }
        }
  }
  const order = view.isWritten
    ? undefined
    : site.cache.inOrder(entity.uuid, [...Object.keys(attributes), ...Object.keys(relationships)])
  const inOrder = (members: Record<string, unknown>) =>
    order
      ? Object.fromEntries(
          order.filter((name) => Object.hasOwn(members, name)).map((name) => [name, members[name]])
        )
      : members
  return {
    type,
    id: entity.uuid,
    ...(isDefault ? { links } : {}),
    ...(Object.keys(attributes).length > 0 ? { attributes: inOrder(attributes) } : {}),
    ...(Object.keys(relationships).length > 0 ? { relationships: inOrder(relationships) } : {})
  }
}

/** The items of a field; the keys of the entity itself are fields like any other. */
export function fieldItems(entity: Entity, field: Field): Item[] {
  const definition = entityTypes[entity.entityType]!
  if (field.name === definition.idKey) return [{ value: entity.id }]
  if (field.name === 'uuid') return [{ value: entity.uuid }]
  if (field.name === definition.revisionKey) return [{ value: entity.revision }]
  if (field.name === definition.bundleKey) return [{ target_id: entity.bundle }]
  return entity.fields[field.name] ?? []
}
