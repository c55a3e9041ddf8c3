import type { Resource } from '../../../lib/drupal/document.ts'
import { attributesOf, hasTimes, isLocalTime } from './attributes.ts'
import { guessed, hidden, type Member } from './member.ts'

/**
 * The time zone of a site: this machine's own, if its clocks show the times of all editions with
 * the offsets that they have.
 * @param own an IANA time zone
 */
export function timeZoneMember(
  rows: Resource[],
  own = new Intl.DateTimeFormat().resolvedOptions().timeZone
): Member {
  const times = attributesOf(rows)
    .filter((attribute) => hasTimes(attribute) && isLocalTime(attribute))
    .flatMap(({ values }) => values as string[])
  if (times.length === 0) {
    return hidden(
      'timeZone',
      'no edition shows a time with an offset, by which it could be guessed'
    )
  }
  return times.every((time) => time.endsWith(offsetIn(own, time)))
    ? guessed(
        'timeZone',
        own,
        'it is that of this machine, and the times of editions have its offsets'
      )
    : hidden(
        'timeZone',
        `JSON:API shows the offsets of times, which are not those of this machine's time zone, ${own}; TZ=<time zone> in the environment tries another`
      )
}

/** The offset that clocks of a time zone have at a time, such as `+01:00`. */
function offsetIn(timeZone: string, time: string): string {
  const [{ value }] = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(Date.parse(time))
    .filter(({ type }) => type === 'timeZoneName') as [Intl.DateTimeFormatPart]
  return value.replace(/^GMT$/, 'GMT+00:00').slice(3)
}
