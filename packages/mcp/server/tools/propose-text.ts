import { Type } from '@sinclair/typebox'
import { defineTool } from '../tool.ts'
import { countWrite, entityOf, onceFor, timeText, userDataOf } from '../writing.ts'
import { PLACE } from './places.ts'

export const proposeText = defineTool({
  name: 'propose_text',
  scope: 'propose',
  title: 'Propose a text',
  description:
    "Leaves a text for a field of an edition or article, whoever holds it. Nothing is changed: people who may edit take it or discard it. Answers the proposal's id, for withdraw_proposal. TOO_MANY_REQUESTS: people have enough to look at there.",
  input: Type.Object(
    {
      ...PLACE,
      text: Type.String(),
      base: Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'What you have read: the tag, or the version of the lock'
      }),
      reason: Type.Optional(Type.String({ maxLength: 500, description: 'Why, in a sentence' }))
    },
    { additionalProperties: false }
  ),
  writes: true,
  async run(call, args) {
    const { type, id, field: fieldName, text: payload, base, reason } = args
    const entity = entityOf(call.model, type, id)
    await call.request.demandLock('edit', entity)
    await countWrite(call)
    const proposal = {
      fieldName,
      payload,
      base,
      ...(reason !== undefined && { reason }),
      userData: userDataOf(call)
    }
    const outcome = await onceFor(call, 'propose_text', args, async () => {
      const { id, until } = await call.services.locks.proposals.propose(entity, proposal)
      return {
        result: { proposed: true, id, endsAt: timeText(until) },
        done: { uuid: id, etag: base }
      }
    })
    if ('result' in outcome) return outcome.result
    return {
      proposed: true,
      id: outcome.earlier.uuid,
      repeated: 'An earlier call with these arguments has proposed this'
    }
  }
})
