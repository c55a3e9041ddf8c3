import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { ClosingEditor } from '../lib/boards/readiness.ts'
import { Closed, Finding, KeptDraft, Readiness } from '../lib/boards/schemas.ts'
import { answers, orReplayed, withHeaders } from '../lib/editions/answers.ts'
import {
  Edition,
  EditionFailure,
  EditionParams,
  ReadinessHeaders,
  UpdateHeaders
} from '../lib/editions/schemas.ts'
import { asText, JSON_TYPE, jsonObject, jsonText } from '../lib/json-text.ts'
import { LockView } from '../lib/locks/schemas.ts'
import { noBody, ref } from '../lib/schema-parts.ts'
import { authorOf, changerOf } from './author-of.ts'
import { notModified, ofSave } from './edition-answers.ts'
import type { Handler } from './handler.ts'
import { repeatable } from './repeatable.ts'

/** Whether an edition is ready to close, and its closing. */
export default async function closing(fastify: FastifyInstance) {
  for (const schema of [Edition, EditionFailure, LockView, KeptDraft, Finding, Readiness]) {
    fastify.addSchema(schema)
  }

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get(
      '/api/collection/:id/readiness',
      { schema: readinessSchema, onSend: notModified },
      readiness
    )
    .post('/api/collection/:id/close', { schema: closeSchema }, close)
}

/** The failures that every operation may answer. */
const ALWAYS = [400, 401, 403, 404, 405, 413, 500, 502, 503, 504] as const

const readinessSchema = {
  operationId: 'readReadiness',
  tags: ['editions'],
  summary: 'Say whether an edition is ready to close',
  description:
    "Looks at the edition, its articles, their locks and their drafts as they are now, never at a copy. The caller's own locks neither block nor warn. The content model says which findings block. ETag names the state of everything that was checked.",
  params: EditionParams,
  headers: ReadinessHeaders,
  response: answers(
    {
      200: withHeaders(ref(Readiness, { description: 'The findings against closing it' }), 'ETag'),
      304: withHeaders(
        noBody('Nothing of it has changed since the answer that If-None-Match names'),
        'ETag'
      )
    },
    ...ALWAYS
  )
}

const readiness: Handler<typeof readinessSchema> = async function (request, reply) {
  const {
    params: { id },
    caller
  } = request
  await request.demand('view', this.boards.edition(id))
  const { etag, ...findings } = await this.closing.readiness(id, caller, editorOf(request))
  reply.header('etag', etag)
  return findings
}

const closeSchema = {
  operationId: 'closeEdition',
  tags: ['editions'],
  summary: 'Close an edition that is ready',
  description:
    'Repeats the checks when the save has its turn. If there are blockers, the answer is 409 NOT_READY and nothing is saved. Otherwise the field that the content model names is set, by default `status` to true. After the save Quoin checks again, and `meta.since` has the findings that are new.',
  params: EditionParams,
  headers: UpdateHeaders,
  body: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
    description: 'Ignored',
    examples: [{}]
  }),
  response: answers(
    { 200: orReplayed(withHeaders(asText(Closed), 'Edition-Turn')) },
    409,
    412,
    415,
    422,
    423,
    428,
    ...ALWAYS
  )
}

const close: Handler<typeof closeSchema> = async function (request, reply) {
  const {
    params: { id },
    caller
  } = request
  const { ifMatch, lockVersions } = changerOf(request)
  const { json, etag, isShared, since } = await repeatable(request, reply, {
    save: (attempt) =>
      this.closing.close(id, caller, editorOf(request), { ifMatch, lockVersions, attempt }),
    replay: async ({ uuid }) => ({
      ...(await this.editions.replay(uuid, caller)),
      isShared: true,
      since: null
    }),
    status: () => 200
  })
  reply.headers(ofSave(etag, isShared)).type(JSON_TYPE)
  return jsonObject<Closed>({ data: json, meta: jsonText<Closed['meta']>({ since }) })
}

function editorOf(request: Pick<FastifyRequest, 'uid' | 'identity' | 'may'>): ClosingEditor {
  return { ...authorOf(request), mayView: (entity) => request.may('view', entity) }
}
