import type { Client, LockView, QuoinError } from '../client/src/client.ts'
import { changesOf } from './board.ts'
import { shapesOf } from './fields.ts'
import { createField, type Field } from './field.ts'
import { createHistory } from './history.ts'
import { createKept, type Kept, type Lost, type Shelf } from './kept.ts'
import { failureOf, persist } from './failures.ts'
import { createLabels } from './labels.ts'
import { lostNotice, refusedNotice, restoredNotice, type Notice } from './notice.ts'
import { hindranceOf } from './refusal.ts'
import type { Samples } from './samples.ts'
import { entityOf, valueOf, type Edition, type Settings } from './settings.ts'
import { nameOf } from './words.ts'

/** How often an edition that is shown from a copy is asked for again, in milliseconds. */
const AGAIN_MS = 10_000

/** How long to wait for more locks to be released before the edition is read again, in milliseconds. */
const SETTLE_MS = 300

export interface SessionDeps {
  client: Client
  settings: Settings
  user: { uid: string, name?: string | undefined }
  /** What fields look like in editions that were seen. */
  samples: Samples
  shelf: Shelf
  /** What an edition refers to is called, by uuid. */
  labelsOf: (id: string) => Promise<Record<string, string>>
  /** Told that there is something new to see. */
  changed: () => void
  /** Says something to those who do not see it. */
  announce: (text: string) => void
}

export type Session = ReturnType<typeof createSession>

/** An edition as one editor works on it: its fields and their locks, the board, the kept drafts, and saving. */
export function createSession ({ client, settings: { model }, user, samples, shelf, labelsOf, changed, announce }: SessionDeps, id: string) {
  let edition: Edition | undefined
  let etag: string | undefined
  let age: number | undefined
  let failure: QuoinError | undefined
  let fields: Field[] = []
  let board: LockView[] = []
  let isLive = false
  const labels = createLabels({ ask: () => labelsOf(id), changed })
  const history = createHistory()
  let isSaving = false
  let notice: Notice | undefined
  let stop = () => {}
  let again: ReturnType<typeof setTimeout> | undefined
  let isClosed = false

  const entity = () => entityOf(edition!, model)
  // The service tells names only for these: see lib/editions/lookup/labels.ts.
  const named = new Set([...model.fields.articles, ...Object.keys(model.references)])
  const references = () => fields.filter(({ shape }) => named.has(shape.name)).flatMap(({ shape }) => edition![shape.name] ?? [])
  const kept = createKept({ locks: client.locks, entity, shelf, changed })
  const isOwn = (lock: LockView) => lock.entityType === entity().type && lock.entityId === entity().id

  /** Reads the edition, first or again; afterwards what was typed here is on top of what is saved. */
  async function load (): Promise<void> {
    clearTimeout(again)
    const before = edition
    try {
      const read = await client.editions.read(id)
      if (isClosed) return
      // It was saved, or read, meanwhile: this may be what it was before.
      if (edition !== before) return load()
      const wasStale = age !== undefined
      ;({ etag, age } = { age: undefined, ...read })
      const isFirst = edition === undefined
      edition = read.edition as Edition
      failure = undefined
      if (isFirst) await begin()
      else for (const field of fields) field.rebase(edition[field.shape.name] ?? [])
      if (!isFirst && wasStale && age === undefined) watch()
    } catch (error) {
      failure = failureOf(error)
    }
    if (isClosed) return
    labels.load(references()).catch(() => {})
    if (age !== undefined || failure?.passes) again = setTimeout(load, AGAIN_MS)
    changed()
  }

  async function begin (): Promise<void> {
    await samples.learn(edition!)
    if (isClosed) return
    fields = shapesOf(edition!, model, samples.of).map((shape) => createField({
      shape, items: edition![shape.name] ?? [], entity: entity(), uid: user.uid, locks: client.locks, mirror: shelf.mirror(kept.name(), shape.name), changed: fieldChanged, displaced, putAside: (payload) => kept.add({ fieldName: shape.name, payload })
    }))
    for (const { shape, base } of fields) kept.forget({ fieldName: shape.name, payload: base })
    watch()
    await Promise.all([offers, kept.load].map((ask) => persist(ask, () => isClosed)))
  }

  function fieldChanged (): void {
    if (notice?.isOver?.()) notice = undefined
    changed()
  }

  /** The texts that the same user had typed, here before or in another window. */
  async function offers (): Promise<void> {
    const records = await client.locks.list(entity())
    for (const record of records.filter(({ userData }) => userData.uid === user.uid)) {
      fieldOf(record.fieldName)?.offered(record)
      kept.forget({ fieldName: record.fieldName, payload: record.payload ?? '' })
    }
    changed()
  }

  /** Follows the board; while the CMS is down, only the edition's own locks, which need no CMS. */
  function watch (): void {
    stop()
    let known: LockView[] | undefined
    const listener = {
      locks (locks: LockView[], isStale = false) {
        isLive = !isStale
        told(known, locks)
        known = board = locks
        for (const field of fields) field.board(locks.find((lock) => isOwn(lock) && lock.fieldName === field.shape.name))
        changed()
      },
      down () {
        isLive = false
        changed()
      }
    }
    stop = age === undefined ? client.editions.subscribe(id, listener) : client.locks.subscribe(entity(), listener)
  }

  /** What others have begun and ended since; what they ended they may have saved. */
  function told (before: LockView[] | undefined, now: LockView[]): void {
    if (!before) return
    const { taken, begun, ended } = changesOf(before.filter(isOwn), now.filter(isOwn), user.uid)
    // The text of an earlier lock, whose lease was over, has become a draft.
    if (taken.some(({ expiresAt }) => expiresAt !== undefined)) kept.load().catch(failureOf)
    for (const { fieldName, userData } of begun) announce(`${nameOf(userData)} is editing ${labelOf(fieldName)}`)
    for (const { fieldName, userData } of ended) announce(`${nameOf(userData)} has let go of ${labelOf(fieldName)}`)
    if (ended.length === 0 || isSaving) return
    clearTimeout(again)
    again = setTimeout(load, SETTLE_MS)
  }

  function displaced (lost: Lost): void {
    const { shape, text, by } = lost
    const field = fieldOf(shape.name)!
    const isTyped = text !== field.base
    if (isTyped) kept.add({ fieldName: shape.name, payload: text, displacedBy: by.userData })
    notice = lostNotice(lost, field, isTyped)
    persist(kept.load, () => isClosed)
  }

  const fieldOf = (name: string) => fields.find((field) => field.shape.name === name)
  const labelOf = (name: string) => fieldOf(name)?.shape.label ?? name

  /** Saves what has changed, on top of what others have saved since where both fit together. */
  async function save (): Promise<void> {
    const dirty = fields.filter((field) => field.isDirty)
    if (isSaving || dirty.length === 0) return
    const hindrance = hindranceOf(dirty)
    if (hindrance !== undefined) {
      notice = { tone: 'bad', text: hindrance }
      return changed()
    }
    isSaving = true
    notice = undefined
    changed()
    const sent = new Map<Field, string>()
    try {
      await write(dirty, sent)
      notice = { tone: 'good', text: 'Saved.' }
    } catch (error) {
      notice = refusedNotice(failureOf(error), fields, sent)
    }
    isSaving = false
    announce(notice.text)
    changed()
  }

  /** @param sent becomes the texts that were sent last */
  async function write (dirty: Field[], sent: Map<Field, string>, isAgain = false): Promise<void> {
    sent.clear()
    for (const field of dirty) sent.set(field, field.text)
    const body = Object.fromEntries(dirty.map((field) => [field.shape.name, field.items(edition![field.shape.name] ?? [])]))
    try {
      const read = await client.editions.update(id, body, { ifMatch: etag })
      edition = read.edition as Edition
      etag = read.etag
    } catch (error) {
      if (failureOf(error).code !== 'PRECONDITION_FAILED') throw error
      await load()
      if (failure) throw failure
      if (isAgain || age !== undefined || fields.some((field) => field.theirs !== undefined)) throw error
      const left = fields.filter((field) => field.isDirty)
      return left.length === 0 ? undefined : write(left, sent, true)
    }
    for (const field of fields) {
      const items = edition[field.shape.name] ?? []
      if (sent.has(field)) field.saved(items, sent.get(field)!)
      else field.rebase(items)
    }
  }

  /** Goes on with a kept text. */
  async function restore (text: Kept): Promise<void> {
    const { fieldName, payload } = text
    const field = fieldOf(fieldName)
    if (field && !field.holder) kept.forget(text)
    await field?.restore(payload)
    notice = restoredNotice(labelOf(fieldName), field)
    announce(notice.text)
    changed()
  }

  /** Gives a field another text, in a step that can be taken back. */
  function change (field: Field, text: string, words: string): void {
    history.change([[field, text]], words)
    announce(words)
  }

  /** Goes back to what is saved, in one field or in all. */
  function revert (field?: Field): void {
    const words = field ? `${field.shape.label} as it is saved` : 'Everything as it is saved'
    history.change((field ? [field] : fields).map((field) => [field, field.base]), words)
    announce(words)
  }

  function undo (): void {
    const words = history.undo()
    if (words !== undefined) announce(`Undone: ${words}`)
  }

  function redo (): void {
    const words = history.redo()
    if (words !== undefined) announce(`Done again: ${words}`)
  }

  async function discard (text: Kept): Promise<void> {
    await kept.discard(text).catch((error) => { notice = { tone: 'bad', text: failureOf(error).message } })
    changed()
  }

  load()
  return {
    id,
    get edition () { return edition },
    titleOf: labels.titleOf,
    get title () { return edition ? valueOf(edition, model.keys.label) : '' },
    get age () { return age },
    get failure () { return failure },
    get fields () { return fields },
    get board () { return board },
    get isLive () { return isLive },
    get kept () { return kept.all },
    get isSaving () { return isSaving },
    get notice () { return notice },
    isOwn,
    labelOf,
    load,
    save,
    restore,
    discard,
    history,
    change,
    revert,
    undo,
    redo,
    /** The page goes: what is typed and not kept yet is sent. */
    keep: () => fields.forEach((field) => field.keep()),
    async close (): Promise<void> {
      isClosed = true
      stop()
      clearTimeout(again)
      await Promise.all(fields.map((field) => field.leave()))
    }
  }
}
