import type { Edition, EditionBody, NoLists } from './content.ts'
import type { Conditions, Editions, ReadEdition } from './editions.ts'
import type { QuoinError } from './error.ts'
import type { Saved } from './feed.ts'
import { backoff, later } from './later.ts'
import { createLive, type Live, type LiveState } from './live-state.ts'

export interface EditionState<AnEdition = Edition> {
  /** Undefined until it is read. */
  edition: AnEdition | undefined
  /** Names the state of `edition`. */
  etag: string | undefined
  /** Of a copy, given while the CMS is down: how old it is, in seconds. */
  age: number | undefined
  /** Why the last read failed. One that may pass is tried again. */
  error: QuoinError | undefined
}

export interface LiveEdition<AnEdition extends object = Edition> extends Live<
  EditionState<AnEdition>
> {
  /**
   * Changes fields of the edition in the state that is shown, and shows what it has become.
   * @throws {QuoinError} PRECONDITION_FAILED when somebody else has saved since: the edition is
   *   read again by itself; FIELD_LOCKED, with `body.locks`; UNPROCESSABLE, with `body.violations`
   */
  save(body: EditionBody<AnEdition>, options?: Conditions): Promise<ReadEdition<AnEdition>>
  /** Reads the edition again. It does so by itself after each save of others. */
  reload(): void
}

/** What of a client reads and saves editions. */
export interface EditionClient<AnEdition extends object, Lists extends object> {
  editions: Editions<AnEdition, Lists>
}

/** An edition as it is followed. */
interface Session<AnEdition extends object> {
  editions: Pick<Editions, 'read' | 'update' | 'subscribe'>
  id: string | number
  live: LiveState<EditionState<AnEdition>>
  signal: AbortSignal | undefined
  /** Of all reads and saves, the one that began last is shown. */
  turn: number
  saves: number
  /** What was told last while a save was under way; it may be that save itself. */
  told: Saved | undefined
  failures: number
  /** Ends the wait for the next try. */
  cancel: () => void
}

const NOTHING = { edition: undefined, etag: undefined, age: undefined, error: undefined }

/** An edition, kept up to date with what others save. */
export function liveEdition<AnEdition extends object = Edition, Lists extends object = NoLists>(
  { editions }: EditionClient<AnEdition, Lists>,
  id: string | number
): LiveEdition<AnEdition> {
  const session: Session<AnEdition> = {
    editions: editions as unknown as Editions,
    id,
    live: createLive<EditionState<AnEdition>>(NOTHING, (signal) => begin(session, signal)),
    signal: undefined,
    turn: 0,
    saves: 0,
    told: undefined,
    failures: 0,
    cancel() {}
  }
  const { get, subscribe } = session.live
  return {
    get,
    subscribe,
    save: (body, options) => save(session, body, options),
    reload: () => {
      read(session)
    }
  }
}

function begin<AnEdition extends object>(session: Session<AnEdition>, signal: AbortSignal): void {
  session.signal = signal
  signal.addEventListener('abort', () => session.cancel())
  read(session)
  let wasDown = false
  const listener = {
    locks(_locks: unknown, isStale?: boolean) {
      // What was saved meanwhile was not told.
      if (wasDown && !isStale) read(session)
      wasDown = Boolean(isStale)
    },
    down() {
      wasDown = true
    },
    saved: (saved: Saved) => hear(session, saved)
  }
  session.editions.subscribe(session.id, listener, { signal })
}

async function read<AnEdition extends object>(session: Session<AnEdition>): Promise<void> {
  const { editions, id, live, signal } = session
  if (!signal || signal.aborted) return
  const turn = ++session.turn
  session.cancel()
  try {
    const answer = await editions.read(id, { signal })
    if (turn !== session.turn) return
    session.failures = 0
    show(session, answer)
  } catch (error) {
    if (signal.aborted || turn !== session.turn) return
    const failure = error as QuoinError
    live.put({ error: failure })
    if (!failure.passes) return
    session.cancel = later(backoff(++session.failures, failure.retryAfter), () => {
      read(session)
    })
  }
}

function show<AnEdition extends object>(
  { live }: Session<AnEdition>,
  { edition, etag, age }: ReadEdition
): void {
  live.put({ edition: edition as unknown as AnEdition, etag, age, error: undefined })
}

async function save<AnEdition extends object>(
  session: Session<AnEdition>,
  body: EditionBody<AnEdition>,
  options?: Conditions
): Promise<ReadEdition<AnEdition>> {
  const { editions, id, live } = session
  session.saves++
  try {
    const answer = await editions
      .update(id, body as EditionBody, { ifMatch: live.get().etag, ...options })
      .finally(() => session.saves--)
    session.turn++
    session.cancel()
    show(session, answer)
    hearAgain(session)
    return answer as unknown as ReadEdition<AnEdition>
  } catch (error) {
    if ((error as QuoinError).code !== 'PRECONDITION_FAILED') hearAgain(session)
    else {
      session.told = undefined
      read(session)
    }
    throw error
  }
}

/** Hears what was told while a save was under way. */
function hearAgain<AnEdition extends object>(session: Session<AnEdition>): void {
  const { told } = session
  session.told = undefined
  if (told) hear(session, told)
}

/** Reads what somebody else has saved. Of a board also its articles are told. */
function hear<AnEdition extends object>(session: Session<AnEdition>, saved: Saved): void {
  const { id, live, saves } = session
  if (isOther(id, saved.entityId)) return
  if (saves > 0) session.told = saved
  else if (!isSame(saved.etag, live.get().etag)) read(session)
}

/** Whether both are integer ids, and not the same: the id of a lock may be another than `id`. */
function isOther(id: string | number, entityId: string): boolean {
  return /^\d+$/.test(`${id}`) && /^\d+$/.test(entityId) && entityId !== `${id}`
}

/** Whether two tags name the same state: the part before the dot counts. */
function isSame(tag: string | null, other: string | undefined): boolean {
  return tag !== null && other !== undefined && stateIn(tag) === stateIn(other)
}

function stateIn(tag: string): string {
  return tag.replaceAll('"', '').split('.')[0]!
}
