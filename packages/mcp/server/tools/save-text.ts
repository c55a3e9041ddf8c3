import { Type } from '@sinclair/typebox'
import { lockAnswer, takeLock } from '../locking.ts'
import { defineTool } from '../tool.ts'
import { entityToWrite } from '../writing.ts'
import { PLACE, Version } from './places.ts'

export const saveText = defineTool({
  name: 'save_text',
  scope: 'edit',
  title: 'Keep a text with your lock',
  description:
    'Renews your lock and keeps your text with it. This does not change the edition or article: edit_field does, of editions. Answers the next version of your lock. LOCK_CHANGED: the lock is not yours any more and the text was not kept, so propose_text.',
  input: Type.Object(
    { ...PLACE, version: Version, text: Type.String() },
    { additionalProperties: false }
  ),
  writes: true,
  async run(call, { type, id, field, version, text }) {
    const entity = await entityToWrite(call, type, id)
    return lockAnswer(await takeLock(call, entity, field, { version, payload: text }))
  }
})
