import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { answers, orReplayed, withHeaders } from '../lib/editions/answers.ts'
import { Edition, EditionFailure, EditionParams, UpdateHeaders } from '../lib/editions/schemas.ts'
import {
  JournalEntry,
  JournalPage,
  JournalQuery,
  RestoreBody
} from '../lib/saves/journal-schemas.ts'
import { asText, JSON_TYPE } from '../lib/json-text.ts'
import { ref } from '../lib/schema-parts.ts'
import { changerOf } from './author-of.ts'
import { ofSave } from './edition-answers.ts'
import type { Handler } from './handler.ts'
import { demandJournal } from './journal-access.ts'
import { repeatable } from './repeatable.ts'

/** Reads the journal of an edition, and restores values from it. */
export default async function journal(fastify: FastifyInstance) {
  for (const schema of [Edition, EditionFailure, JournalEntry]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/collection/:id/journal', { schema: readSchema }, read)
    .post('/api/collection/:id/restore', { schema: restoreSchema }, restore)
}

/** The failures that every operation may answer. */
const ALWAYS = [400, 401, 403, 404, 405, 413, 500, 502, 503, 504] as const

const readSchema = {
  operationId: 'readJournal',
  tags: ['editions'],
  summary: 'Read the journal of an edition',
  description:
    "The saves through Quoin, the newest first: who, when, and each changed field before and after. Only callers who may edit the edition may read it. It leaves out fields that Drupal hides from the caller. A change that has no entry, such as one in Drupal's own form, stands between two entries as `outside`.",
  params: EditionParams,
  querystring: JournalQuery,
  response: answers({ 200: JournalPage }, ...ALWAYS)
}

const read: Handler<typeof readSchema> = async function (request) {
  const {
    params: { id },
    query,
    caller
  } = request
  const history = await demandJournal(this, request, id)
  const { entries, next } = await history.read(id, caller, query)
  return { data: entries, meta: { next } }
}

const restoreSchema = {
  operationId: 'restoreEdition',
  tags: ['editions'],
  summary: 'Put fields of an edition back as a journal entry has them',
  description:
    'A save like any other: it takes its turn, respects If-Match and EDITION_LOCKS=enforce, and has an entry of its own.',
  params: EditionParams,
  headers: UpdateHeaders,
  body: RestoreBody,
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
    415,
    422,
    423,
    428,
    ...ALWAYS
  )
}

const restore: Handler<typeof restoreSchema> = async function (request, reply) {
  const {
    params: { id },
    body,
    caller
  } = request
  const changer = changerOf(request)
  const history = await demandJournal(this, request, id)
  const { json, etag, isShared } = await repeatable(request, reply, {
    save: (attempt) =>
      history.restore(id, body, caller, {
        ...changer,
        attempt
      }),
    replay: async ({ uuid }) => ({ ...(await this.editions.replay(uuid, caller)), isShared: true }),
    status: () => 200
  })
  reply.headers(ofSave(etag, isShared)).type(JSON_TYPE)
  return json
}
