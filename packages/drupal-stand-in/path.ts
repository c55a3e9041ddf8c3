import { fieldViewAccess, type Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import {
  entityTypes,
  filterProperties,
  isReference,
  writableProperties,
  type Field
} from './model.ts'
import { fieldItems } from './resource.ts'
import type { Site } from './site.ts'
import type { Entity } from './store.ts'

/**
 * A resolved filter or sort path: how the database column compares, and every value it holds for an
 * entity.
 */
export interface Path {
  numeric: boolean
  values: (entity: Entity) => unknown[]
}

/** Whether rows of the entity type that a path leads into may be filtered on by the viewer. */
export type Guard = (entity: Entity) => boolean

const noField = (path: string, name: string) =>
  new CmsError(
    400,
    `Invalid nested filtering. The field \`${name}\`, given in the path \`${path}\`, does not exist.`
  )

const quotedList = (names: string[]) => names.map((name) => `\`${name}\``).join(', ')

const incomplete = (path: string, name: string, endings: string[]) =>
  new CmsError(
    400,
    `Invalid nested filtering. The field \`${name}\`, given in the path \`${path}\` is incomplete, ` +
      `it must end with one of the following specifiers: ${quotedList(endings)}.`
  )

const propertyFault = (path: string, name: string, reason: string) =>
  new CmsError(
    400,
    `Invalid nested filtering. The property \`${name}\`, given in the path \`${path}\`, does not exist. ${reason}`
  )

const numericTypes = new Set([
  'integer',
  'decimal',
  'float',
  'boolean',
  'created',
  'changed',
  'timestamp',
  'entity_reference',
  'image'
])

function specifiers(field: Field): string[] {
  const meta = writableProperties(field).filter((name) => name !== 'target_id' && name !== 'entity')
  return ['id', ...meta.map((name) => `meta.${name}`), 'meta.drupal_internal__target_id']
}

const column = (field: Field, property: string, delta?: number): Path => ({
  numeric: numericTypes.has(field.type) && property !== 'alt' && property !== 'title',
  values: (entity) => {
    const items = fieldItems(entity, field)
    return (delta === undefined ? items : items.slice(delta, delta + 1)).map(
      (item) => item[property] ?? null
    )
  }
})

/**
 * Resolves a public path ("field_articles.title", "field_link.uri", "uid.id") against an entity
 * type by the rules of jsonapi's FieldResolver; 400 for what does not exist or is incomplete, 403
 * for a field that the viewer may not see.
 */
export function resolvePath(
  site: Site,
  viewer: Viewer,
  entityType: string,
  path: string,
  guard: Guard
): Path {
  const parts = path.split('.')
  if (!entityTypes[entityType]) {
    return {
      numeric: false,
      values: (entity) => [parts.reduce<any>((value, part) => value?.[part], entity.config)]
    }
  }
  return walk(site, viewer, entityType, path, parts, guard)
}

function walk(
  site: Site,
  viewer: Viewer,
  entityType: string,
  path: string,
  parts: string[],
  guard: Guard
): Path {
  const [head = '', ...tail] = parts
  const { fields } = entityTypes[entityType]!
  const field = fields.find((one) => one.public === head) ?? fields.find((one) => one.name === head)
  if (!field) throw noField(path, head)
  const access = fieldViewAccess(viewer, entityType, field.name)
  if (!access.allowed) {
    throw new CmsError(
      403,
      `The current user is not authorized to filter by the \`${head}\` field, given in the path \`${path}\`. ${access.reason}`.trim()
    )
  }
  const delta = /^\d+$/.test(tail[0] ?? '') ? Number(tail[0]) : undefined
  const restPath = delta === undefined ? tail : tail.slice(1)
  if (isReference(field)) {
    return walkReference(site, viewer, path, head, field, restPath, delta, guard)
  }
  const properties = filterProperties(field)
  if (properties.length === 1) {
    if (restPath.length === 0) return column(field, properties[0]!, delta)
    throw propertyFault(
      path,
      restPath[0]!,
      `Filter by \`${head}\`, not \`${path}\` (the JSON:API module elides property names from single-property fields).`
    )
  }
  if (restPath.length === 0) throw incomplete(path, head, properties)
  if (!properties.includes(restPath[0]!)) {
    throw propertyFault(
      path,
      restPath[0]!,
      `Must be one of the following property names: ${quotedList(properties)}.`
    )
  }
  return column(field, restPath[0]!, delta)
}

function walkReference(
  site: Site,
  viewer: Viewer,
  path: string,
  parent: string,
  field: Field,
  restPath: string[],
  delta: number | undefined,
  guard: Guard
): Path {
  if (restPath.length === 0) throw incomplete(path, parent, specifiers(field))
  if (restPath[0] === 'meta') {
    const property =
      restPath[1] === 'drupal_internal__target_id' ? 'target_id' : (restPath[1] ?? '')
    if (!writableProperties(field).includes(property)) {
      throw propertyFault(
        path,
        restPath[1] ?? '',
        `Must be one of the following property names: ${quotedList(specifiers(field))}.`
      )
    }
    return {
      ...column(field, property, delta),
      numeric: property === 'target_id' && entityTypes[field.target!] !== undefined
    }
  }
  const inner =
    restPath[0] === 'id' && restPath.length === 1
      ? { numeric: false, values: (entity: Entity) => [entity.uuid] }
      : entityTypes[field.target!]
        ? walk(site, viewer, field.target!, path, restPath, guard)
        : undefined
  if (!inner) throw noField(path, restPath[0]!)
  const targets = column(field, 'target_id', delta)
  return {
    numeric: inner.numeric,
    values: (entity) =>
      targets.values(entity).flatMap((id) => {
        const target = site.store.byId(field.target!, id as number | string)
        return target && guard(target) ? inner.values(target) : []
      })
  }
}
