import type { Editions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import type { FeedEvent } from '../locks/feed-events.ts'
import type { Watcher } from '../locks/feed.ts'
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
   * snapshot, and when the caller may not see it any more the events end. They break off when the store fails just then.
   * @throws {Failure} as `read`; TOO_MANY_WATCHERS
   */
  async function watch (id: string, caller: Caller, { lastEventId }: { lastEventId?: string | undefined } = {}): Promise<Watcher> {
    let wanted = await entities(id, caller)
    let watcher = await locks.feed.watch(wanted, { lastEventId })
    let over = false

    async function next (): Promise<FeedEvent | undefined> {
      const event = await watcher.next()
      if (event?.event !== 'heartbeat') return event
      const now = await present()
      if (now && !isSame(now, wanted)) {
        watcher.leave()
        watcher = await locks.feed.watch(now)
        wanted = now
      }
      if (now && !over) return event
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

    return { next, leave }
  }

  return { read, watch }
}

function isSame (a: Entity[], b: Entity[]): boolean {
  return a.length === b.length && a.every(({ type, id }, index) => type === b[index]!.type && id === b[index]!.id)
}
