import { sayer } from './texts.ts'
import { de } from './texts-finder-de.ts'
import { en } from './texts-finder-en.ts'
import { fr } from './texts-finder-fr.ts'

/** A text of the search for articles by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
