import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { saveChange, shapeFor } from './change.ts'
import { editionJson, type EditionContext } from './context.ts'
import { readAsBase, saveInTurn } from './in-turn.ts'
import { load } from './load.ts'
import { publicName } from './model.ts'
import {
  checkOperations,
  nameOf,
  rearrange,
  uuidsFor,
  type Rearrangement,
  type Uuids
} from './order/operations.ts'
import type { Intent } from './save/attempt.ts'
import type { UpdateOptions, UpdateResult } from './save/options.ts'
import type { ArticleRef, OrderChange, OrderOperation } from './schemas.ts'
import { referencesOf } from './translate/etag.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'
import { unresolvedReferences } from './translate/write.ts'
import type { SaveBase } from './save/base.ts'

/** What became of each operation. */
type Outcomes = Pick<Rearrangement, 'outcomes'>

/**
 * How often operations on the running order are applied at most: once more each time that somebody
 * else saves first.
 */
const ATTEMPTS = 5

/** Operations on a running order, and who asks for them. */
interface Arrangement {
  /** The field with the running order. */
  field: string
  operations: OrderOperation[]
  caller: Caller
  options: UpdateOptions
}

/** Inserts, moves and removes articles of the running order. */
export async function arrangeArticles(
  context: EditionContext,
  id: string,
  { field = context.model.fields.articles[0] ?? '', operations }: OrderChange,
  caller: Caller,
  options: UpdateOptions = {}
): Promise<UpdateResult & Outcomes> {
  const { articles } = context.model.fields
  if (!articles.includes(field)) {
    throw new Failure('BAD_REQUEST', `body/field must be one of: ${articles.join(', ')}`)
  }
  checkOperations(operations)

  const arrangement = { field, operations, caller, options }
  return saveInTurn<EditionText & Outcomes>(context, id, caller, options, {
    isFieldChange: false,
    save: (base) => applyWithRetries(context, arrangement, base),
    answerOfEarlier: (edition, earlier) => recallArrangement(context, arrangement, edition, earlier)
  })
}

/** Applies the operations again to the latest version, where somebody else saves first. */
async function applyWithRetries(
  context: EditionContext,
  arrangement: Arrangement,
  firstBase: SaveBase
): Promise<(EditionText & Outcomes) | undefined> {
  let base = firstBase
  for (let attempts = 1; attempts < ATTEMPTS; attempts++) {
    try {
      return await apply(context, arrangement, base)
    } catch (error) {
      if ((error as Failure).code !== 'STALE_EDIT') throw error
    }
    const latest = await load(context, base.edition.resource.id, arrangement.caller, 'latest')
    base = readAsBase(context, latest, base.turn)
  }
  return apply(context, arrangement, base)
}

async function apply(
  context: EditionContext,
  { field, operations, caller, options }: Arrangement,
  base: SaveBase
): Promise<(EditionText & Outcomes) | undefined> {
  const { [field]: articles } = editionJson(context.site, base.edition)
  if (!articles) {
    throw new Failure('UNPROCESSABLE', `This edition has no ${field} that you may see`)
  }
  const uuids = await uuidsFor(articles, operations, (unknown) =>
    lookUpArticles(context, field, unknown, base.edition, caller)
  )
  const { order, outcomes } = rearrange(articles, operations, uuids)
  const edition = await saveChange(context, base, { [field]: order }, caller, {
    ...options,
    kind: 'order',
    isConditional: true,
    outcomes,
    operations: operations.filter((_, index) => outcomes[index] === 'done')
  })
  return edition && { ...edition, outcomes }
}

/** The uuids of articles that are named by id, as far as they are found. */
async function lookUpArticles(
  context: EditionContext,
  field: string,
  articles: ArticleRef[],
  { resource }: LoadedEdition,
  caller: Caller
): Promise<Uuids> {
  const body = { [field]: articles }
  const shape = await shapeFor(context, body, resource, caller)
  const unresolved = unresolvedReferences(body, shape, context.model)
  const uuids = await context.references.uuids(unresolved, caller, resource)
  return new Map(
    unresolved.flatMap(({ delta }, index) => {
      const uuid = uuids[index]
      return uuid === undefined ? [] : [[nameOf(articles[delta]!), uuid] as const]
    })
  )
}

/** The edition, if it has the running order that an earlier attempt was about to save. */
async function recallArrangement(
  context: EditionContext,
  { field, caller }: Arrangement,
  { resource }: LoadedEdition,
  { after, outcomes }: Intent
): Promise<(EditionText & Outcomes) | undefined> {
  if (after !== referencesOf(resource, [publicName(context.model, field)])) return undefined
  const edition = await load(context, resource.id, caller)
  return { ...context.texts.editionOf(edition), outcomes: outcomes! }
}
