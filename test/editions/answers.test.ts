import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { entitiesOf } from '#lib/boards/entities.ts'
import { integerId, mismatch } from '#lib/editions/translate/verify.ts'
import { sameItems } from '#lib/editions/translate/canonical.ts'
import { isStale, lostReference, notIncludable, refusal, unknownProperties } from '#lib/editions/translate/failures.ts'
import { contentModel } from '#lib/editions/model.ts'
import { targetOf } from '#lib/editions/translate/urls.ts'
import { urlsOf } from '#lib/editions/translate/urls.ts'
import { isSameUuid, scalarText } from '#lib/drupal/document.ts'
import { openHostile, type HostileDesk } from './hostile-cms.ts'
import { editionsOf, failed, type Known } from './site.ts'

const [newest] = editionsOf(newspaper()) as [Known]
const covered = newspaper().entities.find(({ type, fields }) => type.startsWith('publisher_container--') && fields?.field_cover)!.id
const model = contentModel({})
const change = { title: [{ value: 'Changed' }], field_description: [{ value: 'x' }] }
const nested = (open: string, close: string) => open.repeat(20_000) + close.repeat(20_000)

/** Alters the text of the answers to some requests. */
function altering(cms: HostileDesk['cms'], is: (path: string, method: string) => boolean, alter: (body: any) => string): void {
  cms.behave = async ({ path, method }, honest) => {
    if (!is(path, method)) return undefined
    const answer = await honest()
    return { ...answer, body: alter(answer.body) }
  }
}

t.test('a file with a URL that is none leaves the reference without a url', async (t) => {
  const { call, cms } = await openHostile(t)
  altering(
    cms,
    (path) => path.includes('/publisher_container/'),
    (body) => JSON.stringify(body, (name, value) => (name === 'uri' && value?.url ? { ...value, url: 'http://[' } : value))
  )
  const { status, body } = await call('GET', `/api/collection/${covered}`, { as: 'editor' })
  t.equal(status, 200)
  t.match(body.field_cover, [{ target_type: 'file', url: undefined }])
  t.notOk('url' in body.field_cover[0])
})

/** Whether this Node prints JSON of such a depth: 26 does, 24 has its stack overflow. */
function canBePrinted(json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(json)) === json
  } catch {
    return false
  }
}

for (const [what, deep] of [
  ['lists', nested('[', ']')],
  ['objects', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`]
] as const) {
  t.test(`an attribute of ${what} nested 20 000 deep is the CMS's fault`, async (t) => {
    const { call, cms } = await openHostile(t)
    const isShown = canBePrinted(deep)
    const alter = (body: any) =>
      JSON.stringify(body, (name, value) => (name === 'field_description' ? '@deep@' : value)).replaceAll('"@deep@"', deep)
    altering(cms, (path, method) => method === 'GET' && path.includes('/publisher_container/'), alter)
    for (const [method, url, body] of [
      ['GET', `/api/collection/${newest.id}`],
      ['GET', '/api/collections/publisher_container'],
      ['POST', `/api/collection/${newest.id}`, change]
    ] as const) {
      const reply = await call(method, url, { as: 'editor', ...(body && { body }) })
      if (!isShown || reply.status !== 200) failed(t, `${method} ${url}`, reply, 502, 'CMS_INVALID_RESPONSE', /nested too deep$/)
    }
    if (isShown) return
    altering(cms, (_path, method) => method !== 'GET', alter)
    t.equal(
      (await call('POST', `/api/collection/${newest.id}`, { as: 'editor', body: { title: [{ value: 'Saved' }] } })).status,
      200,
      'what was saved and cannot be shown is looked up'
    )
    altering(cms, (path) => path.includes('/publisher_container/'), alter)
    const lost = await call('POST', '/api/collection', {
      as: 'editor',
      body: {
        type: newest.bundle,
        title: [{ value: 'T' }],
        field_key: [{ value: 'deep' }],
        field_publisher_edition_type: [{ value: newest.type }]
      }
    })
    failed(t, 'a create', lost, 502, 'CMS_INVALID_RESPONSE', /nested too deep; whether your change was saved is not known/)
    t.match(lost.body.uuid, /^[\da-f-]{36}$/)
  })
}

t.test('a time of change that is none is no precondition that Drupal could find true', async (t) => {
  const { call, cms } = await openHostile(t)
  altering(
    cms,
    (path, method) => method === 'GET' && path.includes('/publisher_container/'),
    (body) => JSON.stringify(body, (name, value) => (name === 'changed' ? { toString: 5 } : value))
  )
  const { status } = await call('POST', `/api/collection/${newest.id}`, { as: 'editor', body: change, headers: { 'if-match': '*' } })
  t.ok(status >= 400 && status < 500, String(status))
  t.match(JSON.parse(cms.asked.find(({ method }) => method === 'PATCH')!.body), { data: { attributes: { changed: null } } })
})

t.test('errors of any types and lengths are refusals', (t: Test) => {
  const odd = [
    { toString: 5 },
    { valueOf: null, toString: null },
    [],
    [[]],
    null,
    5,
    true,
    JSON.parse(nested('[', ']')),
    'x'.repeat(1_000_000)
  ]
  const members = odd.flatMap((value) => [
    { title: value },
    { detail: value },
    { detail: value, source: { pointer: value } },
    { detail: value, source: value }
  ])
  const answers = members.flatMap((member) =>
    [400, 401, 403, 404, 405, 409, 422].map((status) => ({ status, document: { errors: [member as object] } }))
  )
  const wrong = answers.filter((answer) => {
    const { message, statusCode } = refusal(answer)
    return (
      (statusCode >= 500 && statusCode !== 502) ||
      message.length === 0 ||
      message.length >= 11_000 ||
      isStale(answer, 'changed') ||
      unknownProperties(answer) ||
      notIncludable(answer) ||
      lostReference(answer)
    )
  })
  t.equal(answers.length, 252)
  t.strictSame(wrong, [])
  t.end()
})

t.test('texts made to try regular expressions out take no time', (t: Test) => {
  const start = performance.now()
  for (const detail of [
    "The property '".repeat(1_000_000),
    "The properties 'x' do not exist on the '".repeat(400_000),
    '<'.repeat(10_000_000)
  ]) {
    const answer = { status: 422, document: { errors: [{ detail, source: { pointer: '/data' } }] } }
    refusal(answer)
    t.equal(unknownProperties(answer), undefined)
  }
  t.ok(performance.now() - start < 10_000, 'hours, were all of it looked at')
  t.end()
})

t.test('values of the CMS are text, numbers or nothing', (t: Test) => {
  t.strictSame(['x', 5, true, null, undefined, {}, [5], { toString: 5 }].map(scalarText), ['x', '5', 'true', '', '', '', '', ''])
  const ids: unknown[] = [5, '5', 5.5, '5x', 1e308, Infinity, null, undefined, [5], { toString: 5 }, 2 ** 53]
  t.strictSame(
    ids.map((value) => integerId({ type: 'a', id: 'b', attributes: { id: value } }, 'id')),
    [5, 5, ...Array(9).fill(NaN)]
  )
  t.ok(Number.isNaN(integerId({ type: 'a', id: 'b' }, 'id')))
  t.ok(isSameUuid('AB', 'ab') && !isSameUuid('ab', 'ac'))
  t.match(mismatch('edition 5', { type: 'a--b', id: 'x y' }).message, 'The CMS was asked for edition 5 and answered with something else')
  const target = urlsOf(
    new Map([
      [
        'node--a',
        new Map([
          ['u', {}],
          ['f', targetOf({ uri: { url: 'http://[' } })]
        ])
      ]
    ]),
    model,
    new URL('http://cms.example')
  )
  const url = (id: string, given: unknown) => target({ type: 'node--a', id, meta: { drupal_internal__target_id: given } }, 'node')
  t.strictSame(
    [url('u', 5), url('u', '$&'), url('u', { toString: 5 }), url('u', undefined), url('f', 5)],
    ['/node/5', '/node/%24%26', undefined, undefined, undefined]
  )
  const strange = [{ target_id: 5, target_type: { toString: 5 } }, { target_id: { toString: 5 } }, { target_id: null }]
  t.strictSame(
    entitiesOf({ id: [{ value: 1 }], field_articles: strange }, model).map(({ id }) => id),
    ['1', '5']
  )
  for (const [shown, sent, same] of [
    [5, [5], false],
    [5, { toString: 5 }, false],
    [5, '5', true],
    [true, { toString: 5 }, false],
    [true, 1, true]
  ] as const) {
    t.equal(sameItems('x', [{ value: shown }], [{ value: sent }], model), same, JSON.stringify([shown, sent]))
  }
  t.end()
})

t.test('ids as large as floats get do not keep a deep list from ending', async (t) => {
  const { call, cms } = await openHostile(t)
  altering(
    cms,
    (path) => /\/(?:daily|special)$/.test(path),
    (body) => JSON.stringify(body, (name, value) => (name === 'drupal_internal__id' ? '@' : value)).replaceAll('"@"', '1e308')
  )
  failed(t, 'list', await call('GET', '/api/collections/publisher_container?offset=3000', { as: 'editor' }), 502, 'CMS_INVALID_RESPONSE')
})
