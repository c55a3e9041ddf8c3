import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { codeOf, editOf, heal, LOCK, MINE, openFaulty, placesOf, type FaultyRoom } from './faulty-room.ts'
import type { Fate, Line } from './line.ts'
import { ben } from './newsroom.ts'

/** Changes a field while one line fails from, or at, a request; what is said has to be so. */
async function editWhileFailing(t: Test, room: FaultyRoom, line: Line, fail: (count: number) => Fate, what: string): Promise<string> {
  const args = await editOf(room, what)
  line.count = 0
  line.fate = fail
  const answer = await room.call('edit_field', args)
  heal(room)
  const { isSaved, lock, isKept, others } = await placesOf(room, what)
  const code = codeOf(answer)
  if (code === 'done') t.ok(isSaved, `${what}: what is said to be saved is`)
  else t.notOk(isSaved && /FORBIDDEN|FIELD_LOCKED|LOCK_CHANGED|PRECONDITION/.test(code), `${what}: what is refused is not saved`)
  if (lock) t.match(lock, { userData: { uid: MINE }, payload: what, expiresAt: Number }, `${what}: a lock that stays ends by itself`)
  t.strictSame(others, ["Ben's key"], `${what}: the text of a person is as it was`)

  const repeated = codeOf(await room.call('edit_field', args))
  const allowed = /^(?:done|LOCK_CHANGED|OUTCOME_UNKNOWN|IDEMPOTENCY_KEY_BUSY|CMS_\w+|STORE_UNAVAILABLE|PRECONDITION_FAILED)$/
  t.match(repeated, allowed, `${what}: repeated: ${repeated}`)
  const after = await placesOf(room, what)
  t.ok(after.isSaved || after.isKept || isKept || code !== 'done', `${what}: the text is saved or kept, or its agent knows better`)
  // A person has the field at once, whatever is left of the lock.
  const { status } = await room.rest('POST', `${LOCK}/requests`, { headers: ben, body: { fieldName: 'title' } })
  t.equal(status, 409, `${what}: nobody has the field any more`)
  return code
}

for (const name of ['toStore', 'toCms'] as const) {
  t.test(`edit_field with a fault at each request to ${name === 'toStore' ? 'the store' : 'the CMS'}`, async (t) => {
    const room = await openFaulty(t)
    await room.rest('POST', LOCK, { headers: ben, body: { fieldName: 'field_key', payload: "Ben's key" } })
    const line = room[name]
    line.count = 0
    t.equal(codeOf(await room.call('edit_field', await editOf(room, 'without a fault'))), 'done')
    const requests = line.count
    t.ok(requests > 2, `${requests} requests`)
    const codes: Record<string, number> = {}
    for (const fate of ['dropped', 'lost', 'broken'] as const) {
      for (let at = 1; at <= requests; at++) {
        const code = await editWhileFailing(t, room, line, (count) => (count === at ? fate : 'answered'), `${fate} at ${at}`)
        codes[code] = (codes[code] ?? 0) + 1
      }
    }
    t.comment(JSON.stringify(codes))
    t.ok(codes['done']! > 0, 'some faults are survived')
  })
}

/** How long saves go without tickets once the store gave none (lib/saves/tickets.ts), in milliseconds. An agent saves by one alone. */
const REST_MS = 5000

t.test('edit_field whose store goes away at each of its requests', async (t) => {
  const room = await openFaulty(t)
  await room.rest('POST', LOCK, { headers: ben, body: { fieldName: 'field_key', payload: "Ben's key" } })
  room.toStore.count = 0
  t.equal(codeOf(await room.call('edit_field', await editOf(room, 'without a fault'))), 'done')
  const requests = room.toStore.count
  const codes: Record<string, number> = {}
  for (let from = 1; from <= requests; from++) {
    const code = await editWhileFailing(t, room, room.toStore, (count) => (count >= from ? 'dropped' : 'answered'), `away from ${from}`)
    codes[code] = (codes[code] ?? 0) + 1
  }
  t.comment(JSON.stringify(codes))
  t.ok(codes['STORE_UNAVAILABLE']! > 0)
  await sleep(REST_MS + 100)
  t.equal(codeOf(await room.call('edit_field', await editOf(room, 'once it is back'))), 'done')
})
