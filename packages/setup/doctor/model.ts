import { isDeepStrictEqual } from 'node:util'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Member } from '../survey/member.ts'
import type { Survey } from '../survey/survey.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import { commandFor } from '../../../lib/package-root.ts'

/**
 * Members that may differ from the site: a content model may have only some of the site's bundles
 * and edition types, with its own labels.
 */
const NARROWED = ['bundles', 'editionTypes']

/** Members that the doctor checks elsewhere, as far as the site shows them. */
const CHECKED = [...NARROWED, 'lists', 'fieldConfig']

/** Members that are the operator's to choose: what the desk shows. */
const UNCOMPARED = ['lists', 'fieldConfig']

/** Members that say more than a site can show: what they have besides it is right. */
const OPEN = [
  'timestampFields',
  'decimalFields',
  'rawFields',
  'references',
  'mainProperty',
  'resourceTypes',
  'idKeys',
  'canonicalPaths',
  'fields.articles'
]

/** Compares the content model with what a survey has seen, in every member that it has seen. */
export function* checkModel({ members, times }: Survey, model: ContentModel): Generator<Diagnosis> {
  const visibleMembers = members.filter(
    (member) =>
      member.value !== undefined &&
      !UNCOMPARED.includes(member.name) &&
      !isGuessBesideOurs(member, model)
  )
  const findings = visibleMembers.flatMap((member) =>
    memberDifferences(member, model).map((difference) => finding(member, difference))
  )
  const equal = visibleMembers
    .filter((member) => memberDifferences(member, model).length === 0)
    .map(({ name }) => name)
  yield* findings
  const stamps = members.find(({ name }) => name === 'timestampFields')
  const dates =
    stamps?.certainty === 'shown'
      ? times.filter(
          (field) =>
            model.timestampFields.includes(field) && !(stamps.value as string[]).includes(field)
        )
      : []
  if (dates.length > 0) {
    yield wrong(
      `timestampFields: ${dates.join(', ')} hold dates, and are not of the types timestamp, created or changed`,
      'take them out of timestampFields in the content model'
    )
  }
  yield ok(`content model: as the site shows it in ${equal.join(', ')}`)
  // Whoever has named decimal fields knows them better than an account that does not see the
  // configuration.
  const settledNames = [...CHECKED, ...(model.decimalFields.length > 0 ? ['decimalFields'] : [])]
  const hiddenNames = members
    .filter(
      ({ name, value }) =>
        value === undefined &&
        !settledNames.includes(name) &&
        valueIn(model, name) !== undefined &&
        !visibleMembers.some((member) => member.name === name)
    )
    .map(({ name }) => name)
  if (hiddenNames.length > 0) {
    yield unchecked(
      `content model: ${hiddenNames.join(', ')}`,
      `the site does not show it, or has no such thing; ${commandFor('model')} says what would show it`
    )
  }
}

/**
 * Whether a guess says less than the content model: that no field is called like a key or a type,
 * where it names one; or which time zone it may be, where Quoin does without it.
 */
function isGuessBesideOurs({ name, value, certainty }: Member, model: ContentModel): boolean {
  if (certainty !== 'guessed') return false
  if (name === 'timeZone') return model.timeZone === undefined
  return name.startsWith('fields.') && value === null && valueIn(model, name) !== null
}

type Names = Record<string, unknown>

/** What of a member differs, in words; nothing where it is right. */
function memberDifferences({ name, value }: Member, model: ContentModel): string[] {
  const ours = valueIn(model, name)
  if (NARROWED.includes(name)) return goneFrom((ours ?? {}) as Names, value as Names)
  if (name === 'languages') {
    if (ours === undefined) return [`the content model has none, the site ${text(value)}`]
    return [...goneFrom(ours as Names, value as Names), ...otherIn(ours as Names, value as Names)]
  }
  if (!OPEN.includes(name)) {
    return isDeepStrictEqual(ours, value) ? [] : [`the site has ${text(value)}, not ${text(ours)}`]
  }
  if (!Array.isArray(value)) return otherIn(ours as Names, value as Names)
  const missing = value.filter((field) => !(ours as string[]).includes(field))
  return missing.length > 0 ? [`the content model lacks ${missing.join(', ')}`] : []
}

function goneFrom(ours: Names, site: Names): string[] {
  return Object.keys(ours)
    .filter((key) => !Object.hasOwn(site, key))
    .map((key) => `the site does not have ${key}`)
}

function otherIn(ours: Names, site: Names): string[] {
  return Object.entries(site)
    .filter(([key, value]) => Object.hasOwn(ours, key) && !isDeepStrictEqual(ours[key], value))
    .map(([key, value]) => `${key} is ${text(value)} there, not ${text(ours[key])}`)
}

function finding({ name, certainty, why }: Member, difference: string): Diagnosis {
  const what = `${name}: ${difference}`
  return certainty === 'shown' && name !== 'languages'
    ? wrong(`${what} (${why})`, `correct ${name} in the content model`)
    : unchecked(what, `not certain: ${why}`)
}

/** @param name such as `keys.id` */
function valueIn(model: ContentModel, name: string): unknown {
  const [member, key] = name.split('.') as [keyof ContentModel, string?]
  return key === undefined ? model[member] : (model[member] as Names)[key]
}

const text = (value: unknown): string =>
  value === null || value === undefined
    ? 'none'
    : typeof value === 'string' && value !== ''
      ? value
      : JSON.stringify(value)
