import type { FastifyRequest } from 'fastify'
import { agentOf, agentUid, isAgent, type Agent } from '../../../lib/agents.ts'
import { Failure } from '../../../lib/errors.ts'

/** The agent that calls, with the uid that its locks and saves have. */
export interface CallingAgent extends Agent {
  uid: string
}

/** One line of text, of visible ASCII once it is percent-encoded. */
const NAME = /^[!-~]{1,100}$/

/**
 * The agent that sends a request: the one that its token names, else the one that the header field
 * Quoin-Agent (percent-encoded) names, working for the caller. With AUTH=none the caller is who
 * X-User-Uid says. An agent has no right that its caller has not, so it may name itself.
 * @returns undefined where nobody says who works for whom: such a caller may read alone
 * @throws {Failure} BAD_REQUEST for a name that cannot be one
 */
export function callingAgent({
  uid,
  headers
}: Pick<FastifyRequest, 'uid' | 'headers'>): CallingAgent | undefined {
  const named = headers['quoin-agent']
  if (isAgent(uid)) return { ...agentOf(uid)!, uid }
  if (named === undefined || uid === undefined) return undefined
  const name = nameIn(String(named))
  const agent = { name, principal: uid }
  const own = agentUid(agent)
  if (own === undefined) throw wrongName()
  return { ...agent, uid: own }
}

function nameIn(named: string): string {
  if (!NAME.test(named)) throw wrongName()
  try {
    return decodeURIComponent(named)
  } catch {
    throw wrongName()
  }
}

function wrongName(): Failure {
  return new Failure(
    'BAD_REQUEST',
    'headers/quoin-agent must be the name of an agent, percent-encoded, of at most 100 characters'
  )
}
