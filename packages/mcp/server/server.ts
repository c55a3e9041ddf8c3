import {
  fromJsonSchema,
  McpServer,
  type AuthInfo,
  type CallToolResult,
  type JsonSchemaType
} from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../../config/env.ts'
import { Failure, texts } from '../../../lib/errors.ts'
import { callingAgent } from './agent.ts'
import { checkArguments, uncheckedArguments } from './arguments-check.ts'
import type { CountCall } from './call-counts.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { exchangeIn, type Exchange } from './mount.ts'
import { ToolRefusal } from './refusals.ts'
import { scopeChallenge } from './resource.ts'
import { answered, refused } from './results.ts'
import type { Tool, ToolCall, ToolServices } from './tool.ts'
import { isAllowed, TOOLS } from './tools.ts'
import { QUOIN_VERSION } from '../../../lib/package-root.ts'

/** Made once: it takes three times as long to answer a call that makes them. */
const PREPARED = TOOLS.map((tool) => ({
  tool,
  config: {
    title: tool.title,
    description: tool.description,
    inputSchema: fromJsonSchema<Record<string, unknown>>(
      tool.input as JsonSchemaType,
      uncheckedArguments
    ),
    annotations: {
      // Only what is not the protocol's default: a tool writes, and replaces what is there.
      ...(!tool.writes && { readOnlyHint: true }),
      ...(tool.writes && !tool.replaces && { destructiveHint: false }),
      openWorldHint: false
    },
    scopeChallenge: ({ authInfo }: { authInfo?: AuthInfo }) =>
      scopeChallenge(tool.scope, exchangeIn(authInfo!).request.identity?.scopes)
  }
}))

export interface ServerOptions {
  config: Config
  services: ToolServices
  count: CountCall
}

/** The server of one request: the SDK asks for one each time. */
export function serverFor(
  { request, reply }: Exchange,
  { config, services, count }: ServerOptions
): McpServer {
  const server = new McpServer(
    { name: 'quoin', version: QUOIN_VERSION },
    { capabilities: { tools: { listChanged: false } }, instructions: INSTRUCTIONS }
  )
  const call = { request, reply, services, config, model: config.contentModel }
  for (const { tool, config: prepared } of PREPARED) {
    if (!isAllowed(tool, config)) continue
    server.registerTool(tool.name, prepared, async (args, { mcpReq: { signal } }) =>
      callTool(tool, { ...call, signal }, args, count)
    )
  }
  return server
}

/**
 * Calls a tool: one line in the log, one count. Whatever it throws becomes a result that the model
 * can read, of Quoin's words alone.
 */
async function callTool(
  tool: Tool,
  call: Omit<ToolCall, 'agent'>,
  args: Record<string, unknown>,
  count: CountCall
): Promise<CallToolResult> {
  const { request } = call
  request.tool = tool.name
  try {
    const result = answered(await run(tool, call, args))
    count(tool.name, 'ok')
    return result
  } catch (error) {
    const failure = failureOf(error, tool, request)
    request.failed = failure.code
    count(tool.name, failure.code)
    return refused(failure)
  }
}

async function run(
  tool: Tool,
  call: Omit<ToolCall, 'agent'>,
  args: Record<string, unknown>
): Promise<object> {
  const agent = callingAgent(call.request)
  checkArguments(tool.input, args)
  if (tool.writes && !agent) throw new ToolRefusal('FORBIDDEN', NOBODY)
  return tool.run({ ...call, agent }, args)
}

/** A failure of the vocabulary. The log has the cause of each that is Quoin's or the CMS's. */
function failureOf(error: unknown, { name: tool }: Tool, request: FastifyRequest): Failure {
  const failure =
    error instanceof Failure ? error : new Failure('INTERNAL', texts.internal, { cause: error })
  if (failure.statusCode >= 500 && !failure.isLogged) {
    request.log.error({ err: failure, tool }, failure.message)
  }
  return failure
}

const NOBODY = {
  message: 'Nothing tells which agent this is and for whom it works, so it may only read.',
  next: 'Tell the person you work for: docs/agents.md says how a client names its agent.'
}
