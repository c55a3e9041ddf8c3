import { hash } from 'node:crypto'
import type { Inspection } from '../editions/inspect.ts'
import type { PlacedArticle } from '../editions/lookup/contents.ts'
import type { ContentModel } from '../editions/model.ts'
import type { Author } from '../editions/save/recorder.ts'
import { Failure } from '../errors.ts'
import { forEach } from '../for-each.ts'
import { sortedJson } from '../json-text.ts'
import { viewOf } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import type { Draft, Entity, LockRecord } from '../locks/schemas.ts'
import {
  emptyFieldFindings,
  goneFinding,
  namelessFinding,
  titleOf,
  repeatedFindings,
  stateFindings,
  workFindings,
  type Work
} from './closing-findings.ts'
import { lockedAs, lockType } from './entities.ts'
import { inLanguage, languageOf } from './names.ts'
import type { Finding, Readiness } from './schemas.ts'
import type { MayView } from './visible-locks.ts'

export interface ReadinessContext {
  locks: Pick<Locks, 'survey' | 'drafts'>
  model: ContentModel
}

/** Who asks. */
export interface ClosingEditor extends Author {
  /**
   * The user whose own locks neither block nor warn. Without a uid every lock counts as another
   * user's.
   */
  uid?: string | undefined
  mayView: MayView
}

/** The findings against closing an edition. */
export interface ReadinessCheck extends Readiness {
  /**
   * Names the state of all that was looked at. A weak one, since engines keep no order of members.
   */
  etag: string
}

/** The most articles that are looked at. */
export const ARTICLES_MAX = 1000

/**
 * Looks at an edition, at its articles, and at the locks, drafts and open proposals of both.
 * @throws {Failure} TOO_LARGE beyond `ARTICLES_MAX` articles; STORE_UNAVAILABLE, STORE_FAILED
 */
export async function checkReadiness(
  context: ReadinessContext,
  { edition, etag, articles }: Inspection,
  { uid, mayView }: ClosingEditor
): Promise<ReadinessCheck> {
  const { model } = context
  checkSize(articles)
  const ownEntity = lockedAs(edition, model)
  const presentArticles = articles.filter(({ state }) => state !== 'gone')
  const lockedArticles = presentArticles
    .map((article) => ({ state: article.state, entity: lockEntityOf(article, model) }))
    .filter(({ entity }) => entity.id !== '')
  const namelessArticles = presentArticles.filter(
    (article) => lockEntityOf(article, model).id === ''
  )
  const entities = distinct([ownEntity, ...lockedArticles.map(({ entity }) => entity)])
  const work = await readWork(context, entities, languageOf(edition, model), mayView)
  const findings = [
    ...entities.flatMap((entity) => workFindings(entity, work.get(entity)!, ownEntity, uid, model)),
    ...lockedArticles.flatMap(stateFindings),
    ...namelessArticles.map((article) => namelessFinding(article, ownEntity)),
    ...articles
      .filter(({ state }) => state === 'gone')
      .map((article) => goneFinding(article, ownEntity)),
    ...repeatedFindings(lockedArticles),
    ...emptyFieldFindings(edition, ownEntity, articles, model)
  ]
  const state = [
    etag,
    articles.map(({ uuid, state }) => [uuid, state]),
    entities.map((entity) => work.get(entity)),
    uid
  ]
  const proposals = [...work.values()].reduce((sum, { proposals }) => sum + proposals, 0)
  return { ...verdictOn(findings, model), proposals, etag: weakTagOf(state) }
}

function checkSize({ length }: PlacedArticle[]): void {
  if (length <= ARTICLES_MAX) return
  throw new Failure(
    'TOO_LARGE',
    `This edition has ${length} articles; at most ${ARTICLES_MAX} are looked at`
  )
}

/**
 * What the locks of an article are on. Its id is empty if Drupal does not show what locks go by.
 */
function lockEntityOf({ entityType, id, uuid }: PlacedArticle, model: ContentModel): Entity {
  return { type: lockType(entityType, model), id: model.lockIds === 'id' ? id : uuid }
}

/** Each entity once. */
function distinct(entities: Entity[]): Entity[] {
  return [...new Map(entities.map((entity) => [titleOf(entity), entity])).values()]
}

/**
 * Reads the locks and drafts of entities, and counts their open proposals.
 * @param language of the edition: locks on other translations do not count
 */
async function readWork(
  { locks, model }: ReadinessContext,
  entities: Entity[],
  language: string | undefined,
  mayView: MayView
): Promise<Map<Entity, Work>> {
  const work = new Map<Entity, Work>()
  await forEach(entities, async (entity) => {
    const lockStates: Work['locks'] = []
    const drafts: Draft[] = []
    let proposalCount = 0
    for (const name of inLanguage(entity, language, model)) {
      const { Items, proposals } = await locks.survey(name)
      proposalCount += proposals
      lockStates.push(
        ...Items.map((record: LockRecord) => ({
          lock: viewOf(name, record),
          isTyped: record.payload !== undefined
        }))
      )
      drafts.push(...(await locks.drafts.list(name)).Items)
    }
    const isShown = lockStates.length + drafts.length === 0 || (await mayView(entity))
    work.set(entity, { locks: lockStates, drafts, proposals: proposalCount, isShown })
  })
  return work
}

/** The content model says which findings block. */
function verdictOn(findings: Finding[], model: ContentModel): Omit<Readiness, 'proposals'> {
  const blockerCodes = new Set<string>(model.closing.blockers)
  const blockers = findings.filter(({ code }) => blockerCodes.has(code))
  const warnings = findings.filter(({ code }) => !blockerCodes.has(code))
  return { ready: blockers.length === 0, blockers, warnings }
}

function weakTagOf(state: unknown): string {
  return `W/"${hash('sha256', sortedJson(state), 'base64url').slice(0, 22)}"`
}
