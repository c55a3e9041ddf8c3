import { isObject, type Resource } from '../../../lib/drupal/document.ts'
import { internalName, type ContentModel } from '../../../lib/editions/model.ts'
import type { EditionJson, FieldItem } from '../../../lib/editions/translate/edition-json.ts'
import { read } from '../../../lib/editions/translate/read.ts'
import type { Storage } from '../survey/fields.ts'

/** A field as a member of an interface. */
export interface FieldType {
  name: string
  /** The type of one of its items. */
  item: string
  /** Whether nothing shows what it holds. */
  isUnknown: boolean
  /** Whether some of the entities seen do not have it. */
  isOptional: boolean
}

/** What is known of the entities of a bundle. */
export interface Seen {
  rows: Resource[]
  model: ContentModel
  bundle: string
  /** The configuration of fields; undefined where the account may not see it. */
  storages: Storage[] | undefined
}

/** What the entities seen show of one field. */
interface SeenField {
  items: FieldItem[]
  /** In how many entities it is. */
  count: number
  isReference: boolean
}

/** The type of what nothing shows. */
const UNKNOWN = 'unknown'

/** What core REST shows of Drupal's types of fields, as long as no entity has a value. */
const OF_STORAGE: Readonly<Record<string, string>> = {
  boolean: 'Value<boolean>',
  datetime: 'Value<string>',
  daterange: '{ value: string; end_value?: string | null }',
  decimal: 'Value<string>',
  email: 'Value<string>',
  float: 'Value<number>',
  integer: 'Value<number>',
  link: '{ uri: string; title?: string | null; options?: unknown }',
  list_float: 'Value<number>',
  list_integer: 'Value<number>',
  list_string: 'Value<string>',
  string: 'Value<string>',
  string_long: 'Value<string>',
  telephone: 'Value<string>',
  text: '{ value: string; format?: string | null; processed?: string | null }',
  text_long: '{ value: string; format?: string | null; processed?: string | null }',
  timestamp: 'Time'
}

/** The properties without which there is no item, besides those that the content model names. */
const MAIN = ['value', 'uri']

/** What each item of a reference has, as Reference has it. */
const OF_REFERENCE = ['target_id', 'target_type', 'target_uuid', 'url']

/** The fields of a bundle, as core REST has them, in the order in which entities show them. */
export function fieldTypes(seen: Seen): FieldType[] {
  const fields = seenFields(seen)
  return [...fields].map(([name, field]) => {
    const item = itemType(name, field, seen)
    return {
      name,
      item,
      isUnknown: item === UNKNOWN,
      isOptional: field.count < seen.rows.length
    }
  })
}

function seenFields({ rows, model }: Seen): Map<string, SeenField> {
  const fields = new Map<string, SeenField>()
  for (const row of rows) {
    const references = new Set(
      Object.keys(row.relationships ?? {}).map((name) => internalName(model, name))
    )
    for (const [name, items] of Object.entries<EditionJson[string]>(read(row, model))) {
      const field = fields.get(name) ?? { items: [], count: 0, isReference: false }
      fields.set(name, field)
      field.items.push(...items.filter(isObject))
      field.count++
      field.isReference ||= references.has(name)
    }
  }
  return fields
}

function itemType(name: string, field: SeenField, seen: Seen): string {
  const { model, bundle, storages } = seen
  if (name === model.keys.bundle) return `Reference<${literal(bundle)}>`
  if (model.rawFields.includes(name)) return 'Record<string, unknown>'
  if (model.timestampFields.includes(name)) return 'Time'
  if (field.isReference) return referenceType(name, field, model)
  const storage = storages?.find((storage) => storage.field === name)?.type ?? ''
  if (field.items.length === 0) return OF_STORAGE[storage] ?? keyType(name, model)
  return valueType(field.items, model.mainProperty[name])
}

/** What the keys of an entity type hold, where no entity has a value in them. */
function keyType(name: string, { keys }: ContentModel): string {
  if (name === keys.label || name === keys.langcode) return 'Value<string>'
  return name === keys.published || name === keys.defaultLangcode ? 'Value<boolean>' : UNKNOWN
}

/** @param main the property that the content model names */
function valueType(items: FieldItem[], main?: string): string {
  const members = membersOf(items)
  const names = [...members.keys()]
  const mainName = main ?? MAIN.find((name) => members.has(name))
  if (names.length === 1 && mainName === 'value') return `Value<${members.get('value')!}>`
  return `{ ${names.map((name) => memberText(name, members.get(name)!, name === mainName)).join('; ')} }`
}

function referenceType(name: string, { items }: SeenField, model: ContentModel): string {
  const members = membersOf(items)
  const seen = members.get('target_id')?.replace(' | null', '')
  const holds = model.references[name]
  const isContent = holds !== undefined && Object.hasOwn(model.idKeys, holds)
  const id =
    seen === undefined || seen === UNKNOWN ? (isContent ? 'number' : 'number | string') : seen
  const reference = id === 'number' ? 'Reference' : `Reference<${id}>`
  const more = [...members].filter(([member]) => !OF_REFERENCE.includes(member))
  if (more.length === 0) return reference
  return `${reference} & { ${more.map(([member, type]) => memberText(member, type, false)).join('; ')} }`
}

/** The types of the members of items, as far as they have been seen. */
function membersOf(items: FieldItem[]): Map<string, string> {
  const types = new Map<string, Set<string>>()
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      types.set(name, (types.get(name) ?? new Set()).add(typeName(value)))
    }
  }
  return new Map([...types].map(([name, seen]) => [name, unionOf(seen)]))
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? UNKNOWN : typeof value
}

function unionOf(types: Set<string>): string {
  const names = [...types].filter((name) => name !== 'null').sort()
  if (names.length === 0 || names.includes(UNKNOWN)) return UNKNOWN
  return [...names, ...(types.has('null') ? ['null'] : [])].join(' | ')
}

/** Other entities may lack any property but the main one, or have null in it. */
function memberText(name: string, type: string, isMain: boolean): string {
  if (isMain) return `${nameText(name)}: ${type}`
  return `${nameText(name)}?: ${type === UNKNOWN || type.endsWith(' | null') ? type : `${type} | null`}`
}

/** A machine name as a type. */
function literal(name: string): string {
  return /^[\w.-]+$/.test(name) ? `'${name}'` : JSON.stringify(name)
}

/** A name as a member of an interface. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)
}
