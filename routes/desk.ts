import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/env.ts'
import { EditionParams } from '../lib/editions/schemas.ts'
import { matchesWeakly } from '../lib/http/entity-tag.ts'
import { OF_PAGES } from '../lib/http/security-headers.ts'
import { readSources, sourcePaths, type Source } from '../lib/desk/sources.ts'
import { JSON_TYPE } from '../lib/json-text.ts'
import type { Handler } from './handler.ts'

/** No part of the API, so none of its documentation. */
const schema = { hide: true }

/**
 * The page /desk: its files, and what it has to know of this service. It may load nothing from anywhere but here, and
 * covers from the CMS; texts of users get into it as text alone (Trusted Types).
 */
export default async function desk (fastify: FastifyInstance, { config }: { config: Config }) {
  const { origin } = new URL(config.cms.url)
  const csp = policyFor(origin)
  let sources: ReturnType<typeof readSources> | undefined

  for (const path of sourcePaths()) {
    fastify.get(path, { schema }, async (request, reply) => {
      if (path === '/desk') reply.headers({ ...OF_PAGES, 'content-security-policy': csp })
      // What reads them takes a tenth of a second, so it waits until somebody looks.
      sources ??= readSources()
      return send(request, reply, (await sources).get(path)!)
    })
  }

  const settings = JSON.stringify(settingsOf(config, origin))
  fastify.get('/desk/settings.json', { schema }, async (_request, reply) => reply.type(JSON_TYPE).send(settings))

  // Below /api, where it is asked who calls.
  fastify.withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/desk/me', { schema: meSchema }, async ({ identity }) => ({ user: identity ? { uid: identity.uid, name: identity.name } : null }))
    .get('/api/desk/labels/:id', { schema: labelsSchema, config: { staleCache: 'list' } }, labels)
}

const User = Type.Object({ uid: Type.String(), name: Type.Union([Type.String(), Type.Undefined()]) })

const meSchema = { hide: true, response: { 200: Type.Object({ user: Type.Union([User, Type.Null()]) }) } }

const labelsSchema = { hide: true, params: EditionParams, response: { 200: Type.Object({ data: Type.Record(Type.String(), Type.String()), published: Type.Record(Type.String(), Type.Boolean()) }) } }

const labels: Handler<typeof labelsSchema> = async function (request) {
  const { labels: data, published } = await this.editions.labels(request.params.id, request.caller)
  return { data, published }
}

/** Asked again each time, which 304 makes cheap: a page never runs with modules of two versions for long. */
function send ({ headers }: FastifyRequest, reply: FastifyReply, { type, body, etag }: Source) {
  reply.headers({ etag, 'cache-control': 'no-cache' })
  return matchesWeakly(headers['if-none-match'], etag) ? reply.code(304).send() : reply.type(type).send(body)
}

function policyFor (cms: string): string {
  return [
    "default-src 'none'", "base-uri 'none'", "connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'", `img-src 'self' data: ${cms}`,
    "script-src 'self'", "style-src 'self'", "require-trusted-types-for 'script'", 'trusted-types lit-html'
  ].join('; ')
}

/** What the page has to know: how callers are known, where Drupal is, and the site's names. */
function settingsOf ({ auth, contentModel: { entityType, bundleEntityType, keys, fields, timestampFields, timeZone, references, lists, closing, lockTypes, lockIds } }: Config, cms: string) {
  return { auth: auth?.kind ?? 'none', cms, model: { entityType, bundleEntityType, keys, fields, timestampFields, timeZone, references, lists, closing, lockTypes, lockIds } }
}
