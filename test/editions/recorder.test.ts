import t, { type Test } from 'tap'
import { createEditions } from '#lib/editions/editions.ts'
import type { Recorder, Save, SaveOutcome } from '#lib/editions/save/recorder.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { Failure } from '#lib/errors.ts'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { model } from './fixtures.ts'
import { basic, openNewspaper } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const editor = newCaller(basic('editor'))
const title = (value: string) => ({ title: [{ value }] })

/** The sample site with a recorder that notes what it is told and, after each, how many writes the site had seen. */
async function open(t: Test, { refusal, fault }: { refusal?: Failure; fault?: () => Promise<never> } = {}) {
  const { cms, cmsUrl, http } = await openNewspaper(t)
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  let isBroken = false
  const request: Jsonapi['request'] = async (one) => {
    if (isBroken) throw new Failure('CMS_FAILED', 'broken')
    const answer = await jsonapi.request(one)
    if (fault && (one.method === 'PATCH' || one.method === 'POST')) {
      isBroken = true
      await fault()
    }
    return answer
  }
  const writes = () => cms.requestLines.filter((line) => /^(?:POST|PATCH)/.test(line)).length
  const saves: Save[] = []
  const outcomes: SaveOutcome[] = []
  const seen: Array<[what: string, writes: number]> = []
  const recorder: Recorder = async (save) => {
    if (refusal) throw refusal
    saves.push(save)
    seen.push(['intent', writes()])
    return async (outcome) => {
      outcomes.push(outcome)
      seen.push([outcome.outcome, writes()])
    }
  }
  const site = createSite({ cms: { request }, model, cmsUrl, warn() {} })
  const editions = createEditions({ site, recorder })
  return { editions, saves, outcomes, seen, writes }
}

t.test('a recorder is told of a save before it is sent, and of its outcome before the caller is', async (t) => {
  const { editions, saves, outcomes, seen } = await open(t)
  const { etag: read } = await editions.read('1', editor)
  const { etag } = await editions.update('1', { ...title('Recorded'), status: [{ value: true }] }, editor, {
    uid: '7',
    name: 'Anna'
  })
  t.strictSame(seen, [
    ['intent', 0],
    ['saved', 1]
  ])
  const { before, ...save } = saves[0]!
  t.match(save, { kind: 'update', by: { uid: '7', name: 'Anna' }, isShared: false })
  t.strictSame(Object.keys(save.fields), ['title'], 'only what changes')
  t.match(save.fields['title'], { before: [{ value: /./ }], after: [{ value: 'Recorded' }] })
  t.match(before, { etag: RegExp(`^${read.split('.')[0]}\\.`), edition: { uuid: [{ value: save.uuid }] } })
  t.match(outcomes, [{ outcome: 'saved', etag, edition: title('Recorded') }])

  await editions.update('1', title('Recorded'), editor)
  t.equal(saves.length, 1, 'what changes nothing is no save')
})

t.test('each way to save has its kind', async (t) => {
  const { editions, saves } = await open(t)
  const { json } = await editions.create(
    { type: 'daily', ...title('New'), field_key: [{ value: 'new' }], status: [{ value: false }] },
    editor,
    { uid: '7' }
  )
  const {
    uuid: [{ value: uuid }]
  } = JSON.parse(json)
  await editions.arrange(uuid, { operations: [{ op: 'insert', article: { target_id: 4 }, at: 'end' }] }, editor)
  await editions.update(uuid, title('Restored'), editor, { kind: 'restore' })
  await editions.close(uuid, editor, { check: async () => {}, again: async () => {} })
  t.strictSame(
    saves.map(({ kind, uuid: id, before }) => [kind, id === uuid, before !== undefined]),
    [
      ['create', true, false],
      ['order', true, true],
      ['restore', true, true],
      ['close', true, true]
    ]
  )
  t.match(saves[0]!.fields['title'], { before: undefined, after: [{ value: 'New' }] })
  t.match(saves[1]!.fields, { field_articles: { before: [], after: [{ target_id: 4 }] } })
})

t.test('what the CMS refuses is refused, also a create of what is there', async (t) => {
  const { editions, outcomes } = await open(t)
  await t.rejects(editions.update('1', { field_page_count: [{ value: -1 }] }, editor), { code: 'UNPROCESSABLE' })
  const body = { type: 'daily', ...title('New'), field_key: [{ value: 'new' }], uuid: [{ value: '00000000-0000-4000-8000-00000000abcd' }] }
  t.equal((await editions.create(body, editor)).isNew, true)
  t.equal((await editions.create(body, editor)).isNew, false)
  t.strictSame(
    outcomes.map(({ outcome }) => outcome),
    ['refused', 'saved', 'refused']
  )
})

t.test('what nobody can tell is uncertain', async (t) => {
  for (const fault of [
    async () => {
      throw new Failure('CMS_TIMEOUT', 'slow')
    },
    async () => {
      throw new TypeError('a mistake')
    }
  ]) {
    const { editions, outcomes } = await open(t, { fault })
    await t.rejects(editions.update('1', title('Lost'), editor))
    t.strictSame(outcomes, [{ outcome: 'uncertain' }])
  }
})

t.test('a recorder that throws refuses the save', async (t) => {
  const { editions, writes } = await open(t, { refusal: new Failure('EDITION_BUSY', 'not now') })
  await t.rejects(editions.update('1', title('Never'), editor), { code: 'EDITION_BUSY' })
  await t.rejects(editions.create({ type: 'daily', ...title('Never'), field_key: [{ value: 'never' }] }, editor), {
    code: 'EDITION_BUSY'
  })
  t.equal(writes(), 0)
})
