import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { CmsAuth } from '../../config/cms-auth.ts'
import type { Config } from '../../config/env.ts'
import { lockedAs } from '../../lib/boards/entities.ts'
import { createGuardedTurns } from '../../lib/boards/guard.ts'
import type { Outdated } from '../../lib/boards/outside.ts'
import type { Bus } from '../../lib/bus/bus.ts'
import { createEditions, type Editions } from '../../lib/editions/editions.ts'
import { editionLimits } from '../../lib/editions/limits.ts'
import { AccountNotice, RefusedNotice, SavedNotice } from '../../lib/editions/notices.ts'
import { createSite, type Site } from '../../lib/editions/site/site.ts'
import { createStaleCache, type StaleCache } from '../../lib/editions/stale-cache.ts'
import type { AnswerMemory } from '../../lib/http/answer-memory.ts'
import { changeLine, createBreaker, type Breaker } from '../../lib/http/breaker.ts'
import { createHttp } from '../../lib/http/client.ts'
import {
  basicAccount,
  oauthAccount,
  sessionAccount,
  type Account,
  type AccountOptions
} from '../../lib/drupal/accounts.ts'
import { createJsonapi, type SignSave } from '../../lib/drupal/client.ts'
import { fingerprint, markOf } from '../../lib/drupal/credentials.ts'
import type { Refusals } from '../../lib/drupal/refusals.ts'
import type { Journal } from '../../lib/saves/journal.ts'
import type { EditionSave } from '../../lib/locks/feed-events.ts'
import type { Locks } from '../../lib/locks/locks.ts'
import { UpdateNotice } from '../../lib/locks/notice.ts'
import { isUuid } from '../../lib/patterns.ts'
import { createTickets } from '../../lib/saves/tickets.ts'
import type { Store } from '../../lib/table/client.ts'
import { newCaller } from '../../lib/http/calls.ts'

const WITHOUT_TRANSACTIONS =
  'Quoin looks at locks just before a save, and saves over a lock that is taken right after that: the lock store has no transactions, or these credentials lack dynamodb:ConditionCheckItem'

/** Editions, and what stands between them and the CMS. */
export interface EditionStore extends Editions {
  /** Answers kept for when the CMS is down; plugins/app/stale.ts keeps and gives them. */
  staleCache: StaleCache
  /** Whether requests go to the CMS. */
  breaker: Breaker
  /**
   * Whether somebody has the turn to save an edition, or may still be saving.
   * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED
   */
  isBeingSaved(uuid: string): Promise<boolean>
  /** Ends what this instance and the others remember of what Drupal has saved without Quoin. */
  outdateAll(outdated: Outdated): void
  /** Tells those who watch an entity, here and at the other instances, that it was saved. */
  tellSave(save: EditionSave): void
}

declare module 'fastify' {
  interface FastifyInstance {
    editions: EditionStore
  }
}

/** What the editions are joined to. */
export interface EditionDeps {
  /** Has the tickets of saves. */
  store: Store
  /** Asked for saves that respect locks; their watchers get events of saves. */
  locks: Locks
  /** Told of what the CMS refuses to callers; copies and targets end by them. */
  refusals: Refusals
  /** What there is for the large answers of all calls. */
  memory: AnswerMemory
  /** Tells other instances of saves and refusals. */
  bus?: Bus | undefined
  /** Has an entry of each save. */
  journal?: Journal | undefined
  /** Signs saves for Drupal's module. */
  signSave?: SignSave | undefined
}

/**
 * Creates the editions in the configured CMS, and tells the instance of them: the probe `cms`, a
 * reading, the closing.
 */
export function openEditions(
  fastify: FastifyInstance,
  config: Config,
  deps: EditionDeps
): EditionStore {
  const { locks, refusals, memory, bus, journal } = deps
  const { cms, contentModel: model } = config
  const { http, breaker, jsonapi } = openCms(fastify, config, deps)
  const site = createSite({
    cms: jsonapi,
    model,
    cmsUrl: cms.url,
    jsonapiPath: cms.jsonapiPath,
    warn: (message) => fastify.log.warn(message)
  })
  const staleCache = createStaleCache({
    seconds: cms.staleSeconds,
    model,
    uuidOf: (id) => site.ids.get(id)?.uuid.toLowerCase()
  })
  forgetRefused(config, deps, staleCache, site)
  const tellSaved = bus?.topic('saved', SavedNotice, ({ uuid, revision, isOutside }) => {
    staleCache.outdate(uuid)
    site.revisions.learn(uuid, revision)
    if (isOutside) outdateReads(uuid)
  })
  const tellUpdated = bus?.topic('updated', UpdateNotice, locks.feed.saved)
  const tellSave = (save: EditionSave) => {
    locks.feed.saved(save)
    tellUpdated?.(save)
  }
  const tickets = openTickets(fastify, config, deps.store, site.revisions)
  const editions = createEditions({
    limits: editionLimits(cms.timeoutMs, memory),
    site,
    recorder: journal?.record,
    turns: createGuardedTurns({ tickets, locks, model, isForAll: config.enforceLocks }),
    onSave(uuid) {
      staleCache.outdate(uuid)
      const revision = site.revisions.of(uuid)
      tellSaved?.({ uuid, ...(revision !== undefined && { revision }) })
    },
    onUpdate({ edition, uid, lockVersions: _, ...saved }) {
      const { type: entityType, id: entityId } = lockedAs(edition, model)
      tellSave({ entityType, entityId, ...(uid !== undefined && { uid }), ...saved })
    },
    onRefusal: refusals.tell
  })

  /** Ends what was read of an entity before Drupal saved it without Quoin. */
  function outdateReads(uuid: string): void {
    jsonapi.forgetReads()
    site.targets.outdate(uuid)
    editions.outdate(uuid)
  }

  function outdateAll({ uuid, isListed, isEdition, revision }: Outdated): void {
    if (isListed) staleCache.outdate(uuid)
    if (isEdition) site.revisions.learn(uuid, revision)
    outdateReads(uuid)
    const isNewest = isEdition && revision !== undefined
    tellSaved?.({ uuid, isOutside: true, ...(isNewest && { revision }) })
  }

  fastify.readings.set('quoin_cms_circuit_breaker', {
    type: 'gauge',
    help: 'The circuit breaker before the CMS: 1 for the state that it is in',
    label: 'state',
    read: () => ({ closed: 0, open: 0, 'half-open': 0, [breaker.state()]: 1 })
  })
  fastify.probes.set('cms', () => editions.probe(newCaller()))
  fastify.addHook('onClose', () => http.close())
  return { ...editions, staleCache, breaker, isBeingSaved: tickets.isHeld, outdateAll, tellSave }
}

/** The way to the CMS: HTTP behind a circuit breaker, and JSON:API on it. */
function openCms(
  fastify: FastifyInstance,
  config: Config,
  { refusals, bus, signSave }: EditionDeps
) {
  const { url, jsonapiPath, timeoutMs, auth } = config.cms
  const breaker = createBreaker({
    onChange: (...change) => fastify.log.warn(changeLine(...change))
  })
  const http = createHttp({ url, timeoutMs, breaker, observe: fastify.observe })
  const account = accountOf(auth, {
    http,
    jsonapiPath,
    ...(bus && { joinPeers: peersAt(bus, config) })
  })
  const jsonapi = createJsonapi({
    http,
    jsonapiPath,
    onRefusal: refusals.tell,
    languages: config.contentModel.languages,
    signSave,
    ...(account && { account })
  })
  return { http, breaker, jsonapi }
}

/**
 * Ends the copies and targets of what the CMS refuses to a caller, at this instance and the others.
 */
function forgetRefused(
  { contentModel: model }: Config,
  { refusals, bus }: EditionDeps,
  staleCache: StaleCache,
  site: Site
): void {
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
}

/** The tickets of saves, which say in the log what the lock store cannot do. */
function openTickets(
  fastify: FastifyInstance,
  { table, environment, enforceLocks }: Config,
  { client, clock }: Store,
  revisions: Site['revisions']
) {
  return createTickets({
    client,
    table,
    environment,
    time: clock.time,
    required: enforceLocks,
    revisions,
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
}

/**
 * The mark by which instances with the same account tell each other that it was refused. It gives
 * nothing of the account away.
 */
function peersAt(
  bus: Bus,
  { cms: { url, auth } }: Config
): NonNullable<AccountOptions['joinPeers']> {
  const mark = markOf(fingerprint(newCaller({ authorization: JSON.stringify([url, auth]) })))
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
