import type {
  Client,
  Finding,
  LockView,
  OrderOperation,
  QuoinError,
  Saved
} from '../../client/src/client.ts'
import { createMoved } from './moved.ts'
import { areMoot, movesIn, replayed } from './moves.ts'
import { createPetitions, type IncomingPetition } from './petitions.ts'
import { changesOf } from './board.ts'
import { createClosing, fieldOf as closingFieldOf } from './closing.ts'
import { createFinder, type Looks, type SearchResult } from './finder.ts'
import { shapesOf, tokensOf } from './fields.ts'
import { createField, type Displacement, type Field } from './field.ts'
import type { Forbidden } from './forbidden.ts'
import { createHistory, type Step, type Turn } from './history.ts'
import { createJournalDoor, type LoadJournal } from './journal-door.ts'
import type { DraftStorage, EditorDraft } from './draft-storage.ts'
import { createDrafts } from './drafts.ts'
import { failureOf, persist } from './failures.ts'
import { createLabels, type Labels } from './labels.ts'
import { addedTo, applied, isSameArticle, isSameState } from './operations.ts'
import { createOrder, type NewArticle, type Order, type OrderDeps } from './order.ts'
import { createPresence } from './presence.ts'
import { createProposalsDoor, type LoadProposals } from './proposals-door.ts'
import { displacementNotice, refusedNotice, restoredNotice, type Notice } from './notice.ts'
import { hindranceOf, textOf } from './refusal.ts'
import { createRestoration } from './restoration.ts'
import type { Samples } from './samples.ts'
import { entityOf, lockIdOf, valueOf, type Edition, type Settings } from './settings.ts'
import { reasonOf, wordsOfFinding } from './reasons.ts'
import { say } from './texts.ts'
import { nameOf } from './words.ts'

/** How often an edition that is shown from a copy is asked for again, in milliseconds. */
const AGAIN_MS = 10_000

/** After how long a save without an answer is said to be slow, in milliseconds. */
const SLOW_MS = 5000

/**
 * How long to wait for more locks to be released before the edition is read again, in milliseconds.
 */
const SETTLE_MS = 300

/**
 * How long after a snapshot that no save explains the edition is read again, in milliseconds: saves
 * may not have been heard of.
 */
const UNHEARD_MS = 2000
const UNHEARD: Saved = { entityType: '', entityId: '', etag: null, fields: [] }

/** How long to wait for more saves of others before the edition is read again, in milliseconds. */
const SAVED_MS = 50

/**
 * How often a save is sent while others save other fields at the same moment: each time one of them
 * succeeds.
 */
const TRIES = 10

/** The codes of a save that is refused because somebody else has saved meanwhile. */
const MEANWHILE = ['PRECONDITION_FAILED', 'STALE_EDIT']

export interface SessionDeps {
  client: Client
  settings: Settings
  user: { uid: string; name?: string | undefined }
  /** What fields look like in editions that were seen. */
  samples: Samples
  storage: DraftStorage
  forbidden: Forbidden
  /** The labels of what an edition refers to, by uuid. */
  labelsOf: (id: string) => Promise<Labels>
  /** The images and sections that the rows of a list only refer to, by uuid. */
  looksOf: (list: string, uuids: string[], signal: AbortSignal) => Promise<Looks>
  loadJournal: LoadJournal
  loadProposals: LoadProposals
  /** Told that there is something new to see. */
  onChange: () => void
  /** Told that others have done something that is to be seen. */
  onNews: () => void
  /** Says something to those who do not see it. */
  announce: (text: string) => void
  /** Tells the reader something of a field, outside of the page. */
  notify: (title: string, text: string, fieldName: string) => void
  /** Told that fields, or a running order, were saved from here. */
  onSave: (fieldNames: string[], etag: string | undefined) => void
  /** Told that a save from here was refused, for good. */
  onRefuse: (fieldNames: string[], error: QuoinError) => void
}

export type Session = ReturnType<typeof createSession>

/**
 * An edition as one editor works on it: its fields and their locks, the board, the kept drafts, and
 * saving.
 */
export function createSession(
  {
    client,
    settings: { model },
    user,
    samples,
    storage,
    forbidden,
    labelsOf,
    looksOf,
    loadJournal,
    loadProposals,
    onChange,
    onNews,
    announce,
    notify,
    onSave,
    onRefuse
  }: SessionDeps,
  id: string
) {
  let edition: Edition | undefined
  let etag: string | undefined
  let age: number | undefined
  let failure: QuoinError | undefined
  let fields: Field[] = []
  let orders: Order[] = []
  /** Saves that were heard of and are not taken in yet. */
  let news: Saved[] = []
  let isReading = false
  /** The save for which the edition is read again. */
  let reader: Saved | undefined
  /** Fields that were saved since their locks were taken: the end of such a lock is no news. */
  const savedFields = new Set<string>()
  let board: LockView[] = []
  let isLive = false
  const labels = createLabels({ ask: () => labelsOf(id), onChange })
  const history = createHistory()
  const finder = createFinder({
    search: client.editions.search,
    sectionsOf: client.editions.sections,
    looksOf,
    model,
    onChange,
    announce
  })
  const closing = createClosing({
    editions: client.editions,
    id,
    model,
    wordsOf,
    present,
    onSave: takeSaved,
    onChange,
    announce
  })
  const journal = createJournalDoor(
    {
      editions: client.editions,
      labels: { lists: model.lists, knows: labels.knows, learn: labels.learn },
      id,
      shapeOf: (name) => fieldOf(name)?.shape,
      labelOf: (name) => labelOf(name),
      // Closing an edition has its own checks.
      isOffered: (name) => fieldOf(name) !== undefined && name !== closingFieldOf(model),
      present,
      onSave: takeSaved,
      reload: load,
      onChange,
      announce
    },
    loadJournal
  )
  /** The save that has no answer yet. */
  let saving: { isSlow: boolean; end: AbortController } | undefined
  let notice: Notice | undefined
  let stop = () => {}
  let retry: ReturnType<typeof setTimeout> | undefined
  let unheard: ReturnType<typeof setTimeout> | undefined
  let isClosed = false

  function present() {
    return { edition: edition!, etag }
  }

  /** Tells that a part of the page could not be loaded. */
  function tellMissing(): void {
    notice = { tone: 'bad', text: say('partNotLoaded') }
    announce(notice.text)
    onChange()
  }

  /** Takes in an edition that something other than the fields has saved, and tells it. */
  function takeSaved(fresh: Edition, tag: string | undefined, words: string): void {
    edition = fresh
    etag = tag
    rebase()
    notice = { tone: 'good', text: words }
    announce(words)
    journal.refresh()
  }

  /** What a finding says, with the labels and titles that are known here. */
  function wordsOf(finding: Finding): string {
    const own = entity()
    const isOfEdition = finding.entityType === own.type && finding.entityId === own.id
    const item = model.fields.articles
      .flatMap((name) => edition![name] ?? [])
      .find((item) => lockIdOf(item, model) === finding.entityId)
    return wordsOfFinding(finding, {
      what: isOfEdition
        ? say('theEdition')
        : item && (labels.nameOf(item) || say('articleNumber', { id: String(item['target_id']) })),
      label: isOfEdition ? labelOf(finding.fieldName ?? '') : finding.fieldName
    })
  }

  const entity = () => entityOf(edition!, model)
  // The service tells names only for these: see lib/editions/lookup/labels.ts.
  const withNames = new Set([...model.fields.articles, ...Object.keys(model.references)])
  const references = () =>
    fields
      .filter(({ shape }) => withNames.has(shape.name))
      .flatMap(({ shape }) => edition![shape.name] ?? [])
  const drafts = createDrafts({ locks: client.locks, entity, storage, onChange })
  const restoration = createRestoration({ drafts, history, onChange })
  const petitions = createPetitions({
    locks: client.locks,
    entity,
    uid: user.uid,
    onChange,
    announce,
    onBegin({ fieldName, userData }) {
      if (!fieldOf(fieldName)?.isHeld) return
      const text = say('asksFor', { name: nameOf(userData), label: labelOf(fieldName) })
      announce(text)
      notify(titleNow(), text, fieldName)
    },
    onRefuse(fieldName, error) {
      notice = {
        tone: 'bad',
        text: say('notAsked', { label: labelOf(fieldName), reason: reasonOf(error) })
      }
      announce(notice.text)
    }
  })
  const proposals = createProposalsDoor({
    locks: client.locks,
    entity,
    uid: user.uid,
    etag: () => etag,
    labelOf: (name) => labelOf(name),
    drafts,
    restoration,
    load: loadProposals,
    onMissing: tellMissing,
    onChange,
    announce
  })
  const presence = createPresence({
    locks: client.locks,
    entity,
    uid: user.uid,
    onChange: onNews
  })
  const moved = createMoved({
    people: () => [...board.map(({ userData }) => userData), ...presence.besides(board)],
    titleOf: labels.titleOf,
    onNews,
    announce
  })
  const isOwn = (lock: LockView) =>
    lock.entityType === entity().type && lock.entityId === entity().id

  /**
   * Reads the edition, for the first time or again. Text typed here stays on top of what is saved.
   */
  async function load(): Promise<void> {
    clearTimeout(retry)
    const before = edition
    isReading = true
    try {
      if (!edition) samples.prepare(id)
      const answer = await client.editions.read(id)
      isReading = false
      if (isClosed) return
      // The edition was saved or read meanwhile, so this answer may be older.
      if (edition !== before) return load()
      const wasStale = age !== undefined
      ;({ etag, age } = { age: undefined, ...answer })
      const isFirst = edition === undefined
      edition = answer.edition as Edition
      failure = undefined
      if (isFirst) await begin()
      else rebase()
      noteAdded(before ?? edition)
      if (!isFirst && wasStale && age === undefined) watch()
    } catch (error) {
      isReading = false
      failure = failureOf(error)
    }
    if (isClosed) return
    labels.load(references()).catch(() => {})
    closing.refresh()
    journal.refresh()
    if (age !== undefined || failure?.passes) retry = setTimeout(load, AGAIN_MS)
    else catchUp()
    onChange()
  }

  /** Hands the edition to all fields but those left out. */
  function rebase(isLeftOut = (_: Field) => false): void {
    for (const field of fields) {
      if (!isLeftOut(field)) field.rebase(edition![field.shape.name] ?? [])
    }
    for (const order of orders) order.rebase(edition![order.name] ?? [])
  }

  async function begin(): Promise<void> {
    await Promise.all([samples.learn(id, edition!), storage.ready])
    if (isClosed) return
    finder.prepare()
    fields = shapesOf(edition!, model, samples.of).map((shape) =>
      createField({
        shape,
        items: edition![shape.name] ?? [],
        entity: entity(),
        uid: user.uid,
        locks: client.locks,
        // What is done to an order is kept as operations.
        mirror: (onEnd) =>
          shape.kind === 'order' ? () => 'disk' : storage.mirror(drafts.name(), shape.name, onEnd),
        onChange: fieldChanged,
        onDisplace: takeDisplacement,
        putAside: (payload) => drafts.add({ fieldName: shape.name, payload })
      })
    )
    orders = fields
      .filter(({ shape }) => shape.kind === 'order')
      .map(({ shape: { name } }) =>
        createOrder({
          name,
          items: edition![name] ?? [],
          send: (operations) => arrange(name, operations),
          onChange: settleOrders,
          mirror: mirrorMoves(name),
          onRefuse: (error, operations) => notArranged(name, error, operations)
        })
      )
    for (const { shape, base } of fields) drafts.forget({ fieldName: shape.name, payload: base })
    for (const draft of drafts.all) learnMoves(draft)
    watch()
    await Promise.all([offers, drafts.load].map((ask) => persist(ask, () => isClosed)))
    // The editor waits for the rest, so presence comes last.
    presence.open()
  }

  /** Changes a running order on top of whatever others have made of it. */
  async function arrange(field: string, operations: OrderOperation[]): Promise<void> {
    const answer = await client.editions.arrange(id, operations, { field })
    edition = answer.edition as Edition
    etag = answer.etag
    rebase()
    onSave([field], etag)
  }

  /** Keeps what is done to an order until it is saved. */
  function mirrorMoves(name: string): OrderDeps['mirror'] {
    const mirror = storage.mirror(drafts.name(), name, onChange)
    return (operations, items) => {
      mirror(movesIn(operations, items, labels.nameOf))
    }
  }

  /** Learns the titles of kept moves, or forgets moves that have been saved after all. */
  function learnMoves(draft: EditorDraft): void {
    const order = orders.find(({ name }) => name === draft.fieldName)
    if (order && areMoot(order.items, draft)) return drafts.forget(draft)
    for (const [uuid, title] of Object.entries(draft.titles ?? {})) {
      labels.learn({ target_uuid: uuid }, title)
    }
  }

  function settleOrders(): void {
    for (const { name, isSaving } of orders) if (!isSaving) restoration.onArrange(name)
    closing.refresh()
    journal.refresh()
    catchUp()
    onChange()
  }

  function notArranged(name: string, error: QuoinError, operations: OrderOperation[]): void {
    restoration.onRefuse(name)
    onRefuse([name], error)
    const { items } = orders.find((order) => order.name === name)!
    const moves = movesIn(operations, replayed(items, { operations }), labels.nameOf)
    const draft = { ...moves!, fieldName: name }
    if (error.code !== 'ORDER_CONFLICT' && !areMoot(items, draft)) drafts.add(draft)
    notice = {
      tone: 'bad',
      text:
        error.code === 'ORDER_CONFLICT'
          ? say('orderConflict', { label: labelOf(name) })
          : say('orderNotChanged', { label: labelOf(name), reason: reasonOf(error) })
    }
    announce(notice.text)
    load()
  }

  /**
   * Takes in what others have saved, once nothing from here is under way: what was done to a running
   * order is done here too. Where that does not lead from this state to theirs, the edition is read.
   */
  function catchUp(): void {
    if (isReading || saving || orders.some(({ isSaving }) => isSaving)) return
    const saves = news.slice(news.findLastIndex((saved) => saved.etag === etag) + 1)
    news = []
    if (saves.length === 0) return
    const before = edition
    const isTakenIn = saves.every(takeMoves)
    if (edition !== before) rebase()
    if (isTakenIn) {
      closing.refresh()
      journal.refresh()
      onNews()
    } else {
      reader = saves.at(-1)
      readSoon(SAVED_MS)
    }
  }

  /** Notes what is in running orders since somebody else has saved. */
  function noteAdded(before: Edition): void {
    if (!reader) return
    for (const { name } of orders) {
      for (const item of addedTo(before[name], edition![name])) moved.note(reader, 'insert', item)
    }
    reader = undefined
  }

  /** @returns whether the edition is now as the save has left it */
  function takeMoves(saved: Saved): boolean {
    const {
      from,
      etag: tag,
      operations,
      fields: [name = '']
    } = saved
    const before = edition![name] ?? []
    const after = operations && applied(before, operations)
    if (!after || tag === null || !isSameState(from, etag)) return false
    edition = { ...edition!, [name]: after }
    etag = tag
    for (const { op, article } of operations) {
      moved.note(
        saved,
        op,
        before.find((item) => isSameArticle(item, article))!
      )
    }
    return true
  }

  /** Reads the edition where nobody has told what was saved. */
  function takeUnheard(): void {
    clearTimeout(unheard)
    unheard = undefined
    news.push(UNHEARD)
    catchUp()
  }

  function readSoon(ms: number): void {
    clearTimeout(retry)
    retry = setTimeout(load, ms)
  }

  function fieldChanged(): void {
    if (notice?.isOver?.()) notice = undefined
    fields.forEach(restoration.onFieldChange)
    onChange()
  }

  /** The texts that the same user had typed, here before or in another window. */
  async function offers(): Promise<void> {
    const records = await client.locks.list(entity())
    for (const record of records.filter(({ userData }) => userData.uid === user.uid)) {
      const field = fieldOf(record.fieldName)
      if (field?.shape.kind !== 'order') field?.offered(record)
      drafts.forget({ fieldName: record.fieldName, payload: record.payload ?? '' })
    }
    onChange()
  }

  /** Follows the board; while the CMS is down, only the edition's own locks, which need no CMS. */
  function watch(): void {
    stop()
    let previous: LockView[] | undefined
    let isBehind = false
    /** Whether the next snapshot comes of a save that was heard of. */
    let isExpected = true
    const listener = {
      locks(locks: LockView[], isStale = false, isWhole = false) {
        isLive = !isStale
        if (isWhole) presence.begin()
        if (isBehind && isLive) takeUnheard()
        else if (isWhole && !isExpected) unheard ??= setTimeout(takeUnheard, UNHEARD_MS)
        isBehind &&= isStale
        isExpected &&= !isWhole
        announceChanges(previous, locks)
        previous = board = locks
        closing.refresh()
        const own = locks.filter(isOwn)
        petitions.board(own)
        for (const field of fields) {
          field.board(own.find((lock) => lock.fieldName === field.shape.name))
        }
        onNews()
      },
      down() {
        isLive = false
        isBehind = true
        onNews()
      },
      requested: petitions.hear,
      proposed: proposals.hear,
      present: presence.hear,
      saved(saved: Saved) {
        for (const name of saved.fields) savedFields.add(name)
        isExpected ||= saved.fields.some((name) => model.fields.articles.includes(name))
        news.push(saved)
        catchUp()
      }
    }
    stop =
      age === undefined
        ? client.editions.subscribe(id, listener)
        : client.locks.subscribe(entity(), listener)
  }

  /**
   * Announces the locks that others have taken and released.
   */
  function announceChanges(before: LockView[] | undefined, now: LockView[]): void {
    if (!before) return
    const { takeovers, starts, ends } = changesOf(before.filter(isOwn), now.filter(isOwn), user.uid)
    // The text of an earlier lock that had expired has become a draft.
    if (takeovers.some(({ expiresAt }) => expiresAt !== undefined)) drafts.load().catch(failureOf)
    for (const { fieldName, userData } of starts) {
      announce(say('beganEditing', { name: nameOf(userData), label: labelOf(fieldName) }))
    }
    for (const { fieldName, userData } of ends) {
      announce(say('letGo', { name: nameOf(userData), label: labelOf(fieldName) }))
    }
    for (const { fieldName } of starts) savedFields.delete(fieldName)
    if (!saving && ends.some(mayBeSaved)) readSoon(SETTLE_MS)
  }

  /**
   * Whether a lock that has ended may be the sign of a save. Where no bus joins the instances nobody
   * tells of a save through another one.
   */
  const mayBeSaved = ({ fieldName, userData }: LockView) =>
    userData['typedAt'] !== undefined && !savedFields.has(fieldName)

  function takeDisplacement(displacement: Displacement): void {
    const { shape, text, by } = displacement
    const field = fieldOf(shape.name)!
    const isTyped = text !== field.base
    if (isTyped) drafts.add({ fieldName: shape.name, payload: text, displacedBy: by.userData })
    notice = displacementNotice(displacement, field, isTyped)
    notify(titleNow(), notice.text, shape.name)
    persist(drafts.load, () => isClosed)
  }

  const fieldOf = (name: string) => fields.find((field) => field.shape.name === name)
  const labelOf = (name: string) => fieldOf(name)?.shape.label ?? name
  const namesOf = (texts: Map<Field, string>) => [...texts.keys()].map(({ shape }) => shape.name)
  const titleNow = () => (edition ? valueOf(edition, model.keys.label) : '')

  /** Whether a field has a change that Drupal has not forbidden. */
  const isToSave = ({ isDirty, whyForbidden }: Field) => isDirty && whyForbidden === undefined

  /** A field in all editions of this one's bundle. */
  const inBundle = ({ shape }: Field) =>
    `${model.entityType}/${valueOf(edition!, model.keys.bundle)}/${shape.name}`

  /** Saves the changed fields, on top of what others have saved since if both fit together. */
  async function save(): Promise<void> {
    const dirty = fields.filter(isToSave)
    if (saving || dirty.length === 0) return
    const hindrance = hindranceOf(dirty)
    if (hindrance !== undefined) {
      notice = { tone: 'bad', text: textOf(hindrance, labelOf), linked: hindrance }
      return onChange()
    }
    const current = { isSlow: false, end: new AbortController() }
    saving = current
    const slow = setTimeout(() => {
      current.isSlow = true
      announce(say('savingSlow'))
      onChange()
    }, SLOW_MS)
    notice = undefined
    onChange()
    const sentTexts = new Map<Field, string>()
    try {
      await write(dirty, sentTexts)
      notice = { tone: 'good', text: say('saved') }
      onSave(namesOf(sentTexts), etag)
    } catch (error) {
      if (current.end.signal.aborted) {
        notice = { tone: 'bad', text: say('savingStopped') }
        load()
      } else {
        notice = refusedNotice(failureOf(error), fields, sentTexts)
        onRefuse(namesOf(sentTexts), failureOf(error))
        for (const field of fields) {
          if (field.whyForbidden !== undefined) forbidden.note(inBundle(field), true)
        }
      }
    }
    clearTimeout(slow)
    saving = undefined
    announce(notice.text)
    closing.refresh()
    journal.refresh()
    catchUp()
    onChange()
  }

  /** @param sentTexts becomes the texts that were sent last */
  async function write(dirty: Field[], sentTexts: Map<Field, string>, tries = 1): Promise<void> {
    sentTexts.clear()
    for (const field of dirty) sentTexts.set(field, field.text)
    const body = Object.fromEntries(
      dirty.map((field) => [field.shape.name, field.items(edition![field.shape.name] ?? [])])
    )
    try {
      const answer = await client.editions.update(id, body, {
        ifMatch: etag,
        signal: saving!.end.signal
      })
      edition = answer.edition as Edition
      etag = answer.etag
    } catch (error) {
      if (!MEANWHILE.includes(failureOf(error).code)) throw error
      await load()
      if (failure) throw failure
      if (
        tries === TRIES ||
        age !== undefined ||
        fields.some((field) => field.theirs !== undefined)
      ) {
        throw error
      }
      const rest = fields.filter(isToSave)
      return rest.length === 0 ? undefined : write(rest, sentTexts, tries + 1)
    }
    for (const [field, text] of sentTexts) {
      field.onSave(edition[field.shape.name] ?? [], text)
      restoration.onSave(field.shape.name, text)
      forbidden.note(inBundle(field), false)
    }
    rebase((field) => sentTexts.has(field))
  }

  /** Goes on with a kept text. */
  async function restore(text: EditorDraft): Promise<void> {
    const { fieldName, payload } = text
    const field = fieldOf(fieldName)
    const order = orders.find(({ name }) => name === fieldName)
    if (order && field && !field.holder) {
      addStep(restoration.arrange(order, text, say('asInDraft', { label: labelOf(fieldName) })))
      drafts.forget(text)
      notice = { tone: 'good', text: say('inOrderOfDraft', { label: labelOf(fieldName) }) }
    } else {
      if (field && !field.holder) {
        await restoration.restore(field, payload, say('asInDraft', { label: labelOf(fieldName) }))
      }
      notice = restoredNotice(labelOf(fieldName), field)
    }
    announce(notice.text)
    onChange()
  }

  /** Lets go of a field for somebody who asks for it. */
  async function handOver(field: Field, { userData }: IncomingPetition): Promise<void> {
    const isTyped = field.isHeld && field.isDirty
    await field.handOver()
    const what = say('handedOver', { name: nameOf(userData), label: field.shape.label })
    notice = { tone: 'good', text: isTyped ? say('seeKeptDrafts', { what }) : what }
    announce(notice.text)
    onChange()
  }

  /** Goes back to what is saved, in one field or in all. */
  function revert(field?: Field): void {
    const words = field ? say('asSaved', { label: field.shape.label }) : say('everythingAsSaved')
    history.change(
      (field ? [field] : fields).map((field) => [field, field.base]),
      words
    )
    announce(words)
  }

  /** Adds a step of a running order to the history, and announces it. */
  function addStep(step: Step | undefined): void {
    if (!step) return
    history.add(step)
    notice = undefined
    announce(step.words)
    onChange()
  }

  /** What can be done to a running order, each a step that can be taken back. */
  function acts(order: Order) {
    /** One article by its title, several by their number. */
    const titleAt = (tokens: string[]) =>
      tokens.length === 1
        ? labels.titleOf(tokensOf(order.items).get(tokens[0]!))
        : say('articleCount', { count: tokens.length })
    /** Inserts articles one behind the other; those that are in the order stay where they are. */
    function insert(articles: NewArticle[], index: number): void {
      for (const { item, title, ...looks } of articles) labels.learn(item, title, looks)
      const fresh = articles.filter(
        ({ item }) => !order.items.some((one) => isSameArticle(one, item))
      )
      const [place, count] = [Math.max(0, Math.min(index, order.items.length)) + 1, fresh.length]
      const words =
        count > 1
          ? say('addedSeveral', { count, place })
          : say('addedAt', { title: fresh[0]?.title ?? '', place, length: order.items.length + 1 })
      finder.unselect(articles)
      const items = fresh.map(({ item }) => item)
      addStep(order.insert(items, index, words))
    }
    return {
      move(tokens: string[], to: number): void {
        const { length } = order.items
        const place = Math.max(0, Math.min(to, length - tokens.length)) + 1
        addStep(order.move(tokens, to, say('movedTo', { title: titleAt(tokens), place, length })))
      },
      remove: (tokens: string[]) =>
        addStep(order.remove(tokens, say('removed', { title: titleAt(tokens) }))),
      insert,
      /** Inserts search results at the place that the search names. */
      add: (...results: SearchResult[]) =>
        insert(results, (finder.place ?? order.items.length + 1) - 1)
    }
  }

  /**
   * Takes back the last step. From within a field it takes back only what the page has put there.
   * @returns whether there was a step
   */
  function undo(inside?: Field): boolean {
    return tell('undone', history.undo(inside))
  }

  function redo(inside?: Field): boolean {
    return tell('redone', history.redo(inside))
  }

  function tell(what: 'undone' | 'redone', turn: Turn | undefined): boolean {
    if (turn) announce(say(turn.isDone ? what : 'leftAlone', { what: turn.words }))
    onChange()
    return turn !== undefined
  }

  /** Discards a kept text, as a step that can be taken back. */
  async function discard({
    displacedBy: _1,
    displacedAt: _2,
    ...text
  }: EditorDraft): Promise<void> {
    try {
      await drafts.discard(text)
      const { id: _, ...back } = text
      addStep({
        words: say('draftDiscarded', { label: labelOf(text.fieldName) }),
        back: () => {
          drafts.add(back)
          return true
        },
        forth: () => {
          drafts.forget(back)
          return true
        }
      })
    } catch (error) {
      notice = { tone: 'bad', text: reasonOf(failureOf(error)) }
    }
    onChange()
  }

  load()
  return {
    id,
    get edition() {
      return edition
    },
    titleOf: labels.titleOf,
    isPublished: labels.isPublished,
    moverOf: moved.by,
    imageOf: labels.imageOf,
    sectionOf: labels.sectionOf,
    get title() {
      return titleNow()
    },
    get age() {
      return age
    },
    get failure() {
      return failure
    },
    get fields() {
      return fields
    },
    get orders() {
      return orders
    },
    get board() {
      return board
    },
    get isLive() {
      return isLive
    },
    get drafts() {
      return drafts.all
    },
    get isSaving() {
      return saving !== undefined
    },
    /** Whether the service takes long to answer a save. */
    get isSlow() {
      return saving?.isSlow === true
    },
    /** Waits for the answer to a save no longer. Nobody knows then whether it was saved. */
    stopSaving: (): void => saving?.end.abort(),
    /** Whether Drupal did not let this user change a field before, here or in another edition. */
    wasForbidden: (field: Field): boolean => forbidden.has(inBundle(field)),
    get notice() {
      return notice
    },
    isOwn,
    labelOf,
    wordsOf,
    load,
    save,
    restore,
    restoreOffer: (field: Field) =>
      field.offer === undefined
        ? undefined
        : restoration.restore(
            field,
            field.offer,
            say('asTypedBefore', { label: field.shape.label })
          ),
    choiceOf: restoration.choiceOf,
    orderChoiceOf: restoration.orderChoiceOf,
    discard,
    history,
    fieldOf,
    /** What Drupal has made of a formatted text, as it is saved. */
    processedOf: ({ shape: { name } }: Field) =>
      edition?.[name]?.[0]?.['processed'] as string | undefined,
    onChange,
    finder,
    closing,
    journal,
    acts,
    tellMissing,
    revert,
    undo,
    redo,
    petitions,
    proposals,
    handOver,
    presence,
    /**
     * The page is closed: sends text that is not in its lock yet, withdraws petitions, and ends the
     * presence.
     */
    keep(): void {
      for (const field of fields) field.keep()
      petitions.end()
      presence.end()
    },
    async close(): Promise<void> {
      isClosed = true
      stop()
      petitions.end()
      proposals.end()
      presence.end()
      clearTimeout(retry)
      clearTimeout(unheard)
      moved.end()
      for (const order of orders) order.close()
      finder.close()
      closing.end()
      journal.end()
      await Promise.all(fields.map((field) => field.leave()))
    }
  }
}
