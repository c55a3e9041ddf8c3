import { Failure, texts } from '../errors.ts'
import { ExactNumber, isNumber } from './exact-number.ts'

/**
 * A value as the document client takes it: objects as maps, since it takes a member called
 * `constructor` for a class.
 */
export type StoredValue =
  string | number | boolean | null | StoredValue[] | Map<string, StoredValue>

/** The two keys of an item. */
export interface Key {
  env_entityType_entityId: string
  fieldName: string
}

/**
 * An item as it was read. One that another program wrote may lack any member but its keys, or have
 * a member of another type.
 */
export interface Item extends Key {
  [member: string]: unknown
}

/** An item as it is written. */
export interface StoredItem extends Key {
  [member: string]: StoredValue
}

/**
 * Largest item DynamoDB keeps, names included, in bytes. Source: "Constraints in Amazon DynamoDB",
 * item size 400 KB.
 */
export const ITEM_LIMIT = 409_600

const LEVELS = 32
const LARGEST_NAME = 65_535
const SMALLEST_NUMBER = 1e-130

/**
 * What a number takes at most, in bytes ("DynamoDB item sizes and formats"), and one for its sign.
 */
const LARGEST_NUMBER = 22

/**
 * What the table answers, as an item: every item has the two keys, as text.
 * @throws {Failure} STORE_FAILED for anything else
 */
export function itemOf(attributes: Record<string, unknown>): Item {
  if (isItem(attributes)) return attributes
  throw new Failure('STORE_FAILED', texts.storeFailed, {
    cause: new Error('an item has no keys of the table')
  })
}

function isItem(attributes: Record<string, unknown>): attributes is Item {
  return (
    typeof attributes['env_entityType_entityId'] === 'string' &&
    typeof attributes['fieldName'] === 'string'
  )
}

/** The keys of an item. */
export function keyOf({ env_entityType_entityId: key, fieldName }: Key): Key {
  return { env_entityType_entityId: key, fieldName }
}

/** The keys of an item as one text, to find it by in memory. */
export function keyName({ env_entityType_entityId: key, fieldName }: Key): string {
  return JSON.stringify([key, fieldName])
}

/**
 * A JSON value made fit to be stored.
 * @throws {Failure} BAD_REQUEST for what DynamoDB or its document client cannot keep as it is
 *   ("Constraints": 32 levels of nesting, names of 1 to 65535 bytes, numbers from 1e-130; integers
 *   beyond 2^53 lost digits already when they were parsed).
 */
export function toStored(value: unknown, where: string, level = 1): StoredValue {
  if (level > LEVELS) {
    throw new Failure(
      'BAD_REQUEST',
      `${where.split('/', 2).join('/')} is nested more than ${LEVELS} levels deep`
    )
  }
  if (Array.isArray(value)) {
    return value.map((element, index) => toStored(element, `${where}/${index}`, level + 1))
  }
  if (typeof value === 'number') return storedNumber(value, where)
  if (value !== null && typeof value === 'object') {
    return new Map(
      Object.entries(value).map(([name, member]) => {
        const bytes = Buffer.byteLength(name)
        if (bytes < 1 || bytes > LARGEST_NAME) {
          throw new Failure(
            'BAD_REQUEST',
            `${where} has a member whose name has ${bytes} bytes; 1 to ${LARGEST_NAME} can be stored`
          )
        }
        return [name, toStored(member, `${where}/${name}`, level + 1)]
      })
    )
  }
  return value as string | boolean | null
}

function storedNumber(value: number, where: string): number {
  const size = Math.abs(value)
  if (size > Number.MAX_SAFE_INTEGER) throw new Failure('BAD_REQUEST', texts.numberTooLarge(where))
  if (size !== 0 && size < SMALLEST_NUMBER) {
    throw new Failure(
      'BAD_REQUEST',
      `${where} is a number closer to zero than ${SMALLEST_NUMBER}; send it as a string`
    )
  }
  return value
}

/** A value that was read, in the form to store it again, or to compare it with what is stored. */
export function asStored(value: unknown): StoredValue {
  if (Array.isArray(value)) return value.map(asStored)
  if (value instanceof Set) return storedSet(value) as unknown as StoredValue
  if (value === null || typeof value !== 'object' || isNumber(value) || ArrayBuffer.isView(value)) {
    return value as StoredValue
  }
  return new Map(Object.entries(value).map(([name, member]) => [name, asStored(member)]))
}

/** A set of numbers has one form of them all: the document client goes by the first. */
function storedSet(set: Set<unknown>): Set<unknown> {
  return isNumber([...set][0])
    ? new Set([...set].map((number) => new ExactNumber(String(number))))
    : set
}

/** A record that was read, to be stored again. */
export function storedAgain(record: Record<string, unknown>): Record<string, StoredValue> {
  return Object.fromEntries(
    Object.entries(record).map(([name, member]) => [name, asStored(member)])
  )
}

/**
 * The size of an item in bytes as DynamoDB counts it: names and strings in UTF-8, numbers two
 * digits to a byte and one more, 3 for a list or map and 1 for each of its members. Source:
 * "DynamoDB item sizes and formats"; how a number's digits pair up is as measured by dynalite
 * against AWS.
 */
export function itemSize(item: Record<string, StoredValue>): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + valueSize(value),
    0
  )
}

/** A record of others may hold bytes, sets and larger numbers too. */
function valueSize(value: StoredValue | ArrayBufferView | Set<StoredValue> | ExactNumber): number {
  if (ArrayBuffer.isView(value)) return value.byteLength
  if (value instanceof Set) {
    return [...value].reduce<number>((sum, element) => sum + valueSize(element), 0)
  }
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof ExactNumber) return LARGEST_NUMBER
  if (typeof value === 'number') return numberSize(value)
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, element) => sum + 1 + valueSize(element), 3)
  }
  if (value instanceof Map) {
    return [...value].reduce(
      (sum, [name, member]) => sum + 1 + Buffer.byteLength(name) + valueSize(member),
      3
    )
  }
  return 1
}

function numberSize(value: number): number {
  if (value === 0) return 1
  const [digits, exponent] = Math.abs(value).toExponential().replace('.', '').split('e') as [
    string,
    string
  ]
  const unpaired = digits.length % 2 === 0 && Number(exponent) % 2 === 0 ? 1 : 0
  return 1 + Math.ceil(digits.length / 2) + unpaired + (value < 0 ? 1 : 0)
}
