import type { LinesOf } from './lines.ts'
import type { en } from './texts-proposals-en.ts'

/** What the desk says of proposals, in French. */
export const fr: LinesOf<typeof en> = {
  proposes: '{name} propose ceci, {time}',
  youPropose: 'Vous proposez ceci, {time}',
  hasProposed: '{name} propose un texte pour {label}',
  take: 'Accepter',
  ofProposal: ' la proposition de {name} pour {label}',
  asProposed: '{label} comme proposé',
  yourProposal: 'Votre proposition pour {label}',
  why: 'Pourquoi (facultatif)',
  proposeIt: 'Proposer',
  isProposed: 'Proposé : {label}.',
  notProposed: 'Pas proposé : {reason}',
  notSettled: 'La proposition est toujours ouverte : {reason}',
  wasTaken: '{name} a accepté votre proposition pour {label}.',
  wasDiscarded: '{name} a rejeté votre proposition pour {label}.',
  somebody: 'Quelqu’un'
}
