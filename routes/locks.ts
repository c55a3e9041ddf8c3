import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure, failures, type FailureCode } from '../lib/errors.ts'
import { Done, Entity, Holder, Listed, ListQuery, LockFailure, LockList, LockRecord, LockRequest, ReleaseQuery } from '../lib/locks/schemas.ts'

const tags = ['locks']

const holder = Holder['examples'][0]

const wrong = failed('BAD_REQUEST', 'The request is wrong; nothing was done', "body must have required property 'fieldName'")
const otherMethod = failed('METHOD_NOT_ALLOWED', 'Another method than those of this path', 'PATCH is not allowed here; allowed: POST, PUT, GET, HEAD, DELETE')
const largeBody = failed('TOO_LARGE', 'The request body is too large; the message has both sizes', 'The request body has 5000000 bytes; at most 4194304 bytes are taken')
const largeItem = failed('TOO_LARGE', 'The request body, or the lock it makes, is too large; the message has both sizes', 'The lock would have 409601 bytes in the store; at most 409600 bytes are taken')
const otherType = failed('UNSUPPORTED_MEDIA_TYPE', 'The request body is not application/json', 'Unsupported Media Type')
const held = failed('FIELD_LOCKED', 'Another user holds the field: see error.lock', 'Field is locked by another user', { lock: holder })
const broken = failed('STORE_FAILED', 'The store refused or failed', 'The lock store could not do what was asked')
const unavailable = failed('STORE_UNAVAILABLE', 'The store is throttled, unreachable or slow; see Retry-After', 'The lock store cannot be reached or is too slow; try again')
const unfinished = failed('STORE_UNAVAILABLE', 'The store is throttled, unreachable or slow; see Retry-After. Call again to release error.failed', 'The lock store cannot be reached or is too slow; try again', { failed: ['field_headline'] })

/** Field locks: who is editing which field of which entity. */
export default async function locks (fastify: FastifyInstance) {
  for (const schema of [Holder, LockRecord, LockList, Done, Listed, LockFailure]) fastify.addSchema(schema)

  fastify.post('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: 'Lock a field, or renew your own lock',
      description: 'Succeeds when nobody holds the field, or the same user does; then what was held is replaced.',
      params: Entity,
      body: LockRequest,
      response: { 200: done('The lock is yours'), 400: wrong, 405: otherMethod, 413: largeItem, 415: otherType, 423: held, 500: broken, 503: unavailable }
    }
  }, acquire)

  fastify.put('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: 'Lock a field, whoever holds it',
      description: "Replaces another user's lock without asking.",
      params: Entity,
      body: LockRequest,
      response: { 200: done('The lock is yours'), 400: wrong, 405: otherMethod, 413: largeItem, 415: otherType, 500: broken, 503: unavailable }
    }
  }, overwrite)

  fastify.get('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: 'The locks of an entity, or that of one field',
      params: Entity,
      querystring: ListQuery,
      response: { 200: { description: 'What was found, be it nothing', $ref: 'Listed#' }, 400: wrong, 405: otherMethod, 500: broken, 503: unavailable }
    },
    // A record written by others may miss a member: the schema describes it, but must neither drop nor refuse anything.
    serializerCompiler: () => JSON.stringify
  }, list)

  fastify.delete('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: "Release a field, or all of a user's fields",
      description: "With `fieldName` that lock, with `uid` too only if it is that user's; with `uid` alone all the user's locks of the entity. Releasing what is not locked succeeds.",
      params: Entity,
      querystring: ReleaseQuery,
      response: { 200: done('Released'), 400: wrong, 405: otherMethod, 413: largeBody, 415: otherType, 500: broken, 503: unfinished }
    }
  }, release)
}

async function acquire (this: FastifyInstance, { params, body }: FastifyRequest<{ Params: Entity, Body: LockRequest }>) {
  const acquired = await this.locks.acquire(params, body)
  if (acquired.outcome === 'held') {
    throw new Failure('FIELD_LOCKED', 'Field is locked by another user', { details: { lock: acquired.lock } })
  }
  return { success: true }
}

async function overwrite (this: FastifyInstance, { params, body }: FastifyRequest<{ Params: Entity, Body: LockRequest }>) {
  await this.locks.overwrite(params, body)
  return { success: true }
}

async function list (this: FastifyInstance, { params, query }: FastifyRequest<{ Params: Entity, Querystring: ListQuery }>) {
  return { success: true, data: await this.locks.list(params, query) }
}

async function release (this: FastifyInstance, { params, query }: FastifyRequest<{ Params: Entity, Querystring: ReleaseQuery }>) {
  await this.locks.release(params, query)
  return { success: true }
}

function done (description: string) {
  return { description, $ref: 'Done#' }
}

/** A failure as the documentation shows it; plugins/errors.ts makes the real ones. */
function failed (code: FailureCode, description: string, message: string, details: Record<string, unknown> = {}) {
  const shown = code.startsWith('STORE_') ? 'Server error' : message
  const example = { success: false, message: `Error: ${shown}`, error: { name: failures[code].name, code, message, ...details } }
  return { description, content: { 'application/json': { schema: { $ref: 'LockFailure#' }, example } } }
}
