/**
 * What the desk says, in English. `{name}` becomes a value; a number chooses between `one` and `other` as `count`. A key in
 * capitals is a code of the service.
 */
export const en = {
  // The list of editions
  editions: 'Editions',
  editionNamed: 'Edition {id}',
  newEdition: 'New edition',
  duplicateLatest: 'Duplicate yesterday’s',
  tryAgain: 'Try again',
  cmsAwayList: 'The CMS does not answer. This is the list as it was {duration} ago.',
  noEditionsMatch: 'No editions match.',
  showAll: 'Show all',
  editionsFound: 'Editions found',
  lookingForEditions: 'Looking for editions',
  all: 'All',
  searchTitles: 'Search titles',
  bundle: 'Bundle',
  type: 'Type',
  status: 'Status',
  published: 'Published',
  notPublished: 'Not published',
  key: 'Key',
  exact: 'exact',
  articleCount: { one: '{count} article', other: '{count} articles' },
  editionCount: { one: '{count} edition', other: '{count} editions' },
  savedOn: 'saved {day}',
  atWorkNames: '{names} at work',
  pages: 'Pages',
  previousPage: 'Previous page',
  nextPage: 'Next page',
  rangeOf: '{range} of {editions}',
  noEditionsFound: 'No editions found',
  editionsShown: { one: '{count} edition shown', other: '{count} editions shown' },
  editionsFoundCount: { one: '{count} edition found', other: '{count} editions found' },

  // People and times
  userNumber: 'User {uid}',
  since: 'since {time}',
  seconds: '{count} s',
  minutes: '{count} min',
  hours: '{count} h',
  days: { one: '{count} day', other: '{count} days' }
} as const
