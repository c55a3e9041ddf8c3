import { Failure, type FailureCode } from '../../errors.ts'

/** Failures of a write after which the CMS may have saved nevertheless. */
const UNCERTAIN: readonly FailureCode[] = [
  'CMS_FAILED',
  'CMS_INVALID_RESPONSE',
  'CMS_TIMEOUT',
  'CMS_UNREACHABLE'
]

/** Those of them after which the CMS may still be saving. */
const UNFINISHED: readonly FailureCode[] = ['CMS_TIMEOUT', 'CMS_UNREACHABLE']

/** Failures after which nobody could tell whether the CMS has saved. */
const unknownOutcomes = new WeakSet<Failure>()

/** Errors of a connection that was never established: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'NOT_SENT']

/**
 * Writes an edition. Where the answer leaves open whether it was saved (Drupal may answer 500 after
 * saving), reads the edition instead of writing it again.
 * @param look reads the saved edition; undefined if nothing was saved. Throws CONFLICT if another
 *   edition has the uuid
 * @param warn called where the answer was wrong
 * @throws {Failure} the one of the write, with the outcome in its message, and the uuid in
 *   `details` and `Location`
 */
export async function confirmWrite<T>(
  uuid: string,
  write: () => Promise<T>,
  look: () => Promise<T | undefined>,
  warn: (message: string) => void
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!isUncertain(error)) throw error
    const result = await look().catch(unlessConflict)
    if (result === undefined && !isUnfinished(error)) {
      throw withOutcome(error, uuid, 'nothing was saved')
    }
    if (result === undefined || result === 'unknown') {
      throw markUnknown(
        withOutcome(
          error,
          uuid,
          'whether your change was saved is not known: load the edition again before you repeat it'
        )
      )
    }
    warn(`the CMS saved an edition but failed to say so: ${error.message}`)
    return result as T
  }
}

/** Whether the CMS may have saved despite this failure. */
export function isUncertain(error: unknown): error is Failure {
  return (
    error instanceof Failure &&
    (isGateways(error) ||
      (UNCERTAIN.includes(error.code) &&
        !NOT_SENT.includes(String((error.cause as NodeJS.ErrnoException | undefined)?.code))))
  )
}

/** Whether a write failed so that the CMS may still be at work on it. */
export function isUnfinishedWrite(error: unknown): boolean {
  return error instanceof Failure && error.details['uuid'] !== undefined && isUnfinished(error)
}

/** Whether a write failed so that nobody could tell whether the CMS has saved. */
export function isUnknownOutcome(failure: Failure): boolean {
  return unknownOutcomes.has(failure)
}

function markUnknown(failure: Failure): Failure {
  unknownOutcomes.add(failure)
  return failure
}

function isUnfinished(failure: Failure): boolean {
  return UNFINISHED.includes(failure.code) || isGateways(failure)
}

/**
 * Whether a gateway gave up waiting (504), or lost the CMS half-way (503, by Apache and Varnish).
 * Like our own deadline, such an answer does not tell the outcome. Drupal's own 503 is JSON, and
 * comes before it does anything.
 */
function isGateways({ cause }: Failure): boolean {
  const { status, isDrupals } = (cause ?? {}) as { status?: number; isDrupals?: boolean }
  return status === 504 || (status === 503 && isDrupals === false)
}

/**
 * The result of a look that failed: a conflict where another edition has the uuid, else nothing is
 * known.
 */
export function unlessConflict(error: unknown): 'unknown' {
  if (
    error instanceof Failure &&
    error.code === 'CONFLICT' &&
    error.details['uuid'] !== undefined
  ) {
    throw error
  }
  return 'unknown'
}

function withOutcome(
  { code, message, cause, headers }: Failure,
  uuid: string,
  outcome: string
): Failure {
  const address = editionAddress(uuid)
  return new Failure(code, `${message}; ${outcome}`, {
    cause,
    details: address.details,
    headers: { ...headers, ...address.headers }
  })
}

/**
 * The places in a failure that have the edition's uuid, for the caller to read it, or to repeat a
 * create.
 */
export function editionAddress(uuid: string): {
  details: { uuid: string }
  headers: { location: string }
} {
  return {
    details: { uuid },
    headers: { location: `/api/collection/${encodeURIComponent(uuid.toWellFormed())}` }
  }
}
