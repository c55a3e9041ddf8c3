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
  const places = new Map<number, number>()
  let latest = Date.now()
  let entry = number()
  /** Where to go as soon as the page is high enough. */
  let wanted = kept()

  /** The number of the entry that is shown, which it gets when it is shown first. */
  function number(): number {
    const noted = (history.state as { entry: number } | null)?.entry
    if (noted === undefined) history.replaceState({ entry: ++latest }, '')
    return noted ?? latest
  }

  /** Where the reader was when this entry was left to be loaded again. */
  function kept(): number | undefined {
    try {
      const [of, y] = (window.sessionStorage.getItem(KEY) ?? '').split(' ').map(Number)
      return of === entry ? y : undefined
    } catch {
      return undefined
    }
  }

  return {
    /** To be called when the address is another. @returns whether the reader came back */
    turn(): boolean {
      places.set(entry, window.scrollY)
      const isNew = history.state === null
      entry = number()
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
