import type { IncomingHttpHeaders } from 'node:http'
import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import Negotiator from 'negotiator'
import type { Config } from '../../../config/env.ts'
import { LOOKS_MAX } from '../../../lib/editions/lookup/list-looks.ts'
import { EditionParams, ListedParams } from '../../../lib/editions/schemas.ts'
import { Failure } from '../../../lib/errors.ts'
import { UUID_PATTERN } from '../../../lib/patterns.ts'
import { OF_PAGES } from '../../../lib/http/security-headers.ts'
import { notModified } from '../../../routes/edition-answers.ts'
import type { Handler } from '../../../routes/handler.ts'
import { LANGUAGES, type Language } from './built-page.ts'
import { readSources, type DeskFile } from './sources.ts'

/** It is not part of the API, so the documentation leaves it out. */
const schema = { hide: true }

/** What a worker may do goes by the policy of its own script. Ours calls the service alone. */
const WORKER_POLICY = "default-src 'none'; connect-src 'self'"

/** The content of a file never changes: another one has another name. */
const FOR_EVER = 'public, max-age=31536000, immutable'

export interface DeskOptions {
  config: Config
  /** Whether every path is Quoin's, also those outside of /desk. */
  ownsPaths: boolean
}

/**
 * The page /desk: its files, and what it has to know of this service. It may load nothing from
 * anywhere but here, and covers from the CMS; texts of users get into it as text alone (Trusted
 * Types).
 */
export default async function desk(fastify: FastifyInstance, { config, ownsPaths }: DeskOptions) {
  const { origin } = new URL(config.cms.url)
  const settings = settingsOf(config, origin)

  fastify.get('/desk', { schema, onSend: notModified }, async ({ headers, url }, reply) => {
    if (/^[^?]*\/(?:\?|$)/.test(url)) return reply.redirect(deskFromBelow(url))
    const { page, inlineHash } = await readSources()
    const language = new Negotiator({ headers }).language([...LANGUAGES]) as Language | undefined
    const { body, etag } = page(language ?? LANGUAGES[0], settings)
    reply
      .headers({
        ...OF_PAGES,
        'content-security-policy': policyFor(origin, inlineHash),
        etag,
        'cache-control': 'no-cache'
      })
      .vary('accept-language')
    return reply.type('text/html; charset=utf-8').send(body)
  })

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get(
      '/desk/files/:name',
      { schema: fileSchema },
      async ({ params: { name }, headers }, reply) => {
        const file = (await readSources()).files.get(name)
        if (!file) {
          throw new Failure(
            'NOT_FOUND',
            `The desk has no file ${name}; files of earlier releases are gone: reload the page`
          )
        }
        if (name.startsWith('worker-')) reply.header('content-security-policy', WORKER_POLICY)
        return send(headers, reply, file)
      }
    )

  // Its name stays, so that other pages can name it. What it loads is immutable.
  fastify.get('/desk/elements.js', { schema, onSend: notModified }, async ({ headers }, reply) => {
    const { elements, elementsTag } = await readSources()
    return send(headers, reply, elements).headers({
      etag: elementsTag,
      'cache-control': 'no-cache'
    })
  })

  // Below /api, where it is asked who calls.
  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/desk/me', { schema: meSchema }, async ({ identity }) => ({
      user: identity ? { uid: identity.uid, name: identity.name } : null
    }))
    .get('/api/desk/settings', { schema: settingsSchema }, async ({ identity }) => ({
      ...settings,
      user: identity ? { uid: identity.uid, name: identity.name } : null
    }))
    .get('/api/desk/names', { schema: namesSchema, config: { staleCache: 'list' } }, names)
    .get('/api/desk/labels/:id', { schema: labelsSchema, config: { staleCache: 'parts' } }, labels)
    .get('/api/desk/looks/:bundle', { schema: looksSchema, config: { staleCache: 'parts' } }, looks)
    .get(
      '/api/desk/samples/:id',
      { schema: samplesSchema, config: { staleCache: 'samples' } },
      samples
    )

  if (!ownsPaths) return
  if (!fastify.ignoresTrailingSlash) {
    fastify.get('/desk/', { schema }, async ({ url }, reply) => reply.redirect(deskFromBelow(url)))
  }
  // Browsers ask for it on pages that name no icon, such as an answer of the API.
  fastify.get('/favicon.ico', { schema }, async (_request, reply) =>
    reply.redirect(`desk/files/${(await readSources()).icon}`)
  )
}

/**
 * Where the path with a slash at its end leads: from there the page would not find its files. The
 * location is relative, as those of routes/home.ts.
 */
function deskFromBelow(url: string): string {
  return `../desk${url.slice(url.split('?', 1)[0]!.length)}`
}

const fileSchema = { ...schema, params: Type.Object({ name: Type.String() }) }

const CurrentUser = Type.Object({
  uid: Type.String(),
  name: Type.Union([Type.String(), Type.Undefined()])
})

const meSchema = {
  hide: true,
  response: { 200: Type.Object({ user: Type.Union([CurrentUser, Type.Null()]) }) }
}

/** What an element has to know that another page embeds, in one request. */
const settingsSchema = {
  hide: true,
  response: {
    200: Type.Object({
      auth: Type.String(),
      cms: Type.String(),
      model: Type.Record(Type.String(), Type.Unknown()),
      user: Type.Union([CurrentUser, Type.Null()])
    })
  }
}

const Names = Type.Array(Type.Object({ id: Type.String(), label: Type.String() }))

const namesSchema = { hide: true, response: { 200: Type.Object({ types: Names, bundles: Names }) } }

/** What the desk's choices are made of, in one request. */
const names: Handler<typeof namesSchema> = async function ({ caller }) {
  const [types, bundles] = await Promise.all([
    this.editions.types(caller),
    this.editions.bundles(caller)
  ])
  return { types, bundles }
}

const Texts = Type.Record(Type.String(), Type.String())

const Looks = { images: Texts, sections: Texts }

const labelsSchema = {
  hide: true,
  params: EditionParams,
  response: {
    200: Type.Object({
      data: Texts,
      published: Type.Record(Type.String(), Type.Boolean()),
      ...Looks
    })
  }
}

const labels: Handler<typeof labelsSchema> = async function (request) {
  const { labels: data, ...rest } = await this.editions.labels(request.params.id, request.caller)
  return { data, ...rest }
}

const looksSchema = {
  hide: true,
  params: Type.Pick(ListedParams, ['bundle']),
  querystring: Type.Object({
    uuids: Type.String({
      pattern: `^${UUID_PATTERN}(?:,${UUID_PATTERN}){0,${LOOKS_MAX - 1}}$`,
      description: `1 to ${LOOKS_MAX} uuids, separated by commas`
    })
  }),
  response: { 200: Type.Object(Looks) }
}

/** The images and sections of a page of a search for articles. */
const looks: Handler<typeof looksSchema> = async function ({
  params: { bundle },
  query: { uuids },
  caller
}) {
  return this.editions.looks(bundle, uuids.split(','), caller)
}

const samplesSchema = {
  hide: true,
  params: EditionParams,
  response: {
    200: Type.Record(Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown())))
  }
}

const samples: Handler<typeof samplesSchema> = async function (request) {
  return this.editions.samples(request.params.id, request.caller)
}

function send(
  headers: IncomingHttpHeaders,
  reply: FastifyReply,
  { type, body, gzipped }: DeskFile
) {
  reply.type(type).header('cache-control', FOR_EVER).vary('accept-encoding')
  return takesGzip(headers['accept-encoding'])
    ? reply.header('content-encoding', 'gzip').send(gzipped)
    : reply.send(body)
}

/**
 * Whether a caller takes gzip (RFC 9110 section 12.5.3); a caller that prefers another encoding
 * gets it nevertheless.
 */
function takesGzip(accepted = ''): boolean {
  return accepted
    .split(',')
    .some((coding) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/i.test(coding))
}

function policyFor(cms: string, inlineHash: string): string {
  return [
    "default-src 'none'",
    "base-uri 'none'",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    `img-src 'self' data: ${cms}`,
    `script-src 'self' ${inlineHash}`,
    "style-src 'self'",
    "worker-src 'self'",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html quoin-worker'
  ].join('; ')
}

/** The members of the content model that the page has to know. */
const MODEL_MEMBERS = [
  'entityType',
  'bundleEntityType',
  'keys',
  'fields',
  'timestampFields',
  'timeZone',
  'fieldConfig',
  'references',
  'lists',
  'closing',
  'lockTypes',
  'lockIds'
] as const

/** What the page has to know: how callers are known, where Drupal is, and the site's names. */
function settingsOf({ auth, contentModel }: Config, cms: string) {
  const model = Object.fromEntries(MODEL_MEMBERS.map((name) => [name, contentModel[name]]))
  return { auth: auth?.kind ?? 'none', cms, model }
}
