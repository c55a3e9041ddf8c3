import t from 'tap'
import { aliasesTold, jsonapi } from './aliases.ts'
import { count, createTally, differences, expected, inFlight, known, median } from './compare.ts'
import { core, quoin, signIn, startQuoin, type Answer, type Who } from './quoin.ts'
import { startSite } from './site.ts'
import type { Variant } from './variants.ts'

const users = ['admin', 'editor', 'reader', 'anonymous']
const variants = ['bundles', 'single', 'renamed'] satisfies Variant[]
const total = createTally()
const table: string[] = []
let editions = 0

for (const variant of variants) {
  t.test(`reading the editions of the site "${variant}" is equal to core REST`, { timeout: 600_000 }, async (t) => {
    const site = await startSite({ variant })
    t.teardown(site.stop)
    const service = await startQuoin(site)
    t.teardown(() => service.close())
    const { entityType, keys } = site.names
    const ids = Array.from({ length: site.content.editions }, (_, index) => index + 1)
    const sampled = new Set([...Object.values(site.content.cases), ...ids.filter((id) => id % 10 === 1)])
    const refusals = new Map<number, string>()
    editions += ids.length

    for (const user of users) {
      await t.test(`as ${user}`, async (t) => {
        const tally = createTally()
        const session = await signIn(site, user)
        const tellsAlias = aliasesTold(site, session)
        const individual = new Map<number, any>()
        const begin = Date.now()
        const compare = async (id: number, who: Who, url: string, rest: Answer) => {
          const ours = await quoin(service, who, 'GET', url)
          const wanted = rest.status === 200 ? { ...rest, body: await expected(rest.body, tally, tellsAlias) } : rest
          tally.comparisons++
          if (user === 'anonymous' && rest.status === 401 && ours.status === 403) {
            // The same permissions, so the same place in Drupal's cache.
            count(tally, known.cachedRefusal)
            tally.differences.push(
              ...differences({ status: 403, body: { message: refusals.get(id) } }, ours).map((line) => `${url}: ${line}`)
            )
            return
          }
          tally.differences.push(...differences(wanted, ours).map((line) => `${url}: ${line}`))
          if (ours.status === 200) individual.set(id, ours.body)
        }
        await inFlight(4, ids, async (id) => {
          const rest = await core(site, session, 'GET', `/${entityType}/${id}`)
          if (user === 'reader' && rest.status === 403) refusals.set(id, rest.body.message)
          await compare(id, session, `/api/collection/${id}`, rest)
          if (rest.status === 200 && sampled.has(id)) await compare(id, user, `/api/collection/${rest.body.uuid[0].value}`, rest)
        })
        t.ok(individual.size > 0)
        if (user === 'admin' || user === 'editor') t.equal(individual.size, ids.length)
        else t.ok(individual.size < ids.length, 'some are refused')

        const list = await quoin(service, session, 'GET', `/api/collections/${entityType}?limit=500`)
        t.equal(list.status, 200)
        t.strictSame(
          list.body.data.map((edition: any) => edition[keys.id][0].value),
          [...individual.keys()].sort((a, b) => b - a),
          'the list has what may be read, newest first'
        )
        for (const edition of list.body.data) {
          const id = edition[keys.id][0].value
          tally.comparisons++
          tally.differences.push(
            ...differences({ status: 200, body: individual.get(id) }, { status: 200, body: edition }).map(
              (line) => `edition ${id} in the list: ${line}`
            )
          )
        }

        t.strictSame(tally.differences, [])
        t.ok((tally.known.get(known.dangling) ?? 0) >= 3, 'dangling references were among them')
        if (user !== 'admin') t.ok((tally.known.get(known.hiddenAlias) ?? 0) >= 2, 'hidden targets with an alias were among them')
        else t.notOk(tally.known.has(known.hiddenAlias), 'nothing is hidden from admin')

        total.comparisons += tally.comparisons
        total.differences.push(...tally.differences)
        for (const [name, n] of tally.known) total.known.set(name, (total.known.get(name) ?? 0) + n)
        table.push(
          `${variant.padEnd(8)} ${user.padEnd(9)} ${String(ids.length).padStart(4)} editions ${String(individual.size).padStart(4)} readable ${String(tally.comparisons).padStart(5)} comparisons ${String(tally.differences.length).padStart(3)} differences ${((Date.now() - begin) / 1000).toFixed(1)} s`
        )
      })
    }

    if (variant === 'bundles') {
      await t.test('what include costs, which brings the urls, is measured', async (t) => {
        const session = await signIn(site, 'editor')
        const { article, sections, fields, bundles } = site.names
        const include = `include=uid,revision_uid,${fields.articles},${fields.section},${fields.cover}&fields[node--${article}]=path,uri&fields[taxonomy_term--${sections}]=path,uri&fields[user--user]=path,uri&fields[file--file]=path,uri`
        for (const [id, articles] of [
          [11, 6],
          [site.content.cases.many, 60]
        ] as const) {
          const { uuid } = (await core(site, session, 'GET', `/${entityType}/${id}`)).body
          // Drupal ignores a parameter with an underscore, but keeps its answers apart by it.
          for (const cache of ['warm', 'cold']) {
            const times: Record<'without' | 'with', number[]> = { without: [], with: [] }
            for (let round = 0; round < 32; round++) {
              for (const [name, query] of [
                ['without', ''],
                ['with', include]
              ] as const) {
                const begin = performance.now()
                const { status } = await jsonapi(
                  site,
                  session,
                  `/${entityType}/${bundles[0]!.id}/${uuid[0].value}?${query}${cache === 'cold' ? `&no_cache=${round}` : ''}`
                )
                times[name].push(performance.now() - begin)
                if (status !== 200) t.fail(`status ${status}`)
              }
            }
            table.push(
              `include, ${articles} articles, cache of Drupal ${cache}: p50 ${median(times.without.slice(2)).toFixed(1)} ms without, ${median(times.with.slice(2)).toFixed(1)} ms with (n = 30 each)`
            )
          }
        }
        t.pass('see the summary')
      })
    }
  })
}

t.teardown(() => {
  t.comment('\nReading, against core REST\n' + table.join('\n'))
  t.comment(
    `${variants.length} variants, ${users.length} users, ${editions} editions, ${total.comparisons} comparisons, differences: ${total.differences.length}`
  )
  for (const [name, n] of total.known) t.comment(`known: ${name}: ${n}`)
})
