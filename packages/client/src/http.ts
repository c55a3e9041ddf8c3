import { unlessAborted, within, type Abortable } from './abort.ts'
import { errorOf, QuoinError } from './error.ts'

export interface HttpOptions {
  /**
   * Where the service is, such as `https://quoin.example.org`; by default where the page is. On a
   * server it is needed, unless `fetch` knows better.
   */
  url?: string | undefined
  /** Header fields of each request, such as Authorization or X-CSRF-Token. */
  headers?: (() => Record<string, string> | Promise<Record<string, string>>) | undefined
  fetch?: typeof fetch | undefined
  /** How long an answer may take, in milliseconds. */
  timeoutMs?: number | undefined
}

/** The options of a client's requests, and for whom it writes. */
export interface HttpDeps extends HttpOptions {
  uid?: string | undefined
}

/** Leaves out undefined and false; sends true as 1. */
export type QueryValues = Record<string, string | number | boolean | undefined>

export interface Request extends Abortable {
  query?: QueryValues
  /** To be sent as JSON. */
  body?: object
  headers?: Record<string, string>
  /** Whether reads also name their user. Writes always do. */
  isMeant?: boolean
}

export interface Answer<Body> {
  body: Body
  headers: Headers
}

export type Http = ReturnType<typeof createHttp>

/** What a header field takes as it is. */
const VISIBLE = /^[!-~]+$/

const NOT_SENT = 'Quoin could not be reached'

/** Requests of JSON, with credentials. */
export function createHttp({
  url: base = '',
  headers: credentials,
  fetch = globalThis.fetch,
  timeoutMs = 30_000,
  uid
}: HttpDeps) {
  const url = base.replace(/\/+$/, '')
  /** The service refuses a write if another user is signed in by now. */
  const meantFor: Record<string, string> =
    uid === undefined
      ? {}
      : { 'x-user-uid': VISIBLE.test(uid) ? uid : encodeURIComponent(uid.toWellFormed()) }
  /** The header fields that were sent last: when a page closes there is no time to ask for them. */
  let latest: Record<string, string> = {}

  /**
   * @throws {QuoinError} for all but an answer of 2xx in JSON
   * @throws the reason of `signal`, when it is aborted
   * @throws {TypeError} where the service has no address
   */
  async function send<Body>(
    method: string,
    path: string,
    { query = {}, body, headers = {}, signal, isMeant = method !== 'GET' }: Request = {}
  ): Promise<Answer<Body>> {
    if (fetch === globalThis.fetch) needAddress()
    const end = within(timeoutMs, signal)
    let response: Response
    let text: string
    let json: unknown
    try {
      await unlessAborted(credentialHeaders(), end.signal)
      response = await fetch(`${url}${path}${queryOf(query)}`, {
        ...optionsOf(method, body, headers, isMeant),
        signal: end.signal
      })
      text = await response.text()
    } catch (cause) {
      signal?.throwIfAborted()
      throw new QuoinError(0, 'UNREACHABLE', NOT_SENT, { cause })
    } finally {
      end.clear()
    }
    try {
      json = JSON.parse(text)
    } catch {
      // It is another's answer.
    }
    // A refusal has the status 200 where LOCK_REFUSED_STATUS says so.
    if (
      !response.ok ||
      json === undefined ||
      (json as { success?: boolean } | null)?.success === false
    ) {
      throw errorOf(response.status, json, response.headers.get('retry-after'))
    }
    return { body: json as Body, headers: response.headers }
  }

  /** @throws {TypeError} where neither `url` nor a page says which host it is */
  function needAddress(): void {
    if (!(globalThis as { location?: unknown }).location && !/^\w+:/.test(url)) {
      throw new TypeError('Give createClient a url: there is no page to take it from')
    }
  }

  function optionsOf(
    method: string,
    body: object | undefined,
    headers: Record<string, string>,
    isMeant: boolean
  ): RequestInit {
    return {
      method,
      credentials: 'include',
      headers: {
        ...latest,
        ...(isMeant && meantFor),
        ...(body && { 'content-type': 'application/json' }),
        ...headers
      },
      body: JSON.stringify(body)
    }
  }

  async function credentialHeaders(): Promise<Record<string, string>> {
    if (credentials) latest = await credentials()
    return latest
  }

  /**
   * Posts a body that has to arrive although the page closes. Nobody waits for the answer. Browsers
   * do so with 64 KiB at once (Fetch Standard, keepalive).
   */
  function outlive(path: string, body: object, headers: Record<string, string>): void {
    fetch(`${url}${path}`, { ...optionsOf('POST', body, headers, true), keepalive: true }).catch(
      () => {}
    )
  }

  /**
   * The address of an event stream. EventSource sends no header fields of ours; a bearer token goes
   * into the query (RFC 6750 section 2.3).
   */
  async function streamUrl(path: string, query?: QueryValues): Promise<string> {
    const authorization = new Headers(await credentialHeaders()).get('authorization')
    return `${url}${path}${queryOf({ ...query, access_token: /^bearer +(.+)$/i.exec(authorization ?? '')?.[1] })}`
  }

  return { send, outlive, streamUrl, needAddress }
}

function queryOf(values: QueryValues): string {
  const query = String(
    new URLSearchParams(
      JSON.parse(
        JSON.stringify(values, (_, value) =>
          value === true ? 1 : value === false ? undefined : value
        )
      )
    )
  )
  return query && `?${query}`
}
