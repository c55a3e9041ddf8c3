import { setTimeout as sleep } from 'node:timers/promises'
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  ResourceNotFoundException,
  UpdateContinuousBackupsCommand,
  UpdateTimeToLiveCommand,
  type TableDescription,
  type TimeToLiveDescription
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import { commandFor } from '../../../lib/package-root.ts'
import { advice, isUnknownOperation, NOT_NEEDED } from './advice.ts'
import { createTable, keysOf, REMOVE_AT, tableDefinition } from '../../../lib/table/definition.ts'

export interface TableAt {
  client: DynamoDBDocumentClient
  /** The table's name. */
  table: string
  /**
   * Whether this is a local or compatible engine, which may do without time to live and backups.
   */
  local: boolean
}

/**
 * How often, and with which pause in milliseconds, backups of a table that was just made are asked
 * for.
 */
const ATTEMPTS = 20
const PAUSE_MS = 3000

/**
 * Makes or completes the lock table, and says step by step what it did or found: the table with
 * on-demand capacity, time to live on `removeAt`, point-in-time recovery. It leaves alone what is
 * right already, and the capacity of an existing table. It changes nothing in a table with other
 * keys.
 */
export async function* provision({
  pauseMs = PAUSE_MS,
  ...at
}: TableAt & { pauseMs?: number }): AsyncGenerator<Diagnosis> {
  const { client, table } = at
  try {
    const description = await describeTable(client, table)
    const problem = description && unusable(table, description)
    if (problem) {
      yield problem
      return
    }
    if (description?.TableStatus !== 'ACTIVE') await createTable(client, table)
    yield ok(
      `table ${table}: ${description ? 'is there' : 'made, with on-demand capacity'}, ${keysOf(description ?? tableDefinition(table))}`
    )
  } catch (error) {
    yield advice(`table ${table}`, error as Error)
    return
  }
  yield await step('time to live', at, () => timeToLive(at))
  yield await step('point-in-time recovery', at, () => recovery(at, pauseMs))
}

/** The table as DescribeTable gives it; undefined where it is absent. */
export async function describeTable(
  client: DynamoDBDocumentClient,
  table: string
): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName: table }))).Table
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined
    throw error
  }
}

/**
 * What makes a table useless as the lock table: other keys, which a table cannot change, or its
 * end.
 */
export function unusable(table: string, description: TableDescription): Diagnosis | undefined {
  const keys = keysOf(tableDefinition(table))
  if (keysOf(description) !== keys) {
    return wrong(
      `table ${table}: it has ${keysOf(description)}; wanted: ${keys}`,
      'name another table in DATA_STATE_TABLE; nothing was changed in this one'
    )
  }
  if (description.TableStatus === 'DELETING') {
    return wrong(`table ${table}: it is being deleted`, 'try again when it is gone')
  }
  return undefined
}

/** The table's time to live as it is. */
export async function describeTimeToLive({
  client,
  table
}: TableAt): Promise<TimeToLiveDescription> {
  return (await client.send(new DescribeTimeToLiveCommand({ TableName: table })))
    .TimeToLiveDescription!
}

/** The diagnosis of the time to live; none if it is off. */
export function judgedTimeToLive({
  TimeToLiveStatus: status,
  AttributeName: attribute
}: TimeToLiveDescription): Diagnosis | undefined {
  if (status === 'DISABLING') {
    return wrong(
      'time to live: it is being turned off',
      'try again in an hour, which is how long DynamoDB takes'
    )
  }
  if (status === 'DISABLED') return undefined
  if (attribute === REMOVE_AT) return ok(`time to live: is on, by ${REMOVE_AT}`)
  return wrong(
    `time to live: it goes by ${attribute}`,
    `turn it off if nothing else needs it, and an hour later run ${commandFor('table')}, which turns it on for ${REMOVE_AT}`
  )
}

async function timeToLive(at: TableAt): Promise<Diagnosis> {
  const verdict = judgedTimeToLive(await describeTimeToLive(at))
  if (verdict) return verdict
  await at.client.send(
    new UpdateTimeToLiveCommand({
      TableName: at.table,
      TimeToLiveSpecification: { Enabled: true, AttributeName: REMOVE_AT }
    })
  )
  return ok(`time to live: turned on, by ${REMOVE_AT}`)
}

async function recovery({ client, table }: TableAt, pauseMs: number): Promise<Diagnosis> {
  const { ContinuousBackupsDescription: backups } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName: table })
  )
  if (backups!.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === 'ENABLED') {
    return ok('point-in-time recovery: is on')
  }
  await turnOnRecovery(client, table, pauseMs, ATTEMPTS)
  return ok('point-in-time recovery: turned on')
}

/** For some seconds after a table was made its backups are not available. */
async function turnOnRecovery(
  client: DynamoDBDocumentClient,
  table: string,
  pauseMs: number,
  attempts: number
): Promise<void> {
  try {
    await client.send(
      new UpdateContinuousBackupsCommand({
        TableName: table,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true }
      })
    )
  } catch (error) {
    if ((error as Error).name !== 'ContinuousBackupsUnavailableException' || attempts === 1) {
      throw error
    }
    await sleep(pauseMs)
    await turnOnRecovery(client, table, pauseMs, attempts - 1)
  }
}

async function step(
  what: string,
  { local }: TableAt,
  work: () => Promise<Diagnosis>
): Promise<Diagnosis> {
  try {
    return await work()
  } catch (error) {
    return local && isUnknownOperation(error)
      ? unchecked(what, NOT_NEEDED)
      : advice(what, error as Error)
  }
}
