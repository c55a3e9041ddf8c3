import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { QuoinError, type ErrorCode, type JournalEntry, type JournalPage } from '../../client/src/client.ts'
import { createJournal, wordsOfValue, type JournalDeps } from '../page/journal.ts'
import { createJournalDoor, type JournalPanel } from '../page/journal-door.ts'
import type { Shape } from '../page/fields.ts'
import type { Edition, Item } from '../page/settings.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const shapes: Record<string, Partial<Shape>> = {
  title: { kind: 'line' },
  status: { kind: 'flag' },
  articles: { kind: 'order' },
  body: { kind: 'text' }
}
const values = (value: unknown): Item[] => [{ value }]
const refs = (...ids: number[]): Item[] => ids.map((id) => ({ target_id: id }))
const entryOf = (id: string, fields: JournalEntry['fields'], more: Partial<JournalEntry> = {}): JournalEntry => ({
  id,
  at: '2026-11-19T10:15:30.000Z',
  by: { uid: '7', name: 'Anna' },
  kind: 'update',
  fields,
  outcome: 'saved',
  etag: 'x',
  ...more
})
const pageOf = (ids: string[], next: string | null = null): JournalPage => ({ data: ids.map((id) => entryOf(id, {})), meta: { next } })
const failed = (status: number, code: ErrorCode) => new QuoinError(status, code, code)

function open(edition: Edition = { title: values('Now') }) {
  const service = {
    pages: [] as Array<JournalPage | Error | Promise<JournalPage>>,
    asked: [] as object[],
    restored: [] as object[],
    refusals: [] as Array<Error | Promise<void>>
  }
  const [said, reads, learnt] = [[], [], []] as string[][] as [string[], string[], string[]]
  const titles: Record<string, unknown> = { u1: 'The bridge', gone: failed(404, 'NOT_FOUND'), away: failed(503, 'CMS_UNAVAILABLE') }
  const state = { edition, etag: '1', reloads: 0 }
  const deps: JournalDeps = {
    editions: {
      async journal(_, query) {
        service.asked.push(query!)
        const page = await (service.pages.shift() ?? pageOf([]))
        if (page instanceof Error) throw page
        return page
      },
      async restore(_, body, options) {
        service.restored.push({ ...body, ...options })
        const refusal = await service.refusals.shift()
        if (refusal instanceof Error) throw refusal
        return { edition: { title: [{ value: 'Before' }] }, etag: '2' }
      },
      async arrange() {
        throw new Error('not asked for')
      },
      async read(uuid, { list } = {}) {
        reads.push(`${list} ${uuid}`)
        const title = titles[uuid]
        if (title instanceof Error) throw title
        return { edition: { title: [{ value: title as string }] }, etag: '1' }
      }
    },
    labels: {
      lists: { article: { entityType: 'node' } },
      knows: ({ target_uuid: uuid }) => uuid === 'known',
      learn: ({ target_uuid: uuid }, title) => {
        learnt.push(`${uuid}: ${title}`)
      }
    },
    id: '5',
    shapeOf: (name) => shapes[name] && { name, label: name, template: {}, kind: 'line', ...shapes[name] },
    labelOf: (name) => name.toUpperCase(),
    isOffered: (name) => name !== 'status',
    present: () => state,
    onSave(read, etag, words) {
      state.edition = read
      state.etag = etag!
      said.push(words)
    },
    async reload() {
      state.reloads++
      state.etag = 'reloaded'
    },
    onChange: () => {},
    announce: (text) => {
      said.push(text)
    }
  }
  const journal = createJournal(deps)
  const ids = () => journal.entries?.map(({ id }) => id).join('')
  return { journal, service, said, state, ids, deps, reads, learnt }
}

t.test('pages are added, and the newest is read again without losing the older ones', async (t) => {
  const { journal, service, said, ids } = open()
  t.equal(journal.entries, undefined)
  service.pages = [pageOf(['f', 'e'], 'e'), pageOf(['d', 'c'], 'c'), pageOf(['g', 'f'], 'f'), pageOf(['z', 'y'], 'y'), pageOf(['x'])]
  await journal.load()
  t.strictSame([ids(), journal.hasOlder, journal.limit], ['fe', true, undefined])
  await journal.older()
  t.strictSame([ids(), journal.hasOlder], ['fedc', true])
  journal.refresh()
  journal.refresh()
  mock.timers.tick(500)
  await turn()
  t.equal(ids(), 'gfedc', 'what is new stands before')
  await journal.load()
  t.equal(ids(), 'zy', 'where there is a gap, only the newest are shown')
  await journal.older()
  t.strictSame([ids(), journal.hasOlder], ['zyx', false])
  t.strictSame(service.asked, [{ limit: 20 }, { limit: 20, before: 'e' }, { limit: 20 }, { limit: 20 }, { limit: 20, before: 'y' }])
  t.strictSame(said, ['2 entries shown', '4 entries shown', '5 entries shown', '2 entries shown', '3 entries shown'])
})

t.test('the entries of one user, or of one agent, can be shown alone', async (t) => {
  const { journal, service, said } = open()
  t.strictSame([journal.people, journal.shown], [[], []])
  const page = pageOf(['d', 'c', 'b', 'a'])
  const by = [
    { uid: 'agent:planner:7', name: 'Anna' },
    { uid: '7', name: null },
    { uid: null, name: null },
    { uid: 'agent:planner:7', name: 'Anna' }
  ]
  for (const [index, entry] of page.data.entries()) entry.by = by[index]!
  service.pages = [page]
  await journal.load()
  t.strictSame(journal.people, [
    { uid: 'agent:planner:7', name: 'Anna' },
    { uid: '7', name: undefined }
  ])
  journal.showAlone('agent:planner:7')
  t.strictSame([journal.who, journal.shown.map(({ id }) => id).join(''), said.at(-1)], ['agent:planner:7', 'da', '2 entries shown'])
  journal.showAlone(undefined)
  t.equal(journal.shown.length, 4)
})

t.test('a read again of the same entries is not told, and knows of older ones as before', async (t) => {
  const { journal, service, said, ids } = open()
  service.pages = [pageOf(['b', 'a'], 'a'), pageOf(['b', 'a'], 'a'), pageOf([]), pageOf([])]
  await journal.load()
  await journal.load()
  t.strictSame([ids(), journal.hasOlder, said.length], ['ba', true, 1])
  await journal.older()
  t.strictSame([ids(), journal.hasOlder], ['ba', false])
  await journal.load()
  t.equal(ids(), '')
})

t.test('a page shows so many and no more', async (t) => {
  const { journal, service } = open()
  service.pages = [
    pageOf(
      Array.from({ length: 200 }, (_, index) => `${index}`),
      '199'
    )
  ]
  await journal.load()
  t.strictSame([journal.hasOlder, journal.limit], [false, 200])
})

t.test('a failure is kept until a read succeeds, and what comes late counts for nothing', async (t) => {
  const { journal, service, ids } = open()
  const [late, lateFailure, latePage] = [
    Promise.withResolvers<JournalPage>(),
    Promise.withResolvers<JournalPage>(),
    Promise.withResolvers<JournalPage>()
  ]
  service.pages = [failed(404, 'NOT_FOUND'), late.promise, pageOf(['b'], 'b'), latePage.promise, lateFailure.promise, pageOf(['c'])]
  await journal.load()
  t.equal(journal.failure?.status, 404)
  const first = journal.load()
  await journal.load()
  late.resolve(pageOf(['a']))
  await first
  t.strictSame([ids(), journal.failure], ['b', undefined])
  const older = journal.older()
  const second = journal.load()
  await journal.load()
  latePage.resolve(pageOf(['a']))
  lateFailure.reject(failed(503, 'CMS_UNAVAILABLE'))
  await Promise.all([older, second])
  t.strictSame([ids(), journal.failure], ['c', undefined])
  service.pages = [new TypeError('a defect')]
  await t.rejects(journal.load(), TypeError)
  journal.refresh()
  journal.end()
  mock.timers.tick(500)
  t.equal(service.asked.length, 7, 'nothing is asked for after the end')
})

t.test('what became of a field is told by its kind, and computed once', async (t) => {
  const { journal } = open()
  const long = 'x'.repeat(500)
  const entry = entryOf('a', {
    title: { before: values('The bridge opens\r\non Monday'), after: values('The bridge opens\non Friday') },
    status: { before: values(false), after: values(true) },
    articles: { before: refs(1, 2), after: refs(2, 3) },
    body: { after: values(long) },
    odd: { before: values('same'), after: [{ value: 'same', format: 'other' }] },
    type: { after: [{ target_id: 'daily' }] }
  })
  t.strictSame(journal.became(entry, 'type').pieces, [{ gone: '', came: 'daily' }])
  journal.turn(entry)
  t.ok(journal.isOpened(entry))
  journal.turn(entry)
  t.notOk(journal.isOpened(entry))
  t.strictSame(journal.became(entry, 'title').pieces, [{ same: 'The bridge opens\non ' }, { gone: 'Monday', came: 'Friday' }])
  t.equal(journal.became(entry, 'title'), journal.became(entry, 'title'))
  t.strictSame(journal.became(entry, 'status').pieces, [{ gone: 'false', came: 'true' }])
  const { changes, items } = journal.became(entry, 'articles')
  t.strictSame(changes, [
    { what: 'came', token: '3' },
    { what: 'gone', token: '1' }
  ])
  t.strictSame([...items.keys()], ['1', '2', '3'])
  t.strictSame(journal.became(entry, 'body').pieces, [{ gone: '', came: `${'x'.repeat(400)} …` }])
  t.strictSame([journal.became(entry, 'odd').isShown, journal.became(entry, 'odd').kind], [false, 'line'])
})

t.test('articles that went are asked for by name, each once', async (t) => {
  const { journal, service, reads, learnt } = open()
  const articles = ['u1', 'gone', 'away', 'known', 'u1'].map((uuid, index) => ({
    target_id: index,
    target_type: 'node',
    target_uuid: uuid
  }))
  const entry = entryOf('a', {
    articles: {
      before: [...articles, { target_id: 8, target_type: 'node' }, { target_id: 9, target_type: 'media', target_uuid: 'm' }],
      after: []
    },
    title: { before: values('A') },
    none: {}
  })
  service.pages = [
    { data: [entry], meta: { next: null } },
    { data: [entry], meta: { next: null } }
  ]
  await journal.load()
  await turn()
  await journal.load()
  await turn()
  t.strictSame(reads, ['article u1', 'article gone', 'article away'])
  t.strictSame(learnt, ['u1: The bridge', 'gone: '])
})

t.test('a value can be put back where it is known, and is not what is saved now', async (t) => {
  const { journal, state } = open({ title: values('B'), odd: [{ value: 'same', format: 'other' }] })
  const entry = entryOf('a', {
    title: { before: values('A'), after: values('B') },
    status: { before: values(false), after: values(true) },
    odd: { before: values('same'), after: [{ value: 'same', format: 'other' }] },
    body: { after: values('T'), leftOut: ['before'] }
  })
  t.strictSame(
    ['title', 'status', 'odd', 'body', 'none'].map((name) => journal.sidesOf(entry, name)),
    [['before'], [], ['before'], ['after'], []]
  )
  state.edition = { title: values('C') }
  t.strictSame(journal.sidesOf(entry, 'title'), ['before', 'after'])
})

t.test('it is put back after a question, on what was seen then, and said aloud', async (t) => {
  const { journal, service, said, state } = open()
  const entry = entryOf('a', { title: { before: values('Before'), after: values('Now') } })
  await journal.putBack()
  journal.wants(entry, 'title', 'before')
  t.match(journal.wish, { name: 'title', side: 'before', etag: '1' })
  journal.cancel()
  await journal.putBack()
  t.strictSame([journal.wish, service.restored.length], [undefined, 0])
  journal.wants(entry, 'title', 'before')
  const answer = Promise.withResolvers<void>()
  service.refusals = [answer.promise]
  const under = journal.putBack()
  t.equal(journal.isActing, true)
  await journal.putBack()
  answer.resolve()
  await under
  await turn()
  t.strictSame(service.restored, [{ entry: 'a', fields: ['title'], side: 'before', ifMatch: '1' }])
  t.strictSame([journal.wish, journal.isActing, state.etag, said[0]], [undefined, false, '2', 'TITLE is put back.'])
  t.equal(service.asked.length, 1, 'and the history is read again')
})

t.test('a refusal is said, and the question stays; what a colleague has saved meanwhile is read first', async (t) => {
  const { journal, service, said, state } = open()
  const entry = entryOf('a', { title: { before: values('Before'), after: values('Now') } })
  service.refusals = [failed(422, 'UNPROCESSABLE'), failed(412, 'PRECONDITION_FAILED')]
  journal.wants(entry, 'title', 'before')
  await journal.putBack()
  t.strictSame([journal.problem, state.reloads, journal.wish?.etag], ['TITLE is not put back: UNPROCESSABLE', 0, '1'])
  await journal.putBack()
  t.strictSame(
    [journal.problem, state.reloads, journal.wish?.etag],
    ['TITLE is not put back: a colleague has saved meanwhile. Look at it again.', 1, 'reloaded']
  )
  t.strictSame(said, ['TITLE is not put back: UNPROCESSABLE', 'TITLE is not put back: a colleague has saved meanwhile. Look at it again.'])
  journal.wants(entry, 'title', 'after')
  t.equal(journal.problem, undefined)
})

t.test('values that are no texts are told in words', async (t) => {
  const context = { types: [{ id: 'daily', label: 'Daily paper' }], titleOf: ({ target_id: id }: Item) => `No. ${id}` }
  const rows: Array<[kind: Shape['kind'], items: Item[], words: string | RegExp]> = [
    ['flag', values(true), 'yes'],
    ['flag', values(false), 'no'],
    ['choice', values('daily'), 'Daily paper'],
    ['choice', values('weekly'), 'weekly'],
    ['date', values('2026-11-18'), '18 Nov 2026'],
    ['moment', values('2026-07-01T03:00:00Z'), /^1 Jul 2026, 05:00$/],
    ['fixed', refs(3, 4), 'No. 3, No. 4'],
    ['number', values(7), '7'],
    ['date', [], '']
  ]
  for (const [kind, items, words] of rows) t.match(wordsOfValue({ kind, zone: 'Europe/Berlin' }, items, context), words, kind)
  const range = (kind: Shape['kind'], value: string, end: string | null) =>
    wordsOfValue({ kind, zone: 'Europe/Berlin', isRange: true }, [{ value, end_value: end }], context)
  t.strictSame(
    [
      range('date', '2026-11-18', '2026-11-20'),
      range('moment', '2026-07-01T03:00:00Z', '2026-07-02T03:00:00Z'),
      range('moment', '2026-07-01T03:00:00Z', null)
    ],
    ['18 Nov 2026 – 20 Nov 2026', '1 Jul 2026, 05:00 – 2 Jul 2026, 05:00', '1 Jul 2026, 05:00 – ']
  )
})

t.test('the script of the history is loaded when it is opened, and asked for again where it did not come', async (t) => {
  const { deps } = open()
  const acts: string[] = []
  const panel: JournalPanel = {
    load: async () => {
      acts.push('load')
    },
    refresh: () => acts.push('refresh'),
    end: () => acts.push('end'),
    view: () => ''
  }
  let loads = 0
  const door = createJournalDoor(deps, async () => {
    if (loads++ === 0) throw new TypeError('Failed to fetch dynamically imported module')
    return { createJournalPanel: () => panel }
  })
  door.refresh()
  door.end()
  await door.open()
  t.strictSame([door.isOpen, door.isMissing, door.panel], [true, true, undefined])
  door.refresh()
  await door.open()
  t.strictSame([door.isMissing, door.panel], [false, panel])
  door.refresh()
  door.close()
  door.refresh()
  t.equal(door.isOpen, false)
  door.end()
  t.strictSame(acts, ['load', 'refresh', 'end'])
})
