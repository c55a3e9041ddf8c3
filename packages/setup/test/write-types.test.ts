import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { newspaper } from '../../../dev/content.ts'
import { basicAccount } from '../../../lib/drupal/accounts.ts'
import { contentModel, type ContentModel } from '../../../lib/editions/model.ts'
import type { Resource } from '../../../lib/drupal/document.ts'
import { createHttp } from '../../../lib/http/client.ts'
import { commandFor } from '../../../lib/package-root.ts'
import publisher from '../../../config/content-model.json' with { type: 'json' }
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'
import { serve } from '../../../test/editions/site.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { report } from '../diagnosis.ts'
import { fieldTypes, nameText, type Seen } from '../types/fields.ts'
import { typesText, type ContentTypes } from '../types/file.ts'
import { writeTypes } from '../write-types.ts'

const model = contentModel(publisher)

async function write(t: Test, url: string, user?: string, more: object = {}) {
  const http = createHttp({ url, timeoutMs: 10_000 })
  t.teardown(() => http.close())
  const at = { http, jsonapiPath: '/jsonapi' }
  const lines: string[] = []
  let file: string | undefined
  const isRight = await report(
    writeTypes({
      ...at,
      url,
      model: contentModel({ ...publisher, ...more }),
      ...(user !== undefined && { account: basicAccount(at, user, user) }),
      write: (text) => {
        file = text
      }
    }),
    (line) => lines.push(line)
  )
  return { lines, isRight, file }
}

async function open(t: Test): Promise<string> {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  return cms.listen()
}

/** What TypeScript has against these modules, which stand beside one another, with every strict flag. */
function problemsIn(t: Test, modules: Record<string, string>): string[] {
  const directory = emptyDirectory(t)
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(directory, name), text)
  const program = ts.createProgram(
    Object.keys(modules).map((name) => join(directory, name)),
    {
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      paths: { '@quoin/client': [join(ROOT, 'packages/client/src/client.ts')] },
      allowImportingTsExtensions: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noPropertyAccessFromIndexSignature: true,
      noUnusedLocals: true,
      verbatimModuleSyntax: true,
      noEmit: true,
      types: []
    }
  )
  return Object.keys(modules).flatMap((name) => {
    const source = program.getSourceFile(join(directory, name))!
    return ts.getPreEmitDiagnostics(program, source).map(({ start }) => `${name}:${source.getLineAndCharacterOfPosition(start!).line + 1}`)
  })
}

/** What the uses import. */
const CONTENT = './content.ts'

/** Right uses, and one mistake on each of the lines that say so. */
const USES = `import { createClient } from '@quoin/client'
import type { DailyEdition, Edition, Lists } from '${CONTENT}'
const { editions } = createClient<Edition, Lists>()
const { edition } = await editions.read(12)
export const title: string | undefined = edition.title[0]?.value
await editions.update(12, { title: [{ value: 'Monday' }], field_articles: [{ target_id: 4 }], field_link: [{ uri: 'internal:/' }] })
await editions.create('daily', { field_page_count: [{ value: 24 }], field_description: [{ value: 'x', format: 'plain' }] })
export const daily: DailyEdition = (await editions.upsert('daily', 'key', {})).edition
for await (const { editions: articles } of editions.search({ bundle: 'article' })) console.log(articles[0]?.body[0]?.summary?.length)
await editions.update(12, edition)
await editions.update(12, { field_page_count: [{ value: '24' }] }) // wrong
await editions.update(12, { field_articles: [{ target_uuid: 5 }] }) // wrong
await editions.update(12, { title: { value: 'Monday' } }) // wrong
console.log(edition.field_pages) // wrong
console.log(edition.revision_log[0]?.value) // wrong
`

t.test('the types of the sample site are written letter by letter, and fit the client', async (t) => {
  const url = await open(t)
  const { lines, isRight, file } = await write(t, url, 'editor')
  t.ok(isRight, lines.join('\n'))
  t.strictSame(lines.slice(-3), [
    '-    editions: daily: 31 fields, as 45 show them: none has a value in revision_log, so their items are unknown',
    '-    editions: special: 31 fields, as 15 show them: none has a value in revision_log, so their items are unknown',
    '-    article: article: 22 fields, as 114 show them, 6 more are hidden: none has a value in revision_log, so their items are unknown'
  ])
  t.equal(file, readFileSync(join(import.meta.dirname, 'fixtures/newspaper-types.txt'), 'utf8').replace('{url}', url))
  const wrong = USES.split('\n').flatMap((line, index) => (line.endsWith('// wrong') ? [`uses.ts:${index + 1}`] : []))
  t.equal(wrong.length, 5)
  t.strictSame(problemsIn(t, { 'content.ts': file!, 'uses.ts': USES }), wrong)
})

t.test('who may see the configuration has labels in it, and an anonymous caller what it sees', async (t) => {
  const url = await open(t)
  t.match((await write(t, url, 'admin')).file, /\/\*\* Daily Editions? \(daily\)\. \*\//)
  const { lines, file } = await write(t, url)
  t.ok(
    lines.includes(
      '-    CMS account: anonymous sees little; CMS_AUTH=basic CMS_USER=<name> CMS_PASSWORD=<password> npm run types:content asks as one of your users'
    )
  )
  t.match(file, /shows to anonymous\. Write/)
  t.strictSame(problemsIn(t, { 'content.ts': file! }), [])
})

t.test('of more than a hundred bundles the others are left out, and that is said', async (t) => {
  const url = await serve(t, ({ url: path, headers: { host } }, answer) => {
    const bundles = Array.from({ length: 103 }, (_, index) => `publisher_container--b${index}`)
    const links = Object.fromEntries(bundles.map((name) => [name, { href: `http://${host}/jsonapi/${name.replace('--', '/')}` }]))
    const document = path === '/jsonapi' ? { data: [], links } : { data: [], links: {} }
    answer.writeHead(200, { 'content-type': 'application/vnd.api+json' }).end(JSON.stringify({ jsonapi: { version: '1.0' }, ...document }))
  })
  const { lines, file } = await write(t, url, undefined, { bundles: undefined })
  t.ok(lines.includes('-    editions: 3 bundles are left out: at most 100 are written'))
  t.match(file, /interface B99Edition/)
  t.notMatch(file, /interface B100Edition/)
})

t.test('the bundles are those of the content model', async (t) => {
  const url = await open(t)
  const { file, lines } = await write(t, url, 'editor', {
    bundles: { special: 'Special */ editions' },
    bundleEntityType: null,
    lists: { article: { entityType: 'person' } }
  })
  t.match(file, /^\/\*\* Special \* \/ editions \(special\)\. \*\/\nexport interface SpecialEdition \{$/m)
  t.match(file, /^export type Edition = SpecialEdition$/m)
  t.match(file, /^export interface Lists \{\n\}$/m)
  t.ok(lines.includes("-    article: JSON:API has no person of the list's bundles"))
  const none = await write(t, url, 'editor', { bundles: { monthly: 'Monthly' } })
  t.match(none, {
    isRight: false,
    file: undefined,
    lines: {
      [none.lines.length - 1]:
        "!    editions: JSON:API has no publisher_container of the content model's bundles: see with npm run doctor whether the content model is right"
    }
  })
})

t.test('a site that fails is told, and no file is written', async (t) => {
  t.match(await write(t, 'http://127.0.0.1:9'), {
    isRight: false,
    file: undefined,
    lines: [/^! {4}CMS: http:\/\/127\.0\.0\.1:9 cannot be reached/, '-    the types: correct the above first; no file is written']
  })
  const url = await open(t)
  const refusing = await serve(t, async (request, response) => {
    if (request.url!.startsWith('/jsonapi/publisher_container/special')) {
      response
        .writeHead(403, { 'content-type': 'application/vnd.api+json' })
        .end(JSON.stringify({ errors: [{ status: '403', detail: 'No.' }] }))
      return
    }
    const upstream = await fetch(url + request.url, { headers: { authorization: String(request.headers.authorization) } })
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type')! }).end(await upstream.text())
  })
  t.match(await write(t, refusing, 'editor'), { isRight: false, file: undefined })
  const broken = createHttp({ url, timeoutMs: 10_000 })
  t.teardown(() => broken.close())
  const failing = writeTypes({
    http: broken,
    url,
    jsonapiPath: '/jsonapi',
    model,
    write: () => {
      throw new Error('disk full')
    }
  })
  await t.rejects(
    report(failing, () => {}),
    { message: 'disk full' }
  )
})

const row = (attributes: object, relationships: Resource['relationships'] = {}): Resource =>
  ({ type: 'publisher_container--daily', id: 'u', attributes, relationships }) as Resource

/** The types of the fields of these entities, by name. */
function typesOf(rows: Resource[], more: Partial<ContentModel> = {}, storages?: Seen['storages']): Record<string, string> {
  const fields = fieldTypes({ rows, model: { ...model, ...more }, bundle: 'daily', storages })
  return Object.fromEntries(fields.map(({ name, item, isOptional }) => [name + (isOptional ? '?' : ''), item]))
}

t.test('items have the types that entities show, and null wherever another entity may have it', (t) => {
  t.match(
    typesOf(
      [
        row({ a: 'x', b: 1, mixed: 1, many: [], both: { value: 'x', format: null }, map: { deep: {} }, main: 'x', only: true }),
        row({ a: null, b: null, mixed: 'x', many: ['x', 'y'], both: { value: null, format: 'f' }, map: {}, main: 'y' })
      ],
      { rawFields: ['map'], mainProperty: { main: 'name' } as ContentModel['mainProperty'] }
    ),
    {
      a: 'Value<string>',
      b: 'Value<number>',
      mixed: 'Value<number | string>',
      many: 'Value<string>',
      both: '{ value: string | null; format?: string | null }',
      map: 'Record<string, unknown>',
      main: '{ name: string }',
      'only?': 'Value<boolean>',
      uuid: 'Value<string>',
      type: "Reference<'daily'>"
    }
  )
  t.end()
})

t.test('what no entity has a value in is unknown, unless its configuration or the content model tells it', (t) => {
  const storages = [
    { field: 'count', type: 'integer', settings: {} },
    { field: 'odd', type: 'geofield', settings: {} }
  ]
  t.match(typesOf([row({ count: null, odd: null, title: null, status: null, changed: null, other: { x: null } })], {}, storages), {
    count: 'Value<number>',
    odd: 'unknown',
    title: 'Value<string>',
    status: 'Value<boolean>',
    changed: 'Time',
    other: '{ x?: unknown }'
  })
  t.strictSame(typesOf([]), {})
  t.strictSame(typesOf([{ type: 'publisher_container--daily', id: 'u' }]), { uuid: 'Value<string>', type: "Reference<'daily'>" })
  t.end()
})

t.test('references hold ids, and what else their items have', (t) => {
  const to = (id: unknown, more: object = {}) => ({ data: { type: 'x--y', id: 'u', meta: { drupal_internal__target_id: id, ...more } } })
  t.match(
    typesOf([
      row({}, {
        node: to(4),
        config: to('full_html'),
        image: to(5, { alt: 'x', 'a-b': 1 }),
        field_articles: { data: [] },
        open: { data: null },
        gone: { data: { type: 'x--y', id: 'missing' } }
      } as Resource['relationships'])
    ]),
    {
      node: 'Reference',
      config: 'Reference<string>',
      image: "Reference & { alt?: string | null; 'a-b'?: number | null }",
      field_articles: 'Reference',
      open: 'Reference<number | string>',
      gone: 'Reference<number | string>'
    }
  )
  t.end()
})

t.test('names that are none in TypeScript are written so that they are, and no two types are called the same', (t) => {
  t.strictSame(['title', 'a-b', 'a"b', '1st'].map(nameText), ['title', "'a-b'", '"a\\"b"', "'1st'"])
  const bundle = (name: string, label = name) => ({ bundle: name, label, fields: [] })
  const optional = { name: 'of-some', item: 'unknown', isUnknown: true, isOptional: true }
  const types: ContentTypes = {
    editions: [bundle('daily_news'), bundle('daily-news'), bundle('2nd')],
    lists: [
      { name: 'a-b', bundles: [bundle('article', 'A\n*/ article'), { ...bundle('lists'), fields: [optional] }] },
      { name: 'other', bundles: [bundle('article')] }
    ]
  }
  const text = typesText(types, 'http://a\n*/b shows')
  t.strictSame(
    text.split('\n').filter((line) => line.startsWith('export')),
    [
      'export interface DailyNewsEdition {',
      'export interface DailyNewsEdition2 {',
      'export interface Bundle2ndEdition {',
      'export interface Article {',
      'export interface Lists2 {',
      'export interface Article2 {',
      'export type Edition = DailyNewsEdition | DailyNewsEdition2 | Bundle2ndEdition',
      'export interface Lists {'
    ]
  )
  t.match(text, "  'a-b': Article | Lists2\n  other: Article2\n")
  t.match(text, '/** A * / article (article). None was seen, so no field is known. */')
  t.match(text, "export interface Lists2 {\n  'of-some'?: unknown[]\n}")
  t.notMatch(text, 'import')
  t.strictSame(problemsIn(t, { 'content.ts': text }), [])
  t.end()
})

t.test('what is unknown is told, of many fields the first', async (t) => {
  const url = await open(t)
  const emptying = await serve(t, async (request, response) => {
    const upstream = await fetch(url + request.url, { headers: { authorization: String(request.headers.authorization) } })
    const document = (await upstream.json()) as { data: Array<{ attributes: Record<string, unknown> }> }
    if (request.url!.startsWith('/jsonapi/publisher_container/daily')) {
      for (const { attributes } of document.data) for (let count = 0; count < 25; count++) attributes[`unset_${count}`] = null
    }
    if (request.url!.startsWith('/jsonapi/publisher_container/special')) document.data = []
    if (request.url!.startsWith('/jsonapi/node/article')) for (const { attributes } of document.data) delete attributes['revision_log']
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type')! }).end(JSON.stringify(document))
  })
  const { lines } = await write(t, emptying, 'editor')
  t.match(
    lines.find((line) => line.includes('editions: daily')),
    /unset_18 and 6 more, so their items are unknown$/
  )
  t.match(
    lines.find((line) => line.includes('editions: special')),
    /^- {4}editions: special: none can be seen, so no field is known$/
  )
  t.match(lines.at(-1), /^ok {3}article: article: 21 fields, as 114 show them, 6 more are hidden$/)
})

t.test('in a clone the command has another name than the check of types', (t) => {
  t.strictSame(
    [commandFor('types'), commandFor('types', '/project/node_modules/quoin/dist/lib/package-root.js')],
    ['npm run types:content', 'npx --no -- quoin types']
  )
  t.end()
})
