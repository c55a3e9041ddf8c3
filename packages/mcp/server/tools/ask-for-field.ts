import { Type } from '@sinclair/typebox'
import { Failure, texts } from '../../../../lib/errors.ts'
import { defineTool } from '../tool.ts'
import { entityToWrite, timeText, userDataOf } from '../writing.ts'
import { PLACE } from './places.ts'

export const askForField = defineTool({
  name: 'ask_for_field',
  scope: 'propose',
  title: 'Ask for a field',
  description:
    'Asks the holder of a field for it. Nothing is taken: the holder may give it back, or go on. The request ends by itself, when the answer says. FIELD_NOT_LOCKED: nobody else holds it, so start_editing.',
  input: Type.Object(PLACE, { additionalProperties: false }),
  writes: true,
  async run(call, { type, id, field }) {
    const entity = await entityToWrite(call, type, id)
    const petition = { fieldName: field, userData: userDataOf(call) }
    const result = await call.services.locks.petitions.file(entity, petition)
    if (result.outcome === 'unheld') throw new Failure('FIELD_NOT_LOCKED', texts.fieldNotLocked)
    return { asked: true, endsAt: timeText(result.until) }
  }
})
