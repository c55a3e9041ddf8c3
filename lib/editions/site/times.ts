import { LRUCache } from 'lru-cache'
import type { Jsonapi } from '../../drupal/client.ts'
import { resources, type Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import { internalName, type ContentModel } from '../model.ts'
import { uuidQuery } from '../translate/query.ts'
import type { Catalog } from './catalog.ts'
import { isDefault } from './revisions.ts'

/** Tells time stamps from other fields, where the content model does not name them. */
export interface TimeFields {
  /**
   * Asks the CMS about each field that shows a time in UTC for the first time, and adds those of
   * time stamps to `timestampFields` of the content model. Never fails.
   */
  learn(editions: Resource[], caller: Caller): Promise<void>
}

export interface TimesContext {
  cms: Jsonapi
  catalog: Pick<Catalog, 'all'>
  model: ContentModel
  warn: (message: string) => void
  /** Fields that Quoin asks about, or has lately found to be no time stamps. */
  asked: LRUCache<string, Promise<void>>
}

/** How many fields Quoin asks about at once, and how many it remembers. */
const AT_ONCE = 5
const FIELDS = 1000

/** A value that changes meanwhile is not found either, so Quoin asks again. */
const ASK_AGAIN_MS = 600_000

/**
 * How Drupal shows a time stamp: in UTC. Dates are in the site's time zone, so those of a site in
 * UTC look the same.
 * Source: Drupal\serialization\Normalizer\TimestampNormalizer, DateTimeIso8601Normalizer.
 */
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/
const UTC_TIME_LENGTH = '2026-01-01T00:00:00+00:00'.length

export function createTimeFields({
  cms,
  catalog,
  model,
  warn
}: Omit<TimesContext, 'asked'>): TimeFields {
  const asked = new LRUCache<string, Promise<void>>({ max: FIELDS, ttl: ASK_AGAIN_MS })
  const context: TimesContext = { cms, catalog, model, warn, asked }
  return { learn: (editions, caller) => learnTimeFields(context, editions, caller) }
}

/** An edition with a time in a field that may be a time stamp. */
interface OpenTime {
  edition: Resource
  /** The field's public name. */
  name: string
  field: string
  seconds: number
}

async function learnTimeFields(
  context: TimesContext,
  editions: Resource[],
  caller: Caller
): Promise<void> {
  const { asked } = context
  const times = unknownTimes(context, editions)
  const fresh = times.filter(({ field }) => !asked.has(field)).slice(0, AT_ONCE)
  caller.budget?.allow(fresh.length)
  for (const time of fresh) {
    asked.set(
      time.field,
      askFor(context, time, caller).catch(() => {})
    )
  }
  // Others may ask already.
  await Promise.all(times.map(({ field }) => asked.get(field)))
}

/** One edition for each field that is open. Filters look among default revisions alone. */
function unknownTimes({ model }: TimesContext, editions: Resource[]): OpenTime[] {
  const open = new Map<string, OpenTime>()
  for (const edition of editions) {
    for (const name in edition.attributes) {
      const value = edition.attributes[name]
      const time: unknown = Array.isArray(value) ? value[0] : value
      if (!isUtcTime(time)) continue
      const field = internalName(model, name)
      const isKnown = model.timestampFields.includes(field) || model.rawFields.includes(field)
      if (isKnown || open.has(field) || !isDefault(edition)) continue
      open.set(field, { edition, name, field, seconds: Date.parse(time) / 1000 })
    }
  }
  return [...open.values()]
}

function isUtcTime(value: unknown): value is string {
  return typeof value === 'string' && value.length === UTC_TIME_LENGTH && UTC_TIME.test(value)
}

/** A time stamp is found by the seconds that Drupal stores. A date and a text are not. */
async function askFor(
  { cms, catalog, model, warn }: TimesContext,
  { edition, name, field, seconds }: OpenTime,
  caller: Caller
): Promise<void> {
  const collection = (await catalog.all(caller)).find(
    ({ resourceType }) => resourceType === edition.type
  )
  if (!collection) return
  const { document } = await cms.request({
    path: collection.path,
    query: [...uuidQuery([edition.id]), [`filter[${name}]`, String(seconds)]],
    caller
  })
  const isFound = resources(document).some(({ id }) => id === edition.id)
  if (!isFound) return
  model.timestampFields.push(field)
  warn(`${field} holds time stamps: name it in timestampFields of the content model`)
}
