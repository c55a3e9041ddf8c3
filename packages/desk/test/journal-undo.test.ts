import t from 'tap'
import { QuoinError, type ErrorCode, type JournalEntry, type OrderOperation } from '../../client/src/client.ts'
import type { Shape } from '../page/fields.ts'
import { createUndo, inverseOperations, stepsSince, type UndoDeps } from '../page/journal-undo.ts'
import { apply } from '../page/operations.ts'
import type { Edition, Item } from '../page/settings.ts'

const AGENT = { uid: 'agent:planner:7', name: 'planner (Anna)' }
const BEN = { uid: '8', name: 'Ben' }
const shapes: Record<string, Partial<Shape>> = {
  title: { kind: 'line' },
  body: { kind: 'text' },
  key: { kind: 'line' },
  articles: { kind: 'order' }
}
for (const name of ['held', 'gone', 'other', 'status']) shapes[name] = { kind: 'line' }
const text = (value: string): Item[] => [{ value }]
const refs = (...ids: number[]): Item[] => ids.map((id) => ({ target_id: id }))
const idsOf = (items: Item[]) => items.map(({ target_id: id }) => id)
const entryOf = (id: string, fields: JournalEntry['fields'], more: Partial<JournalEntry> = {}): JournalEntry => ({
  id,
  at: '2026-11-19T10:15:30.000Z',
  by: AGENT,
  kind: 'update',
  fields,
  outcome: 'saved',
  etag: 'x',
  ...more
})
const changed = (before: string, after: string) => ({ before: text(before), after: text(after) })
const failed = (status: number, code: ErrorCode, body?: unknown) => new QuoinError(status, code, code, { body })

/** A service with one edition. It saves as it is told, unless a test has it fail. */
function open(edition: Edition, entries: JournalEntry[]) {
  const state = { edition, etag: '1', reloads: 0, asked: [] as object[], said: [] as string[] }
  const fates: Array<(() => void) | undefined> = []
  const saved = (field: string, items: Item[]) => {
    state.edition = { ...state.edition, [field]: items }
    const etag = String(Number(state.etag) + 1)
    return { edition: state.edition as never, etag }
  }
  const deps: UndoDeps = {
    editions: {
      async restore(_, { entry, fields: [name], side }, options) {
        state.asked.push({ entry, name, side, ...options })
        fates.shift()?.()
        return saved(name!, entries.find(({ id }) => id === entry)!.fields[name!]!.before!)
      },
      async arrange(_, operations, { field, ...options } = {}) {
        state.asked.push({ operations, field, ...options })
        fates.shift()?.()
        return { ...saved(field!, operations.reduce(apply, state.edition[field!]!)), operations: [] } as never
      }
    },
    id: '5',
    shapeOf: (name) => shapes[name] && { name, label: name, template: {}, kind: 'line', ...shapes[name] },
    labelOf: (name) => name.toUpperCase(),
    isOffered: (name) => name !== 'status',
    present: () => state,
    onSave(_edition, tag) {
      state.etag = tag!
    },
    async reload() {
      state.reloads++
      state.etag = `${Number(state.etag) + 10}`
    },
    onChange: () => {},
    announce: (words) => {
      state.said.push(words)
    }
  }
  const undo = createUndo(deps)
  const putBack = async (holders: Record<string, { uid: string; name: string }> = {}) => {
    undo.wants(entries.at(-1)!, entries)
    await undo.putBack((name) => holders[name])
    return undo.results!.map(({ entry, name, isBack, words }) => [entry.id, name, isBack, words])
  }
  return { undo, state, fates, putBack }
}

t.test('what an agent saved since is put back, the newest first, each on the state that the save before it left', async (t) => {
  const { undo, state, putBack } = open({ title: text('C'), key: text('k2') }, [
    entryOf('c', { title: changed('B', 'C') }),
    entryOf('b', { title: changed('A', 'B'), key: changed('k1', 'k2') })
  ])
  t.strictSame(await putBack(), [
    ['c', 'title', true, undefined],
    ['b', 'title', true, undefined],
    ['b', 'key', true, undefined]
  ])
  t.strictSame(state.edition, { title: text('A'), key: text('k1') })
  t.strictSame(state.asked, [
    { entry: 'c', name: 'title', side: 'before', ifMatch: '1' },
    { entry: 'b', name: 'title', side: 'before', ifMatch: '2' },
    { entry: 'b', name: 'key', side: 'before', ifMatch: '3' }
  ])
  t.strictSame(state.said, ['3 of 3 put back.'])
  undo.cancel()
  t.strictSame([undo.since, undo.results], [undefined, undefined])
})

t.test('what a person has changed since, or holds, stays, and the rest goes on', async (t) => {
  const newer = [
    entryOf('i', { title: changed('C', 'D') }, { by: BEN }),
    entryOf('h', { body: {} }, { by: { uid: null, name: null }, kind: 'outside' }),
    entryOf('g', { key: changed('x', 'k2') }, { by: BEN, kind: 'restore' }),
    entryOf('f', { key: {} }, { by: BEN, kind: 'proposed' }),
    entryOf('e', { key: changed('k2', 'z') }, { by: BEN, outcome: 'refused' })
  ]
  const fields = {
    title: changed('B', 'C'),
    body: changed('b1', 'b2'),
    key: changed('k1', 'k2'),
    held: changed('1', '2'),
    status: changed('0', '1')
  }
  const { state, putBack } = open({ title: text('D'), body: text('b2'), key: text('k2'), held: text('2'), status: text('1') }, [
    ...newer,
    entryOf('a', fields)
  ])
  t.strictSame(await putBack({ held: BEN }), [
    ['a', 'title', false, 'Ben has changed it since.'],
    ['a', 'body', false, 'it was changed since.'],
    ['a', 'key', true, undefined],
    ['a', 'held', false, 'Ben is editing it.'],
    ['a', 'status', false, 'the history cannot put it back.']
  ])
  t.equal(state.asked.length, 1)
  t.strictSame(state.said, ['1 of 5 put back.'])
})

t.test('what stands there by no entry, or is not kept, is left too', async (t) => {
  const long = { leftOut: ['before' as const], after: text('b2') }
  const { state, putBack } = open(
    { title: [{ value: 'C', format: 'full' }], body: text('b2'), key: text('k1'), other: text('x'), link: [{ uri: 'a', title: 'by Ben' }] },
    [
      entryOf('b', { title: { before: text('B'), after: [{ value: 'C', format: 'basic' }] }, body: long, key: changed('k1', 'k2') }),
      entryOf('a', { other: changed('a', 'b') }, { outcome: 'uncertain' })
    ]
  )
  t.strictSame(await putBack(), [
    ['b', 'title', false, 'it was changed since.'],
    ['b', 'body', false, 'what stood before is not kept.'],
    ['b', 'key', false, 'it is as it was before already.'],
    ['a', 'other', false, 'it was changed since.']
  ])
  t.strictSame(state.asked, [])
})

t.test('an order is put back article by article, beside what others have done to it', async (t) => {
  const order = { before: refs(1, 2, 3, 4), after: refs(9, 1, 4, 3) }
  const { state, putBack } = open({ articles: refs(9, 1, 4, 3, 7) }, [entryOf('a', { articles: order }, { kind: 'order' })])
  t.strictSame(await putBack(), [['a', 'articles', true, 'put back in part: somebody has changed the rest since.']])
  t.strictSame(idsOf(state.edition['articles']!), [1, 2, 3, 4, 7], 'what another has inserted stays')
  t.match(state.asked, [{ field: 'articles', ifMatch: '1', operations: Array }])

  const alone = open({ articles: refs(9, 1, 4, 3) }, [entryOf('a', { articles: order }, { kind: 'order' })])
  t.strictSame(await alone.putBack(), [['a', 'articles', true, undefined]])
  t.strictSame(await alone.putBack(), [['a', 'articles', false, 'it is as it was before already.']])
})

t.test('of an order nothing is undone that somebody has done anew', async (t) => {
  const left = (operations: OrderOperation[]) => operations.map(({ op, article }) => `${op} ${article.target_id}`)
  for (const [before, after, present, expected] of [
    [[1, 2], [1, 2, 9], [1, 2], []],
    [[1, 2, 3], [9, 1, 2, 3], [1, 2, 3, 9], []],
    [[1, 2], [1], [1, 2], []],
    [[1, 2, 3], [2, 3, 1], [1, 2, 3], []],
    [[1, 2, 3], [2, 3, 1], [2, 3], []],
    [[1, 2, 3], [2, 3, 1], [2, 3, 1], ['move 1']],
    [[1, 2, 3], [], [], ['insert 1', 'insert 2', 'insert 3']]
  ] as const) {
    const operations = inverseOperations(refs(...before), refs(...after), refs(...present))
    t.strictSame(left(operations), expected, JSON.stringify([before, after, present]))
  }
  const deleted = open({ articles: refs(5) }, [entryOf('a', { articles: { before: refs(1), after: refs(1, 9) } }, { kind: 'order' })])
  t.strictSame(await deleted.putBack(), [['a', 'articles', false, 'it was changed since.']])
  const hidden = open({}, [entryOf('a', { articles: { before: refs(1), after: refs(1, 9) }, title: changed('A', 'B') })])
  t.strictSame(await hidden.putBack(), [
    ['a', 'articles', false, 'it was changed since.'],
    ['a', 'title', false, 'it was changed since.']
  ])
})

t.test('what is refused says why, and what somebody saves meanwhile is looked at again', async (t) => {
  const fields = { title: changed('A', 'B'), key: changed('k1', 'k2'), body: changed('b1', 'b2') }
  const { state, fates, putBack } = open({ title: text('B'), key: text('k2'), body: text('b2') }, [entryOf('a', fields)])
  const fail = (error: QuoinError) => () => {
    throw error
  }
  const locks = [{ entityType: 'node', entityId: '5', fieldName: 'key', userData: BEN }]
  fates.push(
    fail(failed(412, 'PRECONDITION_FAILED')),
    undefined,
    fail(failed(423, 'FIELD_LOCKED', { locks })),
    fail(failed(403, 'CMS_FORBIDDEN'))
  )
  t.match(await putBack(), [
    ['a', 'title', true, undefined],
    ['a', 'key', false, 'Ben is editing it.'],
    ['a', 'body', false, /CMS_FORBIDDEN/]
  ])
  t.equal(state.reloads, 1)

  const always = open({ title: text('B') }, [entryOf('a', { title: changed('A', 'B') })])
  for (let count = 0; count < 3; count++) always.fates.push(fail(failed(412, 'PRECONDITION_FAILED')))
  t.match(await always.putBack(), [['a', 'title', false, String]])
  t.strictSame([always.state.asked.length, always.state.reloads], [3, 2])

  const meanwhile = open({ title: text('B') }, [entryOf('a', { title: changed('A', 'B') })])
  meanwhile.fates.push(() => {
    meanwhile.state.edition = { title: text("Ben's") }
    throw failed(412, 'PRECONDITION_FAILED')
  })
  t.strictSame(await meanwhile.putBack(), [['a', 'title', false, 'it was changed since.']])
  t.strictSame(meanwhile.state.edition, { title: text("Ben's") })
})

t.test('while the service is away nothing more is tried, and who stops it keeps the rest as it is', async (t) => {
  const fields = { title: changed('A', 'B'), key: changed('k1', 'k2') }
  const away = open({ title: text('B'), key: text('k2') }, [entryOf('a', fields)])
  away.fates.push(() => {
    throw failed(503, 'CMS_UNAVAILABLE')
  })
  t.equal((await away.putBack()).length, 1)
  t.strictSame(away.state.said, ['0 of 2 put back.'])

  const stopped = open({ title: text('B'), key: text('k2') }, [entryOf('a', fields)])
  stopped.fates.push(() => {
    t.equal(stopped.undo.isActing, true)
    stopped.undo.wants(entryOf('b', {}), [])
    stopped.undo.cancel()
    stopped.undo.putBack(() => undefined)
    stopped.undo.stop()
  })
  t.equal((await stopped.putBack()).length, 1)
  t.strictSame(stopped.state.edition, { title: text('A'), key: text('k2') })
  stopped.undo.cancel()
  await stopped.undo.putBack(() => undefined)
  t.equal(stopped.undo.results, undefined, 'nothing was asked for')
})

t.test('who has changed it since is told by number where they have no name', async (t) => {
  const newer = entryOf('b', { title: changed('C', 'D') }, { by: { uid: '9', name: null } })
  const { putBack } = open({ title: text('D') }, [newer, entryOf('a', { title: changed('B', 'C') })])
  t.strictSame(await putBack(), [['a', 'title', false, 'User 9 has changed it since.']])
})

t.test('only what the agent saved counts, from the entry on, and a hundred changes at once', (t) => {
  const entries = [
    entryOf('f', { title: changed('A', 'B') }),
    entryOf('e', { title: changed('A', 'B') }, { by: BEN }),
    entryOf('d', { title: {} }, { kind: 'proposed' }),
    entryOf('c', { title: changed('A', 'B') }, { outcome: 'refused' }),
    entryOf('b', { title: changed('A', 'B') }, { kind: 'create' }),
    entryOf('a', { title: changed('A', 'B') })
  ]
  const ids = (since: JournalEntry) => stepsSince(entries, since).map(({ entry, newer }) => `${entry.id}${newer.length}`)
  t.strictSame(ids(entries.at(-1)!), ['f0', 'a5'])
  t.strictSame(ids(entries[0]!), ['f0'])
  const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`field_${index}`, changed('A', 'B')]))
  const { undo } = open({}, [])
  t.equal(undo.isCut, false)
  undo.wants(entryOf('a', many), [entryOf('a', many)])
  t.strictSame([undo.steps.length, undo.isCut], [100, true])
  t.end()
})
