import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createForbidden, type Forbidden } from '../page/forbidden.ts'
import { createSession } from '../page/edition.ts'
import { apply } from '../page/operations.ts'
import type { JournalDeps } from '../page/journal.ts'
import type { ProposalsDeps } from '../page/proposals.ts'
import { createDraftStorage } from '../page/draft-storage.ts'
import { isAtRisk } from '../page/drafts.ts'
import { createBackground } from '../page/background.ts'
import type { Edition, Item, Model } from '../page/settings.ts'
import { say } from '../page/texts.ts'
import {
  QuoinError,
  type AcquireOptions,
  type Client,
  type Draft,
  type Listener,
  type LockView,
  type OrderOperation,
  type Saved
} from '../../client/src/client.ts'
import { unlessAborted } from '../../client/src/abort.ts'
import { diskOf, storeOf, type FakeDisk } from './fixtures.ts'
import { contentModel } from '../../../lib/editions/model.ts'

const model = contentModel({}) as Model

/** What the session's texts are kept under. */
const ENTITY = `${model.entityType}/5`

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const editionOf = (title: string, more: Edition = {}): Edition => ({ id: [{ value: 5 }], title: [{ value: title }], ...more })
const lockOf = (uid: string, more: Partial<LockView> = {}): LockView => ({
  entityType: model.entityType,
  entityId: '5',
  fieldName: 'title',
  timestamp: 1,
  userData: { uid, name: uid },
  ...more
})
const saveOf = (more: Partial<Saved>): Saved => ({ entityType: model.entityType, entityId: '5', etag: null, fields: [], ...more })
const away = () => new QuoinError(503, 'CMS_UNAVAILABLE', 'The CMS is away')
const moved = () => new QuoinError(412, 'PRECONDITION_FAILED', 'Somebody else has saved')

/** A session of Anna's, and a service that answers as the test has it say: with a value, an error, or when the test calls `answer`. */
function open(
  t: Test,
  {
    edition = editionOf('Saved'),
    age,
    records = [],
    reads = [],
    disk = diskOf(),
    forbidden = createForbidden({ window: { localStorage: storeOf() }, uid: 'anna' })
  }: { forbidden?: Forbidden; edition?: Edition; age?: number; records?: object[]; reads?: Array<Edition | Error>; disk?: FakeDisk } = {}
) {
  const service = {
    reads,
    writes: [] as Array<Edition | Error>,
    /** Requests that wait for their answer, while `waits`. */
    waits: false,
    waiting: [] as Array<() => void>,
    age,
    drafts: [] as Array<Partial<Draft>>,
    /** Why the drafts cannot be told, each time that they are asked for. */
    undrafted: [] as Error[],
    labels: {} as Record<string, string>,
    images: {} as Record<string, string>,
    sections: {} as Record<string, string>,
    /** Why the labels cannot be told. */
    nameless: undefined as Error | undefined,
    published: {} as Record<string, boolean>,
    /** The operations that were sent to running orders, and what they are answered with. */
    arranged: [] as OrderOperation[][],
    arrangements: [] as Array<Edition | Error>,
    /** What a search finds. */
    found: [] as Edition[],
    /** What the samples wait for. */
    learning: undefined as Promise<void> | undefined,
    sent: [] as object[],
    discarded: [] as object[],
    watched: [] as string[],
    listener: undefined as Listener | undefined,
    acquire: undefined as Error | undefined,
    /** Why the locks cannot be told, each time that they are asked for. */
    unknown: [] as Error[],
    /** The texts that were sent to locks. */
    saved: [] as string[],
    /** What a release waits for. */
    releasing: undefined as Promise<void> | undefined,
    /** The requests for locks that came, and why they are refused. */
    asked: [] as string[],
    unasked: undefined as Error | undefined,
    /** What was told of this user's presence. */
    presence: [] as string[],
    onLost: undefined as AcquireOptions['onLost'],
    /** What the history was given, and how often it was told of a save. */
    journal: undefined as JournalDeps | undefined,
    /** What proposals were given, and whether their script cannot be had. */
    proposals: undefined as ProposalsDeps | undefined,
    isAway: false,
    refreshes: 0
  }
  const present = { edition, etag: 1 }
  const etag = () => present.etag
  const said: string[] = []
  const notices: string[][] = []
  /** What was saved or refused, with the entity tag or the code. */
  const outcomes: unknown[][] = []
  const released: string[] = []

  async function answer(given: Edition | Error | undefined): Promise<{ edition: Edition; etag: string; age?: number }> {
    const then = given ?? present.edition
    if (service.waits) await new Promise<void>((resolve) => service.waiting.push(resolve))
    if (then instanceof Error) throw then
    return { edition: then, etag: String(present.etag++), ...(service.age !== undefined && { age: service.age }) }
  }
  const subscribe = (what: string) => (_: unknown, listener: Listener) => {
    service.watched.push(what)
    service.listener = listener
    return () => {
      service.watched.push(`no ${what}`)
    }
  }
  const heldAnew = () => ({
    version: 'v',
    isTyped: false,
    async save(text: string) {
      this.isTyped = true
      service.saved.push(text)
    },
    release: async () => {
      released.push('title')
      await service.releasing
    }
  })
  const client = {
    editions: {
      read: () => answer(service.reads.shift()),
      update(_: string, body: Record<string, Item[]>, { ifMatch, signal }: { ifMatch?: string; signal: AbortSignal }) {
        service.sent.push({ ...body, ifMatch })
        const written = answer(service.writes.shift() ?? { ...present.edition, ...body })
        return unlessAborted(written, signal)
      },
      arrange(_: string, operations: OrderOperation[]) {
        service.arranged.push(operations)
        const given = service.arrangements.shift() ?? {
          ...present.edition,
          field_articles: operations.reduce(apply, present.edition['field_articles'] ?? [])
        }
        if (!(given instanceof Error)) present.edition = given
        return answer(given)
      },
      async *search() {
        yield { editions: service.found }
      },
      readiness: async () => ({ ready: true, blockers: [], warnings: [], proposals: 0 }),
      close: async () => ({ ...(await answer({ ...present.edition, status: [{ value: true }] })), since: null }),
      subscribe: subscribe('edition')
    },
    locks: {
      list: async () => {
        const unknown = service.unknown.shift()
        if (unknown) throw unknown
        return records
      },
      drafts: async () => {
        const undrafted = service.undrafted.shift()
        if (undrafted) throw undrafted
        return service.drafts
      },
      discard: async (what: object) => {
        if (service.acquire) throw service.acquire
        service.discarded.push(what)
        service.drafts = []
      },
      acquire: async (_: unknown, { onLost }: AcquireOptions) => {
        service.onLost = onLost
        if (service.acquire) throw service.acquire
        return heldAnew()
      },
      release: async () => {},
      ask: async () => {
        service.asked.push('ask')
        if (service.unasked) throw service.unasked
      },
      withdraw: async () => {
        service.asked.push('withdraw')
      },
      attend: async () => {
        service.presence.push('attend')
      },
      leave: async () => {
        service.presence.push('leave')
      },
      subscribe: subscribe('locks')
    }
  } as unknown as Client
  const storage = createDraftStorage({ disk, window: { localStorage: storeOf() }, uid: 'anna', onChange: () => {} })
  const session = createSession(
    {
      client,
      storage,
      forbidden,
      settings: { auth: 'none', cms: 'https://cms.example', model },
      user: { uid: 'anna' },
      samples: { of: () => [], prepare: () => {}, learn: async () => service.learning },
      labelsOf: async () => {
        if (service.nameless) throw service.nameless
        return { data: service.labels, published: service.published, images: service.images, sections: service.sections }
      },
      looksOf: async () => ({ images: {}, sections: {} }),
      loadJournal: async () => ({
        createJournalPanel(deps) {
          service.journal = deps
          return {
            load: async () => {},
            refresh: () => {
              service.refreshes++
            },
            end: () => {},
            view: () => ''
          }
        }
      }),
      loadProposals: async () => {
        if (service.isAway) throw new Error('The service is away')
        return {
          createProposalsPanel(deps) {
            service.proposals = deps
            return { hear: () => {}, begin: () => {}, end: () => {}, view: () => '' }
          }
        }
      },
      onChange: () => {},
      onNews: () => {},
      announce: (text) => {
        said.push(text)
      },
      notify: (...told) => {
        notices.push(told)
      },
      onSave: (fieldNames, etag) => {
        outcomes.push([...fieldNames, etag])
      },
      onRefuse: (fieldNames, { code }) => {
        outcomes.push([...fieldNames, code])
      }
    },
    '5'
  )
  t.teardown(() => session.close())
  const field = (name = 'title') => session.fields.find(({ shape }) => shape.name === name)!
  const board = async (...locks: LockView[]) => {
    service.listener!.locks(locks)
    await turn()
  }
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await turn()
  }
  return { session, storage, service: Object.assign(service, { etag }), said, notices, outcomes, released, field, board, pass }
}

t.test('what was read before a save does not take its place', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  field().type('After')
  await turn()
  service.waits = true
  service.reads = [editionOf('Before'), editionOf('Later')]
  const loading = session.load()
  const saving = session.save()
  service.waiting.pop()!()
  await saving
  t.equal(session.notice?.text, 'Saved.')
  service.waiting.shift()!()
  await turn()
  t.strictSame([field().text, session.title], ['After', 'After'])
  service.waiting.shift()!()
  await loading
  t.strictSame([field().text, session.title], ['Later', 'Later'], 'it is read once more instead')
})

t.test('the text of an own lock that has expired is found among the drafts when the field is taken again', async (t) => {
  const { session, service, board } = open(t)
  await turn()
  await board()
  service.drafts = [{ fieldName: 'title', payload: 'Typed before the lease was over' }]
  await board(lockOf('anna'))
  t.strictSame(session.drafts, [], 'without leases there is none')
  await board(lockOf('ben', { expiresAt: 9 }), lockOf('anna', { entityId: '6', expiresAt: 9 }))
  t.strictSame(session.drafts, [], "nor by another's lock, or that of an article")
  await board(lockOf('anna', { expiresAt: 9 }))
  t.strictSame(session.drafts, service.drafts)
})

t.test('an edition that cannot be had is asked for again while that may help, and a copy until it is fresh', async (t) => {
  const { session, service, pass, said } = open(t, { age: 40 })
  t.strictSame([session.edition, session.title, session.age], [undefined, '', undefined])
  await turn()
  t.strictSame([session.age, service.watched], [40, ['locks']], 'the locks alone need no CMS')
  service.listener!.locks([])
  t.ok(session.isLive)
  service.listener!.down!()
  t.notOk(session.isLive)
  service.reads = [away(), editionOf('Fresh')]
  await pass(10_000)
  t.strictSame([session.failure?.code, session.title], ['CMS_UNAVAILABLE', 'Saved'])
  service.age = undefined
  await pass(10_000)
  t.strictSame([session.failure, session.title, service.watched, said], [undefined, 'Fresh', ['locks', 'no locks', 'edition'], []])

  const { session: first, pass: later } = open(t, { reads: [away()] })
  await turn()
  t.equal(first.failure?.code, 'CMS_UNAVAILABLE')
  await later(10_000)
  t.strictSame([first.failure, first.title], [undefined, 'Saved'], 'also where there was no copy')

  const { session: lost, service: there, pass: wait } = open(t)
  there.reads = [new QuoinError(404, 'NOT_FOUND', 'There is no edition 5')]
  await lost.load()
  await wait(60_000)
  t.strictSame([lost.failure?.code, lost.edition && true], ['NOT_FOUND', true], 'what is refused is not asked for again')
})

t.test('a page that was left takes in no answer any more', async (t) => {
  const { session, service } = open(t)
  await session.close()
  await turn()
  t.strictSame([session.edition, service.watched], [undefined, []])

  const { session: failing, service: ill, pass } = open(t)
  ill.waits = true
  ill.reads = [away(), away()]
  const loading = failing.load()
  await failing.close()
  ill.waiting.forEach((resolve) => resolve())
  await loading
  t.equal(failing.edition, undefined)
  await pass(60_000)
  t.equal(ill.reads.length, 1, 'nor does it ask again')

  const { session: learning, service: slow } = open(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  slow.learning = promise
  await turn()
  await learning.close()
  resolve()
  await turn()
  t.strictSame([learning.fields, slow.watched], [[], []])
})

t.test('what is not in its lock yet is sent when the page closes', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  field().type('M')
  await turn()
  field().type('Mine')
  t.strictSame(service.saved, ['M'])
  session.keep()
  t.strictSame(service.saved, ['M', 'Mine'])
})

t.test('a field that is in some answers only is empty in the others', async (t) => {
  const { session, service, field } = open(t, {
    edition: editionOf('Saved', { field_x: undefined, field_articles: [{ target_id: 1, target_uuid: 'one' }] })
  })
  await turn()
  field('field_x').type('x')
  await turn()
  service.writes = [editionOf('Saved')]
  await session.save()
  t.match(service.sent, [{ field_x: [{ value: 'x' }] }])
  service.reads = [editionOf('Saved')]
  await session.load()
  t.strictSame(
    session.fields.map(({ text }) => text),
    ['Saved', '', '']
  )
})

t.test('a base field is locked and saved by its own name', async (t) => {
  const { session, service, field } = open(t, {
    edition: editionOf('Saved', { created: [{ value: '2026-11-18T05:00:00+01:00' }], page_count: [{ value: 44 }] })
  })
  await turn()
  t.strictSame(
    session.fields.map(({ shape }) => shape.name),
    ['title', 'page_count']
  )
  field('page_count').type('48')
  await turn()
  t.ok(field('page_count').isHeld)
  await session.save()
  t.match([service.sent, session.notice?.text], [[{ page_count: [{ value: 48 }] }], 'Saved.'])
})

t.test('the texts that were typed before are offered, and what an edition refers to gets its name', async (t) => {
  const records = [
    { fieldName: 'title', userData: { uid: 'anna' }, payload: 'Typed' },
    { fieldName: 'field_x', userData: { uid: 'anna' } },
    { fieldName: 'field_key', userData: { uid: 'ben' }, payload: 'B' }
  ]
  const articles = [
    { target_id: 1, target_uuid: 'one' },
    { target_id: 2, target_uuid: 'two' },
    { target_id: 3, target_uuid: 'three', alt: 'A picture' }
  ]
  const { session, service, field } = open(t, {
    records,
    edition: editionOf('Saved', {
      field_articles: articles,
      field_other: [{ target_id: 4, target_uuid: 'four' }],
      field_key: [{ value: 'k' }]
    })
  })
  service.labels = { one: 'Harbour' }
  service.images = { one: 'https://cms.example/1.jpg' }
  service.sections = { one: 'Sport' }
  await turn()
  await turn()
  t.strictSame([field().offer, field('field_key').offer], ['Typed', undefined])
  t.strictSame(
    [
      ...articles.map(session.titleOf),
      session.titleOf(undefined),
      session.titleOf({ target_id: 9 }),
      session.titleOf({ target_id: 4, target_uuid: 'four' })
    ],
    ['Harbour', 'No. 2, deleted or not for you to see', 'A picture', 'No. unknown', 'No. 9', 'No. 4']
  )
  t.strictSame(
    articles.slice(0, 2).map((item) => [session.imageOf(item), session.sectionOf(item)]),
    [
      ['https://cms.example/1.jpg', 'Sport'],
      [undefined, undefined]
    ]
  )
  t.strictSame([session.labelOf('title'), session.labelOf('other'), session.board], ['Title', 'other', []])
  await session.load()
})

t.test('where the own locks cannot be told they are asked for again, and what was typed since is newer', async (t) => {
  const records = ['title', 'field_x', 'field_key'].map((fieldName) => ({ fieldName, userData: { uid: 'anna' }, payload: 'Typed' }))
  const edition = editionOf('Saved', { field_x: [{ value: 'x' }], field_key: [{ value: 'k' }] })
  const { session, service, field, pass } = open(t, { records, edition })
  service.unknown = [away(), away()]
  await turn()
  field('field_x').focus()
  await turn()
  service.acquire = away()
  field('field_key').type('Now')
  await pass(10_000)
  t.strictSame(
    session.fields.map(({ offer }) => offer),
    [undefined, undefined, undefined]
  )
  await pass(10_000)
  t.strictSame(
    [field(), field('field_x'), field('field_key')].map(({ offer }) => offer),
    ['Typed', undefined, undefined]
  )

  const { service: refused, field: fieldOf, pass: wait } = open(t, { records })
  refused.unknown = [new QuoinError(403, 'FORBIDDEN', 'No')]
  await turn()
  await wait(30_000)
  t.equal(fieldOf().offer, undefined, 'what is refused is not asked for again')

  const { session: left, service: there, pass: later } = open(t, { records })
  there.unknown = [away(), away()]
  await turn()
  await left.close()
  await later(30_000)
  t.equal(there.unknown.length, 1, 'nor by a page that was left')
})

t.test('what others begin and end is said, and what they may have saved is read again', async (t) => {
  const { session, service, said, field, board, pass } = open(t)
  await turn()
  await board(lockOf('cleo'))
  t.strictSame(said, [], 'not what was there before')
  await board(lockOf('ben'))
  t.strictSame(said.splice(0), ['ben is editing Title', 'cleo has let go of Title'])
  t.equal(field().holder?.userData.uid, 'ben')
  await board(lockOf('cleo', { entityId: '6' }), lockOf('ben'))
  t.equal(field().holder?.userData.uid, 'ben', 'the title of an article is another field')
  service.reads = [editionOf("Ben's")]
  await board()
  t.strictSame(said.splice(0), ['ben has let go of Title'])
  await pass(300)
  t.equal(service.reads.length, 1, 'who has typed nothing has saved nothing')
  await board(lockOf('ben', { userData: { uid: 'ben', typedAt: 5 } }))
  await board()
  await pass(300)
  t.strictSame([session.title, field().text], ["Ben's", "Ben's"])
  service.reads = [editionOf("Ben's second"), editionOf("Ben's second")]
  await board(lockOf('ben', { userData: { uid: 'ben', typedAt: 6 } }))
  service.listener!.saved!(saveOf({ etag: 'x', fields: ['title'] }))
  await board()
  await pass(400)
  t.strictSame([session.title, service.reads.length], ["Ben's second", 1], 'a save that was told is read once')
})

t.test('what others do to a running order is done here too, without a request', async (t) => {
  const order = (...ids: number[]) => editionOf('Saved', { field_articles: ids.map((id) => ({ target_id: id })) })
  const { session, service, said, pass } = open(t, { edition: order(1, 2, 3) })
  const shown = () => session.orders[0]!.items.map(({ target_id: id }) => id)
  const move = (id: number): OrderOperation => ({ op: 'move', article: { target_id: id }, at: 'start' })
  const hear = (more: Partial<Saved>) => {
    service.listener!.saved!(saveOf({ fields: ['field_articles'], ...more }))
    return pass(400)
  }
  await turn()
  service.reads = [order(9), order(9)]
  await hear({ from: '1.other', etag: 'a.urls', operations: [move(3), { op: 'remove', article: { target_id: 1 } }] })
  t.strictSame([shown(), session.title], [[3, 2], 'Saved'], 'whatever the urls of references are')
  const item = (id: number) => session.orders[0]!.items.find(({ target_id: one }) => one === id)!
  service.listener!.saved!(saveOf({ fields: ['field_articles'], from: 'a', etag: 'b', uid: 'ben', name: 'Ben', operations: [move(2)] }))
  t.strictSame([session.moverOf(item(2)), session.moverOf(item(3))], ['Ben', undefined], 'who has moved it is shown')
  await pass(1000)
  t.match(said.at(-1), /^Ben has moved No. 2/, 'and said')
  await pass(1000)
  t.equal(session.moverOf(item(2)), undefined, 'for a while')
  for (const [from, etag] of ['bc', 'cd', 'db']) {
    service.listener!.saved!(saveOf({ fields: ['field_articles'], from: from!, etag: etag!, uid: 'ben', operations: [move(3), move(2)] }))
  }
  const before = said.length
  await pass(1000)
  t.strictSame(said.slice(before), ['User ben: 6 changes of the running order'], 'many in one sentence')
  t.strictSame([shown(), service.reads.length], [[2, 3], 2], 'one after the other')
  await hear({ etag: 'b' })
  t.equal(service.reads.length, 2, 'what is known is not read')

  await hear({ from: 'z', etag: 'c', uid: 'ben', operations: [move(3)] })
  t.strictSame([shown(), service.reads.length], [[9], 1], 'what was done to another state is read')
  await pass(1000)
  t.match(said.at(-1), /^User ben has added No. 9/)
  for (const [what, operations] of Object.entries<OrderOperation[] | undefined>({
    'another save': undefined,
    'an insert': [{ op: 'insert', article: { target_id: 4 }, at: 'end' }],
    'what cannot be done here': [move(5)]
  })) {
    service.reads = [order(1, 2)]
    // Each read has the next number.
    await hear({ from: String(service.etag() - 1), etag: 'c', ...(operations && { operations }) })
    t.equal(service.reads.length, 0, `${what} is read`)
  }

  service.waits = true
  session.acts(session.orders[0]!).move(['2'], 0)
  service.listener!.saved!(saveOf({ fields: ['field_articles'], from: String(service.etag() - 1), etag: 'c', operations: [move(2)] }))
  service.listener!.saved!(saveOf({ fields: ['field_articles'], from: 'c', etag: String(service.etag()) }))
  service.reads = [order(7)]
  service.waits = false
  service.waiting.shift()!()
  await pass(400)
  t.equal(service.reads.length, 1, 'what one’s own answer has in it is not read')
})

t.test('an edition is read again where saves may not have been heard of', async (t) => {
  const { service, pass } = open(t)
  const hear = async (isWhole = false, isStale = false) => {
    service.listener!.locks([], isStale, isWhole)
    await pass(2000)
    await pass(50)
    return 3 - service.reads.length
  }
  await turn()
  service.reads = [editionOf('1'), editionOf('2'), editionOf('3')]
  t.equal(await hear(true), 0, 'not at first')
  t.equal(await hear(true), 1, 'after a snapshot that no save explains')
  service.listener!.saved!(saveOf({ etag: '2', fields: ['field_articles'] }))
  t.equal(await hear(true), 1, 'not after a save that changes what is watched')
  service.listener!.down!()
  t.equal(await hear(false, true), 1, 'not while the board is stale')
  t.equal(await hear(), 2, 'after a break')
  t.equal(await hear(), 2)
})

t.test('what is given up and was never saved is kept, also for the next window', async (t) => {
  const disk = diskOf()
  const { session, service, field, board } = open(t, { disk })
  const kept = () => session.drafts.map(({ payload }) => payload)
  await turn()
  await board()
  field().type('Typed')
  await turn()
  session.revert(field())
  t.strictSame([field().text, kept()], ['Saved', ['Typed']], 'what is reverted')
  session.undo()
  await turn()
  await field().keep()
  t.strictSame([field().text, kept()], ['Typed', []], 'its lock has it again')
  session.redo()
  t.strictSame([field().text, kept()], ['Saved', ['Typed']])

  field().type('Mine')
  service.reads = [editionOf('Theirs')]
  await session.load()
  field().decide('theirs')
  t.strictSame([field().text, kept()], ['Theirs', ['Mine', 'Typed']], 'what a colleague’s text replaces')

  field().offered({ payload: 'Offered', version: 'v' })
  await field().discardOffer()
  t.strictSame([field().offer, kept()], [undefined, ['Offered', 'Mine', 'Typed']], 'an offer')

  await session.discard(session.drafts[0]!)
  t.strictSame([kept(), session.history.canUndo], [['Mine', 'Typed'], true])
  session.undo()
  t.strictSame(kept(), ['Offered', 'Mine', 'Typed'], 'a discarded draft, by Undo')
  session.redo()
  await session.restore(session.drafts[0]!)
  t.strictSame([field().text, kept()], ['Mine', ['Typed']])
  session.undo()
  t.strictSame([field().text, kept()], ['Theirs', ['Mine', 'Typed']], 'a draft whose restoring is taken back')
  await turn()
  const next = open(t, { disk, edition: editionOf('Theirs') })
  await turn()
  t.strictSame(next.session.drafts.map(({ payload }) => payload).sort(), ['Mine', 'Typed'])
})

t.test('who is displaced is told by whom, and finds the text', async (t) => {
  const { notices, session, service, field, board } = open(t)
  await turn()
  field().focus()
  await turn()
  await board(lockOf('ben'))
  t.strictSame([session.notice?.text, session.drafts], ['ben took over Title.', []], 'nothing was typed')
  t.strictSame(notices, [['Saved', 'ben took over Title.', 'title']])
  await board()
  field().type('Mine')
  await turn()
  service.drafts = []
  service.onLost!(new QuoinError(412, 'LOCK_CHANGED', 'changed', { body: { error: { lock: lockOf('ben') } } }))
  await turn()
  t.match(session.notice, { tone: 'bad', text: 'ben took over Title. What you had typed is under Kept drafts.' })
  t.match(session.drafts, [{ fieldName: 'title', payload: 'Mine', displacedBy: { uid: 'ben' } }])
  await session.restore(session.drafts[0]!)
  t.match(session.notice, { tone: 'bad', text: 'Title is being edited by somebody else: take it over first.' })
  await board()
  await session.restore(session.drafts[0]!)
  t.match(
    [session.notice, field().text, session.drafts],
    [{ tone: 'good', text: 'Your text is back in Title.' }, 'Mine', []],
    'from this window, into its lock'
  )
  await session.restore({ fieldName: 'gone', payload: 'x' })
  t.match(session.notice, { tone: 'bad', text: 'This edition has no field gone.' })
  service.drafts = [{ id: 'v', fieldName: 'title', payload: 'Mine' }]
  await session.discard({ fieldName: 'title', payload: 'Mine, and more' })
  t.strictSame([session.drafts, service.discarded], [service.drafts, []], 'of what the service does not have it is not asked')
  service.acquire = away()
  await session.discard(session.drafts[0]!)
  t.equal(session.notice?.text, 'The CMS is away')
  service.acquire = undefined
  await session.discard(session.drafts[0]!)
  t.strictSame([session.drafts, service.discarded], [[], [{ type: model.entityType, id: '5', fieldName: 'title', draft: 'v' }]])
})

t.test('who finds a field locked after having typed into it is not told of a takeover', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  service.acquire = new QuoinError(423, 'FIELD_LOCKED', 'locked', { body: { error: { lock: lockOf('ben') } } })
  field().type('Mine')
  await turn()
  t.equal(session.notice?.text, 'ben is editing Title. What you had typed is under Kept drafts.')
})

t.test('of a draft what is chosen is restored, as one step, and what was restored and saved is kept no more', async (t) => {
  const { session, service, field } = open(t, { edition: editionOf('The bridge opens on Monday') })
  await turn()
  const draft = { id: 'v', fieldName: 'title', payload: 'The harbour bridge opens on Friday' }
  service.drafts = [draft]
  await session.discard({ fieldName: 'title', payload: 'Nothing such' })
  const choice = session.choiceOf(field(), draft.payload)
  choice.turn(choice.changes[1]!)
  await session.restore(draft)
  t.equal(field().text, 'The harbour bridge opens on Monday')
  session.undo()
  t.equal(field().text, 'The bridge opens on Monday')
  session.redo()
  t.equal(field().text, 'The harbour bridge opens on Monday')
  await session.save()
  t.strictSame(service.discarded, [], 'it was taken back before it was done again')
  field().type('The old bridge opens on Monday')
  await session.restore(draft)
  field().type('The harbour bridge opens at last')
  await session.save()
  await turn()
  t.match([service.discarded, session.drafts.filter(({ id }) => id)], [[{ draft: 'v' }], []])
})

t.test('a step that somebody has changed since is left alone', async (t) => {
  const { session, field } = open(t)
  await turn()
  await session.restore({ fieldName: 'title', payload: 'Saved once' })
  field().type('Another')
  session.undo()
  t.equal(field().text, 'Another')
})

t.test('an offer is restored as far as it is chosen, and ends when it is typed again', async (t) => {
  const records = [{ fieldName: 'title', userData: { uid: 'anna' }, payload: 'Saved, and typed' }]
  const { session, field } = open(t, { records })
  await turn()
  t.equal(field().offer, 'Saved, and typed')
  for (const text of ['Saved, and', 'Saved, and typed']) field().type(text)
  t.equal(field().offer, undefined)
  await session.restoreOffer(field())
  t.equal(field().text, 'Saved, and typed')

  const other = open(t, { records })
  await turn()
  await other.session.restoreOffer(other.field())
  t.strictSame([other.field().text, other.field().offer], ['Saved, and typed', undefined])
})

t.test('a text that a draft is restored over is under the kept drafts', async (t) => {
  const { session, storage, field } = open(t)
  await turn()
  field().type('Typed now')
  await turn()
  await session.restore({ id: 'v', fieldName: 'title', payload: 'Earlier' })
  t.match([field().text, session.drafts, storage.of(ENTITY)], ['Earlier', [{ payload: 'Typed now' }], [{ payload: 'Typed now' }]])
})

t.test('from within a field only what the page has put there is taken back', async (t) => {
  const { session, field, said } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  const [title, key] = [field(), field('field_key')]
  t.equal(session.undo(title), false)
  title.type('Typed')
  session.revert(title)
  t.strictSame([session.undo(key), title.text], [false, 'Saved'], 'it is another field')
  title.type('Typed since')
  t.strictSame([session.undo(title), title.text], [false, 'Typed since'], 'the text box takes that back itself')
  title.type('Saved')
  t.strictSame([session.undo(title), title.text, said.at(-1)], [true, 'Typed', 'Undone: Title as it is saved'])
  t.strictSame([session.redo(key), session.redo(title), title.text], [false, true, 'Saved'])
  await session.restore({ id: 'v', fieldName: 'title', payload: 'Earlier' })
  t.strictSame([session.undo(title), title.text], [true, 'Saved'], 'also a draft that was restored')
})

t.test('what was reverted comes back, and what has been changed since, or is somebody else\u2019s, is left alone', async (t) => {
  const { session, field, board, said } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  const texts = () => ['title', 'field_key'].map((name) => field(name).text)
  session.undo()
  session.redo()
  t.strictSame([session.history.canUndo, session.history.canRedo, said], [false, false, []], 'there is nothing to take back')
  field().type('Typed')
  field('field_key').type('key')
  session.revert()
  t.strictSame(texts(), ['Saved', 'k'])
  session.revert()
  session.undo()
  t.strictSame(
    [texts(), session.history.canRedo, said.at(-1)],
    [['Typed', 'key'], true, 'Undone: Everything as it is saved'],
    'to revert nothing was no step'
  )
  session.redo()
  t.strictSame([texts(), said.at(-1)], [['Saved', 'k'], 'Done again: Everything as it is saved'])
  session.undo()
  field().type('Typed since')
  session.revert(field())
  t.strictSame([texts(), session.history.canRedo, said.at(-1)], [['Saved', 'key'], false, 'Title as it is saved'])
  field().type('Typed later')
  session.undo()
  t.strictSame([field().text, said.at(-1)], ['Typed later', 'Left alone, since it has been changed or taken: Title as it is saved'])
  await turn()
  field('field_key').type('half', false)
  session.revert(field('field_key'))
  t.notOk(field('field_key').isDirty)
  await board(lockOf('ben'))
  session.revert()
  t.equal(field().text, 'Saved')
})

t.test('nothing is said to be undone in a field that somebody else has by now', async (t) => {
  const { session, field, board, said } = open(t)
  await turn()
  field().type('Typed')
  session.revert()
  await session.restore({ id: 'v', fieldName: 'title', payload: 'Earlier' })
  session.undo()
  await turn()
  await board(lockOf('ben'))
  for (const [step, words] of [
    ['redo', 'Title as it is in the draft'],
    ['undo', 'Title as it is in the draft'],
    ['undo', 'Everything as it is saved']
  ] as const) {
    session[step]()
    t.strictSame([field().text, said.at(-1)], ['Saved', `Left alone, since it has been changed or taken: ${words}`])
  }
  await board()
  session.redo()
  session.undo()
  t.strictSame([field().text, said.at(-1)], ['Typed', 'Undone: Everything as it is saved'])
})

t.test('what was typed and is in no lock is there in the next window, until it is saved or thrown away', async (t) => {
  const disk = diskOf()
  const first = open(t, { disk })
  await turn()
  first.service.acquire = away()
  for (const text of ['T', 'Ty', 'Typed']) first.field().type(text)
  await turn()
  t.type(first.field().keptAt, 'number')
  const second = open(t, { disk })
  await turn()
  t.match(second.session.drafts, [{ fieldName: 'title', payload: 'Typed' }])
  await second.session.discard(second.session.drafts[0]!)
  t.strictSame(second.session.drafts, [])
  first.field().type('Typed again')
  await turn()
  t.equal(disk.length, 1)
  open(t, { disk, edition: editionOf('Typed again') })
  await turn()
  t.equal(disk.length, 0, 'it is what is saved by now')
})

t.test('a displaced text that the service does not have, or cannot tell of, is in the browser alone', async (t) => {
  const { session, storage, service, field, board, pass } = open(t)
  await turn()
  field().type('Mine')
  await turn()
  service.undrafted = [away(), away()]
  service.drafts = [{ id: 'v', fieldName: 'title', payload: 'Mine' }]
  await board(lockOf('ben'))
  t.match([session.drafts, storage.of(ENTITY)], [[{ payload: 'Mine' }], [{ payload: 'Mine' }]])
  await pass(10_000)
  t.equal(storage.of(ENTITY).length, 1)
  await pass(10_000)
  t.strictSame([session.drafts, storage.of(ENTITY)], [service.drafts, []], 'it is asked for again')
})

t.test('a save is of what has changed, and ends its locks', async (t) => {
  const { session, service, field, released, said, outcomes, board, pass } = open(t, {
    edition: editionOf('Saved', { field_key: [{ value: 'k' }] })
  })
  await turn()
  await board(lockOf('ben', { fieldName: 'field_key' }))
  await session.save()
  t.strictSame(service.sent, [], 'nothing has')
  field().type('Mine')
  await turn()
  service.waits = true
  const saving = session.save()
  await turn()
  t.ok(session.isSaving)
  await session.save()
  await board()
  await pass(300)
  service.waiting.shift()!()
  await saving
  t.strictSame(service.sent, [{ title: [{ value: 'Mine' }], ifMatch: '1' }], 'once')
  t.strictSame([session.isSaving, session.title, field().isDirty, released, said.at(-1)], [false, 'Mine', false, ['title'], 'Saved.'])
  t.strictSame(outcomes, [['title', '2']], 'a page around it is told')
  service.waits = false
  service.writes = [new QuoinError(422, 'UNPROCESSABLE', 'Too long')]
  field().type('Much too long')
  await session.save()
  t.strictSame(outcomes.slice(1), [['title', 'UNPROCESSABLE']])
})

t.test('where the script of proposals cannot be had, the page says so', async (t) => {
  const { session, service, field, said } = open(t)
  await turn()
  service.isAway = true
  await session.proposals.begin(field())
  t.match(session.notice, { tone: 'bad', text: /cannot be loaded/ })
  t.equal(said.at(-1), session.notice!.text)
  service.isAway = false
  await session.proposals.begin(field())
  const { etag, labelOf } = service.proposals!
  t.strictSame([etag(), labelOf('title')], ['1', 'Title'], 'it gets what it needs of the edition')
})

t.test('a save without an answer is said to be slow, and can be given up: then the edition is read again', async (t) => {
  const { session, service, field, said, pass } = open(t)
  await turn()
  field().type('Mine')
  await turn()
  service.waits = true
  const saving = session.save()
  await pass(4999)
  t.notOk(session.isSlow)
  await pass(1)
  t.ok(session.isSlow)
  t.equal(said.at(-1), 'The save has no answer yet.')
  service.waits = false
  service.reads.push({ ...editionOf('Mine') })
  session.stopSaving()
  await saving
  await turn()
  t.match(session.notice, { tone: 'bad', text: /It may have been saved/ })
  t.strictSame([session.isSaving, session.isSlow, session.title, field().isDirty], [false, false, 'Mine', false])
  session.stopSaving()
})

t.test('all that was saved is so at once, and said to be, however long the locks take', async (t) => {
  const { session, service, field, released } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  field().type('Mine')
  field('field_key').type('l')
  await turn()
  const { promise, resolve } = Promise.withResolvers<void>()
  service.releasing = promise
  await session.save()
  t.strictSame([field().isDirty, field('field_key').isDirty, released.length], [false, false, 2])
  t.strictSame([session.isSaving, session.notice?.text], [false, 'Saved.'])
  resolve()
})

t.test('nothing is sent where what was typed is saved already by a colleague', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  field().type('Mine')
  service.writes = [moved()]
  service.reads = [editionOf('Mine')]
  await session.save()
  t.match([service.sent.length, session.notice, field().isDirty], [1, { text: 'Saved.' }, false])
})

t.test('where somebody else has saved meanwhile both changes go together, or the editor is asked', async (t) => {
  const start = editionOf('Saved', { field_key: [{ value: 'k' }] })
  const { session, service, field } = open(t, { edition: start })
  await turn()
  field().type('Mine')
  await turn()
  service.writes = [moved()]
  service.reads = [{ ...start, field_key: [{ value: 'theirs' }] }]
  await session.save()
  t.strictSame(service.sent.splice(0), [
    { title: [{ value: 'Mine' }], ifMatch: '1' },
    { title: [{ value: 'Mine' }], ifMatch: '2' }
  ])
  t.equal(session.notice?.text, 'Saved.')

  field().type('Mine again')
  service.writes = [moved()]
  service.reads = [editionOf('Theirs')]
  await session.save()
  t.strictSame(
    [service.sent.splice(0).length, session.notice?.text, field().theirs],
    [1, say('notSavedUndecided', { count: 1, labels: 'Title' }), 'Theirs']
  )
  await session.save()
  t.strictSame([service.sent, session.notice?.text], [[], say('notSavedUndecided', { count: 1, labels: 'Title' })])
  field().decide('mine')
  service.writes = [moved(), new QuoinError(409, 'STALE_EDIT', 'Somebody else has saved'), moved()]
  service.reads = ['one', 'two', 'three'].map((key) => ({ ...editionOf('Theirs'), field_key: [{ value: key }] }))
  await session.save()
  t.strictSame(
    [service.sent.splice(0).length, session.notice?.text, field('field_key').text],
    [4, 'Saved.', 'k'],
    'other fields that are saved meanwhile, one after the other, stop none'
  )
  field().type('Mine once more')
  service.writes = Array.from({ length: 10 }, moved)
  service.reads = Array.from({ length: 10 }, () => ({ ...editionOf('Mine again'), field_key: [{ value: 'theirs' }] }))
  await session.save()
  t.strictSame(
    [service.sent.splice(0).length, session.notice?.text, field('field_key').text],
    [10, say('notSavedMoved'), 'theirs'],
    'ten times is enough'
  )
  service.writes = [moved()]
  service.reads = [away()]
  await session.save()
  t.strictSame(
    [service.sent.splice(0).length, field().text, session.notice?.text],
    [1, 'Mine once more', 'Not saved: The CMS is away. Your text is kept; save again later.']
  )
  service.acquire = away()
  field('field_key').type('in this window alone')
  service.writes = [away()]
  await session.save()
  t.equal(session.notice?.text, 'Not saved: The CMS is away. Save again later.')
})

/** Articles by their numbers, as references. */
const articles = (...ids: number[]): Item[] => ids.map((id) => ({ target_id: id, target_uuid: `u${id}` }))
const numbers = (items: Item[] = []) => items.map((item) => item['target_id'])

t.test('a running order is changed by operations, and each is undone beside its neighbours', async (t) => {
  const { session, service, said } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3) }) })
  service.labels = { u3: 'The third' }
  service.published = { u3: false }
  await turn()
  const [order] = session.orders as [(typeof session.orders)[number]]
  t.strictSame(order.items.map(session.isPublished), [undefined, undefined, false])
  const { move, remove, insert } = session.acts(order)
  const [one, two, three] = articles(1, 2, 3)
  move(['3'], 0)
  t.strictSame([numbers(order.items), said], [[3, 1, 2], ['The third: place 1 of 3']], 'it is seen at once')
  await turn()
  remove(['1'])
  await turn()
  insert([{ item: { target_id: 9, target_uuid: 'u9' }, title: 'The ninth' }], 1)
  await turn()
  t.strictSame(service.arranged.splice(0), [
    [{ op: 'move', article: three, at: 'start' }],
    [{ op: 'remove', article: one }],
    [{ op: 'insert', article: { target_id: 9, target_uuid: 'u9' }, after: three }]
  ])
  t.strictSame([numbers(order.items), said.at(-1), order.isSaving], [[3, 9, 2], 'The ninth: added at place 2 of 3', false])
  move(['3'], 0)
  insert([{ item: two!, title: 'Again' }], 0)
  t.strictSame([service.arranged, session.history.canRedo], [[], false], 'nothing is to be done')
  move(['2', '3'], 9)
  t.strictSame([numbers(order.items), said.at(-1)], [[9, 3, 2], '2 articles: place 2 of 3'])
  session.undo()
  await turn()

  for (const ids of [
    [3, 2],
    [3, 1, 2],
    [1, 2, 3]
  ]) {
    session.undo()
    await turn()
    t.strictSame(numbers(order.items), ids)
  }
  for (const ids of [
    [3, 1, 2],
    [3, 2],
    [3, 9, 2]
  ]) {
    session.redo()
    await turn()
    t.strictSame(numbers(order.items), ids)
  }
  t.equal(said.at(-1), 'Done again: The ninth: added at place 2 of 3')
})

t.test('what a search has found goes where the search says, by its title, and is published or not as was found', async (t) => {
  const { session, service, said } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2) }) })
  await turn()
  const order = session.orders[0]!
  const { add } = session.acts(order)
  const found = (id: number, isPublished?: boolean) => ({
    item: articles(id)[0]!,
    title: `Article ${id}`,
    isPublished,
    image: isPublished ? `https://cms.example/${id}.jpg` : undefined,
    section: isPublished ? 'Sport' : undefined,
    placed: [],
    locks: []
  })
  add(found(7, false))
  t.strictSame([numbers(order.items), said.at(-1)], [[1, 2, 7], 'Article 7: added at place 3 of 3'], 'by default at the end')
  await turn()
  session.finder.putAt(1)
  add(found(8))
  t.strictSame([numbers(order.items), said.at(-1)], [[8, 1, 2, 7], 'Article 8: added at place 1 of 4'])
  await turn()
  session.finder.putAt(99)
  add(found(9, true))
  t.strictSame([numbers(order.items), said.at(-1)], [[8, 1, 2, 7, 9], 'Article 9: added at place 5 of 5'])
  await turn()
  t.strictSame(
    [order.items.map(session.isPublished), session.titleOf(articles(8)[0])],
    [[undefined, undefined, undefined, false, true], 'Article 8']
  )
  t.strictSame(
    [articles(8), articles(9)].map(([item]) => [session.imageOf(item!), session.sectionOf(item!)]),
    [
      [undefined, undefined],
      ['https://cms.example/9.jpg', 'Sport']
    ]
  )
  t.equal(service.arranged.length, 3)
})

t.test('what is dragged from a search into the order is known as the search has shown it', async (t) => {
  const { session, service, pass } = open(t, { edition: editionOf('Saved', { field_articles: articles(1) }) })
  service.found = [
    {
      nid: [{ value: 9 }],
      uuid: [{ value: 'u9' }],
      title: [{ value: 'The ninth' }],
      status: [{ value: false }],
      field_image: [{ alt: '', url: 'https://cms.example/9.jpg' }]
    }
  ]
  await turn()
  session.finder.open()
  await pass(0)
  const [result] = session.finder.results as [NonNullable<typeof session.finder.results>[number]]
  const { item } = result
  session.acts(session.orders[0]!).insert([result], 0)
  await turn()
  t.strictSame([session.titleOf(item), session.isPublished(item), session.imageOf(item)], ['The ninth', false, 'https://cms.example/9.jpg'])
})

t.test('several articles that are dragged or added together are one step', async (t) => {
  const { session, service, pass, said } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2) }) })
  service.found = [7, 8, 9].map((id) => ({ nid: [{ value: id }], uuid: [{ value: `u${id}` }], title: [{ value: `The ${id}` }] }))
  await turn()
  session.finder.open()
  await pass(0)
  const [seven, eight, nine] = session.finder.results as NonNullable<typeof session.finder.results>
  const order = session.orders[0]!
  session.finder.select(seven!, true)
  session.finder.select(nine!, true)
  session.acts(order).insert(session.finder.taken(nine!), 1)
  t.strictSame(numbers(order.items), [1, 7, 9, 2])
  t.equal(said.at(-1), '2 articles added from place 2 on')
  t.strictSame(session.finder.selected, [], 'they are done with')
  session.finder.select(eight!, true)
  session.acts(order).add(eight!)
  t.strictSame(session.finder.selected, [], 'so is one that was added by itself')
  session.undo()
  session.acts(order).add(eight!, seven!)
  t.strictSame(numbers(order.items), [1, 7, 9, 2, 8], 'what is there stays where it is')
  session.undo()
  session.undo()
  t.strictSame(numbers(order.items), [1, 2])
  session.redo()
  t.strictSame(numbers(order.items), [1, 7, 9, 2])
  session.acts(order).insert([{ item: { target_id: 5, target_uuid: 'u5' }, title: 'The 5' }], 0)
  t.strictSame(numbers(order.items), [5, 1, 7, 9, 2], 'something else that was dragged here')
  await turn()
})

t.test('a running order of a draft is put on what is there now, and taken back in one step', async (t) => {
  const { session, service } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3), field_more: [{ value: 'm' }] }) })
  await turn()
  const order = session.orders[0]!
  await session.restore({ fieldName: 'field_articles', payload: '9 3 1' })
  t.strictSame([numbers(order.items), session.notice], [[3, 1, 2], { tone: 'good', text: 'Running order is in the order of the draft.' }])
  await turn()
  t.equal(service.arranged.length, 1)
  session.undo()
  await turn()
  t.strictSame(numbers(order.items), [1, 2, 3])
})

t.test('of an order that was kept articles come and go by choice, and once it is saved it is kept no more', async (t) => {
  const { session, service } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3), field_more: [{ value: 'm' }] }) })
  await turn()
  const order = session.orders[0]!
  const draft = { id: 'w', fieldName: 'field_articles', payload: '3 9 1' }
  service.drafts = [draft]
  await session.discard({ fieldName: 'title', payload: 'Nothing such' })
  const choice = session.orderChoiceOf(order, draft)
  for (const change of choice.changes.filter(({ what }) => what !== 'moved')) choice.turn(change)
  await session.restore(draft)
  t.strictSame(numbers(order.items), [3, 9, 1])
  for (let n = 0; n < 5; n++) await turn()
  t.match(service.discarded, [{ draft: 'w' }])
  session.undo()
  t.strictSame(numbers(order.items), [1, 2, 3])
  session.redo()
  t.strictSame(numbers(order.items), [3, 9, 1])
  await turn()
  await session.restore({ ...draft, payload: '3 9 1' })
  t.strictSame(numbers(order.items), [3, 9, 1], 'as it is')
})

t.test('moves that were not saved are offered to the next window, and done again on what others have made of the order', async (t) => {
  const disk = diskOf()
  const edition = (...ids: number[]) => editionOf('Saved', { field_articles: articles(...ids), field_more: [{ value: 'm' }] })
  const first = open(t, { disk, edition: edition(1, 2, 3, 4) })
  await turn()
  const acts = first.session.acts(first.session.orders[0]!)
  first.service.arrangements = [away(), away()]
  acts.insert([{ item: articles(9)[0]!, title: 'The ninth' }], 0)
  acts.move(['4'], 1)
  acts.remove(['2'])
  await turn()
  t.strictSame(numbers(first.session.orders[0]!.items), [9, 4, 1, 3])

  const second = open(t, { disk, edition: edition(1, 2, 3, 4, 5) })
  await turn()
  const order = second.session.orders[0]!
  const [draft] = second.session.drafts
  t.match(draft, { fieldName: 'field_articles', operations: [{ op: 'insert' }, { op: 'move' }, { op: 'remove' }] })
  t.strictSame(numbers(order.items), [1, 2, 3, 4, 5], 'nothing is done by itself')
  t.equal(second.session.titleOf(articles(9)[0]), 'The ninth')
  const { changes, isTaken } = second.session.orderChoiceOf(order, draft!)
  t.ok(changes.length >= 3 && changes.every(isTaken))
  await second.session.restore(draft!)
  t.strictSame(numbers(order.items), [9, 4, 1, 3, 5])
  await turn()
  t.strictSame([second.session.drafts, second.service.arranged.flat().length], [[], 3])
  second.session.undo()
  t.strictSame(numbers(order.items), [1, 2, 3, 4, 5])
  while (order.isSaving) await turn()
  await turn()

  const third = open(t, { disk, edition: edition(9, 4, 1, 3) })
  await turn()
  t.strictSame(third.session.drafts, [], 'what was saved after all is not offered')
})

t.test('of moves that are offered some are taken', async (t) => {
  const { session, storage } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3) }) })
  await turn()
  const operations: OrderOperation[] = [
    { op: 'insert', article: { target_id: 9, target_uuid: 'u9' }, at: 'start' },
    { op: 'remove', article: { target_id: 2 } }
  ]
  storage.put(ENTITY, { fieldName: 'field_articles', payload: '9 1 3', operations })
  const order = session.orders[0]!
  const [draft] = session.drafts
  const choice = session.orderChoiceOf(order, draft!)
  choice.turn(choice.changes.find(({ what }) => what === 'gone')!)
  await session.restore(draft!)
  t.match(order.items, [{ target_uuid: 'u9' }, ...articles(1, 2, 3)])
})

t.test('moves that were saved after all are not offered to the next window', async (t) => {
  const disk = diskOf()
  const edition = (...ids: number[]) => editionOf('Saved', { field_articles: articles(...ids) })
  const first = open(t, { disk, edition: edition(1, 2, 3) })
  await turn()
  first.service.arrangements = [away(), away()]
  first.session.acts(first.session.orders[0]!).move(['3'], 0)
  await turn()
  t.equal(disk.length, 1)
  const second = open(t, { disk, edition: edition(3, 1, 2, 4) })
  await turn()
  t.strictSame([second.session.drafts, disk.length], [[], 0])
})

t.test('of moves that others have done by now nothing is left to do', async (t) => {
  const { session, storage, service } = open(t, { edition: editionOf('Saved', { field_articles: articles(2, 1, 3) }) })
  await turn()
  const operations: OrderOperation[] = [
    { op: 'remove', article: { target_id: 7 } },
    { op: 'move', article: { target_id: 2 }, at: 'start' },
    { op: 'move', article: { target_id: 3 }, before: { target_id: 1 } }
  ]
  storage.put(ENTITY, { fieldName: 'field_articles', payload: '2 3 1', operations })
  await session.restore(session.drafts[0]!)
  t.match(session.orders[0]!.items, articles(2, 3, 1))
  await turn()
  t.match(service.arranged.flat(), [{ op: 'move', article: { target_id: 3 } }])
})

t.test('moves that are refused are kept, unless their place has gone', async (t) => {
  const { session, service, outcomes } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3) }) })
  await turn()
  service.arrangements = [new QuoinError(401, 'UNAUTHENTICATED', 'Who are you?')]
  session.acts(session.orders[0]!).move(['3'], 0)
  await turn()
  t.match(session.drafts, [{ fieldName: 'field_articles', payload: '3 1 2', operations: [{ op: 'move' }] }])
  service.arrangements = [new QuoinError(409, 'ORDER_CONFLICT', 'It is gone')]
  session.acts(session.orders[0]!).remove(['1'])
  await turn()
  t.equal(session.drafts.length, 1)
  session.acts(session.orders[0]!).move(['3'], 0)
  await turn()
  t.match(outcomes, [
    ['field_articles', 'UNAUTHENTICATED'],
    ['field_articles', 'ORDER_CONFLICT'],
    ['field_articles', /\d/]
  ])
})

t.test('a running order that comes with a later answer only is empty before', async (t) => {
  const { session } = open(t, { edition: editionOf('Saved', { field_articles: undefined }) })
  await turn()
  t.strictSame(
    session.orders.map(({ items }) => items),
    [[]]
  )
})

t.test('an edition is shown as well where nobody can tell what its articles are called', async (t) => {
  const { session, service } = open(t, { edition: editionOf('Saved', { field_articles: articles(1) }) })
  service.nameless = away()
  await turn()
  t.strictSame([session.failure, session.titleOf(articles(1)[0])], [undefined, 'No. 1'])
})

t.test('an edition that is closed here is so at once, and what is typed stays', async (t) => {
  const { session, field, said } = open(t, { edition: editionOf('Saved', { status: [{ value: false }], field_key: [{ value: 'k' }] }) })
  await turn()
  field('field_key').type('typed')
  session.closing.open()
  await turn()
  t.notOk(session.closing.isDone)
  await session.closing.close()
  t.strictSame(
    [session.closing.isDone, session.notice, said.at(-1), field('status').text, field('field_key').text],
    [true, { tone: 'good', text: 'Published.' }, 'Published.', 'true', 'typed']
  )
})

t.test('what others do to a running order comes in, and is not undone', async (t) => {
  const start = editionOf('Saved', { field_articles: articles(1, 2, 3, 4) })
  const { session, service, said, pass } = open(t, { edition: start })
  await turn()
  const order = session.orders[0]!
  session.acts(order).move(['4'], 0)
  await turn()
  service.reads = [editionOf('Theirs', { field_articles: articles(1, 2, 3, 4, 5) })]
  service.listener!.saved!({ entityType: 'x', entityId: '5', etag: 'another', fields: [] })
  await pass(50)
  t.strictSame([numbers(order.items), session.title], [[1, 2, 3, 4, 5], 'Theirs'])
  session.undo()
  t.match(said.at(-1), /^Left alone, since it has been changed or taken: /)
  service.listener!.saved!({ entityType: 'x', entityId: '5', etag: '3', fields: [] })
  await pass(1000)
  t.equal(session.title, 'Theirs', 'a save of its own is no news')

  service.arrangements = [new QuoinError(409, 'ORDER_CONFLICT', 'It is gone')]
  service.reads = [editionOf('Theirs', { field_articles: articles(1, 3, 4, 5) })]
  session.acts(order).move(['2'], 0)
  t.strictSame(numbers(order.items), [2, 1, 3, 4, 5])
  await turn()
  t.strictSame(
    [numbers(order.items), session.notice?.text],
    [[1, 3, 4, 5], 'Running order: a colleague has removed that article, or the one beside it. The order is as it was.']
  )
  service.arrangements = [new QuoinError(403, 'CMS_FORBIDDEN', 'You may not')]
  session.acts(order).move(['5'], 0)
  await turn()
  t.equal(session.notice?.text, 'Running order was not changed: You may not')
})

t.test('what is done to a running order while the service is away is sent once it answers, and all at once', async (t) => {
  const { session, service, pass } = open(t, { edition: editionOf('Saved', { field_articles: articles(1, 2, 3) }) })
  await turn()
  const order = session.orders[0]!
  service.arrangements = [away(), away()]
  session.acts(order).move(['3'], 0)
  await turn()
  session.acts(order).move(['2'], 0)
  t.strictSame([numbers(order.items), order.isAway], [[2, 3, 1], true])
  const background = createBackground<typeof session>()
  background.add(session)
  t.strictSame(background.all(), [session], 'an edition that is left waits for it')
  await turn()
  await pass(5000)
  t.strictSame([service.arranged.map(({ length }) => length), order.isAway, order.isSaving], [[1, 2, 2], false, false])
  background.settle()
  t.strictSame(background.all(), [])
})

t.test('nothing is saved on top of a copy', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  field().type('Mine')
  await turn()
  service.writes = [moved()]
  service.age = 40
  await session.save()
  t.match([service.sent.length, session.notice, field().text], [1, { tone: 'bad' }, 'Mine'])
})

t.test('a text that is restored while the lock service is away is back, and said not to be locked', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  service.acquire = away()
  await session.restore({ fieldName: 'title', payload: 'Mine' })
  t.match([session.notice, field().text], [{ tone: 'bad', text: 'Your text is back in Title, which is not locked yet.' }, 'Mine'])
})

t.test('a text is at risk while it is typed and its lock has not been had, or does not answer', async (t) => {
  const { session, service, field, pass } = open(t)
  const risk = () => isAtRisk(session.fields)
  await turn()
  service.acquire = away()
  field().focus()
  await turn()
  t.notOk(risk(), 'nothing is typed')
  field().type('Mine')
  t.ok(risk(), 'there is no lock that it could be sent to when the page closes')
  await turn()
  t.ok(risk())
  service.acquire = undefined
  await pass(5000)
  t.notOk(risk())
  field().type('Mine too')
  t.notOk(risk(), 'it is sent when the page closes')
  field().type('ä'.repeat(30_000))
  t.ok(risk(), 'but not where that is too much for a page that closes')
  await pass(400)
  t.notOk(risk())
})

t.test('an edition that is left with a text that its lock does not have stays open until it has', async (t) => {
  const { session, service, field, released, pass } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  const background = createBackground()
  field('field_key').focus()
  await turn()
  background.add(session)
  t.strictSame([background.all(), released.length, service.watched], [[], 1, ['edition', 'no edition']], 'one with nothing is closed')

  const {
    session: typed,
    service: there,
    field: fieldOf,
    released: releasedThere,
    pass: wait
  } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  fieldOf('field_key').focus()
  await turn()
  there.acquire = away()
  fieldOf().type('Mine')
  await turn()
  background.add(typed)
  t.strictSame([background.all(), releasedThere.length], [[typed], 1], 'without the locks that it does not need')
  t.equal(background.take('5'), typed)
  t.strictSame([background.take('5'), fieldOf().text], [undefined, 'Mine'])
  background.add(typed)
  there.acquire = undefined
  await wait(5000)
  background.settle()
  t.strictSame([background.all(), there.saved, there.watched], [[], ['Mine'], ['edition', 'no edition']])
  await pass(0)
})

t.test('nothing is saved while a field is not complete', async (t) => {
  const { session, service, field } = open(t, { edition: editionOf('Saved', { field_page_count: [{ value: 32 }] }) })
  await turn()
  field().type('Mine')
  field('field_page_count').type('', false)
  await turn()
  await session.save()
  t.match(
    [service.sent, session.notice],
    [[], { tone: 'bad', text: 'Not saved: Page count is not complete. Finish or empty it, then save again.' }]
  )
  t.strictSame(session.notice!.linked!((name) => name)[1], ['field_page_count'], 'and leads there')
  field('field_page_count').type('33')
  await session.save()
  t.match(service.sent, [{ title: [{ value: 'Mine' }], field_page_count: [{ value: 33 }] }])
})

t.test('what the CMS refuses is said where it belongs, and what is no failure of the service is a defect', async (t) => {
  const { session, service, field } = open(t)
  await turn()
  field().type('')
  service.writes = [
    new QuoinError(422, 'UNPROCESSABLE', 'no', { body: { violations: [{ path: 'title.0.value', message: 'It is empty.' }] } })
  ]
  await session.save()
  t.strictSame([field().problems, session.notice?.tone, field().isDirty], [['It is empty.'], 'bad', true])
  service.waits = true
  service.writes = [
    new QuoinError(422, 'UNPROCESSABLE', 'no', { body: { violations: [{ path: 'title.0.value', message: 'It is empty.' }] } })
  ]
  const saving = session.save()
  field().type('Typed since')
  service.waiting.pop()!()
  await saving
  service.waits = false
  t.strictSame(field().problems, [], 'not of what was typed since')
  service.reads = [new TypeError('a defect')]
  await t.rejects(session.load(), TypeError)
})

t.test('a field that Drupal forbids is closed, and the rest is saved without it', async (t) => {
  const { session, service, field, released, pass } = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }) })
  await turn()
  field().type('Mine')
  field('field_key').type('mine')
  await turn()
  service.writes = [new QuoinError(403, 'CMS_FORBIDDEN', "Access denied on updating field 'field_key'. The key is for the publisher.")]
  await session.save()
  t.strictSame(
    [session.notice?.text, field('field_key').whyForbidden, field('field_key').text, field().isDirty],
    [
      'Not saved: Drupal does not let you change Key. Save again to save the rest without it.',
      'Drupal does not let you change this. The key is for the publisher.',
      'mine',
      true
    ]
  )
  service.sent = []
  service.writes = [editionOf('Mine', { field_key: [{ value: 'k' }] })]
  await session.save()
  t.strictSame(
    [service.sent, session.notice?.text, field().isDirty, field('field_key').isDirty],
    [[{ title: [{ value: 'Mine' }], ifMatch: '1' }], 'Saved.', false, true]
  )
  await session.save()
  t.equal(service.sent.length, 1, 'there is nothing else to save')
  field('field_key').focus()
  session.revert(field('field_key'))
  await pass(400)
  t.notOk(field('field_key').isDirty)
  t.equal(released.length, 2)
  service.writes = [new QuoinError(403, 'CMS_FORBIDDEN', 'You may not')]
  field().type('More')
  await session.save()
  t.equal(session.notice?.text, 'Not saved: You may not.')
})

t.test('a field that Drupal has forbidden once is marked in other editions too, until it can be saved', async (t) => {
  const store = storeOf()
  const forbiddenIn = (uid = 'anna') => createForbidden({ window: { localStorage: store }, uid })
  const first = open(t, { edition: editionOf('Saved', { field_key: [{ value: 'k' }] }), forbidden: forbiddenIn() })
  await turn()
  t.notOk(first.session.wasForbidden(first.field('field_key')))
  first.field('field_key').type('mine')
  first.service.writes = [new QuoinError(403, 'CMS_FORBIDDEN', "Access denied on updating field 'field_key'.")]
  await first.session.save()

  const other = open(t, { edition: editionOf('Other', { field_key: [{ value: 'k' }] }), forbidden: forbiddenIn() })
  await turn()
  t.strictSame(
    [other.session.fields.filter(other.session.wasForbidden).map(({ shape }) => shape.name), other.field('field_key').whyForbidden],
    [['field_key'], undefined],
    'it is marked and open'
  )
  other.field('field_key').type('mine')
  other.service.writes = [editionOf('Other', { field_key: [{ value: 'mine' }] })]
  await other.session.save()
  t.notOk(other.session.wasForbidden(other.field('field_key')))
  t.strictSame([forbiddenIn().has('x'), [...Array(store.length).keys()].map((nth) => store.getItem(store.key(nth)!))], [false, ['[]']])
})

t.test('a browser remembers so many forbidden fields of each user, and none where it forbids that', async (t) => {
  const store = storeOf()
  const forbidden = createForbidden({ window: { localStorage: store }, uid: 'anna' })
  for (let nth = 0; nth < 201; nth++) forbidden.note(`b/f${nth}`, true)
  t.strictSame([forbidden.has('b/f0'), forbidden.has('b/f1'), forbidden.has('b/f200')], [false, true, true])
  t.notOk(createForbidden({ window: { localStorage: store }, uid: 'ben' }).has('b/f1'))
  store.setItem('quoin-forbidden/anna', '{}')
  t.notOk(createForbidden({ window: { localStorage: store }, uid: 'anna' }).has('b/f1'), 'of what is none of its own')
  const closed = {
    get localStorage(): Storage {
      throw new DOMException('The operation is insecure', 'SecurityError')
    }
  }
  const alone = createForbidden({ window: closed, uid: 'anna' })
  alone.note('b/f1', true)
  t.ok(alone.has('b/f1'), 'in this window it is marked')
})

t.test('what is said of a field is said until it is so no more', async (t) => {
  const { session, service, field, board } = open(t)
  await turn()
  field().focus()
  await turn()
  await board(lockOf('ben'))
  t.equal(session.notice?.text, 'ben took over Title.')
  await board()
  field().focus()
  await turn()
  t.equal(session.notice, undefined, 'it is here again')
  field().type('')
  service.writes = [
    new QuoinError(422, 'UNPROCESSABLE', 'no', { body: { violations: [{ path: 'title.0.value', message: 'It is empty.' }] } })
  ]
  await session.save()
  t.match(session.notice?.text, 'Not saved')
  field().type('Saved')
  t.equal(session.notice, undefined, 'there is nothing to be saved')
})

t.test('the history knows the fields, hears of saves, and what it puts back comes in', async (t) => {
  const { session, service, said, field } = open(t, { edition: editionOf('Saved', { status: [{ value: false }] }) })
  await turn()
  await session.journal.open()
  const { shapeOf, labelOf, isOffered, present, onSave: saved, labels } = service.journal!
  const article = { target_id: 3, target_uuid: 'u3' }
  t.notOk(labels.knows(article))
  labels.learn(article, 'The bridge')
  t.strictSame([labels.knows(article), session.titleOf(article)], [true, 'The bridge'])
  t.equal(session.processedOf(field()), undefined, 'a line has no markup')
  t.strictSame([shapeOf('title')?.kind, shapeOf('none'), labelOf('title')], ['line', undefined, 'Title'])
  t.strictSame(['title', 'status', 'none'].map(isOffered), [true, false, false], 'what closing sets has checks of its own')
  const before = service.refreshes
  field().type('Typed')
  saved(editionOf('Put back'), '"9"', 'Title is put back.')
  t.strictSame([field().base, field().text, field().theirs], ['Put back', 'Typed', 'Put back'], 'what is typed stays')
  t.strictSame([present().etag, session.notice?.text, said.at(-1)], ['"9"', 'Title is put back.', 'Title is put back.'])
  t.equal(service.refreshes, before + 1)
  field().decide('mine')
  await session.save()
  t.equal(service.refreshes, before + 2)
})

t.test('a finding is told with the labels and titles that are known', async (t) => {
  const { session, service } = open(t, {
    edition: editionOf('Saved', {
      [model.fields.articles[0]!]: [
        { target_id: 7, target_uuid: 'u7' },
        { target_id: 8, target_uuid: 'u8' }
      ]
    })
  })
  service.labels = { u7: 'The bridge' }
  await turn()
  await turn()
  const unpublished = (entityId: string) => session.wordsOf({ code: 'ARTICLE_UNPUBLISHED', message: 'x', entityType: 'node', entityId })
  t.strictSame([unpublished('7'), unpublished('8')], ['The bridge is not published', 'No. 8 is not published'])
  const finding = { code: 'LOCKED', message: 'It is locked', entityType: model.entityType, entityId: '5', fieldName: 'title' } as const
  t.equal(session.wordsOf(finding), 'It is locked', 'by the service, where it is not told whose it is')
  t.equal(session.wordsOf({ ...finding, entityType: 'node', entityId: '7' }), 'It is locked')
  const { fieldName: _, ...ofAll } = finding
  t.equal(session.wordsOf(ofAll), 'It is locked')
  const { session: bare } = open(t)
  await turn()
  t.equal(bare.wordsOf({ ...finding, entityType: 'node', entityId: '7' }), 'It is locked')
})

t.test('the holder is told who asks, and may hand the field over with his text kept', async (t) => {
  const { session, service, said, notices, board, field } = open(t)
  await turn()
  await board()
  const petition = { entityType: model.entityType, entityId: '5', fieldName: 'title', userData: { uid: 'ben', name: 'Ben' }, until: 60 }
  service.listener!.requested!(petition)
  t.strictSame(said, [], 'who does not hold it is not asked')
  service.listener!.requested!({ ...petition, until: 0 })
  field().focus()
  await turn()
  field().type('Typed')
  await turn()
  service.listener!.requested!(petition)
  t.strictSame([said, notices], [['Ben asks for Title.'], [['Saved', 'Ben asks for Title.', 'title']]])
  await session.handOver(field(), session.petitions.of('title')[0]!)
  t.strictSame(
    [field().isHeld, session.drafts[0]?.payload, session.notice?.text],
    [false, 'Typed', 'Ben can have Title now. What you had typed is under Kept drafts.']
  )
  await session.handOver(field(), session.petitions.of('title')[0]!)
  t.equal(session.notice?.text, 'Ben can have Title now.')
})

t.test('an editor who is seen to look on is told of, and hears of the others, until the page goes', async (t) => {
  const { session, service, said, board } = open(t)
  session.presence.see(true)
  await turn()
  t.strictSame(service.presence, ['attend'])
  const looker = { entityType: model.entityType, entityId: '5', userData: { uid: 'ben', name: 'Ben' }, until: 90 }
  const names = () => session.presence.besides(session.board).map(({ name }) => name)
  service.listener!.locks([], false, true)
  service.listener!.present!(looker)
  t.strictSame(names(), ['Ben'])
  await board(lockOf('ben'))
  t.strictSame(names(), [], 'who edits does not look on')
  await board()
  t.strictSame(names(), ['Ben'])
  service.listener!.locks([], false, true)
  t.strictSame(names(), [], 'all are told anew')
  t.strictSame(
    said.filter((words) => !/edit|let go/.test(words)),
    [],
    'nobody is told of it by voice'
  )
  session.keep()
  t.strictSame(service.presence, ['attend', 'leave'])
  await session.close()
  t.strictSame(service.presence, ['attend', 'leave'])
})

t.test('what one asks for is withdrawn when the page goes, and a refusal is told', async (t) => {
  const { session, service, said, board } = open(t)
  await turn()
  await board(lockOf('ben'))
  session.petitions.ask('title')
  await turn()
  session.keep()
  t.strictSame(service.asked, ['ask', 'withdraw'])
  service.unasked = new QuoinError(429, 'TOO_MANY_REQUESTS', 'Five ask already')
  session.petitions.ask('title')
  await turn()
  t.match([session.notice, said.at(-1)], [{ tone: 'bad', text: /^Title is not asked for: / }, /^Title is not asked for: /])
})
