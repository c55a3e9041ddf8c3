import { Type } from '@sinclair/typebox'
import { RestoreBody } from '../../../../lib/saves/journal-schemas.ts'
import { demandJournal } from '../../../../routes/journal-access.ts'
import { readToEdit, refusePublishing } from '../edition-field.ts'
import { defineTool } from '../tool.ts'
import { authorOf, countWrite, saveOnce } from '../writing.ts'
import { EditionId, oneOf, textLike } from './arguments.ts'
import { FieldName, Tag } from './places.ts'

export const restoreFields = defineTool({
  name: 'restore_fields',
  needs: 'restore',
  scope: 'restore',
  title: 'Restore fields from the journal',
  description:
    'Puts fields of an edition back as they were before or after an entry of read_journal. Answers the new tag.',
  input: Type.Object(
    {
      id: EditionId,
      entry: textLike(RestoreBody.properties.entry.pattern!),
      fields: Type.Array(FieldName, { minItems: 1, maxItems: 200, uniqueItems: true }),
      side: oneOf(['before', 'after']),
      tag: Tag
    },
    { additionalProperties: false }
  ),
  writes: true,
  replaces: true,
  async run(call, args) {
    const { id, tag: ifMatch, ...body } = args
    const { request, model } = call
    for (const field of body.fields) refusePublishing(model, field)
    const history = await demandJournal(request.server, request, id)
    await readToEdit(call, id)
    await countWrite(call)
    return saveOnce(call, 'restore_fields', args, async (attempt) => {
      const options = { ...authorOf(call), ifMatch, attempt }
      const { uuid, etag } = await history.restore(id, body, request.caller, options)
      return { result: { saved: true, tag: etag }, done: { uuid, etag } }
    })
  }
})
