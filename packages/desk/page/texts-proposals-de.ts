import type { LinesOf } from './lines.ts'
import type { en } from './texts-proposals-en.ts'

/** What the desk says of proposals, in German. */
export const de: LinesOf<typeof en> = {
  proposes: '{name} schlägt das vor, {time}',
  youPropose: 'Sie schlagen das vor, {time}',
  hasProposed: '{name} schlägt einen Text für {label} vor',
  take: 'Übernehmen',
  ofProposal: ': Vorschlag von {name} für {label}',
  asProposed: '{label}, wie vorgeschlagen',
  yourProposal: 'Ihr Vorschlag für {label}',
  why: 'Warum (freiwillig)',
  proposeIt: 'Vorschlagen',
  isProposed: 'Vorgeschlagen: {label}.',
  notProposed: 'Nicht vorgeschlagen: {reason}',
  notSettled: 'Der Vorschlag ist noch offen: {reason}',
  wasTaken: '{name} hat Ihren Vorschlag für {label} übernommen.',
  wasDiscarded: '{name} hat Ihren Vorschlag für {label} verworfen.',
  somebody: 'Jemand'
}
