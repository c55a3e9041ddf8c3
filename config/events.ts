import { Type, type Static, type TObject } from '@sinclair/typebox'
import { STREAMS, STREAMS_PER_CALLER } from '../lib/locks/feed-context.ts'
import { inGroup, setting } from './setting.ts'

/**
 * The settings of event streams.
 * @internal
 */
export const EventsEnvironment = inGroup('Event streams', {
  EVENTS_POLL_MS: setting(Type.Integer({ default: 500, minimum: 100, maximum: 60_000 }), {
    description:
      'How often Quoin reads watched entities from the table. Event streams show writes of other programs and instances with this delay.',
    turn: 'the bill for reads counts more than a delay of events: 2000 costs a quarter. With EVENTS_BUS_URL it hardly matters.',
    allowed: 'milliseconds, an integer from 100 to 60000'
  }),
  EVENTS_BUS_URL: setting(
    Type.Optional(
      Type.String({ format: 'url', pattern: '^rediss?://[^/?#\\s]+(?:/[0-9]{0,3})?$' })
    ),
    {
      description:
        'A Redis or Valkey that [several instances](operations.md#several-instances) share. Its pub/sub tells each at once what the others write, and RATE_LIMIT counts for all of them. `rediss:` is TLS.',
      turn: 'there are two instances or more.',
      allowed:
        'the address of a Redis or Valkey, such as redis://bus.example.org:6379 or rediss://quoin:password@bus.example.org:6379/0',
      example: 'redis://bus.example.org:6379',
      unset: 'each instance finds by EVENTS_POLL_MS what the others write'
    }
  )
})

/** How event streams are served. Settings say the first and the last of it. */
export interface EventsConfig {
  /** Milliseconds between two reads of a watched entity. */
  pollMs: number
  /** Milliseconds between two heartbeats of a stream. */
  heartbeatMs?: number
  /** How many streams there may be. */
  watchersMax?: number
  /** How many of them one caller may have. */
  watchersPerCaller: number
}

/**
 * Reads how event streams are served.
 * @param AUTH with `none` callers are told apart by address alone, which many may share: one may
 *   have half of all streams
 * @internal
 */
export function readEvents({
  AUTH,
  EVENTS_POLL_MS: pollMs
}: Static<TObject<typeof EventsEnvironment>> & { AUTH: string }): EventsConfig {
  return { pollMs, watchersPerCaller: AUTH === 'none' ? STREAMS / 2 : STREAMS_PER_CALLER }
}
