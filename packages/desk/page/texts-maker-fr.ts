import type { LinesOf } from './lines.ts'
import type { en } from './texts-maker-en.ts'

/** What the desk says of the form for a new edition, in French. */
export const fr: LinesOf<typeof en> = {
  lookingAtNewest: 'Lecture de la dernière édition',
  duplicateWith: {
    one: 'Dupliquer {title}, avec son article ({count})',
    other: 'Dupliquer {title}, avec ses {count} articles'
  },
  newestEdition: 'la dernière édition',
  makeIt: 'Créer',
  makingIt: 'Création',
  needed: 'obligatoire',
  isNeeded: 'Ce champ est obligatoire.',
  chooseOne: 'Choisissez',
  notMadeNeeded: {
    one: 'Non créée : {labels} est obligatoire.',
    other: 'Non créée : {labels} sont obligatoires.'
  },
  made: 'L’édition est créée',
  lacks: {
    one: 'Il manque à cette copie {count} valeur qui n’a pas pu être copiée : {names}',
    other: 'Il manque à cette copie {count} valeurs qui n’ont pas pu être copiées : {names}'
  },
  goneArticle: 'un article supprimé'
}
