import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { withoutOperations, type Batch } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import type { Entity } from '../locks/schemas.ts'
import type { FeedWatcher, Watcher, WatchOptions } from '../locks/watcher.ts'
import { inAllLanguages } from './names.ts'
import type { JoinRead, SharedRead } from './shared-reads.ts'
import { visibleBatch, type MayView } from './visible-locks.ts'

/**
 * For this part of a heartbeat all watchers share an answer of the CMS. It is less than 1, so a
 * lone watcher asks at each heartbeat.
 */
const SHARED = 0.9

/** What a caller is shown of a board. */
export interface BoardScope {
  entities: Entity[]
  /** The fields with the running orders. */
  shownFields: string[]
}

export interface LiveContext {
  locks: Pick<Locks, 'feed'>
  model: ContentModel
  share: JoinRead<BoardScope>
}

export interface LiveOptions extends WatchOptions {
  mayView?: MayView | undefined
}

/** One event stream of a board. */
interface LiveBoard {
  watcher: FeedWatcher
  sharedRead: SharedRead<BoardScope>
  model: ContentModel
  mayView: MayView | undefined
  /** A save of these fields changes which entities are on the board. */
  fields: string[]
  scope: BoardScope
  /** Whether the last batch told of such a save. */
  isRearranged: boolean
  isOver: boolean
}

/**
 * Watches the locks and signs of the entities of a board.
 * @param name of the board, the same for all who watch it
 * @param readScope finds what is watched, anew at every heartbeat
 * @param options.fields a save of these changes what is watched, at once
 * @throws {Failure} as `readScope` and `feed.watch`
 */
export async function watchEntities(
  { locks, model, share }: LiveContext,
  name: string,
  caller: Caller,
  readScope: (caller: Caller) => Promise<BoardScope>,
  { mayView, fields = [], ...options }: LiveOptions & { fields?: string[] } = {}
): Promise<Watcher> {
  const scope = await readScope(caller)
  const watcher = await locks.feed.watch(lockNames(scope.entities, model), options)
  const live: LiveBoard = {
    watcher,
    sharedRead: share(name, caller, watcher.heartbeatMs * SHARED, readScope),
    model,
    mayView,
    fields,
    scope,
    isRearranged: false,
    isOver: false
  }
  return {
    heartbeatMs: watcher.heartbeatMs,
    next: () => nextBatch(live),
    leave: () => leave(live)
  }
}

/** All that the locks of entities may be under. */
export function lockNames(entities: Entity[], model: ContentModel): Entity[] {
  return entities.flatMap((entity) => inAllLanguages(entity, model))
}

async function nextBatch(live: LiveBoard): Promise<Batch | undefined> {
  if (live.isRearranged && !(await refresh(live))) return undefined
  const batch = await live.watcher.next()
  noteSaves(live, batch)
  if (batch && batch[0]?.event !== 'heartbeat') {
    const shown = isOrderShown(live, batch) ? batch : withoutOperations(batch)
    return (await visibleBatch(shown, live.mayView, live.model)) ?? nextBatch(live)
  }
  return batch && (await refresh(live)) ? batch : undefined
}

/** A save through Quoin makes the shared read too old. */
function noteSaves(live: LiveBoard, batch: Batch | undefined): void {
  const saves = batch?.flatMap((event) => (event.event === 'saved' ? event.saved : [])) ?? []
  if (saves.length > 0) live.sharedRead.forget()
  live.isRearranged = saves.some((save) => save.fields.some((field) => live.fields.includes(field)))
}

/** Whether the caller is shown the running orders that a batch tells of. */
function isOrderShown({ scope }: LiveBoard, batch: Batch): boolean {
  return batch.every(
    (event) =>
      event.event !== 'saved' ||
      event.saved.fields.every((field) => scope.shownFields.includes(field))
  )
}

/** Watches the entities that are on the board now. @returns whether the stream goes on */
async function refresh(live: LiveBoard): Promise<boolean> {
  const scope = await readPresent(live)
  if (scope && !areSameEntities(scope.entities, live.scope.entities)) {
    await live.watcher.turnTo(lockNames(scope.entities, live.model))
  }
  if (scope) live.scope = scope
  if (scope && !live.isOver) return true
  leave(live)
  return false
}

/**
 * What the board has now; undefined if the caller is refused. While the CMS is away it stays as it
 * was.
 */
async function readPresent({ sharedRead, scope }: LiveBoard): Promise<BoardScope | undefined> {
  try {
    return await sharedRead.ask()
  } catch (error) {
    return error instanceof Failure && error.statusCode >= 500 ? scope : undefined
  }
}

function leave(live: LiveBoard): void {
  live.isOver = true
  live.sharedRead.leave()
  live.watcher.leave()
}

function areSameEntities(a: Entity[], b: Entity[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, id }, index) => type === b[index]!.type && id === b[index]!.id)
  )
}
