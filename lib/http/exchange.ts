import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Signal } from './aborter.ts'
import { LARGE_ANSWER } from './answer-memory.ts'

/** The media type of JSON:API. */
export const JSONAPI = 'application/vnd.api+json'

/**
 * All header fields of an answer, in bytes. Drupal names what an answer was made of
 * (`X-Drupal-Cache-Tags`), in 24 KiB and more.
 */
export const LARGEST_HEADER = 64 * 1024

/** A complete HTTP answer. */
export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface Limits {
  /** Milliseconds within which the answer must be complete. */
  ms: number
  /** Aborted when nobody waits any more. */
  signal?: Signal | undefined
  /** Called with the length of each piece of a large answer. What it throws ends the exchange. */
  take?: ((bytes: number) => void) | undefined
  /** Called with the length of all pieces, when the exchange is over. */
  free?: ((bytes: number) => void) | undefined
}

/**
 * Sends one request and collects its answer. When nobody waits any more, it is not sent, or its
 * connection is closed. Uses dispatch(), which hands an answer over as it comes: undici's request()
 * makes a stream of each.
 * @throws {Error} undici's, the signal's reason, or a TimeoutError that says within how many
 *   milliseconds no answer came; where no connection was free until then, one with the code
 *   NOT_SENT and that as its cause
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { ms, signal, take, free }: Limits
): Promise<HttpAnswer> {
  if (signal?.aborted) return Promise.reject(signal.reason)
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
  const timer = setTimeout(
    () => stop(new DOMException(`not within ${Math.round(ms)} ms`, 'TimeoutError')),
    ms
  )
  const onAbort = () => stop(signal!.reason as Error)
  signal?.addEventListener('abort', onAbort)
  let controller: Dispatcher.DispatchController | undefined
  let stopReason: Error | undefined

  function stop(reason: Error): void {
    stopReason = reason
    controller?.abort(reason)
    fail(
      controller
        ? reason
        : Object.assign(new Error('no connection was free', { cause: reason }), {
            code: 'NOT_SENT'
          })
    )
  }

  function fail(error: Error): void {
    settle()
    reject(error)
  }

  function settle(): void {
    if (taken > 0) free?.(taken)
    taken = 0
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }

  let head: Omit<HttpAnswer, 'body'>
  const chunks: Buffer[] = []
  let length = 0
  let taken = 0
  dispatcher.dispatch(request, {
    onRequestStart(started) {
      controller = started
      if (stopReason) started.abort(stopReason)
    },
    onResponseStart(_controller, status, headers) {
      head = { status, headers }
    },
    onResponseData(_controller, chunk) {
      length += chunk.length
      if (length >= LARGE_ANSWER) {
        take?.(length - taken)
        taken = length
      }
      chunks.push(chunk)
    },
    onResponseEnd() {
      settle()
      resolve({ ...head, body: Buffer.concat(chunks) })
    },
    onResponseError: (_controller, error) => fail(error)
  })
  return promise
}

/** Drops a byte order mark, which a PHP file may print before anything else. */
const utf8 = new TextDecoder()

/** The text of a body. */
export function textOf(body: Uint8Array): string {
  return utf8.decode(body)
}

/**
 * Whether an answer is JSON of Drupal: JSON:API, or core's own. A gateway's JSON
 * (application/problem+json, RFC 9457) is not.
 */
export function isJson({ 'content-type': contentType }: IncomingHttpHeaders): boolean {
  return [JSONAPI, 'application/json'].includes(
    String(contentType).split(';', 1)[0]!.trim().toLowerCase()
  )
}
