import { Type } from '@sinclair/typebox'
import type { Failure, FailureCode } from '../../../../lib/errors.ts'
import { ProposalParams } from '../../../../lib/locks/schemas.ts'
import { ToolRefusal, type Words } from '../refusals.ts'
import { defineTool } from '../tool.ts'
import { authorOf, entityOf } from '../writing.ts'
import { textLike } from './arguments.ts'
import { EntityId, EntityType } from './places.ts'

export const withdrawProposal = defineTool({
  name: 'withdraw_proposal',
  scope: 'propose',
  title: 'Withdraw a proposal',
  description:
    'Withdraws a proposal of this agent that nobody has taken or discarded. Always allowed. CONFLICT: somebody has.',
  input: Type.Object(
    {
      type: EntityType,
      id: EntityId,
      proposal: textLike(ProposalParams.properties.proposal.pattern!)
    },
    { additionalProperties: false }
  ),
  writes: true,
  givesBack: true,
  async run(call, { type, id, proposal }) {
    const entity = entityOf(call.model, type, id)
    try {
      await call.services.locks.proposals.settle(entity, proposal, { by: authorOf(call) })
    } catch (error) {
      const { code } = error as Failure
      const words = WORDS[code]
      throw words ? new ToolRefusal(code, words) : error
    }
    return { withdrawn: true }
  }
})

/** What the codes mean of a proposal. */
const WORDS: Partial<Record<FailureCode, Words>> = {
  NOT_FOUND: {
    message: 'There is no such proposal at this edition or article, or its time is over.',
    next: 'Nothing is left to withdraw: go on.'
  },
  CONFLICT: {
    message: 'Somebody has taken or discarded this proposal already, or it was withdrawn.',
    next: 'Nothing is left to withdraw: read what is there now, and go on.'
  },
  FORBIDDEN: {
    message: 'This proposal is not of this agent. Nothing was done.',
    next: 'Leave it: people settle it.'
  }
}
