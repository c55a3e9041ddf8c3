import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import { Failure } from '../errors.ts'
import { isJson, type HttpAnswer } from './exchange.ts'

/** closed: all requests go to the CMS; open: none goes; half-open: one goes, to try the CMS out. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/**
 * A circuit breaker. Stops requests to a CMS that fails, so that it can recover and callers need
 * not wait.
 */
export interface Breaker {
  state(): BreakerState
  /**
   * Sends a request, unless the circuit breaker is open.
   * @param isWrite whether it counts as a write too: a CMS may fail at writes only
   * @throws {Failure} CMS_UNAVAILABLE with Retry-After where the request was not sent; `isLogged`,
   *   since `onChange` has said why
   */
  run(send: () => Promise<HttpAnswer>, isWrite?: boolean): Promise<HttpAnswer>
}

/** What a breaker stops: all requests, or writes. */
export type BreakerScope = 'requests' | 'writes'

export interface BreakerOptions {
  /** It opens after this many failures in a row. */
  failures?: number
  /** How long it stays open before it lets one request through, in milliseconds. */
  restMs?: number
  /** Called when it opens, with the reason, and when it closes; not after a failed try. */
  onChange?: (state: 'open' | 'closed', stopped: BreakerScope, why?: string) => void
}

const STATES = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open'
} as const

/** So many that one edition on which Drupal fails does not shut out all others. */
const FAILURES = 10
const REST_MS = 5000

/**
 * A circuit breaker over consecutive failures: no answer, a late answer, or the answer of a failing
 * CMS (`isFailing`). Writes pass a second one of their own: a read that succeeds says nothing about
 * them.
 */
export function createBreaker({
  failures = FAILURES,
  restMs = REST_MS,
  onChange = () => {}
}: BreakerOptions = {}): Breaker {
  const requests = createCircuit('requests')
  const writes = createCircuit('writes')

  async function run(send: () => Promise<HttpAnswer>, isWrite = false): Promise<HttpAnswer> {
    // Check both before either runs: a request that one stops must not count as a success of the
    // other.
    requests.check()
    if (isWrite) writes.check()
    return requests.policy.execute(isWrite ? () => writes.policy.execute(send) : send)
  }

  function createCircuit(scope: BreakerScope) {
    const policy = circuitBreaker(
      handleWhen(isTransport).orWhenResult(isFailing as (answer: unknown) => boolean),
      {
        // The library reads the wall clock, which may be set: `check` alone decides when the CMS is
        // tried again.
        halfOpenAfter: -Infinity,
        breaker: new ConsecutiveBreaker(failures)
      }
    )
    let openedAt = 0
    let isOpen = false
    policy.onBreak(() => {
      openedAt = performance.now()
      if (!isOpen) onChange('open', scope, why())
      isOpen = true
    })
    policy.onReset(() => {
      isOpen = false
      onChange('closed', scope)
    })

    function state(): BreakerState {
      return STATES[policy.state]
    }

    /**
     * Refuses at once. The library would let other requests wait for the one that tries the CMS
     * out.
     */
    function check(): void {
      if (
        state() === 'half-open' ||
        (state() === 'open' && performance.now() - openedAt < restMs)
      ) {
        throw notSent()
      }
    }

    function why(): string {
      const last = policy.lastFailure as { error: Error } | { value: HttpAnswer }
      return `${failures} failures in a row, the last of them: ${'error' in last ? last.error.message : `status ${last.value.status}`}`
    }

    function notSent(): Failure {
      const seconds = Math.max(1, Math.ceil((openedAt + restMs - performance.now()) / 1000))
      const { error } = policy.lastFailure as { error?: Error }
      const what = scope === 'writes' ? 'failed repeatedly to save' : 'failed repeatedly'
      return new Failure(
        'CMS_UNAVAILABLE',
        `The CMS has ${what} (circuit breaker ${state()}): nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`,
        {
          headers: { 'retry-after': String(seconds) },
          cause: new Error(`not sent after ${why()}`, { cause: error }),
          isLogged: true
        }
      )
    }

    return { state, check, policy }
  }

  return { state: requests.state, run }
}

/** The log line for a change of state. */
export function changeLine(state: 'open' | 'closed', stopped: BreakerScope, why?: string): string {
  const breaker =
    stopped === 'writes'
      ? "the circuit breaker before the CMS's writes"
      : 'the circuit breaker before the CMS'
  return state === 'closed'
    ? `${breaker} is closed: ${stopped} are sent again`
    : `${breaker} is open: no ${stopped} are sent but one at a time to try it; ${why}`
}

function isTransport(error: unknown): boolean {
  return (
    error instanceof Failure && (error.code === 'CMS_TIMEOUT' || error.code === 'CMS_UNREACHABLE')
  )
}

/**
 * Whether an answer says that the CMS fails: 5xx. Maintenance does not count, since Drupal answers
 * it quickly, and serves its administrators
 * (Drupal\jsonapi\EventSubscriber\JsonapiMaintenanceModeSubscriber). A 503 that says when to come
 * again does not count either.
 */
export function isFailing({ status, headers }: HttpAnswer): boolean {
  return (
    status >= 500 && !(status === 503 && (isJson(headers) || headers['retry-after'] !== undefined))
  )
}
