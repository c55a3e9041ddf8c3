import type { LinesOf } from './lines.ts'
import type { en } from './texts-formatted-en.ts'

/** What the editor of formatted texts says, in German. */
export const de: LinesOf<typeof en> = {
  toolbar: 'Format von {label}',
  style: 'Absatzart',
  paragraph: 'Absatz',
  heading: 'Überschrift {level}',
  bold: 'Fett',
  italic: 'Kursiv',
  link: 'Link',
  bullets: 'Aufzählung',
  numbers: 'Nummerierte Liste',
  undo: 'Eingabe rückgängig',
  redo: 'Eingabe wiederholen',
  address: 'Adresse des Links',
  setLink: 'Link setzen',
  removeLink: 'Link entfernen',
  wrongAddress:
    'Ein Link braucht eine Adresse des Webs mit https, einer Mail mit mailto oder dieser Website, wie /node/12.',
  pictureDropped:
    'Ein Bild wurde weggelassen: Dieser Text nimmt nur Wörter. Bilder fügen Sie in Drupal ein.',
  keys: 'Alt+F10 führt zu den Werkzeugen. Strg+B ist fett, Strg+I kursiv, Strg+K ein Link, Strg+Umschalt+8 und 9 sind Listen, Strg+Umschalt+2, 3 und 4 Überschriften, Strg+Umschalt+0 ein Absatz.',
  broken:
    'Dieser Text wird als Quelltext gezeigt: Ein Tag darin ist nicht geschlossen oder steht am falschen Platz, und der Editor würde ihn verändern.',
  loose:
    'Dieser Text wird als Quelltext gezeigt: Ein Teil davon steht in keinem Absatz, und der Editor würde seine Zeilen verändern.',
  unusual: 'Dieser Text wird als Quelltext gezeigt: Er hat Markup, das der Editor verändern würde.',
  long: 'Dieser Text wird als Quelltext gezeigt: Er ist zu lang für den Editor.'
}
