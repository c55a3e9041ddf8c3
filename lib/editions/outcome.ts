import { Failure, type FailureCode } from '../errors.ts'

/** Failures of a write after which the CMS may have saved it all the same. */
const UNCERTAIN: readonly FailureCode[] = ['CMS_FAILED', 'CMS_INVALID_RESPONSE', 'CMS_TIMEOUT', 'CMS_UNREACHABLE']

/** Of these, the ones where the CMS may still be at it. */
const UNFINISHED: readonly FailureCode[] = ['CMS_TIMEOUT', 'CMS_UNREACHABLE']

/** Errors of a connection that never stood, or was not to be had: nothing was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'NOT_SENT']

/**
 * Makes a write; when its answer leaves open whether it was saved (Drupal is known to answer 500 after saving), looks at
 * the CMS instead of writing again.
 * @param look gives what was saved, or undefined where nothing was
 * @param warn told about an answer that was wrong
 * @throws {Failure} that of the write, saying what is known of its outcome
 */
export async function certain<T> (write: () => Promise<T>, look: () => Promise<T | undefined>, warn: (message: string) => void): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!isUncertain(error)) throw error
    const saved = await look().catch((): 'unknown' => 'unknown')
    if (saved === undefined && !isUnfinished(error)) throw told(error, 'nothing was saved')
    if (saved === undefined || saved === 'unknown') throw told(error, 'whether your change was saved is not known: load the edition again before you repeat it')
    warn(`the CMS saved an edition but failed to say so: ${error.message}`)
    return saved as T
  }
}

/** Whether the CMS may have saved what failed so. */
export function isUncertain (error: unknown): error is Failure {
  return error instanceof Failure && (isGateways(error) || (UNCERTAIN.includes(error.code) && !NOT_SENT.includes(String((error.cause as NodeJS.ErrnoException | undefined)?.code))))
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

function told ({ code, message, cause, headers }: Failure, outcome: string): Failure {
  return new Failure(code, `${message}; ${outcome}`, { cause, headers })
}
