import { LRUCache } from 'lru-cache'
import { Failure } from '../../errors.ts'
import type { Signal } from '../../http/aborter.ts'
import { createKeyedMutex, type Later } from '../../keyed-mutex.ts'
import type { EditionJson } from '../translate/edition-json.ts'
import { isUnfinishedWrite } from './outcome.ts'

/** How many saves of one edition may wait, and how long each, in milliseconds. */
const WAITING_MAX = 16
const WAIT_MS = 10_000
const RETRY_AFTER_SECONDS = '5'

/** Turns that the saves of one edition take among several instances. */
export interface Turns {
  /** A time that all instances agree on, in milliseconds. */
  now(): number
  /**
   * Waits for the turn to save an edition.
   * @param since when it was looked at, by `now`
   * @throws {Failure} EDITION_BUSY when others take too long; the signal's reason
   */
  take(uuid: string, since: number, signal?: Signal): Promise<Turn>
}

/**
 * A change before it is saved: the edition as it is, the names of the fields, and who makes it if
 * that is known.
 */
export interface ProposedChange {
  edition: EditionJson
  fields: string[]
  uid: string | undefined
  lockVersions?: string[] | undefined
}

/** A turn that has been taken. */
export interface Turn {
  /** Whether it holds among all instances; else among the saves of this one alone. */
  isShared: boolean
  /** Whether the edition may have been saved since it was looked at. */
  isOutdated: boolean
  /** Whether no other instance has had a turn since this one's last. */
  isNext: boolean
  /**
   * Called last before an update is sent, where others may be in its way.
   * @throws what the update is to be answered with
   */
  permit?(change: ProposedChange): Promise<void>
  /**
   * Called before something is sent.
   * @throws {Failure} EDITION_BUSY where the turn may be another's by now
   */
  confirm(): void
  /**
   * Gives the turn to the next.
   * @param isSettled false where the CMS may still be at work on the save
   */
  end(isSettled: boolean): Promise<void>
}

/** Names the last save of an edition that this instance knows of; undefined before the first. */
export type SaveMark = number | undefined

/** A turn among the saves of this instance. */
export interface QueuedTurn extends Turn {
  /** Names the save of this turn. */
  mark: SaveMark
  /** Whether nobody has saved since, through this instance or another one. */
  isUnsavedSince(mark: SaveMark): boolean
  /** Makes the caller wait for something that is done while the turn ends. It does not throw. */
  alongside(work: Promise<void>): void
}

export interface SaveQueue {
  /** A time to tell `run`. */
  now(): number
  /** The last save of an edition. A read that begins now shows it. */
  mark(uuid: string): SaveMark
  /** Call this when an edition was saved outside: nothing that was read before is its state. */
  outdate(uuid: string): void
  /**
   * Does a save when it is its turn.
   * @param since when the edition was looked at, by `now`
   * @param signal of one who may stop waiting: a save that has begun goes on
   * @throws {Failure} EDITION_BUSY, with nothing sent, when too many wait or others take too long
   */
  run<T>(
    uuid: string,
    since: number,
    save: (turn: QueuedTurn) => Promise<T>,
    signal?: Signal
  ): Promise<T>
}

/** For how many editions the queue remembers the last save. */
const EDITIONS = 10_000

interface QueueContext {
  /** The last save of each edition, counted over all editions. */
  marks: LRUCache<string, number>
  /** How many turns there have been. */
  turnCount: number
}

export interface SaveQueueOptions {
  /** Turns among all instances. Without them each instance has its own queue. */
  turns?: Turns | undefined
  later?: Later
}

/**
 * Does the saves of one edition one after the other: those of this instance by a queue, those of
 * all instances by turns.
 */
export function createSaveQueue({ turns = ownTurns, later }: SaveQueueOptions = {}): SaveQueue {
  const mutex = createKeyedMutex({
    waitersMax: WAITING_MAX,
    waitMs: WAIT_MS,
    refusal: (why) => busy(REASONS[why]),
    ...(later && { later })
  })

  const context: QueueContext = { marks: new LRUCache({ max: EDITIONS }), turnCount: 0 }
  return {
    now: turns.now,
    mark: (uuid) => context.marks.get(uuid.toLowerCase()),
    outdate(uuid) {
      context.marks.set(uuid.toLowerCase(), ++context.turnCount)
    },
    async run(uuid, since, save, signal) {
      let isWaiting = true
      try {
        return await mutex.run(
          uuid,
          async (hasWaited) => {
            const turn = await turns.take(uuid, since, signal)
            isWaiting = false
            const isOutdated = hasWaited || turn.isOutdated
            return saveQueued(context, uuid, { ...turn, isOutdated }, save)
          },
          signal
        )
      } catch (error) {
        // The time of the call is over. It was not the CMS that took it.
        if (isWaiting && (error as Failure).code === 'CMS_TIMEOUT') {
          throw busy('Other saves of this edition have taken longer than this one may wait')
        }
        throw error
      }
    }
  }
}

/** Does a save in a turn that was taken, and ends the turn. */
async function saveQueued<T>(
  context: QueueContext,
  uuid: string,
  turn: Turn,
  save: (turn: QueuedTurn) => Promise<T>
): Promise<T> {
  const { marks } = context
  const key = uuid.toLowerCase()
  const mark = ++context.turnCount
  const works: Array<Promise<void>> = []
  let isSent = false
  const saving = save({
    ...turn,
    mark,
    isUnsavedSince: (earlier) => turn.isNext && marks.get(key) === earlier,
    confirm() {
      turn.confirm()
      isSent = true
    },
    alongside: (work) => {
      works.push(work)
    }
  }).finally(() => {
    if (isSent) marks.set(key, mark)
  })
  await saving.then(
    () => turn.end(true),
    (error) => turn.end(!isUnfinishedWrite(error))
  )
  await Promise.all(works)
  return saving
}

/** @param why a sentence without its full stop */
export function busy(why: string): Failure {
  return new Failure('EDITION_BUSY', `${why}. Nothing of yours was sent: try again later.`, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS }
  })
}

const REASONS = {
  'too many wait': `${WAITING_MAX} saves of this edition wait already`,
  'waited too long': `Other saves of this edition have taken more than ${WAIT_MS} ms`
}

const ownTurns: Turns = {
  now: () => 0,
  take: async () => ({
    isShared: false,
    isOutdated: false,
    isNext: true,
    confirm() {},
    async end() {}
  })
}
