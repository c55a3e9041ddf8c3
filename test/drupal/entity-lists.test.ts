import t from 'tap'
import { createTally, differences, expected, inFlight, known, type TellsAlias } from './compare.ts'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite, type Site } from './site.ts'
import type { Variant } from './variants.ts'
import { modelOf } from './written.ts'

const VARIANTS = ['bundles', 'single', 'renamed'] satisfies Variant[]
/** Of the other variants these: to editor2 belong the unpublished articles, which nobody else but admin may see. */
const USERS = ['editor2', 'reader']
const table: string[] = []
/** The written model calls the list as the bundle; the files beside the suites leave it the name that it has by default. */
const listOf = ({ names }: Site) => (modelOf === undefined ? 'article' : names.article)

/** SQLite compares ASCII letters without regard to case, and no others. */
const fold = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const QUERIES: Array<[query: string, isWanted: (row: any) => boolean]> = [
  ['', () => true],
  ['q=article+1', ({ title }) => fold(title[0].value).includes('article 1')],
  ['q=ARTICLE+20', ({ title }) => fold(title[0].value).includes('article 20')],
  ['q=%25', () => false],
  ['status=1', ({ status }) => status[0].value],
  ['status=0', ({ status }) => !status[0].value],
  ['q=0&status=0', ({ title, status }) => title[0].value.includes('0') && !status[0].value],
  ['q=_', () => false]
]

for (const variant of VARIANTS) {
  t.test(`articles of the site "${variant}" are listed and read as by core REST`, { timeout: 600_000 }, async (t) => {
    const site = await startSite({ variant })
    t.teardown(site.stop)
    const service = await startQuoin(site)
    t.teardown(() => service.close())
    const { count, first } = site.content.articles

    for (const user of variant === 'bundles' ? ['admin', 'editor', ...USERS, 'anonymous'] : USERS) {
      await t.test(`as ${user}`, async (t) => {
        const session = await signIn(site, user)
        const tally = createTally()
        const tellsAlias = aliasesTold(site, session)
        const rest = new Map<number, any>()
        await inFlight(
          4,
          Array.from({ length: count }, (_, index) => first + index),
          async (id) => {
            const { status, body } = await core(site, session, 'GET', `/node/${id}`)
            if (status === 200) rest.set(id, await expected(body, tally, tellsAlias))
          }
        )
        const rows = [...rest.values()].sort((a, b) => b.nid[0].value - a.nid[0].value)
        t.equal(rows.length, user === 'admin' || user === 'editor2' ? count : (count * 19) / 20, 'each twentieth is hidden')

        const differ: string[] = []
        for (const [query, isWanted] of QUERIES) {
          for (const [limit, offset] of [
            [500, 0],
            [20, 0],
            [7, 95]
          ] as const) {
            const wanted = rows.filter(isWanted)
            const { status, body } = await quoin(
              service,
              session,
              'GET',
              `/api/collections/${listOf(site)}?${query}&limit=${limit}&offset=${offset}&total=1`
            )
            const name = `${query}, ${limit} from ${offset}`
            t.equal(status, 200, name)
            t.strictSame(
              body.data.map(({ nid }: any) => nid[0].value),
              wanted.slice(offset, offset + limit).map(({ nid }) => nid[0].value),
              name
            )
            t.equal(body.meta.total, wanted.length, `the total of ${name}`)
            for (const row of body.data) {
              differ.push(
                ...differences({ status: 200, body: rest.get(row.nid[0].value) }, { status: 200, body: row }).map(
                  (line) => `article ${row.nid[0].value}, ${name}: ${line}`
                )
              )
            }
            tally.comparisons += body.data.length
          }
        }
        for (const { nid, uuid } of rows.slice(0, 15)) {
          for (const id of [nid[0].value, uuid[0].value]) {
            differ.push(
              ...differences(
                { status: 200, body: rest.get(nid[0].value) },
                await quoin(service, session, 'GET', `/api/collections/${listOf(site)}/${id}`)
              ).map((line) => `article ${id}: ${line}`)
            )
            tally.comparisons++
          }
        }
        t.strictSame(differ.slice(0, 10), [])
        table.push(
          `${variant.padEnd(8)} ${user.padEnd(9)} ${String(rows.length).padStart(4)} articles ${String(tally.comparisons).padStart(6)} comparisons ${String(differ.length).padStart(3)} differences, hidden aliases ${tally.known.get(known.hiddenAlias) ?? 0}`
        )
      })
    }

    await t.test('placed=1 says which editions hold each article, with filter access and without', async (t) => {
      for (const hasFilters of [true, false]) {
        if (!hasFilters) await site.php('publishing_set_filter_hook(FALSE);')
        const fresh = await startQuoin(site)
        t.teardown(() => fresh.close())
        for (const user of ['editor', 'reader']) {
          const session = await signIn(site, user)
          const held = await placements(site, session)
          for (const offset of [0, 50, 150]) {
            const { status, body } = await quoin(
              fresh,
              session,
              'GET',
              `/api/collections/${listOf(site)}?placed=1&limit=50&offset=${offset}`
            )
            const name = `${user}, from ${offset}, ${hasFilters ? 'filtered' : 'scanned'}`
            t.equal(status, 200, name)
            t.strictSame(
              body.data.map(({ uuid }: any) => body.meta.placed[uuid[0].value].map(({ id }: any) => Number(id))),
              body.data.map(({ nid }: any) => held.get(nid[0].value) ?? []),
              name
            )
          }
        }
      }
    })
  })
}

/** The editions that core REST shows a caller, newest first, by the articles that they hold. */
async function placements(site: Site, session: Record<string, string>): Promise<Map<number, number[]>> {
  const { entityType, fields } = site.names
  const held = new Map<number, number[]>()
  await inFlight(
    4,
    Array.from({ length: site.content.editions }, (_, index) => index + 1),
    async (id) => {
      const { status, body } = await core(site, session, 'GET', `/${entityType}/${id}`)
      const articles: number[] = status === 200 ? body[fields.articles].map(({ target_id: id }: any) => id) : []
      for (const article of new Set(articles)) {
        held.set(
          article,
          [...(held.get(article) ?? []), id].sort((a, b) => b - a)
        )
      }
    }
  )
  return held
}

function aliasesTold(site: Site, session: Record<string, string>): TellsAlias {
  const bundles: Record<string, string> = { taxonomy_term: 'tags', user: 'user' }
  return async (entityType, uuid) => {
    const response = await fetch(`${site.url}${site.names.jsonapiPath}/${entityType}/${bundles[entityType]}/${uuid}`, { headers: session })
    const { data } = (await response.json()) as any
    return response.status === 200 && data.attributes.path !== undefined
  }
}

t.teardown(() => {
  t.comment(`\nArticles, against core REST\n${table.join('\n')}`)
})
