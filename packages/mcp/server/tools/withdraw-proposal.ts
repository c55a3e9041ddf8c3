import { Type } from '@sinclair/typebox'
import { ProposalParams } from '../../../../lib/locks/schemas.ts'
import { defineTool } from '../tool.ts'
import { authorOf, entityOf } from '../writing.ts'
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
      proposal: Type.String({ pattern: ProposalParams.properties.proposal.pattern! })
    },
    { additionalProperties: false }
  ),
  writes: true,
  async run(call, { type, id, proposal }) {
    const entity = entityOf(call.model, type, id)
    await call.services.locks.proposals.settle(entity, proposal, { by: authorOf(call) })
    return { withdrawn: true }
  }
})
