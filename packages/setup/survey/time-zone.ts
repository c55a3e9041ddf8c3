import type { Resource } from '../../../lib/drupal/document.ts'
import { isTimeZone } from '../../../lib/editions/model.ts'
import { attributesOf, hasTimes, isLocalTime } from './attributes.ts'
import { guessed, hidden, type Member } from './member.ts'

/**
 * The time zone of a site: this machine's own, or the account's, if its clocks show the times of all
 * editions with the offsets that they have. Users have that of the site unless they choose another.
 * @param own an IANA time zone
 * @param userZone asks for the account's
 */
export async function timeZoneMember(
  rows: Resource[],
  userZone: () => Promise<string | undefined>,
  own = new Intl.DateTimeFormat().resolvedOptions().timeZone
): Promise<Member> {
  const times = attributesOf(rows)
    .filter((attribute) => hasTimes(attribute) && isLocalTime(attribute))
    .flatMap(({ values }) => values as string[])
  if (times.length === 0) {
    return hidden(
      'timeZone',
      'no edition shows a time with an offset, by which it could be guessed'
    )
  }
  if (hasOffsets(own, times)) {
    return guessed(
      'timeZone',
      own,
      'it is that of this machine, and the times of editions have its offsets'
    )
  }
  const zone = await userZone()
  return zone !== undefined && isTimeZone(zone) && hasOffsets(zone, times)
    ? guessed('timeZone', zone, "it is the account's, and the times of editions have its offsets")
    : hidden(
        'timeZone',
        `JSON:API shows the offsets of times, which are not those of this machine's time zone, ${own}, nor of the account's; TZ=<time zone> in the environment tries another`
      )
}

function hasOffsets(zone: string, times: string[]): boolean {
  return times.every((time) => time.endsWith(offsetIn(zone, time)))
}

/** The offset that clocks of a time zone have at a time, such as `+01:00`. */
function offsetIn(timeZone: string, time: string): string {
  const [{ value }] = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(Date.parse(time))
    .filter(({ type }) => type === 'timeZoneName') as [Intl.DateTimeFormatPart]
  return value.replace(/^GMT$/, 'GMT+00:00').slice(3)
}
