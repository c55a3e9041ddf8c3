import { Type } from '@sinclair/typebox'
import type { Failure } from '../../../../lib/errors.ts'
import { ToolRefusal } from '../refusals.ts'
import { defineTool } from '../tool.ts'
import { entityToWrite, onceFor, timeText, userDataOf } from '../writing.ts'
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
    const entity = await entityToWrite(call, type, id)
    const proposal = {
      fieldName,
      payload,
      base,
      ...(reason !== undefined && { reason }),
      userData: userDataOf(call)
    }
    const outcome = await onceFor(call, 'propose_text', args, async () => {
      const { id, until } = await call.services.locks.proposals
        .propose(entity, proposal)
        .catch(rethrowFull)
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

const FULL = {
  message: 'As many proposals are open there as may be. Nothing was proposed.',
  next: 'Withdraw one of your own that is worth less, or wait until people have settled some: time alone ends none.'
}

function rethrowFull(error: unknown): never {
  const isFull = (error as Failure).code === 'TOO_MANY_REQUESTS'
  throw isFull ? new ToolRefusal('TOO_MANY_REQUESTS', FULL) : error
}
