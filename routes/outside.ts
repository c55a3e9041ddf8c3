import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import {
  OutsideSave,
  OutsideSaves,
  SavesHeard,
  SaveQuestion,
  SaveVerdict
} from '../lib/boards/outside-schemas.ts'
import { answers } from '../lib/editions/answers.ts'
import { EditionFailure } from '../lib/editions/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import type { Handler } from './handler.ts'

/** How large a body may be, in bytes: fifty saves with the names of all their fields. */
const BODY_MAX = 1024 * 1024

/** Saves that Drupal makes without Quoin, as its module asks and tells of them. */
export default async function outside(fastify: FastifyInstance) {
  for (const schema of [EditionFailure, OutsideSave, SaveQuestion, SaveVerdict]) {
    fastify.addSchema(schema)
  }

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/drupal/checks', { schema: checkSchema, bodyLimit: BODY_MAX }, check)
    .post('/drupal/saves', { schema: savesSchema, bodyLimit: BODY_MAX }, hear)
}

/** The failures that both may answer. */
const ALWAYS = [400, 401, 405, 413, 415, 500, 503] as const

const NOT_SIGNED = {
  401: {
    ...answers({}, 401)[401],
    description: 'The token is not signed by the secret, has expired, or is for another body'
  }
}

const SIGNED =
  "For Quoin's Drupal module: `Authorization: Bearer` with a JWT that CMS_MODULE_SECRET has signed (HS256), with `iss` drupal, `aud` quoin, `exp`, and the SHA-256 of the body as base64url in `body`."

const checkSchema = {
  operationId: 'checkSave',
  tags: ['drupal'],
  summary: 'Ask whose locks are in the way of a save in Drupal',
  description: `Changes nothing. ${SIGNED}`,
  body: ref(SaveQuestion),
  response: { ...answers({ 200: ref(SaveVerdict) }, ...ALWAYS), ...NOT_SIGNED }
}

const check: Handler<typeof checkSchema> = async function ({ body }) {
  return this.outside.check(body)
}

const savesSchema = {
  operationId: 'tellSaves',
  tags: ['drupal'],
  summary: 'Tell saves that Drupal has made without Quoin',
  description: `Watchers of the entity get the event \`saved\`, and the journal of an edition has an entry. A save that is told again has one entry all the same. ${SIGNED}`,
  body: OutsideSaves,
  response: { ...answers({ 200: SavesHeard }, ...ALWAYS), ...NOT_SIGNED }
}

const hear: Handler<typeof savesSchema> = async function ({ body }) {
  await this.outside.hear(body.saves)
  return { heard: body.saves.length }
}
