import assert from 'node:assert/strict'
import t from 'tap'
import { instant, sameItems } from '#lib/editions/translate/canonical.ts'
import { refuseGone } from '#lib/editions/translate/gone.ts'
import { read } from '#lib/editions/translate/read.ts'
import type { EditionJson } from '#lib/editions/translate/edition-json.ts'
import { createShapes } from '#lib/editions/site/shapes.ts'
import { shapeOf, type Shape } from '#lib/editions/translate/shape.ts'
import * as write from '#lib/editions/translate/write.ts'
import { identifiers, type NewResource, type Resource, type ResourceIdentifier } from '#lib/drupal/document.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { recording, recordings, versions } from '../fixtures/recordings.ts'
import { anyEdition, editions, model, recordedShape, resolve, withoutUrls } from './fixtures.ts'

const daily = recordedShape('publisher_container--daily')
const { bundleOf, create, difference, normalize, unresolvedReferences: unresolved } = write

/** An update by what the edition itself shows of its fields. */
function update(changes: EditionJson, current: Resource, by: typeof model, resolve: write.Resolve): NewResource {
  return write.update(changes, current, shapeOf(current, by), by, resolve)
}

/** Names of members that no document sent to JSON:API may have (property 9). */
const FORBIDDEN = /^(?:target_id|target_uuid|target_type|url|processed|arity|drupal_internal__.*)$/

function forbidden(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [...(FORBIDDEN.test(name) ? [name] : []), ...forbidden(member)])
}

/** The kind of JSON a field's value has: what Drupal's acceptance depends on. */
function form(value: unknown): string {
  // Drupal empties a field by either; only to a computed field is null something else.
  if (Array.isArray(value) && value.length === 0) return 'null'
  if (Array.isArray(value)) return `[${[...new Set(value.map(form))].sort().join('|')}]`
  if (typeof value === 'object' && value !== null) return `{${Object.keys(value).sort().join(',')}}`
  return value === null ? 'null' : typeof value
}

function forms({ attributes = {}, relationships = {} }: Partial<NewResource>): string[] {
  return [
    ...Object.entries(attributes).map(([name, value]) => `${name}: ${form(value)}`),
    ...Object.entries(relationships).map(([name, { data }]) =>
      `${name} -> ${[data ?? []]
        .flat()
        .map(({ type, meta = {} }) => `${type.split('--')[0]}${form(meta)}`)
        .join()}`.replace(/(->.*?\})(?:,.*)?$/, '$1')
    )
  ]
}

for (const version of versions) {
  t.test(`bodies that core REST of Drupal ${version} accepted become documents of the forms that its JSON:API accepted`, async (t) => {
    const accepted = new Set(
      recordings(
        ({ name, request, response }) =>
          /^jsonapi-(?:post|patch)/.test(name) && response.status < 300 && (request.body as any)?.data?.attributes !== undefined,
        version
      ).flatMap(({ request }) => forms((request.body as { data: Resource }).data))
    )
    const bodies = recordings(
      ({ name, request, response }) =>
        /^rest-(?:post|patch)/.test(name) && response.status < 300 && (request.body as any)?.type !== undefined,
      version
    )
    t.ok(bodies.length >= 30, `${bodies.length} bodies`)
    // What core REST drops in silence and JSON:API names in a 422 is taken out on its request (lib/editions/lookup/send.ts).
    const droppedLater = ['rest-post-date-with-format-key', 'rest-post-unknown-property']
    const notYetSeen = new Set<string>()
    for (const { name, request, response } of bodies) {
      const entity = normalize(request.body as Record<string, unknown>, model)
      const document =
        request.method === 'POST'
          ? create(entity, `publisher_container--${bundleOf(entity, model)}`, daily, model, resolve)
          : update(difference(ownFields(entity, response.body), current(response.body), model), current(response.body), model, resolve)
      t.strictSame(forbidden(document), [], `${name}: nothing of core REST's own`)
      if (!droppedLater.includes(name)) for (const one of forms(document)) if (!accepted.has(one)) notYetSeen.add(one)
    }
    t.strictSame([...notYetSeen], [], 'no form that no recording shows as accepted')

    function ownFields(entity: EditionJson, { id, changed, uuid, revision_id: revision }: EditionJson): EditionJson {
      return {
        ...entity,
        ...(entity.id && { id: id! }),
        ...(entity.changed && { changed: changed! }),
        ...(entity.uuid && { uuid: uuid! }),
        ...(entity.revision_id && { revision_id: revision! })
      }
    }

    /** An edition of the same bundle that differs in all other fields from what a PATCH left. */
    function current(body: EditionJson): Resource {
      const edition = structuredClone(editions.find(({ type }) => type === `publisher_container--${String(body.type![0]!.target_id)}`)!)
      edition.id = String(body.uuid![0]!.value)
      Object.assign(edition.attributes!, {
        drupal_internal__id: body.id![0]!.value,
        changed: body.changed![0]!.value,
        drupal_internal__revision_id: body.revision_id![0]!.value
      })
      return edition
    }
  })
}

t.test('an edition that is read and created again is the same document (property 3)', async () => {
  fc.assert(
    fc.property(anyEdition, (edition) => {
      const entity = read(edition, model)
      const { id: _id, revision_id: _revision, ...fields } = entity
      const document = create(fields, edition.type, shapeOf(edition, model), model, resolve)
      const { drupal_internal__id: _1, drupal_internal__revision_id: _2, ...attributes } = edition.attributes!
      const { publisher_container_type: _3, ...relationships } = edition.relationships!
      assert.deepEqual(document.id, edition.id)
      assert.deepEqual(document.attributes, strip({ ...attributes }))
      for (const [name, { data }] of Object.entries(relationships)) {
        const sent = document.relationships![name]!.data
        assert.equal(Array.isArray(sent), Array.isArray(data), 'the cardinality is kept')
        assert.deepEqual(
          identifiers({ data: sent! }).map(({ id }) => id),
          identifiers({ data: data! }).map(({ id }) => id),
          'in order (property 11)'
        )
      }
    }),
    { numRuns: runs(100) }
  )

  function strip(attributes: Record<string, unknown>): Record<string, unknown> {
    const description = attributes.field_description as Record<string, unknown> | null
    if (description) delete (attributes.field_description = { ...description } as Record<string, unknown>).processed
    return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, value ?? []]))
  }
})

t.test('what is written and applied reads as it was given (property 4)', async () => {
  fc.assert(
    fc.property(anyEdition, anyEdition, (before, wanted) => {
      const { id: _1, uuid: _2, revision_id: _3, type: _4, changed: _5, ...given } = withoutUrls(read(wanted, model))
      const after = apply(before, update(difference(given, before, model), before, model, resolve))
      const result = read(after, model)
      for (const [field, items] of Object.entries(given)) {
        assert.ok(sameItems(field, items, result[field]!, model), field)
        assert.ok(sameItems(field, result[field]!, items, model), `${field}, the other way round`)
      }
    }),
    { numRuns: runs(100) }
  )
})

t.test('an edition sent back as it was read writes nothing (property 5)', async (t) => {
  const differences = editions.map((edition) => ({ id: edition.id, ...difference(read(edition, model), edition, model) }))
  t.strictSame(
    differences,
    editions.map(({ id }) => ({ id }))
  )
  fc.assert(
    fc.property(
      anyEdition,
      (edition) => Object.keys(difference(normalize(withoutUrls(read(edition, model)), model), edition, model)).length === 0
    )
  )
})

t.test('an update has the fields that were sent and differ, and no others (properties 6 and 10)', async (t) => {
  fc.assert(
    fc.property(anyEdition, anyEdition, fc.subarray([...daily.keys()]), (before, wanted, fields) => {
      const all = read(wanted, model)
      const { id: _1, uuid: _2, revision_id: _3, type: _4, changed: _5, ...writable } = all
      const given = Object.fromEntries(Object.entries(writable).filter(([field]) => fields.includes(field)))
      const document = update(difference(given, before, model), before, model, resolve)
      const written = [...Object.keys(document.attributes ?? {}), ...Object.keys(document.relationships ?? {})]
      const was = read(before, model)
      assert.deepEqual(
        written.sort(),
        Object.keys(given)
          .filter((field) => !sameItems(field, was[field]!, given[field]!, model))
          .sort()
      )
    }),
    { numRuns: runs(100) }
  )
  const [edition] = editions.filter(
    ({ attributes, relationships }) => attributes!.field_labels && identifiers(relationships!.field_articles).length > 0
  )
  for (const empty of [null, []]) {
    const changes = difference(normalize({ field_articles: empty, title: empty }, model), edition!, model)
    const { attributes, relationships } = update(changes, edition!, model, resolve)
    t.strictSame([attributes, relationships], [{ title: [] }, { field_articles: { data: [] } }], 'null and [] empty a field')
  }
})

t.test('references that JSON:API cannot name survive an update of other fields (property 7)', async (t) => {
  const { data } = recording('jsonapi-individual-include-dangling').response.body
  const entity = read(data, model)
  const changes = difference({ ...entity, title: [{ value: 'New' }] }, data, model)
  t.strictSame(update(changes, data, model, resolve), { type: data.type, id: data.id, attributes: { title: 'New' } })
  const touched = difference({ field_articles: [...entity.field_articles!, { target_id: 7 }] }, data, model)
  t.throws(() => refuseGone(touched, data, model), { code: 'UNPROCESSABLE' }, 'and keep their field from being changed')
  const without = difference({ field_articles: entity.field_articles!.filter(({ target_id: id }) => id !== null) }, data, model)
  t.doesNotThrow(() => refuseGone(without, data, model), 'unless they are left out')
})

t.test('a revision a reference points to is never dropped (property 8)', async (t) => {
  const [paragraph, other] = [1, 2].map((id): ResourceIdentifier => ({
    type: 'paragraph--text',
    id: `p${id}`,
    meta: { target_revision_id: 10 + id, drupal_internal__target_id: id }
  }))
  const edition: Resource = {
    type: 'publisher_container--daily',
    id: 'e',
    attributes: {},
    relationships: { field_blocks: { data: [paragraph!, other!] } }
  }
  const ofCurrent = (reference: { id?: string; uuid?: string }) =>
    [paragraph!, other!].find(({ id, meta }) => id === reference.uuid || String(meta!.drupal_internal__target_id) === reference.id) ?? {
      type: 'paragraph--text',
      id: 'new'
    }
  const swapped = update(
    difference({ field_blocks: [{ target_id: 2 }, { target_uuid: 'p1', target_revision_id: 99 }] }, edition, model),
    edition,
    model,
    ofCurrent
  )
  t.strictSame(swapped.relationships!.field_blocks!.data, [
    { type: 'paragraph--text', id: 'p2', meta: { target_revision_id: 12 } },
    { type: 'paragraph--text', id: 'p1', meta: { target_revision_id: 99 } }
  ])
  t.throws(() => update(difference({ field_blocks: [{ target_id: 3 }] }, edition, model), edition, model, ofCurrent), {
    code: 'UNPROCESSABLE',
    message: 'The field "field_blocks" needs the property "target_revision_id": without it Drupal would drop the item'
  })
})

t.test('no document has what only core REST knows (property 9)', async () => {
  fc.assert(
    fc.property(anyEdition, anyEdition, (before, wanted) => {
      const { id: _1, uuid: _2, revision_id: _3, changed: _5, ...given } = read(wanted, model, () => '/node/1')
      const document = update(difference(given, before, model), before, model, resolve)
      assert.deepEqual(forbidden(document), [])
      for (const name of Object.keys(document.attributes ?? {})) {
        assert.equal(before.relationships![name], undefined, `${name} is an attribute`)
      }
      for (const field of model.timestampFields) assert.doesNotMatch(JSON.stringify(document.attributes?.[field] ?? null), /format/)
    }),
    { numRuns: runs(100) }
  )
})

t.test('time stamps keep their instant and lose their milliseconds, dates are left alone (property 12)', async (t) => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2999-01-01') }), (date) => {
      const given = {
        created: [{ value: date.toISOString(), format: 'x' }],
        field_publication_date: [{ value: date.toISOString().slice(0, 10) }]
      }
      const { attributes } = create(normalize(given, model), 'publisher_container--daily', daily, model, resolve)
      assert.equal(instant(attributes!.created), Math.floor(date.getTime() / 1000) * 1000)
      assert.doesNotMatch(String(attributes!.created), /\.\d/)
      assert.equal(attributes!.field_publication_date, date.toISOString().slice(0, 10))
    }),
    { numRuns: runs(100) }
  )
  const [edition] = editions
  const same = (field: string, value: unknown) =>
    Object.keys(
      difference(
        { [field]: [{ value }] },
        {
          ...edition!,
          attributes: { created: '2026-01-01T01:00:00+00:00', title: 'T', status: true, field_page_count: 3, field_price: '2.5' }
        },
        model
      )
    ).length === 0
  t.ok(same('created', 1767229200), 'seconds')
  t.ok(same('created', '1767229200'), 'seconds as text')
  t.ok(same('created', '2026-01-01T02:00:00+01:00'), 'another zone')
  t.notOk(same('created', '2026-01-01T01:00:01+00:00'))
  t.notOk(same('created', 'yesterday'))
  t.ok(same('status', 1))
  t.ok(same('status', '1'))
  t.notOk(same('status', 0))
  t.notOk(same('status', 'true'), 'which Drupal refuses')
  t.ok(same('field_page_count', '3'))
  t.notOk(same('field_page_count', null))
  t.strictSame(
    Object.keys(difference({ field_page_count: [{ value: '' }] }, { ...edition!, attributes: { field_page_count: 0 } }, model)),
    ['field_page_count'],
    'emptied, not zero'
  )
  t.notOk(same('field_page_count', true))
  t.ok(same('field_price', 2.5))
  t.notOk(same('title', 't'))
})

t.test("core's own refusals are given without asking Drupal", async (t) => {
  const [edition] = editions
  const attempt = (body: Record<string, unknown>) => () => difference(normalize(body, model), edition!, model)
  t.throws(attempt({ title: 'bare' }), { code: 'UNPROCESSABLE', message: recording('rest-post-scalar-title').response.body.message })
  t.throws(attempt({ id: [{ value: 424242 }] }), {
    code: 'CMS_FORBIDDEN',
    message: recording('rest-patch-id-different-403').response.body.message
  })
  t.throws(attempt({ uuid: [{ value: 'another' }] }), {
    code: 'CMS_FORBIDDEN',
    message: "Access denied on updating field 'uuid'. The entity UUID cannot be changed."
  })
  t.throws(attempt({ changed: [{ value: '2001-01-01T00:00:00+00:00' }] }), {
    code: 'STALE_EDIT',
    message: /Somebody else has saved this edition at 2.*Nothing of yours was saved/
  })
  const wrong = recording('rest-post-reference-wrong-target_type-with-uuid')
  t.throws(
    () => create(normalize(wrong.request.body as Record<string, unknown>, model), 'publisher_container--daily', daily, model, resolve),
    { code: 'UNPROCESSABLE', message: wrong.response.body.message }
  )
})

t.test('a body is taken in every form that core REST takes', async (t) => {
  const entity = normalize(
    {
      type: 'daily',
      title: ['x'],
      field_key: { value: 'k' },
      field_articles: [4, null, {}, { target_id: '5' }],
      field_cover: null,
      constructor: [{ value: 1 }]
    },
    model
  )
  t.equal(bundleOf(entity, model), 'daily')
  t.equal(bundleOf(normalize({ type: [{ value: 'special' }] }, model), model), 'special')
  t.strictSame(
    normalize({ field_labels: { 0: { value: 'a' }, 1: 'b' } }, model).field_labels,
    [{ value: 'a' }, { value: 'b' }],
    "PHP's array"
  )
  t.equal(bundleOf(normalize({ type: [{ target_id: 4 }] }, model), model), undefined)
  t.strictSame(
    unresolved(entity, daily, model).map(({ field, delta, entityType, id }) => [field, delta, entityType, id]),
    [
      ['field_articles', 0, 'node', '4'],
      ['field_articles', 1, 'node', '5']
    ]
  )
  const document = create(entity, 'publisher_container--daily', daily, model, resolve)
  t.strictSame(Object.entries(document.attributes!), [
    ['title', 'x'],
    ['field_key', 'k'],
    ['constructor', [1]]
  ])
  t.equal(identifiers(document.relationships!.field_articles).length, 2)
  t.strictSame(document.relationships!.field_cover, { data: null })
})

t.test('a reference is named by target_id or by a bare value, and a property `value` names nothing', async (t) => {
  const edition = editions.find(({ relationships }) => identifiers(relationships!.field_articles).length > 0)!
  const ids = read(edition, model).field_articles!.map(({ target_id: id }) => id)
  const changes = (items: unknown[]) => difference(normalize({ field_articles: items }, model), edition, model)
  const sent = (items: unknown[]) => update(changes(items), edition, model, resolve).relationships!.field_articles
  t.strictSame(changes(ids), {}, 'bare values')
  t.strictSame(sent(ids.map((value) => ({ value }))), { data: [] })
  t.strictSame(identifiers(sent([...ids, { value: 5 }, { target_id: null, value: 5 }])).length, ids.length)
  t.strictSame(unresolved(normalize({ field_articles: [{ value: 5 }] }, model), daily, model), [])
})

t.test('fields nobody has seen are told apart by the content model and by their items', async (t) => {
  const nothing: Shape | undefined = undefined
  const entity = normalize(
    { field_section: [{ target_id: 2 }], field_media: [{ target_id: 3, target_type: 'media' }], field_other: [{ value: 1 }, { value: 2 }] },
    model
  )
  const document = create(entity, 'publisher_container--daily', nothing, model, resolve)
  t.strictSame(Object.keys(document.relationships!), ['field_section', 'field_media'])
  t.strictSame(document.attributes, { field_other: [1, 2] })
  t.throws(() => create(normalize({ field_media: [{ target_id: 3 }] }, model), 'publisher_container--daily', nothing, model, resolve), {
    code: 'UNPROCESSABLE',
    message: /needs the property "target_type"/
  })
})

t.test('a property that a field really has is kept, whatever it is called', async (t) => {
  const [edition] = editions
  const video = { url: 'https://v.example/1', entity: 'e', caption: 'C' }
  const map = { processed: 'p', url: 'u', target_id: 1, target_type: 'x' }
  const raw = { ...model, rawFields: ['field_map'] }
  const current = {
    ...edition!,
    attributes: {
      ...edition!.attributes,
      field_video: video,
      field_map: map,
      field_description: { value: 'v', format: null, processed: 'v' }
    }
  }
  const attributes = (body: Record<string, unknown>) =>
    update(difference(normalize(body, raw), current, raw), current, raw, resolve).attributes
  t.strictSame(attributes({ field_video: [{ ...video, caption: 'D' }] }), { field_video: { ...video, caption: 'D' } })
  t.strictSame(attributes({ field_video: [{ ...video, url: 'https://v.example/2' }] }), {
    field_video: { ...video, url: 'https://v.example/2' }
  })
  t.strictSame(
    attributes({ field_map: [{ ...map, processed: 'q' }] }),
    { field_map: [{ ...map, processed: 'q' }] },
    'in a map, computed properties too'
  )
  t.strictSame(
    attributes({ field_map: [{ ...map, target_type: 'y' }] }),
    { field_map: [{ ...map, target_type: 'y' }] },
    'and what is no reference'
  )
  for (const map of [['a', 'b'], 'a', 5]) {
    t.throws(
      () => attributes({ field_map: [{}, { a: 1 }, map] }),
      { code: 'UNPROCESSABLE', details: { violations: [{ path: 'field_map.1', message: /^This value should be an object/ }] } },
      'a map that is none'
    )
  }
  t.strictSame(attributes({ field_map: [{ a: 1 }, { b: 2 }] }), { field_map: [{ a: 1 }, { b: 2 }] }, 'many maps')
  t.strictSame(
    attributes({ field_video: [video], field_map: [map], field_description: [{ value: 'v', format: null }] }),
    undefined,
    'the same is the same'
  )
})

t.test('an item that is a list is an empty one, and a property keeps its name where the field is shown without it', async (t) => {
  const [edition] = editions
  const link = { uri: 'https://example.com/', title: '', options: [] }
  const current = { ...edition!, attributes: { ...edition!.attributes, field_link: link, field_labels: ['a'] } }
  const attributes = (body: Record<string, unknown>) =>
    update(difference(normalize(body, model), current, model), current, model, resolve).attributes
  t.strictSame(attributes({ title: [['a']], field_labels: [['b'], 'c', [['d']]] }), { title: [], field_labels: ['c'] })
  t.strictSame(
    attributes({ field_link: [{ value: 'https://example.com/b' }] }),
    { field_link: { value: 'https://example.com/b' } },
    'Drupal sees that a link has no value'
  )
  t.strictSame(
    attributes({ field_link: ['https://example.com/b'] }),
    { field_link: 'https://example.com/b' },
    'and a bare value is its uri'
  )
  t.strictSame(attributes({ title: [{ value: 'T' }] }), { title: 'T' })

  const shapes = createShapes(model)
  const properties = () => ['field_link', 'field_labels', 'title'].map((field) => shapes.of('x')!.get(field)!.properties)
  for (const values of [{}, {}, { field_link: link, field_labels: ['a'] }, {}]) {
    shapes.learn({ type: 'x', id: 'u', attributes: { title: 'T', field_link: null, field_labels: [], ...values } })
    t.strictSame(
      properties(),
      'field_link' in values || properties()[0] ? [['uri', 'title', 'options'], [], []] : [undefined, undefined, []]
    )
  }
})

t.test('a number that JSON.parse has not kept is not written, and one that is sent back as it was read is', async (t) => {
  const [edition] = editions
  const current = { ...edition!, attributes: { ...edition!.attributes, field_big: JSON.parse('9007199254740993'), field_rating: 1.5 } }
  const written = (json: string) =>
    update(difference(normalize(JSON.parse(json), model), current, model), current, model, resolve).attributes
  const refused: Array<[string, string]> = [
    ['{"field_labels":[{"value":"a"},{"value":1234567890123456789}]}', 'field_labels/1/value'],
    ['{"field_labels":[-9007199254740993]}', 'field_labels/0/value'],
    ['{"field_rating":[{"value":1e400}]}', 'field_rating/0/value'],
    ['{"field_link":[{"uri":"a","options":{"x":[1,9007199254740992]}}]}', 'field_link/0/options/x/1']
  ]
  for (const [json, where] of refused) {
    const message = `body/${where} is a number beyond ±9007199254740991; send it as a string`
    t.throws(() => written(json), { code: 'BAD_REQUEST', message })
    t.throws(() => create(normalize(JSON.parse(json), model), edition!.type, daily, model, resolve), { code: 'BAD_REQUEST', message })
  }
  t.strictSame(written('{"field_big":[{"value":9007199254740993}]}'), undefined, 'as it was read')
  t.strictSame(
    written('{"field_big":[{"value":"9007199254740992"}]}'),
    { field_big: '9007199254740992' },
    'where it cannot be told whether it is another it is written'
  )
  t.strictSame(written('{"field_big":[{"value":9007199254740991}],"field_rating":[{"value":1e-7}]}'), {
    field_big: Number.MAX_SAFE_INTEGER,
    field_rating: 1e-7
  })
  t.strictSame(written('{"field_rating":[{"value":1e300}]}'), { field_rating: 1e300 }, 'what PHP rounds alike')
})

t.test('what is no time stamp is told at once, however long it is', async (t) => {
  for (const long of ['T', '1', 'T1', 'T+00:0']) {
    const started = performance.now()
    t.ok(Number.isNaN(instant(`${long.repeat(50_000)}x`)))
    t.ok(performance.now() - started < 2000, `${long}: ${Math.round(performance.now() - started)} ms`)
  }
})

/** What Drupal does with an accepted PATCH, as far as reading tells. */
function apply(before: Resource, { attributes = {}, relationships = {} }: NewResource): Resource {
  return { ...before, attributes: { ...before.attributes, ...attributes }, relationships: { ...before.relationships, ...relationships } }
}
