import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { criteriaOf, editionAddress, listAddress, newAddress, placeOf, seatOf, serviceOf } from '../page/address.ts'
import { itemsOf, labelOf, shapesOf, textOf, timesOf, tokensOf, type Kind } from '../page/fields.ts'
import { createDrafts } from '../page/drafts.ts'
import { diskOf, draftStorageOf } from './fixtures.ts'
import { fit, rebase, settle } from '../page/merge.ts'
import { addedTo, apply, indexOf, insertAt, isSameArticle, moveTo, spotOf, removeAt, unmovedOf } from '../page/operations.ts'
import { hindranceOf, refusalOf, textOf as wordsOf } from '../page/refusal.ts'
import { createSamples } from '../page/samples.ts'
import { entityOf, isPublished, languageOf, lockIdOf, valueOf, type Edition, type Item, type Model } from '../page/settings.ts'
import { say } from '../page/texts.ts'
import { createText } from '../page/text.ts'
import { localIn, readIn } from '../page/zone.ts'
import { at, beginning, day, directionOf, duration, initials, nameOf, since, toneOf, useZone } from '../page/words.ts'
import { QuoinError, type Draft } from '../../client/src/client.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { rearrange } from '../../../lib/editions/order/operations.ts'
import fc from '../../../test/fixtures/property.ts'

const model = contentModel({ timestampFields: ['field_expires'], references: { field_section: 'taxonomy_term' } }) as Model

t.test('the kind of a field is read off its value, or off that of another edition where it is empty', async (t) => {
  const kinds: Array<[kind: Kind, items: Item[]]> = [
    ['line', [{ value: 'print' }]],
    ['line', []],
    ['line', [{ value: '2.9' }]],
    ['lines', [{ value: 'a' }, { value: 'b' }]],
    ['fixed', [{ value: 'a' }, { value: 'b\nc' }]],
    ['text', [{ value: '<p>A</p>', format: 'basic_html', processed: '<p>A</p>' }]],
    ['text', [{ value: 'x'.repeat(91) }]],
    ['text', [{ value: 'a\nb' }]],
    ['number', [{ value: 44 }]],
    ['flag', [{ value: false }]],
    ['date', [{ value: '2026-11-18' }]],
    ['moment', [{ value: '2026-11-18T05:00:00+01:00' }]],
    ['link', [{ uri: 'https://a.example', title: 'A', options: {} }]],
    ['fixed', [{ target_id: 3, target_uuid: 'u' }]]
  ]
  for (const [kind, items] of kinds) {
    t.equal(shapesOf({ field_x: items }, model)[0]!.kind, kind, JSON.stringify(items))
    t.equal(shapesOf({ field_x: [] }, model, () => items)[0]!.kind, kind, `empty, elsewhere ${JSON.stringify(items)}`)
  }
  const edition: Edition = {
    id: [{ value: 5 }],
    uid: [{ target_id: 1 }],
    field_labels: [{ value: 'a' }, { value: 'b' }],
    field_articles: [],
    field_section: [],
    field_expires: [],
    field_key: [{ value: 'k' }],
    status: [{ value: true }],
    field_publisher_edition_type: [{ value: 'daily' }],
    title: [{ value: 'Monday' }],
    field_page_count: undefined
  }
  t.strictSame(
    shapesOf(edition, model).map(({ name, kind, label }) => [name, kind, label]),
    [
      ['title', 'line', 'Title'],
      ['field_key', 'line', 'Key'],
      ['field_publisher_edition_type', 'choice', 'Edition type'],
      ['status', 'flag', 'Published'],
      ['field_articles', 'order', 'Running order'],
      ['field_section', 'fixed', 'Section'],
      ['field_expires', 'moment', 'Expires'],
      ['field_page_count', 'line', 'Page count'],
      ['field_labels', 'lines', 'Labels']
    ],
    'what the model knows goes first; core’s own fields are left out'
  )
  t.strictSame(shapesOf({ title: [] }, { ...model, fields: { ...model.fields, editionType: null } }).length, 1)
  t.equal(labelOf('field_more', { ...model, fields: { ...model.fields, articles: ['field_articles', 'field_more'] } }), 'More')
})

t.test('a label and a key are lines, whatever stands there', async (t) => {
  for (const value of ['2026-11-19', '2026-11-19T05:00:00+01:00', 'x'.repeat(200), 'a\nb', 2026, true]) {
    t.strictSame(
      shapesOf({ field_note: [{ value: 'n' }], field_key: [{ value }], title: [{ value }] }, model).map(({ name, kind }) => [name, kind]),
      [
        ['title', 'line'],
        ['field_key', 'line'],
        ['field_note', 'line']
      ],
      JSON.stringify(value)
    )
  }
})

t.test("labels, help texts and required marks are Drupal's where the content model has them", async (t) => {
  const told = contentModel({
    fieldConfig: {
      title: { label: 'Headline', required: true },
      field_note: { description: ' For <em>editors</em> only. ' },
      field_print: { label: '', description: '<br>', required: false }
    }
  }) as Model
  t.strictSame(
    shapesOf({ title: [], field_note: [], field_print: [] }, told).map(({ label, help, isRequired }) => [label, help, isRequired]),
    [
      ['Headline', undefined, true],
      ['Note', 'For editors only.', undefined],
      ['Print', undefined, undefined]
    ]
  )
  const form = contentModel({
    fieldConfig: { field_price: { group: 'Sale' }, field_text: { group: 'Texts' }, field_note: {}, field_format: { group: 'Sale' } }
  }) as Model
  const long = [{ value: 'a', format: 'basic_html', processed: 'a' }]
  t.strictSame(
    shapesOf({ field_extra: [], field_format: [], field_note: long, field_price: long, field_text: [], title: [] }, form).map(
      ({ name, group }) => [name, group]
    ),
    [
      ['title', undefined],
      ['field_extra', undefined],
      ['field_note', undefined],
      ['field_format', 'Sale'],
      ['field_price', 'Sale'],
      ['field_text', 'Texts']
    ],
    'in the order and the groups of the form, those of no group first, those of many lines last'
  )
  t.throws(() => contentModel({ fieldConfig: { title: { help: 'x' } } }), { message: /fieldConfig\/title\/help/ })
})

/** An entity type whose fields are base fields, and that has next to no keys. */
const dossiers = contentModel({
  entityType: 'dossier',
  keys: {
    id: 'did',
    revision: null,
    bundle: null,
    label: 'heading',
    published: null,
    changed: 'touched',
    langcode: 'lang',
    defaultLangcode: 'is_original'
  },
  fields: { key: 'shelf_mark', editionType: null, articles: ['pieces'] },
  timestampFields: ['touched', 'closes_at'],
  references: { pieces: 'node' }
}) as Model

t.test('base fields are shown like others, but not those that Drupal keeps for itself', async (t) => {
  const dossier: Edition = {
    did: [{ value: 5 }],
    uuid: [{ value: 'u' }],
    lang: [{ value: 'de' }],
    is_original: [{ value: true }],
    touched: [{ value: '2026-11-18T05:00:00+01:00' }],
    created: [{ value: '2026-11-18T05:00:00+01:00' }],
    uid: [{ target_id: 1 }],
    revision_log_message: [],
    revision_translation_affected: [{ value: true }],
    content_translation_source: [{ value: 'und' }],
    path: [{ alias: null, pid: null, langcode: 'de' }],
    metatag: [],
    menu_link: [],
    _links: [],
    summary: [{ value: 'a\nb' }],
    type: [{ value: 'loose' }],
    changed: [{ value: 'twice' }],
    status: [{ value: true }],
    page_count: [{ value: 44 }],
    closes_at: [],
    pieces: [{ target_id: 3 }],
    shelf_mark: [{ value: 'k' }],
    heading: [{ value: 'Harbour' }],
    revisions_due: [],
    field_note: [{ value: 'n' }]
  }
  t.strictSame(
    shapesOf(dossier, dossiers).map(({ name, kind, label }) => [name, kind, label]),
    [
      ['heading', 'line', 'Heading'],
      ['shelf_mark', 'line', 'Shelf mark'],
      ['type', 'line', 'Type'],
      ['changed', 'line', 'Changed'],
      ['status', 'flag', 'Status'],
      ['page_count', 'number', 'Page count'],
      ['closes_at', 'moment', 'Closes at'],
      ['pieces', 'order', 'Running order'],
      ['revisions_due', 'line', 'Revisions due'],
      ['field_note', 'line', 'Note'],
      ['summary', 'text', 'Summary']
    ],
    'a name that is a key elsewhere is a field like others here'
  )
  const node = contentModel({ entityType: 'node', keys: { id: 'nid', revision: 'vid' } }) as Model
  const names = [
    'nid',
    'uuid',
    'vid',
    'langcode',
    'type',
    'revision_timestamp',
    'revision_uid',
    'revision_log',
    'status',
    'uid',
    'title',
    'created',
    'changed',
    'promote',
    'default_langcode',
    'path',
    'body'
  ]
  t.strictSame(
    shapesOf(Object.fromEntries(names.map((name) => [name, []])), node).map(({ name }) => name),
    ['title', 'status', 'promote', 'body']
  )
})

t.test('a text stands for items, and items for the text', async (t) => {
  const both: Array<[kind: Kind, items: Item[], text: string, sent?: unknown[]]> = [
    ['line', [{ value: 'a' }], 'a'],
    ['line', [], '', []],
    ['lines', [{ value: 'a' }, { value: 'b' }], 'a\nb'],
    ['number', [{ value: 44 }], '44'],
    ['number', [], '', []],
    ['flag', [{ value: true }], 'true'],
    ['flag', [{ value: false }], 'false'],
    ['date', [{ value: '2026-11-18' }], '2026-11-18'],
    ['choice', [{ value: 'daily' }], 'daily'],
    ['link', [{ uri: 'https://a.example', title: 'A', options: [] }], 'https://a.example'],
    ['link', [], '', []],
    [
      'text',
      [{ value: '<p>A</p>', format: 'basic_html', processed: '<p>A</p>' }],
      '<p>A</p>',
      [{ value: '<p>A</p>', format: 'basic_html' }]
    ],
    ['text', [{ value: 'long' }], 'long'],
    ['moment', [{ value: '2026-11-18T05:00:00+01:00', format: 'Y' }], '2026-11-18T05:00:00'],
    ['moment', [], '', []],
    ['order', [{ target_id: 4 }, { target_id: 2 }, { target_id: 4, nth: 2 }, { target_id: null }], '4 2 4#2 gone'],
    ['order', [], '']
  ]
  for (const [kind, items, text, sent = items] of both) {
    const shape = { name: 'f', label: 'F', kind, template: {} }
    t.equal(textOf({ kind }, items), text, `${kind} ${text}`)
    t.strictSame(itemsOf(shape, text, items), sent, `${kind} ${text} back`)
  }
  const shape = (kind: Kind, template: Item = {}) => ({ name: 'f', label: 'F', kind, template })
  t.equal(textOf({ kind: 'fixed' }, [{ target_id: 3 }, { target_id: 5 }]), '3, 5')
  t.strictSame(itemsOf(shape('number'), 'x', []), [{ value: 'x' }], 'what is no number is for Drupal to refuse')
  t.strictSame(itemsOf(shape('lines'), 'a\n\n b\n', []), [{ value: 'a' }, { value: ' b' }])
  t.strictSame(
    itemsOf(shape('moment'), '2026-11-18T05:30', [{ value: '2026-11-18T05:00:00+01:00' }]),
    [{ value: '2026-11-18T05:30:00+01:00' }],
    'seconds come back, the offset stays'
  )
  t.strictSame(itemsOf(shape('moment', {}), '2026-11-18T05:30', []), [{ value: '2026-11-18T05:30:00Z' }])
  t.strictSame(
    itemsOf(shape('order'), '2 9 4', [{ target_id: 4 }, { target_id: 2 }]),
    [{ target_id: 2 }, { target_id: 4 }],
    'what is not there any more is left out'
  )
  t.equal(tokensOf([{ target_id: 4 }, { target_id: 4 }]).size, 2)

  const [text] = shapesOf({ field_x: [] }, model, () => [{ value: 'A', format: 'basic_html', processed: 'A' }])
  t.strictSame(itemsOf(text!, 'New', []), [{ value: 'New', format: 'basic_html' }], 'a first text takes its format from others')
  const [moment] = shapesOf({ field_x: [] }, model, () => [{ value: '2026-11-18T05:00:00+01:00', format: 'Y' }])
  t.strictSame(itemsOf(moment!, '2027-01-01T00:00', []), [{ value: '2027-01-01T00:00:00+01:00' }], 'and a first time its offset')
  const [link] = shapesOf({ field_x: [] }, model, () => [{ uri: 'https://a.example', title: 'A' }])
  t.strictSame(itemsOf(link!, 'https://b.example', []), [{ uri: 'https://b.example' }], 'but a link no title')
  t.strictSame(shapesOf({ field_x: [{ value: 'a\nb' }] }, model)[0]!.template, {})
})

t.test('with the time zone of the site a time is what its clocks show', async (t) => {
  const [shape] = shapesOf({ field_expires: [{ value: '2026-11-18T05:00:00+01:00' }] }, { ...model, timeZone: 'Europe/Berlin' })
  t.equal(shape!.zone, 'Europe/Berlin')
  const cases: Array<[local: string, instant: string, times: number]> = [
    ['2026-07-01T05:00', '2026-07-01T05:00:00+02:00', 1],
    ['2026-11-18T05:00:30', '2026-11-18T05:00:30+01:00', 1],
    ['2026-03-29T02:30', '2026-03-29T03:30:00+02:00', 0],
    ['2026-03-29T01:59', '2026-03-29T01:59:00+01:00', 1],
    ['2026-10-25T02:30', '2026-10-25T02:30:00+02:00', 2],
    ['2026-10-25T03:00', '2026-10-25T03:00:00+01:00', 1]
  ]
  for (const [local, instant, times] of cases) {
    t.strictSame(itemsOf(shape!, local, [{ value: '2026-11-18T05:00:00+01:00' }]), [{ value: instant }], local)
    t.equal(timesOf(shape!, local), times, local)
    if (times > 0) t.equal(textOf(shape!, [{ value: instant }]).slice(0, local.length), local, `${local} back`)
  }
  t.equal(textOf(shape!, [{ value: '2026-07-01T23:30:00Z' }]), '2026-07-02T01:30:00')
  t.strictSame(itemsOf(shape!, 'soon', []), [{ value: 'soon+01:00' }], 'what is no time is for Drupal to refuse')
  t.equal(localIn('America/New_York', '2026-07-01T05:00:00Z'), '2026-07-01T01:00:00')
  t.equal(readIn('America/St_Johns', '2026-01-01T00:00').instant, '2026-01-01T00:00:00-03:30')
  for (const kind of ['date', 'line'] as const) {
    t.notOk(shapesOf({ field_x: [{ value: kind }] }, { ...model, timeZone: 'Europe/Berlin' })[0]!.zone, kind)
  }

  const text = createText(shape!, [{ value: '2026-11-18T05:00:00+01:00' }])
  t.strictSame([text.problems, text.hint, text.isUnfinished], [[], undefined, false])
  text.type('2026-03-29T02:30', true)
  t.match([text.problems, text.isUnfinished], [[/There is no such time in Europe\/Berlin/], true])
  text.type('2026-10-25T02:30', true)
  t.match([text.problems, text.hint, text.isUnfinished], [[], /comes twice/, false])
})

t.test('a range is edited at both ends', async (t) => {
  const range: Item[] = [{ value: '2026-11-18', end_value: '2026-11-20' }]
  const [days] = shapesOf({ field_x: range }, model)
  t.match([days!.kind, days!.isRange, textOf(days!, range), textOf(days!, [])], ['date', true, '2026-11-18/2026-11-20', ''])
  t.strictSame(itemsOf(days!, '2026-11-19/2026-11-21', [{ ...range[0], note: 1 }]), [
    { note: 1, value: '2026-11-19', end_value: '2026-11-21' }
  ])
  t.strictSame(itemsOf(days!, '', range), [])
  const open: Item[] = [{ value: '2026-11-18', end_value: null }]
  t.strictSame(
    [textOf(days!, open), itemsOf(days!, '2026-11-19/', open)],
    ['2026-11-18/', [{ value: '2026-11-19', end_value: null }]],
    'where a site lets the end be open'
  )
  t.strictSame(itemsOf(days!, '2026-11-19/2026-11-20', open), [{ value: '2026-11-19', end_value: '2026-11-20' }])
  t.notOk(shapesOf({ field_x: [{ value: '2026-11-18' }] }, model)[0]!.isRange)

  const moments: Item[] = [{ value: '2026-11-18T05:00:00+01:00', end_value: '2026-11-19T05:00:00+01:00' }]
  const [moment] = shapesOf({ field_x: [] }, { ...model, timeZone: 'Europe/Berlin' }, () => moments)
  t.equal(textOf(moment!, moments), '2026-11-18T05:00:00/2026-11-19T05:00:00')
  t.strictSame(itemsOf(moment!, '2026-07-01T05:00/2026-12-01T05:00', []), [
    { value: '2026-07-01T05:00:00+02:00', end_value: '2026-12-01T05:00:00+01:00' }
  ])
  const [zoneless] = shapesOf({ field_x: [] }, model, () => moments)
  t.strictSame(
    itemsOf(zoneless!, '2026-07-01T05:00/2026-12-01T05:00', []),
    [{ value: '2026-07-01T05:00:00+01:00', end_value: '2026-12-01T05:00:00+01:00' }],
    'without a time zone each end takes its offset from others'
  )
  for (const [text, times] of [
    ['2026-07-01T05:00/2026-10-25T02:30', 2],
    ['2026-10-25T02:30/2027-03-28T02:30', 0],
    ['2026-07-01T05:00/2026-07-01T06:00', 1]
  ] as const) {
    t.equal(timesOf(moment!, text), times, text)
  }

  const text = createText(moment!, [])
  const typed = (now: string) => {
    text.type(now, true)
    return [text.isUnfinished, ...text.problems]
  }
  t.match(typed('2026-07-01T05:00/'), [true, /^This is not complete/])
  t.match(typed('2026-07-01T05:00/2026-07-01T04:00'), [true, /^The end is before the beginning/])
  t.match(typed('2027-03-28T02:30/2027-03-29T02:30'), [true, /^There is no such time/])
  t.strictSame([typed('2026-07-01T05:00:00/2026-07-01T05:00'), typed('')], [[false], [false]], 'a range may be of one moment')
  const openEnded = createText(days!, open)
  openEnded.type('2026-11-19/', true)
  t.strictSame([openEnded.isUnfinished, openEnded.isUnreadable], [false, false])

  const several: Item[] = [...range, { value: '2026-12-01', end_value: '2026-12-02' }]
  const [lines] = shapesOf({ field_x: several }, model)
  t.equal(textOf(lines!, several), '2026-11-18/2026-11-20\n2026-12-01/2026-12-02')
  t.strictSame(itemsOf(lines!, '2026-12-01/2026-12-02\n2027-01-01/2027-01-03\nsoon', several), [
    several[1],
    { value: '2027-01-01', end_value: '2027-01-03' },
    { value: 'soon' }
  ])
})

t.test('what of a field is not edited stays as it is', async (t) => {
  const cases: Array<[items: Item[], text: string, sent: unknown[]]> = [
    [
      [{ value: 'A', format: 'basic_html', summary: 'S', processed: 'A', summary_processed: 'S' }],
      'B',
      [{ value: 'B', format: 'basic_html', summary: 'S' }]
    ],
    [
      [
        { uri: 'https://a.example', title: 'A' },
        { uri: 'https://b.example', title: 'B' }
      ],
      'https://c.example',
      [
        { uri: 'https://c.example', title: 'A' },
        { uri: 'https://b.example', title: 'B' }
      ]
    ],
    [[{ uri: 'https://a.example' }, { uri: 'https://b.example' }], '', [{ uri: 'https://b.example' }]],
    [
      [
        { value: 'A', processed: 'A' },
        { value: 'B', processed: 'B' }
      ],
      'C',
      [{ value: 'C' }, { value: 'B', processed: 'B' }]
    ],
    [[{ value: 'A' }, { value: 'B/C' }], 'A/D\nB/C', [{ value: 'A/D' }, { value: 'B/C' }]]
  ]
  for (const [items, text, sent] of cases) {
    const [shape] = shapesOf({ field_x: items }, model)
    t.strictSame(itemsOf(shape!, text, items), sent, JSON.stringify(sent))
  }
  const [address] = shapesOf({ field_x: [{ country_code: 'DE', locality: 'Ulm' }] }, model)
  t.strictSame(
    [address!.kind, textOf({ kind: 'fixed' }, [{ country_code: 'DE' }])],
    ['fixed', ''],
    'what has no main value is not edited, and not shown as a reference'
  )
})

t.test('changes of both sides are put together only where they fit', async (t) => {
  t.strictSame(settle('a', 'b', 'a'), { text: 'b' })
  t.strictSame(settle('a', 'a', 'b'), { text: 'b' })
  t.strictSame(settle('a', 'b', 'b'), { text: 'b' })
  t.strictSame(settle('a', 'b', 'c'), { conflict: true })
  t.strictSame(
    rebase({ base: 'a', text: 'b', theirs: 'c' }, 'b'),
    { base: 'b', text: 'b', theirs: undefined },
    'a conflict ends where both say the same'
  )
  for (const [then, now, result] of [
    ['9 2 4', '4 2 9 11', '9 11 2 4'],
    ['1 2', '7 1', '7 1 2'],
    ['2 5 1', '1 9 2', '2 5 1 9'],
    ['', '1 2', '1 2'],
    ['1', '', '1']
  ] as const) {
    t.equal(
      fit(then.split(' ').filter(Boolean), now.split(' ').filter(Boolean)).join(' '),
      result,
      'an order of before, with the articles of now'
    )
  }
})

t.test('an operation makes of an order here what it makes of it in the service, and is taken back beside a neighbour', async (t) => {
  const article = fc.integer({ min: 1, max: 6 }).map((id): Item => ({ target_id: id, target_uuid: `u${id}` }))
  const ids = (items: Item[]) => items.map((item) => item['target_id'])
  fc.assert(
    fc.property(fc.array(article, { maxLength: 8 }), article, fc.nat(9), fc.nat(9), (order, other, from, to) => {
      const made = [moveTo(order, from, to), insertAt(order, other, to), ...(from < order.length ? [removeAt(order, from)] : [])].filter(
        (operation) => operation !== undefined
      )
      return made.every((operation) =>
        isDeepStrictEqual(ids(apply(order, operation)), ids(rearrange(order as never, [operation]).order as unknown as Item[]))
      )
    })
  )
  fc.assert(
    fc.property(fc.uniqueArray(article, { minLength: 1, selector: ({ target_id: id }) => id }), fc.nat(5), fc.nat(5), (order, from, to) => {
      const operation = moveTo(order, from, to)
      if (!operation) return from >= order.length || from === Math.min(to, order.length - 1)
      const now = apply(order, operation)
      const at = now.findIndex((item) => isSameArticle(item, order[from]!))
      const back = moveTo(now, at, indexOf(now.toSpliced(at, 1), spotOf(order, from)))!
      return at === Math.min(to, order.length - 1) && isDeepStrictEqual(ids(apply(now, back)), ids(order))
    })
  )
  const [a, b, c] = [1, 2, 3].map((id): Item => ({ target_id: id, target_uuid: `u${id}` })) as [Item, Item, Item]
  t.strictSame(
    apply([a], { op: 'insert', article: { target_uuid: 'u9' }, before: { target_uuid: 'u8' } }),
    [a],
    'beside what has gone it goes nowhere'
  )
  t.strictSame([addedTo([a, c], [b, c]), addedTo(undefined, [a]), addedTo([a])], [[b], [a], []])
  t.strictSame(
    (['id', 'uuid'] as const).map((lockIds) => lockIdOf(a, { lockIds } as Model)),
    ['1', 'u1']
  )
  t.strictSame(indexOf([c], spotOf([a, b, c], 1)), 0)
  t.strictSame(indexOf([c], spotOf([a, b], 0)), 0)
  t.strictSame(
    [
      unmovedOf([b], [a, b, c], [a, c, b]),
      unmovedOf([c], [a, b, c, { ...a, target_uuid: 'u4' }], [c, a, b, { ...a, target_uuid: 'u4' }]),
      unmovedOf([c], [c], [a])
    ],
    [[b], [], []]
  )
})

t.test('an article is known by its uuid, else by its number, and one that is there twice is told apart', async (t) => {
  const [a, b, c] = [1, 2, 3].map((id): Item => ({ target_id: id, target_uuid: `u${id}` })) as [Item, Item, Item]
  t.strictSame(
    [isSameArticle(a, { target_id: 9, target_uuid: 'u1' }), isSameArticle(a, { target_id: '1' }), isSameArticle({ target_id: 2 }, a)],
    [true, true, false]
  )
  t.strictSame(insertAt([a, a, b], c, 2), { op: 'insert', article: c, before: b }, 'after the second of an article is before the next')
  t.strictSame(insertAt([a, a, a], c, 2), { op: 'insert', article: c, after: a }, 'where neither neighbour is the first of its kind')
  t.strictSame(removeAt([a, b, a], 2), { op: 'remove', article: a, occurrence: 2 })
  t.strictSame(apply([a, b, a], removeAt([a, b, a], 2)), [a, b])
})

t.test('an operation that has been overtaken leaves an order as it is', async (t) => {
  const [a, b, c] = [1, 2, 3].map((id): Item => ({ target_id: id, target_uuid: `u${id}` })) as [Item, Item, Item]
  const order = [a, b]
  for (const operation of [removeAt([c], 0), moveTo([a, b, c], 2, 0)!, insertAt([b], a, 0)!]) {
    t.equal(apply(order, operation), order, operation.op)
  }
})

t.test('times, numbers and people in words', async (t) => {
  const noon = new Date(2026, 10, 18, 12, 5).getTime()
  t.equal(at(noon / 1000, noon + 3600_000), '12:05')
  const lock = (typedAt?: unknown) => ({ timestamp: noon / 1000, userData: { uid: 'anna', typedAt } })
  t.equal(since(lock(), noon + 3600_000), 'since 12:05')
  t.equal(since(lock(), noon + 86_400_000), 'since 18 Nov, 12:05')
  t.equal(since(lock(noon / 1000 + 180), noon + 3600_000), 'since 12:05, last typed 12:08')
  t.strictSame(
    [-1, 0, 1e300].map((seconds) => since(lock(seconds), noon + 60_000)),
    ['since 12:05, last typed 12:05', 'since 12:05, last typed 12:05', 'since 12:05, last typed 12:06'],
    'by whatever clock, not before the lock and not after now'
  )
  t.equal(since(lock(noon / 1000 + 60), noon - 60_000), 'since 12:05, last typed 12:05', 'also where the reader’s clock is behind')
  t.strictSame(
    ['soon', null, {}].map((other) => since(lock(other), noon)),
    ['since 12:05', 'since 12:05', 'since 12:05']
  )
  t.strictSame([-5, 0, 59, 60, 3599, 3600, 86_400 * 1.9, 86_400 * 3].map(duration), [
    '0 s',
    '0 s',
    '59 s',
    '1 min',
    '60 min',
    '1 h',
    '46 h',
    '3 days'
  ])
  t.strictSame(['2026-11-18', 'soon', ''].map(day), ['18 Nov 2026', 'soon', ''])
  const moment = new Date(2026, 10, 18, 0, 30)
  for (const hours of [0, 12, 23]) t.equal(day(new Date(moment.setHours(hours)).toISOString()), '18 Nov 2026', 'by the clock of the reader')
  useZone('Asia/Tokyo')
  t.teardown(() => useZone(undefined))
  t.strictSame(
    [day('2026-11-17T16:00:00Z'), day('2026-11-17'), at(1_795_017_600, 1_795_017_600_000), at(1_795_017_600, 1_795_104_000_000)],
    ['18 Nov 2026', '17 Nov 2026', '01:00', '19 Nov, 01:00'],
    'or by that of the site'
  )
  t.strictSame(
    [
      { uid: '7', name: 'Ada Lovelace' },
      { uid: '7', name: 'ada' },
      { uid: '7', name: ' Ada King Lovelace ' },
      { uid: 7 },
      { uid: '7', name: '' },
      { uid: '7', name: '😀 x' },
      { uid: '7', name: ' ' }
    ].map(initials),
    ['AL', 'A', 'AL', 'U7', 'U7', '😀X', '']
  )
  t.equal(nameOf({ uid: 7 }), 'User 7')
  t.strictSame(
    [
      { uid: 'agent:planner:7', name: 'planner (Ada)' },
      { uid: 'agent:night%20desk:a%3Ab' },
      { uid: 'agent:%:7', name: 'Ada' },
      { uid: 'agent:planner', name: 'Ada' }
    ].map((somebody) => [nameOf(somebody), initials(somebody)]),
    [
      ['Agent planner (Ada)', 'P'],
      ['Agent night desk', 'ND'],
      ['Agent Ada', '%'],
      ['Ada', 'A']
    ],
    'an agent is told from its user'
  )
  t.strictSame(
    [1, 2, 3, 9].map((length) => beginning('a😀b', length)),
    ['a', 'a', 'a😀', 'a😀b']
  )
  t.equal(toneOf({ uid: 7 }), toneOf({ uid: '7', name: 'Ada' }), 'the colour is that of the uid')
  t.not(toneOf({ uid: 'anna' }), toneOf({ uid: 'ben' }))
})

t.test('addresses say what is shown, and what they say wrong is left out', async (t) => {
  const all = { q: '', bundle: '', type: '', status: '', key: '', offset: 0 }
  t.strictSame(placeOf(''), { view: 'list', query: all })
  t.strictSame(placeOf('#/editions/12'), { view: 'edition', id: '12' })
  t.strictSame(placeOf('#/?offset=-1&status=1&other=2'), { view: 'list', query: { ...all, status: '1' } })
  t.strictSame(placeOf('#/?offset=1e3&status=2&q=%zz'), { view: 'list', query: { ...all, q: '%zz' } })
  t.strictSame(placeOf('#/editions/12/'), { view: 'edition', id: '12' })
  t.strictSame(placeOf('#/?offset=999999'), { view: 'list', query: all }, 'the service takes no more than 100 000')
  t.equal(editionAddress('12'), '#/editions/12')
  t.equal(listAddress(all), '#/')
  for (const query of [all, { ...all, q: 'ä & ö#', offset: 20 }, { ...all, bundle: 'daily', type: 'special', status: '0', key: 'k=1' }]) {
    t.strictSame(placeOf(listAddress(query)), { view: 'list', query })
  }
  t.strictSame([newAddress(), newAddress('latest')], ['#/new', '#/new?from=latest'])
  t.strictSame(['#/new', '#/new?from=latest', newAddress('12')].map(placeOf), [
    { view: 'new' },
    { view: 'new', from: 'latest' },
    { view: 'new', from: '12' }
  ])
})

t.test('an address that names nothing is told from the list', async (t) => {
  const uuid = 'ceea8601-33e7-4005-8409-18a46e1916e1'
  t.strictSame([`#/editions/${uuid.toUpperCase()}`, '#/editions/12?q=1'].map(placeOf), [
    { view: 'edition', id: uuid.toUpperCase() },
    { view: 'edition', id: '12' }
  ])
  for (const [hash, id] of [
    ['#/editions/a%20b', 'a b'],
    ['#/editions/a b', 'a b'],
    ['#/editions/%zz', '%zz'],
    ['#/editions/abc', 'abc'],
    ['#/editions/0', '0'],
    ['#/editions/../x', '../x'],
    [`#/editions/${'1'.repeat(20)}`, '1'.repeat(20)],
    [`#/editions/${'😀'.repeat(1000)}`, `${'😀'.repeat(60)}…`],
    ['#/editions/12/fields', '12/fields'],
    ['#/new?from=a%20b', 'a b'],
    ['#/new?from=', ''],
    ['#/new?from=..%2Fx', '../x']
  ] as const) {
    t.strictSame(placeOf(hash), { view: 'unknown', id }, hash.slice(0, 40))
  }
  for (const hash of [
    '#/lists/unknown',
    '#/newest',
    '#/new/x',
    '#/editions',
    '#/editions/',
    '#/%zz',
    '#main',
    `#/${'x'.repeat(100_000)}`
  ]) {
    t.strictSame(placeOf(hash), { view: 'unknown' }, hash.slice(0, 40))
  }
})

t.test('a seat is named in the address', async (t) => {
  t.strictSame(seatOf('?as=anna'), { uid: 'anna', name: 'Anna' })
  t.strictSame(seatOf('?x=1&as=%20Zo%C3%AB%20'), { uid: 'zo%C3%AB', name: 'Zoë' }, 'a uid is of visible ASCII, as X-User-Uid wants it')
  for (const none of ['', '?as=', '?as=%20']) t.equal(seatOf(none), undefined)
  t.strictSame(['/desk', '/quoin/desk', '/a/b/desk'].map(serviceOf), ['', '/quoin', '/a/b'], 'the service is where the page is')
})

t.test('a refusal is told where it belongs', async (t) => {
  const labels = new Map([
    ['title', 'Title'],
    ['field_page_count', 'Page count']
  ])
  const refused = (status: number, code: string, message: string, body?: unknown, state = { undecided: [] as string[], isAtRisk: false }) =>
    refusalOf(new QuoinError(status, code as 'CONFLICT', message, { body }), labels, state)
  const violations = [
    { path: 'field_page_count.0.value', message: 'Too few.' },
    { path: 'field_page_count', message: 'Odd.' },
    { path: 'title', message: 'Empty.' },
    { path: '', message: 'All wrong.' },
    { path: 'other.0', message: 'No.' }
  ]
  const { text, linked, fields } = refused(422, 'UNPROCESSABLE', 'x', { violations })
  t.equal(text, 'Not saved: 2 fields are not right: Page count, Title. All wrong. other.0: No.')
  t.equal(
    wordsOf(linked, (name) => `<${name}>`),
    'Not saved: 2 fields are not right: <field_page_count>, <title>. All wrong. other.0: No.',
    'each can be led to'
  )
  t.strictSame(
    [...fields],
    [
      ['field_page_count', ['Too few.', 'Odd.']],
      ['title', ['Empty.']]
    ]
  )
  t.equal(
    refused(422, 'UNPROCESSABLE', 'Unprocessable Entity: validation failed.\nother.0: No.\n', { violations: violations.slice(4) }).text,
    'Not saved: Unprocessable Entity: validation failed.\nother.0: No.'
  )
  t.equal(
    refused(412, 'PRECONDITION_FAILED', 'x', {}, { undecided: ['title'], isAtRisk: false }).text,
    say('notSavedUndecided', { count: 1, labels: 'Title' })
  )
  t.equal(refused(412, 'PRECONDITION_FAILED', 'x').text, say('notSavedMoved'), 'there is nothing to choose')
  t.equal(
    refused(502, 'CMS_UNREACHABLE', 'The CMS is away.', {}, { undecided: [], isAtRisk: true }).text,
    'Not saved: The CMS is away. Save again later.',
    'a text that is in the browser alone is not said to be kept'
  )
  t.equal(refused(409, 'CONFLICT', 'It has a draft').text, 'Not saved: It has a draft.')
  t.equal(refused(502, 'CMS_UNREACHABLE', 'The CMS is away.').text, 'Not saved: The CMS is away. Your text is kept; save again later.')
  t.equal(refused(0, 'UNREACHABLE', 'No answer').text, 'Not saved: No answer. Your text is kept; save again later.')
  const lock = (fieldName: string, name?: string) => ({ fieldName, userData: { uid: '8', ...(name && { name }) } })
  t.equal(
    refused(423, 'FIELD_LOCKED', 'x', { locks: [lock('title', 'Ben'), lock('field_z')] }).text,
    'Not saved: Title is being edited by Ben, field_z is being edited by User 8.'
  )
  t.equal(
    wordsOf(refused(423, 'FIELD_LOCKED', 'x', { locks: [lock('title', 'Ben'), lock('field_z')] }).linked, (name) => `<${name}>`),
    'Not saved: <title> is being edited by Ben, <field_z> is being edited by User 8.'
  )
  t.strictSame(
    [...refused(403, 'CMS_FORBIDDEN', "Access denied on updating field 'title'.").fields],
    [['title', ['Drupal does not let you change this.']]],
    'also where Drupal does not say why'
  )
})

t.test('what keeps fields from being saved counts them and names them', async (t) => {
  const one = { shape: { name: 'a' }, theirs: undefined, isUnfinished: true }
  const other = { ...one, shape: { name: 'b' } }
  const undecided = { ...one, theirs: 'x', isUnfinished: false }
  const said = (...fields: Array<typeof one | typeof undecided>) => {
    const linked = hindranceOf(fields)
    return linked && wordsOf(linked, (name) => name.toUpperCase())
  }
  t.strictSame(
    [said(one), said(one, other, undecided), said(undecided), said({ ...one, isUnfinished: false })],
    [
      'Not saved: A is not complete. Finish or empty it, then save again.',
      'Not saved: 2 fields are not complete: A, B. Finish or empty them, then save again.',
      'Not saved: a colleague has saved A meanwhile. Choose there which is to stay, then save again.',
      undefined
    ]
  )
})

t.test('what editions do not have is not shown, and not searched by', async (t) => {
  const edition = (value: unknown): Edition => ({ status: [{ value }], live: [{ value }] })
  t.strictSame(
    [true, false].map((value) => isPublished(edition(value), model)),
    [true, false]
  )
  t.strictSame(
    [isPublished({}, model), isPublished(edition('0'), model), isPublished(edition(true), dossiers)],
    [undefined, undefined, undefined],
    'what is not shown is not known, and a status of another meaning is none'
  )
  t.strictSame(criteriaOf(model), ['q', 'bundle', 'type', 'status', 'key'])
  t.strictSame(criteriaOf(dossiers), ['q', 'key'])
  const keyless = contentModel({ keys: { label: null }, fields: { key: null } }) as Model
  t.strictSame(criteriaOf(keyless), ['bundle', 'type', 'status'])
  t.strictSame(criteriaOf(contentModel({ keys: { label: null } }) as Model)[0], 'q', 'the search looks among the keys too')
})

t.test('an edition tells its values, and what its locks are on', async (t) => {
  const edition: Edition = { id: [{ value: 5 }], uuid: [{ value: 'u' }], type: [{ target_id: 'daily' }], title: [] }
  t.strictSame(
    ['id', 'type', 'title', 'none', null].map((name) => valueOf(edition, name)),
    ['5', 'daily', '', '', '']
  )
  t.strictSame(entityOf(edition, model), { type: 'publisher_container', id: '5' })
  t.strictSame(entityOf(edition, { ...model, lockIds: 'uuid', lockTypes: { publisher_container: 'issue' } }), { type: 'issue', id: 'u' })
})

t.test('samples are learnt from the editions that are seen, and others are looked at only where that is needed', async (t) => {
  const asked: string[] = []
  let answer = async (): Promise<Edition> => ({ a: [{ value: 1 }] })
  const samples = createSamples((id) => {
    asked.push(id)
    return answer() as Promise<Record<string, Item[]>>
  })
  samples.prepare('1')
  await samples.learn('1', { a: [], b: [{ value: 2 }] })
  t.strictSame([samples.of('a'), samples.of('none')], [[{ value: 1 }], []])
  samples.prepare('2')
  await samples.learn('2', { a: [], b: [{ value: 2 }, { value: 3 }] })
  t.strictSame(samples.of('b'), [{ value: 2 }, { value: 3 }], 'the longer, which tells more')
  t.strictSame(asked, ['1'], 'once, as soon as nothing is known')
  answer = async () => {
    throw new Error('away')
  }
  await samples.learn('3', { c: undefined })
  answer = async () => ({ c: [{ value: 4 }] })
  await samples.learn('3', { c: undefined })
  t.strictSame([samples.of('c'), asked], [[{ value: 4 }], ['1', '3', '3']], 'again where it could not be told')
})

t.test('kept texts are those of the service, and those that it does not have yet', async (t) => {
  const calls: unknown[] = []
  let drafts = [
    { id: 'v', fieldName: 'title', payload: 'A', displacedAt: 5 },
    { id: 'w', fieldName: 'title', payload: 'B', displacedAt: 4 }
  ] as Draft[]
  const storage = await draftStorageOf(diskOf())
  const kept = createDrafts({
    storage,
    locks: {
      drafts: async () => drafts,
      discard: async (what) => {
        calls.push(what)
        drafts = drafts.filter(({ id }) => id !== what.draft)
      }
    },
    entity: () => ({ type: 'node', id: '1' }),
    onChange: () => calls.push('changed')
  })
  kept.add({ fieldName: 'title', payload: 'A' })
  kept.add({ fieldName: 'title', payload: 'AB' })
  t.strictSame(
    kept.all.map(({ payload }) => payload),
    ['AB', 'A']
  )
  await kept.load()
  t.strictSame(
    kept.all.map(({ payload, displacedAt }) => [payload, displacedAt]),
    [
      ['AB', undefined],
      ['A', 5],
      ['B', 4]
    ],
    'one that has arrived there is shown once'
  )
  await kept.discard(kept.all[1]!)
  await kept.discard(kept.all[0]!)
  t.strictSame(kept.all, drafts)
  t.match(kept.all, [{ payload: 'B' }])
  t.strictSame(calls, ['changed', { type: 'node', id: '1', fieldName: 'title', draft: 'v' }, 'changed', 'changed'])
  kept.add({ fieldName: 'title', payload: 'B' })
  t.strictSame(storage.of('node/1'), [], 'what is there already is not kept twice')
  kept.add({ fieldName: 'title', payload: 'C' })
  kept.add({ fieldName: 'title', payload: 'C' })
  t.strictSame(
    kept.all.map(({ payload }) => payload),
    ['C', 'B']
  )
  kept.forget(kept.all[0]!)
  t.strictSame(storage.of('node/1'), [])
})

t.test('a long text has the direction of its first letter, others leave it to the browser', async (t) => {
  const long = ' 1'.repeat(50_000)
  t.strictSame(['שלום', long, `${long}!`, `${long}a`, `שלום ${long}`, `<p>${long}`, `12 مرحبا ${long} a`].map(directionOf), [
    'auto',
    'auto',
    'ltr',
    'ltr',
    'rtl',
    'ltr',
    'rtl'
  ])
})

t.test('the language of an edition is told where it has one', async (t) => {
  const model = { keys: { langcode: 'langcode' } } as Pick<Model, 'keys'>
  const of = (...codes: string[]) => languageOf({ langcode: codes.map((value) => ({ value })) }, model)
  t.strictSame(
    [of('ar'), of('und'), of('zxx'), of(), languageOf({}, { keys: { langcode: null } } as Pick<Model, 'keys'>)],
    ['ar', undefined, undefined, undefined, undefined]
  )
})

t.test('a refusal that gives no reason, or names a field that the page does not show, is told as far as it goes', async (t) => {
  const labels = new Map([['title', 'Title']])
  const state = { undecided: [] as string[], isAtRisk: false }
  const forbidden = refusalOf(new QuoinError(403, 'CMS_FORBIDDEN', "Access denied on updating field 'title'."), labels, state)
  t.strictSame([...forbidden.fields], [['title', ['Drupal does not let you change this.']]])
  const locks = [{ entityType: 'x', entityId: '5', fieldName: 'field_odd', timestamp: 1, userData: { uid: '8', name: 'Ben' } }]
  const locked = new QuoinError(423, 'FIELD_LOCKED', 'no', { body: { locks } })
  t.equal(refusalOf(locked, labels, state).text, 'Not saved: field_odd is being edited by Ben.')
  t.equal(refusalOf(locked, labels, { ...state, isNew: true }).text, 'Not made: field_odd is being edited by Ben.')
  t.equal(
    refusalOf(new QuoinError(403, 'CMS_FORBIDDEN', "Access denied on creating field 'title'."), labels, { ...state, isNew: true }).text,
    'Not made: Drupal does not let you change Title.'
  )
})
