import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../drupal/client.ts'
import { resources, type Resource } from '../../drupal/document.ts'
import { INTERNAL, publicName, type ContentModel } from '../model.ts'
import { refusal } from '../translate/failures.ts'
import { flagQuery, ownerQuery, PAGE_MAX, uuidQuery, type Parameters } from '../translate/query.ts'
import type { Catalog, Collection } from './catalog.ts'
import {
  KINDS,
  KINDS_OF_OTHERS,
  kindFields,
  kindOf,
  ownershipOf,
  ownerPath,
  PUBLISHED_KINDS,
  UNPUBLISHED_KINDS,
  viewOn,
  type Kind,
  type View
} from './kinds.ts'

/** How many of the caller's rows of each kind a filter has to find. */
const SAMPLE = 4

/** What one collection has shown of filters. */
export interface Evidence {
  found: ReadonlySet<Kind>
  missed: ReadonlySet<Kind>
  isSorted: boolean
  /** `untold`: there are rows, and none shows its kind. */
  state: 'rows' | 'untold' | 'hidden' | 'empty'
}

export interface EvidenceContext {
  cms: Jsonapi
  catalog: Pick<Catalog, 'all' | 'me'>
  model: ContentModel
}

/** A collection, as a caller looks at it. */
interface Look {
  cms: Jsonapi
  collection: Collection
  view: View
  caller: Caller
}

interface ProbePage {
  rows: Resource[]
  more: boolean
}

/** The kinds of which a filter has found rows that exist, and of which it has not. */
interface Comparison {
  found: Set<Kind>
  missed: Set<Kind>
}

/**
 * Compares rows that the caller may see with what a filter for them finds, those first that are not
 * published. Then asks a filter for what the first page may have had no room for.
 */
export async function gatherEvidence(
  context: EvidenceContext,
  collection: Collection,
  caller: Caller
): Promise<Evidence> {
  const look = await lookAt(context, collection, caller)
  const flag = flagOf(look.view)
  const sort = [...flag, 'id'].join()
  const byFlag = flag.length === 0 ? undefined : await readPage(look, [['sort', sort]])
  const first = byFlag ?? (await readNeededPage(look, [['sort', 'id']]))
  const comparison = await compareSample(look, sampleOf(first.rows, look.view))
  if (first.more) await findOthers(look, first, comparison)
  return {
    ...comparison,
    isSorted: byFlag !== undefined,
    state: stateOf(first, look.view)
  }
}

async function lookAt(
  { cms, catalog, model }: EvidenceContext,
  collection: Collection,
  caller: Caller
): Promise<Look> {
  const view = viewOn(collection.entityType, await catalog.me(caller), model)
  return { cms, collection, view, caller }
}

function stateOf({ rows, more }: ProbePage, view: View): Evidence['state'] {
  if (rows.some((row) => kindOf(row, view) !== undefined)) return 'rows'
  if (rows.length > 0) return 'untold'
  return more ? 'hidden' : 'empty'
}

/** A few rows of each kind. */
function sampleOf(rows: Resource[], view: View): Resource[] {
  return [...Map.groupBy(rows, (row) => kindOf(row, view)).values()].flatMap((ofKind) =>
    ofKind.slice(0, SAMPLE)
  )
}

/** Filters for rows that the caller was shown. */
async function compareSample(look: Look, sample: Resource[]): Promise<Comparison> {
  if (sample.length === 0) return { found: new Set(), missed: new Set() }
  const { view } = look
  const ids = sample.map(({ id }) => id)
  const { rows } = await readNeededPage(look, [...uuidQuery(ids), ['sort', 'id']])
  // An answer to another question proves nothing of any kind.
  if (rows.some(({ id }) => !ids.includes(id))) return { found: new Set(), missed: new Set(KINDS) }
  const missedRows = sample.filter(({ id }) => !rows.some((row) => row.id === id))
  // A row that does not show its kind may be of any.
  const missed = new Set(missedRows.flatMap((row) => kindOf(row, view) ?? KINDS))
  const found = sample.filter((row) => !missed.has(kindOf(row, view)!))
  return { found: await provenKinds(look, found), missed }
}

/**
 * The kinds of rows that a filter has found for what they show. A row proves nothing of its kind if
 * it has a translation of another kind that a filter may have found it by: Drupal compares a
 * condition with each translation. Where it refuses to tell, no row proves anything.
 * Source: Drupal\Core\Entity\Query\Sql\Tables::addField(), which joins all languages.
 */
async function provenKinds(look: Look, rows: Resource[]): Promise<Set<Kind>> {
  const { view } = look
  const ofKinds = (kinds: readonly Kind[]) =>
    rows.filter((row) => kinds.includes(kindOf(row, view)!))
  const isPublished = flagOf(view).flatMap((name) => flagQuery(name, true))
  const owner = ownershipOf(view)
  const isOwn = owner ? ownerQuery(owner.relationship, owner.me) : []
  const unproven = await Promise.all([
    idsThatPass(look, ofKinds(UNPUBLISHED_KINDS), isPublished),
    idsThatPass(look, ofKinds(KINDS_OF_OTHERS), isOwn)
  ])
  const proving = rows.filter(({ id }) => !unproven.flat().includes(id))
  return new Set(proving.map((row) => kindOf(row, view)).filter((kind) => kind !== undefined))
}

/** The ids of those rows of which some translation passes a filter; all of them if it is refused. */
async function idsThatPass(look: Look, rows: Resource[], filter: Parameters): Promise<string[]> {
  const isTranslatable = look.view.keys.defaultLangcode !== null
  if (!isTranslatable || rows.length === 0 || filter.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const page = await readPage(look, [...uuidQuery(ids), ...filter, ['sort', 'id']])
  return page ? page.rows.map(({ id }) => id) : ids
}

/**
 * Adds the kinds of others' rows that a filter finds, where the first page may have had no room for
 * them. Filters that miss drafts may still find what is published.
 */
async function findOthers(
  look: Look,
  first: ProbePage,
  { found, missed }: Comparison
): Promise<void> {
  const mayHaveUnpublished = !first.rows.some((row) =>
    PUBLISHED_KINDS.includes(kindOf(row, look.view)!)
  )
  if (!found.has('unpublished of others') && mayHaveUnpublished && missed.size === 0) {
    await findKind(look, 'unpublished of others', found)
  }
  const isPublishedKnown =
    found.has('unpublished of others') ||
    found.has('published of others') ||
    PUBLISHED_KINDS.some((kind) => missed.has(kind))
  if (!isPublishedKnown) await findKind(look, 'published of others', found)
}

/**
 * The least and the greatest owner are enough: one of them is another than the caller, unless all
 * rows are his.
 */
async function findKind(look: Look, kind: Kind, found: Set<Kind>): Promise<void> {
  const { view } = look
  const filter = flagOf(view).flatMap((name) => flagQuery(name, kind === 'published of others'))
  if (filter.length === 0) return
  for (const sort of ownerSorts(view)) {
    const page = await readPage(look, [...filter, ['sort', sort]])
    const isEmpty = page !== undefined && page.rows.length === 0 && !page.more
    if (isEmpty) return
    const ofKind = page?.rows.filter((row) => kindOf(row, view) === kind) ?? []
    if ((await provenKinds(look, ofKind.slice(0, SAMPLE))).has(kind)) {
      found.add(kind)
      return
    }
  }
}

/**
 * Whether the caller is shown no row of a kind that filters were not seen to find: by the first
 * pages of lists that begin or end with such rows.
 */
export async function lacksUnproven(
  context: EvidenceContext,
  collection: Collection,
  proven: ReadonlySet<Kind>,
  caller: Caller
): Promise<boolean> {
  const look = await lookAt(context, collection, caller)
  const sorts = sortsFor(proven, look.view)
  const lacks = await Promise.all(
    (sorts ?? [newestFirst(look.view)]).map(async (sort) => {
      const page = await readPage(look, [['sort', sort]])
      if (!page) return false
      if (!page.rows.every((row) => proven.has(kindOf(row, look.view)!))) return false
      return !page.more || (sorts !== undefined && page.rows.length > 0)
    })
  )
  return lacks.every(Boolean)
}

/**
 * A page of a collection; undefined where Drupal refuses it, as it refuses to sort by what the
 * caller may not see.
 */
async function readPage(look: Look, query: Parameters): Promise<ProbePage | undefined> {
  const answer = await requestKinds(look, query)
  return answer.status >= 400 ? undefined : pageIn(answer)
}

async function readNeededPage(look: Look, query: Parameters): Promise<ProbePage> {
  const answer = await requestKinds(look, query)
  if (answer.status >= 400) throw refusal(answer)
  return pageIn(answer)
}

/** Asks for rows with what tells their kinds. */
function requestKinds(
  { cms, collection, view, caller }: Look,
  query: Parameters
): Promise<JsonapiAnswer> {
  const { path, resourceType } = collection
  const sparse: Parameters = [
    [`fields[${resourceType}]`, kindFields(view).join(',')],
    ['page[limit]', String(PAGE_MAX)]
  ]
  return cms.request({ path, query: [...query, ...sparse], caller })
}

function pageIn({ document }: JsonapiAnswer): ProbePage {
  return { rows: resources(document), more: document.links?.next !== undefined }
}

/** The public name of the flag that tells whether a row is published, if there is one. */
function flagOf({ model, keys }: View): string[] {
  return keys.published === null ? [] : [publicName(model, keys.published)]
}

function ownerSorts(view: View): string[] {
  const owner = ownerPath(view)
  return owner === undefined ? ['id'] : [owner, `-${owner}`]
}

/**
 * Orders in which a row of a kind that is not proven is among the first, if there is one; undefined
 * where there are none such.
 */
function sortsFor(proven: ReadonlySet<Kind>, view: View): string[] | undefined {
  const owner = ownerPath(view)
  const [flag] = flagOf(view)
  const unpublishedFirst = flag === undefined ? undefined : [`${flag},${newestFirst(view)}`]
  if (!proven.has('published of others')) {
    if (proven.size === 0 || owner === undefined) return undefined
    return proven.has('own unpublished')
      ? ownerSorts(view)
      : unpublishedFirst && [...ownerSorts(view), ...unpublishedFirst]
  }
  return proven.has('own unpublished')
    ? unpublishedFirst && ownerSorts(view).map((sort) => `${flag},${sort}`)
    : unpublishedFirst
}

function newestFirst({ keys }: View): string {
  return `-${INTERNAL}${keys.id}`
}
