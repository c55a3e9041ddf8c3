/** What the desk says of proposals, in English. */
export const en = {
  proposes: '{name} proposes this, {time}',
  youPropose: 'You propose this, {time}',
  hasProposed: '{name} proposes a text for {label}',
  take: 'Take it',
  ofProposal: ' the proposal of {name} for {label}',
  asProposed: '{label} as it is proposed',
  yourProposal: 'Your proposal for {label}',
  why: 'Why (optional)',
  proposeIt: 'Propose it',
  isProposed: 'Proposed: {label}.',
  notProposed: 'Not proposed: {reason}',
  notSettled: 'The proposal is still open: {reason}',
  wasTaken: '{name} has taken your proposal for {label}.',
  wasDiscarded: '{name} has discarded your proposal for {label}.',
  somebody: 'Somebody'
} as const
