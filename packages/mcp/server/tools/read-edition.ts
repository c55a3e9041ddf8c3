import { Type } from '@sinclair/typebox'
import { defineTool } from '../tool.ts'
import { EditionId } from './arguments.ts'

export const readEdition = defineTool({
  name: 'read_edition',
  title: 'Read an edition',
  description:
    'Reads all fields of an edition, its tag and the locks on it. The tag names the state that you have read: tools that change the edition need it.',
  scope: 'read',
  input: Type.Object({ id: EditionId }, { additionalProperties: false }),
  async run({ request, services }, { id }) {
    const { json, etag } = await services.editions.read(id, request.caller)
    return { tag: etag, edition: JSON.parse(json) }
  }
})
