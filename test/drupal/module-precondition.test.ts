import t from 'tap'
import { enableModule } from './module.ts'
import { core, signIn } from './quoin.ts'
import { startSite } from './site.ts'

const JSONAPI = 'application/vnd.api+json'
const WRITERS = 6

interface Edition {
  id: string
  attributes: { title: string; drupal_internal__revision_id: number }
}

t.test('the module saves over the revision that a request names, and over no other', { timeout: 600_000 }, async (t) => {
  const site = await startSite({ workers: 8 })
  t.teardown(site.stop)
  await enableModule(site)
  const editor = await signIn(site, 'editor')
  const admin = await signIn(site, 'admin')
  const collection = `${site.url}/jsonapi/publisher_container/daily`
  const read = async (): Promise<Edition> => {
    const response = await fetch(`${collection}?filter[drupal_internal__id]=1`, { headers: admin })
    const [edition] = ((await response.json()) as { data: Edition[] }).data
    return edition!
  }
  const first = await read()
  const patch = async (title: string, revision?: string, attributes: object = {}) => {
    const response = await fetch(`${collection}/${first.id}`, {
      method: 'PATCH',
      headers: { ...editor, accept: JSONAPI, 'content-type': JSONAPI, ...(revision !== undefined && { 'quoin-revision': revision }) },
      body: JSON.stringify({ data: { type: 'publisher_container--daily', id: first.id, attributes: { title, ...attributes } } })
    })
    const text = await response.text()
    const { data, errors } = JSON.parse(text) as { data?: Edition; errors?: Array<{ detail: string; code?: string }> }
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      module: response.headers.get('quoin-module'),
      data,
      errors
    }
  }
  const revisionOf = ({ attributes }: Edition) => String(attributes.drupal_internal__revision_id)

  for (const path of ['', '/publisher_container/daily', `/publisher_container/daily/${first.id}`, '/publisher_container/daily/none']) {
    const { headers } = await fetch(`${site.url}/jsonapi${path}`)
    t.match(headers.get('quoin-module'), /^\d+\.\d+\.\d+$/, `an answer to /jsonapi${path}`)
  }

  const saved = await patch('Second', revisionOf(first))
  t.match(saved, { status: 200, module: /^\d+\.\d+\.\d+$/ })
  const second = revisionOf(saved.data!)
  t.not(second, revisionOf(first), 'the save made a revision')
  const stale = await patch('Stale', revisionOf(first), { status: 'neither' })
  t.match(stale, {
    status: 412,
    type: JSONAPI,
    module: saved.module,
    errors: [{ detail: `Revision ${revisionOf(first)} is not the latest one.` }]
  })
  t.equal((await read()).attributes.title, 'Second')
  for (const malformed of ['', '0', '1 2', 'x', '9'.repeat(19)]) {
    t.match(await patch('Malformed', malformed), { status: 400, module: saved.module })
  }

  const atOnce = await Promise.all(Array.from({ length: WRITERS }, (_, index) => patch(`Writer ${index}`, second)))
  const statuses = atOnce.map(({ status }) => status)
  t.strictSame(statuses.toSorted(), [200, ...Array(WRITERS - 1).fill(412)], 'one of six at once is saved')
  const winner = atOnce.find(({ status }) => status === 200)!.data!
  t.equal(Number(revisionOf(winner)), Number(second) + 1, 'which makes one revision')
  t.match((await read()).attributes, { title: winner.attributes.title, drupal_internal__revision_id: Number(revisionOf(winner)) })

  await site.php(
    "$e = \\Drupal::entityTypeManager()->getStorage('publisher_container')->load(1); $e->set('title', 'In place'); $e->save();"
  )
  t.equal(revisionOf(await read()), revisionOf(winner), 'a save without a revision of its own')
  t.match(await patch('Over it', revisionOf(winner)), { status: 412, errors: [{ code: '1' }] }, 'leaves a revision that is no precondition')
  t.match(await patch('Without', undefined), { status: 200 })
  t.match(await patch('Again', revisionOf(await read())), { status: 200 }, 'until the next revision')

  const other = await core(site, admin, 'GET', '/publisher_container/1')
  t.equal(other.headers instanceof Headers && other.headers.get('quoin-module'), null, 'core REST is left alone')
  const anonymous = await fetch(`${collection}/${first.id}`, {
    method: 'PATCH',
    headers: { 'content-type': JSONAPI, 'quoin-revision': '1' },
    body: '{}'
  })
  t.match([401, 403].includes(anonymous.status), true, 'whoever may not save is told that')
})
