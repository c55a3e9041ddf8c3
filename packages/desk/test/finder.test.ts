import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createFinder, type FinderDeps, type Looks } from '../page/finder.ts'
import type { Model } from '../page/settings.ts'
import { QuoinError, type Client, type Page, type Search } from '../../client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const lists = {
  article: { entityType: 'node', section: 'field_section' },
  feature: { entityType: 'node', image: 'field_media.field_media_image', section: 'field_desk' },
  photo: { entityType: 'node', image: 'field_photo' },
  brief: { entityType: 'brief' },
  story: { entityType: 'story', keys: { id: 'sid', label: 'headline' } },
  file: { entityType: 'file', keys: { published: null, changed: null } }
} as unknown as Model['lists']

/** A finder, and what its searches are answered with: a page or an error, at once or later; and so the requests for looks. */
function open(
  answers: Array<Partial<Page> | Array<Partial<Page>> | Error | Promise<never>>,
  lookAnswers: Array<Looks | Error | Promise<Looks>> = [],
  more: Partial<FinderDeps> = {}
) {
  const asked: Search[] = []
  const looked: Array<[list: string, uuids: string[], signal: AbortSignal]> = []
  const said: string[] = []
  async function* search(query: Search) {
    asked.push(query)
    const answer = (await answers.shift()) ?? { editions: [] }
    if (answer instanceof Error) throw answer
    for (const page of [answer].flat()) yield page as Page
  }
  const finder = createFinder({
    search: search as Client['editions']['search'],
    async looksOf(...question) {
      looked.push(question)
      const answer = (await lookAnswers.shift()) ?? { images: {}, sections: {} }
      if (answer instanceof Error) throw answer
      return answer
    },
    model: { lists },
    ...more,
    onChange: () => {},
    announce: (text) => {
      said.push(text)
    }
  })
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  return { finder, asked, looked, said, pass }
}

const article = {
  nid: [{ value: 7 }],
  uuid: [{ value: 'u7' }],
  title: [{ value: 'Seven' }],
  status: [{ value: true }],
  field_section: [{ value: 'Sport' }],
  field_image: [{ target_id: 1, alt: 'A', url: 'https://cms.example/7.jpg' }]
}

t.test('an article is found with its picture, where it stands and who is in it', async (t) => {
  const placed = [{ id: '1', uuid: 'e1', bundle: 'daily', label: 'Monday', published: true }]
  const lock = { entityType: 'node', entityId: '7', fieldName: 'title', timestamp: 1, userData: { uid: 'ben' } }
  const { finder, asked, looked, said, pass } = open([
    { editions: [article, { uuid: [{ value: 'u8' }] }], placed: { u7: placed }, locks: { u7: [lock, { ...lock, fieldName: 'body' }] } }
  ])
  finder.open()
  await pass(0)
  t.match(asked, [{ bundle: 'article', placed: true, locks: true }])
  t.notOk('q' in asked[0]!)
  t.strictSame(finder.results, [
    {
      item: { target_id: 7, target_uuid: 'u7', target_type: 'node' },
      title: 'Seven',
      isPublished: true,
      image: 'https://cms.example/7.jpg',
      section: 'Sport',
      placed,
      locks: [{ ...lock, fieldName: 'body' }]
    },
    {
      item: { target_id: undefined, target_uuid: 'u8', target_type: 'node' },
      title: '',
      isPublished: undefined,
      image: undefined,
      section: undefined,
      placed: [],
      locks: []
    }
  ])
  t.strictSame([said, looked], [['2 articles shown'], []], 'rows that tell enough are not asked about')
  t.strictSame([finder.hasImages, finder.hasSections], [false, true])
  finder.open()
  await pass(1000)
  t.equal(asked.length, 1, 'what is shown is not asked for again')
})

t.test('what is typed is searched once its writer pauses, and who waits for it gets that answer', async (t) => {
  const { finder, asked, pass } = open([{ editions: [article] }])
  finder.type('se')
  await pass(100)
  finder.type(' seven ')
  let isAnswered = false
  finder.answered.then(() => {
    isAnswered = true
  })
  await pass(249)
  t.strictSame([asked.length, isAnswered], [0, false])
  await pass(1)
  t.strictSame([asked.map(({ q }) => q), isAnswered, finder.results?.length], [['seven'], true, 1])
  finder.type('eight')
  finder.close()
  await pass(1000)
  t.equal(asked.length, 1)
})

t.test('a list of another type has its own keys, and a search that fails says so', async (t) => {
  const away = new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')
  const { finder, asked, said, pass } = open([
    { editions: [{ sid: [{ value: 3 }], uuid: [{ value: 'u3' }], headline: [{ value: 'Three' }] }] },
    away,
    new QuoinError(503, 'PLACED_UNKNOWN', 'Too many'),
    { editions: [] }
  ])
  t.strictSame([finder.lists, finder.list, finder.place], [['article', 'feature', 'photo', 'brief', 'story', 'file'], 'article', undefined])
  finder.choose('story')
  await pass(0)
  t.match([asked[0], finder.results], [{ bundle: 'story' }, [{ item: { target_id: 3, target_type: 'story' }, title: 'Three' }]])
  finder.type('y')
  await pass(250)
  t.equal(finder.failure, away)
  finder.type('x')
  await pass(250)
  t.strictSame(
    [asked.slice(-2).map(({ placed }) => placed), finder.failure, said.at(-1)],
    [[true, false], undefined, 'No articles found'],
    'where nobody can say where articles stand they are found all the same'
  )
  finder.putAt(2)
  t.equal(finder.place, 2)
})

t.test('a list without keys of its own is read by the usual ones, also where a field is missing', async (t) => {
  const { finder, pass } = open([
    {
      editions: [
        { id: [{ value: 4 }], uuid: [{ value: 'u4' }], title: [{ value: 'Four' }], image: undefined }
      ] as unknown as Page['editions']
    }
  ])
  finder.choose('brief')
  await pass(0)
  t.match(finder.results, [{ item: { target_id: 4, target_uuid: 'u4', target_type: 'brief' }, title: 'Four', image: undefined }])
})

t.test('a search that another has taken the place of says nothing, not even that it was ended', async (t) => {
  const { promise, reject } = Promise.withResolvers<never>()
  const { finder, said, pass } = open([promise, { editions: [article] }])
  finder.type('s')
  await pass(250)
  finder.type('seven')
  await pass(250)
  reject(new QuoinError(0, 'UNREACHABLE', 'It was ended'))
  await pass(0)
  t.strictSame([finder.failure, finder.results?.length, said], [undefined, 1, ['1 article shown']])
})

const feature = (id: number, more: object = {}) => ({
  nid: [{ value: id }],
  uuid: [{ value: `u${id}` }],
  title: [{ value: `Feature ${id}` }],
  field_media: [{ target_id: id }],
  field_desk: [{ target_id: 1, target_uuid: 'sport' }],
  ...more
})

t.test('sections that are references, and images in media entities, come in one request after the rows', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Looks>()
  const rows = [
    feature(1),
    feature(2, { field_desk: [] }),
    feature(3, { field_media: [], field_desk: [{ value: 'Culture' }] }),
    feature(4, { field_media: undefined, field_desk: undefined })
  ]
  const { finder, looked, pass } = open(
    [
      { editions: rows },
      { editions: rows.toReversed() },
      {
        editions: [
          {
            uuid: [{ value: 'u9' }],
            field_photo: [{ url: 'https://cms.example/9.jpg' }],
            field_other: [{ url: 'https://cms.example/other.jpg', alt: '' }]
          }
        ]
      }
    ] as Array<Partial<Page>>,
    [promise]
  )
  finder.choose('feature')
  await pass(0)
  await finder.answered
  const shown = () => finder.results!.map(({ image, section }) => [image, section])
  t.strictSame(
    shown(),
    [
      [undefined, undefined],
      [undefined, undefined],
      [undefined, 'Culture'],
      [undefined, undefined]
    ],
    'the rows do not wait'
  )
  t.strictSame(
    looked.map(([list, uuids]) => [list, uuids]),
    [['feature', ['u1', 'u2']]]
  )
  t.strictSame([finder.hasImages, finder.hasSections], [true, true])
  resolve({ images: { u1: '1.jpg', u2: '2.jpg' }, sections: { u1: 'Sport' } })
  await pass(0)
  t.strictSame(shown(), [
    ['1.jpg', 'Sport'],
    ['2.jpg', undefined],
    [undefined, 'Culture'],
    [undefined, undefined]
  ])
  finder.type('x')
  await pass(250)
  t.strictSame(
    [shown(), looked.length],
    [
      [
        [undefined, undefined],
        [undefined, 'Culture'],
        ['2.jpg', undefined],
        ['1.jpg', 'Sport']
      ],
      1
    ],
    'what was told is not asked for again'
  )
  finder.choose('photo')
  await pass(0)
  t.strictSame(
    [shown(), finder.hasSections, looked.length],
    [[['https://cms.example/9.jpg', undefined]], false, 1],
    'of several images that of the field that the list names'
  )
})

t.test(
  'a search that another takes the place of ends its request for sections, and one that fails leaves the rows as they are',
  async (t) => {
    const { promise, resolve } = Promise.withResolvers<Looks>()
    const { finder, looked, pass } = open(
      [{ editions: [feature(1)] }, { editions: [feature(2)] }, { editions: [feature(2)] }],
      [promise, new Error('away'), { images: {}, sections: { u2: 'Sport' } }]
    )
    finder.choose('feature')
    await pass(0)
    finder.type('x')
    await pass(250)
    t.strictSame(
      looked.map(([, , { aborted }]) => aborted),
      [true, false]
    )
    resolve({ images: {}, sections: { u1: 'Culture' } })
    await pass(0)
    t.match([finder.results, finder.failure], [[{ title: 'Feature 2', section: undefined }], undefined])
    finder.type('y')
    await pass(250)
    t.match(finder.results, [{ section: 'Sport' }], 'the next search asks again')
  }
)

t.test('what is told of a list that was left comes to no other', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Looks>()
  const { finder, looked, pass } = open([{ editions: [feature(1)] }, { editions: [article] }], [promise])
  finder.choose('feature')
  await pass(0)
  finder.choose('article')
  t.ok(looked[0]![2].aborted)
  resolve({ images: {}, sections: { u1: 'Culture' } })
  await pass(0)
  t.match([finder.list, finder.results], ['article', [{ title: 'Seven' }]])
})

const brief = (id: number) => ({ nid: [{ value: id }], uuid: [{ value: `u${id}` }], title: [{ value: `Brief ${id}` }] })
const shownIn = (finder: ReturnType<typeof open>['finder']) => finder.results?.map(({ title }) => title)

t.test('filters narrow the search, and stay with the next text', async (t) => {
  const { finder, asked, pass } = open([], [], { model: { lists, timeZone: 'Europe/Berlin' } })
  t.strictSame(finder.filters, { section: '', status: '', unplaced: false, since: '' })
  finder.narrow({ section: 's1', status: '1' })
  await pass(0)
  finder.narrow({ unplaced: true, status: '0', since: '2026-11-18' })
  await pass(0)
  finder.type('harbour')
  await pass(250)
  t.match(asked, [
    { section: 's1', status: 1 },
    { section: 's1', status: 0, unplaced: true, changedFrom: '2026-11-18T00:00:00+01:00' },
    { q: 'harbour', section: 's1', status: 0, unplaced: true }
  ])
  finder.choose('brief')
  await pass(0)
  t.strictSame(finder.filters, { section: '', status: '', unplaced: false, since: '' }, 'another list has filters of its own')
  t.notOk(['section', 'status', 'unplaced', 'changedFrom'].some((name) => name in asked[3]!))
  const local = open([])
  local.finder.narrow({ since: '2026-11-18' })
  await local.pass(0)
  t.equal(local.asked[0]!.changedFrom, new Date('2026-11-18T00:00:00').toISOString(), 'without a zone a day is the reader’s')
})

t.test('what a list cannot be asked is not offered', async (t) => {
  const { finder } = open([], [], { sectionsOf: async () => ({ sections: [], isComplete: true }) })
  t.strictSame(finder.can, { section: true, status: true, unplaced: true, since: true })
  finder.choose('file')
  t.strictSame(finder.can, { section: false, status: false, unplaced: true, since: false })
  t.equal(open([]).finder.can.section, false, 'nobody can tell the sections')
})

t.test('where nobody can tell where articles stand, the filter is taken back and said', async (t) => {
  const { finder, asked, pass } = open([new QuoinError(503, 'PLACED_UNKNOWN', 'Too many'), { editions: [brief(1)] }])
  finder.narrow({ unplaced: true })
  await pass(0)
  t.strictSame([finder.filters.unplaced, finder.can.unplaced, finder.failure, shownIn(finder)], [false, false, undefined, ['Brief 1']])
  t.notOk('unplaced' in asked[1]!)
})

t.test('more rows come behind those that are there, each once', async (t) => {
  const pages = [
    { editions: [brief(3), brief(2)], hasMore: true },
    { editions: [brief(2), brief(1)], hasMore: false }
  ]
  const { finder, said, pass } = open([pages])
  await finder.more()
  t.equal(finder.results, undefined, 'before anything was searched there is no more')
  finder.open()
  await pass(0)
  t.strictSame([shownIn(finder), finder.hasMore, finder.isReading], [['Brief 3', 'Brief 2'], true, false])
  const reading = finder.more()
  t.equal(finder.isReading, true)
  await Promise.all([reading, finder.more()])
  t.strictSame([shownIn(finder), finder.hasMore, said.at(-1)], [['Brief 3', 'Brief 2', 'Brief 1'], false, '3 articles shown'])
  await finder.more()
  t.equal(finder.results!.length, 3)
})

t.test('pages without a row are passed over, three at most', async (t) => {
  const empty = { editions: [], hasMore: true }
  const { finder, pass } = open([
    [empty, { editions: [brief(1)], hasMore: true }],
    [empty, empty, empty, { editions: [brief(2)], hasMore: false }]
  ])
  finder.open()
  await pass(0)
  t.strictSame([shownIn(finder), finder.hasMore], [['Brief 1'], true])
  finder.narrow({ unplaced: true })
  await pass(0)
  t.strictSame([shownIn(finder), finder.hasMore], [[], true])
  await finder.more()
  t.strictSame([shownIn(finder), finder.hasMore], [['Brief 2'], false])
})

t.test('articles are selected one by one or as a range, and a drag takes along all of them', async (t) => {
  const { finder, pass } = open([{ editions: [brief(5), brief(4), brief(3), brief(2)] }])
  const titles = () => finder.selected.map(({ title }) => title)
  t.strictSame(titles(), [])
  finder.open()
  await pass(0)
  const [five, four, three, two] = finder.results!
  finder.select(three!, true, true)
  t.strictSame(titles(), ['Brief 3'], 'a range begins with the first')
  finder.select(five!, true, true)
  t.strictSame(titles(), ['Brief 5', 'Brief 4', 'Brief 3'])
  t.strictSame([finder.isSelected(four!), finder.isSelected(two!)], [true, false])
  t.strictSame([finder.taken(four!).length, finder.taken(two!)], [3, [two]])
  finder.select(four!, false)
  t.strictSame(titles(), ['Brief 5', 'Brief 3'])
  finder.unselect([five!, two!])
  t.strictSame(titles(), ['Brief 3'])
  finder.unselect()
  t.strictSame(titles(), [])
  finder.select({ ...two!, item: { target_uuid: 'gone' } }, true)
  finder.select(five!, true, true)
  t.strictSame(titles(), ['Brief 5'], 'a range from what is gone is the one alone')
})

t.test('sections are asked for once, sorted, and said to be partial', async (t) => {
  const asked: string[] = []
  const answers = [
    {
      sections: [
        { id: 'b', label: 'Sport' },
        { id: 'a', label: 'Culture' }
      ],
      isComplete: false
    },
    new Error('away')
  ]
  const { finder } = open([], [], {
    async sectionsOf(list) {
      asked.push(list)
      const answer = answers.shift()!
      if (answer instanceof Error) throw answer
      return answer
    }
  })
  t.strictSame([finder.sections, finder.areSectionsComplete], [undefined, true])
  await finder.askSections()
  await finder.askSections()
  t.strictSame([asked, finder.sections?.map(({ label }) => label), finder.areSectionsComplete], [['article'], ['Culture', 'Sport'], false])
  finder.choose('photo')
  await finder.askSections()
  t.equal(asked.length, 1, 'a list without sections is not asked')
  finder.choose('feature')
  await finder.askSections()
  t.strictSame([asked.length, finder.sections, finder.areSectionsComplete], [2, undefined, false])
  answers.push({ sections: [], isComplete: true })
  const late = finder.askSections()
  finder.choose('article')
  await late
  t.equal(finder.sections, undefined, 'an answer for another list is left')
  finder.close()
})

t.test('what is shown before the reader is there is not announced; what he asks for is', async (t) => {
  const { finder, said, pass } = open([[{ editions: [brief(2)], hasMore: true }, { editions: [brief(1)] }]])
  finder.prepare()
  await pass(0)
  t.strictSame([shownIn(finder), said], [['Brief 2'], []])
  await finder.more()
  t.strictSame(said, ['2 articles shown'])
})
