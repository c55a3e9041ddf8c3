import type { PlacedArticle } from '../editions/lookup/contents.ts'
import type { ContentModel } from '../editions/model.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import { ownerOf } from '../locks/record.ts'
import type { Draft, Entity, LockView } from '../locks/schemas.ts'
import type { Finding } from './schemas.ts'

/** The locks, drafts and open proposals of an entity, and whether the editor may see it. */
export interface Work {
  locks: LockState[]
  drafts: Draft[]
  /** How many proposals are open. */
  proposals: number
  isShown: boolean
}

/** A lock, and whether its holder has typed anything. */
interface LockState {
  lock: LockView
  isTyped: boolean
}

/** An article of an edition, by the entity that its locks are on. */
export interface LockedArticle {
  entity: Entity
  state: PlacedArticle['state']
}

/** The locks and drafts of an entity, without the user's own locks. */
export function workFindings(
  entity: Entity,
  { locks, drafts, isShown }: Work,
  ownEntity: Entity,
  uid: string | undefined,
  model: ContentModel
): Finding[] {
  const title = entity === ownEntity ? 'the edition' : titleOf(entity)
  const orderFields = entity === ownEntity ? model.fields.articles : []
  const otherLocks = locks.filter(({ lock }) => uid === undefined || ownerOf(lock) !== uid)
  if (!isShown) {
    return [
      ...otherLocks.map(() => hiddenLockFinding(entity, title)),
      ...drafts.map(() => hiddenDraftFinding(entity, title))
    ]
  }
  return [
    ...otherLocks.map((lockState) => lockFinding(entity, title, lockState, orderFields)),
    ...drafts.map((draft) => draftFinding(entity, title, draft))
  ]
}

function lockFinding(
  entity: Entity,
  title: string,
  { lock, isTyped }: LockState,
  orderFields: string[]
): Finding {
  const { fieldName, userData } = lock
  const name = whoIs(userData)
  // An order that somebody has open changes without a text.
  if (isTyped || orderFields.includes(fieldName)) {
    const message = `${name} is editing ${fieldName} of ${title}`
    return finding('LOCKED', entity, message, { fieldName, lock })
  }
  const message = `${name} has opened ${fieldName} of ${title} and typed nothing yet`
  return finding('LOCK_IDLE', entity, message, { fieldName, lock })
}

function hiddenLockFinding(entity: Entity, title: string): Finding {
  return finding('LOCKED', entity, `Somebody is editing ${title}, which you may not see`)
}

function draftFinding(
  entity: Entity,
  title: string,
  { payload: _payload, ...draft }: Draft
): Finding {
  const { fieldName, userData } = draft
  return finding(
    'DRAFT_KEPT',
    entity,
    `A text that ${whoIs(userData)} typed into ${fieldName} of ${title} is kept: restore or discard it`,
    { fieldName, draft }
  )
}

function hiddenDraftFinding(entity: Entity, title: string): Finding {
  const message = `A text that somebody typed into ${title}, which you may not see, is kept`
  return finding('DRAFT_KEPT', entity, message)
}

/** An article that is not published, or may be unpublished. */
export function stateFindings({ entity, state }: LockedArticle): Finding[] {
  const title = titleOf(entity)
  switch (state) {
    case 'unpublished':
      return [finding('ARTICLE_UNPUBLISHED', entity, `${title} is not published`)]
    case 'unknown':
      return [finding('ARTICLE_HIDDEN', entity, `You are not shown whether ${title} is published`)]
    case 'hidden':
      return [
        finding('ARTICLE_HIDDEN', entity, `You may not see ${title}, so it may be unpublished`)
      ]
    default:
      return []
  }
}

/** An article whose locks nobody can look for: Drupal did not give its integer id. */
export function namelessFinding({ field, uuid }: PlacedArticle, ownEntity: Entity): Finding {
  return finding(
    'ARTICLE_HIDDEN',
    ownEntity,
    `You are not shown the number of the article ${uuid}, so its locks are not known`,
    { fieldName: field }
  )
}

export function goneFinding({ field }: PlacedArticle, ownEntity: Entity): Finding {
  const message = `An article of ${field} is gone: take it out`
  return finding('ARTICLE_GONE', ownEntity, message, { fieldName: field })
}

/**
 * The articles that are in the edition more than once: one finding for each, where the article
 * comes first.
 */
export function repeatedFindings(articles: LockedArticle[]): Finding[] {
  const names = articles.map(({ entity }) => titleOf(entity))
  return articles
    .filter((_article, index) => {
      const name = names[index]!
      return names.indexOf(name) === index && names.lastIndexOf(name) !== index
    })
    .map(({ entity }) =>
      finding('ARTICLE_TWICE', entity, `${titleOf(entity)} is in the edition more than once`)
    )
}

/** The fields that an edition needs and that are empty. */
export function emptyFieldFindings(
  edition: EditionJson,
  ownEntity: Entity,
  articles: PlacedArticle[],
  { keys, closing, fields }: ContentModel
): Finding[] {
  const emptyNames = [...new Set([keys.label, ...closing.required])]
    .filter((field) => field !== null)
    .filter((field) => !(edition[field] ?? []).some(hasValue))
  const findings = emptyNames.map((fieldName) =>
    finding('FIELD_EMPTY', ownEntity, `${fieldName} is empty, or you may not see it`, { fieldName })
  )
  const [order] = fields.articles
  if (order === undefined || articles.length > 0) return findings
  const message = 'The edition has no articles'
  return [...findings, finding('ORDER_EMPTY', ownEntity, message, { fieldName: order })]
}

export function titleOf({ type, id }: Entity): string {
  return `${type} ${id}`
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

/** A record that another program wrote may lack any member. */
function whoIs(userData: { uid?: unknown; name?: string } | undefined): string {
  return (
    userData?.name || (userData?.uid === undefined ? 'Somebody' : `User ${String(userData.uid)}`)
  )
}

/**
 * Whether an item of a field has anything in it. PHP writes an empty map as `[]`, and some modules
 * as `{}`.
 */
function hasValue(item: Record<string, unknown>): boolean {
  const value = 'value' in item ? item['value'] : (item['target_id'] ?? item['uri'])
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== null && value !== undefined && value !== ''
}
