import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { Bus } from '../../lib/bus/bus.ts'
import type { Store } from '../../lib/table/client.ts'
import type { AnswerMemory } from '../../lib/http/answer-memory.ts'
import type { Journal } from '../../lib/saves/journal.ts'
import { createLocks, type Locks } from '../../lib/locks/locks.ts'
import { LockNotice } from '../../lib/locks/notice.ts'
import { proposalEventsIn, takeoversIn } from './journal.ts'
import { skewOf } from './store.ts'

/** How long /health/ready waits for the store, in milliseconds. */
const PROBE_MS = 1000

declare module 'fastify' {
  interface FastifyInstance {
    locks: Locks
    /** The status of "Field is locked by another user". */
    lockRefusedStatus: number
  }
}

/**
 * Creates the field locks over the configured table, and tells the instance of them: the probe
 * `store`, readings, the end of event streams.
 * @param memory what there is for the large lists of all callers
 * @param bus tells other instances of writes
 * @param journal has an entry of each takeover of an edition's lock, and of each proposal for it
 */
export function openLocks(
  fastify: FastifyInstance,
  config: Config,
  { client, clock }: Store,
  {
    memory,
    bus,
    journal
  }: { memory: AnswerMemory; bus?: Bus | undefined; journal?: Journal | undefined }
): Locks {
  const warn = (failure: Error) =>
    fastify.log.warn(
      { err: failure },
      'event streams are not up to date: the store does not answer'
    )
  const notices = bus && {
    isUp: bus.isUp,
    hearsAll: bus.hearsAll,
    tell: bus.topic('locks', LockNotice, (notice) => locks.feed.hear(notice))
  }
  const locks = createLocks({
    client,
    table: config.table,
    environment: config.environment,
    memory,
    ...config.locks,
    feed: { ...config.locks.feed, warn, ...(notices && { notices }) },
    time: clock.time,
    takeovers: journal && takeoversIn(journal, config),
    proposals: journal && proposalEventsIn(journal, config)
  })
  bus?.onChange(locks.feed.catchUp)
  fastify.readings.set('quoin_lock_outcomes_total', {
    type: 'counter',
    help: 'What became of requests for locks',
    label: 'outcome',
    read: () => locks.counts
  })
  fastify.readings.set('quoin_event_streams', {
    type: 'gauge',
    help: 'Event streams that are open',
    read: () => locks.feed.counts().watchers
  })
  fastify.readings.set('quoin_watched_entities', {
    type: 'gauge',
    help: 'Entities that event streams watch, each read again and again',
    read: () => locks.feed.counts().entities
  })
  fastify.probes.set('store', async () => {
    await locks.probe(AbortSignal.timeout(PROBE_MS))
    return skewOf(clock.offset())
  })
  // Not before: what does not listen, such as a test or a print of the OpenAPI document, needs no
  // store.
  fastify.addHook('onListen', async () => {
    clock.start(locks.probe)
    clock.time.ready()?.catch(() => {})
  })
  fastify.addHook('preClose', async () => locks.feed.close())
  return locks
}

/** Gives a scope the locks, and the status of a refusal. */
async function locks(
  fastify: FastifyInstance,
  { config, locks }: { config: Config; locks: Locks }
) {
  fastify.decorate('locks', locks)
  fastify.decorate('lockRefusedStatus', config.lockRefusedStatus)
}

export default fp(locks, { name: 'locks', fastify: '5.x' })
