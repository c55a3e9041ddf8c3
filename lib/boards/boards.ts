import type { Editions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import type { Batch } from '../locks/feed-events.ts'
import type { Watcher, WatchOptions } from '../locks/feed.ts'
import type { Locks } from '../locks/locks.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import { entitiesOf } from './entities.ts'

export interface BoardsDeps {
  locks: Pick<Locks, 'view' | 'feed'>
  editions: Pick<Editions, 'bare'>
  model: ContentModel
}

export interface Board {
  /** The edition's own locks first, then those of its articles in their order. */
  locks: LockView[]
  /** How many entities the board looks at: the edition and its articles. */
  entities: number
}

export type Boards = ReturnType<typeof createBoards>

/** Lock boards: who is at work in an edition, on the edition itself and on the articles that it holds. */
export function createBoards ({ locks, editions, model }: BoardsDeps) {
  async function entities (id: string, caller: Caller): Promise<Entity[]> {
    return entitiesOf(await editions.bare(id, caller), model)
  }

  /**
   * @param id integer id or uuid of the edition
   * @throws {Failure} as `editions.bare`; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function read (id: string, caller: Caller): Promise<Board> {
    const wanted = await entities(id, caller)
    return { locks: await locks.view(wanted), entities: wanted.length }
  }

  /**
   * A board's live twin. The edition is read again at every heartbeat: when its articles have changed there is a new
   * snapshot, and when the caller may not see it any more the events end.
   * @throws {Failure} as `editions.bare`; as `feed.watch`
   */
  async function watch (id: string, caller: Caller, options: WatchOptions = {}): Promise<Watcher> {
    let wanted = await entities(id, caller)
    let watcher = await locks.feed.watch(wanted, options)
    let over = false

    async function next (): Promise<Batch | undefined> {
      const batch = await watcher.next()
      if (batch?.[0]?.event !== 'heartbeat') return batch
      const now = await present()
      if (now && !isSame(now, wanted)) {
        watcher.leave()
        watcher = await locks.feed.watch(now, { caller: options.caller })
        wanted = now
      }
      if (now && !over) return batch
      leave()
      return undefined
    }

    /** What the board is to look at now; nothing if the caller is refused. While the CMS is away it stays as it was. */
    async function present (): Promise<Entity[] | undefined> {
      try {
        return await entities(id, caller)
      } catch (error) {
        return error instanceof Failure && error.statusCode >= 500 ? wanted : undefined
      }
    }

    function leave (): void {
      over = true
      watcher.leave()
    }

    return { heartbeatMs: watcher.heartbeatMs, next, leave }
  }

  return { read, watch }
}

function isSame (a: Entity[], b: Entity[]): boolean {
  return a.length === b.length && a.every(({ type, id }, index) => type === b[index]!.type && id === b[index]!.id)
}
