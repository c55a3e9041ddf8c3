import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { liveBoard, liveEdition, liveLock, liveOthers } from '../src/live.ts'
import { createHeld, createStage, failure, followed, lockOf, settle } from './live-fixtures.ts'
import { anna, title } from './fixtures.ts'

const node = { type: 'node', id: '42' }
const editionOf = (text: string, etag: string) => ({ edition: { title: [{ value: text }] }, etag })
const SAVED = { entityType: 'publisher_container', entityId: '12', fields: ['title'] }

t.test('a board is followed from the first who subscribes to the last who leaves', async (t) => {
  const { client, stream, streams } = createStage()
  const board = liveBoard(client, 12)
  t.strictSame([board.get(), streams()], [{ locks: [], isLive: false }, []])
  const first = followed(t, board)
  const second = followed(t, board)
  t.strictSame(streams(), ['/api/collection/12/locks/events'], 'one stream for both')
  const locks = [lockOf('8', 'Ben')]
  stream().locks(locks)
  t.strictSame(first.states, [
    { locks: [], isLive: false },
    { locks, isLive: true }
  ])
  stream().down!()
  t.strictSame(board.get(), { locks, isLive: false }, 'the last that was known')
  stream().locks(locks, true)
  t.equal(board.get().isLive, false, 'while the service cannot read the locks')
  first.stop()
  first.stop()
  t.equal(streams().length, 1)
  const listener = stream()
  second.stop()
  t.strictSame([streams(), board.get()], [[], { locks: [], isLive: false }])
  listener.locks(locks)
  t.strictSame(board.get(), { locks: [], isLive: false }, 'nobody is told any more')
})

t.test('the locks of an entity are followed by its name', async (t) => {
  const { client, streams } = createStage()
  followed(t, liveBoard(client, node))
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
})

/** An edition that somebody follows, read for the first time. */
async function openEdition(t: Test, id: string | number = 12) {
  const stage = createStage()
  const edition = liveEdition(stage.client, id)
  const seen = followed(t, edition)
  await stage.last('read').resolve({ ...editionOf('Monday', '"1.a"'), age: 7 })
  t.strictSame(edition.get(), { edition: { title: [{ value: 'Monday' }] }, etag: '"1.a"', age: 7, error: undefined })
  const reads = () => stage.calls.filter(({ name }) => name === 'read').length
  return { ...stage, ...seen, edition, reads }
}

t.test('an edition is read again when somebody else has saved it', async (t) => {
  const { edition, stream, reads, last } = await openEdition(t)
  stream().saved!({ ...SAVED, etag: '"1.b"' })
  t.equal(reads(), 1, 'not the state that is shown: the part before the dot counts')
  stream().saved!({ ...SAVED, entityId: '4', etag: '"9"' })
  t.equal(reads(), 1, 'not where it is an article')
  stream().saved!({ ...SAVED, etag: '"2"' })
  stream().saved!({ ...SAVED, etag: null })
  t.equal(reads(), 3)
  await last('read').resolve(editionOf('Tuesday', '"2"'))
  t.match(edition.get(), { edition: { title: [{ value: 'Tuesday' }] }, etag: '"2"', age: undefined })
  edition.reload()
  t.equal(reads(), 4)
})

t.test('an edition that is named by its uuid is read again whatever its locks are named by', async (t) => {
  const { stream, reads } = await openEdition(t, '0a1b')
  stream().saved!({ ...SAVED, etag: '"2"' })
  t.equal(reads(), 2)
})

t.test('what a proxy answers without a tag is read again after each save', async (t) => {
  const { edition, stream, reads, last } = await openEdition(t)
  edition.reload()
  await last('read').resolve({ ...editionOf('Monday', ''), etag: undefined })
  stream().saved!({ ...SAVED, etag: '"1.a"' })
  t.equal(reads(), 3)
})

t.test('of two reads the later one counts', async (t) => {
  const { edition, calls } = await openEdition(t)
  edition.reload()
  edition.reload()
  const [, second, third] = calls
  await third!.resolve(editionOf('New', '"3"'))
  await second!.resolve(editionOf('Old', '"2"'))
  t.equal(edition.get().etag, '"3"')
  edition.reload()
  edition.reload()
  await calls[4]!.resolve(editionOf('Newer', '"4"'))
  await calls[3]!.reject(failure('CMS_FAILED', 502))
  t.match(edition.get(), { etag: '"4"', error: undefined })
})

t.test('an edition is read again after its stream was away', async (t) => {
  const { stream, reads } = await openEdition(t)
  stream().locks([])
  t.equal(reads(), 1)
  stream().down!()
  stream().locks([], true)
  t.equal(reads(), 1, 'not while the locks are those of before')
  stream().locks([], false, true)
  stream().locks([])
  t.equal(reads(), 2)
})

t.test('a save is on the state that is shown, and is shown itself', async (t) => {
  const { edition, stream, reads, last } = await openEdition(t)
  const saved = edition.save({ title: [{ value: 'Tuesday' }] })
  t.match(last('update').sent, [12, { title: [{ value: 'Tuesday' }] }, { ifMatch: '"1.a"' }])
  stream().saved!({ ...SAVED, etag: '"2.x"' })
  await last('update').resolve(editionOf('Tuesday', '"2"'))
  t.equal((await saved).etag, '"2"')
  t.match(edition.get(), { etag: '"2"' })
  t.equal(reads(), 1, 'it is not read again for the own save')

  const second = edition.save({}, { ifMatch: undefined, idempotencyKey: 'k' })
  t.match(last('update').sent[2], { ifMatch: undefined, idempotencyKey: 'k' })
  stream().saved!({ ...SAVED, etag: '"4"' })
  await last('update').resolve(editionOf('Wednesday', '"3"'))
  await second
  t.equal(reads(), 2, 'but for that of somebody else meanwhile')
})

t.test('a read that began before a save does not put back what was', async (t) => {
  const { edition, last } = await openEdition(t)
  edition.reload()
  const saved = edition.save({})
  await last('update').resolve(editionOf('Tuesday', '"2"'))
  await saved
  await last('read').resolve(editionOf('Monday', '"1"'))
  t.equal(edition.get().etag, '"2"')
})

t.test('a save that comes too late fails, and the edition is read again', async (t) => {
  const { edition, reads, last } = await openEdition(t)
  for (const [code, count] of [
    ['PRECONDITION_FAILED', 2],
    ['UNPROCESSABLE', 2]
  ] as const) {
    const saved = edition.save({})
    await last('update').reject(failure(code, 412))
    await t.rejects(saved, { code })
    t.equal(reads(), count, code)
  }
})

t.test('a read that fails for the moment is tried again, later each time', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { edition, reads, last, stop } = await openEdition(t)
  edition.reload()
  await last('read').reject(failure('CMS_UNREACHABLE', 502))
  t.match(edition.get(), { etag: '"1.a"', error: { code: 'CMS_UNREACHABLE' } }, 'what was read stays')
  mock.timers.tick(1000)
  t.equal(reads(), 3)
  await last('read').reject(failure('CMS_UNREACHABLE', 502))
  mock.timers.tick(999)
  t.equal(reads(), 3)
  mock.timers.tick(1001)
  t.equal(reads(), 4)
  await last('read').resolve(editionOf('Monday', '"1"'))
  t.equal(edition.get().error, undefined)
  edition.reload()
  await last('read').reject(failure('NOT_FOUND', 404))
  mock.timers.tick(60_000)
  t.equal(reads(), 5, 'not one that will fail again')
  edition.reload()
  await last('read').reject(failure('OVERLOADED', 503))
  stop()
  mock.timers.tick(60_000)
  t.equal(reads(), 6, 'nor when nobody wants to know')
})

t.test('nothing is asked for an edition that nobody follows', async (t) => {
  const { edition, calls, streams, last, stop } = await openEdition(t)
  edition.reload()
  stop()
  t.strictSame([streams(), last('read').isAborted], [[], true])
  await settle()
  t.strictSame(edition.get(), { edition: undefined, etag: undefined, age: undefined, error: undefined })
  const { length } = calls
  edition.reload()
  t.equal(calls.length, length)
  const other = createStage()
  liveEdition(other.client, 12).reload()
  t.equal(other.calls.length, 0)
})

/** A field that is shown. */
function openLock(t: Test) {
  const stage = createStage()
  const lock = liveLock(stage.client, title)
  return { ...stage, lock, ...followed(t, lock) }
}

/** A field that has the focus, and a text that the user has typed into it. */
async function openTyped(t: Test) {
  const [opened, made] = [openLock(t), createHeld()]
  opened.lock.focus('stored')
  await opened.last('acquire').resolve(made.held)
  opened.lock.change('typed')
  return { ...opened, ...made }
}

t.test('a field is locked while it has the focus, and its text kept until it is stored', async (t) => {
  const { lock, last, calls } = openLock(t)
  const { held, done } = createHeld()
  lock.focus('stored')
  lock.focus('stored')
  t.equal(calls.length, 1)
  t.match(last('acquire').sent[0], title)
  lock.change('too early')
  t.strictSame(lock.get(), { text: undefined, error: undefined })
  await last('acquire').resolve(held)
  t.equal(lock.get().text, 'stored')
  lock.change('typed')
  const stored: string[] = []
  await lock.blur(async (text) => stored.push(text))
  t.strictSame([stored, done, lock.get()], [['typed'], ['typed', 'release'], { text: undefined, error: undefined }])
  lock.focus('typed')
  const again = createHeld()
  await last('acquire').resolve(again.held)
  await lock.blur(async () => t.fail('nothing was typed'))
  t.strictSame(again.done, ['release'])
})

t.test('a text that is found in the lock goes before the stored one', async (t) => {
  const { lock, last } = openLock(t)
  lock.focus('stored')
  await last('acquire').resolve(createHeld({ found: 'found' }).held)
  t.equal(lock.get().text, 'found')
})

t.test('a refusal says who holds the field, until the next try', async (t) => {
  const { lock, last } = openLock(t)
  lock.focus('stored')
  await last('acquire').reject(failure('FIELD_LOCKED', 423, { error: { lock: lockOf('8', 'Ben') } }))
  t.match(lock.get(), { text: undefined, error: { code: 'FIELD_LOCKED', lock: { userData: { name: 'Ben' } } } })
  lock.focus('stored')
  t.equal(lock.get().error, undefined)
})

t.test('a takeover ends the attempt before it', async (t) => {
  const { lock, last } = openLock(t)
  lock.focus('stored')
  lock.takeOver('stored')
  t.equal(last('acquire').isAborted, true)
  const { held, done } = createHeld()
  await last('overwrite').resolve(held)
  t.equal(lock.get().text, 'stored')
  lock.change('typed')
  lock.focus('stored')
  t.equal(lock.get().text, 'typed', 'who comes back goes on')
  t.strictSame(done, ['typed'])
})

t.test('a field that is left before it is locked is locked by nobody', async (t) => {
  const { lock, last } = openLock(t)
  lock.focus('stored')
  await lock.blur(async () => {})
  t.equal(last('acquire').isAborted, true)
  await settle()
  t.strictSame(lock.get(), { text: undefined, error: undefined }, 'which is no failure')
  const { held, done } = createHeld()
  lock.focus('stored')
  const granted = last('acquire').resolve(held)
  await lock.blur(async () => {})
  await granted
  t.strictSame([done, lock.get().text], [['release'], undefined], 'nor one that was granted in that moment')
})

t.test('a lost lock is told, unless another is held by then', async (t) => {
  const { lock, last } = openLock(t)
  lock.focus('stored')
  const { onLost: loseFirst } = last('acquire').sent[1]
  await last('acquire').resolve(createHeld().held)
  loseFirst(failure('LOCK_CHANGED', 412))
  t.match(lock.get(), { text: undefined, error: { code: 'LOCK_CHANGED' } })
  lock.focus('stored')
  await last('acquire').resolve(createHeld().held)
  loseFirst(failure('LOCK_CHANGED', 412))
  t.equal(lock.get().text, 'stored')
})

t.test('a text that could not get into the lock is told until it is there', async (t) => {
  const { lock, last } = openLock(t)
  const { held, failures } = createHeld()
  lock.focus('stored')
  await last('acquire').resolve(held)
  failures.push(failure('TOO_LARGE', 413))
  lock.change('long')
  await settle()
  t.match(lock.get(), { text: 'long', error: { code: 'TOO_LARGE' } })
  lock.change('short')
  await settle()
  t.strictSame(lock.get(), { text: 'short', error: undefined })
  failures.push(failure('FIELD_LOCKED'))
  lock.change('lost')
  last('acquire').sent[1].onLost(failure('FIELD_LOCKED'))
  lock.focus('stored')
  await settle()
  t.equal(lock.get().error, undefined, 'not of a lock that is held no longer')
})

t.test('a field whose text could not be stored stays locked', async (t) => {
  const { lock, done, failures } = await openTyped(t)
  await lock.blur(() => Promise.reject(failure('UNPROCESSABLE', 422)))
  t.match(lock.get(), { text: 'typed', error: { code: 'UNPROCESSABLE' } })
  lock.focus('stored')
  failures.push(failure('STORE_UNAVAILABLE', 503))
  await lock.blur(async () => {})
  t.strictSame(done, ['typed', 'release'])
  t.match(lock.get(), { text: undefined, error: { code: 'STORE_UNAVAILABLE' } })
})

t.test('who comes back while the text is stored goes on with the lock', async (t) => {
  const { lock, done } = await openTyped(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const left = lock.blur(() => promise)
  lock.focus('stored')
  resolve()
  await left
  t.strictSame([done, lock.get().text], [['typed'], 'typed'])
})

t.test('a field that is shown no longer is released, unless it has a typed text', async (t) => {
  for (const isTyped of [false, true]) {
    const { lock, last, stop } = openLock(t)
    const { held, done } = createHeld({ isTyped })
    lock.focus('stored')
    await last('acquire').resolve(held)
    stop()
    t.strictSame(done, isTyped ? [] : ['release'])
  }
  const { lock, last, stop } = openLock(t)
  lock.focus('stored')
  stop()
  t.equal(last('acquire').isAborted, true)
  const idle = openLock(t)
  idle.stop()
  t.equal(idle.calls.length, 0)
})

t.test('a release that fails when the field is shown no longer is the client’s affair', async (t) => {
  const { lock, last, stop } = openLock(t)
  const { held, done, failures } = createHeld()
  lock.focus('stored')
  await last('acquire').resolve(held)
  failures.push(failure('STORE_UNAVAILABLE', 503))
  stop()
  await settle()
  t.strictSame(done, ['release'])
})

t.test('a text is stored though its field is shown no longer, and the lock released', async (t) => {
  const { lock, stop, done } = await openTyped(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  const left = lock.blur(() => promise)
  stop()
  followed(t, lock)
  lock.focus('stored')
  t.equal(lock.get().text, 'stored', 'whoever shows it again goes on')
  await lock.blur(async () => {})
  resolve()
  await left
  t.strictSame(done, ['typed', 'release'])
})

/** The names of the others, as a page shows them. */
const names = ({ others }: { others: Array<{ userData: { name?: string } }> }) => others.map(({ userData }) => userData.name).join()
const presenceOf = (uid: string, name: string, until = 100) => ({
  entityType: 'node',
  entityId: '42',
  userData: { uid, name },
  until
})

/** Those who look on, in a page that is seen or not. */
function openOthers(t: Test, stream?: number) {
  mock.timers.enable({ apis: ['setTimeout'] })
  const document = Object.assign(new EventTarget(), { hidden: false })
  Object.assign(globalThis, { document })
  t.teardown(() => {
    mock.timers.reset()
    delete (globalThis as { document?: unknown }).document
  })
  const stage = createStage()
  const others = liveOthers(stage.client, node, { stream })
  const said = () => stage.calls.map(({ name }) => name).join()
  function see(isSeen: boolean): void {
    document.hidden = !isSeen
    document.dispatchEvent(new Event('visibilitychange'))
  }
  return { ...stage, ...followed(t, others), others, said, see }
}

t.test('who looks on says so every 40 seconds while the page is seen', async (t) => {
  const { said, see, last, stop } = openOthers(t)
  await settle()
  t.match(last('attend').sent, [node])
  await last('attend').resolve()
  mock.timers.tick(40_000)
  await settle()
  t.equal(said(), 'attend,attend')
  await last('attend').reject(failure('TOO_MANY_REQUESTS', 429))
  see(false)
  mock.timers.tick(120_000)
  await settle()
  t.equal(said(), 'attend,attend')
  see(true)
  await settle()
  t.equal(said(), 'attend,attend,attend')
  stop()
  await settle()
  t.equal(said(), 'attend,attend,attend', 'one request follows the other')
  await last('attend').resolve()
  t.equal(said(), 'attend,attend,attend,leave')
  await last('leave').reject(failure('UNREACHABLE', 0))
  see(true)
  mock.timers.tick(120_000)
  await settle()
  t.equal(said(), 'attend,attend,attend,leave')
})

t.test('who goes and comes back at once stays, as React has it in strict mode', async (t) => {
  const { client, calls, last } = createStage()
  const others = liveOthers(client, node)
  const { stop } = followed(t, others)
  await settle()
  stop()
  const again = followed(t, others)
  await last('attend').resolve()
  await last('attend').resolve()
  const said = () => calls.map(({ name }) => name).join()
  t.equal(said(), 'attend,attend')
  again.stop()
  await settle()
  t.equal(said(), 'attend,attend,leave')
})

t.test('a page that was never seen says nothing, nor that its user leaves', async (t) => {
  Object.assign(globalThis, { document: Object.assign(new EventTarget(), { hidden: true }) })
  t.teardown(() => delete (globalThis as { document?: unknown }).document)
  const { client, calls } = createStage()
  followed(t, liveOthers(client, node)).stop()
  await settle()
  t.strictSame(calls, [])
})

t.test('the others come and go, and the user is none of them', async (t) => {
  const { others, stream, streams, said, last } = openOthers(t)
  t.strictSame(streams(), ['/api/cloud/data-state/node/42/events'])
  const tell = stream().present!
  await settle()
  tell(presenceOf(anna.uid, 'Anna'))
  tell(presenceOf('8', 'Ben'))
  tell(presenceOf('9', 'Cleo'))
  t.equal(names(others.get()), 'Ben,Cleo')
  tell(presenceOf('8', 'Ben', 0))
  t.equal(names(others.get()), 'Cleo')
  await last('attend').resolve()
  t.equal(said(), 'attend')
  tell(presenceOf(anna.uid, 'Anna', 0))
  await settle()
  t.equal(said(), 'attend,attend', 'another window of hers was closed')
})

t.test('on the stream of a board only those of the entity count', async (t) => {
  const { others, stream, streams } = openOthers(t, 12)
  t.strictSame(streams(), ['/api/collection/12/locks/events'])
  stream().present!({ ...presenceOf('8', 'Ben'), entityId: '43' })
  stream().present!({ ...presenceOf('8', 'Ben'), entityType: 'media' })
  t.equal(names(others.get()), '')
})

t.test('who is not told again after a snapshot has left', async (t) => {
  const { others, stream, states, stop } = openOthers(t)
  const { present: tell, locks } = stream()
  tell!(presenceOf('8', 'Ben'))
  tell!(presenceOf('9', 'Cleo'))
  locks([])
  mock.timers.tick(5000)
  t.equal(names(others.get()), 'Ben,Cleo')
  locks([], false, true)
  locks([], false, true)
  tell!(presenceOf('9', 'Cleo'))
  t.equal(names(others.get()), 'Ben,Cleo', 'nobody vanishes meanwhile')
  mock.timers.tick(1000)
  t.equal(names(others.get()), 'Cleo')
  locks([], false, true)
  stop()
  const { length } = states
  mock.timers.tick(5000)
  t.equal(states.length, length)
})
