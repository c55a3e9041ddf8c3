/** How long the page waits for an answer, in milliseconds. */
export const ANSWER_MS = 30_000

/** Where a bearer token is kept: by the tab alone, until it is closed. */
export const TOKEN = 'quoin-token'

/**
 * Makes a `fetch` that hands out each early answer once, in the place of a request. A request
 * without a signal ends after ANSWER_MS.
 * @param answers by absolute address
 * @param page the address of the page
 */
export function withAnswers(answers: Map<string, Promise<Response>>, page: string): typeof fetch {
  return (address, init) => {
    const retry = () => fetch(address, { signal: AbortSignal.timeout(ANSWER_MS), ...init })
    const { href } = new URL(String(address), page)
    const answer = (init?.method ?? 'GET') === 'GET' ? answers.get(href) : undefined
    answers.delete(href)
    return answer ? answer.catch(retry) : retry()
  }
}

export function tokenOfTab(): string | null {
  return sessionStorage.getItem(TOKEN)
}

export function bearer(token: string | null): Record<string, string> {
  return token ? { authorization: `Bearer ${token}` } : {}
}
