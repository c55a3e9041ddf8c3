import type { IncomingHttpHeaders } from 'node:http'
import {
  createAccess,
  entityAccess,
  fieldEditAccess,
  fieldViewAccess,
  type Viewer
} from './access.ts'
import { denormalize, type RequestDocument } from './denormalize.ts'
import { CmsError } from './errors.ts'
import { entityTypes, type Field } from './model.ts'
import { keepReferences, noteInPlace } from './module.ts'
import { fieldItems } from './resource.ts'
import type { Site } from './site.ts'
import { defaultFields, type Entity, type Item } from './store.ts'
import { prepareItems, storedItems, validate } from './validate.ts'

const refusal = (verb: string, name: string, reason: string, pointer: string) =>
  new CmsError(
    403,
    `The current user is not allowed to ${verb} the selected field (${name}). ${reason}`.trim(),
    { pointer }
  )

const seconds = (site: Site) => Math.floor(site.now() / 1000)

const cast = (site: Site, entity: Entity): Entity => {
  const { fields } = entityTypes[entity.entityType]!
  const values = fields
    .filter((field) => field.name in entity.fields)
    .map((field) => [field.name, storedItems(site, field, entity.fields[field.name]!)])
  return { ...entity, fields: Object.fromEntries(values) }
}

/** Whether the field is a key of the entity, which no write changes. */
export const isKey = (entityType: string, field: Field): boolean => {
  const { idKey, revisionKey, bundleKey } = entityTypes[entityType]!
  return [idKey, 'uuid', revisionKey, bundleKey].includes(field.name)
}

/** Throws Drupal's empty-handed 403 unless the viewer may do that to the entity. */
export function requireAccess(
  viewer: Viewer,
  entity: Entity,
  operation: 'update' | 'delete'
): void {
  const access = entityAccess(viewer, entity, operation)
  if (!access.allowed) throw new CmsError(403, access.reason)
}

/** Throws 403 with Drupal's reason unless the viewer may make an entity of that bundle. */
export function requireCreateAccess(viewer: Viewer, entityType: string, bundle: string): void {
  const access = createAccess(viewer, entityType, bundle)
  if (!access.allowed) throw new CmsError(403, access.reason)
}

function checkCreateFields(viewer: Viewer, entityType: string, document: RequestDocument): void {
  const { fields, idKey } = entityTypes[entityType]!
  for (const [member, names] of [
    ['attributes', document.attributes],
    ['relationships', document.relationships]
  ] as const) {
    for (const field of fields.filter((one) => names.includes(one.public))) {
      const access = fieldEditAccess(viewer, entityType, field.name, idKey)
      if (!access.allowed) {
        throw refusal('POST', field.public, access.reason, `/data/${member}/${field.public}`)
      }
    }
  }
}

/**
 * Creates an entity from a POSTed document. A text with `processed` is saved and then fails while
 * the answer is rendered, as it does in Drupal: 500, and the entity is there.
 */
export function create(
  site: Site,
  viewer: Viewer,
  entityType: string,
  bundle: string,
  body: any
): Entity {
  const document = denormalize(site, entityType, `${entityType}--${bundle}`, body)
  checkCreateFields(viewer, entityType, document)
  const attributeUuid = body.data.attributes?.uuid
  const uuid = document.id ?? (typeof attributeUuid === 'string' ? attributeUuid : undefined)
  const entity = insert(
    site,
    viewer,
    entityType,
    bundle,
    document.fields,
    uuid,
    () => new CmsError(409, 'Conflict: Entity already exists.')
  )
  const isProcessed = [...document.fields].some(
    ([field, items]) =>
      field.type.startsWith('text_') && items.some((item) => item.processed !== undefined)
  )
  if (isProcessed) throw new CmsError(500, 'Call to a member function getProcessedText() on string')
  return entity
}

/**
 * Validates and stores a new entity from the sent fields and the defaults; `conflict` is thrown for
 * a uuid in use.
 */
export function insert(
  site: Site,
  viewer: Viewer,
  entityType: string,
  bundle: string,
  itemsByField: Map<Field, Item[]>,
  uuid: string = crypto.randomUUID(),
  conflict: () => Error
): Entity {
  const { fields } = entityTypes[entityType]!
  const stamp = [{ value: seconds(site) }]
  const values: Record<string, Item[]> = {
    ...defaultFields(entityType),
    uid: [{ target_id: viewer.uid }],
    created: stamp,
    changed: stamp
  }
  const stampField = fields.find(
    (one) => one.name === 'revision_timestamp' || one.name === 'revision_created'
  )
  if (stampField) values[stampField.name] = stamp
  for (const [field, items] of itemsByField) {
    if (!isKey(entityType, field)) values[field.name] = prepareItems(field, items)
  }
  const entity: Entity = { entityType, bundle, uuid, id: 0, revision: 0, fields: values }
  validate(site, viewer, entity)
  if (site.store.byUuid(entityType, uuid)) throw conflict()
  return site.store.insert(cast(site, entity))
}

/** Whether two lists of stored items are equal. */
export const sameItems = (left: Item[], right: Item[]): boolean =>
  JSON.stringify(left) === JSON.stringify(right)

const isAffected = (before: Entity, after: Entity): boolean =>
  Object.keys(after.fields).some(
    (name) =>
      !name.startsWith('revision_') &&
      name !== 'changed' &&
      !sameItems(after.fields[name]!, before.fields[name] ?? [])
  )

/**
 * Saves the entity with a new `changed` when anything differs, as a new revision when asked; a
 * revision in which nothing differs has no `revision_translation_affected` unless that was sent.
 */
export function save(
  site: Site,
  viewer: Viewer,
  before: Entity,
  after: Entity,
  newRevision: boolean,
  sentNames = new Set<string>()
): Entity {
  const stamp = [{ value: seconds(site) }]
  const { fields } = cast(site, after)
  const hasEffect = isAffected(before, { ...after, fields })
  if (hasEffect) fields.changed = stamp
  if (newRevision && !sentNames.has('revision_translation_affected')) {
    fields.revision_translation_affected = hasEffect ? [{ value: true }] : []
  }
  if (newRevision && before.entityType !== 'taxonomy_term') {
    fields.revision_uid = [{ target_id: viewer.uid }]
    fields.revision_timestamp = stamp
  }
  if (!newRevision) noteInPlace(site, before)
  return site.store.update({ ...after, fields }, newRevision)
}

/**
 * Applies a PATCHed document. A field that may not be edited is accepted when it is seen and
 * unchanged, which makes a sent `changed` an optimistic lock: a stale one is refused with 403.
 */
export function update(
  site: Site,
  viewer: Viewer,
  before: Entity,
  bundle: string,
  body: any,
  headers: IncomingHttpHeaders
): Entity {
  const { entityType } = before
  const { idKey } = entityTypes[entityType]!
  const document = denormalize(site, entityType, `${entityType}--${bundle}`, body)
  if (document.id !== before.uuid) {
    throw new CmsError(
      400,
      `The selected entity (${before.uuid}) does not match the ID in the payload (${document.id ?? ''}).`
    )
  }
  const fields = { ...before.fields }
  const changedFields = new Set<string>()
  for (const [field, items] of document.fields) {
    const access = fieldEditAccess(viewer, entityType, field.name, idKey)
    const newItems = prepareItems(field, items)
    if (!access.allowed) {
      const isSame = sameItems(
        storedItems(site, field, newItems),
        storedItems(site, field, fieldItems(before, field))
      )
      if (isSame && fieldViewAccess(viewer, entityType, field.name, before).allowed) continue
      throw refusal('PATCH', field.name, access.reason, `/data/attributes/${field.name}`)
    }
    if (isKey(entityType, field)) continue
    fields[field.name] = newItems
    changedFields.add(field.name)
  }
  const after = { ...before, fields }
  validate(site, viewer, after, before, changedFields)
  const complete = keepReferences(site, before, after, changedFields, headers)
  return save(site, viewer, before, complete, makesRevisions(site, before), changedFields)
}

/** Whether JSON:API saves a change as a new revision: unless the bundle has `new_revision` off. */
function makesRevisions(site: Site, { entityType, bundle }: Entity): boolean {
  const type = site.store.byId(`${entityType}_type`, bundle)
  return (
    entityTypes[entityType]!.revisionKey !== undefined && type?.config?.['new_revision'] !== false
  )
}

/** Validates the touched fields of a changed entity and saves it. */
export function saveValid(
  site: Site,
  viewer: Viewer,
  before: Entity,
  fields: Record<string, Item[]>,
  changedFields: Set<string>,
  newRevision: boolean
): Entity {
  const after = { ...before, fields }
  validate(site, viewer, after, before, changedFields)
  return save(site, viewer, before, after, newRevision, changedFields)
}
