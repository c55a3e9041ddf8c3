import { QuoinError, type Client, type Held, type Holder, type LockView } from '../lib/client/client.ts'
import { itemsOf, textOf, type Shape } from './fields.ts'
import { fitted, rebased, settle, settleOrder } from './merge.ts'
import { createPauses } from './pauses.ts'
import type { Item } from './settings.ts'
import { createBoard, takeFrom } from './takeover.ts'

/** A text that its writer lost the field with. */
export interface Lost { shape: Shape, text: string, by: Holder }

export interface FieldDeps {
  shape: Shape
  items: Item[]
  entity: { type: string, id: string }
  /** The uid of who sits here. */
  uid: string
  locks: Client['locks']
  /** Told that there is something new to see. */
  changed: () => void
  /** Told that somebody else has the field now that was held here. */
  displaced: (lost: Lost) => void
}

export type Field = ReturnType<typeof createField>

/** A field of an edition as one editor has it before him: its text, its lock, and what stands in the way. */
export function createField ({ shape, items, entity, uid, locks, changed, displaced }: FieldDeps) {
  const what = { ...entity, fieldName: shape.name }
  let base = textOf(shape.kind, items)
  let text = base
  let sent: string | undefined
  let held: Held | undefined
  let taking: Promise<void> | undefined
  let isFocused = false
  let holder: Holder | undefined
  /** The version of a lock that is over, whatever a late event still says of it. */
  let over: string | undefined
  let offer: string | undefined
  let theirs: string | undefined
  let problems: string[] = []
  let trouble: string | undefined
  const board = createBoard()
  const pauses = createPauses(() => { if (held) keep(); else take() })
  const isDirty = () => text !== base

  function granted (lock: Held): void {
    held = lock
    over = board.seen?.version
    holder = undefined
    trouble = undefined
    sent = lock.found
    if (lock.found !== undefined && lock.found !== text && lock.found !== base) offer = lock.found
  }

  function refused (error: unknown): void {
    if (!(error instanceof QuoinError)) throw error
    if (error.lock && error.lock.userData.uid !== uid) return lose(error.lock)
    trouble = error.passes ? 'The lock service does not answer. Your text is in this window alone.' : error.message
    if (error.passes && isDirty()) pauses.failed()
  }

  /** Takes the lock, unless it is held or another's. */
  function take (get = () => locks.acquire(what, { onLost, ...(isDirty() && { payload: text }) })): Promise<void> {
    if (held) return Promise.resolve()
    pauses.stop()
    taking ??= get().then(granted, refused).finally(() => {
      taking = undefined
      if (held && isDirty()) keep()
      else if (held && !isFocused) release()
      changed()
    })
    return taking
  }

  function onLost ({ lock }: QuoinError): void {
    if (lock && lock.userData.uid !== uid) return lose(lock)
    held = undefined
    trouble = lock ? 'You went on with this field in another window.' : undefined
    if (!lock && isDirty()) take()
    changed()
  }

  /** Somebody else has it: the text makes room for what is saved, and its writer is told where it is. */
  function lose (by: Holder): void {
    const lost = text
    const wasHeld = held !== undefined || isDirty()
    held = undefined
    holder = by
    pauses.stop()
    text = base
    theirs = undefined
    if (wasHeld) displaced({ shape, text: lost, by })
    changed()
  }

  function keep (): void {
    // Without a lock the next try to take it is still to come.
    if (!held) return
    pauses.stop()
    if (text === sent) return
    sent = text
    held.save(text).then(() => { trouble = undefined }, (error) => {
      sent = undefined
      if (held) refused(error)
    }).finally(changed)
  }

  async function release (): Promise<void> {
    pauses.stop()
    const lock = held
    held = undefined
    sent = undefined
    if (lock) {
      over = lock.version
      await lock.release().catch(refused)
    }
    changed()
  }

  return {
    shape,
    get text () { return text },
    get base () { return base },
    get isDirty () { return isDirty() },
    get isHeld () { return held !== undefined },
    /** Whose the field is, if it is somebody else's. */
    get holder () { return holder },
    /** What the same user had typed earlier or elsewhere. */
    get offer () { return offer },
    /** What somebody else has saved meanwhile where the text is another too. */
    get theirs () { return theirs },
    get problems () { return problems },
    get trouble () { return trouble },

    focus (): void {
      isFocused = true
      if (!holder && shape.kind !== 'fixed') take()
    },

    type (now: string): void {
      if (holder) return
      text = now
      problems = []
      if (held) pauses.typed()
      else take()
      changed()
    },

    /** What is typed and not in the lock yet is sent. */
    keep (): void {
      if (isDirty()) keep()
    },

    blur (): void {
      isFocused = false
      if (isDirty()) keep()
      else if (!taking) release()
    },

    /** Takes the field from whoever holds it; refused when it is a third one's by now. */
    async takeOver (): Promise<void> {
      await taking
      const from = holder?.userData.uid
      holder = undefined
      isFocused = true
      await take(() => takeFrom(from, { locks, what, onLost, board }))
    },

    /** Goes on with a text of before; one that is not saved yet is offered in its place. */
    async restore (earlier: string): Promise<void> {
      if (holder) return
      offer = isDirty() && text !== earlier ? text : undefined
      text = shape.kind === 'order' ? fitted(earlier, base) : earlier
      changed()
      if (held) keep()
      else await take()
    },

    /** What was typed before is not wanted any more. */
    async discardOffer (): Promise<void> {
      offer = undefined
      sent = undefined
      if (held) keep()
      else await locks.release(what).catch(refused)
      changed()
    },

    /** The lock has this text; what was typed here since is newer. */
    offered (earlier: string | undefined): void {
      if (!held && !isDirty()) offer = earlier === base ? undefined : earlier
    },

    /** What the lock board says of the field now. */
    board (lock: LockView | undefined): void {
      if (lock?.version !== undefined && lock.version === over) return
      const wasMine = board.seen?.userData.uid === uid
      board.show(lock)
      if (lock && lock.userData.uid !== uid) {
        if (held) lose(lock)
        else holder = lock
        return
      }
      holder = undefined
      // It may have been released by force: the next write will tell, and a text that is typed is not to wait for that.
      if (!lock && wasMine && held && isDirty()) {
        sent = undefined
        keep()
      }
    },

    /** The edition was saved with this text; the lock is not needed any more unless there is a newer one. */
    async saved (items: Item[], asSent: string): Promise<void> {
      base = textOf(shape.kind, items)
      problems = []
      theirs = undefined
      if (text !== asSent) return
      text = base
      await release()
    },

    /** The edition was read again: what somebody else has saved comes in where it does not meet a change of here. */
    rebase (items: Item[]): void {
      ;({ base, text, theirs } = rebased({ base, text, theirs }, textOf(shape.kind, items), shape.kind === 'order' ? settleOrder : settle))
    },

    /** Decides between one's own text and what somebody else has saved. */
    decide (which: 'mine' | 'theirs'): void {
      if (which === 'theirs') text = base
      theirs = undefined
      changed()
      if (!isDirty() && !isFocused) release()
    },

    refuse: (messages: string[]): void => { problems = messages },

    /** The items to be saved. */
    items: (now: Item[]) => itemsOf(shape, text, now),

    /** The page goes elsewhere: a typed text stays in its lock, any other lock is released. */
    async leave (): Promise<void> {
      isFocused = false
      await taking
      if (isDirty()) keep()
      else await release()
    }
  }
}
