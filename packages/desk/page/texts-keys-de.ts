import type { LinesOf } from './lines.ts'
import type { en } from './texts-keys-en.ts'

/** What the desk says of the list of keys, in German. */
export const de: LinesOf<typeof en> = {
  keysSave: 'Änderungen speichern',
  keysStep: 'in der Reihenfolge: Artikel um einen Platz verschieben',
  keysEnds: 'in der Reihenfolge: Artikel an den Anfang oder ans Ende',
  keysPlace: 'in der Reihenfolge: Platz des Artikels tippen; Enter verschiebt ihn dorthin',
  keysRemove: 'in der Reihenfolge: Artikel entfernen',
  keysFind:
    'außerhalb eines Textes: Artikel zum Einfügen suchen; die Eingabetaste fügt den ersten ein',
  keysUndo:
    'außerhalb eines Textes: Verschieben, Zurücksetzen und Verwerfen rückgängig machen und wiederholen',
  keysList: 'außerhalb eines Textes: diese Liste'
}
