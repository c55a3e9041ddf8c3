import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { contentModel } from '#lib/editions/model.ts'
import { createTimeFields } from '#lib/editions/site/times.ts'
import { newCaller } from '#lib/http/calls.ts'
import type { Resource } from '#lib/drupal/document.ts'
import publisher from '../../config/content-model.json' with { type: 'json' }
import { newspaper } from '../../dev/content.ts'
import { editionsOf, open } from './site.ts'

const collections = [{ resourceType: 'node--issue', entityType: 'node', bundle: 'issue', path: '/node/issue' }]

const issue = (attributes: Record<string, unknown>, more: object = {}): Resource => ({
  type: 'node--issue',
  id: 'uuid-1',
  attributes,
  ...more
})

/** Time fields of a site whose filters find these fields by their seconds, and what it was asked. */
function timesOf({ finds = [] as string[], fails = false } = {}) {
  const model = contentModel({ timestampFields: ['changed'], rawFields: ['field_map'] })
  const asked: string[] = []
  const warnings: string[] = []
  const times = createTimeFields({
    model,
    catalog: { all: async () => collections },
    warn: (message) => warnings.push(message),
    cms: {
      request: async ({ path, query = [] }) => {
        const [name, seconds] = [...query].at(-1)!
        asked.push(`${path} ${name}=${seconds}`)
        if (fails) throw new Error('The CMS is away')
        const isFound = finds.some((field) => name === `filter[${field}]`)
        return { status: 200, document: { data: isFound ? [issue({})] : [] } } as never
      }
    }
  })
  return { model, asked, warnings, learn: (...editions: Resource[]) => times.learn(editions, newCaller()) }
}

t.test('a field that shows a time in UTC is a time stamp if its seconds find it', async (t) => {
  const { model, asked, warnings, learn } = timesOf({ finds: ['publish_on', 'field_many'] })
  await learn(
    issue({
      changed: '2026-01-01T00:00:00+00:00',
      publish_on: '2026-01-02T00:00:00+00:00',
      field_many: ['2026-01-03T00:00:00+00:00'],
      field_day: '2026-01-01T00:00:00+01:00',
      field_date: '2026-01-04T00:00:00+00:00',
      field_text: '2026-01-01T00:00:00 and so on',
      field_map: '2026-01-05T00:00:00+00:00',
      field_none: null
    }),
    issue({ publish_on: '2026-01-06T00:00:00+00:00' })
  )
  t.strictSame(asked, [
    '/node/issue filter[publish_on]=1767312000',
    '/node/issue filter[field_many]=1767398400',
    '/node/issue filter[field_date]=1767484800'
  ])
  t.strictSame(model.timestampFields, ['changed', 'publish_on', 'field_many'])
  t.match(warnings[0], /^publish_on holds time stamps: name it in timestampFields/)
  await learn(issue({ publish_on: '2026-01-07T00:00:00+00:00', field_date: '2026-01-08T00:00:00+00:00' }))
  t.equal(asked.length, 3, 'each is asked about once')
})

t.test('what cannot be told stays open, and reading goes on', async (t) => {
  const away = timesOf({ fails: true })
  await away.learn(issue({ publish_on: '2026-01-02T00:00:00+00:00' }))
  t.strictSame([away.asked.length, away.model.timestampFields], [1, ['changed']])
  const draft = timesOf({ finds: ['publish_on'] })
  await draft.learn(issue({ publish_on: '2026-01-02T00:00:00+00:00' }, { links: { 'latest-version': { href: '/' } } }))
  t.strictSame(draft.asked, [], 'filters do not look among drafts')
  await draft.learn({ ...issue({ publish_on: '2026-01-02T00:00:00+00:00' }), type: 'node--page' })
  t.strictSame(draft.asked, [], 'nor where JSON:API has no collection')
  const many = timesOf()
  const nine = issue(Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`field_${index}`, '2026-01-02T00:00:00+00:00'])))
  await many.learn(nine)
  t.equal(many.asked.length, 5, 'a few at once')
  await many.learn(nine)
  t.equal(many.asked.length, 9, 'and the others next')
  const twice = timesOf({ finds: ['publish_on'] })
  const edition = issue({ publish_on: '2026-01-02T00:00:00+00:00' })
  const first = twice.learn(edition)
  await twice.learn(edition)
  t.strictSame(twice.model.timestampFields, ['changed', 'publish_on'], 'who comes second waits for the same answer')
  await first
  t.equal(twice.asked.length, 1)
})

t.test('a time stamp that the content model does not name has its format at the first read', async (t) => {
  const file = join(t.testdir(), 'model.json')
  writeFileSync(file, JSON.stringify({ ...publisher, timestampFields: ['created', 'changed', 'revision_timestamp'] }))
  const { call } = await open(t, { env: { CONTENT_MODEL: file } })
  let times = 0
  for (const { id } of editionsOf(newspaper()).slice(0, 8)) {
    const { body } = await call('GET', `/api/collection/${id}`, { as: 'admin' })
    for (const item of body.field_expires) {
      times++
      t.match(item, { value: /\+00:00$/, format: 'Y-m-d\\TH:i:sP' })
    }
    for (const item of body.field_published_at) t.notOk('format' in item, 'a date has none')
  }
  t.ok(times > 0)
})
