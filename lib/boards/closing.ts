import type { Editions } from '../editions/editions.ts'
import type { UpdateOptions, UpdateResult } from '../editions/save/options.ts'
import type { Author } from '../editions/save/recorder.ts'
import { Failure, texts } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { ownerOf } from '../locks/record.ts'
import {
  checkReadiness,
  type ClosingEditor,
  type ReadinessContext,
  type ReadinessCheck
} from './readiness.ts'
import type { Finding, Readiness } from './schemas.ts'

export interface ClosingContext extends ReadinessContext {
  editions: Pick<Editions, 'inspect' | 'close'>
}

type ClosingOptions = Omit<UpdateOptions, keyof Author>

/** `since`: what came between the check and the end of the save, null where that is not known. */
type CloseResult = UpdateResult & { since: Finding[] | null }

export interface Closing {
  readiness(id: string, caller: Caller, editor: ClosingEditor): Promise<ReadinessCheck>
  close(
    id: string,
    caller: Caller,
    editor: ClosingEditor,
    options?: ClosingOptions
  ): Promise<CloseResult>
}

/** Whether an edition is ready to close, and its closing: what editions and locks know together. */
export function createClosing({ locks, editions, model }: ClosingContext): Closing {
  const context: ClosingContext = { locks, editions, model }
  return {
    readiness: (id, caller, editor) => readReadiness(context, id, caller, editor),
    close: (id, caller, editor, options) => closeEdition(context, id, caller, editor, options)
  }
}

/**
 * @param id integer id or uuid
 * @throws {Failure} NOT_FOUND; TOO_LARGE beyond `ARTICLES_MAX` articles; STORE_UNAVAILABLE,
 *   STORE_FAILED
 */
export async function readReadiness(
  context: ClosingContext,
  id: string,
  caller: Caller,
  editor: ClosingEditor
): Promise<ReadinessCheck> {
  return checkReadiness(context, await context.editions.inspect(id, caller), editor)
}

/**
 * Closes an edition: checks it once more when the save has its turn, and again afterwards.
 * @returns `since`: what came between, null where the second check failed, and where an earlier
 *   attempt has closed it
 * @throws {Failure} NOT_READY with what is in the way; as `readReadiness`, and as `editions.close`
 */
export async function closeEdition(
  context: ClosingContext,
  id: string,
  caller: Caller,
  editor: ClosingEditor,
  options: ClosingOptions = {}
): Promise<CloseResult> {
  const result = await context.editions.close(id, caller, {
    ...options,
    uid: editor.uid,
    name: editor.name,
    async check(inspection) {
      const readiness = await checkReadiness(context, inspection, editor)
      if (!readiness.ready) throw notReady(readiness)
      return readiness
    },
    again: (inspection) => checkReadiness(context, inspection, editor)
  })
  const { before, after, ...edition } = result
  return { ...edition, since: before && after && newFindings(after, before) }
}

function notReady({ blockers, warnings }: Readiness): Failure {
  const reasons = blockers.map(({ message }) => message)
  return new Failure('NOT_READY', texts.notReady(reasons), { details: { blockers, warnings } })
}

/** The findings that an earlier check did not have. */
function newFindings(after: Readiness, before: Readiness): Finding[] {
  const keys = new Set([...before.blockers, ...before.warnings].map(findingKey))
  return [...after.blockers, ...after.warnings].filter((finding) => !keys.has(findingKey(finding)))
}

/** A lock that is only renewed is the same finding. */
function findingKey({ code, entityType, entityId, fieldName, lock, draft }: Finding): string {
  return JSON.stringify([code, entityType, entityId, fieldName, lock && ownerOf(lock), draft?.id])
}
