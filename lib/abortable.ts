/** What a promise gives; or, where a signal is aborted before, its reason. What the promise stands for goes on. */
export function abortable<T> (promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    const settle = () => signal.removeEventListener('abort', leave)
    signal.addEventListener('abort', leave)
    promise.then(resolve, reject).finally(settle)
    if (signal.aborted) leave()
  })
}
