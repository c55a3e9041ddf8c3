import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { basicAccount } from '../../../lib/drupal/accounts.ts'
import { Failure } from '../../../lib/errors.ts'
import { createHttp } from '../../../lib/http/client.ts'
import { createLocks } from '../../../lib/locks/locks.ts'
import { createJournal } from '../../../lib/saves/journal.ts'
import { systemTime } from '../../../lib/time.ts'
import model from '../../../config/content-model.json' with { type: 'json' }
import { createCms, type CmsContent } from '../../drupal-stand-in/cms.ts'
import { checkCms } from '../doctor/cms.ts'
import type { Records } from '../doctor/restored.ts'
import { report } from '../diagnosis.ts'
import { startHostileCms, type HostileCms } from '../../../test/editions/hostile-cms.ts'
import { build } from '../../../test/helper.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'

const NEW_YEAR = Date.UTC(2027, 0, 1)
const REMEDY = 'where Drupal was restored from a dump, do what docs/operations.md says under "After Drupal was restored from a dump"'

/** A site on which somebody worked by Quoin, and the lock table of that. */
async function workedOn(t: Test, entities: CmsContent['entities'] = []) {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  const content = { ...newspaper(), entities: [...newspaper().entities, ...entities] }
  const cms = createCms({ content, now: () => NEW_YEAR })
  t.teardown(() => cms.close())
  const url = await cms.listen()
  const env = { DYNAMODB_ENDPOINT: endpoint, CMS_URL: url, CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const app = await build(t, env)
  const send = async (method: 'POST' | 'PUT', path: string, body: object) => {
    const reply = await app.inject({ method, url: path, body })
    if (reply.statusCode >= 300) throw new Error(reply.body)
    return reply.json()
  }
  const at = { client, table: 'DataState', environment: 'test' }
  const records: Records = {
    locks: createLocks(at),
    journal: createJournal({ ...at, days: 30, model: contentModel(model), warn: () => {}, time: systemTime })
  }
  return { content, url, send, records }
}

/** What the doctor says of the lock table beside a site. */
async function said(t: Test, url: string, records: Records, changes: object = {}): Promise<{ lines: string[]; right: boolean }> {
  const http = createHttp({ url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const lines: string[] = []
  const account = basicAccount({ http, jsonapiPath: '/jsonapi' }, 'admin', 'admin')
  const at = { http, url, jsonapiPath: '/jsonapi', account, model: contentModel({ ...model, ...changes }) }
  const right = await report(checkCms({ ...at, records }), (line) => lines.push(line))
  return { lines: lines.filter((line) => /^.{5}(?:journal|locks|older states)/.test(line)), right }
}

/** The site as its dump has it: nothing of the work is there. */
const restored = (t: Test, content: CmsContent): Promise<HostileCms> => startHostileCms(t, { content, now: () => NEW_YEAR })

const lock = { fieldName: 'title', userData: { uid: '7', name: 'Anna' } }
const retitled = { title: [{ value: 'Late edition' }] }

t.test('a site that nobody restored has no older state than the journal', async (t) => {
  const { url, send, records } = await workedOn(t)
  await send('POST', '/api/collection/60', retitled)
  await send('POST', '/api/cloud/data-state/publisher_container/60', lock)
  t.strictSame(await said(t, url, records), {
    lines: [
      'ok   journal: Drupal has no older state than it of 35 editions',
      'ok   locks: there are none of publisher_container after the newest, 60'
    ],
    right: true
  })
})

t.test('a site that was restored from a dump is told by the journal, and by locks on ids that are free again', async (t) => {
  const { content, send, records } = await workedOn(t)
  for (const id of [60, 59, 58, 57]) await send('POST', `/api/collection/${id}`, retitled)
  const created = await send('POST', '/api/collection', {
    type: [{ target_id: 'daily' }],
    title: [{ value: 'Made after the dump' }],
    field_key: [{ value: randomUUID() }]
  })
  t.equal(created.id[0].value, 61)
  await send('POST', '/api/cloud/data-state/publisher_container/61', lock)
  const { url, asked } = await restored(t, content)
  const { lines, right } = await said(t, url, records)
  t.notOk(right)
  t.match(
    lines[0],
    /^! {4}journal: Drupal has older states than it of 4 of 35 editions: \d+ \(changed 2027-01-01T00:00:00\.000Z, in Drupal 2026-\S+Z\), /
  )
  t.equal(lines[0]!.match(/\(changed /g)!.length, 3, 'three are named')
  t.ok(lines[0]!.endsWith(REMEDY))
  t.strictSame(lines.slice(1), [
    `-    locks: there are some of publisher_container 61, and admin sees none after 60: those who see them may tell; ${REMEDY}`
  ])
  t.notOk(asked.some(({ method, path }) => method !== 'GET' && !/^POST \/jsonapi\/publisher_container\/\w+$/.test(`${method} ${path}`)))
})

t.test('what cannot be compared is not taken for a sign of a dump', async (t) => {
  const { content, send, records } = await workedOn(t)
  await send('POST', '/api/collection/60', retitled)
  const cms = await restored(t, content)
  const first = async () => (await said(t, cms.url, records)).lines[0]
  const none = (count: number) => `ok   journal: Drupal has no older state than it of ${count} editions`

  cms.behave = ({ query }) =>
    query.get('resourceVersion') === 'rel:working-copy' ? { status: 403, body: { errors: [{ status: '403' }] } } : undefined
  t.equal(await first(), none(34), 'a working copy that is not shown')

  cms.behave = async ({ query }, honest) => {
    const answer = await honest()
    if (query.get('resourceVersion') !== 'rel:working-copy') return answer
    answer.body.data.attributes.changed = '2027-01-01T00:00:00+00:00'
    return answer
  }
  t.equal(await first(), none(35), 'a draft beside what is published')

  cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    const rows = /publisher_container\/\w+$/.test(path) && Array.isArray(answer.body.data) ? answer.body.data : []
    for (const { attributes } of rows) if (attributes.drupal_internal__id === 60) attributes.langcode = 'es'
    return answer
  }
  t.equal(await first(), none(35), 'another translation')

  cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    const rows = /publisher_container\/\w+$/.test(path) && Array.isArray(answer.body.data) ? answer.body.data : []
    for (const { attributes } of rows) delete attributes.changed
    return answer
  }
  t.equal(await first(), none(0), 'editions that do not show when they were changed')
})

t.test(
  'without revisions what a list shows counts, without a time of change or a journal nothing is compared, and uuids are never free again',
  async (t) => {
    const { content, send, records } = await workedOn(t)
    await send('POST', '/api/collection/60', retitled)
    const { url } = await restored(t, content)
    const without = async (keys: object, more: object = {}) =>
      (await said(t, url, records, { keys: { ...model.keys, ...keys }, ...more })).lines
    t.match((await without({ revision: null }))[0], /^! {4}journal: Drupal has older states than it of 1 of 35 editions: 60 /)
    t.strictSame(await without({ changed: null }, { lockIds: 'uuid' }), [])
    t.strictSame((await said(t, url, { locks: records.locks })).lines, [
      'ok   locks: there are none of publisher_container after the newest, 60'
    ])
  }
)

t.test('where no edition is shown there is no newest one', async (t) => {
  const { records } = await workedOn(t)
  const content = newspaper()
  const { url } = await restored(t, {
    ...content,
    entities: content.entities.filter(({ type }) => !type.startsWith('publisher_container--'))
  })
  t.strictSame((await said(t, url, records)).lines, ['ok   journal: Drupal has no older state than it of 0 editions'])
})

t.test('a store that is away is told, and a refusal of Drupal is one of the CMS', async (t) => {
  const { content, records } = await workedOn(t)
  const cms = await restored(t, content)
  const away: Records = {
    ...records,
    journal: {
      page: async () => {
        throw new Failure('STORE_UNAVAILABLE', 'The lock store is not available')
      }
    }
  }
  t.strictSame((await said(t, cms.url, away)).lines, ['-    older states in Drupal: The lock store is not available'])
  cms.behave = ({ query }) =>
    /^-changed/.test(query.get('sort') ?? '') ? { status: 403, body: { errors: [{ status: '403', detail: 'No.' }] } } : undefined
  t.strictSame((await said(t, cms.url, records)).lines, [])
})
