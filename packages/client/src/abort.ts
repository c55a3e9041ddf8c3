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
