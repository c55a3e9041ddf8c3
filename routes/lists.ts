import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { EditionList } from '../lib/boards/schemas.ts'
import { answers, orStale, withHeaders } from '../lib/editions/answers.ts'
import {
  Edition,
  EditionFailure,
  leniently,
  ListedParams,
  ListedSections,
  OFFSET_MAX,
  ReadHeaders,
  SearchParams,
  SearchQuery,
  SectionList
} from '../lib/editions/schemas.ts'
import { asText, JSON_TYPE, jsonArray, jsonObject, jsonText } from '../lib/json-text.ts'
import { LockView } from '../lib/locks/schemas.ts'
import { noBody, ref } from '../lib/schema-parts.ts'
import type { Handler } from './handler.ts'
import { notModified } from './edition-answers.ts'

/** Lists of editions, and of what they are made of. */
export default async function lists(fastify: FastifyInstance) {
  for (const schema of [Edition, EditionFailure, LockView]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get(
      '/api/collections/:bundle',
      {
        schema: searchSchema,
        config: { staleCache: 'list' },
        preValidation: async (request) => {
          request.query = leniently(request.query) as typeof request.query
        }
      },
      search
    )
    .get(
      '/api/collections/:bundle/sections',
      { schema: sectionsSchema, config: { staleCache: 'list' } },
      sections
    )
    // Runs after the answer was kept as a copy, and for copies too.
    .get(
      '/api/collections/:bundle/:id',
      { schema: readSchema, config: { staleCache: 'edition' }, onSend: notModified },
      read
    )
}

/** The failures that every operation may answer. */
const ALWAYS = [400, 401, 403, 404, 405, 500, 502, 503, 504] as const

const searchSchema = {
  operationId: 'searchEditions',
  tags: ['editions'],
  summary:
    'List and search editions, or what they are made of, newest first unless sort says otherwise',
  description:
    'An empty parameter counts as absent. A parameter that is not listed here is ignored. An answer with locks is never given as a copy.',
  params: SearchParams,
  querystring: SearchQuery,
  response: answers({ 200: orStale(asText(EditionList)) }, 413, ...ALWAYS)
}

const search: Handler<typeof searchSchema> = async function (request, reply) {
  const { bundle } = request.params
  const {
    total: wantTotal,
    placed: wantPlaced,
    unplaced,
    locks: wantLocks,
    _format,
    ...query
  } = request.query
  // Locks of a while ago would mislead.
  if (wantLocks) delete request.cacheable
  const page = await this.editions.search(
    bundle,
    { ...query, total: wantTotal === 1, placed: wantPlaced === 1, unplaced: unplaced === 1 },
    request.caller
  )
  const { editions, hasMore, total, placed: placements } = page
  const { limit, offset } = query
  const next = page.next ?? offset + limit
  const link = (to: number) => {
    const parameters = Object.entries({ ...request.query, offset: to }).map(([name, value]) => [
      name,
      String(value)
    ])
    return `${this.basePath}/api/collections/${encodeURIComponent(bundle)}?${new URLSearchParams(parameters as Array<[string, string]>).toString()}`
  }
  const links: EditionList['links'] = { self: link(offset) }
  if (hasMore && next <= OFFSET_MAX) links.next = link(next)
  if (offset > 0 && !unplaced) links.prev = link(Math.max(0, offset - limit))
  const meta: EditionList['meta'] = { limit, offset, hasMore, total }
  if (page.next !== undefined) meta.next = page.next
  if (placements) meta.placed = placements
  if (wantLocks) {
    meta.locks = await this.boards.ofRows(page, (entity) => request.may('view', entity))
  }
  reply.type(JSON_TYPE)
  return jsonObject<EditionList>({
    data: jsonArray(editions),
    meta: jsonText(meta),
    links: jsonText(links)
  })
}

const sectionsSchema = {
  operationId: 'listSections',
  tags: ['editions'],
  summary: 'List the sections of what editions are made of',
  description:
    'What `section` of the list takes. The content model names the field. Of a reference these are the first 100 entities of each bundle that the newest rows refer to; of a text or a list field, the values of the newest rows.',
  params: ListedSections,
  response: answers({ 200: orStale(SectionList) }, ...ALWAYS)
}

const sections: Handler<typeof sectionsSchema> = async function ({ params: { bundle }, caller }) {
  const { sections, isComplete } = await this.editions.sections(bundle, caller)
  return { data: sections, meta: { isComplete } }
}

const readSchema = {
  operationId: 'readListed',
  tags: ['editions'],
  summary: 'Read one of what editions are made of, such as an article',
  description: 'ETag works as it does for an edition.',
  params: ListedParams,
  headers: ReadHeaders,
  response: answers(
    {
      200: orStale(
        withHeaders(
          asText(ref(Edition, { description: 'The entity. ETag names its state' })),
          'ETag'
        )
      ),
      304: withHeaders(
        noBody('The entity has not changed since the answer that If-None-Match names'),
        'ETag'
      )
    },
    412,
    ...ALWAYS
  )
}

const read: Handler<typeof readSchema> = async function (request, reply) {
  const {
    params: { bundle, id },
    caller,
    headers
  } = request
  const { json, etag } = await this.editions.readListed(bundle, id, caller, headers['if-match'])
  reply.header('etag', etag).type(JSON_TYPE)
  return json
}
