import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import type { Jsonapi } from '../../drupal/client.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import type { ContentModel } from '../model.ts'
import { PAGE_MAX } from '../translate/query.ts'
import type { Catalog, Collection } from './catalog.ts'
import { gatherEvidence, lacksUnproven, type Evidence } from './filter-evidence.ts'
import { KINDS, provenBy, type Kind } from './kinds.ts'
import { systemTime, type Time } from '../../time.ts'

/**
 * What filters find. `work`: rows of each kind; `partly`: rows of some kinds, and the others were
 * not met, or only by translations that are not shown; `trap`: not all rows that the caller may see; `untold`: the rows do not show their
 * kinds; `unknown`: Drupal showed the caller none of the first rows, but has more; `empty`: there
 * are no rows.
 */
export type Verdict = 'work' | 'partly' | 'trap' | 'untold' | 'unknown' | 'empty'

/** What a filter finds of the rows that the caller may see. */
export type Reach = 'all' | 'published' | 'none'

/**
 * What was seen of filters: of which kinds they have found rows that exist, and of which they have
 * not.
 */
export interface Findings {
  verdict: Verdict
  /** The kinds that they certainly find. */
  proven: ReadonlySet<Kind>
  missed: ReadonlySet<Kind>
  /** Whether Drupal sorts by what tells whether a row is published. */
  areSorted: boolean
}

/**
 * What filters find. Drupal answers a filtered request for an entity type with what a module lets
 * the user filter, an empty list unless one does: all rows, the published, or his own. So a filter
 * that finds nothing proves nothing about a kind of which it has found no row.
 * Source: Drupal\jsonapi\Access\TemporaryQueryGuard::getAccessConditionForKnownSubsets().
 */
export interface Filters {
  /** What they find, if that is certain without a look at the CMS. */
  recall(collections: Collection[], caller: Caller): Reach | undefined
  /**
   * What they find at this moment. Where rows of a kind were not met it looks whether there are any
   * that the caller is shown, each time.
   */
  reach(collections: Collection[], caller: Caller): Promise<Reach>
  findings(collections: Collection[], caller: Caller): Promise<Findings>
  /**
   * Ends what is remembered for a caller, as after a save of what is not published; not what is
   * newer than a minute and complete.
   */
  doubt(caller: Caller): void
}

export interface FiltersOptions {
  cms: Jsonapi
  catalog: Pick<Catalog, 'all' | 'me'>
  /**
   * Called once per entity type that has callers whose filters find nothing, or may do so. The
   * message says what to do.
   */
  warn: (message: string) => void
  model: ContentModel
  time?: Time
}

/** Verdicts that say no more than which kinds were not met. */
const UNMET: readonly Verdict[] = ['partly', 'empty']

/**
 * How long Quoin relies on a verdict, in milliseconds: permissions change, and a first row may
 * appear soon.
 */
const REMEMBERED_MS: Record<Verdict, number> = {
  work: 10 * 60_000,
  trap: 10 * 60_000,
  partly: 60_000,
  untold: 60_000,
  unknown: 60_000,
  empty: 60_000
}

/**
 * A save does not end a verdict that is newer than this, in milliseconds: many saves in a row would
 * ask again and again.
 */
const FRESH_MS = 60_000

/** How many verdicts Quoin remembers, one for each caller and collection. */
const REMEMBERED = 5000

export interface FiltersContext {
  cms: Jsonapi
  catalog: Pick<Catalog, 'all' | 'me'>
  model: ContentModel
  warn: (message: string) => void
  time: Time
  /** What each collection has shown to each caller, and when it was asked. */
  verdicts: LRUCache<string, { at: number; evidence: Evidence }>
  /** The warnings that were given. */
  warnings: Set<string>
}

export function createFilters({
  cms,
  catalog,
  model,
  warn,
  time = systemTime
}: FiltersOptions): Filters {
  const context: FiltersContext = {
    cms,
    catalog,
    model,
    warn,
    time,
    // As a size: with `max` the cache would reserve the memory for all of them at once.
    verdicts: new LRUCache({ maxSize: REMEMBERED, sizeCalculation: () => 1 }),
    warnings: new Set()
  }
  return {
    recall: (collections, caller) => recallReach(context, collections, caller),
    reach: (collections, caller) => findReach(context, collections, caller),
    findings: (collections, caller) => findFindings(context, collections, caller),
    doubt: (caller) => doubtVerdicts(context, caller)
  }
}

export function recallReach(
  context: FiltersContext,
  collections: Collection[],
  caller: Caller
): Reach | undefined {
  const evidence = recallAll(context, collections, caller)
  const findings = findingsOf(evidence)
  if (findings.missed.size > 0) return limitedReach(findings)
  if (evidence.length < collections.length) return undefined
  if (findings.verdict === 'work') return 'all'
  return UNMET.includes(findings.verdict) ? undefined : 'none'
}

export async function findReach(
  context: FiltersContext,
  collections: Collection[],
  caller: Caller
): Promise<Reach> {
  const remembered = recallReach(context, collections, caller)
  if (remembered !== undefined) return remembered
  const findings = await findFindings(context, collections, caller)
  if (findings.verdict === 'work') return 'all'
  if (!UNMET.includes(findings.verdict)) return limitedReach(findings)
  const absences = await Promise.all(
    collections.map((collection) => lacksUnproven(context, collection, findings.proven, caller))
  )
  return absences.every(Boolean) ? 'all' : limitedReach(findings)
}

export async function findFindings(
  context: FiltersContext,
  collections: Collection[],
  caller: Caller
): Promise<Findings> {
  const evidence = await Promise.all(
    collections.map(
      (collection) =>
        recallEvidence(context, collection, caller) ?? probeFilters(context, collection, caller)
    )
  )
  const findings = findingsOf([...evidence, ...(await recallOthers(context, collections, caller))])
  warnOfVerdict(context, findings.verdict, collections)
  return findings
}

export function doubtVerdicts({ verdicts, time }: FiltersContext, caller: Caller): void {
  const ofCaller = filterKey({ path: '' }, caller)
  for (const key of [...verdicts.keys()].filter((key) => key.endsWith(ofCaller))) {
    const { at, evidence } = verdicts.peek(key)!
    const isSettled = findingsOf([evidence]).verdict === 'work' && time.monotonic() - at < FRESH_MS
    if (!isSettled) verdicts.delete(key)
  }
}

/** What is remembered of collections. */
function recallAll(context: FiltersContext, collections: Collection[], caller: Caller): Evidence[] {
  return collections
    .map((collection) => recallEvidence(context, collection, caller))
    .filter((evidence) => evidence !== undefined)
}

function recallEvidence(
  { verdicts, time }: FiltersContext,
  collection: Collection,
  caller: Caller
): Evidence | undefined {
  const last = verdicts.get(filterKey(collection, caller))
  if (!last) return undefined
  const { verdict } = findingsOf([last.evidence])
  return time.monotonic() - last.at < REMEMBERED_MS[verdict] ? last.evidence : undefined
}

/** What is remembered of the other bundles: filter access is the same for all of an entity type. */
async function recallOthers(
  context: FiltersContext,
  collections: Collection[],
  caller: Caller
): Promise<Evidence[]> {
  const all = await context.catalog.all(caller)
  const paths = new Set(collections.map(({ path }) => path))
  const others = all.filter(
    ({ entityType, path }) => entityType === collections[0]?.entityType && !paths.has(path)
  )
  return recallAll(context, others, caller)
}

async function probeFilters(
  context: FiltersContext,
  collection: Collection,
  caller: Caller
): Promise<Evidence> {
  const at = context.time.monotonic()
  const evidence = await gatherEvidence(context, collection, caller)
  context.verdicts.set(filterKey(collection, caller), { at, evidence })
  return evidence
}

function warnOfVerdict(
  { warn, warnings }: FiltersContext,
  verdict: Verdict,
  [first]: Collection[]
): void {
  const message = first && filterAdvice(verdict, first.entityType)
  if (message === undefined || warnings.has(message)) return
  warnings.add(message)
  warn(message)
}

/** What filters find without more questions. */
function limitedReach({ proven, areSorted }: Findings): Reach {
  return proven.has('published of others') && areSorted ? 'published' : 'none'
}

/** What was found out by one or several collections of an entity type. */
function findingsOf(evidence: Evidence[]): Findings {
  const missed = new Set(evidence.flatMap((ofOne) => [...ofOne.missed]))
  const proven = provenBy(
    evidence.flatMap((ofOne) => [...ofOne.found]),
    missed
  )
  return {
    verdict: verdictOf(evidence, proven, missed),
    proven,
    missed,
    areSorted: evidence.every(({ isSorted }) => isSorted)
  }
}

function verdictOf(
  evidence: Evidence[],
  proven: ReadonlySet<Kind>,
  missed: ReadonlySet<Kind>
): Verdict {
  if (missed.size > 0) return 'trap'
  if (proven.size === KINDS.length) return 'work'
  if (proven.size > 0 || evidence.some(({ state }) => state === 'rows')) return 'partly'
  if (evidence.some(({ state }) => state === 'untold')) return 'untold'
  if (evidence.some(({ state }) => state === 'hidden')) return 'unknown'
  return 'empty'
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
  return `let a module implement hook_jsonapi_${entityType}_filter_access(), as Quoin's own module for Drupal does, or give the users the entity type's administration permission`
}

function filterKey({ path }: Pick<Collection, 'path'>, caller: Caller): string {
  return `${path}:${fingerprint(caller)}`
}
