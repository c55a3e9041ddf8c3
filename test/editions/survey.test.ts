import t from 'tap'
import { contentModel } from '#lib/editions/model.ts'
import type { Collection } from '#lib/editions/site/catalog.ts'
import { createAsk, type Ask, type RowList, type Plain } from '../../packages/setup/survey/ask.ts'
import { proposeBundles } from '../../packages/setup/survey/bundles.ts'
import { candidatesIn } from '../../packages/setup/survey/candidates.ts'
import { formMember } from '../../packages/setup/survey/form.ts'
import { modelText } from '../../packages/setup/survey/file.ts'
import type { Member } from '../../packages/setup/survey/member.ts'
import { canonicalPath, languageMember, mediaPath, twinOf, USUAL_LANGUAGES } from '../../packages/setup/survey/places.ts'
import { collectionsOf, pathIn, surveySite } from '../../packages/setup/survey/survey.ts'
import { timeZoneMember } from '../../packages/setup/survey/time-zone.ts'
import { Failure } from '#lib/errors.ts'
import type { JsonapiRequest } from '#lib/drupal/client.ts'
import type { Resource } from '#lib/drupal/document.ts'

interface Place {
  /** Paths by the path of an entity: what its link names. */
  canonical?: Record<string, string>
  /** Collections by their path: what a list of them shows. */
  lists?: Record<string, Partial<RowList> | ((query: string) => Partial<RowList>)>
  /** Pages by their path; a page that is not there is 404. */
  pages?: Record<string, Partial<Plain>>
  /** Paths by which JSON:API sorts. */
  sorts?: string[]
  jsonapiPath?: string
}

/** A site that answers from tables. */
function site(place: Place): Ask {
  const { lists = {}, pages = {}, sorts = [], jsonapiPath = '/jsonapi', canonical = {} } = place
  const self: Ask = {
    jsonapiPath,
    cms: {
      // The entry point, for the account.
      request: async () => ({ status: 200, document: { meta: { links: { me: { meta: { id: 'uuid-me' } } } } } }) as never
    },
    async list(path, query = []) {
      const found = lists[path]
      return { rows: [], hidden: 0, ...(typeof found === 'function' ? found(new URLSearchParams(query).toString()) : found) }
    },
    one: async (path) => (await self.list(path.slice(0, path.lastIndexOf('/')))).rows.find(({ id }) => path.endsWith(`/${id}`)),
    takes: async (_path, query) => sorts.includes(query[0]![1]),
    json: async (path) => ({
      status: pages[path] ? 200 : 404,
      object: undefined,
      language: undefined,
      canonical: undefined,
      text: '',
      ...pages[path]
    }),
    canonicalOf: async (path) => canonical[path],
    at: (path) => site({ lists: Object.fromEntries(Object.entries(lists).map(([at, found]) => [at.replace(path, ''), found])) })
  }
  return self
}

const collection = (entityType: string, bundle = entityType): Collection => ({
  resourceType: `${entityType}--${bundle}`,
  entityType,
  bundle,
  path: `/${entityType}/${bundle}`
})

const reference = (type: string, id: number | string) => ({ type, id: `uuid-${id}`, meta: { drupal_internal__target_id: id } })

/** An edition of the type `issue`, with a link that names its revision. */
function issue(
  id: number,
  {
    attributes = {},
    relationships = {},
    bundle = 'daily',
    revision = id + 100
  }: { attributes?: object; relationships?: Record<string, unknown>; bundle?: string; revision?: number | null } = {}
): Resource {
  return {
    type: `issue--${bundle}`,
    id: `uuid-${id}`,
    ...(revision !== null && {
      links: { self: { href: `http://cms/jsonapi/issue/${bundle}/uuid-${id}?resourceVersion=id%3A${revision}` } }
    }),
    attributes: {
      drupal_internal__id: id,
      ...(revision !== null && { drupal_internal__vid: revision }),
      title: `Issue ${id}`,
      status: true,
      changed: `2026-01-0${id}T00:00:00+00:00`,
      ...attributes
    },
    relationships: relationships as NonNullable<Resource['relationships']>
  }
}

const issues = (change: (id: number) => Parameters<typeof issue>[1] = () => ({})) => [1, 2, 3, 4].map((id) => issue(id, change(id)))

/** What a survey says of each member: its certainty and its value. */
async function survey(
  place: Place,
  collections = [collection('issue', 'daily')]
): Promise<Record<string, [certainty: string, value: unknown, why: string]>> {
  const { members } = await surveySite(site(place), 'issue', collections)
  return Object.fromEntries(members.map(({ name, certainty, value, why }) => [name, [certainty, value, why]]))
}

const rowsOf = (rows: Resource[], more: Place['lists'] = {}): Place => ({ lists: { '/issue/daily': { rows }, ...more } })

/** Editions whose attributes are fewer. */
const lacking = (...names: string[]): Place =>
  rowsOf(
    issues().map((row) => ({
      ...row,
      attributes: Object.fromEntries(Object.entries(row.attributes!).filter(([name]) => !names.includes(name)))
    }))
  )

const timesOf = (attributes: object): Place => rowsOf(issues(() => ({ attributes })))

t.test('keys are told by what JSON:API marks, by links and by values', async (t) => {
  const cases: Array<[what: string, place: Place, expected: object]> = [
    ['ids and revisions that differ', rowsOf(issues()), { 'keys.id': ['shown', 'id'], 'keys.revision': ['shown', 'vid'] }],
    [
      'ids and revisions that are equal',
      rowsOf(issues((id) => ({ revision: id }))),
      { 'keys.id': ['guessed', 'id'], 'keys.revision': ['guessed', 'vid'] }
    ],
    [
      'no revisions',
      rowsOf(issues(() => ({ revision: null }))),
      { 'keys.id': ['shown', 'id'], 'keys.revision': ['guessed', null, 'JSON:API marks one id, so the entity type has no revisions'] }
    ],
    ['no id that is shown', rowsOf([{ type: 'issue--daily', id: 'a' }]), { 'keys.id': ['hidden', undefined] }],
    [
      'a link that is none',
      rowsOf([{ ...issue(1), links: { self: 'x' } } as Resource]),
      { 'keys.id': ['guessed', 'id'], 'keys.revision': ['guessed', 'vid'] }
    ],
    ['one text', rowsOf(issues()), { 'keys.label': ['shown', 'title'], 'keys.uuid': ['guessed', 'uuid'] }],
    ['several texts', rowsOf(issues(() => ({ attributes: { name: 'x', headline: 'y' } }))), { 'keys.label': ['guessed', 'title'] }],
    [
      'texts of other names',
      rowsOf(issues(() => ({ attributes: { title: null, motto: 'x', slogan: 'y' } }))),
      { 'keys.label': ['guessed', 'motto'] }
    ],
    ['no text', lacking('title'), { 'keys.label': ['guessed', null] }],
    [
      'no text in any edition',
      rowsOf(issues(() => ({ attributes: { title: null } }))),
      { 'keys.label': ['guessed', 'title', 'it is called like it, and is empty in some editions or all'] }
    ],
    [
      'no text in one edition',
      rowsOf(issues((id) => ({ attributes: { title: id === 1 ? null : 'x' } }))),
      { 'keys.label': ['guessed', 'title'] }
    ],
    ['texts in its place', rowsOf(issues(() => ({ attributes: { title: ['x', 'y'] } }))), { 'keys.label': ['guessed', null] }],
    [
      'several that say yes or no',
      rowsOf(issues(() => ({ attributes: { live: false, default_langcode: true, sticky: false } }))),
      { 'keys.published': ['guessed', 'status'], 'keys.defaultLangcode': ['shown', 'default_langcode'] }
    ],
    ['nothing that says yes or no', lacking('status'), { 'keys.published': ['guessed', null], 'keys.defaultLangcode': ['guessed', null] }],
    ['a text in its place', rowsOf(issues(() => ({ attributes: { status: 'open' } }))), { 'keys.published': ['guessed', null] }],
    [
      'nothing that says yes or no in any edition',
      rowsOf(issues(() => ({ attributes: { status: null } }))),
      { 'keys.published': ['guessed', 'status'] }
    ],
    [
      'the latest time',
      rowsOf(issues((id) => ({ attributes: { opened: `2025-01-0${id}T00:00:00+00:00` } }))),
      { 'keys.changed': ['shown', 'changed'] }
    ],
    [
      'later times of the creation',
      rowsOf(issues((id) => ({ attributes: { content_translation_created: `2027-01-0${id}T00:00:00+00:00` } }))),
      { 'keys.changed': ['shown', 'changed'] }
    ],
    [
      'times that are equal',
      rowsOf(
        issues((id) => ({ attributes: { opened: `2026-01-0${id}T00:00:00+00:00`, changed: null, filed: `2026-01-0${id}T00:00:00+00:00` } }))
      ),
      { 'keys.changed': ['guessed', 'opened'] }
    ],
    [
      'a time that is not always there',
      rowsOf(issues((id) => ({ attributes: { closed: id === 1 ? null : '2027-01-01T00:00:00+00:00' } }))),
      { 'keys.changed': ['shown', 'changed'] }
    ],
    ['no time', lacking('changed'), { 'keys.changed': ['guessed', null], timestampFields: ['hidden', undefined] }],
    [
      'no time in any edition',
      timesOf({ changed: null }),
      { 'keys.changed': ['guessed', 'changed'], timestampFields: ['hidden', undefined] }
    ],
    [
      'no time in one edition',
      rowsOf(issues((id) => ({ attributes: id === 1 ? { changed: null } : {} }))),
      { 'keys.changed': ['guessed', 'changed'] }
    ],
    ['languages', rowsOf(issues(() => ({ attributes: { langcode: 'en' } }))), { 'keys.langcode': ['shown', 'langcode'] }],
    [
      'languages under other names',
      rowsOf(issues(() => ({ attributes: { lang: 'pt-br', is_default: true } }))),
      { 'keys.langcode': ['guessed', 'lang'], 'keys.defaultLangcode': ['guessed', 'is_default'] }
    ],
    [
      'languages under a name that says nothing',
      rowsOf(issues((id) => ({ attributes: { motto: 'xx', tongue: id === 1 ? 'und' : 'de' } }))),
      { 'keys.langcode': ['guessed', 'tongue'] }
    ],
    [
      'a code beside words',
      rowsOf(issues(() => ({ attributes: { title: null, code: 'x-1', motto: 'two words' } }))),
      { 'keys.label': ['guessed', 'motto'] }
    ],
    ['no languages', rowsOf(issues()), { 'keys.langcode': ['guessed', null] }],
    ['nothing to see', rowsOf([]), { keys: ['hidden', undefined], bundleEntityType: ['hidden', undefined], fields: ['hidden', undefined] }]
  ]
  for (const [what, place, expected] of cases) t.match(await survey(place), expected, what)
})

t.test('the bundle is the reference whose target is called like it', async (t) => {
  const kinds = (name: string) =>
    rowsOf(
      issues(() => ({
        relationships: { [name]: { data: reference('issue_kind--issue_kind', 'daily') }, uid: { data: reference('user--user', 2) } }
      })),
      {
        '/issue_kind/issue_kind': {
          rows: [{ type: 'issue_kind--issue_kind', id: 'k', attributes: { drupal_internal__name: 'daily', name: 'Daily' } }]
        }
      }
    )
  const collections = [collection('issue', 'daily'), collection('issue_kind'), collection('user')]
  t.match(await survey(kinds('kind'), collections), {
    'keys.bundle': ['shown', 'kind'],
    bundleEntityType: ['shown', 'issue_kind'],
    bundles: ['shown', { daily: 'Daily' }]
  })
  const labelled = (attributes: object) =>
    survey(
      {
        lists: {
          ...kinds('kind').lists,
          '/issue_kind/issue_kind': {
            rows: [
              { type: 'issue_kind--issue_kind', id: 'k', attributes: { drupal_internal__code: 'daily', langcode: 'en', ...attributes } }
            ]
          }
        }
      },
      collections
    )
  t.match((await labelled({ status: true, caption: 'Daily' })).bundles, ['shown', { daily: 'Daily' }], 'a label of another name')
  t.match((await labelled({})).bundles, ['hidden'], 'no label')
  t.match(await survey(kinds('issue_type'), collections), { 'keys.bundle': ['guessed', 'type'] })
  const twin = (field: string): Record<string, Partial<Plain>> => ({
    '/issue/1': { object: { uid: [], [field]: [{ target_id: 'daily' }], code: [{ value: 'uuid-1' }] } }
  })
  for (const [field, key] of [
    ['type', 'type'],
    ['issue_type', 'issue_type']
  ] as const) {
    t.match(
      await survey({ ...kinds('issue_type'), pages: twin(field) }, collections),
      { 'keys.bundle': ['shown', key], 'keys.uuid': ['shown', 'code'], canonicalPaths: ['guessed', { issue: '/issue/{id}' }] },
      field
    )
  }
  const bare = await survey({ lists: { '/issue/issue': { rows: issues(() => ({ bundle: 'issue' })) } } }, [collection('issue')])
  t.match(bare, {
    'keys.bundle': ['guessed', null],
    bundleEntityType: ['guessed', null],
    bundles: ['hidden', undefined, 'the entity type has no bundles']
  })
  t.match(await survey(rowsOf(issues())), {
    'keys.bundle': ['hidden', undefined, 'no edition refers to its bundle; let the account view the field'],
    bundleEntityType: ['hidden', undefined]
  })
  t.match(await survey(kinds('kind'), [collection('issue', 'daily'), collection('issue', 'special')]), {
    bundles: ['hidden', undefined, "daily, special; the permission 'administer issue types' would show their labels"]
  })
  const closed = rowsOf([...issues(() => ({ relationships: { kind: { data: reference('kind--kind', 'daily') } } }))], {
    '/kind/kind': { hidden: 1, permission: 'administer kinds' }
  })
  t.match((await survey(closed, [collection('issue', 'daily'), collection('kind')])).bundles, [
    'hidden',
    undefined,
    "daily; the permission 'administer kinds' would show their labels"
  ])
})

t.test('what is true of an original and false of its translation tells them apart', async (t) => {
  const first = (id: number) => ({ attributes: { tongue: 'de', origin: true, hot: true, quiet: false, status: id > 0 } })
  const shownIn = (changed: object) => ({
    lists: {
      '/issue/daily': { rows: issues(first) },
      '/en/jsonapi/issue/daily': {
        rows: [
          ...issues((id) => (id > 2 ? first(id) : { attributes: { ...first(id).attributes, tongue: 'en', ...changed } })),
          issue(9, first(9))
        ]
      }
    },
    pages: { '/jsonapi': { language: 'de' }, '/en/jsonapi': { language: 'en' } }
  })
  const tell = async (place: Place) =>
    (await surveySite(site(place), 'issue', [collection('issue', 'daily')], ['en'])).members.find(
      ({ name }) => name === 'keys.defaultLangcode'
    )
  t.match(await tell(shownIn({ origin: false })), { certainty: 'guessed', value: 'origin' })
  t.match(await tell(shownIn({})), { value: null }, 'nothing that differs')
  t.match(await tell({ ...shownIn({ origin: false }), pages: {} }), { value: null }, 'no languages')
})

const storage = (field: string, type: string, settings: unknown = {}): Resource => ({
  type: 'field_storage_config--field_storage_config',
  id: field,
  attributes: { field_name: field, field_storage_config_type: type, settings }
})

const configured = (rows: Resource[], storages: Resource[]): Place =>
  rowsOf(rows, { '/field_storage_config/field_storage_config': { rows: storages } })

const WITH_STORAGES = [
  collection('issue', 'daily'),
  collection('field_storage_config'),
  collection('node', 'article'),
  collection('taxonomy_term', 'tags'),
  collection('crossword'),
  collection('media', 'image')
]

t.test('the key is a field with another text in each edition', async (t) => {
  const key = async (attributes: (id: number) => object, storages: Resource[] = []) =>
    (
      await survey(
        configured(
          issues((id) => ({ attributes: attributes(id) })),
          storages
        ),
        WITH_STORAGES
      )
    )['fields.key']
  t.match(await key((id) => ({ field_code: `c${id}`, field_note: `n${id}`, field_city: 'x' })), [
    'guessed',
    'field_code',
    /as in field_note$/
  ])
  t.match(await key((id) => ({ field_mark: `c${id}`, field_city: 'x' })), ['guessed', 'field_mark', /^it is the one field/])
  t.match(await key((id) => ({ field_code: id === 1 ? null : 'x' })), ['guessed', 'field_code', 'it is called like a key'])
  t.match(await key(() => ({})), ['guessed', null])
  t.match(await key((id) => ({ field_code: `c${id}`, field_mark: `m${id}` }), [storage('field_code', 'string_long')]), [
    'guessed',
    'field_mark'
  ])
  t.match(await key(() => ({}), [storage('field_print_key', 'string')]), ['guessed', 'field_print_key', 'it is called like a key'])
  t.match(await key(() => ({}), [storage('field_city', 'string')]), ['guessed', null])
  t.match(
    await key((id) => ({ signature: `s${id}`, field_city: 'x' })),
    ['guessed', 'signature', /^it is the one field/],
    'of the entity type itself'
  )
  t.match(await key((id) => ({ signature: `s${id}`, field_mark: `m${id}` })), ['guessed', 'field_mark', /as in signature$/])
  const rows = [...issues((id) => ({ attributes: { mark: `m${id}` } })), issue(5, { attributes: { mark: null } })]
  t.match((await survey(rowsOf(rows)))['fields.key'], ['guessed', 'mark', 'no two editions have the same word in it'])
})

t.test('the edition type is a list, or a field of a few values that is called so', async (t) => {
  const type = async (attributes: object, storages: Resource[] = []) => {
    const { 'fields.editionType': field, editionTypes } = await survey(
      configured(
        issues(() => ({ attributes })),
        storages
      ),
      WITH_STORAGES
    )
    return [field, editionTypes]
  }
  t.match(await type({ field_kind: 'daily' }), [
    ['guessed', 'field_kind', 'it is the one field with a few values'],
    ['hidden', undefined, /^the permission 'administer issue fields' would show them; Quoin goes by/]
  ])
  t.match(await type({ field_mood: 'good' }), [
    ['guessed', null, /\(field_mood\) is called like a type$/],
    ['hidden', undefined, 'the bundles are the types']
  ])
  t.match(await type({}), [['guessed', null, /^no field is a list of texts/], ['hidden']])
  t.match(await type({}, [storage('field_kind', 'list_string', { allowed_values: { a: 'A' } })]), [
    ['shown', 'field_kind'],
    ['shown', { a: 'A' }]
  ])
  t.match(
    await type({}, [
      storage('field_kind', 'list_string', { allowed_values: [{ value: 'a', label: 'A' }] }),
      storage('field_mood', 'list_string')
    ]),
    [
      ['guessed', 'field_kind'],
      ['shown', { a: 'A' }]
    ]
  )
  t.match(await type({}, [storage('field_kind', 'list_string', 'none')]), [
    ['shown', 'field_kind'],
    ['hidden', undefined, 'the values of field_kind are not in its configuration']
  ])
  t.match(
    await type({ flavour: 'sweet' }, [storage('field_city', 'string')]),
    [
      ['guessed', 'flavour', 'it is the one field with a few values'],
      ['hidden', undefined, 'the values of flavour are not in its configuration']
    ],
    'of the entity type itself'
  )
  t.match(
    await type({ issue_type: 'sweet', flavour: 'sour' }),
    [['guessed', 'type', /^of the fields with a few values \((?:type|flavour), (?:type|flavour)\)/], ['hidden']],
    'JSON:API calls the field type otherwise'
  )
  const twin = {
    ...rowsOf(issues(() => ({ attributes: { issue_type: 'sweet' } }))),
    pages: { '/issue/1': { object: { issue_type: [{ value: 'sweet' }] } } }
  }
  t.match((await survey(twin))['fields.editionType'], ['guessed', 'issue_type'])
  const hidden = await survey(
    rowsOf([], { '/field_storage_config/field_storage_config': { rows: [storage('field_kind', 'string')] } }),
    WITH_STORAGES
  )
  t.match(hidden, { 'fields.editionType': ['guessed', null], keys: ['hidden'], 'fields.articles': ['hidden'] }, 'where no edition is seen')
})

t.test('articles and references are told by their targets, their configuration, or the paths that JSON:API sorts by', async (t) => {
  const relations = (relationships: Record<string, unknown>, storages: Resource[] = [], sorts: string[] = []) =>
    survey(
      {
        ...configured(
          issues(() => ({ relationships })),
          storages
        ),
        sorts
      },
      WITH_STORAGES
    )
  t.match(
    await relations({
      field_stories: { data: [reference('node--article', 1)] },
      field_front: { data: [reference('node--article', 2), { type: 'node--article', id: 'missing' }] }
    }),
    { 'fields.articles': ['guessed', ['field_stories', 'field_front'], /^they are the fields/] }
  )
  t.match(await relations({ field_stories: { data: [] } }, [], ['field_stories.drupal_internal__nid']), {
    'fields.articles': ['guessed', ['field_stories'], /^it is the one/],
    references: ['shown', { field_stories: 'node' }]
  })
  t.match(await relations({ field_stories: { data: [] } }, [storage('field_stories', 'entity_reference', { target_type: 'node' })]), {
    references: ['shown', { field_stories: 'node' }]
  })
  t.match(await relations({ field_puzzles: { data: [] } }, [storage('field_puzzles', 'entity_reference', { target_type: 'crossword' })]), {
    references: ['shown', { field_puzzles: 'crossword' }],
    idKeys: ['shown', {}]
  })
  const unknown = await relations(
    { field_stories: { data: [] }, field_role: { data: reference('user_role--user_role', 'editor') } },
    [],
    ['field_stories.drupal_internal__nid', 'field_stories.drupal_internal__tid']
  )
  t.match(unknown, {
    'fields.articles': ['hidden', undefined],
    references: ['hidden', undefined, /^no edition has a value in field_stories, so what they hold/]
  })
  t.match(
    await relations({
      field_puzzles: { data: [reference('crossword--crossword', 7)] },
      field_tags: { data: [reference('taxonomy_term--tags', 1)] }
    }),
    { 'fields.articles': ['guessed', ['field_puzzles'], /^no field holds/] }
  )
})

const image = (id: number, alt = '') => ({
  type: 'file--file',
  id: `file-${id}`,
  meta: { drupal_internal__target_id: id, alt, title: null, width: 1, height: 1 }
})
const term = (id: number) => reference('taxonomy_term--sections', id)

/** What a survey says of the lists of a site whose editions refer to articles such as these. */
async function listsOf(
  articles: Array<{ attributes?: object; relationships?: object }>,
  { lists = {}, storages, ...more }: { lists?: Place['lists']; storages?: Resource[] } & Partial<RowList> = {}
): Promise<Array<Pick<Member, 'certainty' | 'value' | 'why'>>> {
  const rows = articles.map((article, index) => ({ type: 'node--article', id: `uuid-${index}`, attributes: {}, ...article })) as Resource[]
  const place = rowsOf(
    issues(() => ({ relationships: { field_stories: { data: [reference('node--article', 1)] } } })),
    {
      '/node/article': { rows, ...more },
      '/field_storage_config/field_storage_config': (query) => ({ rows: query.includes('=node') ? (storages ?? []) : [] }),
      ...lists
    }
  )
  const { members } = await surveySite(site(place), 'issue', [
    ...WITH_STORAGES,
    collection('taxonomy_term', 'sections'),
    collection('file'),
    collection('media', 'video')
  ])
  return members.filter(({ name }) => name === 'lists').map(({ certainty, value, why }) => ({ certainty, value, why }))
}

const articleList = (looks: object = {}) => ({ article: { entityType: 'node', bundles: ['article'], ...looks } })

t.test('a list has the field of its image and of its section, where only one can be meant', async (t) => {
  t.strictSame(
    await listsOf([
      {
        relationships: {
          field_image: { data: image(1) },
          field_section: { data: term(1) },
          field_tags: { data: [reference('taxonomy_term--tags', 2)] }
        }
      }
    ]),
    [
      {
        certainty: 'guessed',
        value: articleList({ image: 'field_image', section: 'field_section' }),
        why: 'these are the nodes that editions refer to; of article field_image alone holds images; of article field_section alone is called like a section'
      }
    ]
  )
  const noImage = 'of article no field that can be seen holds images'
  const noSection = 'of article no field that can be seen holds terms, or is called like a section'
  const cases: Array<
    [
      what: string,
      article: Parameters<typeof listsOf>[0][number],
      looks: object,
      open: string | undefined,
      place?: Parameters<typeof listsOf>[1]
    ]
  > = [
    [
      'neither',
      {
        relationships: {
          uid: { data: reference('user--user', 1) },
          field_pdf: { data: { type: 'file--file', id: 'f', meta: { description: 'A file' } } }
        }
      },
      {},
      `${noImage}; ${noSection}`
    ],
    [
      'several images',
      { relationships: { field_image: { data: image(1) }, field_teaser: { data: [image(2)] } } },
      {},
      `of article field_image, field_teaser hold images: name one of them; ${noSection}`
    ],
    [
      'an image field that the configuration alone shows',
      { relationships: { field_photo: { data: null }, field_other: { data: null } } },
      { image: 'field_photo' },
      noSection,
      { storages: [storage('field_photo', 'image'), storage('field_other', 'file')] }
    ],
    [
      'one term',
      { relationships: { field_topic: { data: term(1) }, field_tags: { data: [term(2)] } } },
      { section: 'field_topic' },
      noImage
    ],
    [
      'a term that the configuration alone shows',
      { relationships: { field_topic: { data: null } } },
      { section: 'field_topic' },
      noImage,
      { storages: [storage('field_topic', 'entity_reference', { target_type: 'taxonomy_term' })] }
    ],
    [
      'several terms',
      { relationships: { field_topic: { data: term(1) }, field_place: { data: term(2) } } },
      {},
      `${noImage}; of article field_topic, field_place hold terms, and none is called like a section`
    ],
    [
      'many terms',
      { relationships: { field_tags: { data: [term(1)] } } },
      {},
      `${noImage}; of article field_tags hold terms, and none is called like a section`
    ],
    [
      'a list',
      { attributes: { title: 'A', field_category: ['sport', 'news'], field_section_weight: 'x' } },
      { section: 'field_category' },
      noImage
    ],
    ['a number and a text without a value', { attributes: { field_category: 4, field_section: null } }, {}, `${noImage}; ${noSection}`],
    [
      'several that are called so',
      { attributes: { field_category: 'sport' }, relationships: { field_section: { data: term(1) } } },
      {},
      `${noImage}; of article field_section, field_category are called like sections: name one of them`
    ]
  ]
  for (const [what, article, looks, open, place] of cases) {
    const [suggested, rest] = await listsOf([article], place)
    t.strictSame([suggested!.value, rest?.why], [articleList(looks), `images and sections: ${open}`], what)
    t.equal(rest!.certainty, 'hidden')
  }
})

t.test('an image in a media entity is found by looking at one entity of each type', async (t) => {
  const media = (bundle: string, id: string, relationships: object): Resource => ({
    type: `media--${bundle}`,
    id: `uuid-${id}`,
    attributes: {},
    relationships: relationships as NonNullable<Resource['relationships']>
  })
  const thumbnail = { data: image(9) }
  const lists = {
    '/media/image': {
      rows: [
        media('image', '1', { thumbnail, field_media_image: { data: image(1) } }),
        media('image', '5', { thumbnail, field_media_image: { data: image(1) }, field_logo: { data: image(2) } })
      ]
    },
    '/media/video': { rows: [media('video', '2', { thumbnail, field_media_video_file: { data: { type: 'file--file', id: 'f' } } })] }
  }
  const imageIn = async (relationships: object, more: object = {}) => {
    const [suggested, rest] = await listsOf([{ relationships }], { lists, ...more })
    return [(suggested!.value as any).article.image, rest?.why.replace('images and sections: ', '').split('; ')[0]]
  }
  const [picture, film, several, away] = [
    reference('media--image', 1),
    reference('media--video', 2),
    reference('media--image', 5),
    reference('media--image', 8)
  ]
  t.strictSame(await imageIn({ field_media: { data: picture }, field_section: { data: term(1) } }), [
    'field_media.field_media_image',
    undefined
  ])
  t.match(await imageIn({ field_media: { data: [film, picture] } }), ['field_media.field_media_image'], 'of several types')
  t.match(
    await imageIn({ field_media: { data: film } }),
    [undefined, 'of article field_media hold media, of which none that can be seen has an image'],
    'a thumbnail is none'
  )
  t.match(await imageIn({ field_media: { data: several } }), [
    undefined,
    'of article field_media.field_media_image, field_media.field_logo hold images: name one of them'
  ])
  t.match(await imageIn({ field_media: { data: away } }), [
    undefined,
    'of article field_media hold media, of which none that can be seen has an image'
  ])
  t.match(
    await imageIn({ field_media: { data: reference('media--audio', 3) } }),
    [undefined, /^of article field_media hold media/],
    'a type that JSON:API does not expose'
  )
  t.match(
    await imageIn({ field_media: { data: null } }, { storages: [storage('field_media', 'entity_reference', { target_type: 'media' })] }),
    [undefined, /^of article field_media hold media/]
  )
  t.match(await imageIn({ field_media: { data: picture }, field_image: { data: image(1) } }), [
    undefined,
    'of article field_image, field_media.field_media_image hold images: name one of them'
  ])
})

t.test('a list of which nothing can be seen has neither, and says what would show it', async (t) => {
  t.strictSame(await listsOf([]), [
    { certainty: 'guessed', value: articleList(), why: 'these are the nodes that editions refer to' },
    { certainty: 'hidden', value: undefined, why: 'images and sections: of article nothing can be seen' }
  ])
  t.match(await listsOf([], { hidden: 3, permission: 'access content' }), [
    {},
    { why: "images and sections: of article nothing can be seen; the permission 'access content' would show it" }
  ])
})

t.test('ids and pages of what editions refer to are looked for', async (t) => {
  const rows = issues(() => ({
    relationships: {
      field_puzzle: { data: reference('crossword--crossword', 7) },
      field_image: { data: reference('media--image', 5) },
      field_poll: { data: reference('poll--poll', 3) }
    }
  }))
  const lists = {
    '/issue/daily': { rows },
    '/crossword/crossword': { rows: [{ type: 'crossword--crossword', id: 'uuid-7', attributes: { drupal_internal__cid: 7 } }] }
  }
  const pages = { '/puzzles/7': {}, '/admin/structure/crossword/7': { status: 406 }, '/media/5': { status: 403 } }
  const collections = [...WITH_STORAGES, collection('poll')]
  t.match(await survey({ lists, pages }, collections), {
    idKeys: ['shown', { crossword: 'cid', media: 'mid' }],
    canonicalPaths: [
      'hidden',
      undefined,
      'issue, poll (4 references seen lack their url): no page at a path that can be guessed, or none at all'
    ]
  })
  const { members } = await surveySite(site({ lists, pages }), 'issue', collections)
  t.strictSame(members.find(({ name, value }) => name === 'canonicalPaths' && value)!.value, {
    media: '/media/{id}',
    crossword: '/admin/structure/crossword/{id}'
  })
  t.equal(
    await canonicalPath(site({ pages: { '/quoin-has-made-this-up/1': {}, '/issue/1': {} } }), 'issue', '1'),
    undefined,
    'a site that has every page tells nothing'
  )
  t.equal(
    await canonicalPath(site({ pages: { '/issue/1': {}, '/issue/999999999': {} } }), 'issue', '1'),
    undefined,
    'nor does a page that is there with every id'
  )
  t.equal(await mediaPath(site({}), '5'), undefined)
  t.strictSame(
    await twinOf(site({ pages: { '/a': { object: { a: [] } }, '/b': { object: { message: 'no' } }, '/c': { status: 403 } } }), '/a'),
    { a: [] }
  )
  t.equal(await twinOf(site({ pages: { '/b': { object: { message: 'no' } } } }), '/b'), undefined)
  t.equal(await twinOf({ ...site({}), json: async () => undefined }, '/b'), undefined)
})

t.test('a path that cannot be guessed is taken from a reference in core REST, or asked for', async (t) => {
  const collections = [collection('issue', 'daily'), collection('crossword'), collection('paragraph', 'text')]
  const rows = issues(() => ({
    relationships: {
      field_puzzles: { data: [reference('crossword--crossword', 7)] },
      field_parts: { data: [reference('paragraph--text', 8)] }
    }
  }))
  const asked: string[] = []
  const places = async (place: Place, answer?: string) => {
    const { members } = await surveySite(site(place), 'issue', collections, [], undefined, async (type, id) => {
      asked.push(`${type} ${id}`)
      return answer
    })
    return members.filter(({ name }) => name === 'canonicalPaths').map(({ value, why }) => value ?? why)
  }
  const twin = (crossword: object): Place => ({
    ...rowsOf(rows),
    pages: {
      '/issue/1': {
        object: {
          field_puzzles: [{ target_id: 7, target_type: 'crossword', ...crossword }],
          field_parts: [{ target_id: 8, target_type: 'paragraph' }]
        }
      }
    }
  })
  t.strictSame(
    await places(twin({ url: '/games/7' })),
    [{ issue: '/issue/{id}', crossword: '/games/{id}' }],
    'and what has no url there lacks none'
  )
  t.strictSame(asked, [])
  t.match(await places(twin({ url: '/a-nice-game' })), [
    { issue: '/issue/{id}' },
    /^crossword \(4 references seen lack their url\): no page/
  ])
  t.match(await places(rowsOf(rows), 'https://cms.example.org/games/crosswords/7/view'), [
    { crossword: '/games/crosswords/{id}/view' },
    /^issue, paragraph \(4 references/
  ])
  t.strictSame(asked, ['issue ', 'crossword 7', 'paragraph 8'])
  t.equal(pathIn('/fr/games/7', '7', ['', 'fr']), '/games/{id}')
  t.equal(pathIn('/7', '7', []), undefined)
  t.equal(pathIn('//', '7', []), undefined)
  t.equal(pathIn('', '7', []), undefined)
})

t.test('time stamps are told from dates by configuration, core REST, the time zone and filters', async (t) => {
  const stamps = async (place: Place) => (await survey(place, WITH_STORAGES)).timestampFields
  /** Filters find nothing. */
  const unfiltered = ({ lists = {}, ...place }: Place): Place => ({
    ...place,
    lists: { ...lists, '/issue/daily': (query) => (query === '' ? (lists['/issue/daily'] as Partial<RowList>) : {}) }
  })
  for (const attributes of [
    { field_a: '2026-01-01T00:00:00+00:00' },
    { field_a: ['2026-01-01T00:00:00+00:00', '2026-01-02T00:00:00+00:00'] }
  ]) {
    t.match(
      await stamps(
        unfiltered(
          configured(
            issues(() => ({ attributes })),
            [storage('field_a', 'timestamp'), storage('field_gone', 'timestamp')]
          )
        )
      ),
      ['guessed', ['changed', 'field_a', 'field_gone'], /^changed show times in UTC/]
    )
    t.match(
      await stamps(
        unfiltered(
          configured(
            issues(() => ({ attributes })),
            [storage('field_a', 'datetime')]
          )
        )
      ),
      ['guessed', ['changed']]
    )
    t.match(await stamps(unfiltered(timesOf({ field_a: [attributes.field_a].flat().map((time) => time.replace('+00:00', '+01:00')) }))), [
      'guessed',
      ['changed']
    ])
    const twin = (item: object) => ({
      ...timesOf(attributes),
      pages: { '/issue/1': { object: { field_a: [item], changed: [{ value: 'x', format: 'y' }] } } }
    })
    t.match(await stamps(twin({ value: 'x', format: 'y' })), ['shown', ['changed', 'field_a']])
    t.match(await stamps(twin({ value: 'x' })), ['shown', ['changed']])
    const filtered = (bySeconds: RegExp | undefined): Place => ({
      lists: {
        '/issue/daily': (query) => {
          const rows = issues(() => ({ attributes }))
          if (bySeconds === undefined && /field_a|changed/.test(query)) return { rows: [], refused: new Failure('CMS_FORBIDDEN', 'No.') }
          return { rows: /%5Bfield_a%5D|%5Bchanged%5D/.test(query) && !bySeconds?.test(query) ? [] : rows }
        }
      }
    })
    t.match(await stamps(filtered(/=1767225600|=17673/)), ['shown', ['changed', 'field_a']], 'by the seconds')
    t.match(await stamps(filtered(/%5Bchanged%5D/)), ['shown', ['changed']], 'a date is not found by them')
    t.match(await stamps(filtered(undefined)), ['guessed', ['changed', 'field_a']], 'where nobody may filter by the field')
  }
})

t.test('fields without any value are named, as far as nothing tells what they hold', async (t) => {
  const attributes = { publish_on: null, embargo: null, field_a: null, field_b: null, revision_log: null }
  const stamps = async (storages: Resource[], more: object = {}) => {
    const { members } = await surveySite(
      site(
        configured(
          issues(() => ({ attributes: { ...attributes, ...more } })),
          storages
        )
      ),
      'issue',
      WITH_STORAGES
    )
    return members.filter(({ name }) => name === 'timestampFields').map(({ certainty, value, why }) => [certainty, value, why])
  }
  t.match(await stamps([storage('field_a', 'timestamp'), storage('field_b', 'string')]), [
    ['guessed', ['changed', 'field_a', 'publish_on'], /no edition has a value in publish_on; modules call time stamps so$/],
    ['hidden', undefined, /^no edition has a value in embargo, so whether .* is not known; an edition with one would show it\. Quoin asks/]
  ])
  t.match(await stamps([]), [
    ['guessed', ['changed', 'publish_on']],
    ['hidden', undefined, /in embargo, field_a, field_b, so .* an edition with one, or the permission 'administer issue fields' would/]
  ])
  const [, unseen] = await stamps([], Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field_${index}`, null])))
  t.match(unseen, ['hidden', undefined, / and 13 more, so/])
})

t.test('decimals are told from texts by configuration alone', async (t) => {
  const rows = issues(() => ({
    attributes: { field_price: '2.50', field_prices: ['2.50', '3.00'], field_version: '3.10', field_city: 'x' }
  }))
  const { decimalFields } = await survey(
    configured(rows, [storage('field_price', 'decimal'), storage('field_gone', 'decimal'), storage('field_version', 'string')]),
    WITH_STORAGES
  )
  t.match(decimalFields, ['shown', ['field_price', 'field_gone']])
  t.match((await survey(rowsOf(rows))).decimalFields, [
    'hidden',
    undefined,
    /^field_price, field_prices, field_version may hold decimals, or texts/
  ])
  t.equal((await survey(rowsOf(issues()))).decimalFields, undefined, 'nothing looks like one')
})

t.test('labels, help texts, required marks and groups are those of the form, in its order', async (t) => {
  const rowsOfConfig = (...attributes: object[]) => ({
    rows: attributes.map((attributes, index) => ({ type: 'x', id: `${index}`, attributes }) as Resource),
    hidden: 0
  })
  const field = (name: string, bundle: string, more: object = {}) => ({ field_name: name, bundle, entity_type: 'issue', ...more })
  const fields = rowsOfConfig(
    field('field_b', 'extra', { label: 'B of extra' }),
    field('field_a', 'daily', { label: 'A', description: '', required: true }),
    field('field_b', 'daily', { label: 'B', description: 'Help', required: false }),
    field('field_c', 'daily', { label: 'x'.repeat(256), description: 'y'.repeat(2001) }),
    field('field_d', 'other', { label: 'D' }),
    { ...field('field_e', 'daily'), entity_type: 'node' }
  )
  const form = { targetEntityType: 'issue', bundle: 'daily', mode: 'default' }
  const content = { field_a: { weight: 9 }, field_b: { weight: 2 }, field_c: { weight: 1 }, title: 'odd' }
  const group = { label: 'Content', weight: 1, children: ['field_b'] }
  const survey = (displays: RowList, bundles = ['daily', 'extra']) => formMember({ entityType: 'issue', bundles, fields, displays })
  const grouped = survey(
    rowsOfConfig(
      { ...form, mode: 'small' },
      { ...form, content, third_party_settings: { field_group: { group_a: group, group_b: 'odd', group_c: {} } } }
    )
  )
  t.match(grouped, { certainty: 'shown', why: /in the order of the form$/ })
  t.strictSame(Object.entries(grouped.value as object), [
    ['field_c', {}],
    ['field_b', { label: 'B', description: 'Help', group: 'Content' }],
    ['field_a', { label: 'A', required: true }]
  ])
  t.equal(contentModel({ fieldConfig: grouped.value }).fieldConfig.field_b!.group, 'Content')
  t.match(
    survey(rowsOfConfig({ ...form, content: null, third_party_settings: { field_group: { g: { children: ['x'], label: '' } } } })).value,
    {
      field_a: {}
    }
  )
  t.match(
    survey(rowsOfConfig({ ...form, content: { field_a: {} }, third_party_settings: { field_group: { g: { children: ['field_a'] } } } }))
      .value,
    {
      field_a: { label: 'A', group: undefined }
    }
  )
  t.match(survey(rowsOfConfig({ ...form, content: { field_a: {} }, third_party_settings: {} })).value, { field_a: { label: 'A' } })
  t.match(survey({ rows: [], hidden: 0, permission: 'p' }), {
    certainty: 'shown',
    why: /; the permission 'p' would show their order and groups$/
  })
  t.match(survey({ rows: [], hidden: 0 }), { why: /'administer issue form display'/ })
  t.match(survey({ rows: [], hidden: 0 }, ['none']), {
    certainty: 'hidden',
    why: /^the permission 'administer issue fields' would show labels/
  })
})

t.test('the time zone is that of the machine, or of the account, if the times have its offsets', async (t) => {
  const rows = (...times: string[]) => times.map((time, index) => issue(index + 1, { attributes: { field_begins: time } }))
  const berlin = rows('2026-07-01T05:00:00+02:00', '2026-11-18T05:00:00+01:00')
  const nobody = async () => undefined
  t.match(await timeZoneMember(berlin, nobody, 'Europe/Berlin'), { certainty: 'guessed', value: 'Europe/Berlin' })
  t.match(await timeZoneMember(rows('2026-07-01T05:00:00+01:00', '2026-11-18T05:00:00+00:00'), nobody, 'Europe/London'), {
    certainty: 'guessed',
    value: 'Europe/London'
  })
  for (const other of ['UTC', 'Africa/Lagos', 'America/New_York', 'Mars/Olympus']) {
    t.match(
      await timeZoneMember(berlin, async () => other, 'UTC'),
      { certainty: 'hidden', value: undefined, why: /time zone, UTC, nor of the account's/ },
      other
    )
  }
  t.match(
    await timeZoneMember(issues(), nobody, 'UTC'),
    { certainty: 'hidden', why: /^no edition shows a time/ },
    'time stamps are in UTC everywhere'
  )
  t.match(await timeZoneMember(berlin, async () => 'Europe/Vienna', 'UTC'), {
    certainty: 'guessed',
    value: 'Europe/Vienna',
    why: /account's/
  })
  t.equal((await survey(rowsOf(issues()))).timeZone![0], 'hidden')
  const zones = async (timezone: unknown, collections = [collection('issue', 'daily'), collection('user')]) =>
    (
      await survey(
        rowsOf(berlin, { '/user/user': { rows: [{ type: 'user--user', id: 'uuid-me', attributes: { timezone } }] } }),
        collections
      )
    ).timeZone![1]
  t.equal(await zones('Europe/Paris'), 'Europe/Paris')
  t.equal(await zones(null), undefined)
  t.equal(await zones('Europe/Paris', [collection('issue', 'daily')]), undefined, 'users are not exposed')
})

t.test('maps, and properties that are not called value', async (t) => {
  const { rawFields, mainProperty } = await survey(
    {
      ...configured(
        issues((id) => ({ attributes: { field_layout: { [`m${id}`]: 1 }, field_place: 4.5, field_link: { uri: 'x' } } })),
        [storage('field_more', 'map')]
      ),
      pages: {
        '/issue/1': { object: { field_place: [{ lat: 4.5 }], title: [{ value: 'x' }], field_link: [{ uri: 'x' }], field_none: [] } }
      }
    },
    WITH_STORAGES
  )
  t.match(rawFields, ['guessed', ['field_more', 'field_layout']])
  t.match(mainProperty, ['shown', { field_place: 'lat' }])
  const deep = await survey(
    rowsOf(issues(() => ({ attributes: { facts: { weather: 'rain', list: [1] }, field_link: { uri: 'x', options: { attributes: {} } } } })))
  )
  t.match(deep.rawFields, ['guessed', ['facts']], 'lists in it')
  t.match(await survey(rowsOf(issues())), { rawFields: ['shown', []], mainProperty: ['hidden', undefined] })
})

t.test('languages and their prefixes are found by trying', async (t) => {
  const page = (language: string) => ({ status: 406, language })
  const pages = { '/jsonapi': page('de'), '/fr/jsonapi': page('fr'), '/pt/jsonapi': page('pt-br') }
  t.match(
    await languageMember(site({ pages }), ['de', 'fr', 'pt-br'], { usual: [], permission: undefined, addressIn: async () => undefined }),
    { certainty: 'shown', value: { de: '', fr: 'fr', 'pt-br': 'pt' } }
  )
  t.match(
    await languageMember(site({ pages }), ['de', 'it'], {
      usual: USUAL_LANGUAGES,
      permission: 'administer languages',
      addressIn: async () => undefined
    }),
    {
      certainty: 'guessed',
      value: { de: '', fr: 'fr' },
      why: /; it have another prefix, which cannot be guessed; 'administer languages' would show/
    }
  )
  t.match(
    await languageMember(site({ pages: { '/jsonapi': page('en') } }), ['en'], {
      usual: [],
      permission: undefined,
      addressIn: async () => undefined
    }),
    { certainty: 'hidden', why: 'one language is all that can be seen' }
  )
  t.match(
    await languageMember(site({ pages: { '/jsonapi': page('en') } }), ['en', 'fr'], {
      usual: USUAL_LANGUAGES,
      permission: 'administer languages',
      addressIn: async () => undefined
    }),
    { certainty: 'hidden', why: /^fr have no path of their own/ }
  )
  t.match(
    await languageMember(site({ pages: { '/jsonapi': page('en'), '/en/jsonapi': page('en') } }), ['en'], {
      usual: [],
      permission: undefined,
      addressIn: async () => undefined
    }),
    { certainty: 'shown', value: { en: 'en' } },
    'the default language may have a prefix'
  )
  t.match(
    await languageMember(site({ pages: { ...pages, '/fr/jsonapi': page('fr') }, jsonapiPath: '/fr/jsonapi' }), ['fr'], {
      usual: [],
      permission: undefined,
      addressIn: async () => undefined
    }),
    { value: { de: '', fr: 'fr' } },
    'a path with a prefix'
  )
  t.match(
    await languageMember(site({ jsonapiPath: '/api/json' }), [], { usual: [], permission: undefined, addressIn: async () => undefined }),
    { certainty: 'hidden' }
  )
  t.match(
    await languageMember({ ...site({}), json: async () => undefined }, ['en'], {
      usual: [],
      permission: undefined,
      addressIn: async () => undefined
    }),
    { certainty: 'hidden' },
    'no answer'
  )
  const { languages } = await survey(
    {
      lists: {
        '/issue/daily': { rows: issues(() => ({ attributes: { langcode: 'de' } })) },
        '/configurable_language/configurable_language': { rows: [language('fr'), language('und', true)] }
      },
      pages: { ...pages }
    },
    [collection('issue', 'daily'), collection('configurable_language')]
  )
  t.match(languages, ['shown', { de: '', fr: 'fr' }])

  // Prefixes that are not called like their language.
  const links = { '/issue/1': '/site/welsch/issue/1', '/node/7': '/welsch/node/7', '/node/8': '/', '/node/9': '/node/9' }
  const welsch = { '/jsonapi': page('de'), '/welsch/jsonapi': page('fr'), '/node/1': {} }
  const inFrench = (nodes: Array<Record<string, unknown>>, place: Partial<Place> = {}) =>
    survey(
      {
        pages: welsch,
        canonical: links,
        ...place,
        lists: {
          '/issue/daily': { rows: issues(() => ({ attributes: { langcode: 'de' } })) },
          '/node/article': { rows: nodes.map((attributes) => ({ type: 'node--article', id: 'n', attributes })) },
          ...place.lists
        }
      },
      [collection('issue', 'daily'), collection('node', 'article')]
    )
  const known = ['shown', { de: '', fr: 'welsch' }]
  t.match(
    (
      await inFrench([
        { langcode: 'fr', drupal_internal__nid: 9, path: { alias: '/neuf' } },
        { langcode: 'fr', drupal_internal__nid: 7, path: { alias: null } }
      ])
    ).languages,
    known,
    'an article tells'
  )
  t.match((await inFrench([{ langcode: 'fr', drupal_internal__nid: 7 }])).languages, known)
  t.match(
    (
      await inFrench([], {
        pages: { ...welsch, '/issue/1': {} },
        lists: { '/issue/daily': { rows: issues(() => ({ attributes: { langcode: 'fr' } })) } }
      })
    ).languages,
    known,
    'an edition tells'
  )
  for (const nid of [8, 9]) {
    t.match((await inFrench([{ langcode: 'fr', drupal_internal__nid: nid }])).languages, ['hidden'], `node ${nid} has no prefix`)
  }
  t.match(
    (await inFrench([{ langcode: 'fr', drupal_internal__nid: 7, path: { alias: '/sept' } }])).languages,
    ['hidden'],
    'an alias is no path to go by'
  )
  t.match(
    (await inFrench([{ langcode: 'fr', drupal_internal__nid: 7 }], { pages: { '/jsonapi': page('de'), '/welsch/jsonapi': page('it') } }))
      .languages,
    ['hidden'],
    'a prefix of another language'
  )
})

const language = (id: string, locked = false): Resource => ({
  type: 'configurable_language--configurable_language',
  id,
  attributes: { drupal_internal__id: id, locked }
})

t.test("candidates are the content that is neither configuration nor core's own", async (t) => {
  const lists = {
    '/issue/daily': { rows: issues(() => ({ relationships: { field_stories: { data: [reference('node--article', 1)] } } })) },
    '/issue_kind/issue_kind': {
      rows: [{ type: 'issue_kind--issue_kind', id: 'k', attributes: { dependencies: [], drupal_internal__id: 'daily' } }]
    },
    '/dossier/dossier': { rows: [{ type: 'dossier--dossier', id: 'd', attributes: { drupal_internal__id: 5, dependencies: 'some' } }] }
  }
  const collections = [
    collection('issue', 'daily'),
    collection('issue_kind'),
    collection('dossier'),
    collection('unseen'),
    collection('node', 'article')
  ]
  t.strictSame(await candidatesIn(site({ lists }), collections), [
    { entityType: 'issue', bundles: ['daily'], seen: 4, holdsNodes: true },
    { entityType: 'dossier', bundles: ['dossier'], seen: 1, holdsNodes: false }
  ])
  t.strictSame(
    await candidatesIn(site({}), [collection('node', 'article'), collection('user')]),
    [{ entityType: 'node', bundles: ['article'], seen: 0, holdsNodes: false }],
    'nodes where there is nothing else'
  )
  t.strictSame(await candidatesIn(site({ lists: { '/x/x': { rows: [{ type: 'x--x', id: 'x' }] } } }), [collection('x')]), [
    { entityType: 'x', bundles: ['x'], seen: 1, holdsNodes: false }
  ])
})

/** A node, with references to nodes by bundle. */
const node = (
  bundle: string,
  id: number,
  relationships: Record<string, string[]> = {},
  attributes: Record<string, unknown> = {}
): Resource => ({
  type: `node--${bundle}`,
  id: `uuid-${id}`,
  attributes,
  relationships: Object.fromEntries(
    Object.entries(relationships).map(([name, targets]) => [
      name,
      { data: targets.map((target, index) => reference(target.includes('--') ? target : `node--${target}`, id * 100 + index)) }
    ])
  ) as NonNullable<Resource['relationships']>
})
const nodeTypes = ['article', 'extra', 'issue', 'page', 'special'].map((bundle) => collection('node', bundle))
const nodesOf = (rows: Resource[]): Place => ({
  lists: Object.fromEntries(nodeTypes.map(({ path, resourceType }) => [path, { rows: rows.filter(({ type }) => type === resourceType) }]))
})

t.test('editions among nodes are those that hold the fullest field of articles, or their key', async (t) => {
  const propose = (rows: Resource[], collections = nodeTypes) => proposeBundles(site(nodesOf(rows)), 'node', collections)
  const stories = { field_stories: ['article', 'page', 'article'] }
  t.match(
    await propose([
      node('issue', 1, { field_also: ['extra'], ...stories }, { field_number: 'a' }),
      node('issue', 2, {}, { field_number: 'b' }),
      node('extra', 3, { field_also: ['issue'], ...stories }, { field_number: 'c' }),
      node('special', 4, {}, { field_number: 'd' }),
      node('article', 5, { field_related: ['article', 'article', 'article', 'article'] }, { field_number: 'e' }),
      node('page', 6, { field_teasers: ['article'] })
    ]),
    {
      bundles: ['article', 'extra', 'issue', 'page', 'special'],
      editions: ['extra', 'issue', 'special'],
      why: 'they hold field_stories, field_number; article, page are what field_stories refers to'
    },
    'neither those that refer to each other nor those referred to, whatever they are called'
  )
  t.match(
    await propose([
      node('issue', 1, { field_content: ['article', 'article'] }),
      node('article', 2, { field_content: ['article'] }),
      node('special', 3, { field_content: [] })
    ]),
    { editions: ['issue', 'special'] },
    'a field that articles share'
  )
  t.match(await propose([node('article', 1, { field_related: ['article'] }), node('issue', 2)]), {
    editions: [],
    why: 'no node that can be seen refers to any number of another bundle'
  })
  t.equal(await propose([], [collection('node', 'article')]), undefined, 'one bundle is that of editions')
  const ofIssues = (rows: Resource[]) =>
    proposeBundles(site({ lists: { '/issue/daily': { rows } } }), 'issue', [collection('issue', 'daily'), collection('issue', 'story')])
  const holding = (type: string) => [issue(1, { relationships: { stories: { data: [reference(type, 2)] } } })]
  t.match(await ofIssues(holding('issue--story')), { editions: ['daily'] }, 'another entity type that holds its articles')
  t.equal(await ofIssues(holding('node--article')), undefined)
  t.equal(await ofIssues(holding('user--user')), undefined)
})

t.test('of the fields of editions among nodes, those with articles are told from those with editions', async (t) => {
  const rows = [
    node('issue', 1, { field_also: ['issue', 'extra'], field_front: ['article'], field_stories: ['article', 'page'], field_next: [] }),
    node('issue', 2, { field_also: ['issue'], field_front: ['article'], field_stories: ['article', 'issue', 'page'], field_next: [] })
  ]
  const { members } = await surveySite(
    site({ ...nodesOf(rows), sorts: ['field_next.drupal_internal__nid'] }),
    'node',
    [...nodeTypes, collection('user')],
    [],
    { bundles: ['issue', 'extra'], certainty: 'guessed', why: 'they look like it' }
  )
  t.match(
    members.filter(({ name }) => ['fields.articles', 'bundles', 'lists'].includes(name)),
    [
      { value: ['field_stories', 'field_front'], why: /the fullest first/ },
      { name: 'fields.articles', certainty: 'hidden', why: /^field_next may hold articles or editions; an edition with a value/ },
      { name: 'lists', value: { article: {}, page: {} } },
      { name: 'lists', certainty: 'hidden' },
      { name: 'bundles', value: { issue: 'issue', extra: 'extra' }, certainty: 'guessed', why: 'they look like it' }
    ]
  )
})

t.test('nodes are candidates beside an entity type that holds nothing', async (t) => {
  const lists = { ...nodesOf([node('issue', 1, { field_stories: ['article'] })]).lists, '/poll/poll': { rows: [] } }
  t.match(await candidatesIn(site({ lists }), [...nodeTypes, collection('media', 'image'), collection('poll', 'simple')]), [
    { entityType: 'poll' },
    { entityType: 'node', holdsNodes: true }
  ])
  t.match(await candidatesIn(site({}), [collection('media', 'image'), collection('node', 'article')]), [{ entityType: 'node' }])
  t.match(await candidatesIn(site({}), [collection('media', 'image')]), [{ entityType: 'media' }])
})

t.test('terms that hold nodes are candidates, and of their vocabularies those that hold them are editions', async (t) => {
  const vocabularies = ['special', 'issue', 'section', 'unseen'].map((bundle) => collection('taxonomy_term', bundle))
  const term = (bundle: string, id: number, relationships: Record<string, string[]>): Resource => ({
    ...node(bundle, id, relationships),
    type: `taxonomy_term--${bundle}`
  })
  const lists = {
    '/taxonomy_term/issue': {
      rows: [term('issue', 1, { field_stories: ['article', 'article'], field_sections: ['taxonomy_term--section'] })]
    },
    '/taxonomy_term/special': { rows: [term('special', 2, { field_stories: [] })] },
    '/taxonomy_term/section': { rows: [term('section', 3, { field_image: ['media--photo'] })] }
  }
  const collections = [...vocabularies, collection('node', 'article'), collection('media', 'photo')]
  t.strictSame(await candidatesIn(site({ lists }), collections), [
    { entityType: 'taxonomy_term', bundles: ['special', 'issue', 'section', 'unseen'], seen: 3, holdsNodes: true }
  ])
  t.strictSame(await proposeBundles(site({ lists }), 'taxonomy_term', collections), {
    bundles: ['special', 'issue', 'section', 'unseen'],
    editions: ['special', 'issue', 'unseen'],
    why: 'they hold nodes in field_stories'
  })
  t.equal(await proposeBundles(site({ lists }), 'taxonomy_term', vocabularies.slice(0, 2)), undefined, 'each holds nodes')
  t.equal(await proposeBundles(site({}), 'taxonomy_term', vocabularies), undefined, 'nothing can be seen')
  const nodes = nodesOf([node('issue', 1, { field_stories: ['article'] })])
  t.match(
    await candidatesIn(site({ lists: { ...nodes.lists, ...lists } }), [...nodeTypes, ...vocabularies]),
    [{ entityType: 'taxonomy_term' }, { entityType: 'node' }],
    'a question where nodes hold articles too'
  )
})

t.test('renamed resource types are told by their paths', async (t) => {
  const links = Object.fromEntries(
    ['self', 'story', 'node--page', 'deep', 'flat'].map((name) => [
      name,
      { href: `http://cms/jsonapi${{ self: '', story: '/node/story', 'node--page': '/node/page', deep: '/a/b/c', flat: '/flat' }[name]}` }
    ])
  )
  const request = async (_request: JsonapiRequest) => ({ status: 200, document: { data: [], links } })
  const collections = await collectionsOf({ ...site({}), cms: { request } })
  t.strictSame(
    collections.map(({ resourceType, entityType, bundle }) => [resourceType, entityType, bundle]),
    [
      ['story', 'node', 'story'],
      ['node--page', 'node', 'page'],
      ['deep', 'deep', ''],
      ['flat', 'flat', '']
    ]
  )
  t.match(await survey({}, collections), {
    resourceTypes: ['guessed', { story: { entityType: 'node', bundle: 'story' } }],
    bundles: ['hidden'],
    timestampFields: ['hidden']
  })
})

t.test('a file has what is known, with a comment on each member, and is a content model', async (t) => {
  const { members } = await surveySite(site(rowsOf(issues(() => ({ attributes: { field_code: 'x' } })))), 'issue', [
    collection('issue', 'daily')
  ])
  const text = modelText(members, { schema: './content-model.schema.json', comment: 'Written in a test.' })
  const file = JSON.parse(text)
  t.equal(file.$schema, './content-model.schema.json')
  t.match(file.$comment, ['Written in a test.', /^entityType: the entry point/])
  t.ok(file.keys.$comment.some((line: string) => line.startsWith('uuid: GUESSED: ')))
  t.ok(file.keys.$comment.includes('langcode: GUESSED: editions have no language'))
  t.ok(file.$comment.some((line: string) => line.startsWith('bundleEntityType: NOT SEEN: ')))
  const { keys, fields } = contentModel(file)
  t.strictSame(
    [keys.id, keys.revision, keys.langcode, fields.key, '$comment' in keys, '$comment' in fields],
    ['id', 'vid', null, 'field_code', false, false]
  )
  const none: Member[] = [{ name: 'entityType', value: 'issue', certainty: 'shown', why: 'x' }]
  t.strictSame(Object.keys(JSON.parse(modelText(none, { schema: 's', comment: 'c' }))), [
    '$schema',
    '$comment',
    'entityType',
    'lockTypes',
    'lockIds'
  ])
})

t.test('a survey reads several pages of configuration, and takes no answer for a page that is not there', async (t) => {
  const asked: string[] = []
  const page = (query: string) => ({
    data: [{ type: 'a--a', id: query }],
    links: { next: {} },
    meta: {
      omitted: {
        links: { help: {}, 'item--1': { meta: { detail: `The following permissions are required: 'see ${query.length > 0}'.` } } }
      }
    }
  })
  const http = {
    async send({ path }: { path: string }) {
      asked.push(path)
      if (path.startsWith('/away')) throw new Failure('CMS_UNREACHABLE', 'Away.')
      if (path.startsWith('/defect')) throw new TypeError('a defect')
      return { status: 200, headers: { 'content-type': 'application/vnd.api+json' }, body: Buffer.from(JSON.stringify(page(path))) }
    },
    close: async () => {}
  }
  const ask = createAsk({ http, jsonapiPath: '/jsonapi' })
  const { rows, hidden, permission } = await ask.list('/a/a', [], 3)
  t.strictSame([rows.length, hidden, permission, asked.length], [3, 3, 'see true', 3])
  t.equal((await ask.list('/a/a')).rows.length, 1)
  t.equal(await ask.takes('/a/a', [['sort', 'x']]), true)
  t.equal(await ask.json('/away', true), undefined)
  t.equal(await ask.one('/a/a'), undefined, 'a collection is no resource')
  t.equal((await ask.at('/en/jsonapi').list('/a/a')).rows.length, 1)
  t.match(asked.at(-1), /^\/en\/jsonapi\/a\/a\?/)
  await t.rejects(ask.json('/defect', false), { message: 'a defect' })
  t.match(await ask.json('/there', true), { status: 200, language: undefined, object: { data: [] } })
})

t.test('the canonical path of an entity is told by core REST, or else by its page', async (t) => {
  const answers: Record<string, string | string[] | undefined> = {
    '/node/1?_format=json': '<http://cms/france/node/1>; rel="canonical", <http://cms/node/add>; rel="add-page"',
    '/node/2': ['</node/2/edit>; rel="edit-form"', '</drupal/france/node/2>; rel="canonical"']
  }
  const asked: string[] = []
  const http = {
    async send({ path, headers }: { path: string; headers: Record<string, string> }) {
      asked.push(`${path}${headers['authorization'] ? ', known' : ''}`)
      return { status: 200, headers: { ...(answers[path] && { link: answers[path] }) }, body: Buffer.from('') }
    },
    close: async () => {}
  }
  const account = { credentials: async () => ({ authorization: 'x' }), renew: async () => false }
  const ask = createAsk({ http, jsonapiPath: '/jsonapi', account }).at('/en/jsonapi')
  t.equal(await ask.canonicalOf('/node/1'), '/france/node/1')
  t.equal(await ask.canonicalOf('/node/2'), '/drupal/france/node/2')
  t.equal(await ask.canonicalOf('/node/3'), undefined)
  t.strictSame(asked, ['/node/1?_format=json, known', '/node/2?_format=json, known', '/node/2', '/node/3?_format=json, known', '/node/3'])
})
