import t, { type Test } from 'tap'
import { startHostileCms } from './hostile-cms.ts'
import { buildLogged } from '../helper.ts'

const DAILY = '/jsonapi/publisher_container/daily'
const uuidOf = (id: number) => `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`

/** A site whose one populated bundle hides nearly all from the caller, and lets nobody filter. */
async function behindCrowd(t: Test, hidden: number, visible: number[]) {
  const cms = await startHostileCms(t)
  const ids = Array.from({ length: hidden + visible.length }, (_, index) => hidden + visible.length - index)
  const byUuid = ids.toReversed()
  const edition = (id: number) => ({
    type: 'publisher_container--daily',
    id: uuidOf(id),
    attributes: {
      drupal_internal__id: id,
      title: `Visible ${id}`,
      status: true,
      field_key: `k-${id}`,
      field_publisher_edition_type: 'daily'
    }
  })
  cms.behave = ({ path, query }) => {
    if (path === '/jsonapi/publisher_container/special') return { body: { data: [] } }
    const one = visible.find((id) => path === `${DAILY}/${uuidOf(id)}`)
    if (one) return { body: { data: edition(one) } }
    if (path !== DAILY) return undefined
    if ([...query.keys()].some((name) => name.startsWith('filter'))) return { body: { data: [] } }
    const offset = Number(query.get('page[offset]') ?? 0)
    const limit = Number(query.get('page[limit]') ?? 50)
    const rows = (/\bid$/.test(query.get('sort') ?? '') ? byUuid : ids).slice(offset, offset + limit)
    return {
      body: {
        data: rows.filter((id) => visible.includes(id)).map(edition),
        links: { ...(offset + limit < ids.length && { next: { href: `${cms.url}${DAILY}` } }) }
      }
    }
  }
  const { app, logged } = await buildLogged(t, { CMS_URL: cms.url, CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' })
  const get = async (url: string) => {
    const reply = await app.inject(url)
    return { status: reply.statusCode, body: reply.json() }
  }
  return { cms, get, logged }
}

const ids = (body: any): number[] => body.data.map((row: any) => row.id[0].value)

t.test('where nearly all is hidden and nobody may filter, what a list shows is found by its id and by a search', async (t) => {
  const visible = [8003, 4000, 60]
  const { get, logged } = await behindCrowd(t, 8000, visible)
  t.match((await get('/health/ready')).body.dependencies.cms, { status: 'ok', message: /^Drupal showed some users none of the first 50/ })
  t.ok(
    logged().some(
      ({ level, msg }) => level === 40 && /^Drupal showed some users none of the first 50 publisher_container entities/.test(msg)
    )
  )
  t.strictSame(ids((await get('/api/collections/daily?limit=3')).body), visible)
  for (const id of visible) t.match(await get(`/api/collection/${id}`), { status: 200, body: { id: [{ value: id }] } })
  t.strictSame(ids((await get('/api/collections/daily?q=visible&limit=3')).body), visible)
  t.strictSame(ids((await get('/api/collections/publisher_container?key=k-60&limit=1')).body), [60])
  t.equal((await get('/api/collection/5000')).status, 404)
})

t.test('beyond what a scan may read, an id is found where it can be, and a search says that it cannot be made', async (t) => {
  const visible = [20_003, 20_002, 20_001]
  const { get } = await behindCrowd(t, 20_000, visible)
  for (const id of visible) t.match(await get(`/api/collection/${id}`), { status: 200, body: { id: [{ value: id }] } })
  t.ok((await get('/api/collections/daily?q=visible')).status >= 502, 'never a short list')
})
