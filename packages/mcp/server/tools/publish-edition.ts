import { Type } from '@sinclair/typebox'
import { readToEdit } from '../edition-field.ts'
import { ToolRefusal } from '../refusals.ts'
import { defineTool } from '../tool.ts'
import { authorOf, countWrite, saveOnce } from '../writing.ts'
import { EditionId } from './arguments.ts'
import { Tag } from './places.ts'

export const publishEdition = defineTool({
  name: 'publish_edition',
  needs: 'publish',
  scope: 'publish',
  title: 'Publish or unpublish an edition',
  description:
    'Publishes an edition, or unpublishes it with published false. It checks nothing: check_readiness does. Answers the new tag.',
  input: Type.Object(
    { id: EditionId, published: Type.Boolean(), tag: Tag },
    { additionalProperties: false }
  ),
  writes: true,
  replaces: true,
  async run(call, args) {
    const { id, published: value, tag: ifMatch } = args
    const { services, request, model } = call
    const { published } = model.keys
    if (published === null) throw new ToolRefusal('BAD_REQUEST', NO_FIELD)
    await readToEdit(call, id)
    await countWrite(call)
    return saveOnce(call, 'publish_edition', args, async (attempt) => {
      const options = { ...authorOf(call), ifMatch, attempt }
      const fields = { [published]: [{ value }] }
      const { uuid, etag } = await services.editions.update(id, fields, request.caller, options)
      return { result: { saved: true, tag: etag }, done: { uuid, etag } }
    })
  }
})

const NO_FIELD = {
  message: 'The content model names no field that publishes an edition. Nothing was saved.',
  next: 'Do not try again. Tell the person you work for.'
}
