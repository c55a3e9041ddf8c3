import type { ErrorBody } from './failures.ts'
import type { FailureCode, Holder, LockView } from './wire.ts'

/**
 * The service's codes, and two of the client's own: without any answer, and with one that is not
 * Quoin's.
 */
export type ErrorCode = FailureCode | 'UNREACHABLE' | 'INVALID_RESPONSE'

export interface QuoinErrorOptions {
  cause?: unknown
  /** The body of the answer, parsed as JSON. */
  body?: unknown
  /** Retry-After, in seconds. */
  retryAfter?: number | undefined
}

/** A failure as the service says it. */
interface Told {
  code?: ErrorCode
  message?: string
}

/** What a failure of the service has in its body. */
interface Details {
  error?: { lock?: Holder }
  locks?: LockView[]
  uuid?: string
}

class CodedError<Code extends ErrorCode> extends Error {
  /** A minifier renames the class. */
  static override readonly name = 'QuoinError'
  override readonly name = 'QuoinError'
  /**
   * The HTTP status; 0 where there was no answer; 200 of FIELD_LOCKED with LOCK_REFUSED_STATUS=200.
   */
  declare readonly status: number
  declare readonly code: Code
  /** Who holds the field, with FIELD_LOCKED and LOCK_CHANGED of a lock. */
  declare readonly lock: Holder | undefined
  /** Who holds which fields, with FIELD_LOCKED of an edition. */
  declare readonly locks: LockView[] | undefined
  /** In how many seconds to try again. */
  declare readonly retryAfter: number | undefined
  /**
   * Of an edition whose create or update ended without a certain outcome; a create can be repeated
   * with it.
   */
  declare readonly uuid: string | undefined
  /** The body of the answer, by `code`. */
  declare readonly body: ErrorBody<Code>

  constructor(
    status: number,
    code: Code,
    message: string,
    { cause, body, retryAfter }: QuoinErrorOptions = {}
  ) {
    super(message, { cause })
    const { error, locks, uuid } = (body ?? {}) as Details
    Object.assign(this, { status, code, retryAfter, body, lock: error?.lock, locks, uuid })
  }

  /**
   * Whether the same call may succeed soon: nothing answered, or the service was overloaded or
   * broken. Not where as many proposals are open as may be: no time is told then, and none helps.
   */
  get passes(): boolean {
    if (this.code === 'TOO_MANY_REQUESTS') return this.retryAfter !== undefined
    return [0, 408, 429].includes(this.status) || this.status >= 500
  }
}

/**
 * Every way in which a call of the client fails: one type for each `code`, so that a comparison of
 * it tells what `body` has.
 */
export type QuoinError = { [Code in ErrorCode]: CodedError<Code> }[ErrorCode]
export const QuoinError = CodedError as unknown as {
  new (status: number, code: ErrorCode, message: string, options?: QuoinErrorOptions): QuoinError
  readonly prototype: QuoinError
}

/**
 * The failure that an answer tells. An answer in neither of the service's two forms comes from a
 * proxy before it: INVALID_RESPONSE.
 */
export function errorOf(status: number, body?: unknown, retryAfter?: string | null): QuoinError {
  const failure = body as (Told & { error?: Told }) | null | undefined
  const { code, message } = (failure?.error?.code ? failure.error : failure) ?? {}
  return new QuoinError(
    status,
    code ?? 'INVALID_RESPONSE',
    code ? message! : `Quoin did not answer this ${status}`,
    { body, retryAfter: Number(retryAfter) || undefined }
  )
}
