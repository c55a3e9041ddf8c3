import type { LinesOf } from './lines.ts'
import type { en } from './texts-formatted-en.ts'

/** What the editor of formatted texts says, in French. */
export const fr: LinesOf<typeof en> = {
  toolbar: 'Mise en forme de {label}',
  style: 'Style',
  paragraph: 'Paragraphe',
  heading: 'Titre {level}',
  bold: 'Gras',
  italic: 'Italique',
  link: 'Lien',
  bullets: 'Liste à puces',
  numbers: 'Liste numérotée',
  undo: 'Annuler la saisie',
  redo: 'Rétablir la saisie',
  address: 'Adresse du lien',
  setLink: 'Poser le lien',
  removeLink: 'Retirer le lien',
  wrongAddress:
    'Un lien demande une adresse du web en https, de courriel en mailto, ou de ce site, comme /node/12.',
  pictureDropped:
    'Une image a été laissée de côté : ce texte ne prend que des mots. Ajoutez les images dans Drupal.',
  keys: 'Alt+F10 mène aux outils. Ctrl+B met en gras, Ctrl+I en italique, Ctrl+K pose un lien, Ctrl+Maj+8 et 9 font des listes, Ctrl+Maj+2, 3 et 4 des titres, Ctrl+Maj+0 un paragraphe.',
  broken:
    'Ce texte est montré sous forme de source : une balise n’y est pas fermée ou n’est pas à sa place, et l’éditeur le modifierait.',
  loose:
    'Ce texte est montré sous forme de source : une partie n’est dans aucun paragraphe, et l’éditeur en modifierait les lignes.',
  unusual:
    'Ce texte est montré sous forme de source : il contient du balisage que l’éditeur modifierait.',
  long: 'Ce texte est montré sous forme de source : il est trop long pour l’éditeur.'
}
