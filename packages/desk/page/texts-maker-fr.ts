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
  madeWithout: {
    one: 'L’édition est créée, sans {count} valeur que Drupal n’accepte pas de vous',
    other: 'L’édition est créée, sans {count} valeurs que Drupal n’accepte pas de vous'
  }
}
