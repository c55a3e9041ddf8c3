import { writeFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { checkCms } from '../../packages/setup/doctor/cms.ts'
import { report } from '../../packages/setup/diagnosis.ts'
import { basicAccount } from '#lib/drupal/accounts.ts'
import { contentModel } from '#lib/editions/model.ts'
import { createHttp } from '#lib/http/client.ts'
import { count, createTally, differences, expected, inFlight, type Tally, type TellsAlias } from './compare.ts'
import { nodesJsonapiPath as jsonapiPath, nodesPrefixes, startNodes, startNodesQuoin, type NodesSite } from './nodes.ts'
import { contentModelFile, core, quoin, signIn } from './quoin.ts'
import { writtenModel } from './written.ts'

/** What a row of the table counts. */
interface Row {
  what: string
  language: string
  compared: number
  differences: number
  known: string
}

type Session = Record<string, string>
type Edition = Record<string, any[]>

const rows: Row[] = []

function record(what: string, language: string, tally: Tally): void {
  const knownText = [...tally.known].map(([name, number]) => `${name}: ${number}`).join('; ')
  rows.push({ what, language, compared: tally.comparisons, differences: tally.differences.length, known: knownText })
}

const value = (...values: unknown[]) => values.map((value) => ({ value }))
const first = (edition: Edition, field: string) => edition[field]?.[0]?.value

/** The url of a target that has translations is that of the original in core REST. Quoin finds it among the edition's own references in other languages, which may be other ones. */
const TRANSLATED = 'url of a target in a translation'

/** What differs but in prefixes and aliases of targets, with these counted. */
function withoutTranslatedUrls(wanted: Edition, ours: Edition, tally: Tally): Edition {
  const bare = (url: string) => url.replace(/^\/(?:en|fr)(?=\/)/, '').replace(/^\/stuk\/(\d+)$/, '/node/$1')
  return Object.fromEntries(
    Object.entries(wanted).map(([field, items]) => [
      field,
      items.map((item, index) => {
        const url = ours[field]?.[index]?.url
        if (typeof item?.url !== 'string' || typeof url !== 'string' || item.url === url || bare(item.url) !== bare(url)) return item
        count(tally, TRANSLATED)
        return { ...item, url }
      })
    ])
  )
}

/** Whether JSON:API shows this user an entity by its uuid: of others neither alias nor prefix are told. */
function showsOf(site: NodesSite, session: Session): TellsAlias {
  const answers = new Map<string, Promise<boolean>>()
  const bundles: Record<string, string[]> = {
    node: ['article', 'page', 'issue', 'supplement'],
    taxonomy_term: ['sections'],
    user: ['user'],
    file: ['file']
  }
  async function ask(entityType: string, uuid: string): Promise<boolean> {
    const statuses = await Promise.all(
      (bundles[entityType] ?? []).map(async (bundle) => {
        const { status } = await fetch(`${site.url}${jsonapiPath}/${entityType}/${bundle}/${uuid}`, { headers: session })
        return status
      })
    )
    return statuses.includes(200)
  }
  return (entityType, uuid) => {
    // Their url without an alias is that of their form.
    if (entityType === 'media') return Promise.resolve(true)
    const answer = answers.get(uuid) ?? ask(entityType, uuid)
    answers.set(uuid, answer)
    return answer
  }
}

async function compareReads(
  site: NodesSite,
  service: FastifyInstance,
  user: string,
  prefix: string
): Promise<[Tally, Map<number, Edition>]> {
  const tally = createTally()
  const session = await signIn(site, user)
  const tells = showsOf(site, session)
  const visible = new Map<number, Edition>()
  await inFlight(4, site.content.editions, async (id) => {
    const rest = await core(site, session, 'GET', `${prefix}/node/${id}`)
    const ours = await quoin(service, session, 'GET', `/api/collection/${rest.body.uuid?.[0].value ?? id}`)
    tally.comparisons++
    if (rest.status >= 400) {
      // JSON:API hides which edition has an id.
      if (![403, 404].includes(ours.status)) tally.differences.push(`${id}: ${ours.status} for ${rest.status}`)
      return
    }
    const shown = await expected(rest.body, tally, tells)
    const body = withoutTranslatedUrls(shown, ours.body, tally)
    visible.set(id, rest.body)
    tally.differences.push(...differences({ status: 200, body }, ours).map((line) => `${user} ${id}: ${line}`))
  })
  return [tally, visible]
}

const queries = [
  '',
  'status=1',
  'status=0',
  'q=editie',
  'q=ÉDITION',
  'q=issue-0007',
  'q=nothing',
  'key=supplement-0080',
  'q=edit&status=1&limit=7&offset=3',
  'limit=13&offset=60'
]

async function compareLists(site: NodesSite, service: FastifyInstance, user: string, visible: Map<number, Edition>): Promise<Tally> {
  const tally = createTally()
  const session = await signIn(site, user)
  const editions = [...visible].sort(([one], [other]) => other - one).map(([, edition]) => edition)
  for (const list of ['node', 'issue', 'supplement']) {
    for (const query of queries) {
      const { q, status, key, limit = '500', offset = '0' } = Object.fromEntries(new URLSearchParams(query)) as Record<string, string>
      const wanted = editions.filter(
        (edition) =>
          (list === 'node' || edition.type![0].target_id === list) &&
          (q === undefined ||
            String(first(edition, 'title')).toLowerCase().includes(q.toLowerCase()) ||
            first(edition, 'field_number') === q) &&
          (status === undefined || first(edition, 'status') === (status === '1')) &&
          (key === undefined || first(edition, 'field_number') === key)
      )
      const page = wanted.slice(Number(offset), Number(offset) + Number(limit))
      const { body } = await quoin(
        service,
        session,
        'GET',
        `/api/collections/${list}?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(query)), limit, offset, total: '1' })}`
      )
      tally.comparisons++
      const found = [body.meta?.total, ...(body.data ?? []).map((edition: Edition) => first(edition, 'nid'))].join()
      const right = [wanted.length, ...page.map((edition) => first(edition, 'nid'))].join()
      if (found !== right) tally.differences.push(`${user}: ${list}?${query}: ${found}, not ${right}`)
    }
  }
  return tally
}

t.test('npm run model alone makes a site of nodes right: reads and lists in each language', { timeout: 1_400_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const at = { url: site.url, jsonapiPath }
  const http = createHttp({ url: site.url, timeoutMs: 60_000 })
  t.teardown(() => http.close())
  for (const account of ['editor', 'service']) {
    // No entity type and no bundles are named, and nobody is asked.
    const { file, lines, isRight } = await writtenModel(at, account)
    t.ok(isRight)
    t.comment(`npm run model as ${account} (Drupal ${site.version})\n${lines.join('\n')}`)
    const model = contentModelFile(file)
    t.match(model, {
      entityType: 'node',
      keys: { id: 'nid', revision: 'vid', bundle: 'type', label: 'title', published: 'status', changed: 'changed' },
      fields: { key: 'field_number', articles: ['field_stories'] },
      bundles: { issue: 'Dagblad', supplement: 'Bijlage' },
      languages: { nl: '', en: 'en', fr: 'fr' },
      timeZone: 'Europe/Brussels'
    })
    t.strictSame(
      new Set(model.timestampFields),
      new Set(['created', 'changed', 'revision_timestamp', 'field_expires', 'publish_on', 'unpublish_on'])
    )
    const advice: string[] = []
    await report(
      checkCms({ ...at, http, account: basicAccount({ http, jsonapiPath }, account, account), model: contentModel(model) }),
      (line) => advice.push(line)
    )
    t.strictSame(
      // Core lets no editor filter among what is unpublished, and the module of Quoin is not enabled here.
      advice.filter((line) => line.startsWith('!') && !line.includes('filters: they do not find')),
      [],
      'the doctor finds nothing wrong'
    )
    t.equal(advice.filter((line) => /^ok {3}core REST: Quoin shows edition/.test(line)).length, 2, advice.join('\n'))
    for (const [language, prefix] of Object.entries(nodesPrefixes)) {
      const service = await startNodesQuoin(site, file, prefix)
      for (const user of account === 'editor' ? ['editor', 'reader'] : ['editor']) {
        const [reads, visible] = await compareReads(site, service, user, prefix)
        record(`reads as ${user}, model of ${account}`, language, reads)
        t.strictSame(reads.differences, [], `reads of ${user}, ${language}`)
        if (language !== 'nl') continue
        const lists = await compareLists(site, service, user, visible)
        record(`lists as ${user}, model of ${account}`, language, lists)
        t.strictSame(lists.differences, [], `lists of ${user}, ${language}`)
      }
      await service.close()
    }
  }
})

t.test('a time that is set for the first time is a time stamp at once, whatever the model says', { timeout: 600_000 }, async (t) => {
  const site = await startNodes()
  t.teardown(site.stop)
  const { file } = await writtenModel({ url: site.url, jsonapiPath }, 'editor')
  writeFileSync(file, JSON.stringify({ ...contentModelFile(file), timestampFields: ['created', 'changed'] }))
  const service = await startNodesQuoin(site, file)
  t.teardown(() => service.close())
  const session = await signIn(site, 'admin')
  const [id] = site.content.editions
  const when = { value: '2026-12-24T18:00:00+00:00', format: 'Y-m-d\\TH:i:sP' }
  const saved = await quoin(service, session, 'POST', `/api/collection/${id}`, { publish_on: [when] })
  t.match(saved, { status: 200, body: { publish_on: [when] } })
  const rest = await core(site, session, 'GET', `/node/${id}`)
  t.strictSame(differences(rest, await quoin(service, session, 'GET', `/api/collection/${id}`)), [])
})

/** An edition without what differs from save to save: the times, and the number of saves before it. */
function settled({ changed: _1, revision_timestamp: _2, vid: _3, ...edition }: Edition, origin: string): Edition {
  return JSON.parse(JSON.stringify(edition).replaceAll(origin, ''))
}

t.test('each edition is saved in each of its languages as core REST saves it', { timeout: 1_400_000 }, async (t) => {
  const [a, b] = await Promise.all([startNodes(), startNodes()])
  t.teardown(() => Promise.all([a.stop(), b.stop()]))
  const { file } = await writtenModel({ url: b.url, jsonapiPath }, 'editor')
  const [one, other] = [await signIn(a, 'editor'), await signIn(b, 'editor')]
  for (const [language, prefix] of Object.entries(nodesPrefixes)) {
    const tally = createTally()
    const service = await startNodesQuoin(b, file, prefix)
    await inFlight(3, a.content.editions, async (id) => {
      const path = `${prefix}/node/${id}`
      const before = await core(a, one, 'GET', path)
      if (before.body.langcode[0].value !== language) return
      const title = value(`${first(before.body, 'title')}, ${language}`)
      const [theirs, ours] = await Promise.all([
        core(a, one, 'PATCH', path, { type: before.body.type, title }),
        quoin(service, other, 'POST', `/api/collection/${before.body.uuid[0].value}`, { title })
      ])
      tally.comparisons++
      // JSON:API changes no entity that has a draft (docs/core-rest.md).
      if (theirs.status === 200 && ours.status === 409 && /newer draft/.test(ours.body.message)) return count(tally, 'a draft is pending')
      if (theirs.status !== ours.status) {
        tally.differences.push(`${language} ${id}: ${theirs.status}, not ${ours.status} ${JSON.stringify(ours.body.message)}`)
      }
      const [stored, storedByQuoin] = await Promise.all([core(a, one, 'GET', path), core(b, other, 'GET', path)])
      tally.differences.push(
        ...differences({ status: 200, body: settled(stored.body, a.url) }, { status: 200, body: settled(storedByQuoin.body, b.url) }).map(
          (line) => `${language} ${id}: ${line}`
        )
      )
    })
    await service.close()
    record('saves as editor, model of editor', language, tally)
    t.strictSame(tally.differences, [])
  }
})

t.test('the table', (t) => {
  const width = Math.max(...rows.map(({ what }) => what.length))
  for (const { what, language, compared, differences, known } of rows) {
    t.comment(`${what.padEnd(width)}  ${language}  ${String(compared).padStart(5)} compared, ${differences} differences  ${known}`)
  }
  t.end()
})
