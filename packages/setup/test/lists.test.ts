import t from 'tap'
import { checkLists } from '../doctor/lists.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import { line } from '../diagnosis.ts'
import type { JsonapiAnswer, JsonapiRequest } from '../../../lib/drupal/client.ts'
import type { Visitor } from '../doctor/editions.ts'

const collection = (bundle: string): Collection => ({
  resourceType: `node--${bundle}`,
  entityType: 'node',
  bundle,
  path: `/node/${bundle}`
})

type Answer = (include: string | undefined, path: string) => object

/** What the doctor says of lists, at a site that answers as the test has it: with a status, or with a document. */
async function said(lists: object, answer: Answer = () => ({ data: [] })): Promise<string[]> {
  const request = async ({ path, query = [] }: JsonapiRequest): Promise<JsonapiAnswer> => {
    const found = answer([...query].find(([name]) => name === 'include')?.[1], path)
    return { status: 200, ...('status' in found ? { document: {}, ...found } : { document: found }) } as JsonapiAnswer
  }
  const visitor = {
    cms: { request },
    catalog: { all: async () => [collection('article'), collection('brief')] },
    name: 'anna',
    isAnonymous: false
  } as unknown as Visitor
  const lines: string[] = []
  for await (const diagnosis of checkLists(visitor, contentModel({ lists }), 'https://cms.example')) lines.push(line(diagnosis))
  return lines
}

const list = (look: object) => ({ stories: { entityType: 'node', bundles: ['article'], ...look } })

const refused = (detail: string) => ({ status: 400, document: { errors: [{ status: '400', detail }] } })

/** Articles that refer to a media entity with an image, in a document that includes as much as was asked for. */
const articles = (relationships: object, included: object[] = [], attributes: object = {}) => ({
  data: [
    { type: 'node--article', id: 'a', attributes, relationships },
    { type: 'node--article', id: 'b' }
  ],
  included
})
const to = (type: string, id: string) => ({ data: { type, id } })
const file = (url: unknown) => ({ type: 'file--file', id: 'f', attributes: { uri: url } })
const media = { type: 'media--image', id: 'm', relationships: { thumbnail: { data: null }, field_media_image: to('file--file', 'f') } }

t.test('lists without image and section are not checked, and those that are not exposed are wrong', async (t) => {
  t.strictSame(
    await said({ article: { entityType: 'node' } }, () => {
      throw new Error('not asked')
    }),
    []
  )
  t.strictSame(await said({ page: { entityType: 'page', image: 'field_image' } }), [
    '!    lists.page: JSON:API exposes nothing of it: correct entityType and bundles of the list in the content model'
  ])
})

t.test('the lists beyond the first 20 with an image or a section are named, not checked', async (t) => {
  const lists = Object.fromEntries(
    Array.from({ length: 22 }, (_, index) => [`list${index}`, { entityType: 'page', section: 'field_desk' }])
  )
  const lines = await said({ plain: { entityType: 'node' }, ...lists })
  t.equal(lines.length, 21)
  t.equal(lines.at(-1), '-    lists list20, list21: the doctor looks at the images and sections of 20 lists')
})

t.test('an image and a section that lead to what the desk shows are right', async (t) => {
  const answer: Answer = (include) =>
    include === 'field_section'
      ? articles({ field_section: to('taxonomy_term--s', 's') }, [{ type: 'taxonomy_term--s', id: 's', attributes: { name: 'Sport' } }])
      : articles({ field_media: to('media--image', 'm') }, [media, file({ url: '/a.jpg' })])
  t.strictSame(await said(list({ image: 'field_media.field_media_image', section: 'field_section' }), answer), [
    'ok   lists.stories.image: field_media.field_media_image of article',
    'ok   lists.stories.section: field_section of article'
  ])
  t.strictSame(
    await said(list({ section: 'field_kind' }), (include) =>
      include === undefined ? articles({}, [], { field_kind: 'sport' }) : refused('`field_kind` is not a valid relationship field name.')
    ),
    ['ok   lists.stories.section: field_kind of article'],
    'a text'
  )
})

t.test('what is wrong is told with what to do, and what cannot be seen as not checked', async (t) => {
  const correct = (member: string) => `correct ${member} of the list in the content model`
  const plain =
    (document: object): Answer =>
    (include) =>
      include === undefined ? document : refused(`\`${include}\` is not a valid relationship field name.`)
  const image = (answer: Answer, path = 'field_image') => [{ image: path }, answer] as const
  const section = (answer: Answer) => [{ section: 'field_section' }, answer] as const
  const cases: Array<readonly [look: object, answer: Answer, line: string]> = [
    [
      ...image(plain(articles({}))),
      `!    lists.stories.image: field_image of article is not there: ${correct('image')}, or let anna view the field`
    ],
    [
      ...image(plain(articles({}, [], { field_image: 'x' }))),
      `!    lists.stories.image: field_image of article is no reference, and so no image: ${correct('image')}`
    ],
    [
      ...image(plain(articles({ field_image: to('odd', 'o') }))),
      `!    lists.stories.image: field_image of article is a reference that JSON:API does not include: ${correct('image')}`
    ],
    [
      ...image(plain(articles({ field_media: to('media--image', 'm') })), 'field_media.field_photo'),
      `!    lists.stories.image: field_media.field_photo of article leads nowhere, as what field_media refers to has no such reference: ${correct('image')}`
    ],
    [
      ...image(() => articles({ field_image: { data: null } })),
      '-    lists.stories.image: field_image of article: none on the first page has a value in field_image'
    ],
    [
      ...image(() =>
        articles({
          field_image: {
            data: [
              { type: 'file--file', id: 'missing' },
              { type: 'file--file', id: 'virtual' }
            ]
          }
        })
      ),
      '-    lists.stories.image: field_image of article: none on the first page has a value in field_image'
    ],
    [
      ...image(() => articles({ field_image: to('file--file', 'f') })),
      '-    lists.stories.image: field_image of article: anna may not view what field_image refers to (file--file)'
    ],
    [
      ...image(
        () => articles({ field_media: to('media--image', 'm') }, [{ ...media, relationships: {} }]),
        'field_media.field_media_image'
      ),
      '-    lists.stories.image: field_media.field_media_image of article: none on the first page has a value in field_media_image'
    ],
    [
      ...image(() => articles({ field_image: to('media--image', 'm') }, [media])),
      `!    lists.stories.image: field_image of article leads to media--image, which shows no address of a file: ${correct('image')} (field_image.field_media_image?)`
    ],
    [
      ...image(() => articles({ field_image: to('media--image', 'm') }, [{ type: 'media--image', id: 'm' }])),
      `!    lists.stories.image: field_image of article leads to media--image, which shows no address of a file: ${correct('image')}`
    ],
    [
      ...image(() => articles({ field_image: to('file--file', 'f') }, [file('a.jpg')])),
      `!    lists.stories.image: field_image of article leads to file--file, which shows no address of a file: ${correct('image')}`
    ],
    [
      ...image(() => articles({ field_image: to('file--file', 'f') }, [file({ url: 'https://cdn.example/a.jpg' })])),
      '!    lists.stories.image: field_image of article leads to https://cdn.example/a.jpg, and the desk shows images of https://cms.example alone, with an address of up to 2048 characters: let Drupal serve the files, or take image out of the list'
    ],
    [
      ...section(plain(articles({}))),
      `!    lists.stories.section: field_section of article is not there: ${correct('section')}, or let anna view the field`
    ],
    [
      ...section(plain(articles({}, [], { field_section: null }))),
      '-    lists.stories.section: field_section of article: none on the first page has a value in it'
    ],
    [
      ...section(plain({ data: articles({}, [], { field_section: [] }).data })),
      '-    lists.stories.section: field_section of article: none on the first page has a value in it'
    ],
    [
      ...section(plain(articles({}, [], { field_section: [4] }))),
      `!    lists.stories.section: field_section of article is neither a reference nor a text: ${correct('section')}`
    ],
    [
      ...section(() => articles({ field_section: to('file--file', 'f') }, [file({ url: '/a' })])),
      `!    lists.stories.section: field_section of article leads to file--file, which shows no label: ${correct('section')}`
    ],
    [...section(() => ({ data: [] })), '-    lists.stories.section: field_section of article: anna sees none on the first page'],
    [
      ...section(() => ({ status: 403, document: { errors: [{ status: '403', detail: 'No.' }] } })),
      '-    lists.stories.section: field_section of article: anna may not list it (No.)'
    ]
  ]
  for (const [look, answer, expected] of cases) t.strictSame(await said(list(look), answer), [expected])
})

t.test('a field that one bundle of a list lacks is not wrong where another has it', async (t) => {
  const answer: Answer = (include, path) =>
    path === '/node/article'
      ? articles({ field_section: to('taxonomy_term--s', 's') }, [{ type: 'taxonomy_term--s', id: 's', attributes: { name: 'Sport' } }])
      : include === undefined
        ? articles({})
        : refused('`field_section` is not a valid relationship field name.')
  t.strictSame(await said({ stories: { entityType: 'node', section: 'field_section' } }, answer), [
    'ok   lists.stories.section: field_section of article',
    '-    lists.stories.section: field_section of brief is not there: it is right of another bundle of the list; the rows of this one have none'
  ])
})
