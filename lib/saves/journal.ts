import { hash } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { LRUCache } from 'lru-cache'
import type { ContentModel } from '../editions/model.ts'
import type { Author, Recorder, Save, SaveOutcome } from '../editions/save/recorder.ts'
import { createAnswerMemory, type AnswerMemory } from '../http/answer-memory.ts'
import { createDeadline, measured } from '../table/bounds.ts'
import { REMOVE_AT } from '../table/definition.ts'
import { all, any, condition, expressionOf, isNothing, namesOf, rule } from '../table/expression.ts'
import { storedAgain, type Item, type StoredItem, type StoredValue } from '../table/item.ts'
import { createRecordContext, type RecordContext, type RecordDeps } from '../table/lease.ts'
import { versionAt } from '../table/version.ts'
import { EditionState, stateOf } from './edition-state.ts'
import { boundFields, pack, unpack, type Fields } from './journal-values.ts'

const DAY = 86_400

/** How long a notice is remembered, in seconds: longer than the module sends it again. */
const NOTICE_SECONDS = 8 * DAY

/** How long the store is left alone after it failed, in milliseconds. */
const REST_MS = 5000

/**
 * For how many editions it is remembered that saves have no entry; beyond it the least recently
 * saved are forgotten.
 */
const MISSED_MAX = 1000

const StoredAuthor = Type.Object({
  uid: Type.Optional(Type.String()),
  name: Type.Optional(Type.String())
})

/** An entry as the table has it. */
const StoredEntry = Type.Object({
  /** Milliseconds since 1970. */
  at: Type.Number(),
  by: StoredAuthor,
  kind: Type.Union([
    Type.Literal('create'),
    Type.Literal('update'),
    Type.Literal('order'),
    Type.Literal('close'),
    Type.Literal('restore'),
    Type.Literal('takeover'),
    Type.Literal('proposed'),
    Type.Literal('taken'),
    Type.Literal('discarded'),
    Type.Literal('withdrawn'),
    Type.Literal('outside')
  ]),
  outcome: Type.Union([Type.Literal('saved'), Type.Literal('refused'), Type.Literal('uncertain')]),
  before: Type.Optional(EditionState),
  after: Type.Optional(EditionState),
  /** How many saves before it have no entry, as far as the instance knows. */
  missed: Type.Optional(Type.Number()),
  /** Of a takeover: whose lock it was. Of a proposal that was taken or discarded: whose it was. */
  from: Type.Optional(StoredAuthor),
  /** The fields, as `pack` makes them. */
  values: Type.String()
})
type StoredEntry = Static<typeof StoredEntry>

/** An entry, with its fields. */
export interface Entry extends Omit<StoredEntry, 'values' | 'missed'>, Fields {
  id: string
  missed: number
}

/** A lock that somebody has taken over, by force. */
export interface Takeover {
  fieldName: string
  from: Author
  by: Author
}

/** A proposal for a field that somebody has left, taken, discarded or withdrawn. */
export interface ProposalNote {
  kind: 'proposed' | 'taken' | 'discarded' | 'withdrawn'
  fieldName: string
  /** Whose it was, where that is not who took or discarded it. */
  from?: Author | undefined
  by: Author
}

/** A save that Drupal has made without Quoin, as its module tells it. */
export interface SaveOutside {
  /** The id of what is told. It may be told more than once. */
  notice: string
  /** How long ago it was saved, in milliseconds. */
  age: number
  by: Author
  fields: string[]
  language: string
  /** The edition's time of change before and after, in Unix seconds. */
  changed?: { before?: number; after: number } | undefined
}

export interface JournalDeps extends RecordDeps {
  /** The heap that the large answers of all callers may take. */
  memory?: AnswerMemory
  /** How long an entry is kept. */
  days: number
  model: ContentModel
  /** Hears why saves go on without entries. */
  warn: (failure: Error) => void
}

export interface JournalContext extends RecordContext {
  memory: AnswerMemory
  days: number
  model: ContentModel
  warn: (failure: Error) => void
  /** How many saves of each edition have no entry, since its last entry. */
  missedSaves: LRUCache<string, number>
  /** Until when nothing is written, since the store failed, by `monotonic`. */
  restsUntil: number
}

export interface Journal {
  record: Recorder
  takenOver(id: string, takeover: Takeover): Promise<void>
  proposal(id: string, note: ProposalNote): Promise<void>
  outside(uuid: string, save: SaveOutside): Promise<void>
  page(id: string, options: PageOptions): Promise<Entry[]>
  find(id: string, entry: string): Promise<Entry | undefined>
  settle(id: string, entry: Entry): Promise<void>
}

export interface PageOptions {
  /** How many entries at most. */
  limit: number
  /** The id of the entry after the newest one. */
  before?: string | undefined
}

const isUnsettled = expressionOf(
  any(rule('attribute_not_exists(#key)'), all(rule('#outcome = :uncertain')))
)
const KEYS = '#key = :key'
const KEYS_BEFORE = '#key = :key AND #fieldName < :before'

/**
 * The saves that went through Quoin, in the lock table. Each edition has a key, and each save an
 * entry whose sort key begins with the time. The journal writes an entry as `uncertain` before it
 * sends the save, and again with the outcome before it answers the caller. While the table is away
 * saves go on without entries. The next entry says how many.
 */
export function createJournal({
  memory = createAnswerMemory(),
  days,
  model,
  warn,
  ...deps
}: JournalDeps): Journal {
  const context: JournalContext = {
    ...createRecordContext(deps),
    memory,
    days,
    model,
    warn,
    missedSaves: new LRUCache({ max: MISSED_MAX }),
    restsUntil: -Infinity
  }
  return {
    record: (save) => recordIntent(context, save),
    takenOver: (id, takeover) => recordTakeover(context, id, takeover),
    proposal: (id, note) => recordNote(context, id, note),
    outside: (uuid, save) => recordOutside(context, uuid, save),
    page: (id, options) => readEntries(context, id, options),
    find: (id, entry) => findEntry(context, id, entry),
    settle: (id, entry) => settleEntry(context, id, entry)
  }
}

/** Writes the entry of a save as uncertain. @returns what writes the outcome: see `Recorder` */
export async function recordIntent(
  context: JournalContext,
  save: Save
): Promise<(outcome: SaveOutcome) => Promise<void>> {
  const isRecorded = save.isShared || save.kind === 'create'
  const intent = isRecorded ? await write(context, () => newSave(context, save)) : undefined
  if (intent) context.missedSaves.delete(save.uuid)
  return (outcome) => recordOutcome(context, save.uuid, intent, outcome)
}

async function newSave(
  context: JournalContext,
  { kind, uuid, by, before, fields }: Save
): Promise<StoredItem> {
  return {
    ...newItem(context, uuid),
    kind,
    by: mapOf({ uid: by.uid, name: by.name }),
    outcome: 'uncertain',
    ...(before && { before: mapOf({ ...stateOf(before.edition, before.etag, context.model) }) }),
    missed: context.missedSaves.get(uuid) ?? 0,
    values: await pack(boundFields(fields))
  }
}

/** @param intent the entry as it was written; undefined where the save has none */
async function recordOutcome(
  context: JournalContext,
  uuid: string,
  intent: StoredItem | undefined,
  outcome: SaveOutcome
): Promise<void> {
  if (!intent) {
    const { missedSaves } = context
    if (outcome.outcome === 'saved' || outcome.outcome === 'uncertain') {
      missedSaves.set(uuid, (missedSaves.get(uuid) ?? 0) + 1)
    }
    return
  }
  if (outcome.outcome === 'uncertain') return
  if (outcome.outcome === 'withdrawn') return withdraw(context, uuid, intent)
  const after =
    'etag' in outcome ? stateOf(outcome.edition, outcome.etag, context.model) : undefined
  await conclude(context, intent, outcome.outcome, after)
}

/**
 * Notes that a lock on an edition was taken over. While the store is away a takeover has no entry.
 */
export function recordTakeover(
  context: JournalContext,
  id: string,
  takeover: Takeover
): Promise<void> {
  return recordNote(context, id, { kind: 'takeover', ...takeover })
}

/** Notes what somebody has done with a lock or a proposal: of which field, and whose it was. */
async function recordNote(
  context: JournalContext,
  id: string,
  {
    kind,
    fieldName,
    from,
    by
  }: Omit<ProposalNote, 'kind'> & { kind: ProposalNote['kind'] | 'takeover' }
): Promise<void> {
  await write(context, async () => ({
    ...newItem(context, id),
    kind,
    by: mapOf({ ...by }),
    ...(from && { from: mapOf({ ...from }) }),
    outcome: 'saved',
    values: await pack({ fields: { [fieldName]: {} } })
  }))
}

/**
 * Notes a save that Drupal has made without Quoin, once for each notice: the first to come says
 * when it was, by the table's clock. An entry that was not written then is written by the next.
 * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED
 */
export async function recordOutside(
  context: JournalContext,
  uuid: string,
  { notice, age, by, fields, language, changed }: SaveOutside
): Promise<void> {
  const { table, time, days, environment, model } = context
  await time.ready()
  const claim = {
    env_entityType_entityId: `${environment}#notice-${notice.toLowerCase()}`,
    fieldName: 'notice',
    at: Math.floor(time.now()) - age,
    [REMOVE_AT]: Math.floor(time.now() / 1000) + NOTICE_SECONDS
  }
  const result = await table.put(claim, isNothing())
  const earlier = result.done ? undefined : await result.readItem()
  const at = Number(earlier?.['at'] ?? claim.at)
  const stateAt = (seconds: number | undefined) =>
    seconds === undefined || model.keys.changed === null
      ? undefined
      : mapOf({ etag: '', changed: seconds * 1000, language })
  const before = stateAt(changed?.before)
  const after = stateAt(changed?.after)
  const item = {
    env_entityType_entityId: keyOf(context, uuid),
    fieldName: versionAt(at) + hash('sha256', notice.toLowerCase(), 'base64url').slice(0, 8),
    at,
    [REMOVE_AT]: Math.floor(at / 1000) + days * DAY,
    kind: 'outside',
    by: mapOf({ uid: by.uid, name: by.name }),
    outcome: 'saved',
    ...(before && { before }),
    ...(after && { after }),
    values: await pack(boundFields(Object.fromEntries(fields.map((field) => [field, {}]))))
  }
  await table.put(item, isNothing())
}

/** Removes the entry of a save that begins again, unless somebody else has settled it. */
async function withdraw(
  { table, missedSaves }: JournalContext,
  uuid: string,
  { env_entityType_entityId: key, fieldName, missed }: StoredItem
): Promise<void> {
  if (Number(missed) > 0) missedSaves.set(uuid, Number(missed))
  const isOpen = condition(isUnsettled, { ':uncertain': 'uncertain' })
  await table.remove({ env_entityType_entityId: key, fieldName }, isOpen).catch(() => {})
}

/** Writes an entry again with its outcome, unless somebody else has done so. */
async function conclude(
  context: JournalContext,
  item: StoredItem,
  outcome: SaveOutcome['outcome'],
  after: EditionState | undefined
): Promise<void> {
  await write(
    context,
    () => ({ ...item, outcome, ...(after && { after: mapOf({ ...after }) }) }),
    condition(isUnsettled, { ':uncertain': 'uncertain' })
  )
}

/** Writes an item. @returns the item; undefined where the store is away */
async function write(
  context: JournalContext,
  newItem: () => StoredItem | Promise<StoredItem>,
  condition = isNothing()
): Promise<StoredItem | undefined> {
  const { table, time } = context
  if (time.monotonic() < context.restsUntil) return undefined
  try {
    await time.ready()
    const item = await newItem()
    await table.put(item, condition)
    return item
  } catch (error) {
    context.restsUntil = time.monotonic() + REST_MS
    context.warn(error as Error)
    return undefined
  }
}

function newItem(context: JournalContext, id: string) {
  const { time, nextVersion, days } = context
  return {
    env_entityType_entityId: keyOf(context, id),
    fieldName: nextVersion(),
    at: Math.floor(time.now()),
    [REMOVE_AT]: Math.floor(time.now() / 1000) + days * DAY
  }
}

function keyOf({ environment }: JournalContext, id: string): string {
  return `${environment}#journal-${id}`
}

/**
 * The newest entries under an id, or the newest before one, at most `limit`; the newest first.
 * Items of another form than this release knows are left out.
 * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/table/bounds.ts
 */
export async function readEntries(
  context: JournalContext,
  id: string,
  { limit, before }: PageOptions
): Promise<Entry[]> {
  const { table, time, memory } = context
  await time.ready()
  const keys = before === undefined ? KEYS : KEYS_BEFORE
  const seconds = Math.floor(time.now() / 1000)
  const query = {
    ConsistentRead: true,
    ScanIndexForward: false,
    Limit: limit,
    KeyConditionExpression: keys,
    ExpressionAttributeNames: namesOf(keys),
    ExpressionAttributeValues: {
      ':key': keyOf(context, id),
      ...(before !== undefined && { ':before': before })
    }
  }
  const { Items } = await measured(memory, 'ask for fewer entries (limit)', (measure) =>
    table.query(query, {
      inTime: createDeadline(time),
      measure,
      isWanted: (item) => isKept(item, seconds) && isEntry(item),
      most: limit
    })
  )
  return Promise.all(Items.filter(isEntry).slice(0, limit).map(entryOf))
}

/** One entry. */
export async function findEntry(
  context: JournalContext,
  id: string,
  entry: string
): Promise<Entry | undefined> {
  const { table, time } = context
  await time.ready()
  const item = await table.get({ env_entityType_entityId: keyOf(context, id), fieldName: entry })
  return item && isKept(item, Math.floor(time.now() / 1000)) && isEntry(item)
    ? entryOf(item)
    : undefined
}

/** Records the outcome of a save whose entry is uncertain, unless somebody else has done so. */
export async function settleEntry(
  context: JournalContext,
  id: string,
  { id: entry, outcome, after }: Entry
): Promise<void> {
  const key = { env_entityType_entityId: keyOf(context, id), fieldName: entry }
  const item = await context.table.get(key)
  if (item) await conclude(context, { ...storedAgain(item), ...key }, outcome, after)
}

/** The time to live may take days to remove an entry. */
function isKept(item: Item, seconds: number): boolean {
  return Number(item[REMOVE_AT]) > seconds
}

function mapOf(members: Record<string, string | number | undefined>): Map<string, StoredValue> {
  return new Map(
    Object.entries(members).filter(
      (member): member is [string, string | number] => member[1] !== undefined
    )
  )
}

/** Whether an item is an entry of a form that this release knows: a later one may write others. */
function isEntry(item: Item): item is Item & StoredEntry {
  return Value.Check(StoredEntry, item)
}

async function entryOf({
  fieldName: id,
  at,
  by,
  kind,
  outcome,
  missed = 0,
  before,
  after,
  from,
  values
}: Item & StoredEntry): Promise<Entry> {
  return {
    id,
    at,
    by,
    kind,
    outcome,
    missed,
    ...(before && { before }),
    ...(after && { after }),
    ...(from && { from }),
    ...(await unpack(values))
  }
}
