import t from 'tap'
import type { CmsContent } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { openHostile, JSONAPI } from './hostile-cms.ts'
import { failed, open, writes } from './site.ts'

const field = 'field_publisher_edition_type'
const body = (key: string, members: object) => ({ title: ['T'], field_key: [key], ...members })
const typeIn = (edition: any) => edition[field].map(({ value }: { value: string }) => value)

t.test('a create with only the bundle has the edition type of that name', async (t) => {
  const { call } = await open(t)
  const create = (key: string, members: object) => call('POST', '/api/collection', { body: body(key, members), as: 'editor' })
  for (const bundle of ['daily', 'special']) {
    for (const type of [bundle, [bundle], [{ target_id: bundle }]]) {
      const { status, body, upstream } = await create(`${bundle}-${JSON.stringify(type)}`, { type })
      t.strictSame([status, typeIn(body), body.type[0].target_id], [201, [bundle], bundle])
      t.equal(writes(upstream).length, 1)
    }
    const listed = await call('GET', `/api/collections/publisher_container?type=${bundle}&limit=1`, { as: 'editor' })
    t.strictSame(typeIn(listed.body.data[0]), [bundle], 'it is found by its type')
  }
  t.strictSame(typeIn((await create('both', { type: 'daily', [field]: ['daily'] })).body), ['daily'])
  for (const [key, empty] of [
    ['list', []],
    ['null', null],
    ['item', [{ value: null }]]
  ] as const) {
    t.strictSame(typeIn((await create(key, { type: 'daily', [field]: empty })).body), [], 'who says that there is none is believed')
  }
})

t.test('a bundle and an edition type that contradict each other answer 422', async (t) => {
  const { call } = await open(t)
  for (const [bundle, type] of [
    ['daily', 'special'],
    ['special', 'daily']
  ] as const) {
    const reply = await call('POST', '/api/collection', { body: body('contradiction', { type: bundle, [field]: [type] }), as: 'editor' })
    const message = `The edition type "${type}" contradicts the bundle "${bundle}".`
    failed(t, bundle, reply, 422, 'UNPROCESSABLE', `Unprocessable Entity: validation failed.\n${field}.0.value: ${message}\n`)
    t.strictSame(reply.body.violations, [{ path: `${field}.0.value`, message }])
    t.strictSame(writes(reply.upstream), [])
  }
  const unknown = await call('POST', '/api/collection', { body: body('unknown', { type: 'daily', [field]: ['weekly'] }), as: 'editor' })
  failed(t, 'what is no edition type Drupal refuses', unknown, 422, 'UNPROCESSABLE', /The value you selected is not a valid choice\.\n$/)
})

t.test('where bundles and edition types have other names nothing is added, nor contradicted', async (t) => {
  const sites: Array<[what: string, content: CmsContent, bundle: string]> = [
    ['one bundle', singleBundleNewspaper(), 'publisher_container'],
    ['types of other names', renamed(), 'daily']
  ]
  for (const [what, content, bundle] of sites) {
    const { call } = await open(t, { content })
    const plain = await call('POST', '/api/collection', { body: body('plain', { type: bundle }), as: 'admin' })
    t.strictSame([plain.status, typeIn(plain.body)], [201, []], what)
    const type = what === 'one bundle' ? 'special' : 'weekend'
    const typed = await call('POST', '/api/collection', { body: body('typed', { type: bundle, [field]: [type] }), as: 'admin' })
    t.strictSame([typed.status, typeIn(typed.body)], [201, [type]], what)
  }
})

/** A site whose edition types are none of its bundles. */
function renamed(): CmsContent {
  const content = newspaper()
  for (const { type, config, fields } of content.entities) {
    if (type === 'field_storage_config--field_storage_config') {
      Object.assign(config!, { settings: { allowed_values: { weekday: 'Weekday', weekend: 'Weekend' } } })
    }
    if (type.startsWith('publisher_container--')) Object.assign(fields!, { [field]: 'weekday' })
  }
  return content
}

t.test('an edition type that nobody sent is left out where Drupal does not take it', async (t) => {
  const content = newspaper()
  content.entities = content.entities.filter(({ type }) => type !== 'publisher_container--special')
  const { call, cms } = await openHostile(t, { content })
  const refusals: Array<[status: number, error: object]> = [
    [422, { detail: `The attribute ${field} does not exist on the publisher_container--special resource type.` }],
    [
      403,
      { detail: `The current user is not allowed to POST the selected field (${field}).`, source: { pointer: `/data/attributes/${field}` } }
    ],
    [422, { detail: `${field}.0: The value you selected is not a valid choice.`, source: { pointer: `/data/attributes/${field}/0` } }]
  ]
  for (const [index, [status, error]] of refusals.entries()) {
    cms.behave = ({ method, body }) =>
      method === 'POST' && body.includes(field)
        ? { status, headers: JSONAPI, body: { errors: [{ status: String(status), ...error }] } }
        : undefined
    const {
      status: saved,
      body: edition,
      upstream
    } = await call('POST', '/api/collection', { body: body(`left-out-${index}`, { type: 'special' }), as: 'editor' })
    t.strictSame([saved, edition[field], writes(upstream).length], [201, [], 2], JSON.stringify(error))
    const sent = await call('POST', '/api/collection', {
      body: body(`sent-${index}`, { type: 'special', [field]: ['special'] }),
      as: 'editor'
    })
    t.strictSame([sent.status, writes(sent.upstream).length], [status, 1], 'what was sent is not')
  }
  cms.behave = ({ method, body }) =>
    method === 'POST' && body.includes(field)
      ? {
          status: 422,
          headers: JSONAPI,
          body: { errors: [{ status: '422', detail: 'title: No.', source: { pointer: '/data/attributes/title' } }] }
        }
      : undefined
  failed(
    t,
    'another refusal',
    await call('POST', '/api/collection', { body: body('other', { type: 'special' }), as: 'editor' }),
    422,
    'UNPROCESSABLE',
    /title: No\./
  )
})
