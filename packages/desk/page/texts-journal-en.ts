/** What the history of an edition says, in English. */
export const en = {
  close: 'Close the history',
  nothingKept: 'Nothing has been saved yet of which the history is kept.',
  isOff: 'This service keeps no history.',
  notYours: 'The history is for those who may edit this edition.',
  shown: { one: '{count} entry shown', other: '{count} entries shown' },
  who: 'Done by',
  everybody: 'everybody',
  older: 'Older',
  endsHere: 'This page shows the newest {count} entries. The service keeps older ones.',

  // What was done
  create: 'Made',
  update: 'Saved',
  order: 'Running order changed',
  published: 'Published',
  closed: 'Closed',
  restore: 'Put back',
  takeover: '{label} taken over from {name}',
  proposed: 'Text proposed for {label}',
  taken: 'Proposal of {name} for {label} taken',
  discarded: 'Proposal of {name} for {label} discarded',
  withdrawn: 'Proposal for {label} withdrawn',
  outside: 'Changed outside Quoin',
  inDrupal: 'Saved in Drupal',
  unknown: 'Unknown',

  // What became of it
  refused: 'Refused: nothing was saved.',
  uncertain: 'Nobody can tell yet whether this was saved. Compare it with the edition.',
  changedBetween:
    'Between {from} and {to} the edition was changed in Drupal or by another program. What was changed is not known here.',
  changedUnknown:
    'The edition was changed in Drupal or by another program. What was changed is not known here.',
  changedFields: 'Changed: {labels}. What stood there before is not known here.',
  unrecorded: {
    one: '{count} save through Quoin has no entry, since the lock store was away.',
    other: '{count} saves through Quoin have no entry, since the lock store was away.'
  },
  moreFields: {
    one: '{count} more field changed. Its name is not kept.',
    other: '{count} more fields changed. Their names are not kept.'
  },
  tooLargeBefore: 'What stood before is too large for the history.',
  tooLargeAfter: 'What was saved is too large for the history.',
  notShown: 'Changed in a way that this page does not show.',
  fields: { one: '{count} field', other: '{count} fields' },
  yes: 'yes',
  no: 'no',

  // Putting back
  putBefore: 'Put back what stood before',
  putAfter: 'Put back what was saved then',
  putTried: 'Put in what was to be saved',
  ask: 'Put back {label}?',
  replaces: 'What is saved now is replaced, and stays in the history.',
  replacesOrder:
    'The whole order is replaced, with what others have changed in it since. The present one stays in the history.',
  unsaved: 'What you have typed there stays: choose then which of both is to be saved.',
  putNow: 'Put it back',
  isBack: '{label} is put back.',
  isNotBack: '{label} is not put back: {reason}',
  changedMeanwhile: '{label} is not put back: a colleague has saved meanwhile. Look at it again.',

  // Putting back what an agent did
  putBackSince: 'Put back what it did from here on',
  askSince: 'Put back what {name} did since {time}?',
  sinceFields: { one: '{count} change.', other: '{count} changes.' },
  sinceHow: 'The newest first. What somebody else has changed since, or holds, stays as it is.',
  sinceCut: 'Older changes are left for another time.',
  putSince: 'Put them back',
  stopSince: 'Stop',
  closeSince: 'Close',
  sincePutBack: '{count} of {all} put back.',
  sinceInPart: 'put back in part: somebody has changed the rest since.',
  sinceAlready: 'it is as it was before already.',
  sinceChanged: 'it was changed since.',
  sinceChangedBy: '{name} has changed it since.',
  sinceHeld: '{name} is editing it.',
  sinceNotHere: 'the history cannot put it back.',
  sinceNotKept: 'what stood before is not kept.'
} as const
