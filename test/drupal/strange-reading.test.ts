import t from 'tap'
import { count, createTally, differences, expected, inFlight, known, type Tally, type TellsAlias } from './compare.ts'
import { core, quoin, signIn, type Answer } from './quoin.ts'
import { gazette, leaflet, prefixes, startStrange, startStrangeQuoin } from './strange.ts'

const users = ['admin', 'editor', 'reader', 'anonymous']

/** What JSON:API shows of an empty base field that has several properties; docs/core-rest.md has it. */
const withoutEmptyItems = (edition: Record<string, any[]>) =>
  Object.fromEntries(
    Object.entries(edition).map(([field, items]) => [field, items.filter((item) => item.value !== null && item.uri !== null)])
  )

/**
 * Compares an edition, but for the prefixes of targets that the caller may not see: core REST gives that of the original.
 * One whose original is hidden has the prefix of the language asked for, one that is hidden altogether that of the site's
 * default language.
 * @param prefix that of the language asked for
 * @param mayHide whether this user may not see every edition
 */
function differing(
  wanted: Pick<Answer, 'status' | 'body'>,
  ours: Pick<Answer, 'status' | 'body'>,
  prefix: string,
  mayHide: boolean,
  tally: Tally
): string[] {
  const body = Object.fromEntries(
    Object.entries(wanted.body as Record<string, any[]>).map(([field, items]) => [
      field,
      items.map?.((item, index) => {
        const url = ours.body[field]?.[index]?.url
        if (typeof item?.url !== 'string' || item.url === url) return item
        const path = item.url.replace(/^(?:\/en|\/france)?(?=\/)/, '')
        if (!mayHide || ![path, prefix + path].includes(url)) return item
        count(tally, known.hiddenTarget)
        return { ...item, url }
      }) ?? items
    ])
  )
  return differences({ ...wanted, body }, ours)
}

for (const type of [gazette, leaflet]) {
  t.test(`reading ${type.entityType} on the strange site is equal to core REST, in every language`, { timeout: 900_000 }, async (t) => {
    const site = await startStrange()
    t.teardown(site.stop)
    const ids = Array.from({ length: type.count(site.content) }, (_, index) => index + 1)
    for (const [language, prefix] of Object.entries(prefixes)) {
      const service = await startStrangeQuoin(site, type, prefix)
      t.teardown(() => service.close())
      // What another language changes is the same for all who may see it.
      for (const user of language === 'de' ? users : ['editor', 'reader']) {
        const tally = createTally()
        const mayHide = !['admin', 'editor'].includes(user)
        const session = await signIn(site, user)
        const told = new Map<string, Promise<boolean>>()
        const tellsAlias: TellsAlias = (entityType, uuid) => {
          if (entityType !== 'node') return Promise.resolve(true)
          const answer =
            told.get(uuid) ??
            fetch(`${site.url}/dienst/daten/node/report/${uuid}`, { headers: session }).then(({ status }) => status === 200)
          told.set(uuid, answer)
          return answer
        }
        const visible = new Map<number, any>()
        await inFlight(4, ids, async (id) => {
          const rest = await core(site, session, 'GET', prefix + type.path(id))
          const wanted = rest.status === 200 ? { ...rest, body: await expected(withoutEmptyItems(rest.body), tally, tellsAlias) } : rest
          // Without filter access an id is found by reading pages, from which a hidden edition is missing.
          const ours = await quoin(service, session, 'GET', `/api/collection/${rest.body.uuid?.[0].value ?? id}`)
          tally.comparisons++
          if (rest.status >= 400) {
            tally.differences.push(...([403, 404].includes(ours.status) ? [] : [`${id}: ${ours.status} for ${rest.status}`]))
            return
          }
          visible.set(id, wanted.body)
          tally.differences.push(...differing(wanted, ours, prefix, mayHide, tally).map((line) => `${id}: ${line}`))
        })
        const { body } = await quoin(service, session, 'GET', `/api/collections/${type.entityType}?limit=500&total=1`)
        t.strictSame(
          [body.data.map((edition: any) => edition[type.id][0].value), body.meta.total],
          [[...visible.keys()].sort((a, b) => b - a), visible.size],
          `${language}, ${user}: the list has what may be read, newest first`
        )
        for (const edition of body.data) {
          tally.comparisons++
          tally.differences.push(
            ...differing(
              { status: 200, body: visible.get(edition[type.id][0].value) },
              { status: 200, body: edition },
              prefix,
              mayHide,
              tally
            ).map((line) => `${edition[type.id][0].value} in the list: ${line}`)
          )
        }
        for (const id of ids.filter((id) => id % 20 === 1 && visible.has(id))) {
          tally.comparisons++
          const ours = await quoin(service, session, 'GET', `/api/collection/${id}`)
          tally.differences.push(
            ...differing({ status: 200, body: visible.get(id) }, ours, prefix, mayHide, tally).map((line) => `${id} by its id: ${line}`)
          )
        }
        t.strictSame(tally.differences, [], `${language}, ${user}`)
        t.comment(
          `${type.entityType}, ${language}, ${user}: ${visible.size} of ${ids.length} readable, ${tally.comparisons} comparisons, ${tally.differences.length} differences; known: ${[...tally.known].map(([name, n]) => `${name}: ${n}`).join(', ')}`
        )
      }
    }
  })
}
