const DAY_MS = 86_400_000

const DATE = /\d{4}-\d\d-\d\d/

/** The languages in which the date of a title is looked for. */
const LANGUAGES = ['en', 'de', 'fr']

/**
 * The day after the date in a key: `daily-2026-11-19` after `daily-2026-11-18`; undefined where
 * there is no date in it.
 */
export function nextKey(key: string): string | undefined {
  const date = dateIn(key)
  return date && key.replace(DATE, isoOf(next(date)))
}

/**
 * The title of the edition after one: its date a day later; undefined where the title does not have
 * the date of the key.
 */
export function nextTitle(title: string, key: string): string | undefined {
  const date = dateIn(key)
  if (!date) return undefined
  const after = next(date)
  if (title.includes(isoOf(date))) return title.replace(isoOf(date), isoOf(after))
  for (const language of LANGUAGES) {
    const part = (of: Date, options: Intl.DateTimeFormatOptions) =>
      of.toLocaleDateString(language, { ...options, timeZone: 'UTC' })
    const month = (of: Date) => part(of, { month: 'long' })
    const pattern = new RegExp(`\\b${date.getUTCDate()}(\\.?) ${month(date)}\\b`)
    if (!pattern.test(title)) continue
    return title
      .replace(pattern, (_, dot: string) => `${after.getUTCDate()}${dot} ${month(after)}`)
      .replace(part(date, { weekday: 'long' }), part(after, { weekday: 'long' }))
      .replace(String(date.getUTCFullYear()), String(after.getUTCFullYear()))
  }
  return undefined
}

/** A date, a time, or both ends of a range, a day later; as it is where it is none of them. */
export function nextMoment(text: string): string {
  return text.replaceAll(new RegExp(DATE, 'g'), (day) => {
    const date = dateIn(day)
    return date ? isoOf(next(date)) : day
  })
}

/** A title as a key. */
export function slugOf(title: string): string {
  return title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
}

function dateIn(text: string): Date | undefined {
  const [iso] = DATE.exec(text) ?? []
  const date = new Date(`${iso}T00:00:00Z`)
  return Number.isNaN(date.getTime()) ? undefined : date
}

function next(date: Date): Date {
  return new Date(date.getTime() + DAY_MS)
}

function isoOf(date: Date): string {
  return date.toISOString().slice(0, 10)
}
