import { Failure, texts } from '../../errors.ts'
import {
  isObject,
  scalarText,
  type NewResource,
  type Relationship,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { internalName, publicName, type ContentModel } from '../model.ts'
import { bareItems, COMPUTED, instant, sameItems, showsItems, targetName } from './canonical.ts'
import type { EditionJson, FieldItem } from './edition-json.ts'
import { invalid, unknownUuid } from './failures.ts'
import { isProperty, read } from './read.ts'
import { isContentEntity, targetEntityType, type FieldShape, type Shape } from './shape.ts'

/** A reference given by its integer id alone: JSON:API wants its uuid. */
export interface UnresolvedReference {
  field: string
  /** Position in the field. */
  delta: number
  entityType: string
  id: string
  /** Whether entities of its type have names as ids, as config entities do, as far as is known. */
  isNamed: boolean
}

/**
 * Finds the identifier of a reference that is named by entity type and, where there is one, uuid,
 * else integer id.
 */
export type Resolve = (reference: {
  entityType: string
  uuid?: string
  id?: string
  field: string
  delta: number
}) => ResourceIdentifier

const DEPTH_MAX = 500

/**
 * A body of 4 MiB has room for two million values, and reading them would hold up all other
 * requests for seconds.
 */
const VALUES_MAX = 50_000

/**
 * Reads a body in core REST's JSON. The value of a field is a list of items, or an object, or null
 * for none. An item is an object or the bare value of its main property. Empty items are dropped,
 * as Drupal drops them.
 * @throws {Failure} UNPROCESSABLE with core's text where a field is a scalar
 *   (Drupal\serialization\Normalizer\FieldNormalizer); BAD_REQUEST where it is nested too deep or
 *   has too many values.
 */
export function normalize(body: Record<string, unknown>, model: ContentModel): EditionJson {
  refuseExcess(body)
  return Object.fromEntries(
    Object.entries(body).map(([field, value]) => {
      if (value === null) return [field, []]
      if (field === model.keys.bundle && typeof value === 'string') {
        return [field, [{ target_id: value }]]
      }
      if (typeof value !== 'object') {
        throw new Failure(
          'UNPROCESSABLE',
          `Field values for "${field}" must use an array structure`
        )
      }
      const items = (isNumbered(value) ? Object.values(value) : [value].flat()).filter(
        (item) => item !== null && !(isObject(item) && Object.keys(item).length === 0)
      )
      if (model.rawFields.includes(field)) return [field, items]
      return [
        field,
        items.map((item) =>
          isObject(item) ? item : bareItem(model.mainProperty[field] ?? 'value', item)
        )
      ]
    })
  )
}

function bareItem(main: string, value: unknown): FieldItem {
  const item = { [main]: value }
  bareItems.add(item)
  return item
}

/** PHP has only one kind of array: to Drupal an object with the keys 0, 1, ... is a list. */
function isNumbered(value: object): boolean {
  const keys = Object.keys(value)
  return (
    !Array.isArray(value) && keys.length > 0 && keys.every((key, index) => key === String(index))
  )
}

/**
 * PHP reads JSON of 512 levels, some of which the document around a body takes. The stack here
 * would end later.
 */
function refuseExcess(body: object): void {
  let level: object[] = [body]
  let count = 0
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === DEPTH_MAX) {
      throw new Failure('BAD_REQUEST', `body is nested more than ${DEPTH_MAX} levels deep`)
    }
    const values: unknown[] = level.flatMap((value) => Object.values(value))
    count += values.length
    if (count > VALUES_MAX) {
      throw new Failure(
        'BAD_REQUEST',
        `body has more than ${VALUES_MAX} values, those of all levels together`
      )
    }
    level = values.filter((value) => typeof value === 'object' && value !== null)
  }
}

/** The bundle that a body names, in any form that core takes; undefined where it names none. */
export function bundleOf(entity: EditionJson, model: ContentModel): string | undefined {
  const [item] = entity[model.keys.bundle ?? ''] ?? []
  const bundle = item?.target_id ?? item?.value
  return typeof bundle === 'string' ? bundle : undefined
}

/**
 * The references with only an integer id, which have to be looked up for `Resolve`. In the order of
 * the fields, in which Drupal lists violations.
 */
export function unresolvedReferences(
  entity: EditionJson,
  shape: Shape | undefined,
  model: ContentModel
): UnresolvedReference[] {
  const order = [...(shape?.keys() ?? [])]
  const fields = Object.entries(entity).toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b))
  return fields.flatMap(([field, items]) => {
    if (field === model.keys.bundle || !isReference(field, items, shape?.get(field), model)) {
      return []
    }
    return items.flatMap((item, delta) => {
      const id = targetId(field, delta, item)
      const entityType = entityTypeOf(field, item, shape?.get(field), model)
      if (id === undefined || targetUuid(delta, item) !== undefined || !entityType) return []
      const sample = shape?.get(field)?.sample
      return [
        {
          field,
          delta,
          entityType,
          id,
          isNamed: sample
            ? !isContentEntity(sample)
            : model.idKeys[entityType] === undefined && /\D/.test(id)
        }
      ]
    })
  })
}

/**
 * The relationships of a body whose target type is not known: not from its items, the model or any
 * document.
 */
export function withoutTargetType(
  entity: EditionJson,
  shape: Shape,
  model: ContentModel
): string[] {
  const fields = Object.entries(entity).filter(
    ([field, items]) =>
      shape.get(field)?.kind === 'relationship' &&
      field !== model.keys.bundle &&
      items.some((item) => !entityTypeOf(field, item, shape.get(field), model))
  )
  return fields.map(([field]) => publicName(model, field))
}

/**
 * The resource object that creates an edition: what core REST would take, in JSON:API's form. A
 * uuid becomes the client-generated id. Drupal alone gives revision ids.
 * @throws {Failure} BAD_REQUEST for a number too large to be the one that was sent; UNPROCESSABLE
 *   for a reference in core's words.
 */
export function create(
  entity: EditionJson,
  resourceType: string,
  shape: Shape | undefined,
  model: ContentModel,
  resolve: Resolve
): NewResource {
  const id = uuidOf(entity, model)
  return {
    type: resourceType,
    ...(id !== undefined && { id }),
    ...members(ownFields(entity, model), shape, model, resolve)
  }
}

/**
 * The uuid that a body gives its edition, if any.
 * @throws {Failure} UNPROCESSABLE unless it is text.
 */
export function uuidOf(entity: EditionJson, model: ContentModel): string | undefined {
  const uuid = entity[model.keys.uuid]?.[0]?.value ?? undefined
  if (typeof uuid === 'object') {
    throw invalid([{ path: `${model.keys.uuid}.0.value`, message: texts.notPrimitive }])
  }
  return uuid === undefined ? undefined : String(uuid)
}

/**
 * The fields of a body that a create sends as such: not the uuid, nor the bundle and the revision
 * id.
 */
function ownFields(
  entity: EditionJson,
  { keys: { uuid, bundle, revision } }: ContentModel
): EditionJson {
  return Object.fromEntries(
    Object.entries(entity).filter(
      ([field]) => field !== uuid && field !== bundle && field !== revision
    )
  )
}

/**
 * The fields in which an edition differs from the body of its create. Drupal fills in what the body
 * does not have.
 */
export function differingFields(
  entity: EditionJson,
  resource: Resource,
  model: ContentModel
): string[] {
  const shown: EditionJson = Object.assign(Object.create(null), read(resource, model))
  return Object.entries(ownFields(entity, model))
    .filter(([field, items]) => !showsItems(field, shown[field] ?? [], items, model))
    .map(([field]) => field)
}

/**
 * The fields of a body that differ from the edition as it is, without the bundle and the revision
 * id, which no save can choose.
 * @throws {Failure} CMS_FORBIDDEN for another id or uuid, in core's words
 *   (Drupal\Core\Entity\EntityAccessControlHandler::fieldAccess); STALE_EDIT for another `changed`
 *   (Drupal\Core\Field\ChangedFieldItemList: nobody may set it).
 */
export function difference(
  entity: EditionJson,
  current: Resource,
  model: ContentModel
): EditionJson {
  const before: EditionJson = Object.assign(Object.create(null), read(current, model))
  const fields = Object.entries(entity).filter(
    ([field]) => field !== model.keys.bundle && field !== model.keys.revision
  )
  const differences = fields.filter(
    ([field, items]) => !before[field] || !sameItems(field, before[field]!, items, model)
  )
  for (const [field, items] of differences) {
    if (field === model.keys.id) {
      throw new Failure(
        'CMS_FORBIDDEN',
        `Access denied on updating field '${field}'. The entity ID cannot be changed.`
      )
    }
    if (field === model.keys.uuid) {
      throw new Failure(
        'CMS_FORBIDDEN',
        `Access denied on updating field '${field}'. The entity UUID cannot be changed.`
      )
    }
    if (field === model.keys.changed && items.length === 0) {
      throw new Failure('CMS_FORBIDDEN', `Access denied on updating field '${field}'.`)
    }
    if (field === model.keys.changed && before[field]) throw staleEdit(before[field][0]?.value)
  }
  return Object.fromEntries(differences)
}

/** The failure for a caller whose edition is older than the saved one. */
export function staleEdit(changed: unknown): Failure {
  return new Failure('STALE_EDIT', texts.stale(typeof changed === 'string' ? changed : undefined))
}

/** The resource object that updates an edition: only its changes. @throws {Failure} as `create` */
export function update(
  changes: EditionJson,
  current: Resource,
  shape: Shape,
  model: ContentModel,
  resolve: Resolve
): NewResource {
  return { type: current.type, id: current.id, ...members(changes, shape, model, resolve) }
}

/**
 * Takes properties that Drupal does not know out of a field, as core REST does by itself.
 * @returns whether there were any
 */
export function dropProperties(
  { attributes = {}, relationships = {} }: NewResource,
  { field, properties }: { field: string; properties: string[] },
  model: ContentModel
): boolean {
  const name = [...Object.keys(attributes), ...Object.keys(relationships)].find(
    (name) => internalName(model, name) === field
  )
  if (name === undefined) return false
  const items = relationships[name]
    ? [relationships[name].data].flat().map((identifier) => identifier?.meta)
    : [attributes[name]].flat()
  const unknown = items
    .filter(isObject)
    .flatMap((item) =>
      properties
        .filter((property) => Object.hasOwn(item, property))
        .map((property) => ({ item, property }))
    )
  for (const { item, property } of unknown) delete item[property]
  return unknown.length > 0
}

function members(
  fields: EditionJson,
  shape: Shape | undefined,
  model: ContentModel,
  resolve: Resolve
): Pick<NewResource, 'attributes' | 'relationships'> {
  const attributes: Array<[string, unknown]> = []
  const relationships: Array<[string, Relationship]> = []
  for (const [field, items] of Object.entries(fields)) {
    refuseRounded(items, `body/${field}`)
    const fieldShape = shape?.get(field)
    const name = publicName(model, field)
    if (isReference(field, items, fieldShape, model)) {
      relationships.push([name, { data: linkage(field, items, fieldShape, model, resolve) }])
    } else attributes.push([name, attribute(field, items, fieldShape, model)])
  }
  return {
    ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }),
    ...(relationships.length > 0 && { relationships: Object.fromEntries(relationships) })
  }
}

/**
 * JSON.parse rounds integers beyond ±(2^53-1). PHP rounds only those beyond 2^63. JSON has no
 * infinite numbers.
 */
function refuseRounded(value: unknown, where: string): void {
  const size = typeof value === 'number' ? Math.abs(value) : 0
  if (size === Infinity || (size > Number.MAX_SAFE_INTEGER && size < 2 ** 63)) {
    throw new Failure('BAD_REQUEST', texts.numberTooLarge(where))
  }
  if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) refuseRounded(member, `${where}/${name}`)
  }
}

function isReference(
  field: string,
  items: FieldItem[],
  fieldShape: FieldShape | undefined,
  model: ContentModel
): boolean {
  if (fieldShape) return fieldShape.kind === 'relationship'
  return (
    model.references[field] !== undefined ||
    items.some((item) => 'target_id' in item || 'target_uuid' in item)
  )
}

function attribute(
  field: string,
  items: FieldItem[],
  fieldShape: FieldShape | undefined,
  model: ContentModel
): unknown {
  if (model.rawFields.includes(field)) return maps(field, items)
  const main = model.mainProperty[field] ?? 'value'
  const { properties = [] } = fieldShape ?? {}
  const isWithoutMain = properties.length > 0 && !properties.includes(main)
  // An item that is a list has no property that Drupal knows by name, so it is an empty one.
  const named = items.filter((item) => !(bareItems.has(item) && Array.isArray(item[main])))
  const values = named.map((item) =>
    flat(clean(field, item, model), main, isWithoutMain && !bareItems.has(item))
  )
  if (!fieldShape || fieldShape.many || values.length > 1) return values
  // Core REST empties a field so too. Null would be an item without a value: the default state to
  // content_moderation.
  return values[0] ?? []
}

/**
 * Core saves a list in a map as something else, and JSON:API then fails to show the edition. A bare
 * value makes both fail.
 */
function maps(field: string, items: FieldItem[]): FieldItem[] {
  const delta = items.findIndex((item) => !isObject(item))
  if (delta === -1) return items
  throw invalid([
    {
      path: `${field}.${delta}`,
      message:
        'This value should be an object: Drupal keeps neither a list nor a bare value in a map.'
    }
  ])
}

function clean(field: string, item: FieldItem, model: ContentModel): FieldItem {
  const dropped = model.timestampFields.includes(field)
    ? [...COMPUTED.attribute, 'format']
    : COMPUTED.attribute
  const rest = Object.fromEntries(Object.entries(item).filter(([name]) => !dropped.includes(name)))
  return model.timestampFields.includes(field)
    ? { ...rest, value: withoutMilliseconds(rest.value) }
    : rest
}

/** Drupal refuses fractions of a second, which JavaScript's `toISOString()` always has. */
function withoutMilliseconds(value: unknown): unknown {
  return typeof value === 'string' && !Number.isNaN(instant(value))
    ? value.replace(/(T\d\d:\d\d:\d\d)\.\d+/, '$1')
    : value
}

/**
 * A property that has a name keeps it where the field is shown with other properties (a link), so
 * that Drupal can refuse it. A bare value belongs to the main property, whatever its name.
 */
function flat(item: FieldItem, main: string, isNamed: boolean): unknown {
  return !isNamed && main in item && Object.keys(item).length === 1 ? item[main] : item
}

function linkage(
  field: string,
  items: FieldItem[],
  fieldShape: FieldShape | undefined,
  model: ContentModel,
  resolve: Resolve
): ResourceIdentifier | ResourceIdentifier[] | null {
  const data = items.flatMap((item, delta) => {
    const id = targetId(field, delta, item)
    const uuid = targetUuid(delta, item)
    if (id === undefined && uuid === undefined) return []
    const entityType = entityTypeOf(field, item, fieldShape, model)
    if (!entityType) {
      throw new Failure(
        'UNPROCESSABLE',
        `The field "${field}" needs the property "target_type": no edition seen so far tells what it refers to`
      )
    }
    if (uuid && item.target_type !== undefined && item.target_type !== entityType) {
      throw new Failure(
        'UNPROCESSABLE',
        `The field "${field}" property "target_type" must be set to "${entityType}" or omitted.`
      )
    }
    const target = resolve({
      entityType,
      field,
      delta,
      ...(uuid !== undefined && { uuid }),
      ...(id !== undefined && { id })
    })
    const meta = { ...revision(field, item, target, fieldShape), ...ownProperties(item) }
    return [{ type: target.type, id: target.id, ...(Object.keys(meta).length > 0 && { meta }) }]
  })
  return fieldShape && !fieldShape.many && data.length < 2 ? (data[0] ?? null) : data
}

/**
 * The revision of a reference that needs one (paragraphs). Drupal silently drops an item without
 * it. So it is taken from the edition as it is; where that has none, the write fails. Source:
 * EntityReferenceRevisionsItem::isEmpty().
 */
function revision(
  field: string,
  item: FieldItem,
  target: ResourceIdentifier,
  fieldShape: FieldShape | undefined
): FieldItem {
  if (
    fieldShape?.sample?.meta?.target_revision_id === undefined ||
    item.target_revision_id !== undefined
  ) {
    return {}
  }
  const { target_revision_id: current } = target.meta ?? {}
  if (scalarText(current) === '') {
    throw new Failure(
      'UNPROCESSABLE',
      `The field "${field}" needs the property "target_revision_id": without it Drupal would drop the item`
    )
  }
  return { target_revision_id: current }
}

function ownProperties(item: FieldItem): FieldItem {
  const dropped = new Set([
    ...COMPUTED.reference,
    'target_id',
    'target_uuid',
    'target_type',
    'value'
  ])
  return Object.fromEntries(
    Object.entries(item).filter(([name]) => !dropped.has(name) && isProperty(name))
  )
}

/** The target's integer id (or config id) as text. */
function targetId(field: string, delta: number, item: FieldItem): string | undefined {
  const id = targetName(item) ?? undefined
  if (typeof id === 'number' || typeof id === 'string') return String(id)
  if (id !== undefined) {
    throw invalid([
      {
        path: `${field}.${delta}.target_id`,
        message: 'This value should be of the correct primitive type.'
      }
    ])
  }
  return id
}

/**
 * Core names the item's position in place of its field. Source:
 * Drupal\serialization\Normalizer\EntityReferenceFieldItemNormalizer::constructValue().
 */
function targetUuid(delta: number, item: FieldItem): string | undefined {
  const { target_uuid: uuid } = item
  if (uuid === undefined || uuid === null) return undefined
  if (typeof uuid !== 'string') throw unknownUuid(item, delta)
  if (uuid === '') {
    throw new Failure(
      'UNPROCESSABLE',
      `If provided "target_uuid" cannot be empty for field "${delta}".`
    )
  }
  return uuid
}

function entityTypeOf(
  field: string,
  item: FieldItem,
  fieldShape: FieldShape | undefined,
  model: ContentModel
): string | undefined {
  return (
    targetEntityType(field, fieldShape, model) ??
    (typeof item.target_type === 'string' ? item.target_type : undefined)
  )
}
