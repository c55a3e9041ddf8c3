import {
  QuoinError,
  type Client,
  type Held,
  type Holder,
  type LockRecord,
  type LockView
} from '../../client/src/client.ts'
import { createCopy } from './copy.ts'
import type { Kept, Place } from './draft-storage.ts'
import type { Shape } from './fields.ts'
import { createTrouble, failureOf } from './failures.ts'
import { createOffer } from './offer.ts'
import { createDebounce } from './debounce.ts'
import type { Item } from './settings.ts'
import { createBoard, takeFrom } from './board.ts'
import { createText } from './text.ts'
import { say } from './texts.ts'

/**
 * The text of a field that another user has now. Without `wasHeld` the other user had it before
 * this one typed.
 */
export interface Displacement {
  shape: Shape
  text: string
  by: Holder
  wasHeld: boolean
}

export interface FieldDeps {
  shape: Shape
  items: Item[]
  entity: { type: string; id: string }
  /** The uid of who sits here. */
  uid: string
  locks: Client['locks']
  /**
   * Takes the text that is in no lock yet; undefined if there is none. Says where it is.
   * @param onEnd told when a text has got to the browser's disk, or has failed to
   */
  mirror: (onEnd: () => void) => (kept: Kept | undefined) => Place
  /** Told that there is something new to see. */
  onChange: () => void
  /** Called when somebody else has taken the field. */
  onDisplace: (displacement: Displacement) => void
  /** Takes a text that another one has replaced. */
  putAside: (text: string) => void
}

export type Field = ReturnType<typeof createField>

/**
 * A field of an edition as one editor has it before him: its text, its lock, and what stands in the
 * way.
 */
export function createField({
  shape,
  items,
  entity,
  uid,
  locks,
  mirror,
  onChange,
  onDisplace,
  putAside
}: FieldDeps) {
  const what = { ...entity, fieldName: shape.name }
  const text = createText(shape, items)
  const copy = createCopy()
  const offer = createOffer(text, copy, putAside)
  let ownLock: Held | undefined
  let acquisition: Promise<void> | undefined
  let [isFocused, isLeft] = [false, false]
  let holder: Holder | undefined
  const board = createBoard()
  const debounce = createDebounce(() => {
    if (ownLock) keepOrRelease()
    else take()
  })
  /** Whether nothing is typed but what is in the lock. */
  const isKept = () => !text.isDirty || (ownLock !== undefined && text.now === copy.arrived)
  const mirrored = mirror(update)
  /** Where a text is that is not in its lock. */
  let placeOfText: Place = 'disk'
  const place = () => (isKept() ? 'lock' : placeOfText)
  const trouble = createTrouble(place, update)
  let whyForbidden: string | undefined
  /** The text that was kept last, in the browser or in the lock, and when, in seconds. */
  let backup = { text: text.base, at: 0 }
  /** The text that was typed last, and when, in milliseconds. */
  let latest = { text: text.base, at: Date.now() }

  function update(): void {
    if (text.now !== latest.text) latest = { text: text.now, at: Date.now() }
    placeOfText = mirrored(isKept() ? undefined : { payload: text.now })
    const isSafe = isKept() || placeOfText === 'disk'
    if (isSafe && text.now !== backup.text) backup = { text: text.now, at: Date.now() / 1000 }
    onChange()
  }

  function takeGrant(lock: Held): void {
    ownLock = lock
    board.end(board.current?.version)
    holder = undefined
    trouble.is()
    copy.begin(lock.found)
    offer.find(lock.found, lock)
  }

  function takeRefusal(error: unknown): void {
    if (!(error instanceof QuoinError)) throw error
    if (error.lock && error.lock.userData.uid !== uid) return lose(error.lock)
    trouble.failed(error)
    // Once the user signs in again, the retry keeps the text.
    if ((error.passes || error.status === 401 || error.code === 'USER_CHANGED') && text.isDirty) {
      debounce.retry()
    }
  }

  /** Takes the lock, unless it is held or another's. */
  function take(
    get = () =>
      trouble.patient(locks.acquire(what, { onLost, ...(text.isDirty && { payload: text.now }) }))
  ): Promise<void> {
    if (ownLock) return Promise.resolve()
    debounce.stop()
    if (text.isDirty) copy.give(text.now)
    acquisition ??= get()
      .then(takeGrant, takeRefusal)
      .finally(() => {
        acquisition = undefined
        if (ownLock) keepOrRelease()
        update()
      })
    return acquisition
  }

  function onLost({ lock }: QuoinError): void {
    if (lock && lock.userData.uid !== uid) return lose(lock)
    ownLock = undefined
    trouble.is(lock && say('otherWindow'))
    if (!lock && text.isDirty && !isLeft) take()
    update()
  }

  /**
   * Somebody else has the field: shows the saved text, and tells the writer where the typed one is.
   */
  function lose(by: Holder): void {
    const displacement = { shape, text: text.now, by, wasHeld: ownLock !== undefined }
    const isTold = displacement.wasHeld || text.isDirty
    ownLock = undefined
    holder = by
    debounce.stop()
    text.reset()
    trouble.is()
    if (isTold) onDisplace(displacement)
    update()
  }

  async function keep(): Promise<void> {
    // Without a lock the next try to take it is still to come.
    if (!ownLock) return
    debounce.stop()
    if (text.now === copy.sent) return
    offer.yield()
    const lock = ownLock
    const failure = await trouble.patient(copy.send(lock, text.now, Date.now() - latest.at))
    // A lock that was lost meanwhile says nothing of the one that has been taken since.
    if (ownLock !== lock) return
    if (failure) takeRefusal(failure)
    else trouble.is()
    update()
  }

  /** Lets go of a lock; a field that has the focus is locked anew, without what was typed. */
  async function release(lock: Held): Promise<void> {
    debounce.stop()
    ownLock = undefined
    copy.begin()
    board.end(lock.version)
    const failure = await lock.release().catch(failureOf)
    // The client retries a passing failure by itself, and no text depends on it.
    if (failure && !failure.passes) takeRefusal(failure)
    update()
    if (!failure && isFocused) await take()
  }

  /**
   * Keeps what is typed. A lock that no text needs is released, unless the field has the focus and
   * nothing was typed.
   */
  async function keepOrRelease(): Promise<void> {
    if (!text.isDirty) trouble.is()
    if (text.isDirty) keep()
    else if (ownLock && !offer.isInLock && (ownLock.isTyped || !isFocused)) await release(ownLock)
  }

  /** Keeps a typed text that another one is about to replace. What is only chosen is no text. */
  function giveUp(): void {
    const isChosen = shape.kind === 'flag' || shape.kind === 'choice'
    if (text.now !== text.base && !isChosen) putAside(text.now)
  }

  function type(now: string, isWhole = true): void {
    if (holder) return
    text.type(now, isWhole)
    if (text.now === offer.text) offer.end()
    if (ownLock) debounce.delay()
    else take()
    update()
  }

  return {
    shape,
    get text() {
      return text.now
    },
    get base() {
      return text.base
    },
    get isDirty() {
      return text.isDirty
    },
    get isKept() {
      return isKept()
    },
    /**
     * When what is typed was kept, in seconds; undefined while it is not, and where nothing is
     * typed.
     */
    get keptAt() {
      return text.isDirty && text.now === backup.text ? backup.at : undefined
    },
    /** Where what is typed is, besides this window. */
    get place() {
      return place()
    },
    get isHeld() {
      return ownLock !== undefined
    },
    /** Whose the field is, if it is somebody else's. */
    get holder() {
      return holder
    },
    /** What the same user had typed earlier or elsewhere. */
    get offer() {
      return offer.text
    },
    /** What somebody else has saved meanwhile where the text is another too. */
    get theirs() {
      return text.theirs
    },
    get isUnfinished() {
      return text.isUnfinished
    },
    /** Whether it has what a browser cannot read as a value, such as half of a date. */
    get isUnreadable() {
      return text.isUnreadable
    },
    get problems() {
      return text.problems
    },
    get hint() {
      return text.hint
    },
    /** Why Drupal does not let this user change it, once Drupal has said so. */
    get whyForbidden() {
      return whyForbidden
    },
    get trouble() {
      return trouble.words
    },

    focus(): void {
      isFocused = true
      // A running order is changed by operations, which need no lock.
      if (
        !holder &&
        whyForbidden === undefined &&
        shape.kind !== 'fixed' &&
        shape.kind !== 'order'
      ) {
        take()
      }
    },

    type,

    /** Gives it another text, such as the saved one. A text that is not saved yet is put aside. */
    replace(now: string): void {
      if (!holder && now !== text.now) giveUp()
      type(now)
    },

    /** Sends text that is not in the lock yet. */
    keep(): void {
      if (text.isDirty) keep()
    },

    blur(): void {
      isFocused = false
      keepOrRelease()
    },

    /** Takes the field from its holder. Refused if a third user has it by now. */
    async takeOver(): Promise<void> {
      await acquisition
      // Set afterwards too: the blur of the previous control may arrive after this press.
      const noteFocus = () => {
        isFocused = true
      }
      await take(() =>
        takeFrom(holder?.userData.uid, { locks, what, onLost, board }).finally(noteFocus)
      )
    },

    /** Goes on with an earlier text. A text that is not saved yet is put aside. */
    async restore(earlier: string): Promise<void> {
      if (holder) return
      offer.replace(earlier)
      text.restore(earlier)
      update()
      if (ownLock) keep()
      else await take()
    },

    /** Lets go of the lock for somebody who asks for the field. What is typed is put aside. */
    async handOver(): Promise<void> {
      await acquisition
      isFocused = false
      if (!ownLock) return
      offer.yield()
      if (text.isDirty) putAside(text.now)
      text.reset()
      await release(ownLock)
    },

    /** Ends the offer of the text that was typed before, and puts it aside. */
    async discardOffer(): Promise<void> {
      await acquisition
      const { lock, text: offered } = offer
      if (offered !== undefined) putAside(offered)
      offer.end()
      copy.begin()
      if (ownLock) await keepOrRelease()
      // By the version that was seen: this deletes an expired lock too, and leaves a lock with
      // which another window went on.
      else if (lock) await locks.release(what, lock).catch(takeRefusal)
      update()
    },

    /** The lock has this text; what was typed here since is newer. */
    offered({ payload, version }: Pick<LockRecord, 'payload' | 'version'>): void {
      if (!ownLock && !text.isDirty) offer.find(payload, { version })
    },

    /** What the lock board says of the field now. */
    board(lock: LockView | undefined): void {
      if (board.isOver(lock)) return
      const wasMine = board.current?.userData.uid === uid
      board.show(lock)
      if (!text.isDirty) trouble.is()
      holder = lock && lock.userData.uid !== uid ? lock : undefined
      if (holder && ownLock) return lose(holder)
      // Somebody may have forced the release. The next write tells, so typed text is written at
      // once.
      if (!lock && wasMine && ownLock && text.isDirty) {
        copy.begin()
        keep()
      }
    },

    /** The edition was saved with this text. The lock is needed only for a newer text. */
    onSave(items: Item[], asSent: string): void {
      if (text.onSave(items, asSent)) keepOrRelease()
      update()
    },

    /** The edition was read again. */
    rebase(items: Item[]): void {
      text.rebase(items)
      keepOrRelease()
      update()
    },

    decide(which: Parameters<typeof text.decide>[0]): void {
      if (which !== 'mine') giveUp()
      text.decide(which)
      update()
      keepOrRelease()
    },

    refuse: text.refuse,
    /** Closes the field. What is typed stays to be seen, and is not saved. */
    forbid(reason: string): void {
      whyForbidden = reason
    },
    items: text.items,

    /** The page goes elsewhere: a typed text stays in its lock, any other lock is released. */
    async leave(): Promise<void> {
      isFocused = false
      isLeft = true
      await acquisition
      await keepOrRelease()
    }
  }
}
