import type { Readable, Writable } from 'node:stream'
import { ProtocolError, Server, type CallToolResult } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { QUOIN_VERSION } from '../../../lib/package-root.ts'
import { INSTRUCTIONS } from '../server/instructions.ts'
import { ask, RemoteError, type Remote } from './remote.ts'

/** The largest message that is taken, in bytes: what Quoin takes as a body. */
const MESSAGE_MAX = 4 * 1024 * 1024

/** The protocol's code for what failed within the server. */
const INTERNAL_ERROR = -32603

export interface StandardStreams {
  input: Readable
  output: Writable
  /** Hears of what is no message of the protocol. */
  onError(error: Error): void
}

/**
 * Speaks MCP on two streams, in both of its eras, and passes lists and calls of tools on to a
 * running Quoin. It ends when the input does, or after a message of more than 4 MiB.
 * @returns ends it
 */
export function serveStandardInput(
  remote: Remote,
  { input, output, onError }: StandardStreams
): () => Promise<void> {
  const transport = new StdioServerTransport(input, output, { maxBufferSize: MESSAGE_MAX })
  const { close } = serveStdio(() => serverOf(remote), { transport, onerror: onError })
  return close
}

/** A server without tools of its own. */
function serverOf(remote: Remote): Server {
  const server = new Server(
    { name: 'quoin', version: QUOIN_VERSION },
    { capabilities: { tools: { listChanged: false } }, instructions: INSTRUCTIONS }
  )
  server.setRequestHandler('tools/list', async (_request, { mcpReq: { signal } }) => {
    const { tools } = await ask(remote, 'tools/list', {}, signal).catch((error: RemoteError) => {
      throw protocolErrorOf(error)
    })
    return { tools: tools as [] }
  })
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) =>
    callTool(remote, { name: params.name, arguments: params.arguments }, signal)
  )
  return server
}

/** The result of a tool. Of a Quoin that refuses, or is away, the model reads why. */
async function callTool(
  remote: Remote,
  params: { name: string; arguments: unknown },
  signal: AbortSignal
): Promise<CallToolResult> {
  try {
    const { content, isError } = await ask(remote, 'tools/call', params, signal)
    return { content: content as CallToolResult['content'], ...(isError === true && { isError }) }
  } catch (error) {
    const { code, message } = error as RemoteError
    if (typeof code === 'number') throw protocolErrorOf(error as RemoteError)
    const text = JSON.stringify({ error: { code, message } })
    return { content: [{ type: 'text', text }], isError: true }
  }
}

function protocolErrorOf({ code, message }: RemoteError): ProtocolError {
  return new ProtocolError(typeof code === 'number' ? code : INTERNAL_ERROR, message)
}
