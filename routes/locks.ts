import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ownUserData, ownNamedOnly } from '../lib/auth/own.ts'
import type { User } from '../lib/auth/identity.ts'
import { matchesWeakly } from '../lib/http/entity-tag.ts'
import { Failure, texts } from '../lib/errors.ts'
import { versionTag, listTag, versionsIn } from '../lib/locks/etag.ts'
import type {
  AcquiredOutcome,
  ChangedOutcome,
  HeldOutcome,
  ReleasedOutcome
} from '../lib/locks/outcome.ts'
import { ownerOf } from '../lib/locks/record.ts'
import {
  ChangeHeaders,
  Done,
  Entity,
  Holder,
  Listed,
  ListHeaders,
  ListQuery,
  LockFailure,
  LockList,
  LockRecord,
  LockRequest,
  OwnLockRequest,
  PostHeaders,
  ReleaseQuery,
  ReleaseRequest
} from '../lib/locks/schemas.ts'
import { noBody, ref } from '../lib/schema-parts.ts'
import drafts from './drafts.ts'
import type { Handler } from './handler.ts'
import { acquireAnswers, lockAnswers, doneAnswer, lockAnswer } from './lock-answers.ts'
import lockEvents from './lock-events.ts'
import petitions from './petitions.ts'
import presence from './presence.ts'
import proposals from './proposals.ts'

const {
  wrong,
  otherSite,
  otherMethod,
  changed,
  largeBody,
  largeItem,
  largeList,
  otherType,
  neitherType,
  ofAgent,
  manyFields,
  noTakeover,
  broken,
  unavailable,
  unfinished
} = lockAnswers

/** Field locks: who is editing which field of which entity. */
export default async function locks(fastify: FastifyInstance) {
  for (const schema of [Holder, LockRecord, LockList, Done, Listed, LockFailure]) {
    fastify.addSchema(schema)
  }

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/api/cloud/data-state/:type/:id', { schema: acquireSchema(fastify) }, acquire)
    .put('/api/cloud/data-state/:type/:id', { schema: overwriteSchema(fastify) }, overwrite)
    .get('/api/cloud/data-state/:type/:id', { schema: listSchema }, list)
    .delete('/api/cloud/data-state/:type/:id', { schema: releaseSchema }, release)

  // sendBeacon, which a page can still call when it closes, is POST only and sends text as
  // text/plain.
  await fastify.register(async function beacons(scope) {
    scope.addContentTypeParser('text/plain', scope.parseJson)
    scope
      .withTypeProvider<TypeBoxTypeProvider>()
      .post('/api/cloud/data-state/:type/:id/release', { schema: beaconSchema }, releaseByBeacon)
  })

  await fastify.register(drafts)
  await fastify.register(lockEvents)
  await fastify.register(petitions)
  await fastify.register(presence)
  await fastify.register(proposals)
}

/** The body that asks for a lock. With authentication it may leave out the user. */
function lockRequest({ authenticates }: FastifyInstance) {
  return Type.Unsafe<OwnLockRequest>(authenticates ? OwnLockRequest : LockRequest)
}

const acquireSchema = (fastify: FastifyInstance) => ({
  operationId: 'acquireLock',
  tags: ['locks'],
  summary: 'Lock a field, or renew your own lock',
  description:
    'Succeeds when nobody holds the field, or the same user does. The request then replaces what the lock held. An expired lock belongs to nobody: its text is kept as a draft, unless the same user takes the field again.',
  params: Entity,
  headers: PostHeaders,
  body: lockRequest(fastify),
  response: {
    ...acquireAnswers(fastify.lockRefusedStatus),
    400: wrong,
    405: otherMethod,
    412: changed,
    413: largeItem,
    415: otherType,
    428: ofAgent,
    429: manyFields,
    500: broken,
    503: unavailable
  }
})

const acquire: Handler<ReturnType<typeof acquireSchema>> = async function (request, reply) {
  const { params, body, headers, identity: user } = request
  const lock = { ...body, userData: ownUserData(user, body.userData) }
  const conditions = {
    ...versionIn(headers),
    alone: headers['if-none-match'] !== undefined,
    answer: reply.raw
  }
  await request.demandLock('edit', params)
  return report(this, reply, await this.locks.acquire(params, lock, conditions))
}

const overwriteSchema = (fastify: FastifyInstance) => ({
  operationId: 'overwriteLock',
  tags: ['locks'],
  summary: 'Take over a field, whoever holds it',
  description:
    'Replaces the lock of another user and keeps its text as a draft. With If-Match it replaces only a lock in a version that you have seen.',
  params: Entity,
  headers: ChangeHeaders,
  body: lockRequest(fastify),
  response: {
    200: lockAnswer('The lock is yours'),
    400: wrong,
    403: noTakeover,
    405: otherMethod,
    412: changed,
    413: largeItem,
    415: otherType,
    500: broken,
    503: unavailable
  }
})

const overwrite: Handler<ReturnType<typeof overwriteSchema>> = async function (request, reply) {
  const { params, body, headers, identity: user } = request
  const lock = { ...body, userData: ownUserData(user, body.userData) }
  const conditions = { ...versionIn(headers), answer: reply.raw }
  await request.demandLock('edit', params)
  return report(this, reply, await this.locks.overwrite(params, lock, conditions))
}

const LIST_HEADERS = { ETag: { type: 'string', description: 'A weak entity tag of the answer' } }

const listSchema = {
  operationId: 'listLocks',
  tags: ['locks'],
  summary: 'List the locks of an entity, or the lock of one field',
  description:
    'Leaves out expired locks. ETag names the answer: as long as nothing changes, a request with that ETag in If-None-Match is answered 304, without a body. The answer has at most 16 MiB: for less, ask for one field, or leave the texts out with `payload=0`.',
  params: Entity,
  headers: ListHeaders,
  querystring: ListQuery,
  response: {
    200: ref(Listed, {
      description: 'The locks found; empty when there are none',
      headers: LIST_HEADERS
    }),
    304: noBody('Nothing has changed since the answer that If-None-Match names', LIST_HEADERS),
    400: wrong,
    405: otherMethod,
    413: largeList,
    500: broken,
    503: unavailable
  }
}

const list: Handler<typeof listSchema> = async function (request, reply) {
  const { params, query, headers, method } = request
  await request.demandLock('view', params)
  const data = await this.locks.list(params, query)
  const etag = listTag(data)
  reply.headers({ etag, 'cache-control': 'private, no-cache' })
  if (matchesWeakly(headers['if-none-match'], etag)) {
    reply.code(304)
    // Without a payload Fastify gives the answer to HEAD the length 0. That of a 304 may be no
    // other than that of the 200 (RFC 9110 section 8.6).
    if (method !== 'HEAD') return reply.send()
  }
  return { success: true, data }
}

const releaseSchema = {
  operationId: 'releaseLocks',
  tags: ['locks'],
  summary: "Release a field, or all of a user's fields",
  description:
    "With `fieldName` alone it releases that field and keeps its text as a draft. With `uid` too it releases the field only if that user holds it. With `uid` alone it releases all fields of the entity that the user holds. The text of an expired lock, or of another user's, is kept as a draft. Releasing what is not locked succeeds. If-Match needs `fieldName`.",
  params: Entity,
  headers: ChangeHeaders,
  querystring: ReleaseQuery,
  response: {
    200: doneAnswer('Released'),
    400: wrong,
    405: otherMethod,
    412: changed,
    413: largeBody,
    415: otherType,
    428: ofAgent,
    500: broken,
    503: unfinished
  }
}

const release: Handler<typeof releaseSchema> = async function (request, reply) {
  return letGo(this, request, request.query, reply)
}

const beaconSchema = {
  operationId: 'releaseLocksByBeacon',
  tags: ['locks'],
  summary: 'Release fields when a tab closes, as DELETE does',
  description:
    'Takes the parameters of DELETE in the query, or as JSON in a body of application/json or text/plain, as `navigator.sendBeacon(url, JSON.stringify({ uid }))` sends it. The query has precedence.',
  params: Entity,
  headers: ChangeHeaders,
  querystring: ReleaseQuery,
  body: ReleaseRequest,
  response: {
    200: doneAnswer('Released'),
    400: wrong,
    403: otherSite,
    405: otherMethod,
    412: changed,
    413: largeBody,
    415: neitherType,
    428: ofAgent,
    500: broken,
    503: unfinished
  }
}

const releaseByBeacon: Handler<typeof beaconSchema> = async function (request, reply) {
  const { query, body } = request
  const { fieldName = body?.fieldName, uid = body?.uid } = query
  return letGo(
    this,
    request,
    {
      ...(fieldName !== undefined && { fieldName }),
      ...(uid !== undefined && { uid: String(uid) })
    },
    reply
  )
}

type Releasing = Pick<
  FastifyRequest<{ Params: Entity; Headers: ChangeHeaders }>,
  'params' | 'headers' | 'identity' | 'may' | 'demand'
>

/**
 * Releases the caller's own locks, whatever the CMS says of the entity by now. Only an
 * administrator who may edit the entity releases the locks of others. Only a caller who may view
 * the entity learns who holds it.
 */
async function letGo(
  fastify: FastifyInstance,
  request: Releasing,
  selection: ReleaseQuery,
  reply: FastifyReply
): Promise<Done> {
  const { params, headers, identity: user } = request
  const options = { ...versionIn(headers), by: user }
  const isAdmin = user?.admin === true
  if (isAdmin && selection.uid !== undefined && selection.uid !== user.uid) {
    await request.demand('edit', params)
    return report(
      fastify,
      reply,
      leftAlone(await fastify.locks.release(params, selection, options))
    )
  }
  const result = await fastify.locks.release(
    params,
    ownNamedOnly(user && { ...user, admin: false }, selection),
    options
  )
  if (!user || !isOfAnother(result, user)) return report(fastify, reply, leftAlone(result))
  if (selection.uid === undefined && isAdmin) {
    await request.demand('edit', params)
    return report(fastify, reply, await fastify.locks.release(params, selection, options))
  }
  if (!(await request.may('view', params))) return { success: true }
  if (selection.uid === undefined && result.outcome === 'held') {
    throw new Failure(
      'FORBIDDEN',
      'Another user holds this field, and you may release only your own locks',
      { details: { lock: result.lock } }
    )
  }
  return report(fastify, reply, leftAlone(result))
}

/** Leaves the lock of another user than the named one as it is. That counts as a success. */
function leftAlone(
  result: ChangedOutcome | HeldOutcome | ReleasedOutcome
): ChangedOutcome | ReleasedOutcome {
  return result.outcome === 'held' ? { outcome: 'released' } : result
}

function isOfAnother(
  result: ChangedOutcome | HeldOutcome | ReleasedOutcome,
  { uid }: User
): result is (ChangedOutcome | HeldOutcome) & { lock: Holder } {
  return result.outcome !== 'released' && result.lock !== undefined && ownerOf(result.lock) !== uid
}

function versionIn({ 'if-match': ifMatch }: ChangeHeaders) {
  return ifMatch === undefined ? {} : { ifMatch: versionsIn(ifMatch) }
}

function report(
  { lockRefusedStatus }: FastifyInstance,
  reply: FastifyReply,
  result: AcquiredOutcome | HeldOutcome | ChangedOutcome | ReleasedOutcome
): Done {
  if (result.outcome === 'held') {
    throw new Failure('FIELD_LOCKED', texts.held, {
      details: { lock: result.lock },
      status: lockRefusedStatus
    })
  }
  if (result.outcome === 'changed') {
    throw new Failure('LOCK_CHANGED', texts.lockChanged, {
      details: result.lock ? { lock: result.lock } : {}
    })
  }
  if (result.outcome === 'acquired') {
    reply.headers({ etag: versionTag(result.version), 'lock-since': result.timestamp })
    if (result.expiresAt !== undefined) reply.header('lock-expires', result.expiresAt)
  }
  return { success: true }
}
