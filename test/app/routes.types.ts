/**
 * Mistakes that must not compile: `npm run types` fails where one of them does. Nothing runs this file.
 */
import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { answers } from '#lib/editions/answers.ts'
import { EditionList } from '#lib/boards/schemas.ts'
import { EditionParams, NamedList } from '#lib/editions/schemas.ts'
import { asText, jsonArray, jsonObject, jsonText } from '#lib/json-text.ts'
import { DraftsQuery, Entity, Listed } from '#lib/locks/schemas.ts'
import { noBody, ref } from '#lib/schema-parts.ts'
import { eventStream } from '../../routes/event-stream.ts'
import type { Handler } from '../../routes/handler.ts'
import { acquireAnswers, lockAnswers, lockAnswer } from '../../routes/lock-answers.ts'
import { repeatable } from '../../routes/repeatable.ts'

export const listSchema = {
  params: Entity,
  querystring: DraftsQuery,
  response: { 200: ref(Listed), 304: noBody('As it was'), 400: lockAnswers.wrong, 423: lockAnswers.held }
}
const data = { Items: [], Count: 0, ScannedCount: 0 }

export const right: Handler<typeof listSchema> = async ({ params: { type, id }, query: { fieldName, uid } }, reply) => {
  const texts: Array<string | undefined> = [type, id, fieldName, uid]
  return texts.length === 0 ? reply.code(304).send() : { success: true, data }
}

export const wrongQuery: Handler<typeof listSchema> = async ({ query }) => {
  // @ts-expect-error no parameter of the query has this name
  if (query.field) return { success: true, data }
  // @ts-expect-error this one is a text
  const count: number | undefined = query.fieldName
  return { success: true, data: { ...data, Count: count ?? 0 } }
}

// @ts-expect-error a member of the answer is misspelt
export const misspelt: Handler<typeof listSchema> = async () => ({ succes: true, data })

// @ts-expect-error the handler forgets its answer
export const nothing: Handler<typeof named> = async () => {}

// @ts-expect-error the answer lacks a member
export const incomplete: Handler<typeof listSchema> = async () => ({ success: true, data: { Items: [], Count: 0 } })

// @ts-expect-error a row of the answer has another type
export const wrongRow: Handler<typeof listSchema> = async () => ({ success: true, data: { ...data, Items: [{ fieldName: 5 }] } })

export const misspeltSent: Handler<typeof listSchema> = async (_request, reply) =>
  // @ts-expect-error nor when it is sent
  reply.code(200).send({ success: true, dat: data })

export const otherStatus: Handler<typeof listSchema> = async (_request, reply) =>
  // @ts-expect-error the schema does not name this status
  reply.code(202).send({ success: true, data })

// @ts-expect-error a failure is thrown, not answered
export const failing: Handler<typeof listSchema> = async () => ({ success: false, message: '', error: { name: '', code: '', message: '' } })

export const named = { params: EditionParams, response: answers({ 200: NamedList }, 400, 404) }

export const namedOtherStatus: Handler<typeof named> = async (_request, reply) => {
  // @ts-expect-error nor does the schema of editions name this status
  reply.code(409)
  return { data: [{ id: 'daily', label: 'Daily' }] }
}

// @ts-expect-error a misspelt member of editions
export const namedMisspelt: Handler<typeof named> = async () => ({ data: [{ id: 'daily', lable: 'Daily' }] })

export const page = { response: answers({ 200: asText(EditionList) }, 400) }

// @ts-expect-error text of anything is not JSON of a list
export const anyText: Handler<typeof page> = async () => '{}'

export const misspeltText: Handler<typeof page> = async () =>
  // @ts-expect-error a member of the object is misspelt
  jsonObject<EditionList>({ data: jsonArray([]), mta: jsonText({}), links: jsonText({ self: '' }) })

// @ts-expect-error nor is JSON of something else
export const otherText: Handler<typeof page> = async () => jsonText({ data: [] })

export const events = { response: answers({ 200: eventStream('Events', {}, {}) }, 400) }

// @ts-expect-error events come as a stream
export const noStream: Handler<typeof events> = async () => ({ data: [] })

export const lockSchema = (refusedStatus: number) => ({
  params: Entity,
  response: { ...acquireAnswers(refusedStatus), 400: lockAnswers.wrong }
})

// @ts-expect-error a misspelt member, where a setting decides which statuses there are
export const misspeltLock: Handler<ReturnType<typeof lockSchema>> = async () => ({ succes: true })

export const saved = { response: answers({ 200: asText(EditionList), 201: asText(EditionList) }, 400) }

export const repeated: Handler<typeof saved> = async (request, reply) => {
  const result = {
    uuid: '',
    etag: '',
    json: jsonText<EditionList>({ data: [], meta: { limit: 1, offset: 0, hasMore: false, total: 0 }, links: { self: '' } })
  }
  const once = { save: async () => result, replay: async () => result }
  // @ts-expect-error the schema does not name a status that a repeatable save sets
  await repeatable(request, reply, { ...once, status: ({ uuid }) => (uuid === '' ? 201 : 202) })
  return (await repeatable(request, reply, { ...once, status: ({ uuid }) => (uuid === '' ? 201 : 200) })).json
}

const acquireSchema = { params: Entity, response: { 200: lockAnswer('Yours') } }

export async function routes(fastify: FastifyInstance) {
  const acquire: Handler<typeof acquireSchema> = async () => ({ success: true })

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/right', { schema: acquireSchema }, acquire)
    // @ts-expect-error the handler reads a parameter that its route does not have
    .get('/params', { schema: { ...acquireSchema, params: Type.Object({ name: Type.String() }) } }, acquire)
    // @ts-expect-error the handler answers what its route does not
    .get('/answer', { schema: { params: Entity, response: { 200: NamedList } } }, acquire)
}
