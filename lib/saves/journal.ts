import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { REMOVE_AT } from '../table/definition.ts'
import type { ContentModel } from '../editions/model.ts'
import type { Author, Recorder, SaveOutcome } from '../editions/save/recorder.ts'
import { instant } from '../editions/translate/canonical.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { createAnswerMemory, type AnswerMemory } from '../http/answer-memory.ts'
import { scalarText } from '../drupal/document.ts'
import { createDeadline, measured } from '../locks/bounds.ts'
import { all, any, condition, expressionOf, namesOf, rule } from '../locks/expression.ts'
import { storedAgain, type StoredValue } from '../locks/item.ts'
import { isNothing, type Item, type StoredItem } from '../locks/record.ts'
import { createLockTable } from '../locks/table.ts'
import { createVersions } from '../locks/version.ts'
import { boundFields, pack, unpack, type Fields } from './journal-values.ts'

const DAY = 86_400

/** How long the store is left alone after it failed, in milliseconds. */
const REST_MS = 5000

/** For how many editions it is remembered that saves have no entry. */
const MISSED_MAX = 1000

/** What an edition looked like, to tell whether it is still the same. */
const EditionState = Type.Object({
  /** By its entity tag, which belongs to a caller. */
  etag: Type.String(),
  /** By the time of its last change, in milliseconds since 1970. */
  changed: Type.Optional(Type.Number()),
  language: Type.Optional(Type.String())
})
export type EditionState = Static<typeof EditionState>

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
    Type.Literal('takeover')
  ]),
  outcome: Type.Union([Type.Literal('saved'), Type.Literal('refused'), Type.Literal('uncertain')]),
  before: Type.Optional(EditionState),
  after: Type.Optional(EditionState),
  /** How many saves before it have no entry, as far as the instance knows. */
  missed: Type.Optional(Type.Number()),
  /** Of a takeover: whose lock it was. */
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

export interface JournalDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** What there is for the large lists of all callers. */
  memory?: AnswerMemory
  /** How long an entry is kept. */
  days: number
  model: ContentModel
  /** The store's clock, in milliseconds since 1970. */
  now: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready: () => Promise<void> | undefined
  /** Hears why saves go on without entries. */
  warn: (failure: Error) => void
  /** Milliseconds that no setting of a clock changes. */
  monotonic?: () => number
  wait?: (ms: number) => Promise<unknown>
  random?: () => number
}

export type Journal = ReturnType<typeof createJournal>

const isUnsettled = expressionOf(
  any(rule('attribute_not_exists(#key)'), all(rule('#outcome = :uncertain')))
)
const KEYS = '#key = :key'
const KEYS_BEFORE = '#key = :key AND #fieldName < :before'

/**
 * The saves that went through Quoin, in the table of locks. Each edition has a key, and each save an entry whose sort key
 * begins with the time. The journal writes an entry as `uncertain` before it sends the save, and again with the outcome
 * before it answers the caller. While the table is away saves go on without entries. The next entry says how many.
 */
export function createJournal({
  client,
  table: name,
  environment,
  memory = createAnswerMemory(),
  days,
  model,
  now,
  ready,
  warn,
  monotonic = () => performance.now(),
  wait = sleep,
  random = Math.random
}: JournalDeps) {
  const table = createLockTable({ client, table: name, wait, random })
  const nextVersion = createVersions(now)
  const gaps = new Map<string, number>()
  let restsUntil = -Infinity

  const keyOf = (id: string) => `${environment}#journal-${id}`

  /** Writes; false where the store is away. */
  async function write(
    item: () => StoredItem | Promise<StoredItem>,
    condition = isNothing()
  ): Promise<boolean> {
    if (monotonic() < restsUntil) return false
    try {
      await ready()
      await table.put(await item(), condition)
      return true
    } catch (error) {
      restsUntil = monotonic() + REST_MS
      warn(error as Error)
      return false
    }
  }

  const record: Recorder = async ({ kind, uuid, by, before, fields, isShared }) => {
    let intent: StoredItem | undefined
    const values = pack(boundFields(fields))
    const isWritten =
      (isShared || kind === 'create') &&
      (await write(
        async () =>
          (intent = {
            ...newItem(uuid),
            kind,
            by: mapOf({ uid: by.uid, name: by.name }),
            outcome: 'uncertain',
            ...(before && { before: mapOf({ ...stateOf(before.edition, before.etag) }) }),
            missed: gaps.get(uuid) ?? 0,
            values: await values
          })
      ))
    if (isWritten) gaps.delete(uuid)
    return async (outcome) => {
      if (outcome.outcome === 'uncertain' && isWritten) return
      if (isWritten) {
        await conclude(
          intent!,
          outcome.outcome,
          'etag' in outcome ? stateOf(outcome.edition, outcome.etag) : undefined
        )
      } else if (outcome.outcome !== 'refused') miss(uuid)
    }
  }

  async function conclude(
    item: StoredItem,
    outcome: SaveOutcome['outcome'],
    after: EditionState | undefined
  ): Promise<void> {
    await write(
      () => ({ ...item, outcome, ...(after && { after: mapOf({ ...after }) }) }),
      condition(isUnsettled, { ':uncertain': 'uncertain' })
    )
  }

  /** Notes that a save has no entry. Beyond the limit it forgets the edition that was noted first. */
  function miss(uuid: string): void {
    const count = gaps.get(uuid) ?? 0
    gaps.delete(uuid)
    gaps.set(uuid, count + 1)
    const [oldest] = gaps.keys()
    if (gaps.size > MISSED_MAX) gaps.delete(oldest!)
  }

  function newItem(id: string) {
    return {
      env_entityType_entityId: keyOf(id),
      fieldName: nextVersion(),
      at: Math.floor(now()),
      [REMOVE_AT]: Math.floor(now() / 1000) + days * DAY
    }
  }

  /** Notes that a lock on an edition was taken over. While the store is away a takeover has no entry. */
  async function takenOver(id: string, { fieldName, from, by }: Takeover): Promise<void> {
    await write(async () => ({
      ...newItem(id),
      kind: 'takeover',
      by: mapOf({ ...by }),
      from: mapOf({ ...from }),
      outcome: 'saved',
      values: await pack({ fields: { [fieldName]: {} } })
    }))
  }

  /** What an edition looks like. */
  function stateOf(edition: EditionJson, etag: string): EditionState {
    const changed =
      model.keys.changed === null ? NaN : instant(edition[model.keys.changed]?.[0]?.['value'])
    const language =
      model.keys.langcode === null ? '' : scalarText(edition[model.keys.langcode]?.[0]?.['value'])
    return {
      etag,
      ...(!Number.isNaN(changed) && { changed }),
      ...(language !== '' && { language })
    }
  }

  /**
   * The newest entries under an id, or the newest before one, at most `limit`; the newest first. Items of another form than this
   * release knows are left out.
   * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/locks/bounds.ts
   */
  async function page(
    id: string,
    { limit, before }: { limit: number; before?: string | undefined }
  ): Promise<Entry[]> {
    await ready()
    const keys = before === undefined ? KEYS : KEYS_BEFORE
    const seconds = Math.floor(now() / 1000)
    const query = {
      ConsistentRead: true,
      ScanIndexForward: false,
      Limit: limit,
      KeyConditionExpression: keys,
      ExpressionAttributeNames: namesOf(keys),
      ExpressionAttributeValues: {
        ':key': keyOf(id),
        ...(before !== undefined && { ':before': before })
      }
    }
    const { Items } = await measured(memory, 'ask for fewer entries (limit)', (measure) =>
      table.query(query, {
        inTime: createDeadline(monotonic),
        measure,
        isWanted: (item) => isKept(item, seconds) && isEntry(item),
        most: limit
      })
    )
    return Promise.all(Items.filter(isEntry).slice(0, limit).map(entryOf))
  }

  /** One entry. */
  async function find(id: string, entry: string): Promise<Entry | undefined> {
    await ready()
    const item = await table.get({ env_entityType_entityId: keyOf(id), fieldName: entry })
    return item && isKept(item, Math.floor(now() / 1000)) && isEntry(item)
      ? entryOf(item)
      : undefined
  }

  /** Records the outcome of a save whose entry is uncertain, unless somebody else has done so. */
  async function settle(id: string, { id: entry, outcome, after }: Entry): Promise<void> {
    const key = { env_entityType_entityId: keyOf(id), fieldName: entry }
    const item = await table.get(key)
    if (item) await conclude({ ...storedAgain(item), ...key }, outcome, after)
  }

  return { record, takenOver, page, find, settle, stateOf }
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
