import { Type } from '@sinclair/typebox'
import { Failure } from '../../../../lib/errors.ts'
import { wrongArguments } from '../arguments-check.ts'
import { listAnswer, searchOf } from '../list-rows.ts'
import { defineTool, type ToolCall } from '../tool.ts'
import { Search } from './arguments.ts'

export const findEditions = defineTool({
  name: 'find_editions',
  title: 'Find editions',
  description:
    'Lists editions, the newest first: title, whether published, last change, and the locks on each. read_edition reads one.',
  scope: 'read',
  input: Type.Object(
    {
      bundle: Type.Optional(
        Type.String({ minLength: 1, maxLength: 64, description: 'All bundles without it' })
      ),
      type: Type.Optional(
        Type.String({ minLength: 1, maxLength: 255, description: 'Edition type' })
      ),
      ...Search,
      q: Type.Optional(
        Type.String({ maxLength: 255, description: 'A part of the title, or the exact key' })
      )
    },
    { additionalProperties: false }
  ),
  async run(call, { bundle, type, ...page }) {
    const { request, services, model } = call
    const search = { ...searchOf(page), ...(type !== undefined && { type }) }
    const name = bundle ?? model.entityType
    const editions = await services.editions
      .search(name, search, request.caller)
      .catch((error) => rethrowUnknown(call, error))
    if (editions.entityType !== model.entityType) throw await unknownName(call, 'bundle')
    return listAnswer(call, editions, model, page.offset)
  }
})

/** What a bundle or a type that does not exist fails with. */
const UNKNOWN: Record<string, 'bundle' | 'type'> = { NOT_FOUND: 'bundle', BAD_REQUEST: 'type' }

async function rethrowUnknown(call: ToolCall, error: unknown): Promise<never> {
  const argument = error instanceof Failure ? UNKNOWN[error.code] : undefined
  throw argument ? await unknownName(call, argument) : error
}

/** A refusal with the names that there are. */
async function unknownName({ request, services }: ToolCall, argument: 'bundle' | 'type') {
  const named =
    argument === 'bundle'
      ? await services.editions.bundles(request.caller)
      : await services.editions.types(request.caller)
  return wrongArguments([
    { argument, problem: 'There is none with this name', allowed: named.map(({ id }) => id) }
  ])
}
