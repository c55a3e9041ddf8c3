/**
 * What the body of an error has by its code, and mistakes that must not compile. Nothing runs this
 * file.
 */
import { QuoinError, type Finding, type Holder, type Item, type LockView, type Violation } from '../src/client.ts'

export function told(error: unknown): unknown {
  if (!(error instanceof QuoinError)) return error
  // @ts-expect-error without a code nothing is known of the body
  console.log(error.body.order)
  if (error.code === 'FIELD_LOCKED') {
    const locks: LockView[] | undefined = error.body.locks
    const lock: Holder | undefined = error.body.success === false ? error.body.error.lock : undefined
    // @ts-expect-error of another code
    console.log(error.body.order)
    return [locks, lock, error.lock, error.locks]
  }
  if (error.code === 'ORDER_CONFLICT') return error.body.order satisfies Item[]
  if (error.code === 'NOT_READY') return [...error.body.blockers, ...error.body.warnings] satisfies Finding[]
  if (error.code === 'UNPROCESSABLE') return error.body.violations satisfies Violation[] | undefined
  if (error.code === 'LOCK_CHANGED') return error.body?.error.lock satisfies Holder | undefined
  if (error.code === 'STORE_UNAVAILABLE' && error.body.success === false) return error.body.error.failed satisfies string[] | undefined
  if (error.code === 'CMS_TIMEOUT') return error.body.uuid satisfies string | undefined
  if (error.code === 'UNREACHABLE') return error.body satisfies undefined
  // @ts-expect-error no error has this code
  if (error.code === 'FIELD_LOCKD') return
  // @ts-expect-error it is not Quoin's answer
  return error.code === 'INVALID_RESPONSE' && error.body.message
}

// @ts-expect-error no error has this code
export const wrong = new QuoinError(423, 'FIELD_LOCKD', '')
