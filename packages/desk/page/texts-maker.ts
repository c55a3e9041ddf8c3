import { sayer } from './texts.ts'
import { de } from './texts-maker-de.ts'
import { en } from './texts-maker-en.ts'
import { fr } from './texts-maker-fr.ts'

/** A text of the form for a new edition by its key, in the reader's language. */
export const sayHere = sayer<typeof en>({ en, de, fr })
