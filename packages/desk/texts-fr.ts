import type { Texts } from './texts.ts'

/** What the desk says, in French. */
export const fr: Texts = {
  // The list of editions
  editions: 'Éditions',
  editionNamed: 'Édition {id}',
  newEdition: 'Nouvelle édition',
  duplicateLatest: 'Dupliquer la dernière édition',
  tryAgain: 'Réessayer',
  cmsAwayList: 'Le CMS ne répond pas. Voici la liste telle qu’elle était il y a {duration}.',
  noEditionsMatch: 'Aucune édition ne correspond.',
  showAll: 'Tout afficher',
  editionsFound: 'Éditions trouvées',
  lookingForEditions: 'Recherche des éditions',
  all: 'Toutes',
  searchTitles: 'Chercher dans les titres',
  bundle: 'Catégorie',
  type: 'Type',
  status: 'Statut',
  published: 'Publié',
  notPublished: 'Non publié',
  key: 'Clé',
  exact: 'exacte',
  articleCount: { one: '{count} article', other: '{count} articles' },
  editionCount: { one: '{count} édition', other: '{count} éditions' },
  savedOn: 'enregistrée le {day}',
  atWorkNames: 'Au travail : {names}',
  pages: 'Pages',
  previousPage: 'Page précédente',
  nextPage: 'Page suivante',
  rangeOf: '{range} sur {editions}',
  noEditionsFound: 'Aucune édition trouvée',
  editionsShown: { one: '{count} édition affichée', other: '{count} éditions affichées' },
  editionsFoundCount: { one: '{count} édition trouvée', other: '{count} éditions trouvées' },

  // People and times
  userNumber: 'Utilisateur {uid}',
  since: 'depuis {time}',
  seconds: '{count} s',
  minutes: '{count} min',
  hours: '{count} h',
  days: { one: '{count} jour', other: '{count} jours' }
}
