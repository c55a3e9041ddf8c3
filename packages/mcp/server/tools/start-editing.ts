import { Type } from '@sinclair/typebox'
import { lockAnswer, takeLock } from '../locking.ts'
import { defineTool } from '../tool.ts'
import { entityToWrite } from '../writing.ts'
import { PLACE } from './places.ts'

export const startEditing = defineTool({
  name: 'start_editing',
  scope: 'edit',
  title: 'Lock a field',
  description:
    'Locks a field that nobody has locked, for longer work; for one change edit_field is enough. Answers the version, which save_text, edit_field and stop_editing need, and when the lock ends unless save_text renews it. You hold three at most. A person who asks for the field gets it at once.',
  input: Type.Object(PLACE, { additionalProperties: false }),
  writes: true,
  async run(call, { type, id, field }) {
    const entity = await entityToWrite(call, type, id)
    return lockAnswer(await takeLock(call, entity, field))
  }
})
