import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { answers, orReplayed, withHeaders } from '../lib/editions/answers.ts'
import {
  Edition,
  EditionBody,
  EditionFailure,
  KeyParams,
  UpdateHeaders
} from '../lib/editions/schemas.ts'
import { asText, JSON_TYPE } from '../lib/json-text.ts'
import { ref } from '../lib/schema-parts.ts'
import { changerOf } from './author-of.ts'
import { locationOf, ofSave } from './edition-answers.ts'
import type { Handler } from './handler.ts'
import { repeatable } from './repeatable.ts'

/** PUT /api/collections/:bundle/by-key/:key: editions as a publishing system names them. */
export default async function upserts(fastify: FastifyInstance) {
  for (const schema of [Edition, EditionFailure]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .put('/api/collections/:bundle/by-key/:key', { schema: putSchema }, put)
}

const putSchema = {
  operationId: 'putEditionByKey',
  tags: ['editions'],
  summary: 'Create the edition with a key, or change it',
  description:
    'Creates one edition, even if the request is sent several times at once and through several instances. Changes only the fields that are sent, and writes nothing if none of them differs. The body may leave out the key and the bundle. With If-Match it changes an edition in that state, and creates none.',
  params: KeyParams,
  headers: UpdateHeaders,
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
          'Location',
          'Edition-Turn'
        )
      ),
      200: orReplayed(
        withHeaders(
          asText(
            ref(Edition, {
              description:
                'The existing edition as it is now, with all its fields. Location has its path'
            })
          ),
          'Location',
          'Edition-Turn'
        )
      )
    },
    400,
    401,
    403,
    404,
    405,
    409,
    412,
    413,
    415,
    422,
    423,
    428,
    500,
    502,
    503,
    504
  )
}

const put: Handler<typeof putSchema> = async function (request, reply) {
  const {
    params: { bundle, key },
    body,
    caller
  } = request
  const changer = changerOf(request)
  const { json, etag, id, isShared } = await repeatable(request, reply, {
    save: (attempt) => this.upserts.upsert(bundle, key, body, caller, { ...changer, attempt }),
    replay: async ({ uuid, status }) => ({
      ...(await this.editions[status === 201 ? 'read' : 'replay'](uuid, caller)),
      isShared: true,
      isNew: status === 201
    }),
    status: ({ isNew }) => (isNew ? 201 : 200)
  })
  reply.headers({ location: locationOf(this, id), ...ofSave(etag, isShared) }).type(JSON_TYPE)
  return json
}
