import { createHash } from 'node:crypto'

type Fields = Record<string, unknown>

/** What a body may refer to. */
export interface Context {
  /** A key that no edition has. */
  key: string
  /** The edition to change as its own API gives it: core REST's on one twin, Quoin's on the other; empty for a new one. */
  current: Record<string, any[]>
}

/** A body that both twins are sent, one through core REST, the other through Quoin. */
export interface Body {
  name: string
  method: 'POST' | 'PATCH'
  /** The edition to change: one of the site's own by its case, else a new one. */
  subject?: string
  /** What is sent: a string as it is, anything else as JSON. Without a parameter it needs nothing to be read before. */
  body: (context: Context) => unknown
}

/** The uuid that php/uuid.php derives from a name. */
export function uuidOf(name: string): string {
  const hash = createHash('md5').update(`quoin:${name}`).digest('hex')
  const variant = (8 + (Number.parseInt(hash[16]!, 16) % 4)).toString(16)
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-${variant}${hash.slice(17, 20)}-${hash.slice(20)}`
}

export const article = (number: number): string => uuidOf(`article:${number}`)
const nobody = '00000000-0000-4000-8000-000000000000'

const bundle = { type: [{ target_id: 'daily' }] }
const value = (...values: unknown[]): unknown => values.map((value) => ({ value }))
const ids = (...ids: unknown[]): unknown => ids.map((id) => ({ target_id: id }))
const long = 'x'.repeat(300)

function without(fields: Fields, ...names: string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** An edition with every field, as a body of core REST. */
export function full(key: string, uuid: string): Fields {
  return {
    ...bundle,
    uuid: value(uuid),
    title: value(`Subject ${key}`),
    uid: ids(2),
    status: value(true),
    created: value('2026-05-01T10:00:00+00:00'),
    field_key: value(key),
    field_publisher_edition_type: value('daily'),
    field_articles: ids(1, 2, 3),
    field_publication_date: value('2026-05-02'),
    field_published_at: value('2026-05-01T12:00:00+02:00'),
    field_expires: value('2026-06-01T00:00:00+00:00'),
    field_description: [{ value: '<p>d</p>', format: 'basic_html' }],
    field_link: [{ uri: 'https://example.com/a', title: 'A', options: [] }],
    field_labels: value('a', 'b'),
    field_section: ids(2),
    field_featured: value(true),
    field_page_count: value(5),
    field_price: value('2.50'),
    field_rating: value(4.5),
    field_cover: [{ target_id: 2, alt: 'Alt', title: 'Title' }],
    field_internal_note: value('note')
  }
}

/** Forms of one field or a few, sent in a new edition and in a changed one. */
const forms: Record<string, Record<string, Fields>> = {
  title: {
    'a list of items': { title: value('T') },
    'an item': { title: { value: 'T' } },
    'a list of scalars': { title: ['T'] },
    'a scalar': { title: 'T' },
    'a number as scalar': { title: 5 },
    'true as scalar': { title: true },
    'a number': { title: value(5) },
    'a boolean': { title: value(true) },
    'a list': { title: value(['T']) },
    'an object': { title: value({ a: 'T' }) },
    'an empty list': { title: [] },
    null: { title: null },
    'an empty object': { title: {} },
    'an empty item': { title: [{}] },
    'a null item': { title: [null] },
    'a list of an empty text': { title: [''] },
    'an empty text': { title: value('') },
    'a null value': { title: value(null) },
    'two items': { title: value('a', 'b') },
    'too long': { title: value(long) },
    'an unknown property': { title: [{ value: 'T', nosuch: 1 }] },
    'only an unknown property': { title: [{ nosuch: 1 }] },
    'all of Unicode': { title: value('Ünïcode – 日本 \u{1F600} "quoted" \\ <b>&amp;</b> \' %_') },
    'blanks around': { title: value('  T  ') },
    'line breaks': { title: value('a\nb\r\nc\td') }
  },
  status: {
    false: { status: value(false) },
    0: { status: value(0) },
    1: { status: value(1) },
    '"0"': { status: value('0') },
    '"1"': { status: value('1') },
    '"true"': { status: value('true') },
    '"false"': { status: value('false') },
    2: { status: value(2) },
    'an empty text': { status: value('') },
    'a null value': { status: value(null) },
    'an empty list': { status: [] },
    null: { status: null },
    'a list of scalars': { status: [false] },
    'two items': { status: value(true, false) }
  },
  uid: {
    'somebody else': { uid: ids(3) },
    'a string': { uid: ids('3') },
    'a uuid': { uid: [{ target_uuid: uuidOf('user:editor2') }] },
    'an empty list': { uid: [] },
    unknown: { uid: ids(9999) }
  },
  created: {
    'a zone': { created: value('2026-05-01T10:00:00+02:00') },
    'its format': { created: [{ value: '2026-05-01T10:00:00+00:00', format: 'Y-m-d\\TH:i:sP' }] },
    Z: { created: value('2026-05-01T10:00:00Z') },
    milliseconds: { created: value('2026-05-01T10:00:00.000Z') },
    'unix time': { created: value(1767225600) },
    'unix time as text': { created: value('1767225600') },
    'no zone': { created: value('2026-05-01T10:00:00') },
    'a date': { created: value('2026-05-01') },
    'no date': { created: value('yesterday') },
    'a format of its own': { created: [{ value: '01.05.2026 10:00:00 +0000', format: 'd.m.Y H:i:s O' }] },
    'a format of another kind': { created: [{ value: '2026-05-01T10:00:00Z', format: 'd.m.Y' }] },
    'an empty text': { created: value('') },
    'an empty list': { created: [] },
    'a list of scalars': { created: ['2026-05-01T10:00:00Z'] }
  },
  'the save': {
    'changed given': { changed: value('2020-01-01T00:00:00+00:00') },
    'changed empty': { changed: [] },
    'a revision id': { revision_id: value(4242) },
    'a revision log': { revision_log: value('why') },
    'a revision log emptied': { revision_log: [] },
    'a revision author': { revision_uid: ids(3) },
    'a revision time': { revision_timestamp: value('2026-05-01T10:00:00+00:00') },
    'revision_translation_affected true': { revision_translation_affected: value(true) },
    'revision_translation_affected false': { revision_translation_affected: value(false) }
  },
  language: {
    'the same': { langcode: value('en') },
    another: { langcode: value('fr') },
    unknown: { langcode: value('xx') },
    'an empty list': { langcode: [] },
    'default_langcode true': { default_langcode: value(true) },
    'default_langcode false': { default_langcode: value(false) }
  },
  identity: {
    'an id': { id: value(424_242) },
    'an empty id': { id: [] },
    'an uppercase uuid': { uuid: value('AAAAAAAA-BBBB-4CCC-8DDD-00000000000B') },
    'no uuid at all': { uuid: value('nope') },
    'an empty uuid': { uuid: [] },
    'a uuid in use': { uuid: value(uuidOf('edition:1')) }
  },
  key: {
    taken: { field_key: value('daily-daily-0001') },
    'an empty list': { field_key: [] },
    'too long': { field_key: value(long) }
  },
  'edition type': {
    special: { field_publisher_edition_type: value('special') },
    unknown: { field_publisher_edition_type: value('weekly') },
    'an empty list': { field_publisher_edition_type: [] },
    'an empty text': { field_publisher_edition_type: value('') },
    'two items': { field_publisher_edition_type: value('daily', 'special') }
  },
  date: {
    'a date': { field_publication_date: value('2026-12-31') },
    'with its format': { field_publication_date: [{ value: '2026-12-31', format: 'Y-m-d' }] },
    German: { field_publication_date: value('31.12.2026') },
    'with a format of its own': { field_publication_date: [{ value: '31.12.2026', format: 'd.m.Y' }] },
    'with a time': { field_publication_date: value('2026-12-31T00:00:00Z') },
    milliseconds: { field_publication_date: value('2026-12-31T00:00:00.000Z') },
    'that is none': { field_publication_date: value('2026-02-31') },
    'an empty text': { field_publication_date: value('') },
    'an empty list': { field_publication_date: [] },
    null: { field_publication_date: null },
    'a number': { field_publication_date: value(20261231) }
  },
  'date and time': {
    'a zone': { field_published_at: value('2026-12-31T10:00:00+01:00') },
    Z: { field_published_at: value('2026-12-31T10:00:00Z') },
    milliseconds: { field_published_at: value('2026-12-31T10:00:00.123Z') },
    'no zone': { field_published_at: value('2026-12-31T10:00:00') },
    'a date': { field_published_at: value('2026-12-31') },
    'a format of its own': { field_published_at: [{ value: '31.12.2026 10:00', format: 'd.m.Y H:i' }] },
    'unix time': { field_published_at: value(1767225600) },
    'an empty text': { field_published_at: value('') },
    'an empty list': { field_published_at: [] }
  },
  'time stamp': {
    'unix time': { field_expires: value(1798675200) },
    'a zone': { field_expires: value('2026-12-31T10:00:00+01:00') },
    milliseconds: { field_expires: value('2026-12-31T10:00:00.999Z') },
    'a format of its own': { field_expires: [{ value: '31.12.2026', format: '!d.m.Y' }] },
    0: { field_expires: value(0) },
    negative: { field_expires: value(-86400) },
    'an empty list': { field_expires: [] }
  },
  text: {
    'with format': { field_description: [{ value: '<p>new</p><script>1</script>', format: 'basic_html' }] },
    'without format': { field_description: value('<p>new</p>') },
    'format null': { field_description: [{ value: '<p>new</p>', format: null }] },
    'format forbidden': { field_description: [{ value: '<p>new</p>', format: 'full_html' }] },
    'format unknown': { field_description: [{ value: '<p>new</p>', format: 'nosuch' }] },
    'with processed': { field_description: [{ value: '<p>new</p>', format: 'basic_html', processed: '<p>other</p>' }] },
    'a list of scalars': { field_description: ['<p>new</p>'] },
    empty: { field_description: [{ value: '', format: 'basic_html' }] },
    'format only': { field_description: [{ format: 'basic_html' }] },
    'an empty list': { field_description: [] }
  },
  link: {
    complete: { field_link: [{ uri: 'https://example.com/?a=1&b=ü', title: 'T', options: [] }] },
    'uri only': { field_link: [{ uri: 'https://example.com/b' }] },
    'empty options': { field_link: [{ uri: 'https://example.com/b', options: {} }] },
    options: { field_link: [{ uri: 'https://example.com/b', title: '', options: { attributes: { target: '_blank' } } }] },
    'an internal uri': { field_link: [{ uri: 'internal:/node/1', title: 'T' }] },
    'an entity': { field_link: [{ uri: 'entity:node/1', title: 'T' }] },
    'a path': { field_link: [{ uri: '/node/1', title: 'T' }] },
    'no uri': { field_link: [{ uri: 'not a uri', title: 'T' }] },
    'title only': { field_link: [{ title: 'T' }] },
    'title too long': { field_link: [{ uri: 'https://example.com/b', title: long }] },
    'a list of scalars': { field_link: ['https://example.com/b'] },
    'an empty list': { field_link: [] }
  },
  labels: {
    items: { field_labels: value('b', 'c', 'a') },
    scalars: { field_labels: ['b', 'c'] },
    'an item': { field_labels: { value: 'solo' } },
    'a scalar': { field_labels: 'solo' },
    'numbered items': { field_labels: { 0: { value: 'x' }, 1: { value: 'y' } } },
    'some of them null': { field_labels: [null, { value: 'x' }, {}, { value: null }, { value: '' }, { value: 'y' }] },
    twice: { field_labels: value('x', 'x') },
    numbers: { field_labels: value(1, 2.5, true) },
    'too long': { field_labels: value('x', long, long) },
    'an empty list': { field_labels: [] },
    null: { field_labels: null },
    'an empty object': { field_labels: {} }
  },
  section: {
    'an id': { field_section: ids(3) },
    'an item': { field_section: { target_id: 3 } },
    'a string': { field_section: ids('3') },
    'a scalar in a list': { field_section: [3] },
    'a string in a list': { field_section: ['3'] },
    'of another vocabulary': { field_section: ids(7) },
    'two items': { field_section: ids(2, 3) },
    unknown: { field_section: ids(9999) },
    deleted: { field_section: ids(6) },
    'an empty list': { field_section: [] },
    null: { field_section: null },
    'a null id': { field_section: ids(null) }
  },
  articles: {
    ids: { field_articles: ids(5, 6) },
    uuids: { field_articles: [{ target_uuid: article(5) }, { target_uuid: article(6) }] },
    'ids and uuids': { field_articles: [{ target_id: 5, target_uuid: article(5), target_type: 'node', url: '/node/5' }] },
    'ids and uuids that differ': { field_articles: [{ target_id: 4, target_uuid: article(5) }] },
    strings: { field_articles: ids('5', '6') },
    'scalars in a list': { field_articles: [5, 6] },
    'an item': { field_articles: { target_id: 5 } },
    twice: { field_articles: ids(5, 6, 5) },
    reordered: { field_articles: ids(3, 1, 2) },
    fewer: { field_articles: ids(2) },
    more: { field_articles: ids(1, 2, 3, 4) },
    'very many': { field_articles: ids(...Array.from({ length: 60 }, (_, index) => index + 101).filter((id) => id % 20)) },
    'unknown id': { field_articles: ids(5, 99999) },
    'unknown ids': { field_articles: ids(99998, 5, 99999) },
    deleted: { field_articles: ids(201) },
    'unknown uuid': { field_articles: [{ target_id: 5 }, { target_uuid: nobody }] },
    'no uuid at all': { field_articles: [{ target_uuid: 'nope' }] },
    hidden: { field_articles: ids(20) },
    'hidden among others': { field_articles: ids(5, 20, 6, 60) },
    'hidden by uuid': { field_articles: [{ target_uuid: article(20) }] },
    'hidden and unknown': { field_articles: ids(20, 99999) },
    'of another type, by id': { field_articles: [{ target_id: 1, target_type: 'user' }] },
    'of another type, by uuid': { field_articles: [{ target_uuid: article(5), target_type: 'user' }] },
    'of another type, with the uuid of that type': { field_articles: [{ target_uuid: uuidOf('user:editor'), target_type: 'user' }] },
    'uuid of another type': { field_articles: [{ target_uuid: uuidOf('user:editor') }] },
    'an empty item': { field_articles: [{}, { target_id: 5 }] },
    'a null item': { field_articles: [null, { target_id: 5 }] },
    'a null id': { field_articles: ids(null, 5) },
    'an empty id': { field_articles: ids('', 5) },
    'a word': { field_articles: ids('abc') },
    'a fraction': { field_articles: ids(5.5) },
    'below 0': { field_articles: ids(-5) },
    0: { field_articles: ids(0) },
    true: { field_articles: ids(true) },
    'a list': { field_articles: ids([5]) },
    'a null uuid': { field_articles: [{ target_id: 5, target_uuid: null }] },
    'an empty uuid': { field_articles: [{ target_id: 5, target_uuid: '' }] },
    'a number for uuid': { field_articles: [{ target_id: 5, target_uuid: 5 }] },
    'an unknown property': { field_articles: [{ target_id: 5, nosuch: 1 }] },
    'only a url': { field_articles: [{ url: '/node/5' }] },
    'an empty list': { field_articles: [] },
    null: { field_articles: null },
    'a scalar': { field_articles: 5 }
  },
  cover: {
    'all of it': { field_cover: [{ target_id: 3, alt: 'A', title: 'T', width: 1, height: 1 }] },
    'id only': { field_cover: ids(3) },
    'the same id only': { field_cover: ids(2) },
    'alt only': { field_cover: [{ alt: 'A' }] },
    'the same with another alt': { field_cover: [{ target_id: 2, alt: 'B', title: 'Title' }] },
    'uuid and alt': { field_cover: [{ target_uuid: uuidOf('file:1'), alt: 'A' }] },
    unknown: { field_cover: ids(9999) },
    'alt too long': { field_cover: [{ target_id: 3, alt: 'x'.repeat(600) }] },
    'an empty list': { field_cover: [] }
  },
  featured: {
    false: { field_featured: value(false) },
    0: { field_featured: value(0) },
    '"1"': { field_featured: value('1') },
    '"yes"': { field_featured: value('yes') },
    'an empty list': { field_featured: [] }
  },
  'page count': {
    7: { field_page_count: value(7) },
    '"7"': { field_page_count: value('7') },
    '"007"': { field_page_count: value('007') },
    0: { field_page_count: value(0) },
    'below 0': { field_page_count: value(-1) },
    'too many': { field_page_count: value(10_001) },
    'a word': { field_page_count: value('abc') },
    'a fraction': { field_page_count: value(12.5) },
    '12.0 as text': { field_page_count: value('12.0') },
    'beyond all integers': { field_page_count: value(1e20) },
    true: { field_page_count: value(true) },
    'an empty text': { field_page_count: value('') },
    'a null value': { field_page_count: value(null) },
    'an empty list': { field_page_count: [] }
  },
  price: {
    text: { field_price: value('12.30') },
    'a number': { field_price: value(12.3) },
    'an integer': { field_price: value(12) },
    'a word': { field_price: value('abc') },
    'too fine': { field_price: value('1.239') },
    'too large': { field_price: value('123456789012.00') },
    'an empty list': { field_price: [] }
  },
  rating: {
    'a number': { field_rating: value(3.25) },
    text: { field_rating: value('3.25') },
    'an integer': { field_rating: value(3) },
    'a word': { field_rating: value('abc') },
    'an empty list': { field_rating: [] }
  },
  note: {
    text: { field_internal_note: value('other') },
    'the same': { field_internal_note: value('note') },
    'an empty list': { field_internal_note: [] }
  },
  'many at once': {
    'two violations': { field_publisher_edition_type: value('weekly'), field_page_count: value(-1) },
    'the same in another order': { field_page_count: value(-1), field_publisher_edition_type: value('weekly') },
    'five violations': {
      title: [],
      field_publisher_edition_type: value('weekly'),
      field_page_count: value(-1),
      field_labels: value('x', long),
      field_description: [{ value: 'x', format: 'nosuch' }]
    },
    'an unknown reference and a violation': { field_articles: ids(99999), field_page_count: value(-1) },
    "an unknown reference, then another field's": { field_section: ids(9999), field_articles: ids(99999) },
    'a hidden reference and a violation': { field_articles: ids(20), field_page_count: value(-1) },
    'a forbidden field and a violation': { field_internal_note: value('other'), field_page_count: value(-1) },
    'a forbidden field and a bad date': { field_internal_note: value('other'), created: value('yesterday') },
    'a bad date and a violation': { created: value('yesterday'), field_page_count: value(-1) },
    'a bad date and a scalar': { created: value('yesterday'), title: 'T' },
    'a scalar and a bad date': { title: 'T', created: value('yesterday') },
    'an unknown uuid and a violation': { field_articles: [{ target_uuid: nobody }], field_page_count: value(-1) },
    'an unknown uuid and a bad date': { field_articles: [{ target_uuid: nobody }], created: value('yesterday') },
    'an unknown id and an unknown uuid': { field_articles: [{ target_id: 99999 }, { target_uuid: nobody }] },
    'an unknown id and a bad date': { field_articles: ids(99999), created: value('yesterday') },
    'an id and a violation': { id: value(424_242), field_page_count: value(-1) },
    'stale and a violation': { changed: value('2020-01-01T00:00:00+00:00'), field_page_count: value(-1) }
  },
  'unknown field': {
    one: { nosuch: value(1) },
    empty: { nosuch: [] },
    'a scalar': { nosuch: 1 },
    'a reference': { field_nosuch: ids(5) },
    'one and a violation': { nosuch: value(1), field_page_count: value(-1) },
    'a name of JSON:API': { drupal_internal__id: value(1) },
    'a name of JavaScript': { constructor: value(1) }
  }
}

/** Bodies that are no form of a field. */
const others: Body[] = [
  ...(
    [
      ['the bundle as a text', { type: 'daily' }],
      ['the bundle as an item', { type: { target_id: 'daily' } }],
      ['the bundle as a value', { type: [{ value: 'daily' }] }],
      [
        'the bundle in full',
        { type: [{ target_id: 'daily', target_type: 'publisher_container_type', target_uuid: uuidOf('publisher_container:daily') }] }
      ],
      ['another bundle', { type: [{ target_id: 'special' }] }],
      ['an unknown bundle', { type: [{ target_id: 'weekly' }] }],
      ['an empty bundle', { type: [] }],
      ['no bundle', {}],
      ['no bundle but an edition type', { field_publisher_edition_type: value('special') }],
      ['the bundle null', { type: null }],
      ['the bundle a number', { type: [{ target_id: 5 }] }]
    ] satisfies Array<[string, Fields]>
  ).flatMap(([name, fields]): Body[] => [
    { name, method: 'POST', body: ({ key }) => ({ title: value('New'), field_key: value(key), ...fields }) },
    { name, method: 'PATCH', body: () => ({ title: value('Changed'), ...fields }) }
  ]),
  ...[
    ['an empty object', '{}'],
    ['an empty body', ''],
    ['malformed JSON', '{"title": ['],
    ['a control character', '{"a'],
    ['a JSON list', '[1,2]'],
    ['an empty JSON list', '[]'],
    ['JSON null', 'null'],
    ['a JSON string', '"x"'],
    ['a JSON number', '5']
  ].flatMap(([name, text]): Body[] => (['POST', 'PATCH'] as const).map((method) => ({ name: name!, method, body: () => text }))),
  { name: 'the least that can be', method: 'POST', body: ({ key }) => ({ ...bundle, title: value('New'), field_key: value(key) }) },
  { name: 'no title', method: 'POST', body: ({ key }) => ({ ...bundle, field_key: value(key) }) },
  { name: 'no title and no key', method: 'POST', body: () => bundle },
  {
    name: 'a uuid of its own',
    method: 'POST',
    body: ({ key }) => ({ ...bundle, title: value('New'), field_key: value(key), uuid: value(uuidOf(key)) })
  },
  { name: 'every field', method: 'POST', body: ({ key }) => full(key, uuidOf(key)) },
  { name: 'every field but the note', method: 'POST', body: ({ key }) => without(full(key, uuidOf(key)), 'field_internal_note') },
  { name: 'nothing', method: 'PATCH', body: () => bundle },
  { name: 'the same title', method: 'PATCH', body: ({ current }) => ({ ...bundle, title: current['title'] }) },
  {
    name: 'the same changed and a title',
    method: 'PATCH',
    body: ({ current }) => ({ ...bundle, changed: current['changed'], title: value('Changed') })
  },
  {
    name: 'the same id, uuid and revision and a title',
    method: 'PATCH',
    body: ({ current }) => ({
      ...bundle,
      id: current['id'],
      uuid: current['uuid'],
      revision_id: current['revision_id'],
      title: value('Changed')
    })
  },
  { name: 'its own key', method: 'PATCH', body: ({ current }) => ({ ...bundle, field_key: current['field_key'], title: value('Changed') }) }
]

/** The site's own editions, sent back as they are, with one change, and as copies. */
const roundTrips: Body[] = [
  'fresh',
  'full',
  'sparse',
  'empty',
  'twice',
  'many',
  'aliased',
  'hiddenTargets',
  'dangling',
  'foreignFormat',
  'zero',
  'translated',
  'revised',
  'german'
].flatMap((subject) => {
  const of = subject === 'fresh' ? {} : { subject }
  return [
    {
      name: `a copy of a read edition (${subject})`,
      method: 'POST',
      ...of,
      body: ({ current, key }) => ({
        ...without(current, 'id', 'uuid', 'revision_id', 'changed', 'langcode', 'field_internal_note'),
        field_key: value(key)
      })
    },
    { name: `a read edition sent back (${subject})`, method: 'PATCH', ...of, body: ({ current }) => current },
    {
      name: `a read edition sent back with another title (${subject})`,
      method: 'PATCH',
      ...of,
      body: ({ current }) => ({ ...current, title: value('Sent back') })
    }
  ] satisfies Body[]
})

/** The articles with the ids of those that are gone, which core REST shows, and others after them. */
function withDangling(current: Record<string, any[]>, others: object[]): object {
  const gone = [201, 202]
  const articles = current['field_articles']!.map((item) => (item.target_uuid ? item : { target_id: gone.shift() }))
  return { field_articles: [...articles, ...others], field_section: [{ target_id: 6 }] }
}

const more: Body[] = [
  {
    name: 'fewer articles where some are hidden',
    method: 'PATCH',
    subject: 'hiddenTargets',
    body: ({ current }) => ({ ...bundle, field_articles: current['field_articles']!.slice(1) })
  },
  {
    name: 'the hidden articles again by id, one more',
    method: 'PATCH',
    subject: 'hiddenTargets',
    body: ({ current }) => ({
      ...bundle,
      field_articles: [...current['field_articles']!.map(({ target_id: id }) => ({ target_id: id })), { target_id: 1 }]
    })
  },
  {
    name: 'a hidden article more where others are',
    method: 'PATCH',
    subject: 'hiddenTargets',
    body: ({ current }) => ({ ...bundle, field_articles: [...current['field_articles']!, { target_id: 60 }] })
  },
  {
    name: 'the dangling references as core names them, and another title',
    method: 'PATCH',
    subject: 'dangling',
    body: ({ current }) => ({ ...current, title: value('Named by core'), ...withDangling(current, []) })
  },
  {
    name: 'an article more beside dangling references, as core names them',
    method: 'PATCH',
    subject: 'dangling',
    body: ({ current }) => ({ ...bundle, ...withDangling(current, [{ target_id: 9 }]) })
  },
  {
    name: 'an article more beside dangling references, as they are shown',
    method: 'PATCH',
    subject: 'dangling',
    body: ({ current }) => ({ ...bundle, field_articles: [{ target_id: 9 }, ...current['field_articles']!] })
  },
  {
    name: 'the dangling references left out',
    method: 'PATCH',
    subject: 'dangling',
    body: ({ current }) => ({ ...bundle, field_articles: current['field_articles']!.filter((item) => item.target_uuid), field_section: [] })
  },
  {
    name: 'another format for a text whose format is forbidden',
    method: 'PATCH',
    subject: 'foreignFormat',
    body: () => ({ ...bundle, field_description: [{ value: '<p>mine</p>', format: 'basic_html' }] })
  },
  {
    name: 'another text in its forbidden format',
    method: 'PATCH',
    subject: 'foreignFormat',
    body: () => ({ ...bundle, field_description: [{ value: '<p>mine</p>', format: 'full_html' }] })
  }
]

/** All of them. */
export const bodies: Body[] = [
  ...Object.entries(forms).flatMap(([field, kinds]) =>
    Object.entries(kinds).flatMap(([kind, fields]): Body[] => [
      {
        name: `${field}: ${kind}`,
        method: 'POST',
        body: ({ key }) => ({ ...bundle, title: value('New'), field_key: value(key), ...fields })
      },
      { name: `${field}: ${kind}`, method: 'PATCH', body: () => ({ ...bundle, ...fields }) }
    ])
  ),
  ...others,
  ...roundTrips,
  ...more
]
