declare global {
  interface Window {
    /** The answers to what the page has asked for before its script was there, by address. */
    early?: Map<string, Promise<Response>>
  }
}

/** How long an answer may take that the page waits for, in milliseconds. */
export const ANSWER_MS = 30_000

/** Fetches; what was asked for early is not asked for again, once. */
export function fetchOnce (...[address, init]: Parameters<typeof fetch>): Promise<Response> {
  const { href } = new URL(String(address), location.href)
  const answer = (init?.method ?? 'GET') === 'GET' ? window.early?.get(href) : undefined
  window.early?.delete(href)
  return answer ? answer.catch(() => fetch(address, init)) : fetch(address, init)
}
