import { sayer } from './texts.ts'
import { de } from './texts-formatted-de.ts'
import { en } from './texts-formatted-en.ts'
import { fr } from './texts-formatted-fr.ts'

/** A text of the editor of formatted texts by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
