import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { CmsAuth } from '../config/cms-auth.ts'
import type { Config } from '../config/env.ts'
import { lockedAs } from '../lib/boards/entities.ts'
import { createGuardedTurns } from '../lib/saves/guard.ts'
import type { Bus } from '../lib/bus/bus.ts'
import type { Store } from '../lib/table/client.ts'
import { createEditions, type Editions } from '../lib/editions/editions.ts'
import { withLimits } from '../lib/editions/limits.ts'
import { AccountNotice, RefusedNotice, SavedNotice } from '../lib/editions/notices.ts'
import { createSite } from '../lib/editions/site/site.ts'
import { createStaleCache, type StaleCache } from '../lib/editions/stale-cache.ts'
import type { AnswerMemory } from '../lib/http/answer-memory.ts'
import { changeLine, createBreaker, type Breaker } from '../lib/http/breaker.ts'
import { createHttp } from '../lib/http/client.ts'
import {
  basicAccount,
  oauthAccount,
  sessionAccount,
  type Account,
  type AccountOptions
} from '../lib/drupal/accounts.ts'
import { createJsonapi } from '../lib/drupal/client.ts'
import { fingerprint, markOf, renewSession } from '../lib/drupal/credentials.ts'
import type { Refusals } from '../lib/drupal/refusals.ts'
import type { Journal } from '../lib/saves/journal.ts'
import type { Locks } from '../lib/locks/locks.ts'
import { UpdateNotice } from '../lib/locks/notice.ts'
import { isUuid } from '../lib/patterns.ts'
import { createTickets } from '../lib/saves/tickets.ts'

const WITHOUT_TRANSACTIONS =
  'Quoin looks at locks just before a save, and saves over a lock that is taken right after that: the lock store has no transactions, or these credentials lack dynamodb:ConditionCheckItem'

/** Editions, and what stands between them and the CMS. */
export interface EditionStore extends Editions {
  /** Answers kept for when the CMS is down; plugins/stale.ts keeps and gives them. */
  staleCache: StaleCache
  /** Whether requests go to the CMS. */
  breaker: Breaker
  /** Whether somebody has the turn to save an edition, or may still be saving. @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED */
  isBeingSaved(uuid: string): Promise<boolean>
}

declare module 'fastify' {
  interface FastifyInstance {
    editions: EditionStore
  }
}

/**
 * Creates the editions in the configured CMS, and tells the instance of them: the probe `cms`, a reading, the closing.
 * @param store has the tickets of saves
 * @param refusals told of what the CMS refuses to callers; copies and targets end by them
 * @param locks asked only if they are enforced; their watchers get events of saves
 * @param memory what there is for the large answers of all calls
 * @param bus tells other instances of saves and refusals
 * @param journal has an entry of each save
 */
export function openEditions(
  fastify: FastifyInstance,
  config: Config,
  {
    store: { client, clock },
    locks,
    refusals,
    memory,
    bus,
    journal
  }: {
    store: Store
    locks: Locks
    refusals: Refusals
    memory: AnswerMemory
    bus?: Bus | undefined
    journal?: Journal | undefined
  }
): EditionStore {
  const {
    cms: { url, jsonapiPath, timeoutMs, staleSeconds, auth },
    contentModel: model
  } = config
  const breaker = createBreaker({
    onChange: (...change) => fastify.log.warn(changeLine(...change))
  })
  const http = createHttp({ url, timeoutMs, breaker, observe: fastify.observe })
  const account = accountOf(auth, {
    http,
    jsonapiPath,
    ...(bus && { joinPeers: peersAt(bus, config) })
  })
  const cms = createJsonapi({
    http,
    jsonapiPath,
    onRenewal: renewSession,
    onRefusal: refusals.tell,
    languages: model.languages,
    ...(account && { account })
  })
  const site = createSite({ cms, model, cmsUrl: url, warn: (message) => fastify.log.warn(message) })
  const staleCache = createStaleCache({
    seconds: staleSeconds,
    model,
    uuidOf: (id) => site.ids.get(id)?.uuid.toLowerCase()
  })
  const tellSaved = bus?.topic('saved', SavedNotice, ({ uuid, revision }) => {
    staleCache.outdate(uuid)
    site.revisions.learn(uuid, revision)
  })
  const tellRefused = bus?.topic('refused', RefusedNotice, ({ caller, id }) =>
    staleCache.withdraw(caller, id)
  )
  refusals.listen((caller, id, keys = model.keys) => {
    staleCache.refuse(caller, id, keys)
    site.targets.refuse(caller, id)
    const isNamed = id === undefined || isUuid(id) || keys === model.keys
    if (isNamed) {
      tellRefused?.({ caller: markOf(fingerprint(caller)), ...(id !== undefined && { id }) })
    }
  })
  const tellUpdated = bus?.topic('updated', UpdateNotice, locks.feed.saved)
  const tickets = createTickets({
    client,
    table: config.table,
    environment: config.environment,
    now: clock.now,
    ready: clock.ready,
    required: config.enforceLocks,
    revisions: site.revisions,
    warn: (failure) =>
      fastify.log.warn(
        { err: failure },
        'saves take turns within this instance alone: the lock store gives no tickets'
      ),
    onTransactions: (refusal) =>
      refusal
        ? fastify.log.warn({ err: refusal }, WITHOUT_TRANSACTIONS)
        : fastify.log.info(
            'the lock store has transactions: locks are checked in one moment with the ticket of a save'
          )
  })
  const editions = withLimits(
    createEditions({
      site,
      recorder: journal?.record,
      turns: config.enforceLocks ? createGuardedTurns({ tickets, locks, model }) : tickets,
      onSave(uuid) {
        staleCache.outdate(uuid)
        const revision = site.revisions.of(uuid)
        tellSaved?.({ uuid, ...(revision !== undefined && { revision }) })
      },
      onUpdate({ edition, etag, fields, uid }) {
        const { type: entityType, id: entityId } = lockedAs(edition, model)
        const save = { entityType, entityId, etag, ...(uid !== undefined && { uid }), fields }
        locks.feed.saved(save)
        tellUpdated?.(save)
      },
      onRefusal: refusals.tell
    }),
    timeoutMs,
    memory
  )

  fastify.readings.set('quoin_cms_circuit_breaker', {
    type: 'gauge',
    help: 'The circuit breaker before the CMS: 1 for the state that it is in',
    label: 'state',
    read: () => ({ closed: 0, open: 0, 'half-open': 0, [breaker.state()]: 1 })
  })
  fastify.probes.set('cms', () => editions.probe({}))
  fastify.addHook('onClose', () => http.close())
  return { ...editions, staleCache, breaker, isBeingSaved: tickets.isHeld }
}

/** The mark by which instances with the same account tell each other that it was refused. It gives nothing of the account away. */
function peersAt(
  bus: Bus,
  { cms: { url, auth } }: Config
): NonNullable<AccountOptions['joinPeers']> {
  const mark = markOf(fingerprint({ authorization: JSON.stringify([url, auth]) }))
  return (hear) => {
    const tell = bus.topic('account', AccountNotice, ({ account }) => {
      if (account === mark) hear()
    })
    return () => {
      tell({ account: mark })
    }
  }
}

/** The service account that CMS_AUTH names, if any. */
export function accountOf(auth: CmsAuth, options: AccountOptions): Account | undefined {
  switch (auth.kind) {
    case 'passthrough':
      return undefined
    case 'basic':
      return basicAccount(options, auth.user, auth.password)
    case 'session':
      return sessionAccount(options, auth.user, auth.password)
    case 'oauth':
      return oauthAccount(options, auth.clientId, auth.clientSecret)
  }
}

/** Gives a scope the editions. */
async function editions(fastify: FastifyInstance, { editions }: { editions: EditionStore }) {
  fastify.decorate('editions', editions)
}

export default fp(editions, { name: 'editions', fastify: '5.x' })
