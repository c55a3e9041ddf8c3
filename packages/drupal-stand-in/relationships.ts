import { fieldEditAccess, type Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import { entityTypes, type Field } from './model.ts'
import { resourceTypes, type Site } from './site.ts'
import type { Entity, Item } from './store.ts'
import { validate } from './validate.ts'
import { save } from './write.ts'

function targets(site: Site, body: any): Item[] {
  const data = body?.data
  if (data === null || data === undefined) return []
  return (Array.isArray(data) ? data : [data]).map((identifier: any) => {
    const { type, id, meta } = identifier ?? {}
    if (!resourceTypes(site).includes(type)) {
      throw new CmsError(400, `The targeted \`${type}\` resource type does not exist.`)
    }
    const target = site.store.byUuid(String(type).split('--')[0]!, String(id))
    if (!target) {
      throw new CmsError(400, `The targeted \`${type}\` resource with ID \`${id}\` does not exist.`)
    }
    const properties = Object.entries(meta ?? {}).filter(
      ([name]) => !name.startsWith('drupal_internal__') && name !== 'arity'
    )
    return { ...Object.fromEntries(properties), target_id: target.id }
  })
}

/**
 * Replaces (PATCH), adds to (POST) or takes from (DELETE) a relationship at its own endpoint. No
 * revision is made, and an unknown uuid is 400 here, not 404.
 */
export function changeRelationship(
  site: Site,
  viewer: Viewer,
  method: string,
  before: Entity,
  field: Field,
  body: any
): Entity {
  if (method !== 'PATCH' && !field.many) {
    throw new CmsError(
      403,
      `You can only ${method} to to-many relationships. ${field.public} is a to-one relationship.`
    )
  }
  const access = fieldEditAccess(
    viewer,
    before.entityType,
    field.name,
    entityTypes[before.entityType]!.idKey
  )
  if (!access.allowed) {
    throw new CmsError(
      403,
      `The current user is not allowed to edit this relationship. ${access.reason}`.trim()
    )
  }
  const references = targets(site, body)
  const current = before.fields[field.name] ?? []
  const holds = (list: Item[], item: Item) => list.some((one) => one.target_id === item.target_id)
  const items =
    method === 'PATCH'
      ? references
      : method === 'POST'
        ? [...current, ...references.filter((one) => !holds(current, one))]
        : current.filter((one) => !holds(references, one))
  const after = { ...before, fields: { ...before.fields, [field.name]: items } }
  validate(site, viewer, after, before, new Set([field.name]))
  return save(site, viewer, before, after, false)
}
