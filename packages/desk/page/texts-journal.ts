import { sayer } from './texts.ts'
import { de } from './texts-journal-de.ts'
import { en } from './texts-journal-en.ts'
import { fr } from './texts-journal-fr.ts'

/** A text of the history by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
