import { Type } from '@sinclair/typebox'
import { lockType } from '../../../../lib/boards/entities.ts'
import { entityAnswer } from '../entity-answer.ts'
import { listNamed } from '../lists.ts'
import { defineTool } from '../tool.ts'
import { EditionId, ListName, Reading } from './arguments.ts'

export const readArticle = defineTool({
  name: 'read_article',
  title: 'Read an article',
  description:
    'Reads the fields of an article and the locks on it. Quoin saves editions only: lock an article, or leave a proposal for it. `more` has the arguments that read what did not fit.',
  scope: 'read',
  input: Type.Object(
    { id: EditionId, list: ListName, ...Reading },
    { additionalProperties: false }
  ),
  async run(call, { id, list, ...part }) {
    const { request, services, model } = call
    const { name, entityType, listModel } = listNamed(list, model)
    await request.demand('view', { type: lockType(entityType, model), id })
    const text = await services.editions.readListed(name, id, request.caller)
    return entityAnswer(call, { text, entityType, model: listModel, orders: [] }, part)
  }
})
