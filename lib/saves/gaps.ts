import type { EditionState } from './edition-state.ts'
import type { Entry } from './journal.ts'
import type { JournalEntry } from './journal-schemas.ts'

/**
 * Puts an entry of the kind `outside` wherever the edition changed without an entry.
 * @param older the newest save that is older than these entries
 * @param state of the edition as it is now, on the first page
 */
export function withGaps(
  entries: Entry[],
  older: Entry | undefined,
  state: EditionState | undefined
): Array<Entry | JournalEntry> {
  const saves = [...entries, ...(older ? [older] : [])].filter(isSave)
  const [newest] = saves
  const since = state && newest && changeSince(newest, state)
  return [
    ...(since ? [since] : []),
    ...entries.flatMap((entry) => {
      const index = saves.indexOf(entry)
      const gap = index < 0 ? undefined : gapBefore(entry, saves[index + 1])
      return gap ? [entry, gap] : [entry]
    })
  ]
}

/** The kinds of entries that tell of no save. */
const NOTES = new Set<Entry['kind']>(['takeover', 'proposed', 'taken', 'discarded', 'withdrawn'])

export function isSave({ kind }: Entry): boolean {
  return !NOTES.has(kind)
}

/** The changes to the edition since its newest entry. */
function changeSince(newest: Entry, state: EditionState): JournalEntry | undefined {
  const last = stateAfter(newest)
  if (last?.changed === undefined || state.changed === undefined) return undefined
  if (last.language !== state.language || state.changed <= last.changed) return undefined
  return {
    ...outside(`${newest.id}.since`, state.changed, undefined),
    message: `Changed outside Quoin since ${timeOf(newest.at)}`,
    between: [timeOf(newest.at), timeOf(state.changed)]
  }
}

function gapBefore(entry: Entry, previous: Entry | undefined): JournalEntry | undefined {
  if (entry.missed > 0) return missedBefore(entry, previous)
  const last = previous && stateAfter(previous)
  if (!last || !entry.before || last.language !== entry.before.language) return undefined
  if (isUnchanged(last, entry.before, previous.by.uid === entry.by.uid)) return undefined
  const between: [string, string] = [timeOf(previous.at), timeOf(entry.at)]
  return {
    ...outside(`${entry.id}.before`, entry.before.changed ?? entry.at, entry.before.etag),
    message: `Changed outside Quoin between ${between[0]} and ${between[1]}`,
    between
  }
}

/** The saves before an entry that have none of their own. */
function missedBefore(entry: Entry, previous: Entry | undefined): JournalEntry {
  const times =
    entry.missed === 1 ? 'Saved through Quoin once' : `Saved through Quoin ${entry.missed} times`
  return {
    ...outside(`${entry.id}.before`, entry.at, entry.before?.etag),
    message: `${times} while the lock store was away`,
    ...(previous && { between: [timeOf(previous.at), timeOf(entry.at)] }),
    unrecorded: entry.missed
  }
}

/** Where a time of change is not known the entity tags decide, if both belong to the same user. */
function isUnchanged(last: EditionState, next: EditionState, isSameUser: boolean): boolean {
  if (last.changed !== undefined && next.changed !== undefined) {
    return last.changed === next.changed
  }
  return !isSameUser || last.etag.split('.')[0] === next.etag.split('.')[0]
}

/** What a save has left the edition as, where that is known. */
function stateAfter({ outcome, before, after }: Entry): EditionState | undefined {
  return outcome === 'saved' ? after : outcome === 'refused' ? before : undefined
}

function outside(id: string, at: number, etag: string | undefined) {
  return {
    id,
    at: timeOf(at),
    by: authorView({}),
    kind: 'outside' as const,
    fields: {},
    outcome: 'saved' as const,
    etag: etag ?? null
  }
}

export function authorView({
  uid = null,
  name = null
}: {
  uid?: string | null | undefined
  name?: string | null | undefined
}) {
  return { uid, name }
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
