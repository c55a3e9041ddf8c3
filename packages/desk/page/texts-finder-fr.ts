import type { LinesOf } from './lines.ts'
import type { en } from './texts-finder-en.ts'

/** What the search for articles says, in French. */
export const fr: LinesOf<typeof en> = {
  atPlace: 'À la place',
  end: 'fin',
  enterAdds: 'Entrée ajoute le premier résultat.',
  noArticlesMatch: 'Aucun article ne correspond.',
  articlesFound: 'Articles trouvés',
  add: 'Ajouter',
  addTitle: 'Ajouter {title}',
  placeNumber: 'place {place}',
  list: 'Liste',
  filters: 'Filtres',
  filtersOn: { one: 'Filtres, {count} actif', other: 'Filtres, {count} actifs' },
  section: 'Rubrique',
  anySection: 'toutes',
  sectionsMissing: 'Les rubriques ne sont pas disponibles pour l’instant.',
  sectionsPartly:
    'Il existe peut-être d’autres rubriques : celles-ci viennent des articles les plus récents.',
  noSections: 'Les articles les plus récents n’ont pas de rubrique.',
  status: 'État',
  anyStatus: 'tous',
  changedSince: 'Modifié depuis',
  notPlaced: 'Dans aucune édition',
  cannotTellPlaced: 'Il y a trop d’éditions pour dire où sont les articles.',
  more: 'Plus d’articles',
  readingMore: 'Recherche en cours',
  noneOfThese: 'Aucun des articles récents ne correspond. Le bouton ci-dessous cherche plus loin.',
  select: 'Choisir {title}',
  addSelected: { one: 'Ajouter {count} article', other: 'Ajouter {count} articles' },
  unselect: 'Ne rien choisir'
}
