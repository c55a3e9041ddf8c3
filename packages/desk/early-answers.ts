/** How long an answer may take that the page waits for, in milliseconds. */
export const ANSWER_MS = 30_000

/** Where a bearer token is kept: by the tab alone, until it is closed. */
export const TOKEN = 'quoin-token'

/**
 * Fetches. The first time it hands out what the page has asked for early. Without a signal of its own a request ends after
 * ANSWER_MS.
 * @param answers by absolute address
 * @param page the address of the page
 */
export function withAnswers (answers: Map<string, Promise<Response>>, page: string): typeof fetch {
  return (address, init) => {
    const again = () => fetch(address, { signal: AbortSignal.timeout(ANSWER_MS), ...init })
    const { href } = new URL(String(address), page)
    const answer = (init?.method ?? 'GET') === 'GET' ? answers.get(href) : undefined
    answers.delete(href)
    return answer ? answer.catch(again) : again()
  }
}

export function tokenOfTab (): string | null {
  return sessionStorage.getItem(TOKEN)
}

export function bearer (token: string | null): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {}
}
