import { sayer } from './texts.ts'
import { de } from './texts-proposals-de.ts'
import { en } from './texts-proposals-en.ts'
import { fr } from './texts-proposals-fr.ts'

/** A text of the proposals by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
