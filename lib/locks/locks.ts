import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, GetCommand, PutCommand, QueryCommand, type DynamoDBDocumentClient, type QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { unmarshallOptions } from '../dynamodb/client.ts'
import { reply } from '../dynamodb/failures.ts'
import { Failure } from '../errors.ts'
import { holderOf, isFreeFor, isOwnedBy, recordKey, recordOf, recordsOf } from './record.ts'
import type { Entity, Holder, ListQuery, LockList, LockRecord, LockRequest, ReleaseQuery } from './schemas.ts'

const DELETES_IN_FLIGHT = 10
const ACQUIRE_ATTEMPTS = 3

export interface LocksDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** Milliseconds since 1970, as `Date.now`. */
  now?: () => number
}

export type Acquired = { outcome: 'acquired' } | { outcome: 'held', lock: Holder }

export type Locks = ReturnType<typeof createLocks>

/**
 * The field locks of one environment, kept in a DynamoDB table. Every operation throws a Failure (STORE_UNAVAILABLE,
 * STORE_FAILED) when the store does not do its part.
 */
export function createLocks ({ client, table, environment, now = Date.now }: LocksDeps) {
  const seconds = () => Math.floor(now() / 1000)

  /**
   * Locks a field for a user, or renews the user's own lock: one conditional put, so that of many who try at once
   * exactly one succeeds.
   * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf
   */
  async function acquire (entity: Entity, request: LockRequest): Promise<Acquired> {
    const record = recordOf(recordKey(environment, entity), request, seconds())
    const uid = String(request.userData.uid)
    const put = new PutCommand({
      TableName: table, Item: record, ...isFreeFor(uid), ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
    })
    for (let attempt = 1; attempt <= ACQUIRE_ATTEMPTS; attempt++) {
      try {
        await reply(client.send(put))
        return { outcome: 'acquired' }
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw error
        const lock = error.Item ? unmarshall(error.Item, unmarshallOptions) : await read(entity, request.fieldName)
        // Only an engine that does not tell the holder gets here without one: it let go before the read.
        if (lock && holderOf(lock).userData?.uid !== uid) return { outcome: 'held', lock: holderOf(lock) }
      }
    }
    throw new Failure('STORE_UNAVAILABLE', 'The lock changes hands too fast; try again', { headers: { 'retry-after': '1' } })
  }

  async function read (entity: Entity, fieldName: string): Promise<Record<string, unknown> | undefined> {
    const Key = { env_entityType_entityId: recordKey(environment, entity), fieldName }
    return (await reply(client.send(new GetCommand({ TableName: table, Key, ConsistentRead: true })))).Item
  }

  /**
   * Locks a field for a user, whoever holds it.
   * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf
   */
  async function overwrite (entity: Entity, request: LockRequest): Promise<void> {
    const record = recordOf(recordKey(environment, entity), request, seconds())
    await reply(client.send(new PutCommand({ TableName: table, Item: record })))
  }

  /** The locks of an entity: that of one field, or all but those of one user. Consistent, complete, ordered by field. */
  async function list (entity: Entity, { fieldName, excludeUid }: ListQuery = {}): Promise<LockList> {
    const query = recordsOf(recordKey(environment, entity), fieldName === undefined ? { ...(excludeUid !== undefined && { excludeUid }) } : { fieldName })
    return queryAll(query)
  }

  async function queryAll (query: Omit<QueryCommandInput, 'TableName'>): Promise<LockList> {
    const result: LockList = { Items: [], Count: 0, ScannedCount: 0 }
    let next: Record<string, unknown> | undefined
    do {
      const page = await reply(client.send(new QueryCommand({ TableName: table, ...query, ExclusiveStartKey: next })))
      result.Items.push(...page.Items as LockRecord[])
      result.Count += page.Count!
      result.ScannedCount += page.ScannedCount!
      next = page.LastEvaluatedKey
    } while (next)
    return result
  }

  /**
   * Lets go of a field, whoever holds it; of a field if the user holds it; or of all the user's fields of the entity.
   * What is not there, or has become another's, is left alone.
   * @throws {Failure} BAD_REQUEST without a field and a user; with `details.failed`, the fields that are still locked,
   * when only some could be deleted
   */
  async function release (entity: Entity, { fieldName, uid }: ReleaseQuery): Promise<void> {
    if (fieldName !== undefined) return remove(entity, fieldName, uid)
    if (uid === undefined) throw new Failure('BAD_REQUEST', 'querystring must have fieldName or uid')

    const query = { ...recordsOf(recordKey(environment, entity), { uid }), ProjectionExpression: 'fieldName' }
    const fieldNames = (await queryAll(query)).Items.map((record) => record.fieldName)
    const failed = new Map<string, Failure>()
    let unavailable: Failure | undefined
    const waiting = fieldNames.values()
    await Promise.all(Array.from({ length: DELETES_IN_FLIGHT }, async () => {
      for (const name of waiting) {
        // Once the store has stopped answering, the rest is not tried: each try would cost seconds.
        const failure = unavailable ?? await remove(entity, name, uid).then(() => undefined, (error: Failure) => error)
        if (!failure) continue
        failed.set(name, failure)
        if (failure.code === 'STORE_UNAVAILABLE') unavailable = failure
      }
    }))
    const failure = unavailable ?? failed.values().next().value
    if (failure) {
      const { code, message, cause, headers } = failure
      throw new Failure(code, message, { cause, headers, details: { failed: fieldNames.filter((name) => failed.has(name)) } })
    }
  }

  async function remove (entity: Entity, fieldName: string, uid: string | undefined): Promise<void> {
    const Key = { env_entityType_entityId: recordKey(environment, entity), fieldName }
    try {
      await reply(client.send(new DeleteCommand({ TableName: table, Key, ...(uid !== undefined && isOwnedBy(uid)) })))
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error
    }
  }

  /** Resolves when the table answers a read of one (absent) record. */
  async function probe (abortSignal: AbortSignal): Promise<void> {
    const Key = { env_entityType_entityId: `${environment}-`, fieldName: '-' }
    await reply(client.send(new GetCommand({ TableName: table, Key }), { abortSignal }))
  }

  return { acquire, overwrite, list, release, probe }
}
