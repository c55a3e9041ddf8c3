import type { IncomingHttpHeaders } from 'node:http'
import t, { type Test } from 'tap'
import type { CmsContent } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { build } from '../helper.ts'
import { variants } from '../scope.ts'
import { basic, editionsOf, failed, open, serve, writes } from './site.ts'

/** The two content models: bundles of their own, and one bundle told apart by the list field. */
const models = variants<[name: string, content: () => CmsContent, bundle: (kind: string) => string]>([
  ['two bundles', newspaper, (kind) => kind],
  ['one bundle', singleBundleNewspaper, () => 'publisher_container']
])

const seconds = (iso: string) => Date.parse(iso) / 1000
const value = (field: Array<{ value: unknown }>) => field[0]?.value
const targets = (field: Array<{ target_id: unknown }>) => field.map((item) => item.target_id)

for (const [name, content, bundleOf] of models) {
  t.test(`create, with ${name}`, async (t) => {
    const now = Date.UTC(2026, 10, 20, 12)
    const { call, cms } = await open(t, { content: content(), now: () => now })
    const post = (body: object, as = 'editor') => call('POST', '/api/collection', { body, as })
    const minimal = (key: string) => ({
      type: [{ target_id: bundleOf('daily') }],
      title: [{ value: 'Monday' }],
      field_key: [{ value: key }]
    })

    t.test('answers 201 with the whole edition, its place and its tag', async (t) => {
      const reply = await post({
        ...minimal('whole'),
        status: [{ value: false }],
        created: [{ value: '2026-05-05T08:00:00.123Z', format: 'Y-m-d\\TH:i:sP' }],
        field_publisher_edition_type: [{ value: 'daily' }],
        field_description: [{ value: '<p>x</p>', format: 'basic_html', processed: 'nonsense' }],
        field_labels: [{ value: 'a' }, { value: 'b' }],
        field_link: [{ uri: 'https://paper.example/', title: 'Paper', options: [] }],
        field_price: [{ value: '2.5' }],
        field_page_count: [{ value: 32 }],
        field_featured: [{ value: true }],
        field_publication_date: [{ value: '2026-11-23' }],
        field_articles: [{ target_id: 10 }, { target_id: 4 }, { target_id: 10 }],
        field_section: [{ target_id: 2 }],
        field_cover: [{ target_id: 1, alt: 'Front page' }]
      })
      t.equal(reply.status, 201)
      t.match(reply.headers, { location: '/api/collection/61', etag: /^"[\w-]{16}\.[\w-]{16}"$/ })
      const { body } = reply
      t.strictSame(
        body.type.map(({ target_id: id, target_type: type }: any) => [id, type]),
        [[bundleOf('daily'), 'publisher_container_type']]
      )
      t.match(body, {
        id: [{ value: 61 }],
        revision_id: [{ value: 61 }],
        status: [{ value: false }],
        created: [{ value: '2026-05-05T08:00:00+00:00', format: 'Y-m-d\\TH:i:sP' }],
        changed: [{ value: '2026-11-20T12:00:00+00:00', format: 'Y-m-d\\TH:i:sP' }],
        uid: [{ target_id: 2, target_type: 'user', url: '/user/2' }],
        revision_uid: [],
        field_description: [{ value: '<p>x</p>', format: 'basic_html', processed: '<p>x</p>' }],
        field_labels: [{ value: 'a' }, { value: 'b' }],
        field_price: [{ value: '2.5' }],
        field_rating: [],
        field_cover: [{ target_id: 1, alt: 'Front page', title: null, target_type: 'file' }]
      })
      t.strictSame(targets(body.field_articles), [10, 4, 10], 'references in their order, one of them twice')
      t.strictSame(
        body.field_articles.map(({ url }: any) => url.split('/')[1]),
        ['articles', 'node', 'articles']
      )
      const read = await call('GET', String(reply.headers.location), { as: 'editor' })
      t.strictSame(read.body, body, 'the edition is what GET gives')
      t.equal(read.headers.etag, reply.headers.etag)
    })

    t.test('takes the bundle from an item, a string, or the edition type', async (t) => {
      const rest = { title: [{ value: 'T' }] }
      const bundle = bundleOf('special')
      const bodies = [
        { type: [{ target_id: bundle }] },
        { type: [{ target_id: bundle, target_type: 'publisher_container_type', target_uuid: 'whatever' }] },
        { type: { target_id: bundle } },
        { type: bundle },
        { type: [bundle] },
        { type: [{ value: bundle }] },
        { field_publisher_edition_type: [{ value: 'special' }] },
        { field_publisher_edition_type: ['special'] }
      ]
      for (const [index, body] of bodies.entries()) {
        const reply = await post({ ...rest, ...body, field_key: [{ value: `bundle-${index}` }] })
        t.equal(reply.status, 201, JSON.stringify(body))
        t.equal(reply.body.type?.[0].target_id, bundle)
      }
    })

    t.test("without a bundle, or with one that does not exist, answers core's own 422 and asks the CMS nothing", async (t) => {
      for (const body of [{}, { title: [{ value: 'T' }] }, { type: [] }, { type: null }, { type: [{}] }, { type: [{ target_id: 5 }] }]) {
        const reply = await post(body)
        failed(t, JSON.stringify(body), reply, 422, 'UNPROCESSABLE', 'Could not determine entity type bundle: "type" field is missing.')
        t.strictSame(reply.upstream, [])
      }
      for (const bundle of ['weekly', 'constructor', '__proto__', '']) {
        const reply = await post({ ...minimal('x'), type: [{ target_id: bundle }] })
        failed(t, bundle, reply, 422, 'UNPROCESSABLE', `"${bundle}" is not a valid bundle type for denormalization.`)
        t.strictSame(reply.upstream, [])
      }
    })

    t.test('names references by integer id, by uuid, or by both, the uuid winning', async (t) => {
      const {
        body: { field_articles: articles }
      } = await call('GET', '/api/collection/6', { as: 'editor' })
      const [first, second] = articles
      const sent = [
        { target_id: first.target_id },
        { target_id: String(second.target_id) },
        { target_uuid: first.target_uuid },
        { target_id: 99999, target_uuid: second.target_uuid },
        first,
        second.target_id
      ]
      const reply = await post({
        ...minimal('named'),
        field_articles: sent,
        field_section: [{ target_id: 3, target_type: 'taxonomy_term', url: '/taxonomy/term/3' }]
      })
      t.equal(reply.status, 201)
      t.strictSame(reply.body.field_articles, [first, second, first, second, first, second])
      t.strictSame(targets(reply.body.field_section), [3])
    })

    t.test("answers core's 422 for references that do not exist or may not be made, all of them at once", async (t) => {
      const reply = await post({
        ...minimal('gone'),
        field_articles: [{ target_id: 4 }, { target_id: 99999 }],
        field_section: [{ target_id: 777 }]
      })
      failed(
        t,
        'by id',
        reply,
        422,
        'UNPROCESSABLE',
        'Unprocessable Entity: validation failed.\nfield_articles.1.target_id: The referenced entity (node: 99999) does not exist.\nfield_section.0.target_id: The referenced entity (taxonomy_term: 777) does not exist.\n'
      )
      t.strictSame(reply.body.violations, [
        { path: 'field_articles.1.target_id', message: 'The referenced entity (node: 99999) does not exist.' },
        { path: 'field_section.0.target_id', message: 'The referenced entity (taxonomy_term: 777) does not exist.' }
      ])
      t.strictSame(writes(reply.upstream), [], 'nothing is tried')
      const uuid = '00000000-0000-4000-8000-000000000000'
      failed(
        t,
        'by uuid',
        await post({ ...minimal('gone'), field_articles: [{ target_uuid: uuid }] }),
        422,
        'UNPROCESSABLE',
        `No "" entity found with UUID "${uuid}" for field "0".`
      )
      const unpublished = await post({ ...minimal('gone'), field_articles: [{ target_id: 4 }, { target_id: 40 }] })
      failed(t, 'not published', unpublished, 422, 'UNPROCESSABLE')
      failed(
        t,
        'of another entity type',
        await post({ ...minimal('gone'), field_articles: [{ target_type: 'user', target_uuid: uuid }] }),
        422,
        'UNPROCESSABLE',
        'The field "field_articles" property "target_type" must be set to "node" or omitted.'
      )
    })

    t.test('keeps a uuid that is given and refuses an id', async (t) => {
      const uuid = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
      const reply = await post({ ...minimal('uuid'), uuid: [{ value: uuid }] })
      t.equal(reply.status, 201)
      t.equal(value(reply.body.uuid), uuid)
      failed(
        t,
        'the same uuid again',
        await post({ ...minimal('uuid-2'), uuid: [{ value: uuid }] }),
        409,
        'CONFLICT',
        /^Another edition has this uuid: it differs from what you sent in (?:title, )?field_key\. /
      )
      failed(
        t,
        'no uuid at all',
        await post({ ...minimal('uuid-3'), uuid: [{ value: 'x' }] }),
        422,
        'UNPROCESSABLE',
        /^IDs should be properly generated/
      )
      failed(
        t,
        'id',
        await post({ ...minimal('id'), id: [{ value: 4242 }] }),
        403,
        'CMS_FORBIDDEN',
        "Access denied on creating field 'id'."
      )
      failed(
        t,
        'changed',
        await post({ ...minimal('id'), changed: [{ value: '2020-01-01T00:00:00+00:00' }] }),
        403,
        'CMS_FORBIDDEN',
        "Access denied on creating field 'changed'."
      )
      failed(
        t,
        'a field nobody may write',
        await post({ ...minimal('id'), field_internal_note: [] }),
        403,
        'CMS_FORBIDDEN',
        "Access denied on creating field 'field_internal_note'."
      )
    })

    t.test('refuses unknown fields and ignores unknown properties, as core does', async (t) => {
      for (const field of ['nosuch', 'constructor', 'toString', 'drupal_internal__id', 'publisher_container_type']) {
        const reply = await post({ ...minimal('unknown'), [field]: [{ value: 1 }] })
        t.ok(reply.status === 422 || reply.status === 403, `${field}: ${reply.status} ${reply.body.message}`)
        t.match(reply.body.message, field.replace('drupal_internal__', ''))
      }
      const reply = await post({
        ...minimal('property'),
        title: [{ value: 'Kept', nosuch: 1, neither: 2 }],
        field_cover: [{ target_id: 2, alt: 'A', nosuch: 1 }],
        field_articles: [
          { target_id: 4, weight: 1 },
          { target_id: 5, weight: 2 }
        ],
        field_labels: [{ value: 'a', nosuch: 1 }, { value: 'b' }]
      })
      t.equal(reply.status, 201, reply.body.message)
      t.match(reply.body, {
        title: [{ value: 'Kept' }],
        field_cover: [{ target_id: 2, alt: 'A' }],
        field_labels: [{ value: 'a' }, { value: 'b' }]
      })
      t.strictSame(targets(reply.body.field_articles), [4, 5])
      const many = Array.from({ length: 52 }, (_, index) => ({ value: `label ${index}`, [`nosuch${index}`]: 1 }))
      failed(
        t,
        'not for ever',
        await post({ ...minimal('properties'), field_labels: many }),
        422,
        'UNPROCESSABLE',
        /^The property 'nosuch50' does not exist on the 'field_labels' field/
      )
    })

    t.test('tells all violations at once, line by line and as a list', async (t) => {
      const reply = await post({
        ...minimal('two'),
        title: [],
        field_page_count: [{ value: -1 }],
        field_publisher_edition_type: [{ value: 'weekly' }]
      })
      const violations = [
        { path: 'title', message: 'This value should not be null.' },
        { path: 'field_page_count.0.value', message: 'Page count: the value may be no less than 0.' },
        { path: 'field_publisher_edition_type.0', message: 'The value you selected is not a valid choice.' }
      ]
      failed(
        t,
        'three',
        reply,
        422,
        'UNPROCESSABLE',
        `Unprocessable Entity: validation failed.\n${violations.map(({ path, message }) => `${path}: ${message}\n`).join('')}`
      )
      t.strictSame(reply.body.violations, violations)
      failed(
        t,
        'taken',
        await post(minimal('daily-2026-10-09')),
        422,
        'UNPROCESSABLE',
        'Unprocessable Entity: validation failed.\nfield_key: A publisher container with Key daily-2026-10-09 already exists.\n'
      )
      const two = [{ value: 'T' }, { value: 'U' }]
      failed(
        t,
        'two values of one',
        await post({ ...minimal('twice'), title: two }),
        422,
        'UNPROCESSABLE',
        'Unprocessable Entity: validation failed.\ntitle: Title: this field cannot hold more than 1 values.\n'
      )
      failed(
        t,
        'a scalar',
        await post({ ...minimal('scalar'), title: 'T' }),
        422,
        'UNPROCESSABLE',
        'Field values for "title" must use an array structure'
      )
      failed(
        t,
        'a wrong date',
        await post({ ...minimal('date'), field_publication_date: [{ value: '01.05.2026' }] }),
        422,
        'UNPROCESSABLE',
        'The specified date "01.05.2026" is not in an accepted format: "Y-m-d" (date-only).'
      )
    })

    t.test('leaves who may create to the CMS', async (t) => {
      const nobody = await call('POST', '/api/collection', { body: minimal('who') })
      failed(t, 'nobody', nobody, 401, 'CMS_UNAUTHORIZED', 'No authentication credentials provided.')
      t.match(nobody.headers['www-authenticate'], /^Basic/)
      failed(
        t,
        'a reader',
        await post(minimal('who'), 'reader'),
        403,
        'CMS_FORBIDDEN',
        "The following permissions are required: 'administer publisher_container' OR 'create publisher_container'."
      )
      t.equal((await post(minimal('who'))).status, 201)
    })

    t.test('is the first request of a process as well as the last', async (t) => {
      const fresh = await open(t, { content: content() })
      const reply = await fresh.call('POST', '/api/collection', {
        body: { ...minimal('first'), field_articles: [{ target_id: 10 }], field_cover: [{ target_id: 2 }] },
        as: 'editor'
      })
      t.equal(reply.status, 201)
      t.match(reply.body, {
        field_articles: [{ target_id: 10, url: /^\/articles\// }],
        field_cover: [{ url: /^http:.*\/files\/covers\/cover%202\.jpg$/ }]
      })
      const empty = { ...content(), entities: content().entities.filter(({ type }) => !type.startsWith('publisher_container--')) }
      const blank = await open(t, { content: empty })
      const one = await blank.call('POST', '/api/collection', {
        body: { ...minimal('first'), field_articles: [{ target_id: 10 }, { target_id: 4 }], field_labels: [{ value: 'a' }] },
        as: 'editor'
      })
      t.equal(one.status, 201, 'on a site without any edition')
      t.match(one.body, {
        id: [{ value: 1 }],
        field_articles: [{ target_id: 10, url: /^\/articles\// }, { target_id: 4 }],
        field_labels: [{ value: 'a' }]
      })
    })

    t.equal(cms.requestLines.filter((line) => / 5\d\d$/.test(line)).length, 0, 'the CMS never failed')
  })

  t.test(`update, with ${name}`, async (t) => {
    let now = Date.UTC(2026, 10, 20, 12)
    const { call } = await open(t, { content: content(), now: () => now })
    const read = (id: number | string, as = 'editor') => call('GET', `/api/collection/${id}`, { as })
    const post = (id: number | string, body: object, { as = 'editor', ifMatch }: { as?: string; ifMatch?: unknown } = {}) => {
      now += 1000
      return call('POST', `/api/collection/${id}`, { body, as, headers: ifMatch === undefined ? {} : { 'if-match': String(ifMatch) } })
    }
    const ownOnly = ({ changed, revision_id: _1, revision_timestamp: _2, revision_uid: _3, ...fields }: any) => fields

    t.test('changes only the fields that are sent, found by integer id or by uuid', async (t) => {
      const before = await read(1)
      const reply = await post(1, { title: [{ value: 'Changed' }] })
      t.equal(reply.status, 200)
      t.strictSame(ownOnly(reply.body), { ...ownOnly(before.body), title: [{ value: 'Changed' }] })
      t.equal(seconds(value(reply.body.changed) as string), now / 1000)
      t.not(reply.headers.etag, before.headers.etag)
      const after = await read(1)
      t.strictSame(after.body, reply.body)
      t.equal(after.headers.etag, reply.headers.etag)

      const uuid = value(before.body.uuid) as string
      for (const [id, title] of [
        [uuid, 'By uuid'],
        [uuid.toUpperCase(), 'By upper case']
      ]) {
        const byUuid = await post(id!, { title: { value: title } })
        t.strictSame([byUuid.status, value(byUuid.body.title), value(byUuid.body.id)], [200, title, 1])
      }
      const [patch] = writes(reply.upstream)
      t.match(patch, new RegExp(`^PATCH /jsonapi/publisher_container/${bundleOf('daily')}/${uuid}`))
      t.equal(writes(reply.upstream).length, 1, 'one write')
    })

    t.test('writes nothing when nothing changes', async (t) => {
      const {
        body,
        headers: { etag }
      } = await read(2)
      const { changed: _changed, ...fields } = body
      const same: Array<[what: string, body: object]> = [
        ['an empty body', {}],
        ['the whole edition', body],
        ['the whole edition without changed', fields],
        ['its title', { title: body.title }],
        ['its bundle', { type: body.type }],
        ['bare values', { title: [value(body.title)], field_labels: body.field_labels.map(({ value }: any) => value) }],
        [
          'numbers and booleans as text',
          { field_page_count: [{ value: String(value(body.field_page_count)) }], status: [{ value: value(body.status) ? '1' : '0' }] }
        ],
        [
          'time stamps of another zone',
          {
            created: [{ value: seconds(value(body.created) as string) }],
            changed: [{ value: (value(body.changed) as string).replace('+00:00', 'Z') }]
          }
        ],
        ['references by id alone', { field_articles: targets(body.field_articles).map((id) => ({ target_id: id })) }],
        ['references by uuid alone', { field_articles: body.field_articles.map(({ target_uuid: uuid }: any) => ({ target_uuid: uuid })) }],
        ['an empty map', { field_link: [{ ...body.field_link[0], options: {} }] }],
        ['references by bare ids', { field_articles: targets(body.field_articles) }],
        ['a field that is empty', { revision_log: [], field_cover: body.field_cover }],
        [
          'properties that nobody knows',
          { title: [{ ...body.title[0], nosuch: 1 }], field_articles: body.field_articles.map((item: object) => ({ ...item, nosuch: 1 })) }
        ]
      ]
      for (const [what, sent] of same) {
        const reply = await post(2, sent)
        t.equal(reply.status, 200, what)
        t.strictSame(reply.body, body, what)
        t.equal(reply.headers.etag, etag, what)
        t.strictSame(writes(reply.upstream), [], `${what}: no write`)
      }
    })

    t.test('reorders, replaces and empties references and values', async (t) => {
      const { body } = await read(5)
      const reversed = [...body.field_articles].reverse()
      t.strictSame((await post(5, { field_articles: reversed })).body.field_articles, reversed)
      t.strictSame(
        targets((await post(5, { field_articles: [{ target_id: 99 }, { target_uuid: reversed[0].target_uuid }] })).body.field_articles),
        [99, reversed[0].target_id]
      )
      t.strictSame((await post(5, { field_labels: [{ value: 'z' }, { value: 'a' }] })).body.field_labels, [{ value: 'z' }, { value: 'a' }])
      const cover = await post(5, { field_cover: [{ ...body.field_cover[0], alt: 'Another' }] })
      t.strictSame(cover.body.field_cover, [{ ...body.field_cover[0], alt: 'Another' }])
      const link = { uri: 'https://paper.example/', title: null, options: { attributes: { class: ['a', 'b'], rel: {} } } }
      t.strictSame((await post(5, { field_link: [link] })).body.field_link, [link])
      t.strictSame(
        writes((await post(5, { field_link: [{ ...link, options: { attributes: { class: ['a', 'b'], rel: [] } } }] })).upstream),
        []
      )
      const emptied = await post(5, {
        field_articles: [],
        field_section: null,
        field_cover: [],
        field_labels: null,
        field_description: [],
        field_page_count: [],
        field_link: [null]
      })
      t.equal(emptied.status, 200)
      for (const field of [
        'field_articles',
        'field_section',
        'field_cover',
        'field_labels',
        'field_description',
        'field_page_count',
        'field_link'
      ]) {
        t.strictSame(emptied.body[field], [], field)
      }
      t.strictSame(emptied.body.title, body.title)
      t.strictSame((await post(5, body)).status, 409, 'the edition as it was is out of date')
      const { changed: _changed, ...fields } = body
      const back = await post(5, fields)
      t.equal(back.status, 200)
      t.strictSame(ownOnly(back.body), ownOnly(body))
      failed(
        t,
        'emptied though required',
        await post(5, { title: [] }),
        422,
        'UNPROCESSABLE',
        'Unprocessable Entity: validation failed.\ntitle: This value should not be null.\n'
      )
    })

    t.test('refuses another id, uuid or bundle that does not exist; another bundle is ignored', async (t) => {
      const refused: Array<[body: object, status: number, code: string, message: string]> = [
        [{ id: [{ value: 2 }] }, 403, 'CMS_FORBIDDEN', "Access denied on updating field 'id'. The entity ID cannot be changed."],
        [{ id: [] }, 403, 'CMS_FORBIDDEN', "Access denied on updating field 'id'. The entity ID cannot be changed."],
        [
          { uuid: [{ value: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa' }] },
          403,
          'CMS_FORBIDDEN',
          "Access denied on updating field 'uuid'. The entity UUID cannot be changed."
        ],
        [{ type: [{ target_id: 'weekly' }] }, 422, 'UNPROCESSABLE', '"weekly" is not a valid bundle type for denormalization.'],
        [{ title: 'scalar' }, 422, 'UNPROCESSABLE', 'Field values for "title" must use an array structure'],
        [
          { nosuch: [{ value: 1 }] },
          422,
          'UNPROCESSABLE',
          `The attribute nosuch does not exist on the publisher_container--${bundleOf('daily')} resource type.`
        ],
        [
          { field_internal_note: [{ value: 'x' }] },
          403,
          'CMS_FORBIDDEN',
          "Access denied on updating field 'field_internal_note'. The 'access publisher internal note' permission is required."
        ],
        [
          { field_articles: [{ target_id: '' }] },
          422,
          'UNPROCESSABLE',
          'Unprocessable Entity: validation failed.\nfield_articles.0.target_id: This value should be of the correct primitive type.\n'
        ],
        [{ changed: [] }, 403, 'CMS_FORBIDDEN', "Access denied on updating field 'changed'."],
        [
          { field_articles: [{ target_id: 99999 }] },
          422,
          'UNPROCESSABLE',
          'Unprocessable Entity: validation failed.\nfield_articles.0.target_id: The referenced entity (node: 99999) does not exist.\n'
        ]
      ]
      const before = await read(9)
      for (const [body, status, code, message] of refused) {
        failed(t, JSON.stringify(body), await post(9, { ...body, field_featured: [{ value: false }] }), status, code, message)
      }
      t.strictSame((await read(9)).body, before.body, 'nothing was saved')
      const other = await post(9, { type: [{ target_id: bundleOf('special') }], title: [{ value: 'Still daily' }] })
      t.equal(other.status, 200)
      t.strictSame(other.body.type, before.body.type)
    })

    t.test('answers 409 to an edition that is out of date, in words an editor understands', async (t) => {
      const mine = (await read(3)).body
      t.equal((await post(3, { title: [{ value: 'Theirs' }] }, { as: 'editor2' })).status, 200)
      const stale = await post(3, { ...mine, title: [{ value: 'Mine' }] })
      failed(
        t,
        'stale',
        stale,
        409,
        'STALE_EDIT',
        /^Somebody else has saved this edition at \S+, after you opened it\. Nothing of yours was saved: load the edition again/
      )
      t.strictSame(writes(stale.upstream), [])
      const again = (await read(3)).body
      t.equal(value(again.title), 'Theirs')
      const merged = await post(3, { ...again, title: [{ value: 'Merged' }] })
      t.strictSame([merged.status, value(merged.body.title)], [200, 'Merged'])
      failed(t, 'changed that is no time', await post(3, { changed: [{ value: 'yesterday' }] }), 409, 'STALE_EDIT')
    })

    t.test('If-Match: two editors with the same edition, the second of whom is told 412', async (t) => {
      const [one, two] = [await read(10), await read(10, 'editor2')]
      const fields = (etag: unknown) => String(etag).split('.')[0]
      t.equal(fields(one.headers.etag), fields(two.headers.etag), 'who may not see the same aliases')
      const saved = await post(10, { title: [{ value: 'First' }] }, { ifMatch: one.headers.etag })
      t.equal(saved.status, 200)
      const refused = await post(10, { field_labels: [{ value: 'second' }] }, { as: 'editor2', ifMatch: two.headers.etag })
      failed(t, 'second', refused, 412, 'PRECONDITION_FAILED', /^Somebody else has saved this edition since you read it/)
      t.strictSame(writes(refused.upstream), [])
      t.equal(fields(refused.headers.etag), fields(saved.headers.etag), 'the tag to go on with')
      const again = await post(
        10,
        { field_labels: [{ value: 'second' }] },
        { as: 'editor2', ifMatch: `"other", ${String(refused.headers.etag)}` }
      )
      t.strictSame([again.status, value(again.body.title), value(again.body.field_labels)], [200, 'First', 'second'])
      t.equal((await post(10, { title: [{ value: 'Any' }] }, { ifMatch: '*' })).status, 200)
      for (const wrong of ['"nonsense"', 'W/"10-1"', '']) {
        failed(t, wrong, await post(10, {}, { ifMatch: wrong }), 412, 'PRECONDITION_FAILED')
      }
    })

    t.test('without either the last writer wins, each with the fields sent', async (t) => {
      const replies = await Promise.all([
        post(11, { title: [{ value: 'A' }] }),
        post(11, { field_labels: [{ value: 'B' }] }, { as: 'editor2' })
      ])
      t.strictSame(
        replies.map(({ status }) => status),
        [200, 200]
      )
      const { body } = await read(11)
      t.strictSame([value(body.title), value(body.field_labels)], ['A', 'B'])
    })

    t.test('leaves who may change to the CMS; what is not there answers 404', async (t) => {
      const nobody = await call('POST', '/api/collection/1', { body: { title: [{ value: 'x' }] } })
      failed(t, 'nobody', nobody, 401, 'CMS_UNAUTHORIZED')
      failed(
        t,
        'a reader',
        await post(1, { title: [{ value: 'x' }] }, { as: 'reader' }),
        403,
        'CMS_FORBIDDEN',
        "The 'update publisher_container' permission is required."
      )
      for (const id of ['9999', '9999999999999999999', '00000000-0000-4000-8000-00000000ffff']) {
        const reply = await post(id, { title: [{ value: 'x' }] })
        failed(t, id, reply, 404, 'NOT_FOUND', `There is no edition ${id}`)
        t.strictSame(writes(reply.upstream), [])
      }
    })
  })

  t.test(`read, with ${name}`, async (t) => {
    const { call, url } = await open(t, { content: content() })

    t.test('answers 200 by integer id and by uuid, the first time as ever after', async (t) => {
      for (const known of [
        editionsOf(content())[0]!,
        ...editionsOf(content())
          .filter(({ type }) => type === 'special')
          .slice(-2)
      ]) {
        const byId = await call('GET', `/api/collection/${known.id}`, { as: 'editor' })
        t.equal(byId.status, 200)
        t.match(byId.headers.etag, /^"[\w-]{16}\.[\w-]{16}"$/)
        t.strictSame([value(byId.body.uuid), value(byId.body.title), byId.body.type[0].target_id], [known.uuid, known.title, known.bundle])
        for (const id of [known.id, known.uuid, known.uuid.toUpperCase()]) {
          const again = await call('GET', `/api/collection/${id}`, { as: 'editor' })
          t.strictSame(again.body, byId.body)
          t.equal(again.upstream.length, 1, 'one request once the edition is known')
        }
      }
      const fresh = await open(t, { content: content() })
      const special = editionsOf(content()).findLast(({ type }) => type === 'special')!
      const byUuid = await fresh.call('GET', `/api/collection/${special.uuid}`, { as: 'editor' })
      t.strictSame(byUuid.body.field_articles, (await call('GET', `/api/collection/${special.id}`, { as: 'editor' })).body.field_articles)
      t.equal(byUuid.body.type[0].target_id, special.bundle)
    })

    t.test("gives references the urls of core REST: a path alias, a file's address, a canonical path", async (t) => {
      const { body } = await call('GET', '/api/collection/5', { as: 'editor' })
      t.strictSame(
        body.field_articles.map(({ target_id: id, url }: any) => [id, url]),
        [
          [9, '/node/9'],
          [10, '/articles/museum-returns-twelve-masks-to-cameroon'],
          [11, '/node/11'],
          [12, '/node/12'],
          [13, '/node/13'],
          [14, '/node/14']
        ]
      )
      t.equal(body.field_cover[0].url, `${url}/sites/default/files/covers/cover%205.jpg`)
      t.strictSame([body.field_section[0].url, body.uid[0].url, body.revision_uid[0].url], ['/taxonomy/term/5', '/user/2', '/user/2'])
      t.notOk('url' in body.type[0])
      const unpublished = (await call('GET', '/api/collection/10', { as: 'reader' })).body.field_articles.find(
        (item: any) => item.target_id === 20
      )
      t.match(unpublished, { target_id: 20, target_type: 'node', url: '/node/20' }, 'an alias that the caller may not see')
    })

    t.test('what the CMS does not show is not there', async (t) => {
      t.notOk('field_internal_note' in (await call('GET', '/api/collection/5', { as: 'reader' })).body)
      for (const id of ['61', '9999999999999999999', '00000000-0000-4000-8000-00000000ffff']) {
        failed(t, id, await call('GET', `/api/collection/${id}`, { as: 'editor' }), 404, 'NOT_FOUND', `There is no edition ${id}`)
      }
      const hidden = editionsOf(content()).find(({ published }) => !published)!
      failed(t, 'by id before anybody has read it', await call('GET', `/api/collection/${hidden.id}`, { as: 'reader' }), 404, 'NOT_FOUND')
      t.equal((await call('GET', `/api/collection/${hidden.id}`, { as: 'editor' })).status, 200)
      for (const id of [hidden.id, hidden.uuid]) {
        failed(
          t,
          `${id} as a reader`,
          await call('GET', `/api/collection/${id}`, { as: 'reader' }),
          403,
          'CMS_FORBIDDEN',
          "The 'view unpublished publisher_container' permission is required."
        )
        failed(
          t,
          `${id} as nobody`,
          await call('GET', `/api/collection/${id}`),
          401,
          'CMS_UNAUTHORIZED',
          'No authentication credentials provided.'
        )
        failed(
          t,
          `${id} with a wrong password`,
          await call('GET', `/api/collection/${id}`, {
            headers: { authorization: `Basic ${Buffer.from('editor:wrong').toString('base64')}` }
          }),
          403,
          'CMS_FORBIDDEN'
        )
      }
    })

    t.test('bundles and edition types come from the CMS, or are the defaults for those who may not see them', async (t) => {
      const bundles =
        name === 'two bundles'
          ? [
              ['daily', 'Daily Edition'],
              ['special', 'Special Edition']
            ]
          : [['publisher_container', 'Edition']]
      const types = [
        { id: 'daily', label: 'Daily Editions' },
        { id: 'special', label: 'Special Editions' }
      ]
      t.strictSame((await call('GET', '/api/collection/bundles', { as: 'admin' })).body, {
        data: bundles.map(([id, label]) => ({ id, label }))
      })
      t.strictSame(
        (await call('GET', '/api/collection/bundles', { as: 'editor' })).body.data.map(({ id }: any) => id),
        bundles.map(([id]) => id)
      )
      for (const as of ['admin', 'editor', 'reader']) {
        t.strictSame((await call('GET', '/api/publisher-edition/bundles', { as })).body, { data: types }, as)
      }
      t.strictSame((await call('GET', '/api/publisher-edition/bundles')).body, { data: types }, 'nobody')
      if (name === 'two bundles') t.strictSame((await call('GET', '/api/collection/bundles')).body, { data: types }, 'the defaults')
    })

    t.test('edition types are those of the field, whatever they are', async (t) => {
      const own = content()
      for (const { type, config } of own.entities) {
        if (type === 'field_storage_config--field_storage_config') {
          Object.assign(config!, { settings: { allowed_values: { daily: 'Täglich', weekly: 'Wöchentlich' } } })
        }
      }
      const site = await open(t, { content: own })
      t.strictSame((await site.call('GET', '/api/publisher-edition/bundles', { as: 'admin' })).body.data, [
        { id: 'daily', label: 'Täglich' },
        { id: 'weekly', label: 'Wöchentlich' }
      ])
      t.equal((await site.call('GET', '/api/collections/publisher_container?type=weekly', { as: 'admin' })).status, 200)
    })

    t.test('an edition type that nobody gives a label to has its id for one, be it a name that every object has', async (t) => {
      const own = content()
      for (const { type, fields } of own.entities) {
        if (type.startsWith('publisher_container--')) Object.assign(fields!, { field_publisher_edition_type: 'constructor' })
      }
      const site = await open(t, { content: own })
      t.strictSame((await site.call('GET', '/api/publisher-edition/bundles', { as: 'reader' })).body.data.at(-1), {
        id: 'constructor',
        label: 'constructor'
      })
    })
  })
}

t.test('a Drupal that lives under a path and speaks another language', async (t) => {
  const { call, url } = await open(t, { basePath: '/cms' })
  t.match(url, /\/cms$/)
  const { body, upstream } = await call('GET', '/api/collection/5', { as: 'editor' })
  t.equal(value(body.title), 'Friday, 9 October 2026')
  t.ok(upstream.every((line) => line.startsWith('GET /cms/jsonapi')))
  t.match(body.field_articles.slice(0, 2), [{ url: '/cms/node/9' }, { url: '/cms/articles/museum-returns-twelve-masks-to-cameroon' }])
  const created = await call('POST', '/api/collection', { body: { type: 'daily', title: ['T'], field_key: ['base-path'] }, as: 'editor' })
  t.match(created, { status: 201, headers: { location: '/api/collection/61' } })
})

t.test('credentials', async (t) => {
  const seen: Array<{ method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders }> = []
  const edition = {
    type: 'publisher_container--daily',
    id: 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa',
    attributes: { drupal_internal__id: 1, title: 'T' }
  }
  const url = await serve(t, (request, response) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers })
    const sent: Buffer[] = []
    const links = { self: { href: `${url}/jsonapi` }, 'publisher_container--daily': { href: `${url}/jsonapi/publisher_container/daily` } }
    const isEntry = request.url === '/jsonapi'
    const body = () =>
      isEntry
        ? { data: [], links, meta: { links: { me: { href: `${url}/jsonapi/user/user/7` } } } }
        : {
            data: request.url!.includes('?sort')
              ? [edition]
              : {
                  ...edition,
                  ...(request.method === 'POST' && {
                    id: JSON.parse(Buffer.concat(sent).toString()).data.id,
                    attributes: { drupal_internal__id: 2, title: 'T' }
                  })
                }
          }
    request
      .on('data', (chunk) => sent.push(chunk))
      .on('end', () =>
        response.writeHead(200, { 'content-type': 'application/vnd.api+json', 'set-cookie': 'SESSx=y' }).end(JSON.stringify(body()))
      )
  })
  const everything = {
    authorization: 'Basic Zm9vOmJhcg==',
    cookie: 'SESSabc=def; other=1',
    'x-csrf-token': 'token',
    'accept-language': 'de',
    'x-request-id': 'req-7',
    'user-agent': 'editor-ui',
    'x-forwarded-for': '10.1.2.3',
    forwarded: 'for=10.1.2.3',
    'x-consumer-id': 'c',
    origin: 'https://ui.example',
    referer: 'https://ui.example/edit',
    accept: 'text/html',
    'content-type': 'application/json'
  }
  const passthrough = await build(t, { CMS_URL: url })
  const send = async (t: Test, headers: Record<string, string>, app = passthrough) => {
    seen.length = 0
    const replies = [
      await app.inject({ method: 'POST', url: '/api/collection', headers, payload: JSON.stringify({ type: 'daily', title: ['T'] }) }),
      await app.inject({ method: 'GET', url: '/api/collections/daily', headers: { ...headers, 'if-none-match': '"x"' } }),
      await app.inject({ method: 'POST', url: '/api/collection/1', headers, payload: JSON.stringify({ title: ['U'] }) })
    ]
    for (const reply of replies) {
      t.ok(reply.statusCode < 300, reply.body)
      t.strictSame(
        reply.headers['set-cookie'],
        app === passthrough && !headers['authorization'] && headers['cookie'] ? ['SESSx=y'] : undefined,
        'a session goes to none but whose it is'
      )
    }
    const own = ['accept', 'connection', 'host']
    // A service account is tried out in a request of its own, which is nobody's.
    const asked = seen.filter(({ headers }) => headers['x-request-id'])
    const names = asked.map(({ headers }) =>
      Object.keys(headers)
        .filter((name) => !own.includes(name) && !name.startsWith('content-') && name !== 'transfer-encoding')
        .sort()
        .join()
    )
    t.ok(seen.some(({ method }) => method === 'PATCH') && seen.some(({ method }) => method === 'POST'))
    t.ok(asked.every(({ headers }) => headers.accept === 'application/vnd.api+json' && headers['accept-encoding'] === 'identity'))
    return { names: [...new Set(names)], headers: seen.map(({ headers }) => headers) }
  }
  const { authorization: _1, ...withCookie } = everything
  const { cookie: _2, ...withToken } = withCookie

  t.test('passthrough forwards Authorization alone, even where a cookie came along', async (t) => {
    const { names, headers } = await send(t, everything)
    t.strictSame(names, ['accept-encoding,accept-language,authorization,x-request-id'])
    t.ok(
      headers.every(
        (one) => one.authorization === everything.authorization && one['accept-language'] === 'de' && one['x-request-id'] === 'req-7'
      )
    )
  })

  t.test('passthrough forwards Cookie and X-CSRF-Token where there is no Authorization', async (t) => {
    const { names, headers } = await send(t, withCookie)
    t.strictSame(names, ['accept-encoding,accept-language,cookie,x-csrf-token,x-request-id'])
    t.ok(headers.every((one) => one.cookie === 'SESSabc=def' && one['x-csrf-token'] === 'token'))
    const { 'x-csrf-token': _3, ...cookieOnly } = withCookie
    t.strictSame((await send(t, cookieOnly)).names, ['accept-encoding,accept-language,cookie,x-request-id'])
  })

  t.test('passthrough forwards no token without a cookie, and nothing where nothing came', async (t) => {
    t.strictSame((await send(t, withToken)).names, ['accept-encoding,accept-language,x-request-id'])
    t.strictSame((await send(t, { 'content-type': 'application/json' })).names, ['accept-encoding,x-request-id'])
  })

  t.test("basic sends the service account's and never the caller's", async (t) => {
    const { names, headers } = await send(
      t,
      everything,
      await build(t, { CMS_URL: url, CMS_AUTH: 'basic', CMS_USER: 'sérvice', CMS_PASSWORD: 'pa:ss' })
    )
    t.strictSame(names, ['accept-encoding,accept-language,authorization,x-request-id'])
    const wanted = `Basic ${Buffer.from('sérvice:pa:ss').toString('base64')}`
    t.ok(headers.every(({ authorization }) => authorization === wanted))
  })

  t.test('a request id that is none is replaced, and the CMS gets ours', async (t) => {
    const { headers } = await send(t, { 'content-type': 'application/json', 'x-request-id': 'not an id' })
    t.ok(headers.every((one) => /^[0-9a-f-]{36}$/.test(String(one['x-request-id']))))
  })
})

t.test('a session of the CMS works through the service, its token included', async (t) => {
  const { app, url } = await open(t)
  const login = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'editor', pass: 'editor' })
  })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const { csrf_token: token } = (await login.json()) as { csrf_token: string }
  const hidden = editionsOf(newspaper()).find(({ published }) => !published)!
  const get = await app.inject({ url: `/api/collection/${hidden.id}`, headers: { cookie } })
  t.equal(get.statusCode, 200)
  const save = (headers: Record<string, string>) =>
    app.inject({ method: 'POST', url: `/api/collection/${hidden.id}`, headers, payload: { title: [{ value: 'By session' }] } })
  const without = await save({ cookie })
  failed(
    t,
    'no token',
    { status: without.statusCode, headers: without.headers, body: without.json() },
    403,
    'CMS_FORBIDDEN',
    'X-CSRF-Token request header is missing'
  )
  t.equal((await save({ cookie, 'x-csrf-token': token })).statusCode, 200)
  t.equal(
    (await save({ ...basic('editor2'), cookie })).statusCode,
    200,
    'Authorization beside the cookie goes alone, so that no token is asked for'
  )

  t.match(
    (await fetch(`${url}/jsonapi`, { headers: { cookie: `${cookie}x` } })).headers.getSetCookie(),
    [/=deleted;/],
    'Drupal deletes the cookie of a session that has ended'
  )
  t.equal(
    (await app.inject({ url: '/api/collections/daily', headers: { cookie: `${cookie}x` } })).headers['set-cookie'],
    undefined,
    'the service does not: the browser may have a new session under that name'
  )
})

t.test('the sample site of npm run dev is reached with its own account', async (t) => {
  const { call } = await open(t, { env: { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' } })
  t.equal((await call('POST', '/api/collection', { body: { type: 'daily', title: ['T'], field_key: ['k'] } })).status, 201)
  t.equal(
    (await call('GET', '/api/collections/publisher_container?limit=500&total=1', { as: 'reader' })).body.meta.total,
    61,
    'whoever the caller is'
  )
})
