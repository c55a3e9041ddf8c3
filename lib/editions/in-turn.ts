import { isSameUuid, type Resource } from '../drupal/document.ts'
import { Failure, type FailureCode } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import { draftNamed } from './draft.ts'
import { load } from './load.ts'
import { withoutUrls } from './lookup/individual.ts'
import { preconditionFailed } from './read.ts'
import { outcomeUnknown, type ConcludedChange, type Intent } from './save/attempt.ts'
import type { SaveBase } from './save/base.ts'
import { isGuarded } from './save/bases.ts'
import type { UpdateOptions } from './save/options.ts'
import { revisionPrecondition } from './save/precondition.ts'
import { busy, type QueuedTurn, type SaveMark } from './save/save-queue.ts'
import { etagOf, fieldsDigest, matches } from './translate/etag.ts'
import type { LoadedEdition } from './translate/read.ts'
import type { EditionText } from './translate/texts.ts'

/** What is done to an edition in its turn. */
export interface TurnWork<Result> {
  /** Whether it changes fields and no more, so it may rest on what its caller was answered last. */
  isFieldChange: boolean
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

/** What is known of an edition before its turn. */
interface EarlyLook {
  uuid: string
  /** What its caller was answered last. */
  remembered: Resource | undefined
  /** The edition, where it was read for this save. */
  edition: LoadedEdition | undefined
  /** When the look began, by the clock of the save queue, and the last save before it. */
  since: number
  mark: SaveMark
}

/**
 * Saves an edition when it is its turn, from the state that it has then. Takes the turn first where
 * the caller was shown the edition lately; reads it before where not, so that nobody has a turn who
 * may not see the edition. Drupal may have shown an earlier state: before nothing is saved, the
 * latest version is asked for. What is answered without a save is answered only to who may change
 * the edition.
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
  const look = recallEdition(context, id, caller) ?? (await readBeforeTurn(context, id, caller))
  const demand = () =>
    context.permissions.demand(look.edition?.resource ?? look.remembered!, caller)
  let isSent = false

  // Drupal compares `changed` and saves without a lock, so two requests at the same time could
  // both pass.
  const saving = context.saves.run(
    look.uuid,
    look.since,
    async (queuedTurn) => {
      const turn: QueuedTurn = {
        ...queuedTurn,
        confirm() {
          queuedTurn.confirm()
          isSent = true
        }
      }
      const base =
        rememberedBase(context, look, turn, options, work) ??
        (await readBase(context, id, look, turn, caller, options))
      const result =
        (await recallEarlier(context, base, options, work)) ??
        (await saveMatching(context, base, caller, options, work)) ??
        (await saveLatest(context, base, caller, options, work))
      if (isSent) noteChange(options, turn, result)
      return { ...result, isShared: turn.isShared }
    },
    caller.budget?.waiting
  )
  return saving.then(
    async (result) => {
      if (!isSent) await demand()
      return result
    },
    async (error) => {
      if (!isSent && isOwnRefusal(error)) await demand()
      throw error
    }
  )
}

/** Notes for a repeated request what its change came to. */
function noteChange(
  { attempt }: UpdateOptions,
  turn: QueuedTurn,
  { uuid, etag, outcomes }: ConcludedChange
): void {
  if (!attempt) return
  turn.alongside(attempt.conclude({ uuid, etag, ...(outcomes && { outcomes }) }))
}

/** The failures by which Quoin itself refuses a save. */
const OWN_REFUSALS: readonly FailureCode[] = [
  'BAD_REQUEST',
  'CMS_FORBIDDEN',
  'CONFLICT',
  'FIELD_LOCKED',
  'NOT_READY',
  'ORDER_CONFLICT',
  'OUTCOME_UNKNOWN',
  'PRECONDITION_FAILED',
  'STALE_EDIT',
  'TOO_LARGE',
  'UNPROCESSABLE'
]

function isOwnRefusal(error: unknown): boolean {
  return error instanceof Failure && OWN_REFUSALS.includes(error.code)
}

/** What the caller was answered last of an edition; undefined where that is not known any more. */
function recallEdition(
  { site, bases, saves }: EditionContext,
  id: string,
  caller: Caller
): EarlyLook | undefined {
  const uuid = site.ids.get(id.toLowerCase())?.uuid
  const base = uuid === undefined ? undefined : bases.of(uuid, caller)
  if (!base) return undefined
  return {
    uuid: uuid!,
    remembered: base.resource,
    edition: undefined,
    since: saves.now(),
    mark: base.mark
  }
}

/** Reads the edition while others may have the turn. */
async function readBeforeTurn(
  context: EditionContext,
  id: string,
  caller: Caller
): Promise<EarlyLook> {
  const { saves, site } = context
  const since = saves.now()
  const mark = saves.mark(site.ids.get(id.toLowerCase())?.uuid ?? id)
  // A read that began before `since` could be older than the last save of another instance, and
  // its turn would not say so.
  const edition = await load(context, id, caller, 'anew')
  return { uuid: edition.resource.id, remembered: undefined, edition, since, mark }
}

/**
 * What the caller was answered last, as a base that needs no read: where only fields are changed,
 * and all that saves through Quoin has had its turn among all instances. With If-Match only where
 * the state is the one that it names, and Drupal compares the revision: `changed` counts seconds.
 */
function rememberedBase<Result>(
  context: EditionContext,
  { remembered, mark }: EarlyLook,
  turn: QueuedTurn,
  { ifMatch, attempt }: UpdateOptions,
  { isFieldChange }: TurnWork<Result>
): SaveBase | undefined {
  const { model, site } = context
  const needsRead = !isFieldChange || attempt?.earlier !== undefined
  if (!remembered || needsRead || !turn.isShared || !turn.isUnsavedSince(mark)) return undefined
  const revision = revisionPrecondition(site, remembered)
  const isExact = revision !== undefined
  const isSafe =
    ifMatch === undefined
      ? isExact || isGuarded(remembered, model)
      : isExact && matches(ifMatch, etagOf(remembered, model))
  if (!isSafe) return undefined
  const edition = { resource: remembered, urlOf: withoutUrls }
  return { ...readAsBase(context, edition, turn), isLatest: false, isRemembered: true, revision }
}

/** The state to save over: what was read before the turn, or what is there now. */
async function readBase(
  context: EditionContext,
  id: string,
  look: EarlyLook,
  turn: QueuedTurn,
  caller: Caller,
  { attempt }: UpdateOptions
): Promise<SaveBase> {
  const { uuid, edition: early } = look
  const isRepeated = attempt?.earlier !== undefined
  if (early && !isRepeated && !mayBeSaved(context, look, turn)) return asBase(context, early, turn)

  // What an earlier attempt has saved is told by the latest version alone.
  const isLatest = early !== undefined || isRepeated || turn.isOutdated
  const edition = await load(context, id, caller, isLatest ? 'latest' : 'anew')
  if (!isSameUuid(edition.resource.id, uuid)) {
    throw busy(`The id ${id} has become another edition's`)
  }
  return isLatest ? readAsBase(context, edition, turn) : asBase(context, edition, turn)
}

/** Whether an edition may have been saved since the look before the turn. */
function mayBeSaved(
  { saves, site }: EditionContext,
  { uuid, edition, mark }: EarlyLook,
  turn: QueuedTurn
): boolean {
  const isElsewhere = turn.isOutdated && !turn.isNext
  const isHere = saves.mark(uuid) !== mark
  return isElsewhere || isHere || site.revisions.newerThan(edition!.resource) !== undefined
}

/** An edition as Drupal shows it, which is the latest version where its type has no others. */
function asBase(context: EditionContext, edition: LoadedEdition, turn: QueuedTurn): SaveBase {
  const hasVersions = context.resources.latestVersion(edition.resource.type).length > 0
  return { ...readAsBase(context, edition, turn), isLatest: !hasVersions }
}

/** The latest version of an edition, read for a save. */
export function readAsBase(
  { site }: EditionContext,
  edition: LoadedEdition,
  turn: QueuedTurn
): SaveBase {
  const revision = revisionPrecondition(site, edition.resource)
  return {
    edition,
    isLatest: true,
    isRemembered: false,
    revision,
    isDraft: false,
    takesDraft: false,
    turn
  }
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
  given: SaveBase,
  caller: Caller,
  { ifMatch }: UpdateOptions,
  work: TurnWork<Result>
): Promise<Result | undefined> {
  const base = { ...given, takesDraft: work.isFieldChange }
  const { edition } = base
  if (ifMatch === undefined || matches(ifMatch, etagOf(edition.resource, context.model))) {
    return work.save(base)
  }
  const draft = await draftNamed(context, base, ifMatch, caller)
  if (!draft) throw await preconditionFailed(context, edition, caller)
  return work.save(draft)
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
  const base = readAsBase(context, latest, turn)
  return (await saveMatching(context, base, caller, options, work))!
}
