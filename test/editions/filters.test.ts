import t from 'tap'
import { contentModel } from '#lib/editions/model.ts'
import { createCatalog, type Collection } from '#lib/editions/site/catalog.ts'
import { createFilters, filterAdvice, type Reach, type Verdict } from '#lib/editions/site/filters.ts'
import { kindOf, ownerPath, viewOn, type Kind } from '#lib/editions/site/kinds.ts'
import type { Jsonapi } from '#lib/drupal/client.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const ME = 'user-2'

/**
 * A row: whether it is published, and the number of its owner; hidden from the caller if it says so. Its translations
 * are not shown.
 */
interface Row extends Translation {
  id: string
  isHidden?: boolean
  translations?: Translation[]
}

interface Translation {
  isPublished: boolean
  owner: number
}

/** What a hook lets the caller filter. */
type Subset = 'all' | 'published' | 'own' | 'published and own' | 'nothing'

/** One collection: what it has, and what filters find of it. */
interface Shown {
  rows: Row[]
  subset?: Subset
  /** Makes something else of what a filter has found. */
  spoil?: (found: Row[]) => Row[]
}

const collection = (bundle: string): Collection => ({
  resourceType: `publisher_container--${bundle}`,
  entityType: 'publisher_container',
  bundle,
  path: `/publisher_container/${bundle}`
})

const row = (id: string, isPublished: boolean, owner: number, isHidden = false): Row => ({ id, isPublished, owner, isHidden })
const rows = (count: number, isPublished: boolean, owner: number, isHidden = false) =>
  Array.from({ length: count }, (_, index) => row(`${isPublished ? 'p' : 'd'}${owner}-${index}`, isPublished, owner, isHidden))
/** A draft with a published translation. */
const half = (id: string, owner: number): Row => ({ ...row(id, false, owner), translations: [{ isPublished: true, owner }] })
/** A row with a translation of the caller's that is not published. */
const translated = (id: string, isPublished: boolean, owner: number): Row => ({
  ...row(id, isPublished, owner),
  translations: [{ isPublished: false, owner: OWN }]
})
const OWN = 2
const [LESS, MORE] = [1, 3]

function resourceOf({ id, isPublished, owner }: Row): Resource {
  return {
    type: 'publisher_container--x',
    id,
    attributes: { status: isPublished },
    relationships: { uid: { data: { type: 'user--user', id: `user-${owner}` } } }
  }
}

function isAllowed(subset: Subset, row: Row): boolean {
  return languagesOf(row).some(
    ({ isPublished, owner }) =>
      subset === 'all' || (subset.startsWith('published') && isPublished) || (subset.endsWith('own') && owner === OWN)
  )
}

/** The row as it is in each language, by any of which a filter finds it. */
function languagesOf(row: Row): Translation[] {
  return [row, ...(row.translations ?? [])]
}

function sorted(rows: Row[], sort: string): Row[] {
  const value = (row: Row, name: string) => (name === 'status' ? Number(row.isPublished) : name.startsWith('uid.') ? row.owner : row.id)
  const terms = sort.split(',').map((term) => [term.replace('-', ''), term.startsWith('-') ? -1 : 1] as const)
  return rows.toSorted(
    (one, other) =>
      terms
        .map(([name, sign]) => (value(one, name) < value(other, name) ? -sign : value(one, name) > value(other, name) ? sign : 0))
        .find(Boolean) ?? 0
  )
}

/** Filters over collections that show this, by the test's clock. */
function filtersOver(
  shown: Record<string, Shown>,
  { keys = {}, refuses = /^$/, ...options }: { me?: string | null | undefined; keys?: object; refuses?: RegExp } = {}
) {
  const me = 'me' in options ? options.me : ME
  const clock = { now: 0 }
  const warnings: string[] = []
  const asked: string[] = []
  const cms: Jsonapi = {
    async request({ path, query = [] }) {
      const { sort, ...parameters } = Object.fromEntries(query)
      asked.push(String(sort))
      if (refuses.test([sort, ...Object.keys(parameters)].join(' '))) return { status: 403, document: {} }
      const { rows, subset = 'all', spoil = (found) => found } = shown[path.split('/').at(-1)!]!
      const ids = [...query].filter(([name]) => name.startsWith('filter[uuids]') && name.includes('[value]')).map(([, value]) => value)
      const flag = parameters['filter[flag][condition][value]']
      const owner = parameters['filter[owner][condition][value]']
      const isFiltered = ids.length > 0 || flag !== undefined
      const found = rows
        .filter((row) => !isFiltered || isAllowed(subset, row))
        .filter(({ id }) => ids.length === 0 || ids.includes(id))
        .filter((row) => flag === undefined || languagesOf(row).some(({ isPublished }) => flag === String(Number(isPublished))))
        .filter((row) => owner === undefined || languagesOf(row).some(({ owner: one }) => owner === `user-${one}`))
      const all = sorted(isFiltered ? spoil(found) : found, sort!)
      return {
        status: 200,
        document: {
          data: all
            .slice(0, 50)
            .filter(({ isHidden }) => !isHidden)
            .map(resourceOf),
          ...(all.length > 50 && { links: { next: {} } })
        }
      }
    }
  }
  const collections = Object.keys(shown).map(collection)
  const filters = createFilters({
    cms,
    catalog: { me: async () => me, all: async () => collections },
    model: contentModel({ keys }),
    warn: (message) => {
      warnings.push(message)
    },
    time: fakeTime({ monotonic: () => clock.now })
  })
  return { filters, clock, warnings, collections, asked, shown }
}

const ALL: Kind[] = ['unpublished of others', 'published of others', 'own unpublished', 'own published']
const PUBLISHED: Kind[] = ['published of others', 'own published']

t.test('filters work only for kinds of which one was seen to find what is there', async (t) => {
  const cases: Array<
    [what: string, shown: Record<string, Shown>, verdict: Verdict, proven: Kind[], reach: Reach, requests: [first: number, again: number]]
  > = [
    ['a draft of others is shown, and found', { daily: { rows: [row('a', false, LESS)] } }, 'work', ALL, 'all', [2 + 2, 0]],
    ['it is not found', { daily: { rows: [row('a', false, LESS)], subset: 'nothing' } }, 'trap', [], 'none', [2, 0]],
    [
      'it is not found, but what is published is',
      { daily: { rows: [row('a', false, LESS), row('b', true, LESS)], subset: 'published' } },
      'trap',
      PUBLISHED,
      'published',
      [2 + 1, 0]
    ],
    [
      'the first fifty are drafts of others, and what is published is found',
      { daily: { rows: [...rows(60, false, LESS), ...rows(9, true, MORE)], subset: 'published' } },
      'trap',
      PUBLISHED,
      'published',
      [2 + 1 + 1, 0]
    ],
    [
      'the first fifty are drafts of others, and nothing is found',
      { daily: { rows: [...rows(60, false, LESS), ...rows(9, true, MORE)], subset: 'nothing' } },
      'trap',
      [],
      'none',
      [2 + 1, 0]
    ],
    [
      'the first fifty are drafts of others, and another row is found',
      { daily: { rows: [...rows(60, false, LESS), ...rows(9, true, MORE)], spoil: (found) => [...found, row('z', true, LESS)] } },
      'trap',
      [],
      'none',
      [2, 0]
    ],
    [
      'the first fifty drafts are his own',
      { daily: { rows: [...rows(60, false, OWN), ...rows(2, false, MORE), ...rows(9, true, LESS)], subset: 'published and own' } },
      'partly',
      ALL.slice(1),
      'published',
      [3 + 2 + 1 + 1 + 2, 2]
    ],
    [
      'the same, and he may filter all',
      { daily: { rows: [...rows(60, false, OWN), ...rows(2, false, MORE), ...rows(9, true, LESS)] } },
      'work',
      ALL,
      'all',
      [3 + 2 + 2, 0]
    ],
    [
      "the same, and the others are older users'",
      { daily: { rows: [...rows(60, false, OWN), ...rows(2, false, LESS), ...rows(9, true, LESS)] } },
      'work',
      ALL,
      'all',
      [2 + 2, 0]
    ],
    [
      'all drafts are his own',
      { daily: { rows: [...rows(60, false, OWN), ...rows(9, true, LESS)], subset: 'published and own' } },
      'partly',
      ALL.slice(1),
      'all',
      [3 + 2 + 1 + 1 + 2, 2]
    ],
    [
      'all rows are his own',
      { daily: { rows: [...rows(5, false, OWN), ...rows(60, true, OWN)] } },
      'partly',
      ALL.slice(2),
      'all',
      [3 + 2 + 2, 2]
    ],
    [
      'all rows are his own and published',
      { daily: { rows: rows(5, true, OWN), subset: 'own' } },
      'partly',
      ALL.slice(3),
      'all',
      [2 + 3, 3]
    ],
    [
      'of others there are only published ones, and he may filter his own',
      { daily: { rows: [...rows(5, false, OWN), ...rows(5, true, MORE)], subset: 'own' } },
      'trap',
      ALL.slice(2),
      'none',
      [2 + 1, 0]
    ],
    [
      'all that is shown is published',
      { daily: { rows: rows(5, true, LESS), subset: 'published' } },
      'partly',
      PUBLISHED,
      'all',
      [3 + 1, 1]
    ],
    [
      'the same before some that are hidden',
      { daily: { rows: [...rows(5, true, LESS), ...rows(30, false, LESS, true)], subset: 'published' } },
      'partly',
      PUBLISHED,
      'all',
      [3 + 1, 1]
    ],
    [
      'the same before many that are hidden',
      { daily: { rows: [...rows(5, true, LESS), ...rows(80, false, LESS, true)], subset: 'published' } },
      'partly',
      PUBLISHED,
      'published',
      [1 + 1 + 1 + 1 + 1, 1]
    ],
    [
      'his own drafts stand among hidden ones',
      {
        daily: {
          rows: [...rows(20, false, LESS, true), ...rows(20, false, MORE, true), ...rows(3, false, OWN), ...rows(9, true, LESS)],
          subset: 'published and own'
        }
      },
      'partly',
      ALL.slice(1),
      'all',
      [4 + 2, 2]
    ],
    [
      'another row is found, as by a cache that ignores queries',
      { daily: { rows: [row('a', false, LESS)], spoil: (found) => [...found, row('z', true, LESS)] } },
      'trap',
      [],
      'none',
      [2, 0]
    ],
    [
      'a wrong row is found',
      { daily: { rows: [row('a', false, LESS)], spoil: () => [row('z', false, LESS)] } },
      'trap',
      [],
      'none',
      [2, 0]
    ],
    [
      'what shows the most is found, and less is not',
      { daily: { rows: [row('a', false, LESS), row('b', true, LESS)], spoil: (found) => found.slice(0, 1) } },
      'trap',
      [],
      'none',
      [2 + 2, 0]
    ],
    [
      'none is shown, but there are more',
      { daily: { rows: rows(60, true, LESS, true), subset: 'nothing' } },
      'unknown',
      [],
      'none',
      [3, 0]
    ],
    ['there is none', { daily: { rows: [] } }, 'empty', [], 'all', [2, 1]],
    ['one bundle has none', { daily: { rows: [] }, special: { rows: [row('a', false, LESS)] } }, 'work', ALL, 'all', [3 + 2, 0]],
    [
      'of one bundle nothing is known',
      { daily: { rows: rows(60, true, LESS, true), subset: 'nothing' }, special: { rows: [row('a', false, LESS)] } },
      'work',
      ALL,
      'all',
      [5 + 2, 0]
    ],
    [
      'of one bundle nothing is found',
      { daily: { rows: [row('b', false, LESS)], subset: 'nothing' }, special: { rows: [row('a', false, LESS)] } },
      'trap',
      [],
      'none',
      [4 + 2, 0]
    ],
    [
      'of one bundle nothing is known, the other is empty',
      { daily: { rows: rows(60, true, LESS, true), subset: 'nothing' }, special: { rows: [] } },
      'unknown',
      [],
      'none',
      [4, 0]
    ],
    ['no bundle', {}, 'empty', [], 'all', [0, 0]],
    [
      'the drafts of others have a published translation, by which they are found',
      { daily: { rows: [half('a', LESS), half('b', LESS), row('c', true, LESS)], subset: 'published' } },
      'partly',
      PUBLISHED,
      'published',
      [2 + 2 + 1, 1]
    ],
    [
      'the first draft has one, and the next is not found',
      { daily: { rows: [half('a', LESS), row('b', false, LESS), row('c', true, LESS)], subset: 'published' } },
      'trap',
      PUBLISHED,
      'published',
      [2 + 1, 0]
    ],
    [
      'the first draft has one, and he may filter all',
      { daily: { rows: [half('a', LESS), row('b', false, LESS)] } },
      'work',
      ALL,
      'all',
      [2 + 2, 0]
    ],
    [
      'each draft has one, so that nothing shows that he may filter all',
      { daily: { rows: [half('a', LESS), row('b', true, LESS)] } },
      'partly',
      PUBLISHED,
      'published',
      [2 + 2 + 1, 1]
    ],
    [
      'the drafts of others have a translation of his, by which they are found',
      { daily: { rows: [row('c', true, LESS), translated('a', false, LESS)], subset: 'published and own' } },
      'partly',
      PUBLISHED,
      'published',
      [2 + 2 + 1, 1]
    ],
    [
      'so have those that are published',
      { daily: { rows: [translated('a', true, LESS)], subset: 'own' } },
      'partly',
      [],
      'none',
      [2 + 1 + 1, 1]
    ],
    [
      'his own drafts have a published translation, by which they are found',
      { daily: { rows: [half('a', OWN), row('c', true, LESS)], subset: 'published' } },
      'partly',
      PUBLISHED,
      'published',
      [2 + 2 + 1, 1]
    ],
    [
      'the first fifty drafts are his own, and that of another has a published translation',
      { daily: { rows: [...rows(60, false, OWN), half('z', MORE), ...rows(9, true, LESS)], subset: 'published and own' } },
      'partly',
      ALL.slice(1),
      'published',
      [3 + 2 + 2 + 1 + 1 + 2, 2]
    ]
  ]
  for (const [what, shown, verdict, proven, reach, [first, again]] of cases) {
    const { filters, collections, asked, warnings } = filtersOver(shown)
    t.equal(filters.recall(collections, newCaller()), undefined, what)
    t.equal(await filters.reach(collections, newCaller()), reach, what)
    t.equal(asked.length, first, `${what}: requests`)
    const findings = await filters.findings(collections, newCaller())
    t.equal(findings.verdict, verdict, what)
    t.strictSame(
      ALL.filter((kind) => findings.proven.has(kind)),
      proven,
      what
    )
    t.equal(await filters.reach(collections, newCaller()), reach, what)
    t.equal(asked.length, first + again, `${what}: requests of the second time`)
    t.strictSame(warnings, [filterAdvice(verdict, 'publisher_container')].filter(Boolean), what)
  }
  t.match(
    filterAdvice('trap', 'publisher_container'),
    /lets some users see publisher_container entities but not filter them.*hook_jsonapi_publisher_container_filter_access/
  )
  t.match(
    filterAdvice('unknown', 'publisher_container'),
    /^Drupal showed some users none of the first 50 .*hook_jsonapi_publisher_container_filter_access/
  )
})

t.test('what cannot be told apart is not known', async (t) => {
  const open = [...rows(3, false, MORE), ...rows(3, true, MORE)]
  const unseen = filtersOver({ daily: { rows: open, subset: 'published' } }, { me: undefined })
  t.equal(await unseen.filters.reach(unseen.collections, newCaller()), 'none')
  t.strictSame(
    (await unseen.filters.findings(unseen.collections, newCaller())).missed,
    new Set(ALL),
    'what is passed over may be of any kind'
  )
  const site = { daily: { rows: open } }
  const cases: Array<[what: string, options: Parameters<typeof filtersOver>[1], verdict: Verdict, reach: Reach]> = [
    ['whose they are, where Drupal does not say who the caller is', { me: undefined }, 'untold', 'none'],
    ['whose they are, where the owner has another name', { keys: { owner: 'author' } }, 'untold', 'none'],
    ['whether they are published, where that has another name', { keys: { published: 'live' } }, 'untold', 'none'],
    ['nothing, where they have no owner', { keys: { owner: null }, me: undefined }, 'work', 'all'],
    ['nothing, for nobody', { me: null }, 'work', 'all']
  ]
  for (const [what, options, verdict, reach] of cases) {
    const { filters, collections, warnings } = filtersOver(site, options)
    t.equal(await filters.reach(collections, newCaller()), reach, what)
    t.equal((await filters.findings(collections, newCaller())).verdict, verdict, what)
    t.equal(filters.recall(collections, newCaller()), reach, what)
    t.strictSame(warnings, [filterAdvice(verdict, 'publisher_container')].filter(Boolean), what)
  }
  const refusing = filtersOver({ daily: { rows: [...rows(3, false, OWN), ...rows(3, true, MORE)] } }, { refuses: /filter\[owner\]/ })
  t.equal(await refusing.filters.reach(refusing.collections, newCaller()), 'none', 'whether others have a translation of his')
  t.strictSame((await refusing.filters.findings(refusing.collections, newCaller())).proven, new Set(ALL.slice(2)))
  const untranslated = filtersOver(site, { keys: { defaultLangcode: null } })
  t.equal(await untranslated.filters.reach(untranslated.collections, newCaller()), 'all')
  t.strictSame(untranslated.asked, ['status,id', 'id'], 'where nothing has translations there is no such question')
  const nobody = filtersOver(
    { daily: { rows: [...rows(5, true, LESS), ...rows(80, false, LESS, true)], subset: 'published' } },
    { me: null }
  )
  t.equal(await nobody.filters.reach(nobody.collections, newCaller()), 'published')
  t.strictSame(nobody.asked, ['status,id', 'id', 'id', 'status,-drupal_internal__id'], 'there is no order by owners')
  t.match(filterAdvice('untold', 'issue'), /^The issue entities do not show some users whose they are .*keys\.owner and keys\.published/)
})

t.test('a kind is told by all that Drupal goes by', (t) => {
  const one = (entityType: string, resource: Partial<Resource>, me: string | null | undefined = ME, keys = {}) =>
    kindOf({ type: `${entityType}--x`, id: 'a', ...resource }, viewOn(entityType, me, contentModel({ keys })))
  const owned = (type: string, ...ids: string[]) => ({ uid: { data: ids.map((id) => ({ type, id })) } })
  const draft = { attributes: { status: false } }
  t.equal(one('publisher_container', { ...draft, relationships: owned('user--user', ME.toUpperCase()) }), 'own unpublished')
  t.equal(one('publisher_container', { ...draft, relationships: { uid: { data: null } } }), 'unpublished of others', 'it has no owner')
  t.equal(one('publisher_container', { ...draft, relationships: owned('node--article', ME) }), undefined, 'that is no user')
  t.equal(one('publisher_container', { ...draft, relationships: { uid: {} } }), undefined, 'without data')
  t.equal(one('publisher_container', { ...draft }), undefined, 'a field that is not shown')
  t.equal(one('publisher_container', {}), undefined, 'a label alone')
  t.equal(one('publisher_container', { relationships: owned('user--user', 'b') }), undefined)
  const named = { published: 'live' }
  t.equal(
    one('publisher_container', { attributes: { live: false, status: true }, relationships: owned('user--user', 'b') }, ME, named),
    undefined,
    'enabled, which is another subset'
  )
  t.equal(
    one('publisher_container', { attributes: { live: false, status: false }, relationships: owned('user--user', 'b') }, ME, named),
    'unpublished of others'
  )
  t.equal(
    one('publisher_container', { relationships: owned('user--user', 'b') }, ME, { published: null }),
    'unpublished of others',
    'what cannot be published is only found among all'
  )
  t.equal(
    one('publisher_container', { attributes: { status: true }, relationships: owned('user--user', 'b') }, ME, { published: null }),
    'published of others'
  )
  t.equal(one('user', { attributes: { status: true } }, 'a'), 'own published', 'a user is his own')
  t.equal(one('user', { attributes: { status: true } }, 'b'), 'published of others')
  t.equal(ownerPath(viewOn('user', ME, contentModel({}))), undefined, 'so users are not sorted by one')
  t.equal(one('taxonomy_term', { attributes: { status: false } }), 'unpublished of others', 'core names its keys')
  for (const entityType of ['file', 'comment']) {
    t.equal(
      one(entityType, { attributes: { status: true }, relationships: owned('user--user', 'b') }),
      undefined,
      `${entityType}: core filters by more`
    )
  }
  t.end()
})

t.test('what was found out is believed for ten minutes, what was not met for one, and of each caller apart', async (t) => {
  const { filters, clock, collections, asked, shown } = filtersOver({ daily: { rows: rows(3, true, LESS), subset: 'published' } })
  const [ann, ben] = [{ authorization: 'ann' }, { authorization: 'ben' }]
  t.equal(await filters.reach(collections, newCaller(ann)), 'all', 'there are no drafts')
  shown['daily']!.rows.push(row('new', false, LESS))
  t.equal(await filters.reach(collections, newCaller(ann)), 'published', 'that is looked at each time')
  clock.now = 59_999
  t.equal((await filters.findings(collections, newCaller(ann))).verdict, 'partly')
  t.equal(filters.recall(collections, newCaller(ben)), undefined)
  clock.now = 60_000
  t.equal((await filters.findings(collections, newCaller(ann))).verdict, 'trap', 'now it is met')
  t.equal(filters.recall(collections, newCaller(ann)), 'published')
  shown['daily']!.subset = 'all'
  clock.now += 599_999
  t.equal(filters.recall(collections, newCaller(ann)), 'published')
  clock.now += 1
  t.equal(await filters.reach(collections, newCaller(ann)), 'all')
  shown['daily']!.subset = 'published'
  clock.now += 59_999
  filters.doubt(newCaller(ann))
  t.equal(filters.recall(collections, newCaller(ann)), 'all', 'a save does not end what is newer than a minute')
  clock.now += 1
  filters.doubt(newCaller(ben))
  t.equal(filters.recall(collections, newCaller(ann)), 'all')
  filters.doubt(newCaller(ann))
  t.equal(filters.recall(collections, newCaller(ann)), undefined)
  const before = asked.length
  t.equal(await filters.reach(collections, newCaller(ann)), 'published')
  filters.doubt(newCaller(ann))
  t.equal(filters.recall(collections, newCaller(ann)), undefined, 'and ends at once what is not complete')
  t.equal(asked.length, before + 3)
})

t.test('what is known of one bundle is known of the others', async (t) => {
  const { filters, collections, asked } = filtersOver({ daily: { rows: rows(2, false, LESS) }, special: { rows: rows(2, true, LESS) } })
  const [daily, special] = collections.map((collection) => [collection]) as [Collection[], Collection[]]
  t.equal(await filters.reach(special, newCaller()), 'all')
  t.equal(asked.length, 4, 'a look whether there is a draft is needed')
  await filters.reach(daily, newCaller())
  const before = asked.length
  t.equal(await filters.reach(special, newCaller()), 'all')
  t.equal(asked.length, before, 'now it is not')
})

t.test('where Drupal does not sort by what tells drafts, whole lists are read', async (t) => {
  for (const published of ['status', null]) {
    const { filters, collections, asked } = filtersOver(
      { daily: { rows: rows(60, true, LESS), subset: 'published' } },
      { refuses: /^status/, keys: { published } }
    )
    t.equal(await filters.reach(collections, newCaller()), 'none', String(published))
    t.strictSame(
      asked.slice(0, 4),
      published === null ? ['id', 'id', 'id', '-drupal_internal__id'] : ['status,id', 'id', 'id', 'id'],
      String(published)
    )
  }
  const { filters, collections } = filtersOver(
    { daily: { rows: [...rows(60, false, OWN), ...rows(3, false, MORE)] } },
    { refuses: /uid\./ }
  )
  t.equal(await filters.reach(collections, newCaller()), 'none', 'nor by owners')
  const without = filtersOver({ daily: { rows: [...rows(60, true, OWN)] } }, { keys: { published: null } })
  t.equal(await without.filters.reach(without.collections, newCaller()), 'none')
})

t.test('a CMS that refuses the question is no verdict', async (t) => {
  const filters = createFilters({
    cms: { request: async () => ({ status: 403, document: {} }) },
    catalog: { me: async () => ME, all: async () => [] },
    model: contentModel({}),
    warn: () => {}
  })
  await t.rejects(filters.reach([collection('daily')], newCaller()), { code: 'CMS_FORBIDDEN' })
  t.equal(filters.recall([collection('daily')], newCaller()), undefined)
})

t.test('whom the CMS takes the caller for is known where it says so', async (t) => {
  const users = { 'user--user': { href: 'http://cms/jsonapi/user/user' } }
  const cases: Array<[what: string, document: object, me: string | null | undefined]> = [
    ['a user', { links: users, meta: { links: { me: { meta: { id: ME } } } } }, ME],
    ['nobody', { links: users }, null],
    ['nobody is named, but then nobody could be', { links: {} }, undefined],
    ['an odd link', { links: users, meta: { links: { me: 'http://cms/user' } } }, undefined],
    ['an odd id', { links: users, meta: { links: { me: { meta: { id: 2 } } } } }, undefined],
    ['no meta', { links: users, meta: { links: { me: {} } } }, undefined],
    ['odd links', { links: users, meta: { links: [] } }, null]
  ]
  for (const [what, { links, ...document }, me] of cases as Array<[string, Record<string, any>, unknown]>) {
    const cms: Jsonapi = {
      request: async () => ({ status: 200, document: { links: { self: { href: 'http://cms/jsonapi' }, ...links }, ...document } })
    }
    t.equal(await createCatalog({ cms, model: contentModel({}) }).me(newCaller()), me, what)
  }
})
