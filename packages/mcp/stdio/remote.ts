import { QUOIN_VERSION } from '../../../lib/package-root.ts'

/** A running Quoin, and how to call it. */
export interface Remote {
  /** The address of its /mcp. */
  url: string
  /** Credentials, and who calls for whom. */
  headers: Record<string, string>
  /** How long it has to answer, in milliseconds. */
  timeoutMs: number
}

/**
 * Why a call failed. Its code is a number of the protocol's, or a name: of Quoin's vocabulary, or
 * one of those in this file.
 */
export class RemoteError extends Error {
  readonly code: string | number

  constructor(code: string | number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RemoteError'
    this.code = code
  }
}

/** As long as clients wait by default. */
const TIMEOUT_MS = 60_000

/** The largest answer that is read, in bytes. Those of tools have less than 20 kB. */
const ANSWER_MAX = 1024 * 1024

/** How much of a text of somebody else's is repeated. */
const SHOWN_LENGTH = 500

const REVISION = '2026-07-28'

/** A name that a header field can have. */
const TOOL_NAME = /^[\w.-]{1,128}$/

const VISIBLE = /^[!-~]+$/

/**
 * Reads from the environment which Quoin to call, and as whom.
 * @throws {Error} with what is missing or wrong
 */
export function readRemote(env: Record<string, string | undefined>): Remote {
  const { QUOIN_URL, QUOIN_TOKEN, QUOIN_AUTHORIZATION, QUOIN_AGENT, QUOIN_USER } = env
  if (!QUOIN_URL || !URL.canParse(QUOIN_URL) || !/^https?:\/\/[^@]*$/.test(QUOIN_URL)) {
    throw new Error(
      'QUOIN_URL has to be the address of a running Quoin, such as https://quoin.example.org, without credentials'
    )
  }
  if (QUOIN_TOKEN && QUOIN_AUTHORIZATION) {
    throw new Error('QUOIN_TOKEN and QUOIN_AUTHORIZATION are both set: set only one of them')
  }
  const authorization = QUOIN_TOKEN ? `Bearer ${QUOIN_TOKEN}` : QUOIN_AUTHORIZATION
  if (authorization && !/^[ -~]+$/.test(authorization)) {
    throw new Error('QUOIN_TOKEN and QUOIN_AUTHORIZATION have to be one line of ASCII')
  }
  return {
    url: `${QUOIN_URL.replace(/\/+$/, '')}/mcp`,
    headers: {
      ...(authorization && { authorization }),
      ...(QUOIN_AGENT && { 'quoin-agent': encodeURIComponent(QUOIN_AGENT) }),
      ...(QUOIN_USER && {
        'x-user-uid': VISIBLE.test(QUOIN_USER) ? QUOIN_USER : encodeURIComponent(QUOIN_USER)
      })
    },
    timeoutMs: TIMEOUT_MS
  }
}

/**
 * Asks a running Quoin, in the era 2026-07-28.
 * @param signal aborts the request
 * @returns the member `result` of its answer
 * @throws {RemoteError} what Quoin refuses, or why there is no answer
 */
export async function ask(
  { url, headers, timeoutMs }: Remote,
  method: 'tools/list' | 'tools/call',
  params: { name?: string; arguments?: unknown },
  signal: AbortSignal
): Promise<Record<string, unknown>> {
  const { name } = params
  if (name !== undefined && !TOOL_NAME.test(name)) {
    throw new RemoteError(-32602, 'There is no such tool')
  }
  const deadline = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': REVISION,
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': name })
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...params, _meta: META }
      }),
      // Credentials go to the address that was named, and to no other.
      redirect: 'error',
      signal: AbortSignal.any([signal, deadline])
    })
    return resultIn(response.status, await textOf(response))
  } catch (error) {
    if (error instanceof RemoteError) throw error
    if (deadline.aborted) {
      throw new RemoteError(
        'QUOIN_TIMEOUT',
        `Quoin did not answer within ${timeoutMs} ms. Whether it did what was asked is not known: read before you try again`
      )
    }
    throw new RemoteError('QUOIN_UNREACHABLE', `Quoin cannot be reached at ${url}`, {
      cause: error
    })
  }
}

/** What each request says of its sender. Source: MCP 2026-07-28. */
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'quoin mcp', version: QUOIN_VERSION }
}

/** @throws {RemoteError} for an answer that is too large */
async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > ANSWER_MAX) {
      throw new RemoteError('QUOIN_STRANGE', `Quoin answered with more than ${ANSWER_MAX} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function resultIn(status: number, text: string): Record<string, unknown> {
  const { result, error, message, code } = objectIn(text)
  if (isObject(result)) return result
  if (isObject(error) && typeof error['code'] === 'number') {
    throw new RemoteError(error['code'], shown(error['message']))
  }
  if (typeof message === 'string') {
    throw new RemoteError(typeof code === 'string' ? code : `HTTP_${status}`, shown(message))
  }
  throw new RemoteError(
    'QUOIN_STRANGE',
    `What is at this address answered ${status}, and not as Quoin does: has it MCP=on?`
  )
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shown(text: unknown): string {
  return String(text).slice(0, SHOWN_LENGTH)
}
