import { setTimeout as sleep } from 'node:timers/promises'
import type { buildConnector } from 'undici'
import connectorOf from 'undici/lib/core/connect.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Failure, texts, type FailureCode } from '../errors.ts'
import type { Observe } from '../observe.ts'
import { createBreaker, isFailing, type Breaker } from './breaker.ts'
import { exchange, LARGEST_HEADER, textOf, type HttpAnswer, type Limits } from './exchange.ts'
import { leaveOutContinue } from './interim.ts'

export interface HttpRequest extends Pick<Limits, 'signal' | 'take' | 'free'> {
  method: 'GET' | 'POST' | 'PATCH'
  /** Below the address of the CMS, with the query. */
  path: string
  headers: Record<string, string>
  body?: string
  /**
   * Whether it may be sent a second time. Never true of a write, or of a request that tries a
   * password.
   */
  repeatable?: boolean
  /** Whether it counts as a write (breaker.ts). */
  isWrite?: boolean
  /** Called before it is sent a second time. */
  onRetry?: (() => void) | undefined
}

/** HTTP to the CMS. */
export interface Http {
  /**
   * @throws {Failure} CMS_TIMEOUT, CMS_UNREACHABLE, CMS_UNAVAILABLE (not sent),
   *   CMS_INVALID_RESPONSE (too large).
   */
  send(request: HttpRequest): Promise<HttpAnswer>
  close(): Promise<void>
}

export interface HttpOptions {
  /** Origin, with a path if Drupal lives under one; no slash at the end. */
  url: string
  /** Deadline of a request, the second try included, in milliseconds. */
  timeoutMs: number
  breaker?: Breaker
  /** Observes every request that is sent, second tries included. */
  observe?: Observe
}

const LARGEST_BODY = 16 * 1024 * 1024

/** Connection errors that a new connection may not have: refused, reset, or closed while idle. */
const PASSING = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

/**
 * Some proxies compress answers for who does not say that they must not (RFC 9110 section 12.5.3).
 */
const UNCODED = { 'accept-encoding': 'identity' }

/** What a gateway answers while the CMS restarts. */
const GATEWAY = [502, 503, 504]

/** Shortest pause before the second try, in milliseconds; the longest is three times as long. */
const PAUSE_MS = 50

/**
 * A connection pool to the CMS. Nothing connects before the first request; redirects are not
 * followed.
 */
export function createHttp({
  url,
  timeoutMs,
  breaker = createBreaker(),
  observe
}: HttpOptions): Http {
  const { origin, pathname } = new URL(url)
  const base = pathname.replace(/\/+$/, '')
  const pool = new Pool(origin, {
    connections: 64,
    // Shorter than the deadline, so that a write without a connection is known not to have been
    // sent.
    connect: connector(timeoutMs / 2),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: LARGEST_HEADER,
    maxResponseSize: LARGEST_BODY
  })

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    const deadline = performance.now() + timeoutMs
    return breaker.run(() => {
      // The request that tries out a failed CMS is sent once. Its outcome counts even if nobody
      // waits any more.
      if (breaker.state() !== 'closed') return sendOnce({ ...request, signal: undefined }, deadline)
      return request.repeatable ? retryOnce(request, deadline) : sendOnce(request, deadline)
    }, request.isWrite)
  }

  /**
   * Sends a read. Retries it once, after a random pause, where a retry may help and the deadline
   * allows it.
   */
  async function retryOnce(request: HttpRequest, deadline: number): Promise<HttpAnswer> {
    const pause = PAUSE_MS * (1 + 2 * Math.random())
    const isTime = () => performance.now() + pause < deadline
    try {
      const answer = await sendOnce(request, deadline)
      if (
        !GATEWAY.includes(answer.status) ||
        !isFailing(answer) ||
        answer.headers['retry-after'] !== undefined ||
        !isTime()
      ) {
        return answer
      }
    } catch (error) {
      if (
        !PASSING.includes(
          String(((error as Error).cause as NodeJS.ErrnoException | undefined)?.code)
        ) ||
        !isTime()
      ) {
        throw error
      }
    }
    await sleep(pause)
    request.onRetry?.()
    return sendOnce(request, deadline, true)
  }

  /** @param deadline of all tries, in milliseconds of performance.now() */
  async function sendOnce(
    { method, path, headers, body, signal, take, free }: HttpRequest,
    deadline: number,
    isRetry = false
  ): Promise<HttpAnswer> {
    const observation = observe?.({
      to: 'cms',
      operation: method,
      url: `${origin}${base}${path.split('?', 1)[0]}`,
      isRetry
    })
    try {
      const answer = await exchange(
        pool,
        {
          method,
          path: base + path,
          headers: { ...UNCODED, ...headers, ...observation?.headers },
          body: body ?? null
        },
        { ms: deadline - performance.now(), signal, take, free }
      )
      observation?.end(`${Math.trunc(answer.status / 100)}xx`, { status: answer.status })
      return answer
    } catch (error) {
      const failure = transportFailure(error, timeoutMs)
      observation?.end(failure.code)
      throw failure
    }
  }

  return { send, close: () => pool.destroy() }
}

function connector(timeout: number): buildConnector.connector {
  const connect = connectorOf({ timeout })
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      if (socket) leaveOutContinue(socket)
      callback(...result)
    })
}

/** The title of an answer is looked for in this many characters at its start. */
const HEAD = 10_000

/**
 * The answer of the CMS as an error for the log. It has the title of the page or of the error only:
 * the rest may repeat what the caller sent.
 */
export function upstream(status: number, body: Buffer): Error {
  const text = textOf(body)
  const [, title = `${text.length} characters`] =
    /(?:<title[^>]*>|"errors":\s*\[\s*\{\s*"title":\s*")\s*([^<"]{1,200})/i.exec(
      text.slice(0, HEAD)
    ) ?? []
  return Object.assign(new Error(`the CMS answered ${status}: ${title.trim()}`), { status })
}

/**
 * Whether a failure says that the CMS is away, slow or failing (5xx). A refusal or an answer that
 * makes no sense says something else.
 */
export function isDown(error: unknown): error is Failure {
  return (
    error instanceof Failure &&
    DOWN.includes(error.code) &&
    (error.cause as { status?: number } | undefined)?.status !== 429
  )
}

const DOWN: readonly FailureCode[] = [
  'CMS_TIMEOUT',
  'CMS_UNREACHABLE',
  'CMS_FAILED',
  'CMS_UNAVAILABLE'
]
const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** What passed a limit, by undici's code. */
const TOO_LARGE: Readonly<Record<string, string>> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: `with more than ${LARGEST_BODY / 1024 / 1024} MiB, which is all that Quoin reads of an answer`,
  UND_ERR_HEADERS_OVERFLOW: `with header fields of more than ${LARGEST_HEADER / 1024} KiB. Let Drupal, or the proxy before it, send fewer: cache tags (X-Drupal-Cache-Tags) are for debugging or for a cache`
}

function transportFailure(error: unknown, timeoutMs: number): Failure {
  const { name, code = '', cause } = error as NodeJS.ErrnoException
  for (const reason of [error, cause]) if (reason instanceof Failure) return reason
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new Failure(
      'CMS_TIMEOUT',
      `The CMS did not accept a connection within ${timeoutMs / 2} ms`,
      { cause: error }
    )
  }
  if (code === 'NOT_SENT') {
    return new Failure('CMS_TIMEOUT', `No connection to the CMS was free within ${timeoutMs} ms`, {
      cause: error
    })
  }
  if (name === 'TimeoutError' || TIMEOUTS.has(code)) {
    return new Failure('CMS_TIMEOUT', texts.cmsTimeout(timeoutMs), { cause: error })
  }
  const excess = TOO_LARGE[code]
  if (excess !== undefined) {
    return new Failure('CMS_INVALID_RESPONSE', `The CMS answered ${excess}`, { cause: error })
  }
  if (name === 'HTTPParserError') {
    return new Failure('CMS_UNREACHABLE', 'The CMS answered something that is not HTTP/1.1', {
      cause: error
    })
  }
  return new Failure('CMS_UNREACHABLE', texts.cmsUnreachable, { cause: error })
}
