/** What the desk says of the list of keys, in English. */
export const en = {
  keysSave: 'Save changes',
  keysStep: 'in the running order: move the article by one place',
  keysEnds: 'in the running order: move it to the first or last place',
  keysPlace: 'in the running order: type the place of the article; Enter moves it there',
  keysRemove: 'in the running order: remove the article',
  keysFind: 'outside a text: search for articles to add; Enter adds the first',
  keysUndo: 'outside a text: undo and redo moves, reverts and discards',
  keysList: 'outside a text: this list'
} as const
