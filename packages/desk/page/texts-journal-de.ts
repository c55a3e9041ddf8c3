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
    '{label} ist nicht zurückgeholt: Inzwischen hat jemand anderes gespeichert. Sehen Sie noch einmal nach.',

  // Putting back what an agent did
  putBackSince: 'Zurücknehmen, was er von hier an getan hat',
  askSince: 'Zurücknehmen, was {name} seit {time} getan hat?',
  sinceFields: { one: '{count} Änderung.', other: '{count} Änderungen.' },
  sinceHow:
    'Die neueste zuerst. Was jemand anderes seither geändert hat oder gerade bearbeitet, bleibt, wie es ist.',
  sinceCut: 'Ältere Änderungen bleiben für ein anderes Mal.',
  putSince: 'Zurücknehmen',
  stopSince: 'Anhalten',
  closeSince: 'Schließen',
  sincePutBack: '{count} von {all} zurückgenommen.',
  sinceInPart: 'zum Teil zurückgenommen: Den Rest hat seither jemand geändert.',
  sinceAlready: 'ist schon wie vorher.',
  sinceChanged: 'wurde seither geändert.',
  sinceChangedBy: '{name} hat es seither geändert.',
  sinceHeld: '{name} bearbeitet es gerade.',
  sinceNotHere: 'lässt sich vom Verlauf aus nicht zurücknehmen.',
  sinceNotKept: 'was vorher dastand, ist nicht aufgehoben.'
}
