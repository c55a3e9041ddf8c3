/** What the desk says of the form for a new edition, in English. */
export const en = {
  lookingAtNewest: 'Looking at the newest edition',
  duplicateWith: {
    one: 'Duplicate {title}, with its {count} article',
    other: 'Duplicate {title}, with its {count} articles'
  },
  newestEdition: 'the newest edition',
  makeIt: 'Make it',
  makingIt: 'Making it',
  needed: 'needed',
  isNeeded: 'This is needed.',
  chooseOne: 'Choose one',
  notMadeNeeded: { one: 'Not made: {labels} is needed.', other: 'Not made: {labels} are needed.' },
  made: 'The edition is made',
  madeWithout: {
    one: 'The edition is made, without {count} value that Drupal does not take from you',
    other: 'The edition is made, without {count} values that Drupal does not take from you'
  }
} as const
