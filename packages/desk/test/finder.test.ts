import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createFinder, type Looks } from '../page/finder.ts'
import { QuoinError, type Client, type Page, type Search } from '../../client/src/client.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const lists = {
  article: { entityType: 'node', section: 'field_section' },
  feature: { entityType: 'node', image: 'field_media.field_media_image', section: 'field_desk' },
  photo: { entityType: 'node', image: 'field_photo' },
  brief: { entityType: 'brief' },
  story: { entityType: 'story', keys: { id: 'sid', label: 'headline' } }
}

/** A finder, and what its searches are answered with: a page or an error, at once or later; and so the requests for looks. */
function open(answers: Array<Partial<Page> | Error | Promise<never>>, lookAnswers: Array<Looks | Error | Promise<Looks>> = []) {
  const asked: Search[] = []
  const looked: Array<[list: string, uuids: string[], signal: AbortSignal]> = []
  const said: string[] = []
  async function* search(query: Search) {
    asked.push(query)
    const answer = (await answers.shift()) ?? { editions: [] }
    if (answer instanceof Error) throw answer
    yield answer as Page
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
  t.strictSame([finder.lists, finder.list, finder.place], [['article', 'feature', 'photo', 'brief', 'story'], 'article', undefined])
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
