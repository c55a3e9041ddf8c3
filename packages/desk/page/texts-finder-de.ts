import type { LinesOf } from './lines.ts'
import type { en } from './texts-finder-en.ts'

/** What the search for articles says, in German. */
export const de: LinesOf<typeof en> = {
  atPlace: 'Auf Platz',
  end: 'Ende',
  enterAdds: 'Die Eingabetaste fügt den ersten Treffer ein.',
  noArticlesMatch: 'Kein Artikel passt dazu.',
  articlesFound: 'Gefundene Artikel',
  add: 'Einfügen',
  addTitle: 'Einfügen: {title}',
  placeNumber: 'Platz {place}',
  list: 'Liste',
  filters: 'Filter',
  filtersOn: { one: 'Filter, {count} ist gesetzt', other: 'Filter, {count} sind gesetzt' },
  section: 'Ressort',
  anySection: 'alle',
  sectionsMissing: 'Die Ressorts sind gerade nicht zu haben.',
  sectionsPartly: 'Vielleicht gibt es weitere Ressorts: Diese zeigen die neuesten Artikel.',
  noSections: 'Die neuesten Artikel zeigen kein Ressort.',
  status: 'Status',
  anyStatus: 'alle',
  changedSince: 'Geändert seit',
  notPlaced: 'Noch in keiner Ausgabe',
  cannotTellPlaced: 'Es gibt zu viele Ausgaben, um zu sagen, wo Artikel stehen.',
  more: 'Mehr Artikel',
  readingMore: 'Sucht weiter',
  noneOfThese:
    'Von den neuesten Artikeln passt keiner. Mit der Schaltfläche darunter suchen Sie weiter zurück.',
  select: 'Auswählen: {title}',
  addSelected: { one: '{count} Artikel einfügen', other: '{count} Artikel einfügen' },
  unselect: 'Auswahl aufheben'
}
