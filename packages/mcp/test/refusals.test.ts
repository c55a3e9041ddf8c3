import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Failure, failures, type FailureCode, type FailureOptions } from '../../../lib/errors.ts'
import { checkArguments } from '../server/arguments-check.ts'
import { refusalOf, ToolRefusal } from '../server/refusals.ts'
import { answered, refused } from '../server/results.ts'
import { oneOf } from '../server/tools/arguments.ts'

const CODES = Object.keys(failures) as FailureCode[]

const refusal = (code: FailureCode, options?: FailureOptions) =>
  refusalOf(new Failure(code, 'title is locked by Bob </tool>', options)) as Record<string, any>

t.test('each failure has words of its code, and its own message is in none', async (t) => {
  for (const code of CODES) {
    const { code: shown, message, next, ...others } = refusal(code)
    t.equal(shown, code)
    t.match(message, /^[A-Z].*\.$/, code)
    t.match(next, /^[A-Z].*\.$/, code)
    t.notMatch(`${message} ${next}`, /Bob|locked by|<|undefined/, code)
    t.strictSame(others, {})
  }
})

t.test('what header fields tell the callers of REST are values', async (t) => {
  t.equal(refusal('STORE_UNAVAILABLE', { headers: { 'retry-after': '3' } }).retryAfterSeconds, 3)
  t.notOk('retryAfterSeconds' in refusal('CMS_UNAVAILABLE', { headers: { 'retry-after': 'Fri, 27 Nov 2026 22:00:00 GMT' } }))
  t.equal(refusal('PRECONDITION_FAILED', { headers: { etag: '"a.b"', location: '/x' } }).tag, '"a.b"')
})

const holder = { uid: '8', name: 'Bob', agent: 'scribe', principal: '7', color: 'red', typedAt: 5 }
const lock = { entityType: 'node', entityId: '3', fieldName: 'title', timestamp: 1767225600, userData: holder, version: 'v1' }
const person = { uid: '8', name: 'Bob', agent: 'scribe', principal: '7' }

t.test('locks, findings, violations and orders are values, with uid, name and marks of users alone', async (t) => {
  const row = { entityType: 'node', entityId: '3', fieldName: 'title', holder: person, since: '2026-01-01T00:00:00.000Z' }
  t.strictSame(refusal('FIELD_LOCKED', { details: { locks: [lock] } }).locks, [row])
  t.strictSame(refusal('LOCK_CHANGED', { details: { lock: { ...lock, expiresAt: 1767225660 } } }).lock, {
    ...row,
    expiresAt: '2026-01-01T00:01:00.000Z'
  })
  const finding = { code: 'LOCKED', message: 'Bob is editing title', entityType: 'node', entityId: '3', fieldName: 'title', lock }
  const draft = { id: 'd', fieldName: 'title', timestamp: 1767225600, displacedAt: 1767225600, userData: holder, payload: 'x' }
  const kept = { code: 'DRAFT_KEPT', message: 'A text of Bob', entityType: 'node', entityId: '3', draft }
  const { blockers, warnings } = refusal('NOT_READY', { details: { blockers: [finding], warnings: [kept] } })
  t.strictSame(blockers, [{ code: 'LOCKED', entityType: 'node', entityId: '3', fieldName: 'title', lock: row }])
  t.strictSame(warnings, [
    {
      code: 'DRAFT_KEPT',
      entityType: 'node',
      entityId: '3',
      draft: {
        fieldName: 'title',
        author: person,
        since: '2026-01-01T00:00:00.000Z',
        displacedAt: '2026-01-01T00:00:00.000Z'
      }
    }
  ])
  const details = { violations: [{ path: 'title', message: 'too long' }], order: [{ target_id: 4 }], failed: ['title'], uuid: 'u' }
  const { violations, order, failed, uuid } = refusal('UNPROCESSABLE', { details })
  t.strictSame({ violations, order, failed, uuid }, details)
  t.notOk('secret' in refusal('INTERNAL', { details: { secret: 1 } }), 'no other detail')
})

t.test('a lock that another program wrote is shown as far as it is one', async (t) => {
  const strange = { fieldName: 7, timestamp: 1e300, userData: { uid: { a: 1 }, name: 'n'.repeat(9000) } }
  const { lock } = refusal('LOCK_CHANGED', { details: { lock: strange } })
  t.strictSame(lock, { fieldName: '7', holder: { name: `${'n'.repeat(254)}…` } })
  t.strictSame(refusal('LOCK_CHANGED', { details: { lock: {} } }).lock, { fieldName: '', holder: {} })
})

t.test('a refusal stays below 20 kB, and says so where something was cut', async (t) => {
  const order = Array.from({ length: 3000 }, (_, id) => ({ target_id: id, target_type: 'node' }))
  const failure = new Failure('ORDER_CONFLICT', 'no', { details: { order } })
  const [{ text }] = refused(failure).content as unknown as [{ text: string }]
  t.ok(Buffer.byteLength(text) < 20_000)
  const { error } = JSON.parse(text)
  t.ok(error.order.length > 300)
  t.match(error.more, /read_edition/)
})

t.test('a tool that refuses has words of its own, and its details are shown as they are', async (t) => {
  const words = { message: 'It is so.', next: 'Do that.' }
  const failure = new ToolRefusal('CONFLICT', words, { details: { present: 'x' } })
  t.strictSame(refusalOf(failure), { code: 'CONFLICT', ...words, present: 'x' })
})

t.test('an answer that a tool has not cut is refused', async (t) => {
  t.equal(answered({ a: 1 }).isError, undefined)
  t.throws(() => answered({ a: 'x'.repeat(20_000) }), { code: 'TOO_LARGE' })
})

const input = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9]+$' }),
    side: Type.Optional(oneOf(['before', 'after'])),
    operations: Type.Optional(
      Type.Array(Type.Object({ op: oneOf(['insert', 'move']), at: Type.Optional(Type.String()) }, { additionalProperties: false }))
    )
  },
  { additionalProperties: false }
)

function problemsOf(args: unknown): unknown {
  try {
    checkArguments(input, args)
    return []
  } catch (error) {
    return (error as ToolRefusal).details['problems']
  }
}

t.test('each wrong argument is named, with what is allowed, also within others', async (t) => {
  t.strictSame(problemsOf({ id: '1', side: 'after', operations: [{ op: 'move' }] }), [])
  t.strictSame(problemsOf({ id: 1, sides: 'x' }), [
    { argument: 'sides', problem: 'unknown', allowed: ['id', 'side', 'operations'] },
    { argument: 'id', problem: 'Expected string' }
  ])
  t.strictSame(problemsOf({}), [{ argument: 'id', problem: 'missing' }])
  t.strictSame(problemsOf({ id: 'x', side: 'middle' }), [
    { argument: 'id', problem: "Expected string to match '^[0-9]+$'" },
    { argument: 'side', problem: 'Expected another value', allowed: ['before', 'after'] }
  ])
  t.strictSame(problemsOf({ id: '1', operations: [{ op: 'insert' }, { op: 'swap', to: 3 }] }), [
    { argument: 'operations/1/to', problem: 'unknown', allowed: ['op', 'at'] },
    { argument: 'operations/1/op', problem: 'Expected another value', allowed: ['insert', 'move'] }
  ])
  t.strictSame(problemsOf([]), [{ argument: 'arguments', problem: 'Expected object' }])
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}${'n'.repeat(9000)}`, 1]))
  const problems = problemsOf({ id: '1', ...many }) as unknown[]
  t.equal(problems.length, 5)
  t.ok(JSON.stringify(problems).length < 5000, 'long names are cut')
})
