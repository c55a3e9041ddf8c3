/** The part of a window that is used. */
export interface Scrolled {
  readonly scrollY: number
  readonly innerHeight: number
  scrollTo: (x: number, y: number) => void
  history: {
    readonly state: unknown
    replaceState: (state: unknown, unused: string) => void
    scrollRestoration: 'auto' | 'manual'
  }
  readonly sessionStorage: Pick<Storage, 'getItem' | 'setItem'>
  document: { documentElement: { readonly scrollHeight: number } }
}

/** Under what a tab keeps where its reader was. */
const KEY = 'quoin-scroll'

/**
 * Where the reader was on each page of the history. The browser cannot know: what it goes back to
 * is read from the service first.
 */
export function createScroll(window: Scrolled) {
  const { history } = window
  history.scrollRestoration = 'manual'
  const places = new Map<string, number>()
  let entry = nameEntry()
  /** Where to go as soon as the page is high enough. */
  let wanted = kept()

  /** The name of the entry that is shown, which it gets when it is shown first. */
  function nameEntry(): string {
    const noted = (history.state as { entry: string } | null)?.entry
    if (noted !== undefined) return noted
    const name = Math.random().toString(36).slice(2)
    history.replaceState({ entry: name }, '')
    return name
  }

  /** Where the reader was when this entry was left to be loaded again. */
  function kept(): number | undefined {
    try {
      const [of, y] = (window.sessionStorage.getItem(KEY) ?? '').split(' ')
      return of === entry ? Number(y) : undefined
    } catch {
      return undefined
    }
  }

  return {
    /** To be called when the address is another. @returns whether the reader came back */
    turn(): boolean {
      places.set(entry, window.scrollY)
      const isNew = history.state === null
      entry = nameEntry()
      wanted = isNew ? undefined : places.get(entry)
      return wanted !== undefined
    },
    /** To be called when the page is shown anew. */
    settle(): void {
      const { scrollHeight } = window.document.documentElement
      if (wanted === undefined || scrollHeight - window.innerHeight < wanted) return
      window.scrollTo(0, wanted)
      wanted = undefined
    },
    /** The reader goes elsewhere by themselves. */
    stay(): void {
      wanted = undefined
    },
    /** The page is left. */
    keep(): void {
      try {
        window.sessionStorage.setItem(KEY, `${entry} ${window.scrollY}`)
      } catch {
        // The browser forbids it: the page is shown from its top when it is loaded again.
      }
    }
  }
}
