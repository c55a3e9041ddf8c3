import type { EditionsSite } from './editions-of.ts'
import type { Recipe } from './variants.ts'

/** Core's own demonstration, a food magazine whose recipes are taken for editions. */
export const umami: Recipe = {
  id: 'umami',
  names: { jsonapiPath: '/jsonapi' },
  structure: 'umami-structure.php',
  content: 'umami-content.php',
  profile: 'demo_umami'
}

/** What is compared of it with core REST. It puts a prefix before each language, but answers without one too. */
export const umamiEditions: EditionsSite = {
  recipe: umami,
  prefixes: { en: '/en', es: '/es' },
  entityType: 'node',
  bundles: ['recipe'],
  path: (id) => `/node/${id}`,
  fields: { id: 'nid', bundle: 'type', label: 'title' },
  counted: ['changed', 'revision_timestamp', 'revision_uid', 'vid'],
  targets: { node: ['article', 'page', 'recipe'], taxonomy_term: ['recipe_category', 'tags'], user: ['user'], file: ['file'] },
  unaliased: (url) => url,
  queries: ['', 'status=1', 'status=0', 'q=cake', 'q=CHOCOLATE', 'q=nothing', 'q=e&status=1&limit=3&offset=2', 'limit=4&offset=3']
}
