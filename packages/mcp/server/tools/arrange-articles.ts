import { Type, type Static } from '@sinclair/typebox'
import { checkOperations, rearrange, uuidsFor } from '../../../../lib/editions/order/operations.ts'
import type { Attempt } from '../../../../lib/editions/save/attempt.ts'
import type { ArticleRef, OrderOperation } from '../../../../lib/editions/schemas.ts'
import type { Failure } from '../../../../lib/errors.ts'
import { isUuid } from '../../../../lib/patterns.ts'
import { wrongArguments } from '../arguments-check.ts'
import { foresee, readField, type EditionField } from '../edition-field.ts'
import { defineTool, type WritingCall } from '../tool.ts'
import { authorOf, countWrite, saveOnce, type DoneOnce } from '../writing.ts'
import { EditionId, oneOf, textLike } from './arguments.ts'
import { FieldName, Tag, Version } from './places.ts'

const Article = textLike(String.raw`^[\s\S]{1,255}$`)

const Operation = Type.Object(
  {
    op: oneOf(['insert', 'move', 'remove']),
    article: Article,
    before: Type.Optional(Article),
    after: Type.Optional(Article),
    at: Type.Optional(oneOf(['start', 'end'])),
    occurrence: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 }))
  },
  { additionalProperties: false }
)

export const arrangeArticles = defineTool({
  name: 'arrange_articles',
  scope: 'arrange',
  title: 'Insert, move and remove articles',
  description:
    "Changes the running order of an edition: all operations or none. Articles are named by id or uuid; insert and move take one of before, after and at. Answers the new tag and of each operation 'done', or 'already' if the order was so. With a tag only while nobody has saved since, and once however often it is called.",
  input: Type.Object(
    {
      id: EditionId,
      operations: Type.Array(Operation, { minItems: 1, maxItems: 100 }),
      field: Type.Optional({ ...FieldName, description: 'Where an edition has several orders' }),
      tag: Type.Optional(Tag),
      version: Type.Optional({ ...Version, description: 'Of your lock, if you hold the order' }),
      check: Type.Optional(Type.Boolean({ description: 'Only foresee, write nothing' }))
    },
    { additionalProperties: false }
  ),
  writes: true,
  replaces: true,
  async run(call, { check = false, ...args }) {
    const field = orderField(call, args.field)
    const operations = args.operations.map(operationOf)
    refuseWrong(operations)
    const present = await readField(call, args.id, field)
    if (check) return checkOrder(call, present, { ...args, field }, operations)
    await countWrite(call)
    const save = (attempt?: Attempt) => arrange(call, { ...args, field, operations, attempt })
    // Without a tag nothing tells a repeated call from a new one: operations bear to be repeated.
    if (args.tag === undefined) return (await save()).result
    return saveOnce(call, 'arrange_articles', args, save)
  }
})

/** @throws {ToolRefusal} BAD_REQUEST for operations that say too much or too little */
function refuseWrong(operations: OrderOperation[]): void {
  try {
    checkOperations(operations)
  } catch (error) {
    throw wrongArguments([{ argument: 'operations', problem: (error as Failure).message }])
  }
}

/** @throws {ToolRefusal} BAD_REQUEST for a field that holds no articles */
function orderField({ model }: WritingCall, field: string | undefined): string {
  const { articles } = model.fields
  const order = field ?? articles[0]
  if (order !== undefined && articles.includes(order)) return order
  throw wrongArguments([
    { argument: 'field', problem: 'It is no running order', allowed: articles }
  ])
}

function operationOf({ op, article, before, after, ...place }: Static<typeof Operation>) {
  const operation: OrderOperation = {
    op,
    article: articleOf(article),
    ...(before !== undefined && { before: articleOf(before) }),
    ...(after !== undefined && { after: articleOf(after) }),
    ...place
  }
  return operation
}

function articleOf(name: string): ArticleRef {
  return isUuid(name) ? { target_uuid: name } : { target_id: name }
}

/** What Quoin knows without asking the CMS for an article that the order does not have. */
async function checkOrder(
  call: WritingCall,
  present: EditionField,
  expected: { field: string; tag?: string; version?: string },
  operations: OrderOperation[]
): Promise<object> {
  const uuids = await uuidsFor(present.items, operations, async () => new Map())
  const { outcomes } = rearrange(present.items, operations, uuids)
  const { field, tag, version } = expected
  const isChanged = outcomes.includes('done')
  const forecast = await foresee(call, present, { field, tag, version }, isChanged)
  return { ...forecast, operations: outcomes }
}

interface Arrangement {
  id: string
  field: string
  operations: OrderOperation[]
  tag?: string
  version?: string
  attempt: Attempt | undefined
}

async function arrange(
  call: WritingCall,
  { id, field, operations, tag, version, attempt }: Arrangement
): Promise<DoneOnce> {
  const { uuid, etag, outcomes } = await call.services.editions.arrange(
    id,
    { field, operations },
    call.request.caller,
    {
      ...authorOf(call),
      ifMatch: tag,
      ...(version !== undefined && { lockVersions: [version] }),
      attempt
    }
  )
  return {
    result: { saved: true, tag: etag, operations: outcomes },
    done: { uuid, etag, outcomes }
  }
}
