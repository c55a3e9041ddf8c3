import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../lib/drupal/document.ts'
import { lockedAs } from '../../../lib/boards/entities.ts'
import { inLanguage, languageOf } from '../../../lib/boards/names.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { EditionJson, FieldItem } from '../../../lib/editions/translate/edition-json.ts'
import { matches } from '../../../lib/editions/translate/etag.ts'
import type { Entity, LockView } from '../../../lib/locks/schemas.ts'
import { wrongArguments } from './arguments-check.ts'
import { lockRow } from './lock-rows.ts'
import { ToolRefusal } from './refusals.ts'
import type { WritingCall } from './tool.ts'

/** An edition as it is now. */
interface ReadEdition {
  edition: EditionJson
  /** What its locks are on. */
  entity: Entity
  tag: string
}

/** A field of an edition as it is now. */
export interface EditionField extends Omit<ReadEdition, 'edition'> {
  /** Whatever else its locks may be on. */
  names: Entity[]
  items: FieldItem[]
}

/** Names of fields that publish an edition, now or later, whatever a content model says. */
const PUBLISHING = ['moderation_state', 'publish_on', 'unpublish_on']

const NOT_PUBLISHED = {
  message: 'This tool does not publish, unpublish or close an edition. Nothing was saved.',
  next: 'Use publish_edition or close_edition if you have them; else ask the person you work for to do it.'
}

/**
 * Refuses the fields that publish, unpublish or close an edition: people do that, or the tools
 * that MCP_ALLOW names.
 * @throws {Failure} FORBIDDEN
 */
export function refusePublishing({ keys, closing }: ContentModel, field: string): void {
  const refused = [keys.published, closing.field, ...PUBLISHING]
  if (!refused.includes(field)) return
  throw new ToolRefusal('FORBIDDEN', NOT_PUBLISHED)
}

/**
 * Reads an edition that this agent's user may edit.
 * @throws {Failure} NOT_FOUND; what `demandLock` throws
 */
export async function readToEdit(
  { request, services, model }: WritingCall,
  id: string
): Promise<ReadEdition> {
  const { json, etag: tag } = await services.editions.read(id, request.caller)
  const edition = JSON.parse(json) as EditionJson
  const entity = lockedAs(edition, model)
  await request.demandLock('edit', entity)
  return { edition, entity, tag }
}

/**
 * Reads a field of an edition that this agent's user may edit.
 * @throws {Failure} as `readToEdit`; BAD_REQUEST for a field that the edition does not have, or does
 *   not show to the caller
 */
export async function readField(
  call: WritingCall,
  id: string,
  field: string
): Promise<EditionField> {
  const { edition, entity, tag } = await readToEdit(call, id)
  if (!Object.hasOwn(edition, field)) {
    throw wrongArguments([
      { argument: 'field', problem: 'The edition has no such field', allowed: Object.keys(edition) }
    ])
  }
  return { entity, names: lockNames(edition, call.model), tag, items: edition[field]! }
}

/** Where the save of an edition looks for locks: under both of its names, in its language. */
function lockNames(edition: EditionJson, model: ContentModel): Entity[] {
  return (['id', 'uuid'] as const).flatMap((lockIds) =>
    inLanguage(lockedAs(edition, { ...model, lockIds }), languageOf(edition, model), model)
  )
}

/**
 * The items of a field from what an agent gives: the list of them, or the value of its only item,
 * which keeps the format of its text and whatever else it has.
 * @throws {Failure} BAD_REQUEST for one value of a field that has several
 */
export function itemsFor(
  value: unknown,
  field: string,
  { items }: EditionField,
  model: ContentModel
): unknown {
  if (value === null || Array.isArray(value)) return value
  if (items.length > 1) {
    throw wrongArguments([
      { argument: 'value', problem: 'The field has several items: give all of them, as a list' }
    ])
  }
  const main = model.mainProperty[field] ?? 'value'
  const [item] = items
  if (!item || !Object.hasOwn(item, main)) return [value]
  const { processed: _processed, summary_processed: _summary, ...properties } = item
  return [{ ...properties, [main]: value }]
}

/** A text that is kept with the lock: what the desk keeps there too, where it is one value. */
export function keptText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What is said to who only asks what a save would come to. */
export const CHECK_NOTE =
  'Nothing was written. Drupal validates on the real write alone, and others may save before it.'

/**
 * What Quoin knows of a save that was not made: whether the tag is still that of the edition, and
 * who holds the field.
 * @param version of the agent's own lock, which is not in the way
 */
export async function foresee(
  { services, agent }: WritingCall,
  { names, tag }: EditionField,
  expected: { field: string; tag: string | undefined; version: string | undefined },
  isChanged: boolean
) {
  const locks = await services.locks.view(names)
  const inTheWay = locks.filter((lock) => isInTheWay(lock, expected))
  const isTagCurrent = expected.tag === undefined || matches(expected.tag, tag)
  const outcome = !isTagCurrent || inTheWay.length > 0 ? 'refused' : isChanged ? 'saved' : 'same'
  return {
    outcome,
    isTagCurrent,
    tag,
    heldBy: inTheWay.map((lock) => lockRow(lock, agent.uid)),
    note: CHECK_NOTE
  }
}

function isInTheWay(
  { fieldName, version }: LockView,
  expected: { field: string; version: string | undefined }
): boolean {
  return fieldName === expected.field && (version === undefined || version !== expected.version)
}

/** Whether the items are as the edition has them, as far as their members are given. */
export function isSame(stored: FieldItem[], given: unknown): boolean {
  const items = (given ?? []) as unknown[]
  return (
    stored.length === items.length && items.every((item, index) => isSameItem(stored[index]!, item))
  )
}

function isSameItem(stored: FieldItem, given: unknown): boolean {
  if (!isObject(given)) return Object.values(stored)[0] === given
  return Object.entries(given).every(([name, value]) => isDeepStrictEqual(stored[name], value))
}
