import type { LinesOf } from './lines.ts'
import type { en } from './texts-maker-en.ts'

/** What the desk says of the form for a new edition, in German. */
export const de: LinesOf<typeof en> = {
  lookingAtNewest: 'Die neueste Ausgabe wird geladen',
  duplicateWith: {
    one: '{title} duplizieren, mit {count} Artikel',
    other: '{title} duplizieren, mit {count} Artikeln'
  },
  newestEdition: 'Neueste Ausgabe',
  makeIt: 'Anlegen',
  makingIt: 'Wird angelegt',
  needed: 'Pflichtfeld',
  isNeeded: 'Das ist ein Pflichtfeld.',
  chooseOne: 'Bitte wählen',
  notMadeNeeded: {
    one: 'Nicht angelegt: {labels} fehlt.',
    other: 'Nicht angelegt: {labels} fehlen.'
  },
  made: 'Die Ausgabe ist angelegt',
  lacks: {
    one: 'Dieser Kopie fehlt {count} Wert, der sich nicht kopieren ließ: {names}',
    other: 'Dieser Kopie fehlen {count} Werte, die sich nicht kopieren ließen: {names}'
  },
  goneArticle: 'ein gelöschter Artikel'
}
