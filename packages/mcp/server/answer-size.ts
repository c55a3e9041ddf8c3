import { Buffer } from 'node:buffer'

/** An answer has fewer bytes of JSON than this: clients refuse large ones. */
export const ANSWER_MAX = 20_000

/** The arguments that read on where an answer ends. */
export interface Rest {
  /** A field, or a place in it: `body/0/value`, with `~1` for a slash and `~0` for a tilde. */
  field: string
  /** The first item of a list, or the first character (UTF-16 unit) of a text, that is left. */
  from: number
}

/** A part of a value, and how to get what is left of it. */
export interface Portion {
  value: unknown
  rest: Rest[]
}

/** Where a part begins, and how many bytes it may have with its `rest`. */
interface Place {
  path: string
  from: number
  room: number
}

/** How many bytes a value has as JSON. */
export function sizeOf(value: unknown): number {
  return sizeUpTo(value, Infinity)
}

/**
 * How many bytes a value has as JSON; more than `max` where that is passed, without looking at the
 * rest of it.
 */
export function sizeUpTo(value: unknown, max: number): number {
  if (typeof value === 'string') {
    return value.length > max ? value.length : Buffer.byteLength(JSON.stringify(value))
  }
  if (typeof value !== 'object' || value === null) return String(JSON.stringify(value)).length
  let size = 2
  for (const name in value) {
    const member: unknown = value[name as keyof typeof value]
    if (member === undefined) continue
    const overhead = overheadOf(value, name)
    size += overhead + sizeUpTo(member, max - size - overhead)
    if (size > max) return size
  }
  return size
}

/** What a member takes besides its value: its name, a colon and a comma. */
function overheadOf(container: object, name: string): number {
  return Array.isArray(container) ? 1 : sizeOf(name) + 2
}

/** As many of the rows, from the first on, as fit into so many bytes. */
export function fittingRows<Row>(rows: Row[], room: number): Row[] {
  let left = room - 2
  const end = rows.findIndex((row) => (left -= sizeUpTo(row, left) + 1) < 0)
  return end < 0 ? rows : rows.slice(0, end)
}

/** A text for a row of a list: of a longer one its beginning, which then ends in `…`. */
export function shortened(text: string, max = 255): string {
  return text.length > max ? `${text.slice(0, wholeEnd(text, max - 1))}…` : text
}

/** Some members of an object, and how to get the others. */
export interface Overview {
  members: Record<string, unknown>
  /** Members to be read alone; without `field` the first of all that follow. */
  more: Array<Partial<Rest>>
}

/**
 * Whole members, in their order, as many as fit. A part of a text would look like all of it, so a
 * member of more than `memberMax` bytes is left out, however much room there is: `more` names it.
 */
export function overviewOf(
  container: object,
  { from, room, memberMax }: { from: number; room: number; memberMax: number }
): Overview {
  const members: Array<[string, unknown]> = []
  const more: Overview['more'] = []
  let left = room
  for (const [index, [name, member]] of Object.entries(container).entries()) {
    if (index < from) continue
    const size = sizeOf(name) + sizeUpTo(member, memberMax)
    const isLarge = size > memberMax
    const rest = restAt(pathTo('', name), 0)
    left -= isLarge ? sizeOf(rest) + 1 : size + 2
    if (left < 0) {
      more.push({ from: index })
      break
    }
    if (isLarge) more.push(rest)
    else members.push([name, member])
  }
  return { members: Object.fromEntries(members), more }
}

/**
 * As much of a value as fits: of a list or an object its whole members in their order, of a text
 * its characters. The first member of all is cut itself where it does not fit, so that whoever
 * follows `rest` comes to the end.
 * @param place.from the member or the character to begin with
 */
export function portionOf(value: unknown, place: Place): Portion {
  const { from, room } = place
  if (from === 0 && sizeUpTo(value, room) <= room) return { value, rest: [] }
  if (typeof value === 'string') return textPortion(value, place)
  if (typeof value === 'object' && value !== null) return memberPortion(value, place)
  return { value, rest: [] }
}

function textPortion(text: string, { path, from, room }: Place): Portion {
  const space = room - sizeOf(restAt(path, text.length))
  const end = endWithin(text, from, space)
  return {
    value: text.slice(from, end),
    rest: end < text.length ? [restAt(path, end)] : []
  }
}

/** Where a part of a text ends that has at most so many bytes of JSON, and one character at least. */
function endWithin(text: string, from: number, space: number): number {
  let [fits, end] = [from, Math.min(text.length, from + Math.max(space, 0))]
  if (sizeUpTo(text.slice(from, end), space) <= space) fits = end
  while (end - fits > 1) {
    const middle = Math.floor((fits + end) / 2)
    if (sizeUpTo(text.slice(from, middle), space) <= space) fits = middle
    else end = middle
  }
  const whole = wholeEnd(text, fits)
  return whole > from ? whole : Math.min(text.length, from + 2)
}

/** An end that does not divide a pair of surrogates. */
function wholeEnd(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length ? end - 1 : end
}

function memberPortion(container: object, { path, from, room }: Place): Portion {
  const entries = Object.entries(container)
  const taken: Array<[string, unknown]> = []
  let left = room - 2 - sizeOf(restAt(path, entries.length))
  for (const [name, member] of entries.slice(from)) {
    const space = left - overheadOf(container, name)
    const size = sizeUpTo(member, space)
    if (size > space) break
    taken.push([name, member])
    left = space - size
  }
  const end = from + taken.length
  if (end >= entries.length) return { value: madeOf(container, taken), rest: [] }
  if (taken.length > 0) return { value: madeOf(container, taken), rest: [restAt(path, end)] }
  return firstCut(container, entries, { path, from, room: left })
}

/** The first member of a part, cut itself. */
function firstCut(
  container: object,
  entries: Array<[string, unknown]>,
  { path, from, room }: Place
): Portion {
  const [name, member] = entries[from]!
  const { value, rest } = portionOf(member, {
    path: pathTo(path, name),
    from: 0,
    room: room - overheadOf(container, name)
  })
  const isLast = from + 1 >= entries.length
  return {
    value: madeOf(container, [[name, value]]),
    rest: isLast ? rest : [...rest, restAt(path, from + 1)]
  }
}

/** A list of these members, or an object of them, as the container is one. */
function madeOf(container: object, members: Array<[string, unknown]>): object {
  return Array.isArray(container) ? members.map(([, value]) => value) : Object.fromEntries(members)
}

function restAt(field: string, from: number): Rest {
  return { field, from }
}

/** The path to a member. */
export function pathTo(path: string, name: string): string {
  const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1')
  return path === '' ? escaped : `${path}/${escaped}`
}

/** The value that a path leads to; undefined where it leads nowhere. */
export function valueAt(root: object, path: string): unknown {
  return path
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? value[name as keyof typeof value]
          : undefined,
      root
    )
}
