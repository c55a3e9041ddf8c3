import { Type } from '@sinclair/typebox'
import { ownerOf } from '../../../../lib/locks/record.ts'
import { lockRow } from '../lock-rows.ts'
import { ToolRefusal } from '../refusals.ts'
import { defineTool } from '../tool.ts'
import { authorOf, entityOf } from '../writing.ts'
import { PLACE, Version } from './places.ts'

export const stopEditing = defineTool({
  name: 'stop_editing',
  scope: 'edit',
  title: 'Give a lock back',
  description:
    'Gives your lock back. The text that you kept with it goes: if somebody should see it, propose_text first. Always allowed. LOCK_CHANGED: you hold the field in another version.',
  input: Type.Object({ ...PLACE, version: Version }, { additionalProperties: false }),
  writes: true,
  givesBack: true,
  async run(call, { type, id, field, version }) {
    const entity = entityOf(call.model, type, id)
    const by = authorOf(call)
    const own = { fieldName: field, uid: by.uid }
    const result = await call.services.locks.release(entity, own, { ifMatch: [version], by })
    // What is another's by now is not this agent's any more, which is what it asks for.
    if (result.outcome === 'released' || !result.lock || ownerOf(result.lock) !== by.uid) {
      return { released: true }
    }
    throw new ToolRefusal('LOCK_CHANGED', OTHER_VERSION, {
      details: { lock: lockRow(result.lock) }
    })
  }
})

const OTHER_VERSION = {
  message: 'This agent holds the field in another version. Nothing was released.',
  next: 'If that is your lock, call with the version that save_text answered last; else leave it to your other session.'
}
