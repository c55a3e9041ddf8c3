import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { failures } from '../../../lib/errors.ts'
import { Petition, Presence, ProposalView } from '../../../lib/locks/schemas.ts'
import { createClient } from '../src/client.ts'
import { build } from '../../../test/helper.ts'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'
import { anna, createWire } from './fixtures.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  items?: Schema
}
interface Operation {
  tags?: string[]
  parameters?: Array<{ name: string; in: string; required?: boolean; schema: Schema }>
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content: Record<string, { schema: Schema }> }>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const app = await build(t)
const document = (await app.inject('/docs/json')).json<Document>()
const {
  paths,
  components: { schemas }
} = document

const answerOf = (path: string): Schema => paths[path]!['get']!.responses['200']!.content['application/json']!.schema

const bodyOf = (path: string): Schema => paths[path]!['post']!.requestBody!.content['application/json']!.schema

/** The path parameters, or those of the query, of a GET as one object. */
function parametersOf(path: string, where: 'path' | 'query'): Schema {
  const parameters = paths[path]!['get']!.parameters!.filter((parameter) => parameter.in === where)
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    required: parameters.filter(({ required }) => required).map(({ name }) => name)
  }
}

function without(schema: Schema, ...names: string[]): Schema {
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(schema.properties!).filter(([name]) => !names.includes(name))),
    required: (schema.required ?? []).filter((name) => !names.includes(name))
  }
}

/** The client's types by the places that they have in the document. */
const PLACES: Record<string, Schema> = {
  LockedEntity: parametersOf('/api/cloud/data-state/{type}/{id}', 'path'),
  Holder: schemas['Holder']!,
  LockView: schemas['LockView']!,
  LockRecord: schemas['LockRecord']!,
  Draft: schemas['Draft']!,
  // Streams alone tell them, so no operation of the document refers to them.
  Petition: Petition as unknown as Schema,
  Presence: Presence as unknown as Schema,
  ProposalView: ProposalView as unknown as Schema,
  Proposal: schemas['Proposal']!,
  Saved: schemas['Saved']!,
  Named: answerOf('/api/collection/bundles').properties!['data']!.items!,
  FailureCode: { enum: Object.keys(failures) },
  // What an edition has is the site's affair: the document says no more of one than that it is an object.
  ArticleRef: bodyOf('/api/collection/{id}/articles').properties!['operations']!.items!.properties!['article']!,
  OrderOperation: bodyOf('/api/collection/{id}/articles').properties!['operations']!.items!,
  OrderOutcome: { type: 'object', properties: { outcome: { enum: ['done', 'already'] } }, required: ['outcome'] },
  KeptDraft: schemas['KeptDraft']!,
  Finding: schemas['Finding']!,
  Readiness: schemas['Readiness']!,
  JournalEntry: schemas['JournalEntry']!,
  Restore: bodyOf('/api/collection/{id}/restore'),
  "ClosedEdition['since']":
    paths['/api/collection/{id}/close']!['post']!.responses['200']!.content['application/json']!.schema.properties!['meta']!.properties![
      'since'
    ]!,
  Placement: (answerOf('/api/collections/{bundle}').properties!['meta']!.properties!['placed']!.additionalProperties as Schema).items!,
  "Omit<EditionPage, 'data'>": without(answerOf('/api/collections/{bundle}'), 'data'),
  "Defined<Omit<Search, 'bundle' | 'signal' | 'total' | 'placed' | 'unplaced' | 'locks'>>": without(
    parametersOf('/api/collections/{bundle}', 'query'),
    'total',
    'placed',
    'unplaced',
    'locks',
    '_format'
  ),
  "Omit<Page, 'editions' | 'age'>": answerOf('/api/collections/{bundle}').properties!['meta']!,
  "Pick<Board, 'entities'>": without(schemas['LockBoard']!.properties!['meta']!, 'count'),
  "Board['locks']": schemas['LockBoard']!.properties!['data']!,
  "QuoinError['lock']": { anyOf: [schemas['LockFailure']!.properties!['error']!.properties!['lock']!, { enum: ['undefined'] }] }
}

/** A schema as a type of TypeScript. */
function typeOf(schema: Schema): string {
  const { $ref, type, enum: values, anyOf, properties = {}, required = [], items } = schema
  if ($ref) return typeOf(schemas[$ref.split('/').at(-1)!]!)
  if (values) return values.map((value) => (value === 'undefined' ? value : JSON.stringify(value))).join(' | ')
  if (anyOf) return anyOf.map(typeOf).join(' | ')
  if (Array.isArray(type)) return type.map((type) => typeOf({ ...schema, type })).join(' | ')
  if (type === 'integer') return 'number'
  if (type === 'array') return `Array<${typeOf(items!)}>`
  if (type !== 'object') return type!
  return `{ ${Object.entries(properties)
    .map(([name, schema]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`)
    .join(', ')} }`
}

/**
 * Names the types that are not what the document says, in their members at every depth, in which of these are optional,
 * and in the values of enums. That an object may have more members than are named makes no difference.
 */
function differing(t: Test, places: Array<[type: string, schema: Schema]>): string[] {
  const file = join(emptyDirectory(t), 'same.ts')
  const client = join(ROOT, 'packages/client/src')
  writeFileSync(
    file,
    [
      `import type { Board, ClosedEdition, Page, Search } from '${client}/editions.ts'`,
      `import type { QuoinError } from '${client}/error.ts'`,
      `import type { Saved } from '${client}/feed.ts'`,
      `import type { ${EXPORTED.join(', ')} } from '${client}/wire.ts'`,
      'type Defined<T> = { [Name in keyof T]: Exclude<T[Name], undefined> }',
      'type Members<T> = T extends Array<infer Item> ? Array<Members<Item>> : T extends object ? { [Name in keyof T as string extends Name ? never : Name]: Members<T[Name]> } : T',
      'type Same<One, Other> = (<T>() => T extends Members<One> ? 1 : 2) extends (<T>() => T extends Members<Other> ? 1 : 2) ? true : false',
      ...places.map(([name, schema], index) => `export const same${index}: Same<${name}, ${typeOf(schema)}> = true`)
    ].join('\n')
  )
  const program = ts.createProgram([file], {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: []
  })
  const { text } = program.getSourceFile(file)!
  return ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map(({ start, messageText }) => {
    const index = /^same(\d+)/.exec(text.slice(start))?.[1]
    return index === undefined ? ts.flattenDiagnosticMessageText(messageText, '\n') : places[Number(index)]![0]
  })
}

const EXPORTED = [...readFileSync(join(ROOT, 'packages/client/src/wire.ts'), 'utf8').matchAll(/^export (?:interface|type) (\w+)/gm)].map(
  ([, name]) => name!
)

t.test("the client's types are what the service's OpenAPI document says, member by member", async (t) => {
  t.strictSame(differing(t, Object.entries(PLACES)), [])
  t.strictSame(
    EXPORTED.filter((name) => !Object.keys(PLACES).some((place) => place.includes(name))),
    [],
    'none is left out'
  )
})

t.test('what differs is found, in optional members, in inner ones and in enums too', async (t) => {
  const holder = schemas['Holder']!
  const userData = holder.properties!['userData']!
  const changed: Array<[string, Schema]> = [
    ['Holder', { ...holder, properties: { ...holder.properties, more: { type: 'string' } } }],
    ['Holder', without(holder, 'expiresAt')],
    ['Holder', { ...holder, required: [...holder.required!, 'expiresAt'] }],
    ['Holder', { ...holder, required: ['fieldName'] }],
    ['Holder', { ...holder, properties: { ...holder.properties, userData: without(userData, 'name') } }],
    [
      'Holder',
      {
        ...holder,
        properties: { ...holder.properties, userData: { ...userData, properties: { ...userData.properties, mail: { type: 'string' } } } }
      }
    ],
    ['FailureCode', { enum: [...Object.keys(failures), 'ANOTHER'] }],
    ['FailureCode', { enum: Object.keys(failures).slice(1) }]
  ]
  t.strictSame(
    differing(t, changed),
    changed.map(([name]) => name)
  )
})

t.test('every verb sends what the document describes, and every operation has a verb', async (t) => {
  const { fetch, sent, fates } = createWire()
  const { locks, editions } = createClient({ url: 'http://127.0.0.1:1', fetch, user: anna })
  const entity = { type: 'node', id: '42' }
  const field = { ...entity, fieldName: 'title' }
  const body = { title: [{ value: 'Monday' }] }
  const leaving: Array<() => void> = []
  locks.releaseOnPageHide({
    addEventListener: (_type, leave) => {
      leaving.push(leave)
    },
    removeEventListener() {}
  })
  const answered = (answer: object, headers = {}) => {
    fates.push(Response.json(answer, { headers }))
  }
  const done = () => answered({ success: true }, { etag: '"v1"' })
  const listed = () => answered({ success: true, data: { Items: [] } })

  done()
  const held = await locks.acquire(field, { payload: 'Harbour' })
  done()
  await held.save('Harbour bridge')
  done()
  await locks.overwrite(field, { payload: 'Harbour', version: 'v1' })
  done()
  leaving[0]!()
  for (const call of [
    () => locks.list(field, { payload: false }),
    () => locks.drafts(entity, { fieldName: 'title' }),
    () => locks.proposals(field),
    () => locks.proposals(entity, { settled: true })
  ]) {
    listed()
    await call()
  }
  for (const call of [
    () => locks.ask(field),
    () => locks.withdraw(field),
    () => locks.attend(entity),
    () => locks.leave(entity),
    () => locks.propose(field, 'Harbour', { base: '"v1"', reason: 'shorter' }),
    () => locks.takeProposal(entity, 'x'.repeat(38)),
    () => locks.discardProposal(entity, 'x'.repeat(38)),
    () => locks.withdrawProposal(entity, 'x'.repeat(38)),
    () => locks.discard({ ...field, draft: 'x' }),
    () => locks.release(field, { version: 'v1' })
  ]) {
    done()
    await call()
  }
  for (const call of [
    () => editions.create('daily', body),
    () => editions.update(60, body, { ifMatch: '"v1"' }),
    () => editions.read(60)
  ]) {
    answered({ id: [{ value: 60 }] })
    await call()
  }
  answered({ id: [{ value: 60 }] })
  await editions.upsert('daily', 'daily-2031-01-06', body)
  answered({ data: {}, meta: { operations: [{ outcome: 'done' }] } })
  await editions.arrange(
    60,
    [
      { op: 'insert', article: { target_id: 9 }, after: { target_uuid: 'x' } },
      { op: 'move', article: { target_id: 9 }, at: 'end', occurrence: 2 }
    ],
    { field: 'field_articles', ifMatch: '"v1"' }
  )
  answered({ data: {}, meta: { since: [] } }, { etag: 'W/"v2"' })
  t.match(await editions.close(60, { ifMatch: '"v1"' }), { since: [], etag: '"v2"' })
  answered({ ready: true, blockers: [], warnings: [], proposals: 0 }, { etag: '"v3"' })
  t.strictSame(await editions.readiness(60), { ready: true, blockers: [], warnings: [], proposals: 0, etag: '"v3"' })
  answered({ data: [], meta: { next: null } })
  t.strictSame(await editions.journal(60, { limit: 5, before: 'x'.repeat(16) }), { data: [], meta: { next: null } })
  answered({ title: [{ value: 'Monday' }] })
  await editions.restore(60, { entry: 'x'.repeat(16), fields: ['title'], side: 'before' }, { ifMatch: '"v1"' })
  answered({ data: [], meta: { limit: 5 }, links: {} })
  await editions.search({ bundle: 'daily', q: 'a', status: 1, type: 'daily', key: 'b', limit: 5, offset: 1, total: true }).next()
  answered({ data: [], meta: { limit: 5 }, links: {} })
  await editions.search({ bundle: 'article', placed: true, locks: true, total: false }).next()
  t.equal(sent.at(-1)!.path, '/api/collections/article?placed=1&locks=1&offset=0')
  answered({ nid: [{ value: 9 }] })
  await editions.read(9, { list: 'article' })
  for (const call of [editions.bundles, editions.types, () => editions.sections('article'), () => editions.locks(60)]) {
    answered({ data: [], meta: { entities: 1 } })
    await call()
  }
  const streams: string[] = []
  class Source {
    constructor(url: string) {
      streams.push(url.replace('http://127.0.0.1:1', ''))
    }
    readyState = 0
    addEventListener() {}
    close() {}
  }
  const followed = createClient({ url: 'http://127.0.0.1:1', EventSource: Source })
  followed.locks.subscribe(entity, { locks() {} })
  followed.editions.subscribe(60, { locks() {} })
  followed.editions.watch({ bundle: 'daily', q: 'a', status: 1, type: 'daily', key: 'b', limit: 5, offset: 1 }, { locks() {} })
  await new Promise((resolve) => setImmediate(resolve))

  const requests = [...sent, ...streams.map((path) => ({ method: 'GET', path, headers: {}, body: undefined }))]
  const ajv = new Ajv2020({ strict: false, formats: { uuid: true } }).addSchema({ ...document, $id: 'document' })
  const used = new Set<string>()
  for (const { method, path, headers, body } of requests) {
    const { pathname, searchParams } = new URL(path, 'http://127.0.0.1')
    // Of `/{id}` and `/events` the router takes the path without a parameter.
    const [template] = Object.keys(paths)
      .filter((template) => paths[template]![method.toLowerCase()] && isLike(template, pathname))
      .sort((one, other) => one.split('{').length - other.split('{').length)
    const name = `${method} ${template}`
    used.add(name)
    const { parameters = [], requestBody } = paths[template!]![method.toLowerCase()]!
    const known = (where: string) => parameters.filter((parameter) => parameter.in === where).map(({ name }) => name)
    t.strictSame(
      [...searchParams.keys()].filter((parameter) => !known('query').includes(parameter)),
      [],
      `the query of ${name}`
    )
    t.strictSame(
      Object.keys(headers).filter((header) => header.startsWith('if-') && !known('header').includes(header)),
      [],
      `the conditions of ${name}`
    )
    if (body !== undefined) t.ok(ajv.validate(requestBody!.content['application/json']!.schema, body), `the body of ${name}`)
  }
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { tags }]) => !tags?.includes('health'))
      .map(([method]) => `${method.toUpperCase()} ${path}`)
  )
  t.strictSame(
    all.filter((name) => !used.has(name)),
    []
  )
})

/** Whether a path fits a template, whose parameters are no fixed words. */
function isLike(template: string, path: string): boolean {
  const fixed = Object.keys(paths).includes(path)
  return fixed ? template === path : new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}
