import type { Session } from './edition.ts'

type Leavable = Pick<Session, 'id' | 'fields' | 'orders' | 'close'>

/**
 * Editions that were left with a text that is not in its lock yet, or a running order that is not
 * saved. Reopening one shows it as it was. It is closed once its locks and Drupal have everything.
 */
export function createBackground<One extends Leavable>() {
  const sessions = new Map<string, One>()

  /** Closes the editions that have nothing left to send. */
  function settle(): void {
    for (const session of sessions.values()) {
      if (
        !session.fields.every(({ isKept }) => isKept) ||
        session.orders.some(({ isSaving }) => isSaving)
      ) {
        continue
      }
      sessions.delete(session.id)
      session.close()
    }
  }

  return {
    /** Keeps an edition that the reader leaves. */
    add(session: One): void {
      for (const field of session.fields) field.blur()
      sessions.set(session.id, session)
      settle()
    },
    /** Gives back an edition that the reader opens again. */
    take(id: string): One | undefined {
      const session = sessions.get(id)
      sessions.delete(id)
      return session
    },
    settle,
    all: (): One[] => [...sessions.values()]
  }
}
