import { Type } from '@sinclair/typebox'
import { entityAnswer } from '../entity-answer.ts'
import { defineTool } from '../tool.ts'
import { EditionId, Reading } from './arguments.ts'

export const readEdition = defineTool({
  name: 'read_edition',
  title: 'Read an edition',
  description:
    'Reads the fields of an edition, the locks on it, and its tag, which tools that change it need. `more` has the arguments that read what did not fit: large fields, and running orders in pages, with titles. If the tag differs then, begin again.',
  scope: 'read',
  input: Type.Object({ id: EditionId, ...Reading }, { additionalProperties: false }),
  async run(call, { id, ...part }) {
    const { request, services, model } = call
    await request.demand('view', services.boards.edition(id))
    const text = await services.editions.read(id, request.caller)
    const { entityType, fields } = model
    return entityAnswer(call, { text, entityType, model, orders: fields.articles }, part)
  }
})
