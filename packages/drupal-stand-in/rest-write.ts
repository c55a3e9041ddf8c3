import { createAccess, fieldEditAccess, fieldViewAccess, type Viewer } from './access.ts'
import { CmsError } from './errors.ts'
import { entityTypes, type Field } from './model.ts'
import { readItems } from './rest-items.ts'
import { fieldItems } from './resource.ts'
import type { Site } from './site.ts'
import type { Entity, Item } from './store.ts'
import { prepareItems, storedItems } from './validate.ts'
import { insert, isKey, sameItems, saveValid } from './write.ts'

const entityType = 'publisher_container'

/** A failure that core REST answers as plain text, without a word on the cause. */
export const unexpectedError = (): CmsError =>
  new CmsError(500, 'The website encountered an unexpected error. Please try again later.')

function decode(text: string): Record<string, unknown> {
  if (text === '') throw new CmsError(400, 'No entity content received.')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    const isUnterminated = (text.match(/(?<!\\)"/g) ?? []).length % 2 === 1
    throw new CmsError(
      400,
      isUnterminated ? 'Control character error, possibly incorrectly encoded' : 'Syntax error'
    )
  }
  if (typeof body !== 'object' || body === null) throw unexpectedError()
  return body as Record<string, unknown>
}

function bundleOf(site: Site, body: Record<string, unknown>): string {
  const type = Array.isArray(body.type) ? body.type[0] : body.type
  const id = typeof type === 'object' && type !== null ? (type.target_id ?? type.value) : type
  if (id === undefined || id === null) {
    throw new CmsError(422, 'Could not determine entity type bundle: "type" field is missing.')
  }
  if (!site.store.byId('publisher_container_type', id)) {
    throw new CmsError(422, `"${id}" is not a valid bundle type for denormalization.`)
  }
  return id
}

/** The sent fields as items; a name that the entity type does not know is a fatal error in core. */
function sentFields(site: Site, body: Record<string, unknown>): Map<Field, Item[]> {
  const { fields } = entityTypes[entityType]!
  const itemsByField = new Map<Field, Item[]>()
  for (const [name, data] of Object.entries(body)) {
    if (name === 'type') continue
    const field = fields.find((one) => one.name === name)
    if (!field) throw unexpectedError()
    itemsByField.set(field, readItems(site, field, data))
  }
  return itemsByField
}

const isProcessed = (sent: Map<Field, Item[]>) =>
  [...sent].some(
    ([field, items]) =>
      field.type.startsWith('text_') && items.some((item) => item.processed !== undefined)
  )

/** POST /entity/publisher_container: creates an edition from core's json. */
export function restCreate(site: Site, viewer: Viewer, text: string): Entity {
  const body = decode(text)
  const bundle = bundleOf(site, body)
  const itemsByField = sentFields(site, body)
  const access = createAccess(viewer, entityType, bundle)
  if (!access.allowed) throw new CmsError(403, access.reason)
  for (const field of itemsByField.keys()) {
    if (!fieldEditAccess(viewer, entityType, field.name, 'id').allowed) {
      throw new CmsError(403, `Access denied on creating field '${field.name}'.`)
    }
  }
  const uuids = [...itemsByField].find(([field]) => field.name === 'uuid')?.[1]
  const entity = insert(
    site,
    viewer,
    entityType,
    bundle,
    itemsByField,
    uuids?.[0]?.value as string | undefined,
    unexpectedError
  )
  if (isProcessed(itemsByField)) throw unexpectedError()
  return entity
}

/** PATCH /publisher_container/{id}: sets only the sent fields and makes no revision. */
export function restUpdate(site: Site, viewer: Viewer, before: Entity, text: string): Entity {
  const body = decode(text)
  bundleOf(site, body)
  const fields = { ...before.fields }
  const changedFields = new Set<string>()
  for (const [field, items] of sentFields(site, body)) {
    const access = fieldEditAccess(viewer, entityType, field.name, 'id')
    const newItems = prepareItems(field, items)
    const isSame = sameItems(
      storedItems(site, field, newItems),
      storedItems(site, field, fieldItems(before, field))
    )
    if (isSame && fieldViewAccess(viewer, entityType, field.name, before).allowed) continue
    if (!access.allowed) {
      throw new CmsError(
        403,
        `Access denied on updating field '${field.name}'. ${access.reason}`.trim()
      )
    }
    if (isKey(entityType, field)) continue
    fields[field.name] = newItems
    changedFields.add(field.name)
  }
  return saveValid(site, viewer, before, fields, changedFields, false)
}
