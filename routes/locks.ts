import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../lib/errors.ts'
import { Done, Entity, Holder, Listed, ListQuery, LockFailure, LockList, LockRecord, LockRequest, ReleaseQuery } from '../lib/locks/schemas.ts'

const tags = ['locks']

const failed = (description: string) => ({ description, $ref: 'LockFailure#' })
const done = (description: string) => ({ description, $ref: 'Done#' })

const always = {
  400: failed('The request is wrong; nothing was done'),
  404: failed('No such path'),
  405: failed('No such method here'),
  413: failed('The request body is too large'),
  415: failed('The request body is not application/json'),
  500: failed('The store refused or failed'),
  503: failed('The store is throttled, unreachable or slow; see Retry-After')
}
const tooLarge = failed('The request body, or the lock it makes, is too large; the message has both sizes')

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
      response: { 200: done('The lock is yours'), ...always, 413: tooLarge, 423: failed('Another user holds the field: see error.lock') }
    }
  }, acquire)

  fastify.put('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: 'Lock a field, whoever holds it',
      description: "Replaces another user's lock without asking.",
      params: Entity,
      body: LockRequest,
      response: { 200: done('The lock is yours'), ...always, 413: tooLarge }
    }
  }, overwrite)

  fastify.get('/api/cloud/data-state/:type/:id', {
    schema: {
      tags,
      summary: 'The locks of an entity, or that of one field',
      params: Entity,
      querystring: ListQuery,
      response: { 200: { description: 'What was found, be it nothing', $ref: 'Listed#' }, ...always }
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
      response: { 200: done('Released'), ...always }
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
