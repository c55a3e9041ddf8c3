import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { Access } from '../../lib/access/access.ts'
import { createCmsAccess } from '../../lib/access/cms-access.ts'
import { lockType } from '../../lib/boards/entities.ts'
import { lockNameOf } from '../../lib/boards/names.ts'
import type { Refusals } from '../../lib/drupal/refusals.ts'
import type { Store } from '../../lib/table/client.ts'
import type { AnswerMemory } from '../../lib/http/answer-memory.ts'
import type { History } from '../../lib/saves/history.ts'
import { createJournal, type Journal } from '../../lib/saves/journal.ts'
import type { ProposalNotes, TakeoverNotes } from '../../lib/locks/context.ts'
import { openQuestions } from './questions.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** What editors read of the journal; undefined with JOURNAL_DAYS=0. */
    history: History | undefined
    /**
     * Asks the CMS who may edit, where callers have credentials there and nothing else asks with
     * them.
     */
    journalAccess: Access | undefined
  }
}

/** Creates the journal in the configured table; undefined with JOURNAL_DAYS=0. */
export function openJournal(
  fastify: FastifyInstance,
  { table, environment, journalDays: days, contentModel: model }: Config,
  { client, clock }: Store,
  memory: AnswerMemory
): Journal | undefined {
  if (days === 0) return undefined
  const warn = (failure: Error) =>
    fastify.log.warn(
      { err: failure },
      'saves have no entry in the journal: the lock store does not take it'
    )
  return createJournal({
    client,
    table,
    environment,
    memory,
    days,
    model,
    time: clock.time,
    warn
  })
}

/**
 * What notes takeovers of the locks of editions. An article is in no edition as far as locks know.
 */
export function takeoversIn(journal: Journal, { contentModel: model }: Config): TakeoverNotes {
  return {
    concerns: (type) => type === lockType(model.entityType, model),
    note: ({ id }, { fieldName, from, by }) =>
      journal.takenOver(lockNameOf(id, model).id, { fieldName, from: userOf(from), by: userOf(by) })
  }
}

/** The same of proposals. */
export function proposalEventsIn(journal: Journal, { contentModel: model }: Config): ProposalNotes {
  return {
    concerns: (type) => type === lockType(model.entityType, model),
    note: ({ id }, { kind, fieldName, from, by }) =>
      journal.proposal(lockNameOf(id, model).id, {
        kind,
        fieldName,
        by: userOf(by),
        ...(from && { from: userOf(from) })
      })
  }
}

/** A record of others may miss any member. */
function userOf({ uid, name }: { uid?: unknown; name?: unknown } = {}) {
  return { uid: textOf(uid), name: textOf(name) }
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value)
}

/** Gives a scope the journal. */
async function journal(
  fastify: FastifyInstance,
  {
    config,
    history,
    refusals
  }: { config: Config; history: History | undefined; refusals: Refusals }
) {
  const { auth, cms } = config
  fastify.decorate('history', history)
  const isAsked =
    history !== undefined && cms.auth.kind === 'passthrough' && auth?.kind !== 'drupal'
  if (!isAsked) {
    fastify.decorate('journalAccess', undefined)
    return
  }
  const { questions } = openQuestions(fastify, config, { asker: 'the journal', refusals })
  fastify.decorate('journalAccess', createCmsAccess({ questions, refusals }))
}

export default fp(journal, { name: 'journal', dependencies: ['boards'], fastify: '5.x' })
