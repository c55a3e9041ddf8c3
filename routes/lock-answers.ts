import { Type, type TUnsafe } from '@sinclair/typebox'
import { failures, texts, type FailureCode } from '../lib/errors.ts'
import { Done, Holder, LockFailure } from '../lib/locks/schemas.ts'
import { failureHeaders, failureRef, ref } from '../lib/schema-parts.ts'

const holder = Holder['examples'][0]

/**
 * The answers of the lock endpoints as the documentation shows them; plugins/app/errors.ts makes
 * the real failures.
 */
export const lockAnswers = {
  wrong: failureAnswer(
    'BAD_REQUEST',
    'The request is invalid. Nothing was changed',
    "body must have required property 'fieldName'"
  ),
  otherSite: failureAnswer('FORBIDDEN', texts.anotherSite, texts.anotherSite),
  otherMethod: failureAnswer(
    'METHOD_NOT_ALLOWED',
    'This path does not take this method; see Allow',
    texts.anotherMethod('PATCH', ['POST', 'PUT', 'GET', 'HEAD', 'DELETE'])
  ),
  changed: failureAnswer(
    'LOCK_CHANGED',
    'The lock is not in a version that the request asks for. error.lock shows its holder, if there is one',
    texts.lockChanged,
    { lock: holder }
  ),
  unheld: failureAnswer('FIELD_NOT_LOCKED', 'Nobody else holds the field', texts.fieldNotLocked),
  crowded: failureAnswer(
    'TOO_MANY_REQUESTS',
    'The most users allowed already ask for this field, or for fields of this entity; see Retry-After',
    '5 users already ask for this field, the most allowed; try again in 12 s'
  ),
  fullOfProposals: failureAnswer(
    'TOO_MANY_REQUESTS',
    'As many proposals as may be are open for this field, or for the fields of this entity. No time helps: settle one of them',
    texts.proposalsFull(5, 'this field')
  ),
  withoutBase: failureAnswer(
    'PRECONDITION_REQUIRED',
    'An agent has to name the state that it has read',
    texts.baseRequired
  ),
  missingProposal: failureAnswer(
    'NOT_FOUND',
    'There is no such proposal, or no such entity',
    texts.noSuch('proposal', 'Zm9vYmFyYmF6cXV4Zm9vYmFyGkYm3V-0aB9cXy')
  ),
  settledProposal: failureAnswer(
    'CONFLICT',
    'It was taken, discarded or withdrawn already',
    texts.proposalSettled('taken')
  ),
  notYourProposal: failureAnswer(
    'FORBIDDEN',
    'An agent settles no proposals of others',
    texts.notYourProposal
  ),
  largeProposal: failureAnswer(
    'TOO_LARGE',
    'The request body, or the proposal it makes, is too large. The message has its size and the limit',
    texts.proposalTooLarge(409601, 409600)
  ),
  full: failureAnswer(
    'TOO_MANY_REQUESTS',
    'As many users as are shown look on at this entity; see Retry-After',
    '50 users already look on at this entity, the most allowed; try again in 12 s'
  ),
  largeBody: failureAnswer(
    'TOO_LARGE',
    'The request body is too large. The message has its size and the limit',
    texts.bodyTooLarge('5000000 bytes', 4194304)
  ),
  largeItem: failureAnswer(
    'TOO_LARGE',
    'The request body, or the lock it makes, is too large. The message has its size and the limit',
    texts.lockTooLarge(409601, 409600)
  ),
  largeList: failureAnswer(
    'TOO_LARGE',
    'The answer would be larger than 16 MiB; the message says how to ask for less',
    texts.answerTooLarge(16777216, texts.narrowerLocks)
  ),
  otherType: failureAnswer(
    'UNSUPPORTED_MEDIA_TYPE',
    'The request body is not application/json',
    texts.mediaType(['application/json'])
  ),
  neitherType: failureAnswer(
    'UNSUPPORTED_MEDIA_TYPE',
    'The request body is neither application/json nor text/plain',
    texts.mediaType(['application/json', 'text/plain'])
  ),
  held: failureAnswer('FIELD_LOCKED', 'Another user holds the field: see error.lock', texts.held, {
    lock: holder
  }),
  ofAgent: failureAnswer(
    'PRECONDITION_REQUIRED',
    'An agent has to name the state of the lock',
    texts.lockStateRequired
  ),
  manyFields: failureAnswer(
    'TOO_MANY_REQUESTS',
    'An agent has locked as many fields as it may; see Retry-After',
    texts.manyFields(['field_headline', 'field_lead', 'body'])
  ),
  noTakeover: failureAnswer('FORBIDDEN', 'An agent takes over no lock', texts.noTakeover),
  broken: failureAnswer(
    'STORE_FAILED',
    'The lock store refused the request or failed',
    texts.storeFailed
  ),
  unavailable: failureAnswer(
    'STORE_UNAVAILABLE',
    'The lock store is throttled, unreachable or slow; see Retry-After',
    texts.storeUnavailable
  ),
  watching: failureAnswer(
    'TOO_MANY_REQUESTS',
    'The caller has as many event streams open as one caller may; see Retry-After',
    texts.tooManyStreams(20)
  ),
  unwatched: failureAnswer(
    'TOO_MANY_WATCHERS',
    'This instance serves as many event streams as it may; see Retry-After',
    texts.tooManyWatchers(2000)
  ),
  unfinished: failureAnswer(
    'STORE_UNAVAILABLE',
    'The lock store is throttled, unreachable or slow; see Retry-After. Send the request again to release the fields in error.failed',
    texts.storeUnavailable,
    { failed: ['field_headline'] }
  )
}

const headers = {
  ETag: { type: 'string', description: "The lock's version, for If-Match" },
  'Lock-Since': {
    type: 'integer',
    description:
      'Unix time in seconds: the `timestamp` of the lock. A renewal that sends it again keeps it'
  },
  'Lock-Expires': {
    type: 'integer',
    description:
      'Unix time in seconds when the lock ends unless it is renewed. Absent when the lock does not expire'
  }
}

export function doneAnswer(description: string) {
  return ref(Done, { description })
}

/** Done, with what the header has to say of the lock. */
export function lockAnswer(description: string) {
  return ref(Done, { description, headers })
}

/** What the handler of the POST that locks may answer: a refusal is thrown, whatever its status. */
interface AcquireAnswers {
  200: { content: { 'application/json': { schema: TUnsafe<Done> } } }
}

/**
 * The answers of the POST that locks. With LOCK_REFUSED_STATUS=200 a refusal has the status of a
 * success.
 */
export function acquireAnswers(refusedStatus: number): AcquireAnswers {
  const yours = 'The lock is yours'
  // Both are variables: in a literal TypeScript would refuse what the document shows beside the
  // answers of a handler.
  if (refusedStatus !== 200) {
    const answers = {
      200: { description: yours, headers, content: { 'application/json': { schema: ref(Done) } } },
      423: lockAnswers.held
    }
    return answers
  }
  const {
    description,
    content: {
      'application/json': { schema: refused, example }
    }
  } = lockAnswers.held
  const content = {
    schema: Type.Unsafe<Done>({ oneOf: [ref(Done), refused] }),
    examples: { yours: { value: { success: true } }, held: { value: example } }
  }
  const answer = {
    description: `${yours}. Or, if success is false: ${description}`,
    headers,
    content: { 'application/json': content }
  }
  return { 200: answer }
}

function failureAnswer(
  code: FailureCode,
  description: string,
  message: string,
  details: Record<string, unknown> = {}
) {
  const shown = code.startsWith('STORE_') ? 'Server error' : message
  const example = {
    success: false,
    message: `Error: ${shown}`,
    error: { name: failures[code].name, code, message, ...details }
  }
  return {
    description,
    headers: failureHeaders(failures[code].status),
    content: { 'application/json': { schema: failureRef(LockFailure), example } }
  }
}
