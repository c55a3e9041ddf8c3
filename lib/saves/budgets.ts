import { Type, type Static } from '@sinclair/typebox'
import { Failure, texts } from '../errors.ts'
import {
  createLeased,
  createRecordContext,
  leasedRecord,
  membersIn,
  replaceLeased,
  type LeasedKind,
  type RecordContext,
  type RecordDeps
} from '../table/lease.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** How often a write is tried to be counted: of many instances that count at once, one succeeds. */
const ATTEMPTS = 20

/** The longest pause between two attempts, in milliseconds. */
const PAUSE_MS = 100

/** What an agent has written: in which minute and on which day since 1970, and how often. */
const WRITES = {
  name: 'writes',
  keptSeconds: 2 * 86_400,
  members: Type.Object({
    minute: Type.Integer(),
    ofMinute: Type.Integer({ minimum: 0 }),
    day: Type.Integer(),
    ofDay: Type.Integer({ minimum: 0 })
  })
} satisfies LeasedKind
type Writes = Static<typeof WRITES.members>

/** How many writes each agent may ask for. */
export interface BudgetLimits {
  perMinute: number
  perDay: number
}

/** More than a person does in a minute, and no more in a day than somebody can look through. */
const BUDGET: BudgetLimits = { perMinute: 30, perDay: 1000 }

export interface BudgetsDeps extends RecordDeps, Partial<BudgetLimits> {}

interface BudgetContext extends RecordContext, BudgetLimits {}

export type Budgets = ReturnType<typeof createBudgets>

/** The writes that agents may ask for, counted by all instances together. */
export function createBudgets({
  perMinute = BUDGET.perMinute,
  perDay = BUDGET.perDay,
  ...deps
}: BudgetsDeps) {
  const context: BudgetContext = { ...createRecordContext(deps), perMinute, perDay }
  return { spend: (uid: string) => spendWrite(context, uid) }
}

/**
 * Counts a write of an agent before it is done. A refused one does not count.
 * @throws {Failure} TOO_MANY_REQUESTS, with when the next minute or day (UTC) begins;
 *   STORE_UNAVAILABLE, STORE_FAILED
 */
async function spendWrite(context: BudgetContext, uid: string): Promise<void> {
  const { table, time } = context
  await time.ready()
  const record = leasedRecord(context, WRITES, uid)
  for (let count = 1; count <= ATTEMPTS; count++) {
    const item = await table.get(record.key)
    const next = withOneMore(context, item && membersIn(WRITES, item))
    const isCounted = item
      ? (await replaceLeased(context, record, item['version'], next, 0)) !== undefined
      : (await createLeased(context, record, next, 0)).done
    if (isCounted) return
    await time.wait(time.random() * PAUSE_MS)
  }
  throw new Failure('STORE_UNAVAILABLE', texts.countedTooOften, { headers: { 'retry-after': '1' } })
}

/** @throws {Failure} TOO_MANY_REQUESTS */
function withOneMore(context: BudgetContext, writes: Writes | undefined): Writes & Members {
  const { time, perMinute, perDay } = context
  const now = time.now()
  const minute = windowAt(now, MINUTE_MS, writes?.minute)
  const day = windowAt(now, DAY_MS, writes?.day)
  const ofMinute = minute === writes?.minute ? writes.ofMinute : 0
  const ofDay = day === writes?.day ? writes.ofDay : 0
  if (ofDay >= perDay) throw tooMany(`${perDay} writes a day`, (day + 1) * DAY_MS - now)
  if (ofMinute >= perMinute) {
    throw tooMany(`${perMinute} writes a minute`, (minute + 1) * MINUTE_MS - now)
  }
  return { minute, ofMinute: ofMinute + 1, day, ofDay: ofDay + 1 }
}

/** What a leased record takes. */
type Members = Record<string, number>

/** The window of a time. Another instance whose clock is ahead may have begun the next one. */
function windowAt(now: number, lengthMs: number, counted: number | undefined): number {
  const window = Math.floor(now / lengthMs)
  return counted === window + 1 ? counted : window
}

function tooMany(budget: string, waitMs: number): Failure {
  const seconds = Math.ceil(waitMs / 1000)
  return new Failure('TOO_MANY_REQUESTS', texts.manyWrites(budget, seconds), {
    headers: { 'retry-after': String(seconds) }
  })
}
