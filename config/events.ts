import { Type, type Static, type TObject } from '@sinclair/typebox'
import { inGroup, setting } from './setting.ts'

/** How many event streams one user may have, where the settings do not say. */
const STREAMS_PER_USER = 100

/**
 * The settings of event streams.
 * @internal
 */
export const EventsEnvironment = inGroup('Event streams', {
  EVENTS_POLL_MS: setting(Type.Integer({ default: 500, minimum: 100, maximum: 60_000 }), {
    description:
      'How often Quoin reads watched entities from the table. Event streams show writes of other programs and instances with this delay.',
    allowed: 'milliseconds, an integer from 100 to 60000'
  }),
  EVENTS_HEARTBEAT_SECONDS: setting(Type.Integer({ default: 15, minimum: 1, maximum: 600 }), {
    description: 'How often an event stream sends a heartbeat.',
    allowed: 'seconds, an integer from 1 to 600'
  }),
  EVENTS_WATCHERS_MAX: setting(Type.Integer({ default: 2000, minimum: 0, maximum: 100_000 }), {
    description: 'How many event streams one instance serves.',
    allowed: 'an integer from 0 (no event streams) to 100000'
  }),
  EVENTS_WATCHERS_PER_USER: setting(Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })), {
    description:
      'How many event streams of one instance one user may have. With AUTH=none an address counts as a user (of IPv6 a /64 network).',
    allowed: 'an integer from 1 to 100000',
    example: STREAMS_PER_USER,
    unset: `${STREAMS_PER_USER}; with AUTH=none half of EVENTS_WATCHERS_MAX`
  }),
  EVENTS_BUS_URL: setting(
    Type.Optional(
      Type.String({ format: 'url', pattern: '^rediss?://[^/?#\\s]+(?:/[0-9]{0,3})?$' })
    ),
    {
      description:
        'A Redis or Valkey that [several instances](operations.md#several-instances) share. Its pub/sub tells each at once what the others write, and RATE_LIMIT counts for all of them. `rediss:` is TLS.',
      allowed:
        'the address of a Redis or Valkey, such as redis://bus.example.org:6379 or rediss://quoin:password@bus.example.org:6379/0',
      example: 'redis://bus.example.org:6379',
      unset: 'each instance finds by EVENTS_POLL_MS what the others write'
    }
  )
})

/** How event streams are served. */
export interface EventsConfig {
  /** Milliseconds between two reads of a watched entity. */
  pollMs: number
  /** Milliseconds between two heartbeats of a stream. */
  heartbeatMs: number
  /** How many streams there may be. */
  watchersMax: number
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
  ...settings
}: Static<TObject<typeof EventsEnvironment>> & { AUTH: string }): EventsConfig {
  const { EVENTS_WATCHERS_MAX: watchersMax } = settings
  return {
    pollMs: settings.EVENTS_POLL_MS,
    heartbeatMs: settings.EVENTS_HEARTBEAT_SECONDS * 1000,
    watchersMax,
    watchersPerCaller:
      settings.EVENTS_WATCHERS_PER_USER ??
      (AUTH === 'none' ? Math.ceil(watchersMax / 2) : STREAMS_PER_USER)
  }
}
