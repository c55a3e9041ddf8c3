import { BrokenCircuitError, circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import { Failure } from '../errors.ts'
import type { HttpAnswer } from './client.ts'
import { isJson } from './media-type.ts'

/** closed: requests go to the CMS; open: none does; half-open: one tries it out, and no other goes. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Leaves a CMS that fails in peace, and callers without a wait. */
export interface Breaker {
  state (): BreakerState
  /**
   * Sends a request, or not.
   * @throws {Failure} CMS_UNAVAILABLE with Retry-After where it was not sent
   */
  run (send: () => Promise<HttpAnswer>): Promise<HttpAnswer>
}

export interface BreakerOptions {
  /** After how many failures in a row it opens. */
  failures?: number
  /** How long it stays open before one request tries the CMS out, in milliseconds. */
  restMs?: number
  /** Told of each change. */
  changed?: (state: BreakerState) => void
}

const STATES = { [CircuitState.Closed]: 'closed', [CircuitState.Open]: 'open', [CircuitState.HalfOpen]: 'half-open', [CircuitState.Isolated]: 'open' } as const

/** So many that one edition on which Drupal fails, asked for again and again, hardly shuts out the others. */
const FAILURES = 10
const REST_MS = 5000

/** A circuit breaker over consecutive failures: no answer, none in time, or one of a CMS that fails (`isFailing`). */
export function createBreaker ({ failures = FAILURES, restMs = REST_MS, changed = () => {} }: BreakerOptions = {}): Breaker {
  const policy = circuitBreaker(handleWhen(isTransport).orWhenResult((answer) => isFailing(answer as HttpAnswer)), {
    halfOpenAfter: restMs,
    breaker: new ConsecutiveBreaker(failures)
  })
  let opened = 0
  policy.onBreak(() => { opened = Date.now() })
  policy.onStateChange((state) => changed(STATES[state]))

  async function run (send: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    // The library would have the others wait for the one that tries.
    if (policy.state === CircuitState.HalfOpen) throw notSent()
    try {
      return await policy.execute(send)
    } catch (error) {
      throw error instanceof BrokenCircuitError ? notSent() : error
    }
  }

  function notSent (): Failure {
    const seconds = Math.max(1, Math.ceil((opened + restMs - Date.now()) / 1000))
    const last = policy.lastFailure as { error: Error } | { value: HttpAnswer }
    const reason = 'error' in last ? last.error.message : `status ${last.value.status}`
    return new Failure('CMS_UNAVAILABLE', `The CMS has failed repeatedly (circuit breaker ${STATES[policy.state]}): nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`, {
      headers: { 'retry-after': String(seconds) },
      cause: new Error(`not sent after ${failures} failures in a row, the last of them: ${reason}`, { cause: 'error' in last ? last.error : undefined })
    })
  }

  return { state: () => STATES[policy.state], run }
}

function isTransport (error: unknown): boolean {
  return error instanceof Failure && (error.code === 'CMS_TIMEOUT' || error.code === 'CMS_UNREACHABLE')
}

/**
 * Whether an answer tells of a CMS in need of rest: 5xx, but not maintenance, which Drupal answers quickly, by itself and
 * not to its administrators (Drupal\jsonapi\EventSubscriber\JsonapiMaintenanceModeSubscriber), nor a 503 that says when to
 * come again.
 */
export function isFailing ({ status, headers }: HttpAnswer): boolean {
  return status >= 500 && !(status === 503 && (isJson(headers) || headers['retry-after'] !== undefined))
}
