import type { FastifyInstance } from 'fastify'
import type { Edition, EditionsSite } from './editions-of.ts'
import { startService } from './quoin.ts'
import { startRecipe, type RunningSite } from './site.ts'
import type { Recipe } from './variants.ts'

/** What php/nodes-content.php made. */
export interface NodesContent {
  /** User ids by name. */
  users: Record<string, number>
  /** Ids of articles and pages by their number, from 1; the last two are gone. */
  stories: Record<string, number>
  photos: number[]
  sections: number[]
  /** Ids of issues and supplements, in the order in which they were made. */
  editions: number[]
  /** Those that have a draft over what is published; the last one has it in English alone. */
  pending: number[]
  cases: Record<'bare' | 'odd' | 'twice' | 'many' | 'dangling' | 'hiddenTargets' | 'und' | 'translated' | 'archived', number>
}

export type NodesSite = RunningSite<NodesContent>

/** The prefixes of its languages in paths; Dutch is the default. */
export const nodesPrefixes: Record<string, string> = { nl: '', en: '/en', fr: '/fr' }

export const nodesJsonapiPath = '/cms/data'

/** A newsroom whose editions are nodes under moderation: bundles issue and supplement, beside article and page. */
export const nodes: Recipe = {
  id: 'nodes',
  names: { jsonapiPath: nodesJsonapiPath },
  structure: 'nodes-structure.php',
  content: 'nodes-content.php'
}

export function startNodes(workers?: number): Promise<NodesSite> {
  return startRecipe<NodesContent>(nodes, workers)
}

/** The service beside it. @param model the file of a content model @param prefix of the language that it asks in */
export function startNodesQuoin(
  { url }: NodesSite,
  model: string = new URL('content-model-nodes.json', import.meta.url).pathname,
  prefix = '',
  env: Record<string, string> = {}
): Promise<FastifyInstance> {
  return startService(url, { CMS_JSONAPI_PATH: prefix + nodesJsonapiPath, CONTENT_MODEL: model, ...env })
}

/** What is compared of it with core REST. */
export const nodesEditions: EditionsSite = {
  recipe: nodes,
  prefixes: nodesPrefixes,
  entityType: 'node',
  bundles: ['issue', 'supplement'],
  path: (id) => `/node/${id}`,
  fields: { id: 'nid', bundle: 'type', label: 'title', key: 'field_number' },
  counted: ['changed', 'revision_timestamp', 'revision_uid', 'vid'],
  targets: { node: ['article', 'page', 'issue', 'supplement'], taxonomy_term: ['sections'], user: ['user'], file: ['file'] },
  unaliased: (url) => url.replace(/^\/stuk\/(\d+)$/, '/node/$1'),
  queries: [
    '',
    'status=1',
    'status=0',
    'q=editie',
    'q=ÉDITION',
    'q=issue-0007',
    'q=nothing',
    'key=supplement-0080',
    'q=edit&status=1&limit=7&offset=3',
    'limit=13&offset=60'
  ]
}

const value = (...values: unknown[]) => values.map((value) => ({ value }))
const ids = (...numbers: number[]) => numbers.map((id) => ({ target_id: id }))

/** A save that is recorded. */
export interface AskedSave {
  name: string
  user: string
  /** Of the edition. */
  id: number
  /** What is sent of the edition as it is. */
  change: (edition: Edition) => Edition
}

const title = () => ({ title: value('Een andere titel') })
const reversed = ({ field_stories: items }: Edition) => ({ field_stories: items!.toReversed() })
const unchanged = (edition: Edition) => edition

/** A value for each kind of field. */
const filled = (target: number) => ({
  field_day: value('2026-03-04'),
  field_online: value('2026-03-04T05:06:07+01:00'),
  field_expires: value('2026-04-05T06:07:08+00:00'),
  field_intro: [{ value: '<p>Nieuw</p>', format: 'basic_html' }],
  field_link: [{ uri: 'https://example.com/nieuw', title: 'Nieuw' }],
  field_labels: value('a', 'b'),
  field_section: ids(1),
  field_photos: ids(2, 1),
  field_also: ids(target),
  field_featured: value(true),
  field_pages: value(12),
  field_price: value('3.75'),
  field_rating: value(2.5)
})

/** The saves that are recorded, in a language. */
export function savesAsked(content: NodesContent, language: string): AskedSave[] {
  return language === 'nl' ? savesOfOriginals(content) : savesOfTranslations(content, language)
}

function savesOfOriginals({ editions, pending, cases, stories }: NodesContent): AskedSave[] {
  const withStory = ({ field_stories: items = [] }: Edition) => ({
    field_stories: [...items.slice(0, 1), ...ids(stories[11]!), ...items.slice(1)]
  })
  const saves: Array<[name: string, id: number, change: AskedSave['change']]> = [
    ['a title', editions[0]!, title],
    ['stories in another order', editions[2]!, reversed],
    ['a story between others', editions[4]!, withStory],
    ['an edition as it is', editions[5]!, unchanged],
    ['another state', editions[8]!, () => ({ moderation_state: value('published') })],
    ['every kind of field', editions[1]!, () => filled(editions[0]!)],
    ['an edition with references to what is gone', cases.dangling, unchanged],
    ['no title', editions[9]!, () => ({ title: [] })],
    ['a number that is none', editions[9]!, () => ({ field_pages: value(-1) })],
    ['a story that does not exist', editions[9]!, () => ({ field_stories: ids(99999) })],
    ['a title, where a draft is pending', pending[0]!, title]
  ]
  return [
    ...saves.map(([name, id, change]) => ({ name, user: 'editor', id, change })),
    {
      name: 'a time that is set for the first time',
      user: 'admin',
      id: editions[5]!,
      change: () => ({ publish_on: value('2026-12-24T18:00:00+00:00') })
    },
    { name: 'a title, by who may not', user: 'reader', id: editions[0]!, change: title },
    { name: 'an edition as it is, by who may not', user: 'reader', id: editions[2]!, change: unchanged }
  ]
}

function savesOfTranslations({ editions, cases, stories }: NodesContent, language: string): AskedSave[] {
  const translation = language === 'fr' ? cases.translated : editions[4]!
  const original = editions[language === 'fr' ? 1 : 3]!
  const withStory = ({ field_stories: items = [] }: Edition) => ({ field_stories: [...items, ...ids(stories[9]!)] })
  const saves: Array<[name: string, id: number, change: AskedSave['change']]> = [
    ['the title of a translation', translation, title],
    ['the stories of a translation in another order', translation, reversed],
    ['a story more in a translation', translation, withStory],
    ['the title of an original', original, title],
    ['an edition as it is', original, unchanged]
  ]
  return saves.map(([name, id, change]) => ({ name, user: 'editor', id, change }))
}
