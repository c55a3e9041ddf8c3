import { setTimeout as sleep } from 'node:timers/promises'
import { isFailing } from './breaker.ts'
import type { HttpAnswer } from './exchange.ts'

/** Connection errors that a new connection may not have: refused, reset, or closed while idle. */
const PASSING = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/** What a gateway answers while the CMS restarts. */
const GATEWAY = [502, 503, 504]

/** Shortest pause before the second try, in milliseconds; the longest is three times as long. */
const PAUSE_MS = 50

/**
 * Sends a read. Retries it once, after a random pause, where a retry may help and the deadline allows it.
 * @param deadline of both tries, in milliseconds of performance.now()
 * @param repeated called before the second try
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
