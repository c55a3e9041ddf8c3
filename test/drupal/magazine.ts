import type { EditionsSite } from './editions-of.ts'
import type { Recipe } from './variants.ts'

/** A magazine made of an exported configuration, whose issues are taxonomy terms. */
export const magazine: Recipe = {
  id: 'magazine',
  names: { jsonapiPath: '/jsonapi' },
  structure: 'magazine-structure.php',
  content: 'magazine-content.php'
}

/** What is compared of it with core REST. */
export const magazineEditions: EditionsSite = {
  recipe: magazine,
  prefixes: { fr: '', de: '/de', en: '/english' },
  entityType: 'taxonomy_term',
  bundles: ['hors_serie', 'numero'],
  path: (id) => `/taxonomy/term/${id}`,
  fields: { id: 'tid', bundle: 'vid', label: 'name', key: 'field_cote' },
  counted: ['changed', 'revision_created', 'revision_id', 'revision_user'],
  targets: { node: ['papier', 'portrait'], taxonomy_term: ['rubrique', 'numero', 'hors_serie'], user: ['user'], file: ['file'] },
  // The terms of the vocabulary rubrique come before those of editions.
  unaliased: (url) =>
    url.replace(/^\/papiers\/(\d+)$/, '/node/$1').replace(/^\/numeros\/(\d+)$/, (_, number) => `/taxonomy/term/${Number(number) + 4}`),
  queries: [
    '',
    'status=1',
    'status=0',
    'q=numéro 1',
    'q=NUMÉRO',
    'q=C-0007',
    'q=nothing',
    'key=C-0020',
    'q=num&status=1&limit=7&offset=3',
    'limit=13&offset=30'
  ]
}
