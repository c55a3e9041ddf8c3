import type { Session } from './edition.ts'

type Parkable = Pick<Session, 'id' | 'fields' | 'close'>

/** Editions that were left with a text that is not in its lock yet. They are gone back to as they are, and closed once all is kept. */
export function createParked<One extends Parkable> () {
  const parked = new Map<string, One>()

  /** Closes those that nothing keeps open. */
  function settle (): void {
    for (const session of parked.values()) {
      if (!session.fields.every(({ isKept }) => isKept)) continue
      parked.delete(session.id)
      session.close()
    }
  }

  return {
    /** An edition is left. */
    add (session: One): void {
      for (const field of session.fields) field.blur()
      parked.set(session.id, session)
      settle()
    },
    /** An edition is opened again. */
    take (id: string): One | undefined {
      const session = parked.get(id)
      parked.delete(id)
      return session
    },
    settle,
    all: (): One[] => [...parked.values()]
  }
}
