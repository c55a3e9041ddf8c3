import { setTimeout as sleep } from 'node:timers/promises'
import { isFailing } from './breaker.ts'
import type { HttpAnswer } from './exchange.ts'

/** Errors of a connection that another one may do without: refused, reset, or closed while it was idle. */
const PASSING = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/** What a gateway says of a CMS that is being restarted. */
const GATEWAY = [502, 503, 504]

/** Shortest pause before the second try, in milliseconds; the longest is three times as long. */
const PAUSE_MS = 50

/**
 * Sends a read; once more, after a moment of random length, where that may do and there is time for it.
 * @param deadline of both tries together, as performance.now() tells the time
 * @param repeated called before the second
 */
export async function retryOnce (send: () => Promise<HttpAnswer>, deadline: number, repeated: () => void = () => {}): Promise<HttpAnswer> {
  const pause = PAUSE_MS * (1 + 2 * Math.random())
  const isTime = () => performance.now() + pause < deadline
  try {
    const answer = await send()
    if (!GATEWAY.includes(answer.status) || !isFailing(answer) || answer.headers['retry-after'] !== undefined || !isTime()) return answer
  } catch (error) {
    if (!PASSING.includes(String(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code)) || !isTime()) throw error
  }
  await sleep(pause)
  repeated()
  return send()
}
