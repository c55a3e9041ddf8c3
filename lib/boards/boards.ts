import type { EditionPage, Editions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { Batch, FeedEvent } from '../locks/feed-events.ts'
import type { Watcher, WatchOptions } from '../locks/watcher.ts'
import type { Locks } from '../locks/locks.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import { forEach } from '../locks/table.ts'
import { entitiesOf, lockType } from './entities.ts'
import { inAllLanguages, lockNameOf, withoutLanguage } from './names.ts'
import { createSharedReads } from './shared-reads.ts'

/** For this part of a heartbeat all watchers share an answer of the CMS. It is less than 1, so a lone watcher asks at each heartbeat. */
const SHARED = 0.9

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

/** A lock or a sign, as far as it says what it is on. */
type Subject = Pick<LockView, 'entityType' | 'entityId'>

type EntityOf = (subject: Subject) => Entity

/** Whether a caller may view an entity. */
export type MayView = (entity: Entity) => Promise<boolean>

export interface LiveOptions extends WatchOptions {
  mayView?: MayView | undefined
}

/** Lock boards: who is at work in an edition, on the edition itself and on the articles that it holds. */
export function createBoards({ locks, editions, model }: BoardsDeps) {
  const share = createSharedReads<Entity[]>()

  /** All that the locks of entities may be under. */
  function named(entities: Entity[]): Entity[] {
    return entities.flatMap((entity) => inAllLanguages(entity, model))
  }

  /** The entity of a lock or a sign, in whatever language. */
  function entityOf({ entityType, entityId }: Subject): Entity {
    return withoutLanguage({ type: entityType, id: entityId }, model)
  }

  async function entities(id: string, caller: Caller): Promise<Entity[]> {
    return entitiesOf(await editions.bare(id, caller), model)
  }

  /**
   * @param id integer id or uuid of the edition
   * @param mayView asked about each entity that has locks; whatever it may not see is left out
   * @throws {Failure} as `editions.bare` and `mayView`; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function read(id: string, caller: Caller, mayView?: MayView): Promise<Board> {
    const boardEntities = await entities(id, caller)
    const views = await locks.view(named(boardEntities))
    return {
      locks: mayView ? await visible(views, entityOf, mayView) : views,
      entities: boardEntities.length
    }
  }

  /**
   * The locks on the rows of a list, by their uuids, from one Query for each row.
   * @param mayView asked about each row that has locks; those of a row that it may not see are left out
   * @returns null while the lock store does not answer
   * @throws {Failure} as `mayView`; STORE_FAILED
   */
  async function ofRows(
    { rows, entityType }: Pick<EditionPage, 'rows' | 'entityType'>,
    mayView?: MayView
  ): Promise<Record<string, LockView[]> | null> {
    const entities = entitiesOfRows({ rows, entityType })
    const views = await locks.view(named(entities)).catch(unlessUnavailable)
    if (!views) return null
    const visibleViews = mayView ? await visible(views, entityOf, mayView) : views
    const byId = Map.groupBy(visibleViews, ({ entityId }) => lockNameOf(entityId, model).id)
    return Object.fromEntries(
      rows.map(({ uuid }, index) => [uuid, byId.get(entities[index]!.id) ?? []])
    )
  }

  function entitiesOfRows({
    rows,
    entityType
  }: Pick<EditionPage, 'rows' | 'entityType'>): Entity[] {
    return rows.map(({ id, uuid }) => ({
      type: lockType(entityType, model),
      id: model.lockIds === 'id' ? id : uuid
    }))
  }

  /**
   * The live form of a board. Quoin reads the edition again at every heartbeat, and when its articles are saved through Quoin, once
   * for all callers with the same credentials. If its articles have changed, a new snapshot comes. If the caller may not see it any more, the events end.
   * @throws {Failure} as `editions.bare`; as `feed.watch`
   */
  async function watch(id: string, caller: Caller, options?: LiveOptions): Promise<Watcher> {
    return live(id, caller, (caller) => entities(id, caller), {
      ...options,
      fields: model.fields.articles
    })
  }

  /**
   * The same of the rows of a list: their own locks, and a new snapshot when rows have come or gone.
   * @param name of the list, the same for all who watch it
   * @throws {Failure} as `list` and `feed.watch`
   */
  async function watchRows(
    name: string,
    caller: Caller,
    list: (caller: Caller) => Promise<Pick<EditionPage, 'rows' | 'entityType'>>,
    options?: LiveOptions
  ): Promise<Watcher> {
    return live(name, caller, async (caller) => entitiesOfRows(await list(caller)), options)
  }

  /**
   * @param readEntities finds what is watched, anew at every heartbeat
   * @param options.fields a save of these changes what is watched, at once
   */
  async function live(
    name: string,
    caller: Caller,
    readEntities: (caller: Caller) => Promise<Entity[]>,
    { mayView, fields = [], ...options }: LiveOptions & { fields?: string[] } = {}
  ): Promise<Watcher> {
    let boardEntities = await readEntities(caller)
    const watcher = await locks.feed.watch(named(boardEntities), options)
    const sharedRead = share(name, caller, watcher.heartbeatMs * SHARED, readEntities)
    let over = false
    let isRearranged = false

    async function next(): Promise<Batch | undefined> {
      if (isRearranged && !(await turn())) return undefined
      const batch = await watcher.next()
      const saves = batch?.flatMap((event) => (event.event === 'saved' ? event.saved : [])) ?? []
      if (saves.length > 0) sharedRead.forget()
      isRearranged = saves.some((saved) => saved.fields.some((field) => fields.includes(field)))
      if (batch && batch[0]?.event !== 'heartbeat') {
        return (await visibleBatch(batch, entityOf, mayView)) ?? next()
      }
      return batch && (await turn()) ? batch : undefined
    }

    /** Watches what there is now. @returns whether it goes on */
    async function turn(): Promise<boolean> {
      const now = await readPresent()
      if (now && !areSameEntities(now, boardEntities)) {
        await watcher.turnTo(named(now))
        boardEntities = now
      }
      if (now && !over) return true
      leave()
      return false
    }

    /** The entities of the board now; undefined if the caller is refused. While the CMS is away they stay as they were. */
    async function readPresent(): Promise<Entity[] | undefined> {
      try {
        return await sharedRead.ask()
      } catch (error) {
        return error instanceof Failure && error.statusCode >= 500 ? boardEntities : undefined
      }
    }

    function leave(): void {
      over = true
      sharedRead.leave()
      watcher.leave()
    }

    return { heartbeatMs: watcher.heartbeatMs, next, leave }
  }

  return {
    /** The edition with an integer id or uuid, as its locks name it. */
    edition: (id: string): Entity => ({ type: lockType(model.entityType, model), id }),
    read,
    ofRows,
    watch,
    watchRows
  }
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof Failure && error.code === 'STORE_UNAVAILABLE')) throw error
}

/** The part of a batch that may be shown: the batch itself if all of it may be, undefined if nothing may be. */
async function visibleBatch(
  batch: Batch,
  entityOf: EntityOf,
  mayView: MayView | undefined
): Promise<Batch | undefined> {
  if (!mayView) return batch
  const subjectOf = (event: FeedEvent) =>
    'lock' in event
      ? event.lock
      : 'petition' in event
        ? event.petition
        : 'presence' in event
          ? event.presence
          : undefined
  const subjectsOfBatch = batch.flatMap((event) =>
    event.event === 'snapshot' ? event.locks : (subjectOf(event) ?? [])
  )
  const subjects = await visible(subjectsOfBatch, entityOf, mayView)
  if (subjects.length === subjectsOfBatch.length) return batch
  const visibleEvents = batch
    .filter((event) => !subjectOf(event) || subjects.includes(subjectOf(event)!))
    .map((event) =>
      event.event === 'snapshot'
        ? { ...event, locks: event.locks.filter((lock) => subjects.includes(lock)) }
        : event
    )
  return visibleEvents.length > 0 ? visibleEvents : undefined
}

/** The locks and signs on entities that may be viewed. */
async function visible<One extends Subject>(
  subjects: One[],
  entityOf: EntityOf,
  mayView: MayView
): Promise<One[]> {
  const byEntity = Map.groupBy(subjects, (subject) => {
    const { type, id } = entityOf(subject)
    return `${type}-${id}`
  })
  const hiddenSubjects = new Set<One>()
  await forEach([...byEntity.values()], async (subjects) => {
    if (!(await mayView(entityOf(subjects[0]!)))) {
      for (const subject of subjects) hiddenSubjects.add(subject)
    }
  })
  return subjects.filter((subject) => !hiddenSubjects.has(subject))
}

function areSameEntities(a: Entity[], b: Entity[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ type, id }, index) => type === b[index]!.type && id === b[index]!.id)
  )
}
