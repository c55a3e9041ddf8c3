import { readFileSync } from 'node:fs'
import { contentModel } from '#lib/editions/model.ts'
import type { EditionJson, FieldItem } from '#lib/editions/translate/edition-json.ts'
import { createShapes } from '#lib/editions/site/shapes.ts'
import type { Shape } from '#lib/editions/translate/shape.ts'
import type { Resolve } from '#lib/editions/translate/write.ts'
import type { Resource, ResourceIdentifier } from '#lib/drupal/document.ts'
import fc from '../fixtures/property.ts'
import { recordings, type Recording, type Version } from '../fixtures/recordings.ts'

/** The content model of the recorded site, which is the default one. */
export const model = contentModel(JSON.parse(readFileSync(new URL('../../config/content-model.json', import.meta.url), 'utf8')))

/** Every resource in the answers of some recordings, the included ones too. */
export function recordedResources(filter: (one: Recording) => boolean = () => true, version?: Version): Resource[] {
  return recordings(filter, version)
    .flatMap(({ response: { body } }) => [body?.data, body?.included].flat())
    .filter((resource): resource is Resource => typeof resource?.attributes === 'object')
}

/** Recorded editions with all the fields that the user may see, an editor unless told otherwise. */
export function recordedEditions(as = 'editor', version?: Version): Resource[] {
  return recordedResources(
    ({ name, request }) => /^jsonapi-(?:individual|collection|post)/.test(name) && request.as === as,
    version
  ).filter(isWholeEdition)
}

function isWholeEdition({ type, attributes, relationships }: Resource): boolean {
  return (
    type.startsWith('publisher_container--') && attributes!.drupal_internal__revision_id !== undefined && relationships?.uid !== undefined
  )
}

export const editions = recordedEditions()

/** What the recorded documents show of a resource type's fields. */
export function recordedShape(resourceType: string): Shape {
  const shapes = createShapes(model)
  editions.forEach(shapes.learn)
  return shapes.of(resourceType)!
}

const identifiersSeen = new Map<string, ResourceIdentifier>()
for (const { relationships = {} } of editions) {
  for (const identifier of Object.values(relationships).flatMap(({ data }) => data ?? [])) {
    identifiersSeen.set(`${identifier.type.split('--')[0]}:${String(identifier.meta?.drupal_internal__target_id)}`, identifier)
  }
}

/** Names references by what the recordings show of them. */
export const resolve: Resolve = ({ entityType, uuid, id }) =>
  uuid === undefined
    ? (identifiersSeen.get(`${entityType}:${id}`) ?? { type: `${entityType}--${entityType}`, id: `uuid-of-${entityType}-${id}` })
    : { type: `${entityType}--${entityType}`, id: uuid }

/** Objects as JSON.parse makes them. */
const record = <T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T>(members, { noNullPrototype: true } as never) as fc.Arbitrary<T>

const uuid = fc.uuid({ version: 4 })
const date = fc
  .date({ min: new Date('1971-01-01'), max: new Date('2099-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().replace(/\.\d+Z$/, '+00:00'))
// Not fc.webUrl(), which takes two thirds of a second to get ready, in every process that loads this file.
const url = fc.tuple(fc.domain(), fc.string({ unit: 'grapheme' })).map(([host, path]) => `https://${host}/${encodeURIComponent(path)}`)
const text = record({ value: fc.string({ unit: 'grapheme' }), format: fc.constantFrom('basic_html', null), processed: fc.string() })

const references = (type: string, meta: fc.Arbitrary<object> = fc.constant({})) =>
  fc
    .tuple(uuid, fc.nat(), meta)
    .map(([id, target, properties]): ResourceIdentifier => ({ type, id, meta: { ...properties, drupal_internal__target_id: target } }))

/** Any edition: the fields of the recorded site with any content, empty or not. */
export const anyEdition: fc.Arbitrary<Resource> = record({
  type: fc.constantFrom('publisher_container--daily', 'publisher_container--special'),
  id: uuid,
  attributes: record({
    drupal_internal__id: fc.integer({ min: 1 }),
    drupal_internal__revision_id: fc.integer({ min: 1 }),
    langcode: fc.constant('en'),
    revision_timestamp: date,
    revision_log: fc.option(fc.string()),
    status: fc.boolean(),
    title: fc.string({ minLength: 1, unit: 'grapheme' }),
    created: date,
    changed: date,
    default_langcode: fc.constant(true),
    field_description: fc.option(text),
    field_expires: fc.option(date),
    field_featured: fc.option(fc.boolean()),
    field_key: fc.string({ minLength: 1 }),
    field_labels: fc.array(fc.string()),
    field_link: fc.option(record({ uri: url, title: fc.option(fc.string()), options: fc.constantFrom([], { attributes: { rel: 'x' } }) })),
    field_page_count: fc.option(fc.integer()),
    field_price: fc.option(fc.constantFrom('2.5', '1.00', '0.1')),
    // Drupal gives a number of this size as it is, but takes it only as a text: JSON.parse may have rounded it.
    field_rating: fc.option(
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((value) => Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) >= 2 ** 63)
    ),
    field_publication_date: fc.option(date.map((date) => date.slice(0, 10))),
    field_published_at: fc.option(date)
  }),
  relationships: record({
    publisher_container_type: fc.constant({
      data: {
        type: 'publisher_container_type--publisher_container_type',
        id: 'da70793f-d6da-4c24-9a08-6ee507503fc5',
        meta: { drupal_internal__target_id: 'daily' }
      }
    }),
    uid: references('user--user').map((data) => ({ data })),
    field_articles: fc.array(references('node--article')).map((data) => ({ data })),
    field_section: fc.option(references('taxonomy_term--sections')).map((data) => ({ data })),
    field_cover: fc
      .option(references('file--file', record({ alt: fc.string(), title: fc.option(fc.string()), width: fc.nat(), height: fc.nat() })))
      .map((data) => ({ data })),
    field_blocks: fc.array(references('paragraph--text', record({ target_revision_id: fc.nat() }))).map((data) => ({ data }))
  })
})

/** An entity as core REST shows it, without what a caller need not send. */
export function withoutUrls(entity: EditionJson): EditionJson {
  return Object.fromEntries(Object.entries(entity).map(([field, items]) => [field, items.map(({ url: _, ...item }: FieldItem) => item)]))
}
