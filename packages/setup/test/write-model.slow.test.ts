import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { contentModelSchema } from '../../../dev/content-model-schema.ts'
import { newspaper, singleBundleNewspaper } from '../../../dev/content.ts'
import { checkCms } from '../doctor/cms.ts'
import { describeCandidate, writeModel, type ModelToWrite } from '../write-model.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import type { Candidate } from '../survey/candidates.ts'
import { report } from '../diagnosis.ts'
import { createHttp } from '../../../lib/http/client.ts'
import { basicAccount } from '../../../lib/drupal/accounts.ts'
import { createCms, type CmsContent } from '../../drupal-stand-in/cms.ts'
import publisher from '../../../config/content-model.json' with { type: 'json' }
import { recordedSite } from '../../../test/fixtures/site.ts'
import { variants } from '../../../test/scope.ts'
import { serve } from '../../../test/editions/site.ts'

interface Outcome {
  lines: string[]
  isRight: boolean
  /** The file, parsed; undefined where none was written. */
  file: any
}

async function write(
  t: Test,
  {
    url,
    user,
    password = user,
    timeoutMs = 10_000,
    choose = async () => undefined,
    chooseBundles = async () => undefined,
    ...options
  }: Partial<ModelToWrite> & { url: string; user?: string; password?: string; timeoutMs?: number }
): Promise<Outcome> {
  const http = createHttp({ url, timeoutMs })
  t.teardown(() => http.close())
  const at = { http, jsonapiPath: '/jsonapi' }
  const account = user === undefined ? undefined : basicAccount(at, user, password!)
  const lines: string[] = []
  let file: unknown
  const isRight = await report(
    writeModel({
      ...at,
      url,
      choose,
      chooseBundles,
      schema: './content-model.schema.json',
      write: (text) => {
        file = JSON.parse(text)
      },
      ...(account && { account }),
      ...options
    }),
    (line) => lines.push(line)
  )
  return { lines, isRight, file }
}

async function open(t: Test, content: CmsContent = newspaper()): Promise<string> {
  const cms = createCms({ content })
  t.teardown(() => cms.close())
  return cms.listen()
}

/** The site, but for the answers to what matches. */
function odd(t: Test, url: string, pattern: RegExp, answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  return serve(t, async (request, response) => {
    const { authorization = '' } = request.headers
    if (pattern.test(`${decodeURIComponent(request.url!)} ${authorization && 'known'}`)) return answer(request, response)
    const upstream = await fetch(url + request.url, { headers: { ...(authorization && { authorization }) } })
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? 'text/plain' }).end(await upstream.text())
  })
}

const jsonapi = (response: ServerResponse, status: number, body: object) =>
  response.writeHead(status, { 'content-type': 'application/vnd.api+json' }).end(JSON.stringify(body))

const without = (line: string) => line.startsWith('-') || line.startsWith('!')

t.test('the model of each sample site is the one that Quoin has for it, and the doctor takes it for right', async (t) => {
  const sites = variants<[name: string, content: CmsContent, users: string[]]>([
    ['two bundles', newspaper(), ['admin', 'editor']],
    ['one bundle', singleBundleNewspaper(), ['admin', 'editor']],
    ['as recorded', recordedSite(), ['admin', 'editor', 'cfgtype']]
  ])
  const isRight = new Ajv().compile(JSON.parse(contentModelSchema()))
  for (const [name, content, users] of sites) {
    const url = await open(t, content)
    for (const user of users) {
      await t.test(`${name}, as ${user}`, async (t) => {
        const { lines, isRight: isDone, file } = await write(t, { url, user })
        t.ok(isDone, lines.join('\n'))
        t.ok(isRight(file), JSON.stringify(isRight.errors))
        const { keys, fields, entityType, bundleEntityType, references, timestampFields } = contentModel(file)
        const expected = contentModel(publisher)
        t.strictSame(
          { keys, fields, entityType, bundleEntityType },
          { keys: expected.keys, fields: expected.fields, entityType: expected.entityType, bundleEntityType: expected.bundleEntityType }
        )
        t.strictSame({ ...references }, { ...expected.references })
        t.strictSame(new Set(timestampFields), new Set(expected.timestampFields))
        t.equal(file.canonicalPaths.publisher_container, '/publisher_container/{id}')
        const hasImages = content.entities.some(({ fields }) => fields?.field_image)
        // Where no article has an image, the configuration of the fields shows which holds them, to those who may see it.
        t.strictSame(file.lists, {
          article: { entityType: 'node', bundles: ['article'], ...((hasImages || user === 'admin') && { image: 'field_image' }) }
        })
        t.ok(
          file.$comment.some((line: string) =>
            /^lists: NOT SEEN: images and sections: .*of article field_tags hold terms, and none is called like a section$/.test(line)
          )
        )
        const http = createHttp({ url, timeoutMs: 10_000 })
        t.teardown(() => http.close())
        const found: string[] = []
        await report(
          checkCms({
            http,
            url,
            jsonapiPath: '/jsonapi',
            model: contentModel(file),
            account: basicAccount({ http, jsonapiPath: '/jsonapi' }, user, user)
          }),
          (line) => found.push(line)
        )
        const unchecked = '-    lists.article.image: field_image of article: none on the first page has a value in field_image'
        const decimals =
          '-    content model: decimalFields: the site does not show it, or has no such thing; npm run model says what would show it'
        t.strictSame(
          found.filter((line) => /^(?:! {4}|- {4})(?:fields|keys|references|timestampFields|content model|lists)/.test(line)),
          user !== 'admin' ? [decimals] : hasImages ? [] : [unchecked]
        )
      })
    }
  }
})

/** A collection without what an entity type without bundles, revisions, a status, times and languages does not have. */
function bare({ data, ...document }: any): object {
  if (!Array.isArray(data)) {
    const {
      data: [row]
    } = bare({ data: [data] }) as { data: object[] }
    return { ...document, data: row }
  }
  const lacking = ['drupal_internal__revision_id', 'status', 'created', 'changed', 'langcode', 'publisher_container_type']
  const rest = (members: object) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => !lacking.includes(name) && !/^revision_|_langcode$/.test(name)))
  return {
    ...document,
    data: data.map(({ attributes, relationships, links: _links, ...row }: any) => ({
      ...row,
      attributes: rest(attributes),
      relationships: rest(relationships)
    }))
  }
}

t.test('null stands for each key that an entity type does not have, and the doctor takes it for right', async (t) => {
  const site = await open(t, singleBundleNewspaper())
  const url = await odd(t, site, /^\/jsonapi\/publisher_container\//, async (request, response) => {
    const {
      method,
      headers: { authorization, 'content-type': contentType }
    } = request
    const answer = await fetch(site + request.url, {
      headers: { authorization: authorization!, ...(contentType && { 'content-type': contentType }) },
      ...(method !== 'GET' && { method: method!, body: await text(request) })
    })
    const document = (await answer.json()) as { data?: unknown }
    jsonapi(response, answer.status, document.data ? bare(document) : document)
  })
  const { file, lines } = await write(t, {
    url: await odd(t, url, /_format=json/, (_request, response) => response.writeHead(404).end()),
    user: 'admin'
  })
  t.match(file, {
    bundleEntityType: null,
    keys: {
      id: 'id',
      uuid: 'uuid',
      revision: null,
      bundle: null,
      label: 'title',
      published: null,
      changed: null,
      langcode: null,
      defaultLangcode: null
    }
  })
  t.ok(
    lines.includes(
      '-    keys.published: null: guessed: no field of the entity type itself says yes or no, so editions are neither published nor unpublished'
    ),
    lines.join('\n')
  )
  const doctor = async (model: object): Promise<string[]> => {
    const http = createHttp({ url, timeoutMs: 10_000 })
    t.teardown(() => http.close())
    const found: string[] = []
    await report(
      checkCms({
        http,
        url,
        jsonapiPath: '/jsonapi',
        model: contentModel(model),
        account: basicAccount({ http, jsonapiPath: '/jsonapi' }, 'admin', 'admin')
      }),
      (line) => found.push(line)
    )
    return found
  }
  const right = await doctor(file)
  t.notOk(
    right.some((line) => /^! |^- {4}(?:fields|keys|bundleEntityType)/.test(line)),
    right.join('\n')
  )
  const wrong = await doctor({ ...file, keys: { ...file.keys, langcode: 'langcode' } })
  t.ok(wrong.includes('-    keys.langcode: the site has none, not langcode: not certain: editions have no language'), wrong.join('\n'))
})

t.test('what an editor cannot see is said with the permission that would show it, in the lines and in the file', async (t) => {
  const { lines, file } = await write(t, { url: await open(t), user: 'editor' })
  const bundles = lines.find((line) => line.startsWith('-    bundles: '))
  t.match(bundles, /^- {4}bundles: daily, special; the permission '[^']+' would show their labels$/)
  t.ok(file.$comment.some((line: string) => line.startsWith('bundles: NOT SEEN: daily, special; the permission ')))
  t.notOk('bundles' in file)
  t.match(
    lines.find((line) => line.includes('fields.key')),
    /^- {4}fields.key: field_key: guessed: /
  )
  const admin = await write(t, { url: await open(t), user: 'admin' })
  t.strictSame(
    [admin.file.bundles, admin.file.editionTypes],
    [
      { daily: 'Daily Edition', special: 'Special Edition' },
      { daily: 'Daily Editions', special: 'Special Editions' }
    ]
  )
})

t.test('where no edition can be seen, the file has what is known, and says so', async (t) => {
  const content = newspaper()
  content.roles = { ...content.roles, anonymous: [], authenticated: [] }
  const { lines, file } = await write(t, { url: await open(t, content), entityType: 'publisher_container' })
  t.match(
    lines.filter(without).join('\n'),
    /anonymous sees little[^]*editions: anonymous sees 0 on the first pages, 60 more are hidden \('view (?:un)?published publisher_container' would show them\): so most names are not known/
  )
  t.strictSame(
    Object.keys(file),
    ['$schema', '$comment', 'entityType', 'rawFields', 'idKeys', 'canonicalPaths', 'lockTypes', 'lockIds'].filter((name) => name in file)
  )
  t.equal(file.entityType, 'publisher_container')
  content.entities = content.entities.filter(({ type }) => !type.startsWith('publisher_container--'))
  t.match(
    (await write(t, { url: await open(t, content), entityType: 'publisher_container' })).lines.join('\n'),
    /editions: anonymous sees 0 on the first pages: so most/
  )
})

t.test('the entity type is the one that was named, the one there is, or the one that is chosen', async (t) => {
  const url = await open(t)
  t.match(await write(t, { url, user: 'editor', entityType: 'issue' }), {
    isRight: false,
    file: undefined,
    lines: [/^ok/, /^ok/, /^-/, /^! {4}entity type: JSON:API has no issue: it has action, base_field_override, /]
  })
  const more = await odd(t, url, /^\/jsonapi \w*$/, async ({ headers: { authorization } }, response) => {
    const document = (await (await fetch(`${url}/jsonapi`, { headers: { ...(authorization && { authorization }) } })).json()) as {
      links: object
    }
    jsonapi(response, 200, {
      ...document,
      links: {
        ...document.links,
        'dossier--short': { href: `${url}/jsonapi/dossier/short` },
        'dossier--long': { href: `${url}/jsonapi/dossier/long` }
      }
    })
  })
  t.match(await write(t, { url: more, user: 'editor', choose: async () => undefined }), { isRight: false, file: undefined })
  const several = await odd(t, more, /^\/jsonapi\/dossier\//, (_request, response) => jsonapi(response, 200, { data: [] }))
  const asked: Candidate[] = []
  const outcome = await write(t, {
    url: several,
    user: 'editor',
    choose: async (candidates) => {
      asked.push(...candidates)
      return 'publisher_container'
    }
  })
  t.strictSame(asked.map(describeCandidate), ['publisher_container (daily, special), which holds nodes', 'dossier (short, long)'])
  t.strictSame([outcome.isRight, outcome.file.entityType], [true, 'publisher_container'])
  const unasked = await write(t, { url: several, user: 'editor' })
  t.match(unasked, { isRight: false, file: undefined })
  t.equal(
    unasked.lines.at(-1),
    '!    entity type: it may be publisher_container (daily, special), which holds nodes, dossier (short, long): name it: --entity-type=<name>'
  )
  const nothing = await odd(t, url, /^\/jsonapi \w*$/, (_request, response) =>
    jsonapi(response, 200, { jsonapi: { version: '1.0' }, data: [], links: {} })
  )
  t.match(await write(t, { url: nothing }), {
    isRight: false,
    file: undefined,
    lines: [/^ok/, /^-/, /^! {4}entity type: JSON:API shows no content that could be editions/]
  })
  t.equal(describeCandidate({ entityType: 'dossier', bundles: ['dossier'], seen: 0, holdsNodes: false }), 'dossier')
})

t.test('bundles are those that were named or chosen, or else those that look like editions', async (t) => {
  const url = await open(t)
  const ofNodes = { url, user: 'editor', entityType: 'node' }
  const unknown = await write(t, ofNodes)
  t.strictSame([unknown.isRight, unknown.file], [false, undefined])
  t.match(unknown.lines.at(-1), /^! {4}bundles: of article, page any may be editions or articles, as no node that can be seen/)
  const named = await write(t, { ...ofNodes, bundles: ['page'] })
  t.match(named, { isRight: true, file: { bundles: { page: /./ }, $comment: /./ } })
  t.notMatch(named.file.$comment.join(), 'bundles: GUESSED')
  const chosen = await write(t, { ...ofNodes, chooseBundles: async ({ bundles }) => bundles.slice(0, 1) })
  t.match(Object.keys(chosen.file.bundles), ['article'])
  const wrongName = await write(t, { ...ofNodes, bundles: ['page', 'issue'] })
  t.equal(wrongName.lines.at(-1), '!    bundles: node has no issue: it has article, page')
  const referring = await odd(t, url, /^\/jsonapi\/node\/page/, (_request, response) =>
    jsonapi(response, 200, {
      jsonapi: { version: '1.0' },
      data: [
        {
          type: 'node--page',
          id: 'e8b7a0c4-0000-4000-8000-000000000001',
          attributes: { drupal_internal__nid: 9, drupal_internal__vid: 10, title: 'A page' },
          relationships: { field_articles: { data: [{ type: 'node--article', id: 'x', meta: { drupal_internal__target_id: 1 } }] } }
        }
      ]
    })
  )
  const guess = await write(t, { ...ofNodes, url: referring })
  t.match(guess, { isRight: true, file: { bundles: { page: /./ }, fields: { articles: ['field_articles'] } } })
  t.match(
    guess.file.$comment.join('\n'),
    /bundles: GUESSED: they hold field_articles; article are what field_articles refers to; --bundles=/
  )
  const declined = await write(t, { ...ofNodes, chooseBundles: async () => [] })
  t.strictSame([declined.isRight, declined.file], [false, undefined])
})

t.test('a site that cannot be asked is one line that says what to do, and no file is written', async (t) => {
  const url = await open(t)
  const refusal = { errors: [{ status: '403', detail: "The 'access content' permission is required." }] }
  const cases: Array<[what: string, site: Parameters<typeof write>[1], expected: RegExp]> = [
    ['nothing listens', { url: 'http://127.0.0.1:9' }, /^! {4}CMS: http:\/\/127\.0\.0\.1:9 cannot be reached/m],
    ['it does not answer', { url: await serve(t, () => {}), timeoutMs: 1000 }, /^! {4}CMS: The CMS did not answer within 1000 ms/m],
    [
      'it answers HTML',
      { url: await serve(t, (_request, response) => response.end('<html>')) },
      /^! {4}CMS: The CMS answered something that is not JSON:API/m
    ],
    [
      'it answers other JSON',
      { url: await serve(t, (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}')) },
      /^! {4}CMS: The CMS answered JSON, but not as Drupal's JSON:API does/m
    ],
    ['it fails', { url: await serve(t, (_request, response) => response.writeHead(500).end()) }, /^! {4}CMS: /m],
    [
      '401',
      { url: await odd(t, url, /^/, (_request, response) => jsonapi(response, 401, refusal)) },
      /^! {4}CMS: access is denied \(The 'access content' permission is required/m
    ],
    ['403', { url: await odd(t, url, /^/, (_request, response) => jsonapi(response, 403, refusal)) }, /^! {4}CMS: access is denied/m],
    [
      'a wrong password',
      { url, user: 'editor', password: 'wrong-secret' },
      /^! {4}CMS account: the CMS refused the service account's user name and password/m
    ]
  ]
  for (const [what, site, expected] of cases) {
    const { lines, isRight, file } = await write(t, site)
    t.match(lines.join('\n'), expected, what)
    t.strictSame(
      [isRight, file, lines.at(-1)],
      [false, undefined, '-    the content model: correct the above first; no file is written'],
      what
    )
    t.notMatch(lines.join('\n'), /wrong-secret/)
  }
})

t.test('parts of a site that refuse, or do not answer, are left out', async (t) => {
  const url = await open(t)
  const refused = await odd(t, url, /^\/jsonapi\/(?:field_storage_config|publisher_container_type)\//, (_request, response) =>
    jsonapi(response, 403, { errors: [{ status: '403', detail: "The 'administer all' permission is required." }] })
  )
  const { file, isRight } = await write(t, { url: refused, user: 'admin' })
  t.ok(isRight)
  t.ok(file.$comment.includes("bundles: NOT SEEN: daily, special; the permission 'administer all' would show their labels"))
  const broken = await odd(t, url, /_format=json/, (request) => request.socket.destroy())
  const { file: unpaged } = await write(t, { url: broken, user: 'admin' })
  t.strictSame([unpaged.canonicalPaths.publisher_container, unpaged.keys.id], [undefined, 'id'])
  const unnamed = await odd(t, url, /^\/jsonapi\/publisher_container\//, (_request, response) =>
    jsonapi(response, 200, { data: [], meta: { omitted: { links: { help: {}, 'item--1': 'x', 'item--2': { meta: {} } } } } })
  )
  t.ok(
    (await write(t, { url: unnamed, user: 'admin', entityType: 'publisher_container' })).lines.includes(
      '-    editions: admin sees 0 on the first pages, 4 more are hidden: so most names are not known, and have their defaults'
    )
  )
  await t.rejects(
    write(t, {
      url,
      write: () => {
        throw new TypeError('a defect')
      }
    }),
    { message: 'a defect' }
  )
  const defect = {
    send: async () => {
      throw new TypeError('a defect')
    },
    close: async () => {}
  }
  await t.rejects(write(t, { url, http: defect }), { message: 'a defect' })
})
