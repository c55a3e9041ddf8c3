import type { Texts } from './texts.ts'

/** What the desk says, in German. */
export const de: Texts = {
  // The list of editions
  editions: 'Ausgaben',
  editionNamed: 'Ausgabe {id}',
  newEdition: 'Neue Ausgabe',
  duplicateLatest: 'Letzte Ausgabe duplizieren',
  tryAgain: 'Noch einmal versuchen',
  cmsAwayList: 'Das CMS antwortet nicht. Das ist die Liste von vor {duration}.',
  noEditionsMatch: 'Keine Ausgabe passt dazu.',
  showAll: 'Alle zeigen',
  editionsFound: 'Gefundene Ausgaben',
  lookingForEditions: 'Ausgaben werden gesucht',
  all: 'Alle',
  searchTitles: 'In Titeln suchen',
  bundle: 'Art',
  type: 'Typ',
  status: 'Status',
  published: 'Veröffentlicht',
  notPublished: 'Nicht veröffentlicht',
  key: 'Schlüssel',
  exact: 'genau',
  articleCount: { one: '{count} Artikel', other: '{count} Artikel' },
  editionCount: { one: '{count} Ausgabe', other: '{count} Ausgaben' },
  savedOn: 'gespeichert am {day}',
  atWorkNames: 'Bei der Arbeit: {names}',
  pages: 'Seiten',
  previousPage: 'Vorige Seite',
  nextPage: 'Nächste Seite',
  rangeOf: '{range} von {editions}',
  noEditionsFound: 'Keine Ausgaben gefunden',
  editionsShown: { one: '{count} Ausgabe wird gezeigt', other: '{count} Ausgaben werden gezeigt' },
  editionsFoundCount: { one: '{count} Ausgabe gefunden', other: '{count} Ausgaben gefunden' },

  // People and times
  userNumber: 'Nutzer {uid}',
  since: 'seit {time}',
  seconds: '{count} s',
  minutes: '{count} min',
  hours: '{count} h',
  days: { one: '{count} Tag', other: '{count} Tagen' }
}
