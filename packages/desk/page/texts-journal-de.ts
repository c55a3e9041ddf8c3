import type { LinesOf } from './lines.ts'
import type { en } from './texts-journal-en.ts'

/** What the history of an edition says, in German. */
export const de: LinesOf<typeof en> = {
  close: 'Verlauf schließen',
  nothingKept: 'Bisher wurde nichts gespeichert, wovon der Verlauf aufgehoben wird.',
  isOff: 'Dieser Dienst hebt keinen Verlauf auf.',
  notYours: 'Der Verlauf ist für die, die diese Ausgabe bearbeiten dürfen.',
  shown: { one: '{count} Eintrag', other: '{count} Einträge' },
  who: 'Von',
  everybody: 'allen',
  older: 'Ältere',
  endsHere: 'Diese Seite zeigt die neuesten {count} Einträge. Der Dienst hat ältere.',

  // What was done
  create: 'Angelegt',
  update: 'Gespeichert',
  order: 'Reihenfolge geändert',
  published: 'Veröffentlicht',
  closed: 'Abgeschlossen',
  restore: 'Zurückgeholt',
  takeover: '{label} übernommen von {name}',
  proposed: 'Text vorgeschlagen für {label}',
  taken: 'Vorschlag von {name} für {label} angenommen',
  discarded: 'Vorschlag von {name} für {label} verworfen',
  withdrawn: 'Vorschlag für {label} zurückgezogen',
  outside: 'Außerhalb von Quoin geändert',
  inDrupal: 'In Drupal gespeichert',
  unknown: 'Unbekannt',

  // What became of it
  refused: 'Abgelehnt: Es wurde nichts gespeichert.',
  uncertain: 'Noch weiß niemand, ob das gespeichert wurde. Vergleichen Sie es mit der Ausgabe.',
  changedBetween:
    'Zwischen {from} und {to} wurde die Ausgabe in Drupal oder von einem anderen Programm geändert. Was sich geändert hat, ist hier nicht bekannt.',
  changedUnknown:
    'Die Ausgabe wurde in Drupal oder von einem anderen Programm geändert. Was sich geändert hat, ist hier nicht bekannt.',
  changedFields: 'Geändert: {labels}. Was vorher dort stand, ist hier nicht bekannt.',
  unrecorded: {
    one: '{count} Speichern über Quoin hat keinen Eintrag, weil der Sperrspeicher nicht erreichbar war.',
    other:
      '{count} Speichervorgänge über Quoin haben keinen Eintrag, weil der Sperrspeicher nicht erreichbar war.'
  },
  moreFields: {
    one: '{count} weiteres Feld wurde geändert. Sein Name ist nicht aufgehoben.',
    other: '{count} weitere Felder wurden geändert. Ihre Namen sind nicht aufgehoben.'
  },
  tooLargeBefore: 'Was vorher dastand, ist zu groß für den Verlauf.',
  tooLargeAfter: 'Was gespeichert wurde, ist zu groß für den Verlauf.',
  notShown: 'Auf eine Weise geändert, die diese Seite nicht zeigt.',
  fields: { one: '{count} Feld', other: '{count} Felder' },
  yes: 'ja',
  no: 'nein',

  // Putting back
  putBefore: 'Zurückholen, was vorher dastand',
  putAfter: 'Zurückholen, was damals gespeichert wurde',
  putTried: 'Übernehmen, was gespeichert werden sollte',
  ask: '{label} zurückholen?',
  replaces: 'Was jetzt gespeichert ist, wird ersetzt und bleibt im Verlauf.',
  replacesOrder:
    'Die ganze Reihenfolge wird ersetzt, samt dem, was andere seither daran geändert haben. Die jetzige bleibt im Verlauf.',
  unsaved:
    'Was Sie dort getippt haben, bleibt: Wählen Sie danach, was von beidem gespeichert wird.',
  putNow: 'Jetzt zurückholen',
  isBack: '{label} ist zurückgeholt.',
  isNotBack: '{label} ist nicht zurückgeholt: {reason}',
  changedMeanwhile:
    '{label} ist nicht zurückgeholt: Inzwischen hat jemand anderes gespeichert. Sehen Sie noch einmal nach.'
}
