import type { Kept } from './kept.ts'

/** Where a tab keeps texts that outlive a reload, such as sessionStorage. */
export interface Store {
  getItem (key: string): string | null
  setItem (key: string, value: string): void
}

interface Shelved extends Kept { of: string }

export type Shelf = ReturnType<typeof createShelf>

/** The texts of one editor that are in this window alone, of all editions: they outlive a reload, but not the window. */
export function createShelf (store: Store, uid: string) {
  const key = `quoin-texts-${uid}`
  let texts: Shelved[] = JSON.parse(store.getItem(key) ?? '[]')

  function become (now: Shelved[]): void {
    texts = now
    try {
      store.setItem(key, JSON.stringify(texts))
    } catch {
      // It is full: they are here until the page is left.
    }
  }

  return {
    get isEmpty () { return texts.length === 0 },
    /** Those of what has this name, the newest first. */
    of: (name: string): Kept[] => texts.filter(({ of }) => of === name),
    put: (name: string, kept: Kept): void => become([{ ...kept, of: name }, ...texts]),
    /** Takes off those that are needed no more. */
    drop: (isOver: (kept: Kept) => boolean, name: string): void => become(texts.filter((text) => text.of !== name || !isOver(text)))
  }
}
