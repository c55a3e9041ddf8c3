import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { core, quoin, startQuoin } from './quoin.ts'
import { startSite, type Site } from './site.ts'

const USERS = ['admin', 'editor', 'reader', 'anonymous']
const COMBINATIONS = 300

/** Any sequence that is the same in every run. */
function generator(seed: number) {
  let state = seed >>> 0
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  return { next, pick: <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]! }
}

/** What core REST shows of every edition to one user, newest first. */
async function visible(site: Site, user: string): Promise<any[]> {
  const ids = Array.from({ length: site.content.editions }, (_, index) => site.content.editions - index)
  const found: any[] = []
  const waiting = ids.values()
  await Promise.all(
    [0, 1, 2, 3].map(async () => {
      for (const id of waiting) {
        const { status, body } = await core(site, user, 'GET', `/${site.names.entityType}/${id}`)
        if (status === 200) found.push(body)
      }
    })
  )
  return found.sort((a, b) => idOf(site, b) - idOf(site, a))
}

const idOf = (site: Site, edition: any): number => edition[site.names.keys.id][0].value

interface Combination {
  bundle: string
  q?: string
  status?: number
  type?: string
  key?: string
  limit: number
  offset: number
}

function combination({ next, pick }: ReturnType<typeof generator>, { names }: Site): Combination {
  const bundles = [names.entityType, names.entityType, ...names.bundles.map(({ id }) => id), ...Object.keys(names.editionTypes)]
  return {
    bundle: pick(bundles),
    ...(next() < 0.5 && {
      q: pick([
        'daily-daily-0001',
        'DAILY-daily-0001',
        'daily-daily-000',
        'edition',
        'EDITION 1',
        "It's",
        '"quoted"',
        '100 %',
        '%',
        '_',
        '&',
        '& ',
        '<b>',
        'Ünï',
        'ünï',
        '日本',
        '\\',
        'nothing has this',
        '+',
        '#',
        '[0]',
        ' '
      ])
    }),
    ...(next() < 0.4 && { status: pick([0, 1]) }),
    ...(next() < 0.4 && { type: pick(Object.keys(names.editionTypes)) }),
    ...(next() < 0.15 && { key: pick(['daily-daily-0001', 'DAILY-daily-0001', 'special-special-0003', 'nothing']) }),
    limit: pick([1, 2, 20, 50, 51, 120, 500]),
    offset: pick([0, 0, 0, 1, 10, 49, 50, 99, 140, 1000])
  }
}

/** The same selection made from core REST's own entities. */
function expected(site: Site, editions: any[], { bundle, q, status, type, key }: Combination): any[] {
  const {
    names: { entityType, bundles, keys, fields, editionTypes }
  } = site
  const isBundle = bundles.some(({ id }) => id === bundle) && bundle !== entityType
  const typeOf = (edition: any) => edition[fields.editionType][0]?.value
  return editions.filter(
    (edition) =>
      (bundle === entityType ||
        (isBundle ? edition[keys.bundle][0].target_id === bundle : bundle in editionTypes && typeOf(edition) === bundle)) &&
      (q === undefined || edition[keys.label][0].value.toLowerCase().includes(q.toLowerCase()) || edition[fields.key][0]?.value === q) &&
      (status === undefined || edition[keys.published][0].value === (status === 1)) &&
      (type === undefined || typeOf(edition) === type) &&
      (key === undefined || edition[fields.key][0]?.value === key)
  )
}

for (const variant of ['bundles', 'single', 'renamed'] as const) {
  t.test(`lists of the site "${variant}" are the selections made from core REST's own entities`, async (t) => {
    const site = await startSite({ variant })
    t.teardown(() => site.stop())
    const service = await startQuoin(site)
    t.teardown(() => service.close())
    const random = generator(20261120)
    let comparisons = 0
    for (const user of USERS) {
      const editions = await visible(site, user)
      for (let count = 0; count < COMBINATIONS / (variant === 'bundles' ? USERS.length : USERS.length * 3); count++) {
        const wanted = combination(random, site)
        await compare(t, wanted, editions, user)
        comparisons++
      }
    }
    t.comment(`lists, ${variant}: ${USERS.length} users, ${comparisons} combinations, differences: ${t.counts.fail}`)

    async function compare(t: Test, wanted: Combination, editions: any[], user: string) {
      const { bundle, ...query } = wanted
      const { status, body } = await quoin(
        service,
        user,
        'GET',
        `/api/collections/${bundle}?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`
      )
      const all = expected(site, editions, wanted)
      const { offset, limit } = wanted
      const page = all.slice(offset, offset + limit)
      const name = `${user}: ${JSON.stringify(wanted)}`
      if (!t.equal(status, 200, name)) return
      t.strictSame(
        body.data.map((edition: any) => idOf(site, edition)),
        page.map((edition) => idOf(site, edition)),
        name
      )
      t.equal(body.meta.hasMore, all.length > offset + limit, name)
      t.ok(body.meta.total === null || body.meta.total === all.length, name)
    }
  })
}

/** Changes the times of change: ties among them, and those of translations far from those of the originals. */
async function changeTimes(site: Site): Promise<void> {
  const { entityType, keys } = site.names
  const shift = '(CASE WHEN default_langcode = 1 THEN 0 ELSE (CASE WHEN @id % 2 = 0 THEN 5000 ELSE -5000 END) END)'
  const time = `1790000000 + ((@id * 7919) % 23) * 60 + ${shift}`.replaceAll('@id', keys.id)
  const update = (table: string) => `\\Drupal::database()->query("UPDATE {${entityType}_${table}} SET ${keys.changed} = ${time}");`
  await site.php(`${update('field_data')} ${update('field_revision')} drupal_flush_all_caches();`)
}

/** What Drupal sorts each edition by, from its own table: the latest and the earliest change of all translations. */
async function changesOf(site: Site): Promise<Map<number, { latest: number; earliest: number }>> {
  const { entityType, keys } = site.names
  const query = `SELECT ${keys.id} AS id, MAX(${keys.changed}) AS latest, MIN(${keys.changed}) AS earliest FROM {${entityType}_field_data} GROUP BY ${keys.id}`
  const rows: any[] = JSON.parse(await site.php(`return \\Drupal::database()->query("${query}")->fetchAll();`))
  return new Map(rows.map(({ id, latest, earliest }) => [Number(id), { latest: Number(latest), earliest: Number(earliest) }]))
}

for (const variant of ['bundles', 'renamed'] as const) {
  t.test(`lists of the site "${variant}" are in the order of Drupal's own tables`, async (t) => {
    const site = await startSite({ variant })
    t.teardown(() => site.stop())
    const service = await startQuoin(site)
    t.teardown(() => service.close())
    await changeTimes(site)
    const changes = await changesOf(site)
    const { names } = site
    t.ok(
      [...changes.values()].some(({ latest, earliest }) => latest !== earliest),
      'there are translations'
    )
    t.ok(new Set([...changes.values()].map(({ latest }) => latest)).size < changes.size / 2, 'there are ties')

    const valueOf = (id: number, sort: string) => {
      if (sort.endsWith('id')) return id
      const { latest, earliest } = changes.get(id)!
      return sort.startsWith('-') ? latest : earliest
    }
    const inOrder = (ids: number[], sort: string) =>
      ids.toSorted((a, b) => (sort.startsWith('-') ? -1 : 1) * (valueOf(a, sort) - valueOf(b, sort) || a - b))
    const isTranslated = (id: number) => changes.get(id)!.latest !== changes.get(id)!.earliest

    const all = names.entityType
    const queries: Array<Pick<Combination, 'bundle' | 'limit'> & Partial<Combination>> = [
      { bundle: all, limit: 40 },
      { bundle: all, limit: 50, q: 'e' },
      ...names.bundles.map(({ id: bundle }) => ({ bundle, limit: 27 })),
      { bundle: names.bundles[0]!.id, limit: 500, status: 1 }
    ]
    for (const user of ['editor', 'reader']) {
      const editions = await visible(site, user)
      for (const sort of ['id', 'changed', '-changed']) {
        for (const { bundle, ...query } of queries) {
          const name = `${user}: ${bundle} ${JSON.stringify(query)} by ${sort}`
          const ids = expected(site, editions, { bundle, offset: 0, ...query }).map((edition) => idOf(site, edition))
          const found = await readAll(`/api/collections/${bundle}`, { ...query, sort }, user)
          if (bundle !== all || sort === 'id') {
            t.strictSame(found, inOrder(ids, sort), name)
            continue
          }
          t.strictSame(inOrder(found, 'id'), inOrder(ids, 'id'), `${name}: each one once`)
          const untranslated = (ids: number[]) => ids.filter((id) => !isTranslated(id))
          t.strictSame(untranslated(found), inOrder(untranslated(ids), sort), `${name}: but for translations`)
        }
      }
    }
    for (const user of ['admin', 'reader']) {
      t.match(await quoin(service, user, 'GET', `/api/collections/${names.entityType}?sort=title`), {
        status: 400,
        body: { message: 'querystring/sort must be "-id" or "id" or "-changed" or "changed"' }
      })
    }

    /** All pages of a list. */
    async function readAll(path: string, query: object, user: string): Promise<number[]> {
      const ids: number[] = []
      const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
      let next: string | undefined = `${path}?${new URLSearchParams(parameters)}`
      while (next) {
        const { status, body } = await quoin(service, user, 'GET', next)
        if (status !== 200) throw new Error(`${next} answered ${status}: ${body.message}`)
        ids.push(...body.data.map((edition: any) => idOf(site, edition)))
        next = body.links.next
      }
      return ids
    }
  })
}

t.test('a field that is no key, or that the user may not see, gives no order', async (t) => {
  const site = await startSite()
  t.teardown(() => site.stop())
  for (const [changed, user] of [
    ['field_nosuch', 'editor'],
    ['field_internal_note', 'reader'],
    ['field_link', 'editor']
  ] as const) {
    const model = join(site.root, `../content-model-${changed}.json`)
    writeFileSync(model, JSON.stringify({ keys: { changed } }))
    const service = await startQuoin(site, { CONTENT_MODEL: model })
    const { status, body } = await quoin(service, user, 'GET', '/api/collections/daily?sort=-changed')
    await service.close()
    t.match(
      { status, body },
      { status: 400, body: { code: 'BAD_REQUEST', message: new RegExp(`does not sort publisher_container--daily by "${changed}"`) } },
      changed
    )
  }
})

t.test('while editions come and go no list has one twice or leaves one out', async (t) => {
  const site = await startSite()
  t.teardown(() => site.stop())
  const service = await startQuoin(site)
  t.teardown(() => service.close())
  const stable = new Set((await visible(site, 'editor')).map((edition) => idOf(site, edition)))
  const doomed: number[] = []
  const stop = new AbortController()
  const churn = (async () => {
    for (let count = 0; !stop.signal.aborted; count++) {
      const { status, body } = await core(site, 'editor', 'POST', '/entity/publisher_container', {
        type: [{ target_id: count % 2 ? 'daily' : 'special' }],
        title: [{ value: `Churn ${count}` }],
        field_key: [{ value: `churn-${count}` }]
      })
      if (status === 201) doomed.push(body.id[0].value)
      const victim = count % 2 ? doomed.shift() : undefined
      if (victim) await core(site, 'editor', 'DELETE', `/publisher_container/${victim}`)
    }
  })()
  for (let round = 0; round < 12; round++) {
    const { body } = await quoin(service, 'editor', 'GET', '/api/collections/publisher_container?limit=500')
    const ids = body.data.map((edition: any) => idOf(site, edition))
    t.equal(new Set(ids).size, ids.length, 'none twice')
    t.strictSame(
      [...stable].filter((id) => !ids.includes(id)),
      [],
      'none left out'
    )
  }
  stop.abort()
  await churn
  t.ok(doomed.length > 0, 'editions were made meanwhile')
})
