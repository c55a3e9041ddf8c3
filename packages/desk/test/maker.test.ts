import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createDraftStorage } from '../page/draft-storage.ts'
import { createMaker } from '../page/maker.ts'
import { nextKey, nextMoment, nextTitle, slugOf } from '../page/next.ts'
import type { Edition, Model } from '../page/settings.ts'
import { QuoinError, type Client } from '../../client/src/client.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { diskOf, draftStorageOf, storeOf, type FakeDisk } from './fixtures.ts'

// A disk without room is tried again for ever.
mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const model = contentModel({ timestampFields: ['field_expires'] }) as Model

const wednesday: Edition = {
  id: [{ value: 5 }],
  uuid: [{ value: 'u' }],
  type: [{ target_id: 'daily' }],
  title: [{ value: 'Wednesday, 18 November 2026' }],
  status: [{ value: true }],
  field_key: [{ value: 'daily-2026-11-18' }],
  field_publisher_edition_type: [{ value: 'daily' }],
  field_publication_date: [{ value: '2026-11-18' }],
  field_expires: [{ value: '2026-12-18T05:00:00+01:00' }],
  field_articles: [
    { target_id: 1, target_uuid: 'u1', url: '/node/1' },
    { target_id: 2, target_uuid: 'u2', url: '/node/2' }
  ],
  field_note: [{ value: 'x' }],
  field_teaser: [],
  field_slogan: undefined
}
const special: Edition = {
  id: [{ value: 6 }],
  type: [{ target_id: 'special' }],
  title: [{ value: 'Opera 2026' }],
  field_key: [{ value: 'opera' }],
  field_publisher_edition_type: [{ value: 'special' }]
}

function open({
  from,
  found = [special, wednesday],
  answers = [],
  failures = [],
  of: its = model,
  disk = diskOf(),
  labels = { u1: 'The harbour' }
}: {
  from?: string
  found?: Edition[]
  answers?: Error[]
  failures?: Error[]
  of?: Model
  disk?: FakeDisk
  labels?: Record<string, string> | Error
} = {}) {
  const sent: Array<[string, Record<string, unknown>]> = []
  const said: string[] = []
  const made: string[] = []
  const lacks: Array<string | undefined> = []
  const asked: object[] = []
  const editions = {
    bundles: async () => [
      { id: 'daily', label: 'Daily' },
      { id: 'special', label: 'Special' }
    ],
    async *search(query: object) {
      asked.push(query)
      const failure = failures.shift()
      if (failure) throw failure
      yield { editions: found }
    },
    read: async (id: string) => ({ edition: found.find((edition) => String(edition['id']![0]!['value']) === id)! }),
    async create(bundle: string, body: Record<string, unknown>) {
      sent.push([bundle, body])
      const answer = answers.shift()
      if (answer) throw answer
      return { edition: { id: [{ value: 61 }] } }
    }
  } as unknown as Client['editions']
  const maker = createMaker(
    {
      editions,
      model: its,
      samples: { of: () => [], prepare: () => {}, learn: async () => {} },
      storage: createDraftStorage({ disk, window: { localStorage: storeOf() }, uid: 'anna', onChange: () => {} }),
      onChange: () => {},
      announce: (text) => {
        said.push(text)
      },
      async labelsOf(id) {
        if (labels instanceof Error) throw labels
        t.equal(id, '5', 'of the edition that is copied')
        return { data: labels, published: {}, images: {}, sections: {} }
      },
      onMake: (id, lack) => {
        made.push(id)
        lacks.push(lack)
      }
    },
    from
  )
  const texts = () => maker.inputs.map(({ shape, text }) => [shape.name, text])
  const of = (name: string) => maker.inputs.find(({ shape }) => shape.name === name)!
  const drafts = () => maker.drafts.map(({ fieldName, payload }) => [fieldName, payload])
  return { maker, sent, said, made, lacks, asked, texts, of, drafts }
}

const invalid = (...paths: string[]) =>
  new QuoinError(422, 'UNPROCESSABLE', 'no', { body: { violations: paths.map((path) => ({ path, message: 'It is not right.' })) } })

t.test('a new edition is proposed after the newest that has a date', async (t) => {
  const { maker, sent, said, made, texts, of } = open()
  await turn()
  t.strictSame(texts(), [
    ['title', 'Thursday, 19 November 2026'],
    ['field_key', 'daily-2026-11-19'],
    ['field_publisher_edition_type', 'daily'],
    ['field_publication_date', '2026-11-19']
  ])
  maker.type(of('title'), '')
  await maker.make()
  t.strictSame([sent, of('title').problems, maker.reason], [[], ['This is needed.'], 'Not made: Title is needed.'])
  maker.type(of('title'), 'Thursday')
  t.equal(of('field_key').text, 'daily-2026-11-19', 'the key is that of the day')
  await maker.make()
  t.strictSame(sent, [
    [
      'daily',
      {
        status: [{ value: false }],
        title: [{ value: 'Thursday' }],
        field_key: [{ value: 'daily-2026-11-19' }],
        field_publisher_edition_type: [{ value: 'daily' }],
        field_publication_date: [{ value: '2026-11-19' }]
      }
    ]
  ])
  t.strictSame([made, said], [['61'], ['Not made: Title is needed.', 'The edition is made']])
})

t.test('yesterday\u2019s is duplicated a day later, without what Drupal does not take', async (t) => {
  const { maker, sent, said, made, lacks } = open({
    from: 'latest',
    answers: [invalid('field_articles.1.target_id'), new QuoinError(403, 'CMS_FORBIDDEN', "Access denied on creating field 'field_note'.")]
  })
  await turn()
  await maker.make()
  const bodies = sent.map(([, body]) => body)
  t.match(bodies[0], {
    field_articles: [{ target_id: 1 }, { target_id: 2 }],
    field_expires: [{ value: '2026-12-19T05:00:00+01:00' }],
    field_note: [{ value: 'x' }],
    status: [{ value: false }]
  })
  t.notOk(['id', 'uuid', 'type'].some((name) => name in bodies[0]!))
  t.notOk(
    ['field_teaser', 'field_slogan'].some((name) => name in bodies[0]!),
    'what is empty is not sent'
  )
  t.strictSame([bodies[1]!['field_articles'], bodies[2]!['field_note']], [[{ target_id: 1, target_uuid: 'u1' }], undefined])
  const lack = 'This copy lacks 2 values that could not be copied: No. 2, deleted or not for you to see; Note'
  t.strictSame([made, lacks, said], [['61'], [lack], [`The edition is made. ${lack}`]])
  maker.copy(false)
  t.notOk(maker.isCopy)
})

t.test(
  'a copy names the articles that it lacks by their titles, ten at most, and by their numbers where titles cannot be had',
  async (t) => {
    const one = open({ from: '5', answers: [invalid('field_articles.0')] })
    await turn()
    await one.maker.make()
    t.strictSame(one.lacks, ['This copy lacks 1 value that could not be copied: The harbour'])

    const articles = Array.from({ length: 12 }, (_, nth) => ({ target_id: nth + 1, target_uuid: `u${nth + 1}` }))
    const many = open({
      from: '5',
      found: [{ ...wednesday, field_articles: articles }],
      answers: [invalid(...articles.map((_, nth) => `field_articles.${nth}`))],
      labels: new Error('api/desk/labels/5 was answered 503')
    })
    await turn()
    await many.maker.make()
    t.match([many.sent.length, many.made, many.lacks], [2, ['61'], [/ lacks 12 values .*: No\. 1; No\. 2; .*; No\. 10 and 2 others$/]])

    const gone = open({
      from: '5',
      found: [
        { ...wednesday, field_articles: [{ target_id: null }, { target_id: 1, target_uuid: 'u1' }], field_cover: [{ target_id: null }] }
      ]
    })
    await turn()
    await gone.maker.make()
    t.match(
      [gone.sent[0]![1]['field_articles'], gone.lacks],
      [[{ target_id: 1 }], [/ lacks 2 values .*: a deleted article; Cover$/]],
      'Drupal drops what was deleted without a word'
    )

    const whole = open({ from: '5', answers: [invalid('field_articles')] })
    await turn()
    await whole.maker.make()
    t.match([whole.sent[1]![1]['field_articles'], whole.lacks], [undefined, [/ lacks 1 value .*: Running order$/]])
  }
)

t.test('a copied time is at the same hour a day later, and a range at both ends', async (t) => {
  const saturday = {
    ...wednesday,
    field_expires: [{ value: '2026-10-24T05:00:00+02:00' }],
    field_run: [{ value: '2026-10-24T05:00:00+02:00', end_value: '2026-10-25T05:00:00+01:00' }]
  }
  const { maker, sent } = open({
    from: 'latest',
    found: [saturday],
    of: contentModel({ timestampFields: ['field_expires'], timeZone: 'Europe/Berlin' }) as Model
  })
  await turn()
  await maker.make()
  t.match(sent[0]![1], {
    field_expires: [{ value: '2026-10-25T05:00:00+01:00' }],
    field_run: [{ value: '2026-10-25T05:00:00+01:00', end_value: '2026-10-26T05:00:00+01:00' }]
  })
})

t.test('an edition is made once however often that is pressed, and not tried for ever', async (t) => {
  const { maker, sent, made, said } = open()
  await turn()
  await Promise.all([maker.make(), maker.make()])
  t.strictSame([sent.length, made], [1, ['61']])

  const other = open({
    from: 'latest',
    found: [{ ...wednesday, ...Object.fromEntries(Array.from({ length: 12 }, (_, nth) => [`field_x${nth}`, [{ value: 'x' }]])) }],
    answers: Array.from({ length: 12 }, (_, nth) => invalid(`field_x${nth}`))
  })
  await turn()
  await other.maker.make()
  t.strictSame([other.sent.length, other.made, other.said], [10, [], ['Not made: X9 is not right.']])
  t.strictSame(said, ['The edition is made'])
})

t.test('what is typed stays whatever is proposed since', async (t) => {
  const { maker, texts, of } = open({ from: 'latest' })
  await turn()
  maker.type(of('title'), 'Mine')
  maker.copy(false)
  t.strictSame(texts().slice(0, 2), [
    ['title', 'Mine'],
    ['field_key', 'daily-2026-11-19']
  ])
  maker.type(of('field_publication_date'), '2026-12-24')
  maker.chooseBundle('special')
  await turn()
  t.equal(of('title').text, 'Mine', 'also after the newest edition of another bundle')
})

t.test('what is typed is in the browser until the edition is made, and offered to whoever opens the form again', async (t) => {
  const disk = diskOf()
  const first = open({ disk })
  await turn()
  for (const text of ['O', 'Opera', '']) first.maker.type(first.of('field_key'), text)
  for (const text of ['T', 'The opera']) first.maker.type(first.of('title'), text)
  await turn()
  t.strictSame([disk.length, first.drafts(), first.maker.isAtRisk], [1, [], false], 'of an empty text nothing is kept')

  const second = open({ disk, failures: [new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')] })
  await turn()
  t.strictSame(second.drafts(), [['title', 'The opera']])
  await second.maker.load()
  t.match(second.maker.drafts, [{ typedAt: Number }])
  t.equal(second.of('title').text, 'Thursday, 19 November 2026', 'it is not put into the form unasked')
  second.maker.type(second.of('title'), 'The ferry')
  first.maker.type(first.of('title'), 'The opera house')
  await turn()
  t.equal(disk.length, 2, 'a window writes over no text of another')
  second.maker.restore(second.maker.drafts[0]!)
  t.strictSame(
    [second.of('title').text, second.drafts(), second.said],
    ['The opera', [['title', 'The ferry']], ['Your text is back in Title.']]
  )
  second.maker.type(second.of('title'), 'The ferry')
  t.strictSame(second.drafts(), [], 'a text that is typed again is offered no more')
  await second.maker.make()
  await turn()
  t.strictSame([second.made, second.drafts(), disk.length], [['61'], [], 1], 'what the other window goes on with stays')

  const third = open({ disk })
  await turn()
  t.strictSame(third.drafts(), [['title', 'The opera house']])
  third.maker.discard(third.maker.drafts[0]!)
  third.maker.type(third.of('title'), 'The harbour')
  third.maker.leave()
  await turn()
  t.equal(disk.length, 1, 'what stands in a form that is given up is kept')
  third.maker.type(third.of('title'), 'The bridge')
  third.maker.type(third.of('field_key'), '')
  third.maker.leave()
  await turn()
  t.strictSame([disk.length, third.drafts()], [2, [['title', 'The harbour']]])
  third.maker.leave()
  await turn()
  t.equal(disk.length, 2)

  const fourth = open({ disk })
  await turn()
  t.strictSame(fourth.drafts().sort(), [
    ['title', 'The bridge'],
    ['title', 'The harbour']
  ])
})

t.test('a kept text brings its field into the form where that can be edited, and one that has no room is at risk', async (t) => {
  const disk = diskOf(200)
  const storage = await draftStorageOf(disk)
  for (const [fieldName, payload] of [
    ['field_slogan', 'All of it'],
    ['field_articles', '5 8']
  ] as const) {
    storage.put('new', { fieldName, payload })
  }
  await turn()
  const { maker, of, drafts } = open({ disk })
  await turn()
  for (const draft of maker.drafts) maker.restore(draft)
  t.strictSame([of('field_slogan').text, drafts()], ['All of it', [['field_articles', '5 8']]])
  t.strictSame([maker.labelOf('field_articles'), maker.isAtRisk], ['Running order', false])
  maker.type(of('title'), 'x'.repeat(200))
  await turn()
  t.ok(maker.isAtRisk)
})

t.test('where the newest edition cannot be had the form says so, and asks again', async (t) => {
  const { maker, texts } = open({ failures: [new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')] })
  t.strictSame([maker.isReading, maker.failure], [true, undefined])
  await turn()
  t.match([maker.isReading, maker.failure, texts()], [false, { message: 'The CMS is away' }, []])
  await maker.load()
  t.match([maker.failure, maker.bundles.map(({ id }) => id), texts().length], [undefined, ['daily', 'special'], 4])
})

t.test('the bundle is sent by the name that it has, and none where there are none', async (t) => {
  const daily = { ...wednesday, kind: [{ target_id: 'daily' }] }
  const { maker, sent } = open({ found: [daily], of: contentModel({ keys: { bundle: 'kind' } }) as Model })
  await turn()
  await maker.make()
  t.match(sent, [['daily', { type: undefined, kind: [{ target_id: 'daily' }] }]])
  const none = open({ found: [], of: contentModel({ keys: { bundle: null } }) as Model })
  await turn()
  none.maker.type(none.of('title'), 'Opera')
  t.strictSame([none.maker.bundle, none.of('field_key').text], ['', 'opera'], 'without an edition before it the title says what the key is')
  await none.maker.make()
  t.equal(none.maker.reason, 'Not made: Edition type is needed.')
  none.maker.type(none.of('title'), ' ')
  await none.maker.make()
  t.equal(none.maker.reason, 'Not made: Title, Key, Edition type are needed.')
  none.maker.type(none.of('title'), 'Opera')
  none.maker.type(none.of('field_publisher_edition_type'), 'special')
  await none.maker.make()
  t.strictSame(Object.keys(none.sent[0]![1]), ['type', 'status', 'title', 'field_key', 'field_publisher_edition_type'])
  t.equal(none.sent[0]![1]['type'], undefined)
})

t.test('of editions without a date in their keys the newest with a date field goes before', async (t) => {
  const { field_key: _, ...keyless } = wednesday
  const { texts } = open({ found: [special, keyless] })
  await turn()
  t.match(texts().at(-1), ['field_publication_date', '2026-11-19'])
})

t.test('a certain edition is duplicated, and what the CMS wants besides comes into the form', async (t) => {
  const { maker, sent, texts, said, of } = open({
    from: '6',
    answers: [invalid('title.0.value', 'field_slogan'), new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')]
  })
  await turn()
  t.strictSame(texts(), [
    ['title', 'Opera 2026'],
    ['field_key', ''],
    ['field_publisher_edition_type', 'special']
  ])
  maker.type(of('title'), 'Théâtre & Film')
  t.equal(of('field_key').text, 'theatre-film')
  await maker.make()
  t.strictSame(
    [of('title').problems, of('field_slogan').problems, said.at(-1)],
    [['It is not right.'], ['It is not right.'], 'Not made: 2 fields are not right: Title, Slogan.']
  )
  maker.type(of('field_slogan'), 'All of it')
  await maker.make()
  t.strictSame(
    [said.at(-1), maker.isMaking, sent.at(-1)![1]['field_slogan']],
    ['Not made: The CMS is away.', false, [{ value: 'All of it' }]]
  )
  maker.copy(false)
  t.equal(of('field_slogan').text, 'All of it', 'and what was typed there stays, whatever is proposed since')
})

t.test('another bundle has its own newest edition, and a site without editions none', async (t) => {
  const { maker, asked } = open()
  await turn()
  maker.chooseBundle('special')
  await turn()
  t.match(asked.at(-1), { bundle: 'special' })
  const empty = open({ found: [] })
  await turn()
  t.strictSame(
    [empty.texts(), empty.maker.bundle, empty.maker.before],
    [
      [
        ['title', ''],
        ['field_key', ''],
        ['field_publisher_edition_type', '']
      ],
      'daily',
      undefined
    ]
  )
})

t.test('the day after is found in keys, titles and times', async (t) => {
  t.strictSame(
    [
      nextKey('daily-2026-12-31'),
      nextKey('opera'),
      nextMoment('2026-02-28T05:00:00Z'),
      nextMoment('now'),
      nextMoment('2026-99-99'),
      nextMoment('2026-11-30/2026-12-31')
    ],
    ['daily-2027-01-01', undefined, '2026-03-01T05:00:00Z', 'now', '2026-99-99', '2026-12-01/2027-01-01']
  )
  for (const [title, key, after] of [
    ['Wednesday, 18 November 2026', 'd-2026-11-18', 'Thursday, 19 November 2026'],
    ['Donnerstag, 31. Dezember 2026', 'd-2026-12-31', 'Freitag, 1. Januar 2027'],
    ['Ausgabe 2026-11-18', 'd-2026-11-18', 'Ausgabe 2026-11-19'],
    ['Opera', 'd-2026-11-18', undefined],
    ['18 November 2026', 'opera', undefined]
  ] as const) {
    t.equal(nextTitle(title, key), after, title)
  }
  t.equal(slugOf(' Harbour: Bridge! '), 'harbour-bridge')
})
