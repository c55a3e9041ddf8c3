import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import { createParser } from 'eventsource-parser'
import t from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { createValidation } from '../../config/validation.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { SECURITY_HEADERS } from '#lib/http/security-headers.ts'
import validation from '../../plugins/app/validation.ts'
import { schemasOf } from '../fixtures/document-schemas.ts'
import { build, testConfig } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

interface Content {
  schema: Record<string, unknown>
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Body {
  description?: string
  headers?: Record<string, object>
  content?: Record<string, Content>
}
interface Parameter {
  name: string
  in: string
  description?: string
  required?: boolean
  schema: Record<string, unknown>
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Operation {
  operationId?: string
  summary?: string
  tags?: string[]
  parameters?: Parameter[]
  requestBody?: Body
  responses: Record<string, Body>
}
interface Document {
  openapi: string
  info: Record<string, string>
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

const fastify = await build(t)
const document = (await fastify.inject('/docs/json')).json<Document>()
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, method, operation }))
)
const validatorOf = schemasOf(document)
/** Takes no member that the document does not name. A client may be looser; Quoin may not. */
const closedValidatorOf = schemasOf(closed(document))
/** Header fields by which a request is done only in one state. */
const CONDITIONS = ['if-match', 'if-none-match', 'lock-match']
/** Header fields of any answer, from plugins/app/observers.ts, HTTP and its caches. */
const ANY_ANSWER = [
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'set-cookie',
  'vary',
  'x-request-id',
  ...Object.keys(SECURITY_HEADERS)
]

t.test('/docs shows the API to a browser and /docs/json is a valid OpenAPI 3.1 document', async (t) => {
  const page = await fastify.inject('/docs')
  t.equal(page.statusCode, 200)
  t.match(page.headers['content-type'], /^text\/html/)
  t.match(page.body, /<title>Quoin: its API<\/title>/)
  t.match(document, { openapi: /^3\.1\./, info: { title: 'Quoin', version: /^\d+\.\d+\.\d+$/, description: String } })

  const validator = new Validator()
  const { valid, errors } = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>)
  t.strictSame({ valid, errors, version: validator.version }, { valid: true, errors: undefined, version: '3.1' })
  const { openapi: _, ...broken } = document
  t.equal((await validator.validate(broken as Record<string, unknown>)).valid, false, 'and the validator can say no')
})

t.test('every route of the application is in it, and nothing else', async (t) => {
  const routes = new Set<string>()
  const bare = Fastify(fastifyOptions)
  t.teardown(() => bare.close())
  bare.addHook('onRoute', ({ url, method, schema }) => {
    if (schema?.hide) return
    for (const name of [method].flat()) {
      if (name !== 'HEAD' && !url.startsWith('/docs')) routes.add(`${name} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    }
  })
  await bare.register(standalone, { config: testConfig() })
  await bare.ready()
  t.strictSame(operations.map(({ name }) => name).sort(), [...routes].sort())
  t.ok(routes.size >= 12)
})

t.test('every schema of a request can be compiled, which is done when the first one comes', async (t) => {
  const parts = ['params', 'querystring', 'headers', 'body'] as const
  const routes: Array<{ scope: FastifyInstance; name: string; schema: FastifySchema }> = []
  const bare = Fastify(fastifyOptions)
  t.teardown(() => bare.close())
  bare.addHook('onRoute', function ({ url, method, schema = {} }) {
    routes.push({ scope: this, name: `${String(method)} ${url}`, schema })
  })
  await bare.register(standalone, { config: testConfig({ DESK: 'on' }) })
  await bare.ready()
  const compilerFor = createValidation().schemaController.compilersFactory!.buildValidator! as (
    shared: object
  ) => (route: object) => (data: object) => boolean
  let compiled = 0
  for (const { scope, name, schema } of routes) {
    for (const part of parts.filter((part) => schema[part])) {
      t.type(compilerFor(scope.getSchemas())({ schema: schema[part], httpPart: part })({}), 'boolean', `${name} ${part}`)
      compiled++
    }
  }
  t.ok(compiled >= 40, String(compiled))
  const broken = compilerFor({})({ schema: { type: 'object', properties: { a: { $ref: 'nowhere#' } } }, httpPart: 'body' })
  t.throws(() => broken({}), { message: /nowhere/ }, 'and it can fail')
})

t.test('applications in one process compile a schema once, and again where it may refer to other schemas', async (t) => {
  let compiled = 0
  const schema = {
    type: 'object',
    get required() {
      compiled++
      return ['a']
    },
    properties: { a: { $ref: 'a#' } }
  }
  const check = (shared: object) =>
    (
      createValidation().schemaController.compilersFactory!.buildValidator! as (
        shared: object
      ) => (route: object) => (data: object) => boolean
    )(shared)({ schema, httpPart: 'body' })
  const [first, second] = [check({ a: { $id: 'a', type: 'integer' } }), check({ a: { $id: 'a', type: 'integer' } })]
  t.strictSame([first({ a: 1 }), first({ a: 'x' })], [true, false])
  const reads = compiled
  t.ok(reads > 0)
  t.strictSame([second({ a: 1 }), second({ a: 'x' })], [true, false])
  t.equal(compiled, reads, 'the second takes what the first has compiled')
  t.equal(check({ a: { $id: 'a', type: 'string' } })({ a: 'x' }), true)
  t.ok(compiled > reads)
})

t.test('what no request has needed yet is compiled a second after the service listens', async (t) => {
  const read = new Set<number>()
  const schemaOf = (index: number) => ({
    type: 'object',
    get required() {
      read.add(index)
      return ['a']
    },
    properties: { a: { type: 'integer' } }
  })
  const bare = Fastify()
  t.teardown(() => bare.close())
  await bare.register(validation)
  for (const index of [0, 1]) bare.get(`/${index}`, { schema: { querystring: schemaOf(index) } }, async () => ({}))
  await bare.ready()
  t.equal(read.size, 0)
  await bare.listen({ host: '127.0.0.1', port: 0 })
  await wait(200)
  t.equal(read.size, 0, 'the first requests do not wait for it')
  while (read.size < 2) await wait(20)
})

t.test('each operation has a name of its own, a verb and a noun', (t) => {
  const names = operations.map(({ operation: { operationId } }) => operationId)
  for (const [index, name] of names.entries()) t.match(name, /^[a-z]+(?:[A-Z][a-z]+)+$/, operations[index]!.name)
  t.equal(new Set(names).size, operations.length)
  t.end()
})

t.test('each operation says what it does and shows what is sent and answered', async (t) => {
  const tags = document.tags.map(({ name }) => name)
  for (const { name, path, operation } of operations) {
    t.match(operation.summary, /^[A-Z].{10,}[^.]$/, `${name} has a summary`)
    t.ok(operation.tags?.length === 1 && tags.includes(operation.tags[0]!), `${name} has one tag that is declared`)
    const { parameters = [], requestBody, responses } = operation
    t.strictSame(
      parameters.filter(({ description }) => !description).map((parameter) => parameter.name),
      [],
      `${name}: every parameter is described`
    )
    t.strictSame(
      parameters.filter(({ required, in: where }) => required !== (where === 'path')).map((parameter) => parameter.name),
      [],
      `${name}: parameters must be given only in the path`
    )
    t.strictSame(
      parameters.filter(({ schema }) => schema['type'] !== 'string' && schema['type'] !== 'integer').map((parameter) => parameter.name),
      [],
      `${name}: every parameter has a type`
    )
    // What states a condition has none: Swagger UI sends examples, and the condition would not hold. So it is with a section.
    t.strictSame(
      parameters
        .filter(({ example, examples, schema }) => example === undefined && !examples && schema['default'] === undefined && !schema['enum'])
        .map((parameter) => parameter.name)
        .filter((name) => ![...CONDITIONS, 'section'].includes(name)),
      [],
      `${name}: every parameter has an example, a default or its values`
    )
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    t.strictSame(
      parameters
        .filter((parameter) => parameter.in === 'path')
        .map((parameter) => parameter.name)
        .sort(),
      inPath.sort(),
      name
    )
    for (const [what, body] of [['body', requestBody], ...Object.entries(responses)] as Array<[string, Body | undefined]>) {
      if (!body) continue
      if (what !== 'body') t.ok(body.description && body.description !== 'Default Response', `${name}: ${what} is described`)
      if (what === '304') {
        t.notOk(body.content, `${name}: 304 has no body`)
        continue
      }
      const events = path.endsWith('/events') && what === '200'
      t.strictSame(
        Object.keys(body.content ?? {}),
        [events ? 'text/event-stream' : 'application/json'],
        `${name}: ${what} says its media type`
      )
      const examples = examplesOf(body)
      t.ok(examples.length > 0, `${name}: ${what} has an example`)
      const valid = validatorOf(schemaOf(body))
      t.strictSame(
        examples.flatMap((example) => (valid(example) ? [] : valid.errors)),
        [],
        `${name}: the examples of ${what} are right`
      )
    }
  }
})

/** The status of a success that is no create of an edition. */
function successOfPost(path: string): number {
  if (path.endsWith('/proposals')) return 201
  return /\/(?:requests|presence)$/.test(path) ? 202 : 200
}

t.test('an edition has one name in the document, wherever it is', (t) => {
  const { Edition } = document.components.schemas as Record<string, { description?: string; examples?: unknown[] }>
  t.match(Edition, { description: /JSON of Drupal core/, examples: [{ title: [{ value: 'Monday' }] }] })
  const text = JSON.stringify(document)
  t.equal(text.split(JSON.stringify(Edition!.description)).length - 1, 1, 'it is described once')
  t.ok(text.split('"#/components/schemas/Edition"').length - 1 >= 11, 'and referred to')
  t.end()
})

t.test('the events of a stream have schemas, which its example fits', (t) => {
  const streams = operations.filter(({ path }) => path.endsWith('/events'))
  t.equal(streams.length, 3)
  const isEvent = closedValidatorOf({ $ref: '#/components/schemas/StreamEvent' })
  for (const { name, operation } of streams) {
    const { schema, example } = operation.responses['200']!.content!['text/event-stream']!
    t.match(schema, { contentMediaType: 'text/event-stream', contentSchema: { items: { $ref: '#/components/schemas/StreamEvent' } } }, name)
    const events: Array<Record<string, unknown>> = []
    createParser({
      onEvent: ({ event, id, data }) => events.push({ event, ...(id !== undefined && { id }), data: JSON.parse(data) })
    }).feed(String(example))
    t.ok(events.length >= 10, `${events.length} events`)
    for (const event of events) t.ok(isEvent(event), `${name}: ${String(event['event'])} ${JSON.stringify(isEvent.errors)}`)
  }
  t.notOk(isEvent({ event: 'saved', data: { fields: 'title' } }), 'and the schema can say no')
  t.notOk(isEvent({ event: 'unheard', data: {} }))
  t.end()
})

t.test('each operation has every status that it can answer', async (t) => {
  for (const { name, path, operation, method } of operations) {
    if (path.startsWith('/health/')) continue
    const locks = path.startsWith('/api/cloud/data-state/')
    const takesBody = operation.requestBody !== undefined || method === 'delete'
    const expected = [
      400,
      405,
      421,
      500,
      503,
      ...(takesBody ? [413, 415] : []),
      ...(locks && method === 'get' ? [413] : []),
      ...(name === 'GET /api/cloud/data-state/{type}/{id}' ? [304] : []),
      ...(name === 'GET /api/collection/{id}' || name === 'GET /api/collections/{bundle}/{id}' ? [304, 412] : []),
      ...(name === 'GET /api/collection/{id}/readiness' ? [304, 413] : []),
      ...(name === 'GET /api/collection/{id}/journal' ||
      (!locks && method === 'get' && (/\/(?:locks|events)$/.test(path) || path === '/api/collections/{bundle}'))
        ? [413]
        : []),
      ...(locks ? [] : [401, 403, 404, 502, 504]),
      ...(path.endsWith('/release') ? [403] : []),
      ...(name === 'POST /api/cloud/data-state/{type}/{id}' ? [423, 428, 429] : []),
      ...(name === 'PUT /api/cloud/data-state/{type}/{id}' ? [403] : []),
      ...(name === 'DELETE /api/cloud/data-state/{type}/{id}' || path.endsWith('/release') ? [428] : []),
      ...(locks && method !== 'get' && !/\/(?:drafts|requests|presence|proposals|proposals\/\{proposal\})$/.test(path) ? [412] : []),
      ...(name === 'POST /api/cloud/data-state/{type}/{id}/requests' ? [409, 429] : []),
      ...(name === 'POST /api/cloud/data-state/{type}/{id}/presence' || path.endsWith('/events') ? [429] : []),
      ...(name === 'POST /api/cloud/data-state/{type}/{id}/proposals' ? [428, 429] : []),
      ...(path.endsWith('/{proposal}') ? [403, 404, 409] : []),
      ...(!locks && ['post', 'put'].includes(method) ? [409, 422] : []),
      ...(!locks && ['post', 'put'].includes(method) && path.includes('{') ? [412, 423] : []),
      ...(!locks && ['post', 'put'].includes(method) && path.includes('{') && !path.endsWith('/articles') ? [428] : []),
      ...(name === 'POST /api/collection' || name.endsWith('/by-key/{key}') ? [200, 201] : [method === 'post' ? successOfPost(path) : 200])
    ]
    t.strictSame(
      Object.keys(operation.responses).map(Number),
      expected.sort((a, b) => a - b),
      name
    )
    for (const [status, body] of Object.entries(operation.responses)) {
      if (Number(status) < 400) continue
      for (const example of examplesOf(body) as Array<{ success?: boolean; statusCode?: number; message: string }>) {
        t.match(
          example,
          locks ? { success: false, message: /^Error: / } : { statusCode: Number(status), message: String },
          `${name}: ${status} in its own shape`
        )
      }
    }
  }
  t.strictSame(Object.keys(document.paths['/health/ready']!['get']!.responses), ['200', '503'])
})

t.test('429 and 421 are documented wherever they can come, and nowhere else', async (t) => {
  for (const [env, statuses] of [
    [{}, ['421']],
    [{ RATE_LIMIT: '2' }, ['421', '429']],
    [{ RATE_LIMIT: '2', AUTH: 'drupal', CMS_URL: 'http://127.0.0.1:9' }, ['429']]
  ] as Array<[Record<string, string>, string[]]>) {
    const live = await build(t, env)
    const { paths } = (await live.inject('/docs/json')).json<Document>()
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, { responses }] of Object.entries(item)) {
        const own = document.paths[path]![method]!.responses['429'] ? ['429'] : []
        const expected = path.startsWith('/health/') ? [] : [...new Set([...statuses, ...own])].sort()
        t.strictSame(
          ['421', '429'].filter((status) => responses[status]),
          expected,
          `${method} ${path}`
        )
        if (expected.includes('429')) t.ok(responses['429']!.headers!['Retry-After'], `${method} ${path}: when to try again`)
      }
    }
  }
  const wrongName = await documented(fastify, 'GET', '/api/collection/bundles', undefined, { host: 'cms.example' })
  t.equal(wrongName, 421)
  const limited = await build(t, { RATE_LIMIT: '1' })
  await limited.inject('/api/cloud/data-state/node/1')
  const { statusCode, headers } = await limited.inject('/api/cloud/data-state/node/1')
  t.match([statusCode, headers], [429, { 'retry-after': /^\d+$/ }])
})

t.test('what is answered is as documented', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const env = { DYNAMODB_ENDPOINT: endpoint, CMS_URL: await cms.listen(), CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const live = await build(t, env)
  const lock = '/api/cloud/data-state/node/4711'
  const answered = (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH',
    url: string,
    body?: object | string,
    headers: Record<string, string> = {}
  ) => documented(live, method, url, body, headers)

  const edition = {
    type: [{ target_id: 'daily' }],
    title: [{ value: 'Monday' }],
    field_key: [{ value: 'daily-2031-01-06' }],
    field_publisher_edition_type: [{ value: 'daily' }]
  }
  t.strictSame(
    [
      await answered('POST', lock, exampleOf('/api/cloud/data-state/{type}/{id}', 'post')),
      await answered('POST', lock, { fieldName: 'field_headline', userData: { uid: '8' } }),
      await answered('PUT', lock, { fieldName: 'field_headline', userData: { uid: 8, name: 'Bob', more: [1] }, timestamp: 1 }),
      await answered('GET', lock),
      await answered('GET', `${lock}?fieldName=none`),
      await answered('GET', lock, undefined, { 'if-none-match': String((await live.inject(lock)).headers.etag) }),
      await answered('POST', lock, { fieldName: 5 }),
      await answered('POST', lock, '{"fieldName":', { 'content-type': 'application/json' }),
      await answered('PUT', lock, 'text', { 'content-type': 'text/plain' }),
      await answered('POST', lock, { fieldName: 'f', userData: { uid: '7' }, payload: 'x'.repeat(409_600) }),
      await answered('DELETE', lock),
      await answered('DELETE', `${lock}?uid=8`),
      await answered('PUT', lock, { fieldName: 'title', userData: { uid: '8' }, payload: 'a text' }),
      await answered('PUT', lock, { fieldName: 'title', userData: { uid: '7' } }, { 'if-match': '"other"' }),
      await answered('DELETE', `${lock}?fieldName=title`, undefined, { 'if-match': '"other"' }),
      await answered('POST', lock, { fieldName: 'title', userData: { uid: '8' } }, { 'if-none-match': '*' }),
      await answered('POST', `${lock}/release`, { fieldName: 'title' }),
      await answered('POST', `${lock}/release`),
      await answered('GET', `${lock}/drafts`),
      await answered('DELETE', `${lock}/drafts`),
      await answered('DELETE', `${lock}/drafts?uid=8`)
    ],
    [200, 423, 200, 200, 200, 304, 400, 400, 415, 413, 400, 200, 200, 412, 412, 412, 200, 400, 200, 400, 200],
    'locks'
  )

  const {
    statusCode,
    headers: { location = '' }
  } = await live.inject({ method: 'POST', url: '/api/collection', body: { ...edition, field_key: [{ value: 'daily-2031-01-05' }] } })
  t.equal(statusCode, 201)
  t.strictSame(
    [
      await answered('POST', '/api/collection', edition),
      await answered('GET', location),
      await answered('GET', location, undefined, { 'if-none-match': '*' }),
      await answered('GET', location, undefined, { 'if-match': '"other"' }),
      await answered('POST', location, { title: [{ value: 'Monday, late' }] }),
      await answered('POST', location, { title: [{ value: 'Later' }] }, { 'if-match': '"other"' }),
      await answered('POST', location, { title: 'x'.repeat(300) }),
      await answered('POST', location, { title: 5 }),
      await answered('POST', location, 'text', { 'content-type': 'text/plain' }),
      await answered('GET', `${location}/locks`),
      await answered('GET', '/api/collection/999999/locks'),
      await answered('GET', '/api/collection/999999/locks/events'),
      await answered('GET', '/api/collection/nonsense/locks/events'),
      await answered('GET', '/api/collection/999999'),
      await answered('GET', '/api/collection/nonsense'),
      await answered('GET', '/api/collection/bundles'),
      await answered('GET', '/api/publisher-edition/bundles'),
      await answered('GET', '/api/collections/daily?limit=1&total=1'),
      await answered('GET', '/api/collections/none'),
      await answered('GET', '/api/collections/daily?limit=0'),
      await answered('GET', '/health/live'),
      await answered('GET', '/health/ready')
    ],
    [201, 200, 304, 412, 200, 412, 422, 422, 415, 200, 404, 404, 400, 404, 400, 200, 200, 200, 404, 400, 200, 200],
    'editions'
  )

  cms.settings.maintenance = true
  t.strictSame(
    [await answered('GET', location), await documented(await build(t, env), 'GET', '/health/ready')],
    [503, 503],
    'in maintenance'
  )
  t.strictSame(
    [await documented(fastify, 'GET', lock), await documented(fastify, 'GET', '/api/collection/1')],
    [503, 502],
    'with nothing behind it'
  )
})

t.test('what /docs fills in when somebody tries an operation out succeeds on the sample CMS', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const live = await build(t, {
    DYNAMODB_ENDPOINT: endpoint,
    CMS_URL: await cms.listen(),
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor'
  })
  const address = await live.listen({ host: '127.0.0.1', port: 0 })
  const newestEntry = async () => {
    await live.inject({ method: 'POST', url: '/api/collection/12', body: { title: [{ value: 'Saved' }] } })
    const {
      data: [{ id: entry }]
    } = (await live.inject('/api/collection/12/journal')).json()
    return { entry }
  }
  const newestProposal = async () => {
    const body = { fieldName: 'field_headline', userData: { uid: '7' }, payload: 'Water found on Mars' }
    const { data } = (await live.inject({ method: 'POST', url: '/api/cloud/data-state/node/4711/proposals', body })).json()
    return { proposal: data.id as string }
  }
  for (const {
    name,
    path,
    method,
    operation: { parameters = [], requestBody }
  } of operations) {
    const filled = (where: string) => parameters.filter((parameter) => parameter.in === where).flatMap(filledIn)
    const proposal: Record<string, string> = path.endsWith('/{proposal}') ? await newestProposal() : {}
    const url = `${[...Object.entries(proposal), ...filled('path')].reduce((text, [parameter, value]) => text.replace(`{${parameter}}`, value), path)}?${new URLSearchParams(filled('query')).toString()}`
    // A lock is asked for while another holds it.
    if (path.endsWith('/requests')) {
      await live.inject({
        method: 'PUT',
        url: '/api/cloud/data-state/node/4711',
        body: { fieldName: 'field_headline', userData: { uid: '7' } }
      })
    }
    // An entry of the journal is there once something was saved.
    const entry = path.endsWith('/restore') ? await newestEntry() : {}
    const sent = requestBody && { body: JSON.stringify({ ...(examplesOf(requestBody)[0] as object), ...entry }) }
    const { status, body } = await fetch(address + url, {
      method,
      headers: [...filled('header'), ...(sent ? [['content-type', 'application/json']] : [])] as Array<[string, string]>,
      ...sent
    })
    await body?.cancel()
    t.match(status, /^20[012]$/, `${name}: ${url}`)
  }
})

/** What Swagger UI shows in a parameter's field, and sends unless somebody empties it. */
function filledIn({ name, schema, example, examples = {} }: Parameter): Array<[string, string]> {
  const value = example ?? Object.values(examples)[0]?.value ?? schema['default']
  return value === undefined ? [] : [[name, String(value)]]
}

/** Sends a request, holds the answer to the document and gives its status. */
async function documented(
  live: FastifyInstance,
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH',
  url: string,
  body?: object | string,
  headers: Record<string, string> = {}
): Promise<number> {
  const reply = await live.inject({ method, url, headers, ...(body !== undefined && { body }) })
  const path = url.split('?')[0]!
  const candidates = operations.filter(
    ({ path: pattern, method: name }) =>
      name === method.toLowerCase() && new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
  )
  const { operation } = candidates.find((candidate) => candidate.path === path) ?? candidates[0]!
  const name = `${method} ${url} ${reply.statusCode}`
  const answer = operation.responses[reply.statusCode]
  t.ok(answer, `${name} is documented`)
  const fields = Object.keys(answer!.headers ?? {}).map((field) => field.toLowerCase())
  t.strictSame(
    Object.keys(reply.headers).filter((field) => !ANY_ANSWER.includes(field) && !fields.includes(field)),
    [],
    `${name}: its header fields are documented`
  )
  const valid = closedValidatorOf(answer!.content ? closed(schemaOf(answer!)) : { const: null })
  t.ok(valid(reply.body ? reply.json() : null), `${name} is as documented ${JSON.stringify(valid.errors)}`)
  return reply.statusCode
}

function schemaOf(body: Body): object {
  return Object.values(body.content!)[0]!.schema
}

function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const closedSchema = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return (
    'properties' in schema && !('additionalProperties' in schema) ? { ...closedSchema, additionalProperties: false } : closedSchema
  ) as T
}

function examplesOf(body: Body): unknown[] {
  const { schema, example, examples } = Object.values(body.content!)[0]!
  if (example !== undefined) return [example]
  if (examples) return Object.values(examples).map(({ value }) => value)
  const name = String(schema['$ref']).split('/').at(-1)!
  return (document.components.schemas[name] as { examples?: unknown[] } | undefined)?.examples ?? []
}

function exampleOf(path: string, method: string): object {
  return examplesOf(document.paths[path]![method]!.requestBody!)[0] as object
}

t.test('no path below /docs leads to another route, past who may call it', async (t) => {
  const fastify = await build(t, { CMS_URL: 'http://127.0.0.1:9', AUTH: 'drupal' })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  for (const up of ['../../', '..\\..\\', '%2e%2e/../', '.%2e/%2E./']) {
    for (const path of ['health/live', 'api/cloud/data-state/node/42', 'api/collection/60']) {
      const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        request({ host: '127.0.0.1', port, path: `/docs/static/${up}${path}` }, async (answer) =>
          resolve({ status: answer.statusCode, body: await text(answer) })
        )
          .on('error', reject)
          .end()
      })
      t.equal(status, 404, up + path)
      t.match(JSON.parse(body), { statusCode: 404, code: 'NOT_FOUND' })
    }
  }
})

t.test('/docs answers whatever is asked of its files', async (t) => {
  const style = '/docs/static/swagger-ui.css'
  const { headers, rawPayload } = await fastify.inject(style)
  t.match(await fastify.inject({ method: 'HEAD', url: style }), {
    statusCode: 200,
    body: '',
    headers: { 'content-length': String(rawPayload.length), etag: headers.etag }
  })
  const same = await fastify.inject({ url: style, headers: { 'if-none-match': String(headers.etag) } })
  t.match(same, { statusCode: 304, body: '' })
  t.notOk('content-type' in same.headers)
  t.match(await fastify.inject('/docs/static/index.html'), { statusCode: 302, headers: { location: '/docs/' } })
  t.match((await fastify.inject('/docs/static/nothing')).json(), {
    code: 'NOT_FOUND',
    message: 'There is nothing at GET /docs/static/nothing'
  })
  t.match((await fastify.inject('/docs/yaml')).body, /^openapi: 3\.1\./)
})
