import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { openHostile, JSONAPI, type Asked, type Said } from '../editions/hostile-cms.ts'
import { editionsOf } from '../editions/site.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const { id } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const value = (text: unknown) => [{ value: text }]
const FIRST = 900_000

const refusal = (status: number, detail: string, more: object = {}): Said => ({
  status,
  headers: { ...JSONAPI, 'quoin-module': '0.1.0' },
  body: { jsonapi: { version: '1.0' }, errors: [{ status: String(status), detail, ...more }] }
})

/** A site whose edition has a draft with another title, as Drupal answers where it has the module. */
async function openDraft(t: Test) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, module: '0.1.0' })
  const draft = {
    attributes: { title: 'A draft', drupal_internal__revision_id: FIRST },
    isThere: true,
    fails: undefined as Said | undefined,
    losesAnswer: false
  }
  const shown = (body: any): Said => {
    const links = { ...body.data.links, 'latest-version': { href: 'x' } }
    return {
      headers: { ...JSONAPI, 'quoin-module': '0.1.0' },
      body: { ...body, data: { ...body.data, links, attributes: { ...body.data.attributes, ...draft.attributes } } }
    }
  }
  let published: any
  cms.behave = async ({ method, query, path: asked, headers, body }: Asked, honest) => {
    if (asked.endsWith('/working-copy')) {
      const { attributes } = JSON.parse(body).data
      const revision = headers['quoin-revision']
      if (revision !== undefined && Number(revision) !== draft.attributes.drupal_internal__revision_id) {
        return refusal(412, 'Revision x is not the latest one.')
      }
      const { changed: _, ...fields } = attributes
      Object.assign(draft.attributes, fields)
      draft.attributes.drupal_internal__revision_id++
      return draft.losesAnswer ? refusal(500, 'lost') : shown(published)
    }
    if (method === 'PATCH') return refusal(400, 'Updating a resource object that has a working copy is not yet supported.')
    if (query.get('resourceVersion') !== 'rel:working-copy') {
      const answer = await honest()
      if (answer.body?.data?.attributes) published = answer.body
      return answer
    }
    if (draft.fails) return draft.fails
    const answer = await honest()
    return draft.isThere ? shown(answer.body) : answer
  }
  const save = async (body: object, etag?: string) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': etag }
    const { status, body: saved, headers: fields, upstream } = await call('POST', path, { body, as: 'editor', headers })
    return { status, saved, etag: String(fields['etag']), upstream }
  }
  const read = async () => {
    const { headers, body } = await call('GET', path, { as: 'editor' })
    return { etag: String(headers['etag']), body }
  }
  return { save, read, draft, cms }
}

t.test('a save goes to the draft, where it changes what is the same in both', async (t) => {
  const { save, read, draft } = await openDraft(t)
  const { etag, body } = await read()
  t.match(await save({ title: value('Unseen') }, etag), { status: 412 })
  t.match(await save({ title: value('Unseen') }), { status: 409 })
  t.match(await save({ title: body.title, field_key: value('without') }), { status: 409 }, 'nobody knows whether the title was changed')
  const saved = await save({ title: body.title, field_key: value('changed') }, etag)
  t.match(saved, { status: 200, saved: { title: value('A draft'), field_key: value('changed') } })
  t.match((await read()).body, { title: body.title }, 'what is published stays')
  const titled = await save({ title: value('Mine') }, saved.etag)
  t.match(titled, { status: 200, saved: { title: value('Mine') } }, 'the tag of the draft names it')
  t.match(await save({ title: value('Late') }, saved.etag), { status: 412 })
  t.match(await save({ title: value('Mine') }, titled.etag), { status: 200, saved: { title: value('Mine') } }, 'where nothing differs')
  t.match(await save({ field_key: value('alone') }), { status: 409 }, 'a field that differs by now')
  draft.attributes.drupal_internal__revision_id = FIRST
  t.match(await save({ field_publisher_edition_type: value('daily') }), { status: 200 }, 'nothing differs from what is published')
})

t.test('a save to a draft whose answer is lost is looked up in the draft', async (t) => {
  const { save, read, draft } = await openDraft(t)
  draft.losesAnswer = true
  t.match(await save({ field_key: value('lost') }, (await read()).etag), { status: 200, saved: { field_key: value('lost') } })
})

t.test('a draft that the caller may not see, or that is gone, is in the way as without the module', async (t) => {
  const { save, read, draft } = await openDraft(t)
  const { etag } = await read()
  draft.fails = refusal(403, 'The user does not have access to the requested version.')
  t.match(await save({ field_key: value('hidden') }, etag), { status: 409 })
  t.match(await save({ field_key: value('hidden') }, '"other.tag"'), { status: 412 })
  draft.fails = refusal(500, 'broken')
  t.match(await save({ field_key: value('broken') }, etag), { status: 502 })
  draft.fails = undefined
  draft.isThere = false
  t.match(await save({ field_key: value('gone') }, etag), { status: 409 })
})

t.test('without the module a draft is in the way', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  cms.behave = ({ method }) =>
    method === 'PATCH'
      ? { ...refusal(400, 'Updating a resource object that has a working copy is not yet supported.'), headers: JSONAPI }
      : undefined
  t.equal((await call('POST', path, { body: { title: value('x') }, as: 'editor' })).status, 409)
})
