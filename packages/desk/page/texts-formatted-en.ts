/** What the editor of formatted texts says, in English. */
export const en = {
  toolbar: 'Format of {label}',
  style: 'Style',
  paragraph: 'Paragraph',
  heading: 'Heading {level}',
  bold: 'Bold',
  italic: 'Italic',
  link: 'Link',
  bullets: 'Bulleted list',
  numbers: 'Numbered list',
  undo: 'Undo typing',
  redo: 'Redo typing',
  address: 'Address of the link',
  setLink: 'Set the link',
  removeLink: 'Remove the link',
  wrongAddress:
    'A link needs an address of the web with https, of a mail with mailto, or of this site, such as /node/12.',
  pictureDropped: 'A picture is left out: this text takes words alone. Add pictures in Drupal.',
  keys: 'Alt+F10 leads to the tools. Ctrl+B is bold, Ctrl+I italic, Ctrl+K a link, Ctrl+Shift+8 and 9 are lists, Ctrl+Shift+2, 3 and 4 headings, Ctrl+Shift+0 a paragraph.',
  broken:
    'This text is shown as its source: it has a tag that is not closed or not in its place, and the editor would change it.',
  loose:
    'This text is shown as its source: a part of it is in no paragraph, and the editor would change its lines.',
  unusual: 'This text is shown as its source: it has markup that the editor would change.',
  long: 'This text is shown as its source: it is too long for the editor.'
} as const
