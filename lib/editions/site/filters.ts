import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi, JsonapiAnswer } from '../../drupal/client.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import { resources, type Resource } from '../../drupal/document.ts'
import { INTERNAL, publicName, type ContentModel } from '../model.ts'
import { refusal } from '../translate/failures.ts'
import { flagQuery, PAGE_MAX, uuidQuery, type Parameters } from '../translate/query.ts'
import type { Catalog, Collection } from './catalog.ts'
import {
  KINDS,
  kindFields,
  kindOf,
  ownerPath,
  provenBy,
  PUBLISHED_KINDS,
  viewOn,
  type Kind,
  type View
} from './kinds.ts'

/**
 * What filters find. `work`: rows of each kind; `partly`: rows of some kinds, and the others were not met; `trap`: not all
 * rows that the caller may see; `untold`: the rows do not show their kinds; `unknown`: Drupal showed the caller none of the
 * first rows, but has more; `empty`: there are no rows.
 */
export type Verdict = 'work' | 'partly' | 'trap' | 'untold' | 'unknown' | 'empty'

/** What a filter finds of the rows that the caller may see. */
export type Reach = 'all' | 'published' | 'none'

/** What was seen of filters: of which kinds they have found rows that exist, and of which they have not. */
export interface Findings {
  verdict: Verdict
  /** The kinds that they certainly find. */
  proven: ReadonlySet<Kind>
  missed: ReadonlySet<Kind>
  /** Whether Drupal sorts by what tells whether a row is published. */
  areSorted: boolean
}

/**
 * What filters find. Drupal answers a filtered request for an entity type with what a module lets the user filter, an empty
 * list unless one does: all rows, the published, or his own. So a filter that finds nothing proves nothing about a kind of
 * which it has found no row.
 * Source: Drupal\jsonapi\Access\TemporaryQueryGuard::getAccessConditionForKnownSubsets().
 */
export interface Filters {
  /** What they find, if that is certain without a look at the CMS. */
  recall(collections: Collection[], caller: Caller): Reach | undefined
  /**
   * What they find at this moment. Where rows of a kind were not met it looks whether there are any that the caller is shown,
   * each time.
   */
  reach(collections: Collection[], caller: Caller): Promise<Reach>
  findings(collections: Collection[], caller: Caller): Promise<Findings>
  /** Ends what is remembered for a caller, as after a save of what is not published; not what is newer than a minute and complete. */
  doubt(caller: Caller): void
}

export interface FiltersOptions {
  cms: Jsonapi
  catalog: Pick<Catalog, 'all' | 'me'>
  /** Called once per entity type that has callers whose filters find nothing, or may do so. The message says what to do. */
  warn: (message: string) => void
  model: ContentModel
  /** Clock, in milliseconds. */
  now?: () => number
}

/** Verdicts that say no more than which kinds were not met. */
const UNMET: readonly Verdict[] = ['partly', 'empty']

/** How long Quoin relies on a verdict, in milliseconds: permissions change, and a first row may appear soon. */
const REMEMBERED_MS: Record<Verdict, number> = {
  work: 10 * 60_000,
  trap: 10 * 60_000,
  partly: 60_000,
  untold: 60_000,
  unknown: 60_000,
  empty: 60_000
}

/** A save does not end a verdict that is newer than this, in milliseconds: many saves in a row would ask again and again. */
const FRESH_MS = 60_000

/** How many verdicts Quoin remembers, one for each caller and collection. */
const REMEMBERED = 5000

/** How many of the caller's rows of each kind a filter has to find. */
const SAMPLE = 4

/** What one collection has shown of filters. */
interface Evidence {
  found: ReadonlySet<Kind>
  missed: ReadonlySet<Kind>
  isSorted: boolean
  state: 'rows' | 'hidden' | 'empty'
}

interface RowPage {
  rows: Resource[]
  more: boolean
}

export function createFilters({
  cms,
  catalog,
  model,
  warn,
  now = () => performance.now()
}: FiltersOptions): Filters {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const verdicts = new LRUCache<string, { at: number; evidence: Evidence }>({
    maxSize: REMEMBERED,
    sizeCalculation: () => 1
  })
  const warnings = new Set<string>()

  function recall(collections: Collection[], caller: Caller): Reach | undefined {
    const evidence = collections.map((collection) => recallEvidence(collection, caller))
    const known = evidence.filter((one) => one !== undefined)
    const findings = findingsOf(known)
    if (findings.missed.size > 0) return limited(findings)
    if (known.length < collections.length) return undefined
    if (findings.verdict === 'work') return 'all'
    return UNMET.includes(findings.verdict) ? undefined : 'none'
  }

  function recallEvidence(collection: Collection, caller: Caller): Evidence | undefined {
    const last = verdicts.get(filterKey(collection, caller))
    return last && now() - last.at < REMEMBERED_MS[findingsOf([last.evidence]).verdict]
      ? last.evidence
      : undefined
  }

  async function findings(collections: Collection[], caller: Caller): Promise<Findings> {
    const evidence = await Promise.all(
      collections.map(
        (collection) => recallEvidence(collection, caller) ?? probe(collection, caller)
      )
    )
    const findings = findingsOf([...evidence, ...(await othersOf(collections, caller))])
    const message = collections[0] && filterAdvice(findings.verdict, collections[0].entityType)
    if (message !== undefined && !warnings.has(message)) {
      warnings.add(message)
      warn(message)
    }
    return findings
  }

  /** What is remembered of the other bundles: filter access is the same for all of an entity type. */
  async function othersOf(collections: Collection[], caller: Caller): Promise<Evidence[]> {
    const all = await catalog.all(caller)
    const others = all.filter(
      ({ entityType, path }) =>
        entityType === collections[0]?.entityType && collections.every((one) => one.path !== path)
    )
    return others
      .map((collection) => recallEvidence(collection, caller))
      .filter((one) => one !== undefined)
  }

  async function reach(collections: Collection[], caller: Caller): Promise<Reach> {
    const known = recall(collections, caller)
    if (known !== undefined) return known
    const seen = await findings(collections, caller)
    if (seen.verdict === 'work') return 'all'
    if (!UNMET.includes(seen.verdict)) return limited(seen)
    const absences = await Promise.all(
      collections.map((collection) => lacksUnproven(collection, seen.proven, caller))
    )
    return absences.every(Boolean) ? 'all' : limited(seen)
  }

  async function probe(collection: Collection, caller: Caller): Promise<Evidence> {
    const at = now()
    const evidence = await compare(collection, caller)
    verdicts.set(filterKey(collection, caller), { at, evidence })
    return evidence
  }

  /**
   * Compares rows that the caller may see with what a filter for them finds, those first that are not published. Then asks a
   * filter for what the first page may have had no room for.
   */
  async function compare(collection: Collection, caller: Caller): Promise<Evidence> {
    const view = viewOn(collection.entityType, await catalog.me(caller), model)
    const flag = flagOf(view)
    const byFlag =
      flag.length === 0
        ? undefined
        : await page(collection, view, [['sort', [...flag, 'id'].join()]], caller)
    const first = byFlag ?? (await neededPage(collection, view, [['sort', 'id']], caller))
    const sample = sampleOf(first.rows, view)
    const { found, missed } =
      sample.length === 0
        ? { found: new Set<Kind>(), missed: new Set<Kind>() }
        : await compareSample()
    const isOpen = first.more && missed.size === 0
    const mayHaveUnpublished = !first.rows.some((row) =>
      PUBLISHED_KINDS.includes(kindOf(row, view)!)
    )
    if (
      isOpen &&
      mayHaveUnpublished &&
      !found.has('unpublished of others') &&
      (await finds('unpublished of others'))
    ) {
      found.add('unpublished of others')
    }
    if (
      isOpen &&
      !found.has('unpublished of others') &&
      !found.has('published of others') &&
      (await finds('published of others'))
    ) {
      found.add('published of others')
    }
    return {
      found,
      missed,
      isSorted: byFlag !== undefined,
      state: first.rows.length > 0 ? 'rows' : first.more ? 'hidden' : 'empty'
    }

    async function compareSample(): Promise<{ found: Set<Kind>; missed: Set<Kind> }> {
      const ids = sample.map(({ id }) => id)
      const { rows } = await neededPage(
        collection,
        view,
        [...uuidQuery(ids), ['sort', 'id']],
        caller
      )
      const isOdd = rows.some(({ id }) => !ids.includes(id))
      const passedOver = sample.filter(({ id }) => isOdd || !rows.some((row) => row.id === id))
      // A row that does not show its kind may be of any.
      const missed = new Set(passedOver.flatMap((row) => kindOf(row, view) ?? KINDS))
      const found = sample
        .map((row) => kindOf(row, view))
        .filter((kind) => kind !== undefined && !missed.has(kind)) as Kind[]
      return { found: new Set(found), missed }
    }

    /** The least and the greatest owner are enough: one of them is another than the caller, unless all rows are his. */
    async function finds(kind: Kind): Promise<boolean> {
      const ofKind = flag.flatMap((name) => flagQuery(name, kind === 'published of others'))
      if (ofKind.length === 0) return false
      for (const sort of ownerSorts(view)) {
        const found = await page(collection, view, [...ofKind, ['sort', sort]], caller)
        if (found?.rows.some((row) => kindOf(row, view) === kind)) return true
      }
      return false
    }
  }

  /**
   * Whether the caller is shown no row of a kind that filters were not seen to find: by the first pages of lists that begin or
   * end with such rows.
   */
  async function lacksUnproven(
    collection: Collection,
    proven: ReadonlySet<Kind>,
    caller: Caller
  ): Promise<boolean> {
    const view = viewOn(collection.entityType, await catalog.me(caller), model)
    const sorts = sortsFor(proven, view)
    const lacks = await Promise.all(
      (sorts ?? [newestFirst(view)]).map(async (sort) => {
        const found = await page(collection, view, [['sort', sort]], caller)
        if (!found || !found.rows.every((row) => proven.has(kindOf(row, view)!))) return false
        return !found.more || (sorts !== undefined && found.rows.length > 0)
      })
    )
    return lacks.every(Boolean)
  }

  /** A page of a collection; undefined where Drupal refuses it, as it refuses to sort by what the caller may not see. */
  async function page(
    collection: Collection,
    view: View,
    query: Parameters,
    caller: Caller
  ): Promise<RowPage | undefined> {
    const answer = await ask(collection, view, query, caller)
    return answer.status >= 400 ? undefined : pageIn(answer)
  }

  async function neededPage(
    collection: Collection,
    view: View,
    query: Parameters,
    caller: Caller
  ): Promise<RowPage> {
    const answer = await ask(collection, view, query, caller)
    if (answer.status >= 400) throw refusal(answer)
    return pageIn(answer)
  }

  function ask(
    { path, resourceType }: Collection,
    view: View,
    query: Parameters,
    caller: Caller
  ): Promise<JsonapiAnswer> {
    const sparse: Parameters = [
      [`fields[${resourceType}]`, kindFields(view).join(',')],
      ['page[limit]', String(PAGE_MAX)]
    ]
    return cms.request({ path, query: [...query, ...sparse], caller })
  }

  function doubt(caller: Caller): void {
    const ofCaller = filterKey({ path: '' }, caller)
    for (const key of [...verdicts.keys()].filter((key) => key.endsWith(ofCaller))) {
      const { at, evidence } = verdicts.peek(key)!
      const isSettled = findingsOf([evidence]).verdict === 'work' && now() - at < FRESH_MS
      if (!isSettled) verdicts.delete(key)
    }
  }

  return { recall, reach, findings, doubt }
}

/** A few rows of each kind. */
function sampleOf(rows: Resource[], view: View): Resource[] {
  return [...Map.groupBy(rows, (row) => kindOf(row, view)).values()].flatMap((ofKind) =>
    ofKind.slice(0, SAMPLE)
  )
}

/** What filters find without more questions. */
function limited({ proven, areSorted }: Findings): Reach {
  return proven.has('published of others') && areSorted ? 'published' : 'none'
}

function pageIn({ document }: JsonapiAnswer): RowPage {
  return { rows: resources(document), more: document.links?.next !== undefined }
}

/** What was found out by one or several collections of an entity type. */
function findingsOf(evidence: Evidence[]): Findings {
  const missed = new Set(evidence.flatMap((one) => [...one.missed]))
  const proven = provenBy(
    evidence.flatMap((one) => [...one.found]),
    missed
  )
  return {
    verdict: verdictOf(),
    proven,
    missed,
    areSorted: evidence.every(({ isSorted }) => isSorted)
  }

  function verdictOf(): Verdict {
    if (missed.size > 0) return 'trap'
    if (proven.size === KINDS.length) return 'work'
    if (proven.size > 0) return 'partly'
    const [worst] = (['rows', 'hidden'] as const).filter((state) =>
      evidence.some((one) => one.state === state)
    )
    return worst === 'rows' ? 'untold' : worst === 'hidden' ? 'unknown' : 'empty'
  }
}

/** The public name of the flag that tells whether a row is published, if there is one. */
function flagOf({ model, keys }: View): string[] {
  return keys.published === null ? [] : [publicName(model, keys.published)]
}

function ownerSorts(view: View): string[] {
  const owner = ownerPath(view)
  return owner === undefined ? ['id'] : [owner, `-${owner}`]
}

/** Orders in which a row of a kind that is not proven is among the first, if there is one; undefined where there are none such. */
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

/** The advice to an operator that a verdict gives rise to. */
export function filterAdvice(verdict: Verdict, entityType: string): string | undefined {
  switch (verdict) {
    case 'trap':
      return `Drupal lets some users see ${entityType} entities but not filter them, so Quoin reads whole lists to search for them, which is slow; ${remedy(entityType)}`
    case 'unknown':
      return `Drupal showed some users none of the first ${PAGE_MAX} ${entityType} entities. Quoin does not know whether they may filter them, so it reads whole lists to search for them, which is slow; ${remedy(entityType)}`
    case 'untold':
      return `The ${entityType} entities do not show some users whose they are and whether they are published, so Quoin does not know which of them Drupal's filters leave out, and reads whole lists to search for them, which is slow; name keys.owner and keys.published in the content model (null for what they do not have), and let the users view these fields`
    default:
      return undefined
  }
}

function remedy(entityType: string): string {
  return `let a module implement hook_jsonapi_${entityType}_filter_access(), or give the users the entity type's administration permission`
}

function filterKey({ path }: Pick<Collection, 'path'>, caller: Caller): string {
  return `${path}:${fingerprint(caller)}`
}
