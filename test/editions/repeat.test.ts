import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { contentModel } from '#lib/editions/model.ts'
import { difference, differingFields, normalize } from '#lib/editions/translate/write.ts'
import { openHostile, type HostileDesk, type Said } from './hostile-cms.ts'
import { editionsOf, failed, writes } from './site.ts'

const [existing] = editionsOf(newspaper()) as [ReturnType<typeof editionsOf>[number]]
const uuid = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
const edition = (key: string, more: object = {}) => ({
  type: 'daily',
  title: [{ value: 'Repeated' }],
  field_key: [{ value: key }],
  field_articles: [{ target_id: 4 }],
  ...more
})
const html = { 'content-type': 'text/html' }

/** Loses what is said to writes: `after` they are done or `before`, and to looks as well if `blind`. */
function losing(cms: HostileDesk['cms'], said: Said, when: 'after' | 'before', { blind = false } = {}): void {
  let lost = false
  cms.behave = async ({ method, path }, honest) => {
    if (method === 'GET') return blind && lost && /[\w-]{36}$/.test(path) ? { status: 500, headers: html } : undefined
    lost = true
    if (when === 'after') await honest()
    return said
  }
}

/** How many editions have a key. */
async function count({ call, cms }: HostileDesk, key: string): Promise<number> {
  cms.behave = () => undefined
  return (await call('GET', `/api/collections/publisher_container?key=${key}`, { as: 'editor' })).body.data.length
}

const uncertain: Array<[what: string, said: Said, status: number, code: string]> = [
  ['504', { status: 504, headers: html }, 502, 'CMS_FAILED'],
  ['500', { status: 500, headers: html }, 502, 'CMS_FAILED'],
  ['503 of a gateway', { status: 503, headers: html }, 503, 'CMS_UNAVAILABLE'],
  ['200 without JSON', { status: 200, headers: html, body: 'x' }, 502, 'CMS_INVALID_RESPONSE']
]

for (const [what, said, status, code] of uncertain) {
  t.test(`a create with the uuid of another edition is 409 and not that edition, when the CMS says ${what}`, async (t) => {
    const { call, cms } = await openHostile(t)
    losing(cms, said, 'before')
    const reply = await call('POST', '/api/collection', { as: 'editor', body: edition('taken', { uuid: [{ value: existing.uuid }] }) })
    failed(t, what, reply, 409, 'CONFLICT', /^Another edition has this uuid: it differs from what you sent in .*title, field_key/)
    t.equal(reply.body.uuid, existing.uuid)
    t.equal(reply.headers['location'], `/api/collection/${existing.uuid}`)
  })

  t.test(`a create whose outcome nobody knows after ${what} has a uuid to repeat it with, which makes no second edition`, async (t) => {
    const desk = await openHostile(t)
    const { call, cms } = desk
    const create = (body: object) => call('POST', '/api/collection', { as: 'editor', body })
    losing(cms, said, 'after', { blind: true })
    const lost = await create(edition('lost'))
    failed(t, what, lost, status, code, /; whether your change was saved is not known/)
    t.match(lost.body.uuid, /^[\da-f-]{36}$/)
    cms.behave = () => undefined
    const again = edition('lost', { uuid: [{ value: lost.body.uuid }] })
    for (const time of ['second', 'third']) {
      const repeated = await create(again)
      t.match(
        [repeated.status, repeated.body.uuid, repeated.body.field_key],
        [200, [{ value: lost.body.uuid }], [{ value: 'lost' }]],
        `the ${time} time`
      )
      t.equal(repeated.headers['location'], `/api/collection/${repeated.body.id[0].value}`)
    }
    losing(cms, said, 'before')
    t.equal((await create(again)).status, 201, 'also when the CMS fails once more')
    failed(
      t,
      'with other fields',
      await create({ ...again, title: [{ value: 'Other' }] }),
      409,
      'CONFLICT',
      /it differs from what you sent in title\./
    )
    cms.behave = () => undefined
    failed(
      t,
      'with other fields',
      await create({ ...again, title: [{ value: 'Other' }] }),
      409,
      'CONFLICT',
      /it differs from what you sent in title\./
    )
    failed(t, 'of another bundle', await create({ ...again, type: 'special' }), 409, 'CONFLICT', /it differs from what you sent in type\./)
    t.equal(await count(desk, 'lost'), 1)
  })
}

t.test('a create that was not saved is made by the repetition', async (t) => {
  const desk = await openHostile(t)
  const { call, cms } = desk
  losing(cms, { status: 500, headers: html }, 'before')
  const lost = await call('POST', '/api/collection', { as: 'editor', body: edition('unsaved') })
  failed(t, 'unsaved', lost, 502, 'CMS_FAILED', /; nothing was saved$/)
  cms.behave = () => undefined
  const again = await call('POST', '/api/collection', { as: 'editor', body: edition('unsaved', { uuid: [{ value: lost.body.uuid }] }) })
  t.match([again.status, again.body.uuid], [201, [{ value: lost.body.uuid }]])
  t.equal(await count(desk, 'unsaved'), 1)
})

t.test('an update whose outcome nobody knows names the edition', async (t) => {
  const { call, cms } = await openHostile(t)
  await call('GET', `/api/collection/${existing.id}`, { as: 'editor' })
  for (const [what, said, status, code] of uncertain) {
    losing(cms, said, 'after', { blind: true })
    const reply = await call('POST', `/api/collection/${existing.id}`, { as: 'editor', body: { title: [{ value: what }] } })
    failed(t, what, reply, status, code, /; whether your change was saved is not known/)
    t.equal(reply.body.uuid, existing.uuid)
  }
})

t.test('a refusal stays one where no edition has the uuid, or it cannot be looked up', async (t) => {
  const { call, cms } = await openHostile(t)
  const create = (body: object) => call('POST', '/api/collection', { as: 'editor', body })
  const wrong = edition('wrong', { uuid: [{ value: uuid }], field_page_count: [{ value: -1 }] })
  failed(t, 'invalid', await create(wrong), 422, 'UNPROCESSABLE', /field_page_count/)
  const { upstream } = await create({ ...edition('wrong'), field_page_count: [{ value: -1 }] })
  t.equal(upstream.length, writes(upstream).length, 'a uuid of our own is looked for after a conflict alone')
  cms.behave = ({ method, path }) =>
    method === 'GET' && path.endsWith(existing.uuid) ? { status: 409, body: { errors: [{ detail: 'strange' }] } } : undefined
  failed(
    t,
    'taken',
    await create(edition('taken', { uuid: [{ value: existing.uuid }] })),
    409,
    'CONFLICT',
    'Conflict: Entity already exists.'
  )
})

t.test('a uuid that is no text is refused as core refuses values of other types', async (t) => {
  const { call } = await openHostile(t)
  failed(
    t,
    'object',
    await call('POST', '/api/collection', { as: 'editor', body: edition('x', { uuid: [{ value: { toString: 5 } }] }) }),
    422,
    'UNPROCESSABLE',
    /uuid\.0\.value: This value should be of the correct primitive type/
  )
})

t.test('a create with a text that differs by a zero is another one', async (t) => {
  const { call } = await openHostile(t)
  const create = (title: string) =>
    call('POST', '/api/collection', { as: 'editor', body: edition('zero', { uuid: [{ value: uuid }], title: [{ value: title }] }) })
  t.equal((await create('7.1')).status, 201)
  t.equal((await create('7.1')).status, 200)
  failed(t, '7.10', await create('7.10'), 409, 'CONFLICT', /it differs from what you sent in title\./)
})

t.test('only a field that is known as a decimal is compared as one', (t) => {
  const shown = {
    type: 'publisher_container--daily',
    id: uuid,
    attributes: { title: '7.1', field_key: '2026-01-01T10:00:00+00:00', field_price: '2.50', field_other: '2.50' }
  }
  const model = contentModel({ decimalFields: ['field_price'] })
  const differing = (body: object) => differingFields(normalize(body as Record<string, unknown>, model), shown, model)
  t.strictSame(differing({ title: [{ value: '7.1' }], field_price: [{ value: '2.5' }], field_other: [{ value: '2.50' }] }), [])
  t.strictSame(differing({ title: [{ value: '7.10' }], field_price: [{ value: '2.05' }], field_other: [{ value: '2.5' }] }), [
    'title',
    'field_price',
    'field_other'
  ])
  t.strictSame(differing({ field_key: [{ value: '2026-01-01T11:00:00+01:00' }] }), ['field_key'], 'nor is a text a date')
  const changed = (body: object) => Object.keys(difference(normalize(body as Record<string, unknown>, model), shown, model))
  t.strictSame(changed({ field_price: [{ value: '2.5' }], field_other: [{ value: '2.5' }] }), ['field_other'])
  t.strictSame(changed({ field_price: [2.5] }), [])
  t.end()
})

t.test('what an edition shows of what was sent to create it', (t: Test) => {
  const model = contentModel({ rawFields: ['field_map'], decimalFields: ['field_price'] })
  const shown = {
    type: 'publisher_container--daily',
    id: uuid,
    attributes: {
      title: 'T',
      created: '2026-01-01T10:00:00+00:00',
      field_at: '2026-01-01T03:00:00+01:00',
      field_text: { value: 'x', format: 'basic_html', processed: '<p>x</p>' },
      field_price: '2.50',
      field_code: '007',
      field_flag: true,
      field_map: [{ a: 1 }],
      field_none: null
    },
    relationships: {
      field_cover: {
        data: {
          type: 'file--file',
          id: '00000000-0000-4000-8000-00000000000a',
          meta: { drupal_internal__target_id: 5, alt: 'A', width: 100 }
        }
      }
    }
  }
  const differing = (body: object) => differingFields(normalize(body as Record<string, unknown>, model), shown, model)
  const same = {
    uuid: [{ value: uuid.toUpperCase() }],
    type: 'daily',
    title: 'T',
    created: '2026-01-01T11:00:00.500+01:00',
    field_at: '2026-01-01T02:00:00.000Z',
    field_text: { value: 'x', processed: 'no' },
    field_price: 2.5,
    field_code: '007',
    field_flag: 1,
    field_map: [{ a: 1 }],
    field_none: []
  }
  const items = Object.fromEntries(
    Object.entries(same).map(([field, value]) => [field, typeof value === 'object' || field === 'type' ? value : [{ value }]])
  )
  t.strictSame(differing(items), [])
  for (const cover of [
    { target_id: 5 },
    { target_id: '5', url: '/x' },
    5,
    { target_uuid: '00000000-0000-4000-8000-00000000000A', alt: 'A' }
  ]) {
    t.strictSame(differing({ field_cover: [cover] }), [], JSON.stringify(cover))
  }
  const others: Record<string, unknown> = {
    title: [{ value: 'U' }],
    created: [{ value: '2026-01-01T10:00:01+00:00' }],
    field_at: [{ value: '2026-01-01T02:00:00' }],
    field_text: [{ value: 'x', format: 'plain_text' }],
    field_price: [{ value: '2.51' }],
    field_code: [{ value: '7' }],
    field_flag: [],
    field_map: [{ a: 2 }],
    field_none: [{ value: 0 }],
    field_cover: [{ target_id: 5, alt: 'B' }],
    field_unheard: [{ value: 'x' }]
  }
  for (const [field, value] of Object.entries(others)) t.strictSame(differing({ [field]: value }), [field])
  t.strictSame(differing({ field_cover: [{ target_id: 6 }] }), ['field_cover'])
  t.strictSame(differing({ field_cover: [{ target_uuid: uuid }] }), ['field_cover'])
  t.end()
})
