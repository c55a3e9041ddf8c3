import type { Edition, Item } from './content.ts'

/**
 * What the service takes and answers, as the client's users see it: plain types, so that the client
 * needs no package for them. A test holds them to the schemas of the service.
 */

/** One page of a list of editions. */
export interface EditionPage {
  data: Edition[]
  meta: {
    limit: number
    offset: number
    hasMore: boolean
    total: number | null
    /** With `unplaced`: the offset of the next page. */
    next?: number | null
    placed?: Record<string, Placement[]>
    locks?: Record<string, LockView[]> | null
  }
  /** Paths of this page and of those beside it. */
  links: { self: string; next?: string; prev?: string }
}

/** An edition that holds an article. */
export interface Placement {
  id: string
  uuid: string
  bundle: string
  label: string
  published: boolean | null
}

/** A draft without its text. */
export type KeptDraft = Omit<Draft, 'payload'>

/** What an editor should know of before an edition is closed; `message` is a sentence for them. */
export interface Finding {
  code:
    | 'LOCKED'
    | 'LOCK_IDLE'
    | 'DRAFT_KEPT'
    | 'ARTICLE_UNPUBLISHED'
    | 'ARTICLE_GONE'
    | 'ARTICLE_HIDDEN'
    | 'ARTICLE_TWICE'
    | 'FIELD_EMPTY'
    | 'ORDER_EMPTY'
  message: string
  /** What it is about, as locks name it. */
  entityType: string
  entityId: string
  fieldName?: string
  lock?: LockView
  draft?: KeptDraft
}

/** What was saved, or has changed an edition otherwise. */
export interface JournalEntry {
  id: string
  at: string
  by: { uid: string | null; name: string | null }
  /** `outside`: the edition was changed, but not by a save that has an entry. */
  kind:
    | 'create'
    | 'update'
    | 'order'
    | 'close'
    | 'restore'
    | 'takeover'
    | 'proposed'
    | 'taken'
    | 'discarded'
    | 'withdrawn'
    | 'outside'
  /** The values of the fields that changed, as far as they are known and not too large. */
  fields: Record<string, { before?: Item[]; after?: Item[]; leftOut?: Array<'before' | 'after'> }>
  moreFields?: number
  /** `uncertain`: it is under way, or nobody can tell. */
  outcome: 'saved' | 'refused' | 'uncertain'
  etag: string | null
  /** Of a takeover: whose lock it was. Of a proposal that was taken or discarded: whose it was. */
  from?: { uid: string | null; name: string | null }
  message?: string
  between?: string[]
  unrecorded?: number
}

/** Which fields of an entry of the journal are put back, and to which side of its save. */
export interface Restore {
  entry: string
  fields: string[]
  side: 'before' | 'after'
}

/** Whether an edition may be closed. The content model says which findings block. */
export interface Readiness {
  ready: boolean
  blockers: Finding[]
  warnings: Finding[]
  /** How many proposals are open, for the edition and its articles. */
  proposals: number
}

/** A bundle or an edition type. */
export interface Named {
  id: string
  label: string
}

/** What is locked: an entity, such as `{ type: 'node', id: '42' }`. */
export interface LockedEntity {
  type: string
  id: string
}

/** Who holds a field and since when; never the text. */
export interface Holder {
  fieldName: string
  /** Unix time in seconds. */
  timestamp: number
  userData: { uid: string; name?: string; [more: string]: unknown }
  /** Unix time in seconds when the lock ends unless it is renewed. */
  expiresAt?: number
}

/** A lock as feeds and boards show it. */
export interface LockView extends Holder {
  entityType: string
  entityId: string
  /** Another one after every write. */
  version?: string
}

/** A lock as the table keeps it. */
export interface LockRecord extends Holder {
  env_entityType_entityId: string
  payload?: string
  version?: string
  /** Unix time in seconds for the table's time to live. */
  removeAt?: number
}

/** Who asks the holder of a lock for it. */
export interface Petition {
  entityType: string
  entityId: string
  fieldName: string
  userData: { uid: string; name?: string }
  /** Unix time in seconds when that ends; 0: it is over. */
  until: number
}

/** Who has an entity open. */
export interface Presence {
  entityType: string
  entityId: string
  userData: { uid: string; name?: string }
  /** Unix time in seconds when that ends, unless it goes on; 0: the user has left. */
  until: number
}

/** An open proposal: a text that somebody has left for a field. The text is in `proposals`. */
export interface ProposalView {
  entityType: string
  entityId: string
  fieldName: string
  id: string
  /** Of an agent it has its name, and the uid of the user that it works for. */
  userData: { uid: string; name?: string; agent?: string; principal?: string }
  /** Unix time in seconds until when it is kept; 0: it is open no longer. */
  until: number
}

/** A proposal with its text. */
export interface Proposal {
  id: string
  fieldName: string
  userData: ProposalView['userData']
  /** Absent once it was taken. */
  payload?: string
  /** The state that it was made from: the edition's `etag`, or the `version` of a lock. */
  base?: string
  reason?: string
  /** Unix times in seconds. */
  createdAt: number
  until: number
  /** What became of it; absent while it is open. */
  settled?: {
    outcome: 'taken' | 'discarded' | 'withdrawn'
    /** Unix time in seconds. */
    at: number
    by?: { uid: string; name?: string }
  }
}

/** The text of a lock that somebody else took over or released, or that has expired. */
export interface Draft extends Holder {
  /** Tells it from the other drafts of the field. */
  id: string
  payload: string
  /** Of the lock that held it. */
  version?: string
  /** Unix time in seconds. */
  displacedAt: number
  displacedBy?: { uid: string; name?: string }
}

/** An article, by its uuid or else by its id; with its entity type where a field takes several. */
export interface ArticleRef {
  /** null for what the order refers to though it is gone. */
  target_id?: number | string | null
  target_uuid?: string
  target_type?: string
}

/** A change of the running order: an insert and a move have one of `before`, `after` and `at`. */
export interface OrderOperation {
  op: 'insert' | 'move' | 'remove'
  article: ArticleRef
  before?: ArticleRef
  after?: ArticleRef
  at?: 'start' | 'end'
  /** Which one is meant of an article that is there several times, from 1. */
  occurrence?: number
}

/** What an operation came to; `already`: the order was as it asks for. */
export interface OrderOutcome {
  outcome: 'done' | 'already'
}

/** Why the service refused or failed. */
export type FailureCode =
  | 'BAD_REQUEST'
  | 'UNAUTHENTICATED'
  | 'CMS_UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'USER_CHANGED'
  | 'CMS_FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'CALLER_GONE'
  | 'CONFLICT'
  | 'STALE_EDIT'
  | 'ORDER_CONFLICT'
  | 'NOT_READY'
  | 'FIELD_NOT_LOCKED'
  | 'IDEMPOTENCY_KEY_BUSY'
  | 'OUTCOME_UNKNOWN'
  | 'LOCK_CHANGED'
  | 'PRECONDITION_FAILED'
  | 'PRECONDITION_REQUIRED'
  | 'TOO_LARGE'
  | 'URI_TOO_LONG'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'MISDIRECTED'
  | 'UNPROCESSABLE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'FIELD_LOCKED'
  | 'TOO_MANY_REQUESTS'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL'
  | 'OVERLOADED'
  | 'STORE_FAILED'
  | 'STORE_UNAVAILABLE'
  | 'TOO_MANY_WATCHERS'
  | 'AUTH_UNAVAILABLE'
  | 'CMS_UNREACHABLE'
  | 'CMS_INVALID_RESPONSE'
  | 'CMS_FAILED'
  | 'CMS_LOGIN_REFUSED'
  | 'CMS_READ_ONLY'
  | 'CMS_REFUSED'
  | 'PLACED_UNKNOWN'
  | 'LIST_TOO_DEEP'
  | 'EDITION_BUSY'
  | 'CMS_UNAVAILABLE'
  | 'CMS_TIMEOUT'
