/**
 * Reads a document resource by resource, so that resources that come again in the same bytes are
 * the same objects. Any document that is not written as Drupal writes them is left to documentIn().
 */

import { isUtf8 } from 'node:buffer'
import {
  CASE,
  CLOSING,
  COLON,
  COMMA,
  endOfString,
  JSON_LIMITS,
  measureJson,
  OPENING,
  QUOTE
} from '../json-shape.ts'
import { isDocument, isResource, valueIn, weigh, type Document, type Resource } from './document.ts'

/** A resource of a document's primary data, as its bytes show it. */
interface Row extends RowShape {
  begin: number
  /** Only where the same bytes came before: what comes once does not outlive its request. */
  resource?: Resource
}

interface RowShape {
  end: number
  /** Objects, lists and commas. */
  values: number
  members: number
  /** How many objects and lists are in one another. */
  depth: number
}

/** The rows of a body by their first bytes, which have their types and ids. */
export type Rows = ReadonlyMap<string, Row>

/** A body that was read before. */
export interface LastBody {
  body: Buffer
  rows: Rows
}

/** A row of the present body. What is not to be parsed of it lies between pairs of `cuts`. */
interface OpenRow extends Row {
  key: string
  cuts: number[]
  /** Whether the same bytes came before. */
  isSame: boolean
}

const LIST = 0x5b
const OBJECT = 0x7b
const DATA = Buffer.from('"data":')
const RELATIONSHIPS = Buffer.from('relationships')
const LINKS = Buffer.from('links')

/** Takes the place of all rows while the rest of a document is parsed. */
const MARK = 0.5

/** So many bytes have the longest type of Drupal and a uuid. */
const KEY_BYTES = 128

/** A page of Drupal has 50 rows. */
const ROWS_MAX = 100

/** The bytes of the shortest member, `"":0,`, and of the shortest value, `0,`. */
const MEMBER_BYTES = 5
const VALUE_BYTES = 2

/**
 * The document in a body, and its rows. Links of relationships are left out: they are more than
 * half of the bytes, and nobody looks at them.
 * @param last a body that came before for the same request
 * @returns undefined where the body has to be read as a whole
 * @throws {Failure} CMS_INVALID_RESPONSE as valueIn()
 */
export function readRows(
  body: Buffer,
  last: LastBody | undefined
): { document: Document; rows: Rows } | undefined {
  if (!isUtf8(body)) return undefined
  const at = body.indexOf(DATA)
  const isList = body[at + DATA.length] === LIST
  const begin = at + DATA.length + (isList ? 1 : 0)
  const rows = at === -1 ? undefined : findRows(body, begin, isList, last)
  if (!rows) return undefined
  const { end } = rows.at(-1)!
  const rest = Buffer.concat([body.subarray(0, begin), Buffer.from(`${MARK}`), body.subarray(end)])
  if (mayPassLimits(rows, rest) && measureJson(body).excess !== undefined) return undefined
  const document = documentAround(rest, isList)
  const resources = document && parseRows(body, rows)
  if (!resources) return undefined
  document.data = isList ? resources : resources[0]!
  const values = rows.reduce((sum, row) => sum + row.values, rows.length)
  weigh(document, { bytes: body.length, values, of: document })
  return { document, rows: remember(rows, resources) }
}

/** The rows from here on; undefined where they are not objects with a comma between each two. */
function findRows(
  body: Buffer,
  begin: number,
  isList: boolean,
  last: LastBody | undefined
): OpenRow[] | undefined {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const rows: OpenRow[] = []
  for (let position = begin; rows.length < ROWS_MAX; position++) {
    if (body[position] !== OBJECT) return undefined
    const row = findRow(body, view, position, last)
    if (!row) return undefined
    rows.push(row)
    position = row.end
    if (!isList || body[position] === CLOSING) return rows
    if (body[position] !== COMMA) return undefined
  }
  return undefined
}

function findRow(
  body: Buffer,
  view: DataView,
  begin: number,
  last: LastBody | undefined
): OpenRow | undefined {
  const key = body.toString('latin1', begin, begin + KEY_BYTES)
  const before = last?.rows.get(key)
  const isSame = before !== undefined && isSameRow(body, begin, last!.body, before)
  if (isSame && before.resource) {
    return { ...before, key, isSame, begin, end: begin + before.end - before.begin, cuts: [] }
  }
  const cuts: number[] = []
  const shape = measureRow(body, view, begin, cuts)
  return shape && { ...shape, key, isSame, begin, cuts }
}

function isSameRow(body: Buffer, begin: number, lastBody: Buffer, last: Row): boolean {
  const end = begin + last.end - last.begin
  return end <= body.length && body.compare(lastBody, last.begin, last.end, begin, end) === 0
}

/**
 * Looks at what a row is made of, as measureJson() does.
 * @param cuts takes in where links of relationships begin and end
 * @returns undefined where it does not end
 */
function measureRow(
  bytes: Buffer,
  view: DataView,
  begin: number,
  cuts: number[]
): RowShape | undefined {
  const shape = { end: 0, values: 0, members: 0, depth: 0 }
  let depth = 0
  let nameBegin = 0
  let isInRelationships = false
  let cut = -1
  for (let index = begin; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (byte === QUOTE) {
      nameBegin = index + 1
      index = endOfString(bytes, view, nameBegin)
    } else if (byte === COMMA) {
      shape.values++
    } else if (byte === COLON) {
      shape.members++
    } else if ((byte & ~CASE) === OPENING) {
      shape.values++
      if (++depth > shape.depth) shape.depth = depth
      if (depth === 2) {
        isInRelationships = isNamed(bytes, index, nameBegin, RELATIONSHIPS)
      } else if (depth === 4 && isInRelationships && isNamed(bytes, index, nameBegin, LINKS)) {
        cut = nameBegin - 2
      }
    } else if ((byte & ~CASE) === CLOSING) {
      if (--depth === 3 && cut !== -1) {
        // Where another member comes first, so that its comma goes too.
        if (bytes[cut] === COMMA) cuts.push(cut, index + 1)
        cut = -1
      }
      if (depth === 0) return { ...shape, end: index + 1 }
    }
  }
  return undefined
}

/** Whether the object or list that opens here is the member with this name. */
function isNamed(bytes: Buffer, index: number, nameBegin: number, name: Buffer): boolean {
  if (index - nameBegin !== name.length + 2) return false
  for (let at = 0; at < name.length; at++) if (bytes[nameBegin + at] !== name[at]) return false
  return true
}

/** Whether a document may pass the limits of what is made of a body. */
function mayPassLimits(rows: OpenRow[], { length }: Buffer): boolean {
  let members = length / MEMBER_BYTES
  let values = length / VALUE_BYTES + rows.length
  let depth = 0
  for (const row of rows) {
    members += row.members
    values += row.values
    depth = Math.max(depth, row.depth)
  }
  // Rows are in the list of the document.
  return members > JSON_LIMITS.names || values > JSON_LIMITS.values || depth + 2 > JSON_LIMITS.depth
}

/** The document without its rows; undefined where they are not its primary data. */
function documentAround(rest: Buffer, isList: boolean): Document | undefined {
  const value = valueIn(rest) as { data?: unknown } | undefined
  const mark: unknown = isList ? (value?.data as unknown[] | undefined)?.[0] : value?.data
  if (mark !== MARK) return undefined
  value!.data = null
  return isDocument(value) ? value : undefined
}

function parseRows(body: Buffer, rows: OpenRow[]): Resource[] | undefined {
  const resources: Resource[] = []
  for (const row of rows) {
    const resource = row.resource ?? parseRow(body, row)
    if (!isResource(resource)) return undefined
    resources.push(resource)
  }
  return resources
}

function parseRow(body: Buffer, { begin, end, cuts }: OpenRow): unknown {
  try {
    return JSON.parse(textWithout(body, begin, end, cuts))
  } catch {
    return undefined
  }
}

/** For rows of usual size: memory that is made anew for each costs more than the copying. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

/** The text of a row without what is cut out of it. */
function textWithout(body: Buffer, begin: number, end: number, cuts: number[]): string {
  const size = end - begin
  const target = size <= scratch.length ? scratch : Buffer.allocUnsafeSlow(size)
  let length = 0
  let from = begin
  for (let index = 0; index < cuts.length; index += 2) {
    length += body.copy(target, length, from, cuts[index])
    from = cuts[index + 1]!
  }
  length += body.copy(target, length, from, end)
  return target.toString('utf8', 0, length)
}

function remember(rows: OpenRow[], resources: Resource[]): Rows {
  return new Map(
    rows.map(({ key, isSame, begin, end, values, members, depth }, index): [string, Row] => [
      key,
      { begin, end, values, members, depth, ...(isSame && { resource: resources[index]! }) }
    ])
  )
}
