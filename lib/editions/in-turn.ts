import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import { load } from './load.ts'
import { preconditionFailed } from './read.ts'
import { outcomeUnknown, type Intent } from './save/attempt.ts'
import type { UpdateOptions } from './save/options.ts'
import type { Turn } from './save/save-queue.ts'
import { etagOf, fieldsDigest, matches } from './translate/etag.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'

/** The state of an edition that a save changes, and the turn that the save has. */
export interface SaveBase {
  edition: LoadedEdition
  /** Whether this is known to be the latest version. */
  isLatest: boolean
  turn: Turn
}

/** What is done to an edition in its turn. */
export interface TurnWork<Result> {
  /**
   * Saves the edition.
   * @returns undefined where nothing differs from an edition that may not be the latest version
   */
  save(base: SaveBase): Promise<Result | undefined>
  /**
   * The answer, if the present edition shows that an earlier attempt has saved; undefined if it
   * does not.
   */
  answerOfEarlier(edition: LoadedEdition, earlier: Intent): Promise<Result | undefined>
}

/** An edition as it was read before its turn, and what tells whether it was saved since. */
interface EarlyRead {
  edition: LoadedEdition
  /** When it was read, by the clock of the save queue. */
  since: number
  /** The editions that this instance saved during the read. */
  savedMeanwhile: ReadonlySet<string>
}

/**
 * Reads an edition, and saves it when it is its turn, from the state that it has then. Drupal may
 * have shown an earlier state: before nothing is saved, the latest version is asked for.
 * @throws {Failure} OUTCOME_UNKNOWN where an earlier attempt may have saved and the edition has
 *   changed since; PRECONDITION_FAILED where that is not the state that If-Match names
 */
export async function saveInTurn<Result extends EditionText>(
  context: EditionContext,
  id: string,
  caller: Caller,
  options: UpdateOptions,
  work: TurnWork<Result>
): Promise<Result & { isShared: boolean }> {
  const early = await readBeforeTurn(context, id, caller)
  const { id: uuid } = early.edition.resource

  // Drupal compares `changed` and saves without a lock, so two requests at the same time could
  // both pass.
  return context.saves.run(
    uuid,
    early.since,
    async (turn) => {
      try {
        const base = await readBase(context, id, early, turn, caller, options)
        const result =
          (await recallEarlier(context, base, options, work)) ??
          (await saveMatching(context, base, caller, options, work)) ??
          (await saveLatest(context, base, caller, options, work))
        return { ...result, isShared: turn.isShared }
      } finally {
        tellReads(context, uuid)
      }
    },
    caller.budget?.waiting
  )
}

/** Reads the edition while others may have the turn. */
async function readBeforeTurn(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<EarlyRead> {
  const savedMeanwhile = new Set<string>()
  context.savedDuringReads.add(savedMeanwhile)
  const since = context.saves.now()
  try {
    // A read that began before `since` could be older than the last save of another instance, and
    // its turn would not say so.
    const edition = await load(context, id, caller, 'anew')
    return { edition, since, savedMeanwhile }
  } finally {
    context.savedDuringReads.delete(savedMeanwhile)
  }
}

/** Tells all updates that are reading that they may have read an earlier state of an edition. */
function tellReads({ savedDuringReads }: EditionContext, uuid: string): void {
  for (const savedMeanwhile of savedDuringReads) savedMeanwhile.add(uuid)
}

/** The state to save over: what was read before the turn, or the latest version. */
async function readBase(
  context: EditionContext,
  id: string,
  { edition, savedMeanwhile }: EarlyRead,
  turn: Turn,
  caller: Caller,
  { attempt }: UpdateOptions
): Promise<SaveBase> {
  const { revisions } = context.site
  const isOutdated =
    turn.isOutdated ||
    savedMeanwhile.has(edition.resource.id) ||
    revisions.newerThan(edition.resource) !== undefined
  // What an earlier attempt has saved is told by the latest version alone.
  if (isOutdated || attempt?.earlier !== undefined) {
    return { edition: await load(context, id, caller, 'latest'), isLatest: true, turn }
  }
  const hasVersions = context.resources.latestVersion(edition.resource.type).length > 0
  return { edition, isLatest: !hasVersions, turn }
}

/** The answer of an earlier attempt that has saved; undefined if there is none. */
async function recallEarlier<Result>(
  { model }: EditionContext,
  { edition }: SaveBase,
  { attempt }: UpdateOptions,
  work: TurnWork<Result>
): Promise<Result | undefined> {
  const earlier = attempt?.earlier
  if (!earlier) return undefined
  const answer = await work.answerOfEarlier(edition, earlier)
  if (answer === undefined && earlier.before !== fieldsDigest(edition.resource, model)) {
    throw outcomeUnknown()
  }
  return answer
}

/** Saves over a state, if it is one that If-Match names. */
async function saveMatching<Result>(
  context: EditionContext,
  base: SaveBase,
  caller: Caller,
  { ifMatch }: UpdateOptions,
  work: TurnWork<Result>
): Promise<Result | undefined> {
  const { edition } = base
  if (ifMatch !== undefined && !matches(ifMatch, etagOf(edition.resource, context.model))) {
    throw await preconditionFailed(context, edition, caller)
  }
  return work.save(base)
}

/** Saves over the latest version, where nothing differs from the state that was read before. */
async function saveLatest<Result>(
  context: EditionContext,
  { edition, turn }: SaveBase,
  caller: Caller,
  options: UpdateOptions,
  work: TurnWork<Result>
): Promise<Result> {
  const latest = await load(context, edition.resource.id, caller, 'latest')
  const base = { edition: latest, isLatest: true, turn }
  return (await saveMatching(context, base, caller, options, work))!
}
