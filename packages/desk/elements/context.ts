import type { Client } from '../../client/src/client.ts'
import type { Settings } from '../page/settings.ts'

/** A Quoin and its user, as all elements of a page share it. */
export interface Connection {
  /** Where Quoin is: an absolute address without a slash at its end. */
  url: string
  settings: Settings
  user: { uid: string; name?: string }
  client: Client
  /** Asks for what only the desk needs. @throws {QuoinError} */
  ask: <Body>(path: string, signal?: AbortSignal) => Promise<Body>
}

/** What happens in an element, as its page hears it. */
export type Tell = (event: 'ready' | 'saved' | 'refused' | 'open', detail: object) => boolean

/** What an element gives to the script that fills it. */
export interface PartContext {
  root: ShadowRoot
  connect: () => Promise<Connection>
  /** The edition. */
  id: string
  /** The field that the element shows. */
  fieldName: string | undefined
  /** The reader's languages, the favourite first. */
  languages: string[]
  /** In which times are told; by default that of the site. */
  timeZone: string | undefined
  tell: Tell
}

/** What fills an element. */
export interface Part {
  /** Saves the fields that were changed in the page. */
  save: () => Promise<void>
  close: () => void
}

/** The script that fills one kind of element, in one language. */
export interface PartModule {
  open: (context: PartContext) => Part
}
