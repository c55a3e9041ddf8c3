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
  lacks: {
    one: 'This copy lacks {count} value that could not be copied: {names}',
    other: 'This copy lacks {count} values that could not be copied: {names}'
  },
  goneArticle: 'a deleted article'
} as const
