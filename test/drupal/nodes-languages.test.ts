import t from 'tap'
import { count, createTally, differences, expected, inFlight, type Tally, type TellsAlias } from './compare.ts'
import { nodesPrefixes, startNodes, startNodesQuoin } from './nodes.ts'
import { core, quoin, signIn } from './quoin.ts'

/** Each as Quoin is asked: under the prefix of a language, and with the session of a user. */
const asked = [
  ['nl', 'admin'],
  ['nl', 'editor'],
  ['en', 'admin'],
  ['en', 'editor'],
  ['fr', 'admin'],
  ['fr', 'editor'],
  ['fr', 'reader']
] as const

const HIDDEN_PREFIX = 'language prefix of a target that the caller may not see'

/** What core REST shows, but for the prefixes of targets whose language Quoin cannot know (docs/core-rest.md). */
async function withoutHiddenPrefixes(edition: Record<string, any[]>, tally: Tally, tellsAlias: TellsAlias): Promise<Record<string, any[]>> {
  const fields = Object.entries(edition).map(async ([field, items]) => {
    const bare = items.map(async (item) => {
      const [, path] = /^\/(?:en|fr)(\/.*)$/.exec(String(item?.url)) ?? []
      if (path === undefined || (await tellsAlias(item.target_type, item.target_uuid))) return item
      count(tally, HIDDEN_PREFIX)
      return { ...item, url: path }
    })
    return [field, await Promise.all(bare)]
  })
  return Object.fromEntries(await Promise.all(fields))
}

t.test(
  'editions in three languages have the references and urls of core REST, each in its translation',
  { timeout: 900_000 },
  async (t) => {
    const site = await startNodes()
    t.teardown(site.stop)
    const { editions, cases } = site.content
    const ids = [...editions.filter((_, index) => index % 3 === 0 || index > 98), ...Object.values(cases)]
    for (const [language, user] of asked) {
      const prefix = nodesPrefixes[language]!
      const service = await startNodesQuoin(site, undefined, prefix)
      t.teardown(() => service.close())
      const tally = createTally()
      const session = await signIn(site, user)
      const told = new Map<string, Promise<boolean>>()
      // Whether JSON:API shows the node, as anybody may see it or as this user may.
      const tellsAlias: TellsAlias = (entityType, uuid) => {
        if (entityType !== 'node') return Promise.resolve(true)
        const answer =
          told.get(uuid) ??
          Promise.all(
            ['article', 'page', 'issue', 'supplement'].map((bundle) =>
              fetch(`${site.url}/cms/data/node/${bundle}/${uuid}`, { headers: session }).then(({ status }) => status === 200)
            )
          ).then((shown) => shown.some(Boolean))
        told.set(uuid, answer)
        return answer
      }
      let readable = 0
      await inFlight(4, ids, async (id) => {
        const rest = await core(site, session, 'GET', `${prefix}/node/${id}`)
        const ours = await quoin(service, session, 'GET', `/api/collection/${rest.body.uuid?.[0].value ?? id}`)
        tally.comparisons++
        if (rest.status >= 400) {
          if (![403, 404].includes(ours.status)) tally.differences.push(`${id}: ${ours.status} for ${rest.status}`)
          return
        }
        readable++
        const shown = await withoutHiddenPrefixes(rest.body, tally, tellsAlias)
        const wanted = { ...rest, body: await expected(shown, tally, tellsAlias) }
        tally.differences.push(...differences(wanted, ours).map((line) => `${id}: ${line}`))
      })
      t.strictSame(tally.differences, [], `${language}, ${user}`)
      t.comment(
        `nodes, ${language}, ${user}: ${readable} of ${ids.length} readable, ${tally.comparisons} comparisons, ${tally.differences.length} differences; known: ${[...tally.known].map(([name, n]) => `${name}: ${n}`).join(', ')}`
      )
    }
  }
)
