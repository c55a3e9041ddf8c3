import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb'
import { LOCK_TABLE, lockId, serveLocks, type Lock } from './lock-service.ts'

// Field locks by dynamodb-lock-client, the package that one would install for locks in DynamoDB. Its FailClosed takes a
// lock by one conditional put, without a lease; a table for it has one key. (Its FailOpen, with a lease, reads before, and
// waits for as long as a lease before it is refused.) It knows no list, nor that somebody writes his own lock again, nor
// who holds a lock: that is read.

interface LibraryLock {
  release: (callback: (error?: Error) => void) => void
}
interface Library {
  FailClosed: new (options: object) => {
    acquireLock: (id: string, callback: (error: Error | undefined, lock: LibraryLock) => void) => void
  }
}
type Callback = (error: Error | undefined, data?: object) => void

const { FailClosed } = createRequire(import.meta.url)('dynamodb-lock-client') as Library
const document = DynamoDBDocument.from(new DynamoDBClient({ region: 'local', endpoint: process.env['DYNAMODB_ENDPOINT']! }))

/** It was written for version 2 of the AWS SDK, whose errors have a code. */
const withCode = (callback: Callback) => (error: Error | undefined, data?: object) =>
  callback(error && Object.assign(error, { code: error.name }), data)

const dynamodb = {
  get: (input: never, callback: Callback) => document.get(input, withCode(callback)),
  put: (input: never, callback: Callback) => document.put(input, withCode(callback)),
  delete: (input: never, callback: Callback) => document.delete(input, withCode(callback))
}
const held = new Map<string, LibraryLock>()

async function acquire(key: string, { fieldName, userData }: Lock): Promise<{ inTheWay: object | undefined } | undefined> {
  const id = lockId(key, fieldName)
  const client = new FailClosed({
    dynamodb,
    lockTable: LOCK_TABLE,
    partitionKey: 'id',
    acquirePeriodMs: 0,
    retryCount: 0,
    owner: userData.uid
  })
  try {
    const lock = await promisify<string, LibraryLock>((id, done) => client.acquireLock(id, done as never))(id)
    held.set(nameOf(id, userData.uid), lock)
    return undefined
  } catch (error) {
    if ((error as { code?: string }).code !== 'FailedToAcquireLock') throw error
    if (held.has(nameOf(id, userData.uid))) return undefined
    const { Item } = await document.get({ TableName: LOCK_TABLE, Key: { id }, ConsistentRead: true })
    return { inTheWay: Item }
  }
}

async function release(key: string, fieldName: string, uid: string): Promise<void> {
  const name = nameOf(lockId(key, fieldName), uid)
  const lock = held.get(name)
  held.delete(name)
  if (lock) await promisify((done: (error?: Error) => void) => lock.release(done))()
}

function nameOf(id: string, uid: string): string {
  return `${uid} ${id}`
}

serveLocks({ acquire, release })
