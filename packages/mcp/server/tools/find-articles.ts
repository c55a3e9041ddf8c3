import { Type } from '@sinclair/typebox'
import { listAnswer, searchOf } from '../list-rows.ts'
import { listNamed } from '../lists.ts'
import { defineTool } from '../tool.ts'
import { ListName, Search } from './arguments.ts'

export const findArticles = defineTool({
  name: 'find_articles',
  title: 'Find articles',
  description:
    'Lists the articles that editions can hold, the newest first: title, whether published, last change, and the locks on each.',
  scope: 'read',
  input: Type.Object(
    {
      list: ListName,
      ...Search,
      placed: Type.Optional(Type.Boolean({ description: 'Also say which editions hold each' }))
    },
    { additionalProperties: false }
  ),
  async run(call, { list, placed = false, ...page }) {
    const { request, services, model } = call
    const { name, listModel } = listNamed(list, model)
    const articles = await services.editions.search(
      name,
      { ...searchOf(page), placed },
      request.caller
    )
    return listAnswer(call, articles, listModel, page.offset)
  }
})
