import type { Edition, NoLists } from './content.ts'
import { createEditions, type Editions } from './editions.ts'
import { createFeed, type EventStreamClass, type Subscribe } from './feed.ts'
import { createHttp, type HttpOptions } from './http.ts'
import { later } from './later.ts'
import { createLocks, type Locks, type User } from './locks.ts'

export interface ClientOptions extends HttpOptions {
  /**
   * The user for whom the client writes. With authentication the service refuses a write if another
   * user is signed in by then.
   */
  user?: User | undefined
  /**
   * The `entityType` of the site's content model, which a search without a bundle asks for; by
   * default that of the service.
   */
  entityType?: string | undefined
  /** Where the platform has none. */
  EventSource?: EventStreamClass | undefined
  /**
   * Follows event streams in the place of the client, such as in a worker that all windows of a
   * browser share.
   */
  subscribe?: Subscribe | undefined
}

/**
 * @template AnEdition what editions have: one type, or a union with one for each bundle
 * @template Lists what the content model's lists have, by name, such as `{ article: Article }`
 */
export interface Client<AnEdition extends object = Edition, Lists extends object = NoLists> {
  /** For whom the client writes. */
  user: User | undefined
  /** Locks of fields, drafts, proposals, and who is there. */
  locks: Locks
  /** Editions: created, changed, read, listed and searched. */
  editions: Editions<AnEdition, Lists>
}

/**
 * A client of Quoin for browsers and Node. Every call throws a QuoinError.
 * @example
 * import type { Edition, Lists } from './content.ts' // written by `quoin types`
 * const { locks, editions } = createClient<Edition, Lists>({ url: 'https://quoin.example.org' })
 */
export function createClient<AnEdition extends object = Edition, Lists extends object = NoLists>({
  user,
  entityType,
  EventSource = (globalThis as { EventSource?: EventStreamClass }).EventSource,
  subscribe,
  ...options
}: ClientOptions = {}): Client<AnEdition, Lists> {
  const http = createHttp({ ...options, uid: user && String(user.uid) })
  const feed = subscribe ?? createFeed({ http, EventSource, later })
  const deps = { http, user, feed, later, entityType }
  return { user, locks: createLocks(deps), editions: createEditions(deps) }
}

export { QuoinError, type ErrorCode } from './error.ts'
export type {
  ArrangedEdition,
  Board,
  ClosedEdition,
  Conditions,
  Editions,
  JournalPage,
  Page,
  ReadEdition,
  ReadReadiness,
  Repeatable,
  Search,
  Sections
} from './editions.ts'
export type {
  CoreFields,
  Edition,
  EditionBody,
  Item,
  NoLists,
  OfBundle,
  OfList,
  Reference,
  Row,
  Time,
  Value,
  Written,
  WrittenReference
} from './content.ts'
export type {
  EditionDetails,
  EditionFailure,
  ErrorBody,
  LockDetails,
  LockFailure,
  Violation
} from './failures.ts'
export type { EventStream, EventStreamClass, Listener, Saved, Subscribe } from './feed.ts'
export type { Field, Held } from './held.ts'
export type { HttpOptions } from './http.ts'
export type { AcquireOptions, Locks, PageEvents, User } from './locks.ts'
export type { Abortable } from './abort.ts'
export type {
  ArticleRef,
  Draft,
  FailureCode,
  Finding,
  Holder,
  JournalEntry,
  KeptDraft,
  LockedEntity,
  LockRecord,
  LockView,
  Named,
  OrderOperation,
  OrderOutcome,
  Petition,
  Placement,
  Presence,
  Proposal,
  ProposalView,
  Readiness,
  Restore
} from './wire.ts'
