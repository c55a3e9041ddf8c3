import type { Edition, Item, Model } from './settings.ts'
import { say } from './texts.ts'
import { localIn, readIn } from './zone.ts'

/** How a field is shown and edited; `fixed` is only shown. */
export type Kind =
  | 'line'
  | 'lines'
  | 'text'
  | 'number'
  | 'flag'
  | 'choice'
  | 'date'
  | 'moment'
  | 'link'
  | 'order'
  | 'fixed'

export interface Shape {
  name: string
  label: string
  kind: Kind
  template: Item
  /** The time zone of a moment, where the content model tells the site's. */
  zone?: string | undefined
  /**
   * Whether a date or moment has a second end: its text is both, such as `2026-11-18/2026-11-20`.
   */
  isRange?: boolean
  /** Drupal's help text. */
  help?: string
  /** Whether Drupal wants a value. */
  isRequired?: boolean
  /** The group of Drupal's form in which it stands. */
  group?: string
}

const DATE = /^\d{4}-\d\d-\d\d$/
const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z|[+-]\d\d:\d\d)$/

/** What a browser gives of a time. */
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

/** How long a text may be that has a single line. */
const LINE = 90

/**
 * Base fields that Drupal and its modules keep for themselves, besides the keys of the content
 * model.
 */
const KEPT_BY_DRUPAL =
  /^(created|uid|path|metatag|menu_link|_links)$|^(revision|content_translation)_/

/**
 * The fields that an editor sees: the label, the key and the edition type first, then in the order
 * of Drupal's form as far as the content model has it. Those in no group come before the groups, and
 * in each those of many lines come last. Base fields are shown like `field_*` ones, except those
 * that Drupal keeps for itself.
 * JSON:API does not tell an editor what type a field has, so it is read off its value or, where it
 * is empty, off that of another edition; one that is empty everywhere is a line of text, which
 * Drupal casts.
 */
export function shapesOf(
  edition: Edition,
  model: Model,
  sampleOf: (name: string) => Item[] = () => []
): Shape[] {
  const {
    keys,
    fields: { key, editionType }
  } = model
  const first = [keys.label, key, editionType, keys.published].filter(
    (name) => name !== null && name in edition
  ) as string[]
  const hiddenNames = [...first, ...Object.values(keys)]
  const formOrder = Object.keys(model.fieldConfig)
  const placeOf = (name: string) =>
    formOrder.includes(name) ? formOrder.indexOf(name) : formOrder.length
  const others = Object.keys(edition)
    .filter((name) => !hiddenNames.includes(name) && !KEPT_BY_DRUPAL.test(name))
    .toSorted((one, other) => placeOf(one) - placeOf(other))
  const shapes = [...first, ...others].map((name): Shape => {
    const items = edition[name] ?? []
    const sample = items.length > 0 ? items : sampleOf(name)
    const kind = kindOf(name, sample, model)
    const isRange = (kind === 'date' || kind === 'moment') && 'end_value' in (sample[0] ?? {})
    return {
      name,
      label: labelOf(name, model),
      kind,
      template: templateOf(kind, sample),
      ...(kind === 'moment' && { zone: model.timeZone }),
      ...(isRange && { isRange }),
      ...helpOf(name, model),
      ...(!first.includes(name) && groupOf(name, model))
    }
  })
  const isLong = ({ kind }: Shape) => kind === 'text' || kind === 'lines'
  return groupsOf(shapes, (shape) => shape).flatMap(({ members }) => [
    ...members.filter((shape) => !isLong(shape)),
    ...members.filter(isLong)
  ])
}

function groupOf(name: string, { fieldConfig }: Model): Pick<Shape, 'group'> {
  const { group = '' } = fieldConfig[name] ?? {}
  return group === '' ? {} : { group }
}

/** Fields by their groups: first those that are in none, under no name. */
export function groupsOf<Member>(
  all: Member[],
  shapeOf: (member: Member) => Shape
): Array<{ group: string; members: Member[] }> {
  const groups = Map.groupBy(all, (member) => shapeOf(member).group ?? '')
  return [...groups]
    .map(([group, members]) => ({ group, members }))
    .toSorted((one, other) => Number(one.group !== '') - Number(other.group !== ''))
}

/** What Drupal says of a field besides its label; of markup in it the words. */
function helpOf(name: string, { fieldConfig }: Model): Pick<Shape, 'help' | 'isRequired'> {
  const { description = '', required } = fieldConfig[name] ?? {}
  const help = description.replaceAll(/<[^<>]*>/g, '').trim()
  return { ...(help !== '' && { help }), ...(required && { isRequired: true }) }
}

/** What a field's first value takes over from others: a text its format, a time its offset. */
function templateOf(kind: Kind, [item = {}]: Item[]): Item {
  if (kind === 'text') return 'format' in item ? { format: item['format'] } : {}
  return kind === 'moment'
    ? { value: item['value'], ...('end_value' in item && { end_value: item['end_value'] }) }
    : {}
}

/** What sites call a label or a key. */
const COMMON = ['title', 'name', 'key'] as const

/**
 * Drupal's label of a field where the content model has it, else its name in words:
 * `field_page_count` is "Page count".
 */
export function labelOf(name: string, { keys, fields, fieldConfig }: Model): string {
  const { label = '' } = fieldConfig[name] ?? {}
  if (label !== '') return label
  if (name === keys.published) return say('published')
  if (name === fields.editionType) return say('editionType')
  if (fields.articles[0] === name) return say('runningOrder')
  const words = name.replace(/^field_/, '').replaceAll('_', ' ')
  const common = COMMON.find((name) => name === words)
  if (common) return say(common)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function kindOf(
  name: string,
  items: Item[],
  { keys, fields, references, timestampFields }: Model
): Kind {
  if (fields.articles.includes(name)) return 'order'
  if (name === keys.published) return 'flag'
  if (name === fields.editionType) return 'choice'
  const [item = {}] = items
  if ('target_id' in item || name in references) return 'fixed'
  if ('uri' in item) return 'link'
  // What has no main value (an address) cannot be edited as one text.
  if (items.length > 0 && !('value' in item)) return 'fixed'
  if ('processed' in item) return 'text'
  // Whatever stands there now, the next title may be another: no date, and in one line.
  if (name === keys.label || name === fields.key) return 'line'
  if (timestampFields.includes(name)) return 'moment'
  // A text of several lines cannot be told from several texts.
  if (items.length > 1) {
    return items.some(({ value }) => /[\r\n]/.test(String(value))) ? 'fixed' : 'lines'
  }
  const { value = '' } = item
  if (typeof value === 'boolean') return 'flag'
  if (typeof value === 'number') return 'number'
  const text = String(value)
  if (DATE.test(text)) return 'date'
  if (MOMENT.test(text)) return 'moment'
  return text.length > LINE || text.includes('\n') ? 'text' : 'line'
}

/** A field's items as the text that is edited, and that its lock holds. */
export function textOf(
  { kind, zone, isRange = false }: Pick<Shape, 'kind' | 'zone' | 'isRange'>,
  items: Item[]
): string {
  switch (kind) {
    case 'order':
      return [...tokensOf(items).keys()].join(' ')
    case 'lines':
      return items.map(lineOf).join('\n')
    case 'link':
      return String(items[0]?.['uri'] ?? '')
    case 'date':
    case 'moment':
      return items
        .slice(0, 1)
        .map((item) =>
          (isRange ? ['value', 'end_value'] : ['value'])
            .map((end) => shownTime(item[end], zone))
            .join('/')
        )
        .join()
    case 'fixed':
      return items
        .filter((item) => 'target_id' in item)
        .map(({ target_id: id }) => String(id))
        .join(', ')
    default:
      return String(items[0]?.['value'] ?? '')
  }
}

/** A value as one of several lines; of a range both ends. */
function lineOf({ value, end_value: end }: Item): string {
  return end === undefined ? String(value) : `${String(value)}/${String(end)}`
}

function shownTime(value: unknown, zone: string | undefined): string {
  return String(value ?? '').replace(MOMENT, (instant, local: string) =>
    zone === undefined ? local : localIn(zone, instant)
  )
}

/** The ends of the text of a range. A text that is no range, or is empty, has none. */
export function endsOf({ isRange }: Pick<Shape, 'isRange'>, text: string): string[] {
  return isRange && text !== '' ? text.split('/') : []
}

/**
 * The items that a text stands for.
 * @param items those of the edition as it is: what the text does not tell, such as a text's format
 *   and summary or a second link, is taken from them
 */
export function itemsOf(
  { kind, template, zone, isRange }: Shape,
  text: string,
  items: Item[]
): unknown[] {
  if (kind === 'order') return text.split(' ').flatMap((token) => tokensOf(items).get(token) ?? [])
  if (kind === 'lines') {
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => items.find((item) => lineOf(item) === line) ?? itemOfLine(line, items))
  }
  const [item = template, ...others] = items
  if (text === '') return others
  if (kind === 'link') return [{ ...item, uri: text }, ...others]
  const { processed: _1, summary_processed: _2, ...rest } = item
  const [value, end] = isRange ? (text.split('/') as [string, string]) : [text]
  return [
    {
      ...rest,
      value: valueIn(kind, value, String(item['value'] ?? ''), zone),
      ...(end !== undefined && {
        end_value: end === '' ? null : valueIn(kind, end, String(item['end_value'] ?? ''), zone)
      })
    },
    ...others
  ]
}

function itemOfLine(line: string, items: Item[]): Item {
  const [, value, end] = items.some((item) => 'end_value' in item)
    ? (/^(.*)\/(.*)$/.exec(line) ?? [])
    : []
  return value === undefined ? { value: line } : { value, end_value: end }
}

function valueIn(kind: Kind, text: string, before: string, zone: string | undefined): unknown {
  switch (kind) {
    case 'flag':
      return text === 'true'
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : text
    case 'moment':
      return instant(text, before, zone)
    default:
      return text
  }
}

/** A browser leaves out seconds that are 0; without a time zone the offset is that of before. */
function instant(local: string, before: string, zone: string | undefined): string {
  if (zone !== undefined && LOCAL.test(local)) return readIn(zone, local).instant
  return `${local.length === 16 ? `${local}:00` : local}${MOMENT.exec(before)?.[2] ?? 'Z'}`
}

/**
 * How often the site's clocks show the time that is typed: 0 if they skip it, 2 if it comes twice.
 * Of a range the end that is not 1 counts.
 */
export function timesOf({ zone }: Pick<Shape, 'zone'>, text: string): 0 | 1 | 2 {
  const times = text
    .split('/')
    .map((end) => (zone !== undefined && LOCAL.test(end) ? readIn(zone, end).times : 1))
  return times.find((one) => one === 0) ?? times.find((one) => one === 2) ?? 1
}

/**
 * The items of a reference field, each by a name of its own, also where the same target is in it
 * twice.
 */
export function tokensOf(items: Item[]): Map<string, Item> {
  const tokens = new Map<string, Item>()
  for (const item of items) {
    const id = String(item['target_id'] ?? 'gone')
    let token = id
    for (let nth = 2; tokens.has(token); nth++) token = `${id}#${nth}`
    tokens.set(token, item)
  }
  return tokens
}
