import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answers, orStale } from '../lib/editions/answers.ts'
import {
  CreateHeaders, Edition, EditionBody, EditionChange, EditionFailure, EditionList, EditionParams, leniently, NamedList, OFFSET_MAX, ReadHeaders, SearchParams, SearchQuery, UpdateHeaders
} from '../lib/editions/schemas.ts'
import { isKnown } from '../lib/http/entity-tag.ts'

/** What every request may end in. */
const ALWAYS = [400, 401, 403, 405, 500, 502, 503, 504]

/** Editions come as JSON already, which Fastify would take for plain text. */
const JSON_TYPE = 'application/json; charset=utf-8'

/** POST /api/collection and its neighbours: editions in core REST's JSON. */
export default async function editions (fastify: FastifyInstance) {
  fastify.addSchema(EditionFailure)

  fastify.post('/api/collection', {
    schema: {
      tags: ['editions'],
      summary: 'Create an edition',
      description: 'After 502, 503 or 504 with a uuid, or no answer at all, send the same body again with that uuid: it makes no second edition. Best give each create a uuid of your own.',
      headers: CreateHeaders,
      body: EditionBody,
      response: answers({ 201: { ...Edition, description: 'The new edition, whole; Location has its path' }, 200: { ...Edition, description: 'The edition that an earlier create with this uuid and these fields has made, whole' } }, 409, 413, 415, 422, ...ALWAYS)
    }
  }, create)

  fastify.post('/api/collection/:id', {
    schema: {
      tags: ['editions'],
      summary: 'Change an edition',
      description: 'Only the fields sent change; nothing is written when none of them differs. With EDITION_LOCKS=enforce it is refused when somebody else has locked one of the fields that differ.',
      params: EditionParams,
      headers: UpdateHeaders,
      body: EditionChange,
      response: answers({ 200: { ...Edition, description: 'The edition as it is now, whole' } }, 404, 409, 412, 413, 415, 422, 423, ...ALWAYS)
    }
  }, update)

  fastify.get<{ Params: EditionParams, Headers: ReadHeaders }>('/api/collection/:id', {
    config: { staleCache: 'edition' },
    // After the answer was kept as a copy, and of copies too.
    onSend: notModified,
    schema: {
      tags: ['editions'],
      summary: 'Read an edition',
      description: 'ETag names the edition as this caller is shown it: who may see other fields, or reads another language, has another one. Sent back as If-None-Match it is answered 304, without a body, as long as nothing has changed; sent as If-Match with a change it lets nothing through that its sender has not seen.',
      params: EditionParams,
      headers: ReadHeaders,
      response: answers({
        200: orStale({ ...Edition, description: 'The edition; ETag names this state of it' }),
        304: { type: 'null', description: 'The edition is as in the answer that If-None-Match names' }
      }, 404, 412, ...ALWAYS)
    }
  }, read)

  fastify.get('/api/collection/bundles', {
    config: { staleCache: 'list' },
    schema: { tags: ['editions'], summary: 'List the bundles of editions', response: answers({ 200: orStale(NamedList) }, ...ALWAYS) }
  }, bundles)

  fastify.get('/api/publisher-edition/bundles', {
    config: { staleCache: 'list' },
    schema: { tags: ['editions'], summary: 'List the edition types', response: answers({ 200: orStale(NamedList) }, ...ALWAYS) }
  }, types)

  fastify.get<{ Params: SearchParams, Querystring: SearchQuery }>('/api/collections/:bundle', {
    config: { staleCache: 'list' },
    preValidation: async (request) => { request.query = leniently(request.query) as SearchQuery },
    schema: {
      tags: ['editions'],
      summary: 'List and search editions, newest first',
      description: 'An empty parameter counts as absent; one that is not listed here is ignored.',
      params: SearchParams,
      querystring: SearchQuery,
      response: answers({ 200: orStale(EditionList) }, 404, ...ALWAYS)
    }
  }, search)
}

async function create (this: FastifyInstance, request: FastifyRequest<{ Body: Record<string, unknown> }>, reply: FastifyReply) {
  const { json, etag, id, isNew } = await this.editions.create(request.body, request.caller)
  reply.code(isNew ? 201 : 200).headers({ location: `${this.basePath}/api/collection/${encodeURIComponent(id.toWellFormed())}`, etag }).type(JSON_TYPE)
  return json
}

async function update (this: FastifyInstance, request: FastifyRequest<{ Params: EditionParams, Headers: UpdateHeaders, Body: Record<string, unknown> }>, reply: FastifyReply) {
  const { json, etag } = await this.editions.update(request.params.id, request.body, request.caller, {
    ifMatch: request.headers['if-match'], uid: request.uid
  })
  reply.header('etag', etag).type(JSON_TYPE)
  return json
}

async function read (this: FastifyInstance, request: FastifyRequest<{ Params: EditionParams, Headers: ReadHeaders }>, reply: FastifyReply) {
  const { json, etag } = await this.editions.read(request.params.id, request.caller, request.headers['if-match'])
  reply.header('etag', etag).type(JSON_TYPE)
  return json
}

/** Answers 304 instead of what the caller has already (RFC 9110 section 15.4.5). */
async function notModified ({ method, headers }: FastifyRequest<{ Params: EditionParams, Headers: ReadHeaders }>, reply: FastifyReply, payload: unknown) {
  const ifNoneMatch = headers['if-none-match']
  if (reply.statusCode !== 200 || ifNoneMatch === undefined || !isKnown(ifNoneMatch, String(reply.getHeader('etag')))) return payload
  reply.code(304).removeHeader('content-type')
  // To HEAD Fastify gives the length of what GET would be answered with.
  return method === 'HEAD' ? payload : null
}

async function bundles (this: FastifyInstance, request: FastifyRequest) {
  return { data: await this.editions.bundles(request.caller) }
}

async function types (this: FastifyInstance, request: FastifyRequest) {
  return { data: await this.editions.types(request.caller) }
}

async function search (this: FastifyInstance, request: FastifyRequest<{ Params: SearchParams, Querystring: SearchQuery }>, reply: FastifyReply) {
  const { bundle } = request.params
  const { total: wantTotal, _format, ...query } = request.query
  const { editions, hasMore, total } = await this.editions.search(bundle, { ...query, total: wantTotal === 1 }, request.caller)
  const { limit, offset } = query
  const link = (to: number) => {
    const parameters = Object.entries({ ...request.query, offset: to }).map(([name, value]) => [name, String(value)])
    return `${this.basePath}/api/collections/${encodeURIComponent(bundle)}?${new URLSearchParams(parameters as Array<[string, string]>).toString()}`
  }
  const meta = { limit, offset, hasMore, total }
  const links = {
    self: link(offset),
    ...(hasMore && offset + limit <= OFFSET_MAX && { next: link(offset + limit) }),
    ...(offset > 0 && { prev: link(Math.max(0, offset - limit)) })
  }
  reply.type(JSON_TYPE)
  return `{"data":[${editions.join(',')}],"meta":${JSON.stringify(meta)},"links":${JSON.stringify(links)}}`
}
