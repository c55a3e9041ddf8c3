import { scalarText } from '../../../lib/drupal/document.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { EditionJson, FieldItem } from '../../../lib/editions/translate/edition-json.ts'
import type { EditionText } from '../../../lib/editions/translate/texts.ts'
import type { LockView } from '../../../lib/locks/schemas.ts'
import {
  ANSWER_MAX,
  fittingRows,
  overviewOf,
  portionOf,
  shortened,
  sizeOf,
  sizeUpTo,
  valueAt
} from './answer-size.ts'
import { wrongArguments } from './arguments-check.ts'
import { lockRow } from './lock-rows.ts'
import type { ToolCall } from './tool.ts'

/** What locks, help texts and titles may take of an answer, in bytes each. */
const LOCKS_MAX = 4500
const HELP_MAX = 4000
const TITLES_MAX = 7000

/** A field of more bytes is left out of an overview, however much room there is. */
const FIELD_MAX = 4000

/** For `more` and what else stands beside the values. */
const SPARE = 500

/** How many names of fields a refusal has. */
const NAMES_MAX = 100

/** Which part is read. */
export interface PartArguments {
  field?: string
  from?: number
}

/** An entity that was read. */
interface Subject {
  text: EditionText
  entityType: string
  model: ContentModel
  /** Its fields that hold articles in an order. */
  orders: string[]
}

/**
 * An edition or an article as agents are shown it: as many whole fields as fit, or a part of one,
 * with the locks on it.
 * @returns `more` has the arguments that read what is left; `locks` is null while the store is away
 * @throws {ToolRefusal} BAD_REQUEST for a field that is not there
 */
export async function entityAnswer(
  call: ToolCall,
  subject: Subject,
  { field, from = 0 }: PartArguments
): Promise<object> {
  const { text, orders } = subject
  const entity = JSON.parse(text.json) as EditionJson
  const head = {
    id: text.id,
    uuid: text.uuid,
    tag: text.etag,
    ...(await locksOn(call, subject, field && fieldOf(field))),
    ...ordersIn(entity, orders)
  }
  const room = ANSWER_MAX - SPARE - sizeOf(head)
  return {
    ...head,
    ...(field === undefined
      ? fieldsOf(entity, subject, from, room)
      : await partOf(call, entity, subject, { field, from }, room))
  }
}

/** The name of the field that a path is in. */
function fieldOf(path: string): string {
  return path.split('/', 1)[0]!.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The locks on an entity, or on one field of it. */
async function locksOn(
  { request, services, agent }: ToolCall,
  { text: { id, uuid }, entityType }: Subject,
  field: string | undefined
): Promise<object> {
  const views = await services.boards.ofRows({ rows: [{ id, uuid }], entityType }, (entity) =>
    request.may('view', entity)
  )
  if (views === null) return { locks: null }
  const locks = views[uuid]!.filter(isOn(field)).map((lock) =>
    lockRow(lock, agent?.uid ?? request.uid)
  )
  const shown = fittingRows(locks, LOCKS_MAX)
  const left = locks.length - shown.length
  return { locks: shown, ...(left > 0 && { moreLocks: left }) }
}

function isOn(field: string | undefined): (lock: LockView) => boolean {
  return ({ fieldName }) => field === undefined || fieldName === field
}

/** How many articles the running orders have. */
function ordersIn(entity: EditionJson, fields: string[]): object {
  const orders = fields
    .filter((field) => Object.hasOwn(entity, field))
    .map((field) => ({ field, articles: entity[field]!.length }))
  return orders.length > 0 ? { orders } : {}
}

/** As many whole fields as fit, with their help texts. */
function fieldsOf(entity: EditionJson, { model }: Subject, from: number, room: number): object {
  const helpRoom = Math.min(sizeUpTo(model.fieldConfig, HELP_MAX), HELP_MAX)
  const { members, more } = overviewOf(entity, {
    from,
    room: room - helpRoom,
    memberMax: FIELD_MAX
  })
  const help = helpFor(Object.keys(members), model)
  return { fields: members, ...help, ...(more.length > 0 && { more }) }
}

/** What the content model has of the configuration of these fields: label, help text, required, group. */
function helpFor(names: string[], { fieldConfig }: ContentModel): object {
  const rows = names
    .filter((name) => Object.hasOwn(fieldConfig, name))
    .map((name) => [name, fieldConfig[name]!] as const)
  const help = Object.fromEntries(fittingRows(rows, HELP_MAX))
  return rows.length > 0 ? { help } : {}
}

/** One field, or what a path in it leads to, from an item or a character on. */
async function partOf(
  call: ToolCall,
  entity: EditionJson,
  { text, model, orders }: Subject,
  { field, from }: { field: string; from: number },
  room: number
): Promise<object> {
  const value = valueAt(entity, field)
  if (value === undefined) throw unknownField(entity)
  const help = helpFor([fieldOf(field)], model)
  const isOrder = orders.includes(field)
  const portion = portionOf(value, {
    path: field,
    from,
    room: room - sizeOf(help) - sizeOf(field) - (isOrder ? TITLES_MAX : 0)
  })
  return {
    ...help,
    field,
    from,
    of: lengthOf(value),
    value: portion.value,
    ...(isOrder && { titles: await titlesOf(call, text.uuid, portion.value as FieldItem[]) }),
    ...(portion.rest.length > 0 && { more: portion.rest })
  }
}

function unknownField(entity: EditionJson) {
  const allowed = Object.keys(entity)
    .slice(0, NAMES_MAX)
    .map((name) => shortened(name))
  return wrongArguments([
    { argument: 'field', problem: 'There is no such field, or you may not see it', allowed }
  ])
}

/** How many items or characters there are in all. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 1
}

/** The titles of articles by their uuids, as far as the caller may see them. */
async function titlesOf(
  { request, services }: ToolCall,
  uuid: string,
  items: FieldItem[]
): Promise<Record<string, string>> {
  const { labels } = await services.editions.labels(uuid, request.caller)
  const rows = items
    .map((item) => scalarText(item['target_uuid']))
    .filter((target) => Object.hasOwn(labels, target))
    .map((target) => [target, shortened(labels[target]!)] as const)
  return Object.fromEntries(fittingRows(rows, TITLES_MAX))
}
