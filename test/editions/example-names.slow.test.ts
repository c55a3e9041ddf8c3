import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { commands } from '../../dev/commands.ts'
import { withNamesOf } from '#lib/editions/example-names.ts'
import { contentModel } from '#lib/editions/model.ts'
import { build } from '../helper.ts'

const DEFAULT_NAMES = /publisher_|field_key|field_articles|\bdaily\b|\bspecial\b|Daily|Special/

const leaflet = {
  entityType: 'leaflet',
  bundleEntityType: null,
  keys: {
    id: 'slip',
    uuid: 'guid',
    revision: null,
    bundle: null,
    label: 'caption',
    published: null,
    changed: null,
    langcode: null,
    defaultLangcode: null
  },
  fields: { key: null, editionType: null, articles: ['pieces'] }
}

const gazette = {
  entityType: 'gazette',
  bundleEntityType: 'gazette_sort',
  keys: { bundle: 'sort', label: 'name', published: 'live' },
  fields: { key: 'mark', editionType: 'cut', articles: ['stories'] },
  bundles: { sheet: 'Sheets', extra: 'Extras' }
}

/** The OpenAPI document of a service with this content model. */
async function documentOf(t: Test, model: object): Promise<any> {
  const path = join(t.testdir(), 'content-model.json')
  writeFileSync(path, JSON.stringify(model))
  return (await (await build(t, { CONTENT_MODEL: path })).inject('/docs/json')).json()
}

/** The document without its examples. */
function bare(value: any): unknown {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'example' && name !== 'examples')
      .map(([name, member]) => [name, bare(member)])
  )
}

const exampleOf = ({ content }: any): any => content['application/json'].example

t.test('the examples of /docs have the names of the content model, and nothing else is changed', async (t) => {
  const standard = await documentOf(t, {})
  t.strictSame(withNamesOf(contentModel({}))(standard), standard, 'the default names are as they stand in the schemas')
  t.match(JSON.stringify(standard), DEFAULT_NAMES)
  for (const model of [leaflet, gazette]) {
    const document = await documentOf(t, model)
    t.notMatch(JSON.stringify(document), DEFAULT_NAMES, model.entityType)
    t.strictSame(
      bare(document),
      bare(JSON.parse(JSON.stringify(standard).replaceAll('`publisher_container`', `\`${model.entityType}\``))),
      model.entityType
    )
    t.match(await new Validator().validate(structuredClone(document)), { valid: true }, model.entityType)
  }
})

t.test('an edition in an example has the fields that the site has', async (t) => {
  const names = async (model: object) => {
    const { paths, components } = await documentOf(t, model)
    const list = paths['/api/collections/{bundle}'].get
    return {
      create: exampleOf(paths['/api/collection'].post.requestBody),
      read: Object.keys(components.schemas.Edition.examples[0]),
      locked: paths['/api/collection/{id}'].post.responses[423].content['application/json'].examples.FIELD_LOCKED.value.locks[0],
      lists: Object.keys(list.parameters.find(({ name }: any) => name === 'bundle').examples),
      self: exampleOf(list.responses[200]).links.self,
      bundles: exampleOf(paths['/api/collection/bundles'].get.responses[200]).data
    }
  }
  t.match(await names(gazette), {
    create: {
      sort: [{ target_id: 'sheet' }],
      name: [{ value: 'Monday' }],
      mark: [{ value: 'sheet-2031-01-06' }],
      stories: [{ target_id: 4 }]
    },
    read: ['id', 'uuid', 'sort', 'live', 'name', 'mark', 'stories'],
    locked: { entityType: 'gazette', entityId: '12', fieldName: 'stories' },
    lists: ['gazette', 'sheet', 'extra', 'article'],
    self: '/api/collections/sheet?limit=1&offset=0',
    bundles: [
      { id: 'sheet', label: 'Sheets' },
      { id: 'extra', label: 'Extras' }
    ]
  })
  const { create, read, lists, bundles } = await names(leaflet)
  t.strictSame(
    { create, read, lists, bundles },
    {
      create: { caption: [{ value: 'Monday' }], pieces: [{ target_id: 4 }] },
      read: ['slip', 'guid', 'caption', 'pieces'],
      lists: ['leaflet', 'article'],
      bundles: [{ id: 'leaflet', label: 'leaflet' }]
    }
  )
})

t.test('where the content model names no bundles, no label or no articles, the examples do without', (t) => {
  const document = {
    example: { title: ['x'], field_articles: [], type: ['daily'] },
    examples: ['field_publisher_edition_type, field_articles', null]
  }
  const named = (model: object) => withNamesOf(contentModel(model))(document)
  t.strictSame(named({ fields: { articles: [] } }), {
    ...document,
    example: { title: ['x'], type: ['daily'] },
    examples: ['field_publisher_edition_type, field_key', null]
  })
  t.strictSame(named({ keys: { label: null }, fields: { key: null, editionType: null, articles: [] }, bundles: {} }), {
    example: { type: ['daily'] },
    examples: ['id, id', null]
  })
  t.end()
})

t.test('npm run dev prints commands with the names of the content model', (t) => {
  const printed = (model: object) => commands('http://localhost:3000', contentModel(model)).join('\n')
  t.match(
    printed({}),
    /data-state\/publisher_container\/1 .*"fieldName":"title".*\ncurl 'http:\/\/localhost:3000\/api\/collections\/publisher_container\?limit=2'$/
  )
  t.match(
    printed({ ...gazette, lockTypes: { gazette: 'issue' }, lockIds: 'uuid' }),
    /data-state\/issue\/[0-9a-f-]{36} .*"fieldName":"name".*collections\/gazette\?limit=2'\ncurl .*collections\/sheet\?limit=2'$/s
  )
  for (const [keys, fields, fieldName] of [
    [null, 'mark', 'mark'],
    [null, null, 'pieces'],
    ['caption', null, 'caption']
  ] as const) {
    t.match(
      printed({ ...leaflet, keys: { ...leaflet.keys, label: keys }, fields: { ...leaflet.fields, key: fields } }),
      new RegExp(`data-state/leaflet/1 .*"fieldName":"${fieldName}"`)
    )
  }
  t.match(printed({ ...leaflet, keys: { ...leaflet.keys, label: null }, fields: { key: null, articles: [] } }), /"fieldName":"slip"/)
  t.end()
})
