import type { Named } from '../../client/src/client.ts'
import type { Field } from './field.ts'
import type { JournalDeps } from './journal.ts'
import type { Item } from './settings.ts'

/** What is known where the history is shown. */
export interface JournalContext {
  uid: string
  types: Named[]
  labelOf: (name: string) => string
  titleOf: (item: Item | undefined) => string
  fieldOf: (name: string) => Field | undefined
  /** Whether closing an edition publishes it. */
  isPublishing: boolean
}

/** The history of an edition, with what it shows. */
export interface JournalPanel {
  load: () => Promise<void>
  /** To be called when something was saved. */
  refresh: () => void
  end: () => void
  view: (context: JournalContext, close: () => void) => unknown
}

/** Loads the script of the history. */
export type LoadJournal = () => Promise<{ createJournalPanel: (deps: JournalDeps) => JournalPanel }>

export type JournalDoor = ReturnType<typeof createJournalDoor>

/** The history of an edition, whose script comes when it is opened first. */
export function createJournalDoor(deps: JournalDeps, load: LoadJournal) {
  const { onChange } = deps
  let isOpen = false
  let isMissing = false
  let panel: JournalPanel | undefined

  return {
    get isOpen() {
      return isOpen
    },
    /** Whether its script could not be loaded: the service is away, or of another release. */
    get isMissing() {
      return isMissing
    },
    get panel() {
      return panel
    },

    async open(): Promise<void> {
      isOpen = true
      isMissing = false
      onChange()
      const module = await load().catch(() => undefined)
      isMissing = module === undefined
      panel ??= module?.createJournalPanel(deps)
      await panel?.load()
      onChange()
    },
    close(): void {
      isOpen = false
      onChange()
    },
    /** To be called when something was saved. */
    refresh(): void {
      if (isOpen) panel?.refresh()
    },
    end: (): void => panel?.end()
  }
}
