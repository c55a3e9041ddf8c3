import type { en } from './texts-en.ts'

/**
 * A line that depends on a number, by the plural categories of CLDR; `other` stands for those that
 * a language leaves out.
 */
export interface Plural {
  one: string
  other: string
}

export type English = typeof en

/** The lines of English in another language. */
export type LinesOf<Source> = {
  readonly [Key in keyof Source]: Source[Key] extends string ? string : Plural
}

export type Lines = LinesOf<English>

/** The codes of failures that editors meet. In English the service's own words say it. */
export type Code =
  | 'UNREACHABLE'
  | 'UNAUTHENTICATED'
  | 'AUTH_UNAVAILABLE'
  | 'FIELD_LOCKED'
  | 'LOCK_CHANGED'
  | 'STALE_EDIT'
  | 'PRECONDITION_FAILED'
  | 'PRECONDITION_REQUIRED'
  | 'NOT_READY'
  | 'EDITION_BUSY'
  | 'OVERLOADED'
  | 'TOO_MANY_REQUESTS'
  | 'STORE_UNAVAILABLE'
  | 'CMS_UNREACHABLE'
  | 'CMS_UNAVAILABLE'
  | 'CMS_TIMEOUT'
  | 'CMS_FAILED'
  | 'CMS_UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'USER_CHANGED'
  | 'CMS_FORBIDDEN'
  | 'NOT_FOUND'
  | 'REQUEST_TIMEOUT'
  | 'CONFLICT'
  | 'ORDER_CONFLICT'
  | 'FIELD_NOT_LOCKED'
  | 'IDEMPOTENCY_KEY_BUSY'
  | 'OUTCOME_UNKNOWN'
  | 'TOO_LARGE'
  | 'HEADERS_TOO_LARGE'
  | 'BAD_REQUEST'
  | 'UNPROCESSABLE'
  | 'INTERNAL'
  | 'STORE_FAILED'
  | 'TOO_MANY_WATCHERS'
  | 'CMS_INVALID_RESPONSE'
  | 'CMS_LOGIN_REFUSED'
  | 'CMS_READ_ONLY'
  | 'CMS_REFUSED'
  | 'PLACED_UNKNOWN'
  | 'LIST_TOO_DEEP'
  | 'INVALID_RESPONSE'

/** All lines in another language. */
export type Texts = Lines & Readonly<Record<Code, string>>
