import type { Changes, EditionSave } from './feed-events.ts'
import {
  entityName,
  HEARTBEAT_MS,
  STREAMS,
  type FeedContext,
  type FeedDeps
} from './feed-context.ts'
import { noticeOf, type LockNotice } from './notice.ts'
import { paceOf, readsPerSecond as readsOf } from './pace.ts'
import type { Entity } from './schemas.ts'
import { watchLocks, type WatchOptions } from './watcher.ts'
import { systemTime } from '../time.ts'

/**
 * Tells watchers of all changes to the locks of entities, through any instance. It reads the table
 * at an interval, once for all watchers of an entity. It tells the writes of its own instance at
 * once, without a read.
 *
 * Nothing is queued for a watcher. One that asks in time gets every change; one that is behind gets
 * a snapshot.
 */
export function createFeed({
  read,
  pollMs = 500,
  noticedPollMs = Math.max(pollMs, 10_000),
  restMs = pollMs,
  readsPerSecond = readsOf(pollMs),
  heartbeatMs = HEARTBEAT_MS,
  watchersMax = STREAMS,
  watchersPerCaller = watchersMax,
  warn,
  notices,
  isOver = () => false,
  time = systemTime
}: FeedDeps) {
  const feed: FeedContext = {
    read,
    pollMs,
    noticedPollMs,
    restMs,
    readsPerSecond,
    heartbeatMs,
    watchersMax,
    watchersPerCaller,
    warn,
    notices,
    isOver,
    time,
    entities: new Map(),
    channels: new Map(),
    watchers: new Set(),
    byCaller: new Map(),
    warnedAt: -Infinity,
    pace: undefined,
    pacedAt: 0,
    isClosed: false
  }
  return {
    watch: (targets: Entity[], options?: WatchOptions) => watchLocks(feed, targets, options),
    writing: (entity: Entity) => beginWriting(feed, entity),
    readAgain: (entity: Entity) => readAgain(feed, entity),
    saved: (save: EditionSave) => tellSave(feed, save),
    hear: (notice: LockNotice) => hearNotice(feed, notice),
    catchUp: () => catchUp(feed),
    /** How much is watched, and by how many. */
    counts: () => ({ watchers: feed.watchers.size, entities: feed.entities.size }),
    close: () => closeFeed(feed)
  }
}

/**
 * Call this before every write to an entity, and the function that it returns afterwards, with the
 * known state of the fields and whether that is all. Watchers of the entity get these changes at
 * once. The next read, within an interval, finds the rest.
 */
export function beginWriting(
  feed: FeedContext,
  entity: Entity
): (changes: Changes, isSure?: boolean) => void {
  const { entities, notices, time } = feed
  const name = entityName(entity)
  const watched = entities.get(name)
  const endWrite = watched?.writing()
  const began = time.now()
  return (changes, isSure = true) => {
    if (notices?.isUp()) {
      endWrite?.()
      return tellWrite(
        feed,
        entity,
        noticeOf(entity, { began, ended: time.now(), isSure }, changes)
      )
    }
    endWrite?.(changes)
    // Somebody has begun to watch it meanwhile: the first read may have missed the write.
    const present = entities.get(name)
    if (present !== watched) present?.soon(0)
  }
}

/**
 * Tells everybody of a write. A write that has changed nothing was refused, for a reason that only
 * a read can show.
 */
function tellWrite({ entities, notices }: FeedContext, entity: Entity, notice: LockNotice): void {
  const isRefused = notice.isSure && notice.fields.length === 0
  const watched = entities.get(entityName(entity))
  if (isRefused) return watched?.soon(0)
  notices!.tell(notice)
  watched?.hear(notice)
}

/**
 * Call this after a write that only a read shows. The entity is read again for all who watch it,
 * here or at another instance.
 */
export function readAgain({ entities, notices, time }: FeedContext, entity: Entity): void {
  const moment = time.now()
  entities.get(entityName(entity))?.soon(0)
  notices?.tell(noticeOf(entity, { began: moment, ended: moment, isSure: false }, new Map()))
}

/** Tells the watchers of an entity that it was saved. */
export function tellSave({ entities, channels }: FeedContext, saved: EditionSave): void {
  const watched = entities.get(entityName({ type: saved.entityType, id: saved.entityId }))
  if (!watched) return
  for (const channel of channels.values()) {
    if (channel.watched.includes(watched)) channel.tell({ event: 'saved', saved })
  }
}

/** Takes in what another instance tells of a write. */
export function hearNotice({ entities }: FeedContext, notice: LockNotice): void {
  entities.get(entityName(notice))?.hear(notice)
}

/**
 * Call this when notices of any instance have begun to come, or have stopped. Every watched entity
 * is then read once, as soon as the limit on reads allows, since notices may have been lost.
 */
export function catchUp(feed: FeedContext): void {
  const { entities, pollMs, time } = feed
  feed.pace = undefined
  const [withinMs] = paceOf([entities.size], pollMs)
  for (const watched of entities.values()) watched.soon(time.random() * withinMs!)
}

/** Ends every watcher, and those that are still to come. */
export function closeFeed(feed: FeedContext): void {
  feed.isClosed = true
  for (const leave of [...feed.watchers]) leave()
}
