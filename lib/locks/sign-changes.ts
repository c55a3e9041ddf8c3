import { Failure } from '../errors.ts'
import { REMOVE_AT } from '../table/definition.ts'
import { isNothing } from '../table/expression.ts'
import type { StoredValue } from '../table/item.ts'
import { momentNow, type LockContext } from './context.ts'
import { isStill, recordKey, tombstoneOf } from './record.ts'
import type { Entity } from './schemas.ts'
import {
  signsKey,
  standingSigns,
  type SignBatch,
  type SignEdit,
  type SignQueue,
  type StoredSign
} from './signs.ts'

/** How often a change is tried that meets other changes of the same entity. */
const ATTEMPTS = 20
const LONGEST_PAUSE_MS = 50

/**
 * Writes the signs that `edit` makes of those that stand, unless these are the same. All signs of
 * one kind of an entity are in one record, which has the form of a tombstone. Whatever reads or
 * writes locks leaves it alone. Changes that come while this instance writes others of the same
 * entity wait, and are then written together. So fifty users who come in one moment cost a write or
 * two, and two instances seldom write the record at once.
 * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED; what `edit` throws
 */
export async function changeSigns<Sign extends StoredSign>(
  context: LockContext,
  queue: SignQueue<Sign>,
  entity: Entity,
  edit: SignEdit<Sign>
): Promise<void> {
  const name = recordKey(context.environment, entity)
  const { edits, refusals } = queue.waiting.get(name) ?? nextBatch(context, queue, name)
  const index = edits.push(edit) - 1
  const refusal = (await refusals)[index]
  if (refusal) throw refusal
}

/** A batch that begins when the one before it has ended. */
function nextBatch<Sign extends StoredSign>(
  context: LockContext,
  queue: SignQueue<Sign>,
  name: string
): SignBatch<Sign> {
  const { waiting, ends } = queue
  const edits: Array<SignEdit<Sign>> = []
  const refusals = Promise.resolve(ends.get(name)).then(() => {
    waiting.delete(name)
    return writeSigns(context, queue, name, edits)
  })
  const end = refusals
    .catch(() => {})
    .then(() => {
      if (ends.get(name) === end) ends.delete(name)
    })
  const batch = { edits, refusals }
  waiting.set(name, batch)
  ends.set(name, end)
  return batch
}

/** @returns what each of the edits has thrown */
async function writeSigns<Sign extends StoredSign>(
  context: LockContext,
  queue: SignQueue<Sign>,
  name: string,
  edits: Array<SignEdit<Sign>>,
  count = 1
): Promise<unknown[]> {
  const { table, time } = context
  const { kind } = queue
  const key = signsKey(kind, name)
  const record = await table.get(key)
  const present = standingSigns(record, kind, momentNow(context))
  const { next, refusals } = applyEdits(present, edits)
  const isSame = next.length === present.length && next.every((sign) => present.includes(sign))
  if (isSame) return refusals

  const version = context.nextVersion(record?.['version'])
  const item = {
    ...tombstoneOf(key, 0, version),
    version,
    [kind.member]: next.map((sign) => new Map<string, StoredValue>(Object.entries(sign))),
    [REMOVE_AT]: Math.max(momentNow(context).now, ...next.map(({ until }) => until))
  }
  const { done } = await table.claim(item, record ? isStill(record) : isNothing())
  if (done) return refusals
  if (count === ATTEMPTS) {
    throw new Failure('STORE_UNAVAILABLE', kind.busy, { headers: { 'retry-after': '1' } })
  }
  await time.wait(time.random() * LONGEST_PAUSE_MS)
  return writeSigns(context, queue, name, edits, count + 1)
}

/** The signs after some edits, of which one that throws changes nothing. */
function applyEdits<Sign>(
  present: Sign[],
  edits: Array<SignEdit<Sign>>
): { next: Sign[]; refusals: unknown[] } {
  const refusals: unknown[] = []
  let next = present
  for (const [index, edit] of edits.entries()) {
    try {
      next = edit(next)
    } catch (error) {
      refusals[index] = error
    }
  }
  return { next, refusals }
}
