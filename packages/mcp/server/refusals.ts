import { Failure, type FailureCode, type FailureOptions } from '../../../lib/errors.ts'
import type { Finding } from '../../../lib/boards/schemas.ts'
import type { Holder } from '../../../lib/locks/schemas.ts'
import { ANSWER_MAX, portionOf } from './answer-size.ts'
import { findingRow } from './finding-rows.ts'
import { lockRow } from './lock-rows.ts'

/** What is so, and what the agent does next. Both are Quoin's own words. */
export interface Words {
  message: string
  next: string
}

/**
 * A refusal that a tool makes itself. Its words are those of the tool, the same in every call: what
 * differs stands in `details`, which the agent is shown as they are.
 */
export class ToolRefusal extends Failure {
  readonly next: string

  constructor(code: FailureCode, { message, next }: Words, options?: FailureOptions) {
    super(code, message, options)
    this.next = next
  }
}

const LATER = 'Wait for retryAfterSeconds, else for 5 seconds, and call again; three times at most.'
const LOOK =
  'If this call was to write, read the state first: it may be written. Else wait 5 seconds and call again; three times at most.'
const NO_RIGHT = 'Do not try again. Tell the person you work for which right is missing.'
const SIGN_IN = 'Ask the person you work for to sign in, or to renew the token of this client.'
const OPERATOR = 'Do not try again. Tell the person you work for: an operator has to mend it.'
const READ_AGAIN =
  'Read it again, and repeat the change on what is there now, if it is still right.'
const TO_HOLDER =
  'Leave the field to its holder: ask for it (ask_for_field), leave a proposal (propose_text), or do something else.'

const STORE_AWAY = 'The lock store does not answer, so nobody can tell who holds what.'
const CMS_STRANGE = 'The CMS failed to answer as it should.'
const CMS_AWAY = 'The CMS does not answer.'
const NOT_HTTP = 'The request is not as Quoin takes it. Nothing was done.'

/** The words of each code. No text of people is in them: what differs stands in values beside. */
const WORDS: Readonly<Record<FailureCode, Words>> = {
  BAD_REQUEST: {
    message: 'The call is not as it should be. Nothing was done.',
    next: 'Correct the arguments. If they are right, tell the person you work for: the client may send wrong header fields.'
  },
  UNAUTHENTICATED: { message: 'Quoin does not know the caller.', next: SIGN_IN },
  CMS_UNAUTHORIZED: { message: 'The CMS does not know the caller.', next: SIGN_IN },
  FORBIDDEN: { message: 'You may not do this. Nothing was done.', next: NO_RIGHT },
  USER_CHANGED: {
    message: 'The request is meant for another user. Nothing was done.',
    next: SIGN_IN
  },
  CMS_FORBIDDEN: { message: 'The CMS does not let the caller do this.', next: NO_RIGHT },
  NOT_FOUND: {
    message: 'There is no such thing, or you may not see it.',
    next: 'Look for it with find_editions or find_articles.'
  },
  METHOD_NOT_ALLOWED: { message: NOT_HTTP, next: OPERATOR },
  REQUEST_TIMEOUT: { message: 'The request did not arrive in time.', next: LATER },
  CALLER_GONE: { message: 'The client has hung up.', next: LOOK },
  CONFLICT: {
    message:
      'The CMS has another state of this that stands in the way, such as an unpublished draft. Nothing was saved.',
    next: 'Do not try again. Tell the person you work for: it has to be settled in the CMS.'
  },
  STALE_EDIT: {
    message: 'Somebody has saved the edition since you read it. Nothing of yours was saved.',
    next: READ_AGAIN
  },
  ORDER_CONFLICT: {
    message:
      'An article that an operation names is not in the running order. Nothing was changed; order is the present one.',
    next: 'Make the operations anew from the present order.'
  },
  NOT_READY: {
    message: 'The edition is not ready to close. Nothing was saved.',
    next: 'See blockers, and tell the person you work for what you cannot settle.'
  },
  FIELD_NOT_LOCKED: {
    message: 'Nobody else holds the field.',
    next: 'Take it: edit_field or start_editing.'
  },
  IDEMPOTENCY_KEY_BUSY: {
    message: 'The same call is still under way. Nothing was done now.',
    next: LATER
  },
  OUTCOME_UNKNOWN: {
    message:
      'An earlier attempt at this call broke off, and the edition has changed since. Nothing was saved now.',
    next: 'Read the edition, and send what is still missing.'
  },
  LOCK_CHANGED: {
    message:
      'The lock is not in the version that you named. Nothing was done; lock is the present one, if there is one.',
    next: TO_HOLDER
  },
  PRECONDITION_FAILED: {
    message:
      'The edition is not in the state that you have read; tag names the present one, where it is known. Nothing was saved.',
    next: READ_AGAIN
  },
  TOO_LARGE: {
    message: 'It is larger than Quoin takes or answers. Nothing was done.',
    next: 'Ask for less, or send less.'
  },
  URI_TOO_LONG: { message: NOT_HTTP, next: OPERATOR },
  UNSUPPORTED_MEDIA_TYPE: { message: NOT_HTTP, next: OPERATOR },
  MISDIRECTED: { message: NOT_HTTP, next: OPERATOR },
  UNPROCESSABLE: {
    message:
      'The CMS does not take these values. Nothing was saved; violations says which, in the words of the CMS.',
    next: 'Correct the values and call again.'
  },
  IDEMPOTENCY_KEY_REUSED: {
    message: 'Another call was made under the same key. Nothing was done.',
    next: READ_AGAIN
  },
  FIELD_LOCKED: { message: 'Somebody else holds the field. Nothing was saved.', next: TO_HOLDER },
  PRECONDITION_REQUIRED: {
    message: 'An agent names the tag or the version that it has read. Nothing was done.',
    next: 'Read it, and call again with its tag or version.'
  },
  TOO_MANY_REQUESTS: {
    message: 'This is more at once, or within this time, than you may. Nothing was done.',
    next: 'Give back what you hold and do not need. Wait for retryAfterSeconds, else for a minute.'
  },
  HEADERS_TOO_LARGE: { message: NOT_HTTP, next: OPERATOR },
  INTERNAL: { message: 'Quoin has failed: its log says why.', next: LOOK },
  OVERLOADED: { message: 'Quoin has too much to do. Nothing was done.', next: LATER },
  STORE_FAILED: { message: STORE_AWAY, next: LOOK },
  STORE_UNAVAILABLE: { message: STORE_AWAY, next: LOOK },
  TOO_MANY_WATCHERS: { message: 'Quoin has too much to do. Nothing was done.', next: LATER },
  AUTH_UNAVAILABLE: {
    message: 'Nobody can be asked at the moment who calls, or what you may do.',
    next: LATER
  },
  CMS_UNREACHABLE: { message: CMS_AWAY, next: LOOK },
  CMS_INVALID_RESPONSE: { message: CMS_STRANGE, next: LOOK },
  CMS_FAILED: { message: CMS_STRANGE, next: LOOK },
  CMS_LOGIN_REFUSED: { message: 'The CMS refuses the account of Quoin.', next: OPERATOR },
  CMS_READ_ONLY: { message: 'The CMS takes no changes.', next: OPERATOR },
  CMS_REFUSED: { message: 'The CMS does not take this.', next: OPERATOR },
  PLACED_UNKNOWN: {
    message: 'There are too many editions to tell which of them hold these articles.',
    next: 'Ask for a smaller limit, or leave out placed.'
  },
  LIST_TOO_DEEP: {
    message:
      'This takes too many requests to the CMS: too much before it is hidden from you, or is not what you look for.',
    next: 'Narrow it by bundle, type, status or q, or ask for a smaller offset.'
  },
  EDITION_BUSY: {
    message: 'Too many saves of this edition wait for each other. Nothing was saved.',
    next: LATER
  },
  CMS_UNAVAILABLE: { message: 'The CMS takes no requests at the moment.', next: LATER },
  CMS_TIMEOUT: { message: CMS_AWAY, next: LOOK }
}

/** How a refusal's details are shown; those that are not here are left out. */
const DETAILS: Readonly<Record<string, (value: any) => unknown>> = {
  lock: (lock: Holder) => lockRow(lock),
  ownLock: (words: unknown) => words,
  locks: (locks: Holder[]) => locks.map((lock) => lockRow(lock)),
  blockers: (findings: Finding[]) => findings.map(findingRow),
  warnings: (findings: Finding[]) => findings.map(findingRow),
  violations: (violations: unknown) => violations,
  order: (order: unknown) => order,
  failed: (fieldNames: unknown) => fieldNames,
  uuid: (uuid: unknown) => uuid
}

/** For words and code beside the details. */
const WORDS_MAX = 2000

/**
 * A failure as an agent is shown it: its code, in Quoin's words what is so and what to do next, and
 * as values what differs. Its own message is for people, and may have their names.
 */
export function refusalOf(failure: Failure): object {
  const { code } = failure
  const { message, next } = failure instanceof ToolRefusal ? failure : WORDS[code]
  const { value, rest } = portionOf(
    { ...conditionsOf(failure), ...detailsOf(failure) },
    { path: '', from: 0, room: ANSWER_MAX - WORDS_MAX }
  )
  const isCut = rest.length > 0
  return {
    code,
    message,
    next,
    ...(value as object),
    ...(isCut && { more: 'Not all of it fits: read_edition and check_readiness have the rest.' })
  }
}

function detailsOf(failure: Failure): object {
  if (failure instanceof ToolRefusal) return failure.details
  return Object.fromEntries(
    Object.entries(failure.details)
      .filter(([name]) => Object.hasOwn(DETAILS, name))
      .map(([name, value]) => [name, DETAILS[name]!(value)])
  )
}

/** What header fields tell the callers of REST. */
function conditionsOf({ headers: { etag, 'retry-after': retryAfter } }: Failure): object {
  const seconds = Number(retryAfter)
  return {
    ...(etag !== undefined && { tag: etag }),
    ...(Number.isFinite(seconds) && { retryAfterSeconds: seconds })
  }
}
