import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import { Failure } from '../errors.ts'
import type { HttpAnswer } from './exchange.ts'
import { isJson } from './media-type.ts'

/** closed: requests go to the CMS; open: none does; half-open: one tries it out, and no other goes. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** Leaves a CMS that fails in peace, and callers without a wait. */
export interface Breaker {
  state (): BreakerState
  /**
   * Sends a request, or not.
   * @param isWrite counted among the writes too, which a CMS may fail at while its reads go well
   * @throws {Failure} CMS_UNAVAILABLE with Retry-After where it was not sent; `isLogged`, since `onChange` has said why
   */
  run (send: () => Promise<HttpAnswer>, isWrite?: boolean): Promise<HttpAnswer>
}

/** What a breaker stops: all requests, or writes. */
export type BreakerScope = 'requests' | 'writes'

export interface BreakerOptions {
  /** After how many failures in a row it opens. */
  failures?: number
  /** How long it stays open before one request tries the CMS out, in milliseconds. */
  restMs?: number
  /** Told when it opens, and why, and when it closes; not of tries that fail. */
  onChange?: (state: 'open' | 'closed', stopped: BreakerScope, why?: string) => void
}

const STATES = { [CircuitState.Closed]: 'closed', [CircuitState.Open]: 'open', [CircuitState.HalfOpen]: 'half-open', [CircuitState.Isolated]: 'open' } as const

/** So many that one edition on which Drupal fails, asked for again and again, hardly shuts out the others. */
const FAILURES = 10
const REST_MS = 5000

/**
 * A circuit breaker over consecutive failures: no answer, none in time, or one of a CMS that fails (`isFailing`). Writes have
 * one of their own besides: a read that goes well says nothing of them.
 */
export function createBreaker ({ failures = FAILURES, restMs = REST_MS, onChange = () => {} }: BreakerOptions = {}): Breaker {
  const requests = createCircuit('requests')
  const writes = createCircuit('writes')

  async function run (send: () => Promise<HttpAnswer>, isWrite = false): Promise<HttpAnswer> {
    // Both are checked before either runs: what one of them does not let through is no success of the other.
    requests.check()
    if (isWrite) writes.check()
    return requests.execute(() => isWrite ? writes.execute(send) : send())
  }

  function createCircuit (stopped: BreakerScope) {
    const policy = circuitBreaker(handleWhen(isTransport).orWhenResult((answer) => isFailing(answer as HttpAnswer)), {
      halfOpenAfter: restMs,
      breaker: new ConsecutiveBreaker(failures)
    })
    let opened = 0
    let isOpen = false
    policy.onBreak(() => {
      opened = Date.now()
      if (!isOpen) onChange('open', stopped, why())
      isOpen = true
    })
    policy.onReset(() => {
      isOpen = false
      onChange('closed', stopped)
    })

    function state (): BreakerState {
      return STATES[policy.state]
    }

    /** Refuses what is not to be sent; the library would have others wait for the one that tries. */
    function check (): void {
      if (state() === 'half-open' || (state() === 'open' && Date.now() - opened < restMs)) throw notSent()
    }

    function why (): string {
      const last = policy.lastFailure as { error: Error } | { value: HttpAnswer }
      return `${failures} failures in a row, the last of them: ${'error' in last ? last.error.message : `status ${last.value.status}`}`
    }

    function notSent (): Failure {
      const seconds = Math.max(1, Math.ceil((opened + restMs - Date.now()) / 1000))
      const { error } = policy.lastFailure as { error?: Error }
      const what = stopped === 'writes' ? 'failed repeatedly to save' : 'failed repeatedly'
      return new Failure('CMS_UNAVAILABLE', `The CMS has ${what} (circuit breaker ${state()}): nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`, {
        headers: { 'retry-after': String(seconds) },
        cause: new Error(`not sent after ${why()}`, { cause: error }),
        isLogged: true
      })
    }

    return { state, check, execute: (send: () => Promise<HttpAnswer>) => policy.execute(send) }
  }

  return { state: requests.state, run }
}

/** A line for the log. */
export function changeLine (state: 'open' | 'closed', stopped: BreakerScope, why?: string): string {
  const breaker = stopped === 'writes' ? "the circuit breaker before the CMS's writes" : 'the circuit breaker before the CMS'
  return state === 'closed' ? `${breaker} is closed: ${stopped} are sent again` : `${breaker} is open: no ${stopped} are sent but one at a time to try it; ${why}`
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
