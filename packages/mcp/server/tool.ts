import type { Static, TObject } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AgentPermission, Config } from '../../../config/env.ts'
import type { Boards } from '../../../lib/boards/boards.ts'
import type { Closing } from '../../../lib/boards/closing.ts'
import type { Editions } from '../../../lib/editions/editions.ts'
import type { ContentModel } from '../../../lib/editions/model.ts'
import type { Locks } from '../../../lib/locks/locks.ts'
import type { History } from '../../../lib/saves/history.ts'
import type { Budgets } from '../../../lib/saves/budgets.ts'
import type { Idempotency } from '../../../lib/saves/idempotency.ts'
import type { CallingAgent } from './agent.ts'

/** What tools work with: the services that the routes have too, not the routes. */
export interface ToolServices {
  locks: Locks
  editions: Editions
  boards: Boards
  closing: Closing
  idempotency: Idempotency
  /** Counts what agents write. */
  budgets: Budgets
  /** Undefined where there is no journal (JOURNAL_DAYS=0). */
  history: History | undefined
}

/** One call of a tool. */
export interface ToolCall {
  /** Its caller has been authenticated; `demand` and `demandLock` ask for rights. */
  request: FastifyRequest
  reply: FastifyReply
  services: ToolServices
  config: Config
  model: ContentModel
  /** Aborted when the caller hangs up. The services notice it by themselves. */
  signal: AbortSignal
  /** Undefined of a caller that may only read. */
  agent: CallingAgent | undefined
}

/** A call of a tool that writes. */
export interface WritingCall extends ToolCall {
  agent: CallingAgent
}

/**
 * What a token may allow, where /mcp is a protected resource (MCP is its address): to read; to leave
 * proposals and ask for fields; to edit fields; to change the running order; and what MCP_ALLOW
 * allows.
 */
export const SCOPES = ['read', 'propose', 'edit', 'arrange', 'publish', 'close', 'restore'] as const

export type Scope = (typeof SCOPES)[number]

interface ToolTexts {
  /** A verb and a noun in snake case. */
  name: string
  title: string
  /** For the model: what it does, when to use it, what comes back. */
  description: string
  /** What a token has to allow. */
  scope: Scope
  /** What MCP_ALLOW has to name; without it the tool does not exist. */
  needs?: AgentPermission
}

/** A tool as its file declares it. */
export type ToolDefinition<Input extends TObject> = ToolTexts & { input: Input } & (
    | { writes?: never; run(call: ToolCall, args: Static<Input>): Promise<object> }
    | {
        writes: true
        replaces?: true
        givesBack?: true
        run(call: WritingCall, args: Static<Input>): Promise<object>
      }
  )

/** Any tool. */
export interface Tool extends ToolTexts {
  input: TObject
  writes?: true
  /** Whether it replaces what is in the edition. */
  replaces?: true
  /** Whether it gives back what an agent has, which no limit refuses. */
  givesBack?: true
  run(call: ToolCall, args: Record<string, unknown>): Promise<object>
}

/**
 * Declares a tool: its arguments are typed by their schema, and a tool that writes has an agent.
 * What `run` returns is what the model is shown, as JSON; a Failure that it throws is a refusal.
 */
export function defineTool<Input extends TObject>(definition: ToolDefinition<Input>): Tool {
  return definition as unknown as Tool
}
