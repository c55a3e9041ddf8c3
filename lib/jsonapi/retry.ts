import { setTimeout as sleep } from 'node:timers/promises'
import { isFailing } from './breaker.ts'
import type { HttpAnswer } from './client.ts'

/** Errors of a connection that another one may do without: refused, reset, or closed while it was idle. */
const PASSING = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/** What a gateway says of a CMS that is being restarted. */
const GATEWAY = [502, 503, 504]

/** Shortest pause before the second try, in milliseconds; the longest is three times as long. */
const PAUSE_MS = 50

/**
 * Sends a read; once more, after a moment of random length, where that may do.
 * @param deadline of both tries together
 */
export async function twice (send: () => Promise<HttpAnswer>, deadline: AbortSignal): Promise<HttpAnswer> {
  try {
    const answer = await send()
    if (!GATEWAY.includes(answer.status) || !isFailing(answer) || answer.headers['retry-after'] !== undefined) return answer
  } catch (error) {
    if (!PASSING.includes(String(((error as Error).cause as NodeJS.ErrnoException).code))) throw error
  }
  await sleep(PAUSE_MS * (1 + 2 * Math.random()), undefined, { signal: deadline }).catch(() => {})
  return send()
}
