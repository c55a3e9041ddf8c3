import { later } from './later.ts'

/** A call that can be aborted. The service may still carry out what was sent by then. */
export interface Abortable {
  signal?: AbortSignal | undefined
}

/**
 * Waits for a promise until the signal is aborted.
 * @throws the reason of the abort, or what the promise fails with
 */
export function unlessAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal!.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort))
  })
}

/**
 * A signal that is aborted with another one, or after so many milliseconds. `AbortSignal.any` and
 * `timeout` are missing in older browsers and on other platforms.
 * @returns the signal, and what lets go of the other one
 */
export function within(
  ms: number,
  signal: AbortSignal | undefined
): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController()
  const abort = () => controller.abort(signal!.reason)
  const cancel = later(ms, () => {
    controller.abort(new DOMException(undefined, 'TimeoutError'))
  })
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return {
    signal: controller.signal,
    clear() {
      cancel()
      signal?.removeEventListener('abort', abort)
    }
  }
}
