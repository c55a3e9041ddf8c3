import { sayer } from './texts.ts'
import { de } from './texts-keys-de.ts'
import { en } from './texts-keys-en.ts'
import { fr } from './texts-keys-fr.ts'

/** A text of the list of keys by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
