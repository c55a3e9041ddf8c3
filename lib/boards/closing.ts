import { hash } from 'node:crypto'
import type { Editions, Inspection, UpdateOptions, UpdateResult } from '../editions/editions.ts'
import type { PlacedArticle } from '../editions/lookup/contents.ts'
import type { ContentModel } from '../editions/model.ts'
import type { Author } from '../editions/save/recorder.ts'
import { Failure, texts } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { sortedJson } from '../json-text.ts'
import { viewOf } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import { ownerOf } from '../locks/record.ts'
import type { Draft, Entity, LockRecord, LockView } from '../locks/schemas.ts'
import { forEach } from '../locks/table.ts'
import type { MayView } from './boards.ts'
import { lockedAs, lockType } from './entities.ts'
import { inLanguage, languageOf } from './names.ts'
import type { Finding, Readiness } from './schemas.ts'

export interface ClosingDeps {
  locks: Pick<Locks, 'list' | 'drafts'>
  editions: Pick<Editions, 'inspect' | 'close'>
  model: ContentModel
}

/** Who asks. */
export interface ClosingEditor extends Author {
  /** The user whose own locks neither block nor warn. Without a uid every lock counts as another user's. */
  uid?: string | undefined
  mayView: MayView
}

/** What was checked, and the findings against closing. */
export interface ReadinessLook extends Readiness {
  /** Names the state of all that was looked at. A weak one, since engines keep no order of members. */
  etag: string
}

export type Closing = ReturnType<typeof createClosing>

/** The most articles that are looked at. */
export const ARTICLES_MAX = 1000

/** The locks and drafts of an entity, and whether the editor may see it. */
interface Work {
  locks: Array<{ lock: LockView; isTyped: boolean }>
  drafts: Draft[]
  isShown: boolean
}

/** Whether an edition is ready to close, and its closing: what editions and locks know together. */
export function createClosing({ locks, editions, model }: ClosingDeps) {
  const blockerCodes = new Set<string>(model.closing.blockers)

  /**
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND; TOO_LARGE beyond `ARTICLES_MAX` articles; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function readiness(
    id: string,
    caller: Caller,
    editor: ClosingEditor
  ): Promise<ReadinessLook> {
    return look(await editions.inspect(id, caller), editor)
  }

  /**
   * Closes an edition: looks once more when the save has its turn, and again afterwards.
   * @returns `since`: what came between, null where the second look failed, and where an earlier attempt has closed it
   * @throws {Failure} NOT_READY with what is in the way; as `readiness`, and as `editions.close`
   */
  async function close(
    id: string,
    caller: Caller,
    editor: ClosingEditor,
    options: Omit<UpdateOptions, keyof Author> = {}
  ): Promise<UpdateResult & { since: Finding[] | null }> {
    const result = await editions.close(id, caller, {
      ...options,
      uid: editor.uid,
      name: editor.name,
      async check(inspected) {
        const verdict = await look(inspected, editor)
        if (!verdict.ready) {
          throw new Failure(
            'NOT_READY',
            texts.notReady(verdict.blockers.map(({ message }) => message)),
            { details: { blockers: verdict.blockers, warnings: verdict.warnings } }
          )
        }
        return verdict
      },
      again: (inspected) => look(inspected, editor)
    })
    const { before, after, ...edition } = result
    return { ...edition, since: before && after && newOf(after, before) }
  }

  /** @param language of the edition: locks on other translations do not count */
  async function workOn(
    entities: Entity[],
    language: string | undefined,
    mayView: ClosingEditor['mayView']
  ): Promise<Map<Entity, Work>> {
    const work = new Map<Entity, Work>()
    await forEach(entities, async (entity) => {
      const lockStates: Work['locks'] = []
      const drafts: Draft[] = []
      for (const name of inLanguage(entity, language, model)) {
        const { Items } = await locks.list(name)
        lockStates.push(
          ...Items.map((record: LockRecord) => ({
            lock: viewOf(name, record),
            isTyped: record.payload !== undefined
          }))
        )
        drafts.push(...(await locks.drafts.list(name)).Items)
      }
      const isShown = lockStates.length + drafts.length === 0 || (await mayView(entity))
      work.set(entity, { locks: lockStates, drafts, isShown })
    })
    return work
  }

  async function look(
    { edition, etag, articles }: Inspection,
    { uid, mayView }: ClosingEditor
  ): Promise<ReadinessLook> {
    if (articles.length > ARTICLES_MAX) {
      throw new Failure(
        'TOO_LARGE',
        `This edition has ${articles.length} articles; at most ${ARTICLES_MAX} are looked at`
      )
    }
    const ownEntity = lockedAs(edition, model)
    const presentArticles = articles.filter(({ state }) => state !== 'gone')
    const entityOf = ({ entityType, id, uuid }: (typeof presentArticles)[number]): Entity => ({
      type: lockType(entityType, model),
      id: model.lockIds === 'id' ? id : uuid
    })
    const namedArticles = presentArticles.filter((article) => entityOf(article).id !== '')
    const entities = [
      ...new Map(
        [ownEntity, ...namedArticles.map(entityOf)].map((entity) => [nameOf(entity), entity])
      ).values()
    ]
    const work = await workOn(entities, languageOf(edition, model), mayView)
    const findings = [
      ...entities.flatMap((entity) => atWork(entity, work.get(entity)!)),
      ...namedArticles.flatMap((article) => stateOf(article.state, entityOf(article))),
      ...presentArticles.filter((article) => !namedArticles.includes(article)).map(nameless),
      ...articles
        .filter(({ state }) => state === 'gone')
        .map(({ field }) =>
          finding('ARTICLE_GONE', ownEntity, `An article of ${field} is gone: take it out`, {
            fieldName: field
          })
        ),
      ...twice(namedArticles.map((article) => nameOf(entityOf(article)))).map((index) =>
        finding(
          'ARTICLE_TWICE',
          entityOf(namedArticles[index]!),
          `${titleOf(entityOf(namedArticles[index]!))} is in the edition more than once`
        )
      ),
      ...emptyFields()
    ]
    const state = [
      etag,
      articles.map(({ uuid, state }) => [uuid, state]),
      entities.map((entity) => work.get(entity)),
      uid
    ]
    return {
      ready: !findings.some(({ code }) => blockerCodes.has(code)),
      blockers: findings.filter(({ code }) => blockerCodes.has(code)),
      warnings: findings.filter(({ code }) => !blockerCodes.has(code)),
      etag: `W/"${hash('sha256', sortedJson(state), 'base64url').slice(0, 22)}"`
    }

    function atWork(entity: Entity, { locks: lockStates, drafts, isShown }: Work): Finding[] {
      const otherLocks = lockStates.filter(({ lock }) => uid === undefined || ownerOf(lock) !== uid)
      return [
        ...otherLocks.map(({ lock, isTyped }) => {
          // An order that somebody has open changes without a text.
          const isOrder = entity === ownEntity && model.fields.articles.includes(lock.fieldName)
          const { fieldName, userData } = lock
          if (!isShown) {
            return finding(
              'LOCKED',
              entity,
              `Somebody is editing ${titleOf(entity)}, which you may not see`
            )
          }
          return isTyped || isOrder
            ? finding(
                'LOCKED',
                entity,
                `${whoIs(userData)} is editing ${fieldName} of ${titleOf(entity)}`,
                { fieldName, lock }
              )
            : finding(
                'LOCK_IDLE',
                entity,
                `${whoIs(userData)} has opened ${fieldName} of ${titleOf(entity)} and typed nothing yet`,
                { fieldName, lock }
              )
        }),
        ...drafts.map(({ payload: _payload, ...draft }) =>
          isShown
            ? finding(
                'DRAFT_KEPT',
                entity,
                `A text that ${whoIs(draft.userData)} typed into ${draft.fieldName} of ${titleOf(entity)} is kept: restore or discard it`,
                { fieldName: draft.fieldName, draft }
              )
            : finding(
                'DRAFT_KEPT',
                entity,
                `A text that somebody typed into ${titleOf(entity)}, which you may not see, is kept`
              )
        )
      ]
    }

    function stateOf(state: string, entity: Entity): Finding[] {
      if (state === 'unpublished') {
        return [finding('ARTICLE_UNPUBLISHED', entity, `${titleOf(entity)} is not published`)]
      }
      if (state === 'unknown') {
        return [
          finding(
            'ARTICLE_HIDDEN',
            entity,
            `You are not shown whether ${titleOf(entity)} is published`
          )
        ]
      }
      return state === 'hidden'
        ? [
            finding(
              'ARTICLE_HIDDEN',
              entity,
              `You may not see ${titleOf(entity)}, so it may be unpublished`
            )
          ]
        : []
    }

    /** An article whose locks nobody can look for: Drupal did not give its integer id. */
    function nameless({ field, uuid }: PlacedArticle): Finding {
      return finding(
        'ARTICLE_HIDDEN',
        ownEntity,
        `You are not shown the number of the article ${uuid}, so its locks are not known`,
        { fieldName: field }
      )
    }

    function emptyFields(): Finding[] {
      const emptyNames = [...new Set([model.keys.label, ...model.closing.required])]
        .filter((field) => field !== null)
        .filter((field) => !(edition[field] ?? []).some(hasValue))
      const [order] = model.fields.articles
      return [
        ...emptyNames.map((fieldName) =>
          finding('FIELD_EMPTY', ownEntity, `${fieldName} is empty, or you may not see it`, {
            fieldName
          })
        ),
        ...(order !== undefined && articles.length === 0
          ? [finding('ORDER_EMPTY', ownEntity, 'The edition has no articles', { fieldName: order })]
          : [])
      ]
    }

    function titleOf(entity: Entity): string {
      return entity === ownEntity ? 'the edition' : nameOf(entity)
    }
  }

  return { readiness, close }
}

function finding(
  code: Finding['code'],
  { type, id }: Entity,
  message: string,
  more: Partial<Finding> = {}
): Finding {
  return {
    code,
    message: message.charAt(0).toUpperCase() + message.slice(1),
    entityType: type,
    entityId: id,
    ...more
  }
}

function nameOf({ type, id }: Entity): string {
  return `${type} ${id}`
}

/** A record that another program wrote may lack any member. */
function whoIs(userData: { uid?: unknown; name?: string } | undefined): string {
  return (
    userData?.name || (userData?.uid === undefined ? 'Somebody' : `User ${String(userData.uid)}`)
  )
}

/** Whether an item of a field has anything in it. PHP writes an empty map as `[]`, and some modules as `{}`. */
function hasValue(item: Record<string, unknown>): boolean {
  const value = 'value' in item ? item['value'] : (item['target_id'] ?? item['uri'])
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== null && value !== undefined && value !== ''
}

/** The indexes of the names that come again, each where it comes first. */
function twice(names: string[]): number[] {
  return names.flatMap((name, index) =>
    names.indexOf(name) === index && names.lastIndexOf(name) !== index ? [index] : []
  )
}

/** The findings that another look did not have. */
function newOf(after: Readiness, before: Readiness): Finding[] {
  const known = new Set([...before.blockers, ...before.warnings].map(findingKey))
  return [...after.blockers, ...after.warnings].filter((finding) => !known.has(findingKey(finding)))
}

/** A lock that is only renewed is the same finding. */
function findingKey({ code, entityType, entityId, fieldName, lock, draft }: Finding): string {
  return JSON.stringify([code, entityType, entityId, fieldName, lock && ownerOf(lock), draft?.id])
}
