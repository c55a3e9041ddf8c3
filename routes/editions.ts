import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { answers, orReplayed, orStale, withHeaders } from '../lib/editions/answers.ts'
import {
  CreateHeaders,
  Edition,
  EditionBody,
  EditionChange,
  EditionFailure,
  EditionParams,
  NamedList,
  OrderChange,
  OrderChanged,
  ReadHeaders,
  UpdateHeaders
} from '../lib/editions/schemas.ts'
import { asText, JSON_TYPE, jsonObject, jsonText } from '../lib/json-text.ts'
import { noBody, ref } from '../lib/schema-parts.ts'
import { authorOf, changerOf } from './author-of.ts'
import { locationOf, notModified, ofSave } from './edition-answers.ts'
import type { Handler } from './handler.ts'
import { repeatable } from './repeatable.ts'

/** POST /api/collection and its neighbours: editions in core REST's JSON. */
export default async function editions(fastify: FastifyInstance) {
  for (const schema of [Edition, EditionFailure]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/api/collection', { schema: createSchema }, create)
    .post('/api/collection/:id', { schema: updateSchema }, update)
    .post('/api/collection/:id/articles', { schema: arrangeSchema }, arrange)
    // Runs after the answer was kept as a copy, and for copies too.
    .get(
      '/api/collection/:id',
      { schema: readSchema, config: { staleCache: 'edition' }, onSend: notModified },
      read
    )
    .get(
      '/api/collection/bundles',
      { schema: bundlesSchema, config: { staleCache: 'list' } },
      bundles
    )
    .get(
      '/api/publisher-edition/bundles',
      { schema: typesSchema, config: { staleCache: 'list' } },
      types
    )
}

/** The failures that every operation may answer. */
const ALWAYS = [400, 401, 403, 404, 405, 500, 502, 503, 504] as const

const createSchema = {
  operationId: 'createEdition',
  tags: ['editions'],
  summary: 'Create an edition',
  description:
    'After 502, 503 or 504 with a uuid, send the same body again with that uuid: it does not create a second edition. Give each create a uuid of your own, or an Idempotency-Key, so that you can do the same when there is no answer at all.',
  headers: CreateHeaders,
  body: EditionBody,
  response: answers(
    {
      201: orReplayed(
        withHeaders(
          asText(
            ref(Edition, {
              description: 'The new edition with all its fields. Location has its path'
            })
          ),
          'Location'
        )
      ),
      200: orReplayed(
        withHeaders(
          asText(
            ref(Edition, {
              description:
                'The edition that an earlier create with this uuid and these fields made, with all its fields'
            })
          ),
          'Location'
        )
      )
    },
    409,
    413,
    415,
    422,
    ...ALWAYS
  )
}

const create: Handler<typeof createSchema> = async function (request, reply) {
  const { body, caller } = request
  const { json, etag, id } = await repeatable(request, reply, {
    save: (attempt) => this.editions.create(body, caller, { ...authorOf(request), attempt }),
    replay: async ({ uuid, status }) => ({
      ...(await this.editions.read(uuid, caller)),
      isNew: status === 201
    }),
    status: ({ isNew }) => (isNew ? 201 : 200)
  })
  reply.headers({ location: locationOf(this, id), etag }).type(JSON_TYPE)
  return json
}

const updateSchema = {
  operationId: 'updateEdition',
  tags: ['editions'],
  summary: 'Change an edition',
  description:
    'Changes only the fields that are sent, and writes nothing when none of them differs. Saves of one edition take turns, also through other instances. `Edition-Turn: instance` tells that a save had its turn within its own instance only, because the lock store was away. With EDITION_LOCKS=enforce the change is refused when another user has locked one of the fields that differ.',
  params: EditionParams,
  headers: UpdateHeaders,
  body: EditionChange,
  response: answers(
    {
      200: orReplayed(
        withHeaders(
          asText(ref(Edition, { description: 'The edition as it is now, with all its fields' })),
          'Edition-Turn'
        )
      )
    },
    409,
    412,
    413,
    415,
    422,
    423,
    428,
    ...ALWAYS
  )
}

const update: Handler<typeof updateSchema> = async function (request, reply) {
  const {
    params: { id },
    body,
    caller
  } = request
  const changer = changerOf(request)
  const { json, etag, isShared } = await repeatable(request, reply, {
    save: (attempt) => this.editions.update(id, body, caller, { ...changer, attempt }),
    replay: async ({ uuid }) => ({ ...(await this.editions.replay(uuid, caller)), isShared: true }),
    status: () => 200
  })
  reply.headers(ofSave(etag, isShared)).type(JSON_TYPE)
  return json
}

const arrangeSchema = {
  operationId: 'arrangeArticles',
  tags: ['editions'],
  summary: 'Insert, move and remove articles',
  description:
    'Applies operations to the running order as it is when the save has its turn: all of them or none. Each names its place by a neighbour or an end, so two editors who insert at the same time both find both articles. To insert an article that is there, or to remove one that is not, is a success. With EDITION_LOCKS=enforce the change is refused when another user has locked the field.',
  params: EditionParams,
  headers: UpdateHeaders,
  body: OrderChange,
  response: answers(
    { 200: orReplayed(withHeaders(asText(OrderChanged), 'Edition-Turn')) },
    409,
    412,
    413,
    415,
    422,
    423,
    ...ALWAYS
  )
}

const arrange: Handler<typeof arrangeSchema> = async function (request, reply) {
  const {
    params: { id },
    body,
    caller
  } = request
  const changer = changerOf(request, { isRelative: true })
  const { json, etag, isShared, outcomes } = await repeatable(request, reply, {
    save: (attempt) => this.editions.arrange(id, body, caller, { ...changer, attempt }),
    replay: async ({ uuid, outcomes }) => ({
      ...(await this.editions.replay(uuid, caller)),
      isShared: true,
      outcomes: outcomes!
    }),
    status: () => 200
  })
  reply.headers(ofSave(etag, isShared)).type(JSON_TYPE)
  const meta: OrderChanged['meta'] = { operations: outcomes.map((outcome) => ({ outcome })) }
  return jsonObject<OrderChanged>({ data: json, meta: jsonText(meta) })
}

const readSchema = {
  operationId: 'readEdition',
  tags: ['editions'],
  summary: 'Read an edition',
  description:
    'ETag names the edition as this caller is shown it: callers who may see other fields, or who read another language, get another ETag. As long as nothing changes, a request with that ETag in If-None-Match is answered 304, without a body. A change with that ETag in If-Match is refused when somebody has saved the edition since.',
  params: EditionParams,
  headers: ReadHeaders,
  response: answers(
    {
      200: orStale(
        withHeaders(
          asText(ref(Edition, { description: 'The edition. ETag names its state' })),
          'ETag'
        )
      ),
      304: withHeaders(
        noBody('The edition has not changed since the answer that If-None-Match names'),
        'ETag'
      )
    },
    412,
    ...ALWAYS
  )
}

const read: Handler<typeof readSchema> = async function (request, reply) {
  const { json, etag } = await this.editions.read(
    request.params.id,
    request.caller,
    request.headers['if-match']
  )
  reply.header('etag', etag).type(JSON_TYPE)
  return json
}

const bundlesSchema = {
  operationId: 'listBundles',
  tags: ['editions'],
  summary: 'List the bundles of editions',
  response: answers({ 200: orStale(NamedList) }, ...ALWAYS)
}

const bundles: Handler<typeof bundlesSchema> = async function (request) {
  return { data: await this.editions.bundles(request.caller) }
}

const typesSchema = {
  operationId: 'listEditionTypes',
  tags: ['editions'],
  summary: 'List the edition types',
  response: answers({ 200: orStale(NamedList) }, ...ALWAYS)
}

const types: Handler<typeof typesSchema> = async function (request) {
  return { data: await this.editions.types(request.caller) }
}
