import { Failure, type FailureCode } from '../../errors.ts'

/** Failures of a write after which the CMS may have saved it all the same. */
const UNCERTAIN: readonly FailureCode[] = ['CMS_FAILED', 'CMS_INVALID_RESPONSE', 'CMS_TIMEOUT', 'CMS_UNREACHABLE']

/** Of these, the ones where the CMS may still be at it. */
const UNFINISHED: readonly FailureCode[] = ['CMS_TIMEOUT', 'CMS_UNREACHABLE']

/** Errors of a connection that never stood, or was not to be had: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'NOT_SENT']

/**
 * Makes a write; when its answer leaves open whether it was saved (Drupal is known to answer 500 after saving), looks at
 * the CMS instead of writing again.
 * @param uuid of the edition that is written
 * @param look gives what was saved, or undefined where nothing was; throws CONFLICT where another edition has the uuid
 * @param warn told about an answer that was wrong
 * @throws {Failure} that of the write, which says what is known of its outcome and has the uuid in `details` and `Location`
 */
export async function confirmWrite<T> (uuid: string, write: () => Promise<T>, look: () => Promise<T | undefined>, warn: (message: string) => void): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!isUncertain(error)) throw error
    const saved = await look().catch(unlessConflict)
    if (saved === undefined && !isUnfinished(error)) throw told(error, uuid, 'nothing was saved')
    if (saved === undefined || saved === 'unknown') throw told(error, uuid, 'whether your change was saved is not known: load the edition again before you repeat it')
    warn(`the CMS saved an edition but failed to say so: ${error.message}`)
    return saved as T
  }
}

/** Whether the CMS may have saved what failed so. */
export function isUncertain (error: unknown): error is Failure {
  return error instanceof Failure && (isGateways(error) || (UNCERTAIN.includes(error.code) && !NOT_SENT.includes(String((error.cause as NodeJS.ErrnoException | undefined)?.code))))
}

/** Whether a write failed so that the CMS may still be at work on it. */
export function isUnsettled (error: unknown): boolean {
  return error instanceof Failure && error.details['uuid'] !== undefined && isUnfinished(error)
}

function isUnfinished (failure: Failure): boolean {
  return UNFINISHED.includes(failure.code) || isGateways(failure)
}

/**
 * A gateway that gave up waiting (504), or lost the CMS half-way (503, as Apache and Varnish have it), says no more of it than
 * a deadline of our own. Drupal's own 503 is JSON and comes before anything else.
 */
function isGateways ({ cause }: Failure): boolean {
  const { status, isDrupals } = (cause ?? {}) as { status?: number, isDrupals?: boolean }
  return status === 504 || (status === 503 && isDrupals === false)
}

/** What a look has found out that failed: that another edition has the uuid, or else nothing. */
export function unlessConflict (error: unknown): 'unknown' {
  if (error instanceof Failure && error.code === 'CONFLICT' && error.details['uuid'] !== undefined) throw error
  return 'unknown'
}

function told ({ code, message, cause, headers }: Failure, uuid: string, outcome: string): Failure {
  const handle = editionAddress(uuid)
  return new Failure(code, `${message}; ${outcome}`, { cause, details: handle.details, headers: { ...headers, ...handle.headers } })
}

/** Where the answer to a write has the edition's uuid, by which it can be read or a create be repeated. */
export function editionAddress (uuid: string): { details: { uuid: string }, headers: { location: string } } {
  return { details: { uuid }, headers: { location: `/api/collection/${encodeURIComponent(uuid.toWellFormed())}` } }
}
