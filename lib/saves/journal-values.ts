import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import type { FieldItem } from '../editions/translate/edition-json.ts'

/**
 * The largest value of a field, and of all of an entry, in bytes of JSON. Larger values are left
 * out.
 */
export const VALUE_MAX = 65_536
export const ENTRY_MAX = 131_072

/**
 * Up to this many bytes of JSON an entry keeps its fields as they are: it fits into one write unit
 * either way.
 */
const SHORT_MAX = 400

export const SIDES = ['before', 'after'] as const
export type Side = (typeof SIDES)[number]

/** A field of an entry: its values as far as they are known and not too large. */
export interface FieldValues {
  before?: FieldItem[]
  after?: FieldItem[]
  /** The values that were too large. */
  leftOut?: Side[]
}

/** The fields of an entry. */
export interface Fields {
  fields: Record<string, FieldValues>
  /** How many more fields there are, for whose names alone there was no room. */
  more?: number
}

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** Bounds the fields of an entry: of those that do not fit, values are left out. */
export function boundFields(
  fields: Record<string, Partial<Record<Side, FieldItem[] | undefined>>>
): Fields {
  let room = ENTRY_MAX
  let more = 0
  const entries: Array<[string, FieldValues]> = []
  for (const [name, sides] of Object.entries(fields)) {
    const bytes = Buffer.byteLength(JSON.stringify(name))
    if (bytes > room) {
      more++
      continue
    }
    room -= bytes
    const values: FieldValues = {}
    for (const side of SIDES) {
      const value = sides[side]
      if (value === undefined) continue
      const size = Buffer.byteLength(JSON.stringify(value))
      if (size <= VALUE_MAX && size <= room) {
        values[side] = value
        room -= size
      } else values.leftOut = [...(values.leftOut ?? []), side]
    }
    entries.push([name, values])
  }
  return { fields: Object.fromEntries(entries), ...(more > 0 && { more }) }
}

/**
 * Fields as an item keeps them. Short ones stay JSON, since brotli would take a tenth of the CPU
 * time of a save. Long ones are compressed: two running orders have the same uuids, which brotli
 * finds, so 60 articles take 2 KB and not 13.
 */
export async function pack(fields: Fields): Promise<string> {
  const text = JSON.stringify(fields)
  const json = Buffer.from(text)
  if (json.length <= SHORT_MAX) return text
  return (
    await compress(json, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 4,
        [constants.BROTLI_PARAM_SIZE_HINT]: json.length
      }
    })
  ).toString('base64')
}

/** The fields in a text that `pack` has made; none in any other text. */
export async function unpack(text: string): Promise<Fields> {
  try {
    // Base64 has no brace.
    const json = text.startsWith('{')
      ? text
      : (
          await decompress(Buffer.from(text, 'base64'), { maxOutputLength: 2 * ENTRY_MAX })
        ).toString()
    return JSON.parse(json) as Fields
  } catch {
    return { fields: {} }
  }
}
