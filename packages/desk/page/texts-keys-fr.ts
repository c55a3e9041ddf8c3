import type { LinesOf } from './lines.ts'
import type { en } from './texts-keys-en.ts'

/** What the desk says of the list of keys, in French. */
export const fr: LinesOf<typeof en> = {
  keysSave: 'Enregistrer les modifications',
  keysStep: 'dans le sommaire : déplacer l’article d’une place',
  keysEnds: 'dans le sommaire : mettre l’article en tête ou en fin',
  keysPlace: 'dans le sommaire : taper la place de l’article ; Entrée l’y met',
  keysRemove: 'dans le sommaire : retirer l’article',
  keysFind: 'hors d’un texte : chercher des articles à ajouter ; Entrée ajoute le premier',
  keysUndo: 'hors d’un texte : annuler et rétablir déplacements, retours et suppressions',
  keysList: 'hors d’un texte : cette liste'
}
