import { distance } from 'fastest-levenshtein'

/** Letters that may differ between a setting and a misspelling of it. */
const TYPOS = 2

/** Shorter names are too similar to each other: HOSTS is not a misspelling of HOST. */
const SHORTEST = 6

/**
 * Finds environment variables that look like misspelt settings: two letters differ, a part at the
 * end is missing or too much (`CMS_TIMEOUT` for `CMS_TIMEOUT_MS`), the prefix is missing
 * (`LEASE_SECONDS`), Quoin's name is one (`QUOIN_CMS_URL`), or it is in another unit
 * (`EVENTS_POLL_SECONDS`). Other programs' variables share the environment, so a name without a
 * setting near it is left alone.
 *
 * @param env such as `process.env`
 * @param settings the names of all settings
 * @returns a sentence for each, such as `CMS_TIMEOUT is not a setting; do you mean CMS_TIMEOUT_MS?`
 */
export function misspelt(env: Record<string, string | undefined>, settings: string[]): string[] {
  const names = new Set(settings)
  return Object.keys(env)
    .filter((name) => env[name] && !names.has(name))
    .flatMap((name) => {
      const nearest = settings
        .filter((setting) => env[setting] === undefined && isNear(name, setting))
        .sort((a, b) => distance(name, a) - distance(name, b))[0]
      return nearest === undefined ? [] : [`${name} is not a setting; do you mean ${nearest}?`]
    })
}

function isNear(name: string, setting: string): boolean {
  if (Math.min(name.length, setting.length) < SHORTEST) return false
  return (
    distance(name.toUpperCase(), setting) <= TYPOS ||
    isCutShort(name, setting) ||
    isCutShort(setting, name) ||
    isWithoutPrefix(name, setting) ||
    name === `${OWN_PREFIX}${setting}` ||
    isInOtherUnit(name, setting)
  )
}

/** What other services put before all of their settings. */
const OWN_PREFIX = 'QUOIN_'

/** A time, with its unit. */
const TIME = /^(.+)_(?:MS|SECONDS|MINUTES|HOURS|DAYS)$/

/** Whether a name is the end of a setting, by whole parts of which it has two at least. */
function isWithoutPrefix(end: string, whole: string): boolean {
  return end.includes('_') && whole.endsWith(`_${end}`)
}

function isInOtherUnit(name: string, setting: string): boolean {
  const what = TIME.exec(name)?.[1]
  return what !== undefined && what === TIME.exec(setting)?.[1]
}

/** Whether one name is the beginning of the other, by whole parts of which it has two at least. */
function isCutShort(beginning: string, whole: string): boolean {
  return beginning.includes('_') && whole.startsWith(`${beginning}_`)
}
