import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { QuoinError, type Proposal, type ProposalView } from '../../client/src/client.ts'
import type { Field } from '../page/field.ts'
import { createProposalsDoor, type ProposalsPanel } from '../page/proposals-door.ts'
import { createProposals, type ProposalsDeps } from '../page/proposals.ts'

mock.timers.enable({ apis: ['setTimeout'] })
t.teardown(() => mock.timers.reset())

const ENTITY = { type: 'node', id: '1' }
const PLANNER = { uid: 'agent:planner:7', name: 'planner (Anna)', agent: 'planner', principal: '7' }
const field = { shape: { kind: 'line', name: 'title', label: 'Title' }, text: 'Harbour' } as unknown as Field

const proposalOf = (id: string, more: Partial<Proposal> = {}): Proposal => ({
  id,
  fieldName: 'title',
  userData: PLANNER,
  payload: 'Harbour bridge',
  createdAt: 1,
  until: 100,
  ...more
})
const viewOf = (id: string, more: Partial<ProposalView> = {}): ProposalView => ({
  entityType: 'node',
  entityId: '1',
  fieldName: 'title',
  id,
  userData: PLANNER,
  until: 100,
  ...more
})

/** What Ben sees, and a service that has proposals, and refuses with the errors that it is given. */
function open() {
  const service = { open: [] as Proposal[], settled: [] as Proposal[], sent: [] as unknown[], errors: [] as Error[] }
  const [said, restored, kept]: [string[], string[], string[]] = [[], [], []]
  const state = { etag: '"a"' as string | undefined }
  const call =
    (name: string) =>
    async (...args: unknown[]) => {
      service.sent.push([name, ...args])
      const error = service.errors.shift()
      if (error) throw error
    }
  const deps = {
    locks: {
      async proposals(_entity: object, { settled = false } = {}) {
        await call('proposals')()
        return [...(settled ? service.settled : service.open)]
      },
      async propose({ fieldName }: { fieldName: string }, payload: string, options: object) {
        await call('propose')(fieldName, payload, options)
        return proposalOf('own', { payload, userData: { uid: 'ben' } })
      },
      takeProposal: call('take'),
      discardProposal: call('discard'),
      withdrawProposal: call('withdraw')
    },
    entity: () => ENTITY,
    uid: 'ben',
    etag: () => state.etag,
    labelOf: () => 'Title',
    drafts: {
      add: ({ payload }: { payload: string }) => {
        kept.push(`+${payload}`)
      },
      forget: ({ payload }: { payload: string }) => {
        kept.push(`-${payload}`)
      }
    },
    restoration: {
      choiceOf: () => ({}),
      async restore(_field: Field, payload: string, words: string) {
        restored.push(`${payload}: ${words}`)
      }
    },
    onChange: () => {},
    announce: (words: string) => {
      said.push(words)
    }
  } as unknown as ProposalsDeps
  const proposals = createProposals(deps)
  const names = () => service.sent.splice(0).map((one) => (one as string[])[0])
  return { deps, proposals, state, service, said, restored, kept, names }
}

t.test('a proposal that is told is read with its text once, and announced', async (t) => {
  const { proposals, service, said, names } = open()
  service.open = [proposalOf('a'), proposalOf('b')]
  for (const id of ['a', 'b']) proposals.hear(viewOf(id))
  await turn()
  t.equal(service.sent.length, 1)
  mock.timers.tick(500)
  await turn()
  t.equal(service.sent.length, 2, 'and once more for all that were told meanwhile')
  t.strictSame(
    proposals.of('title').map(({ id }) => id),
    ['a', 'b']
  )
  t.strictSame(proposals.of('body'), [])
  t.strictSame(said, Array(2).fill('Agent planner (Anna) proposes a text for Title'))
  names()
  proposals.hear(viewOf('a'))
  await turn()
  t.strictSame(names(), [], 'what is known is not read again')
  proposals.hear(viewOf('a', { until: 0 }))
  t.strictSame(
    proposals.of('title').map(({ id }) => id),
    ['b']
  )
})

t.test('taking puts the text into the field and settles the proposal; discarding settles it', async (t) => {
  const { proposals, service, restored, names } = open()
  service.open = [proposalOf('a'), proposalOf('b')]
  proposals.hear(viewOf('a'))
  await turn()
  names()
  await proposals.take(field, proposals.of('title')[0]!)
  t.strictSame(restored, ['Harbour bridge: Title as it is proposed'])
  t.match(service.sent.splice(0), [['take', ENTITY, 'a']])
  await proposals.discard(proposals.of('title')[0]!)
  t.match(service.sent.splice(0), [['discard', ENTITY, 'b']])
  t.strictSame(proposals.of('title'), [])
})

t.test('a proposal that could not be settled is shown again, and why; one that somebody else has settled is not', async (t) => {
  const { proposals, service, said } = open()
  service.open = [proposalOf('a')]
  proposals.hear(viewOf('a'))
  await turn()
  service.errors.push(new QuoinError(403, 'FORBIDDEN', 'You may not'))
  await proposals.discard(proposals.of('title')[0]!)
  await turn()
  t.equal(proposals.of('title').length, 1)
  t.equal(proposals.wordsAt('title'), 'The proposal is still open: You may not')
  t.equal(said.at(-1), proposals.wordsAt('title'))
  service.errors.push(new QuoinError(409, 'CONFLICT', 'It is taken'))
  await proposals.discard(proposals.of('title')[0]!)
  t.strictSame(proposals.of('title'), [])
  t.equal(proposals.wordsAt('title'), undefined)
})

t.test('its author sees what became of a proposal', async (t) => {
  const { proposals, service, said } = open()
  const own = { userData: { uid: 'ben' } }
  for (const [outcome, by, words] of [
    ['taken', { uid: 'anna', name: 'Anna' }, 'Anna has taken your proposal for Title.'],
    ['discarded', undefined, 'Somebody has discarded your proposal for Title.']
  ] as const) {
    service.open = [proposalOf(outcome, own)]
    proposals.hear(viewOf(outcome, own))
    await turn()
    t.strictSame(said, [], 'one does not hear of what one has proposed')
    service.settled = [proposalOf(outcome, { ...own, settled: { outcome, at: 2, ...(by && { by }) } })]
    proposals.hear(viewOf(outcome, { ...own, until: 0 }))
    await turn()
    t.strictSame(said.splice(0), [words])
  }
  service.open = [proposalOf('x', own)]
  proposals.hear(viewOf('x', own))
  await turn()
  await proposals.withdraw(proposals.of('title')[0]!)
  service.settled = [proposalOf('x', { ...own, settled: { outcome: 'withdrawn', at: 3 } })]
  proposals.hear(viewOf('x', { ...own, until: 0 }))
  await turn()
  t.strictSame(said, [])
})

t.test('its author is told nothing of what was withdrawn in another window, or is not known', async (t) => {
  const { proposals, service, said } = open()
  const own = { userData: { uid: 'ben' } }
  for (const settled of [[], [proposalOf('y', { ...own, settled: { outcome: 'withdrawn' as const, at: 3 } })]]) {
    service.open = [proposalOf('y', own)]
    proposals.hear(viewOf('y', own))
    await turn()
    service.settled = settled
    proposals.hear(viewOf('y', { ...own, until: 0 }))
    await turn()
    t.strictSame([said, proposals.of('title')], [[], []])
  }
})

t.test('what is typed for a proposal is kept until it is sent', async (t) => {
  const { proposals, state, service, said, kept } = open()
  proposals.begin(field)
  t.match(proposals.writing, { fieldName: 'title', text: 'Harbour' })
  proposals.type('Harbour b')
  proposals.type('Harbour bridge')
  t.strictSame(kept.splice(0), ['+Harbour b', '-Harbour b', '+Harbour bridge'])
  service.errors.push(new QuoinError(429, 'TOO_MANY_REQUESTS', 'There are five'))
  await proposals.send('')
  t.match(proposals.writing, { text: 'Harbour bridge', isSent: false })
  t.match(said.pop(), /^Not proposed: .*There are five/)
  t.strictSame(kept, [])
  await proposals.send('Shorter')
  t.equal(proposals.writing, undefined)
  t.strictSame(kept, ['-Harbour bridge'])
  t.match(service.sent, [
    ['propose', 'title', 'Harbour bridge', { base: '"a"' }],
    ['propose', 'title', 'Harbour bridge', { base: '"a"', reason: 'Shorter' }]
  ])
  t.ok(proposals.isOwn(proposals.of('title')[0]!))
  proposals.begin(field)
  proposals.giveUp()
  t.equal(proposals.writing, undefined)
  state.etag = undefined
  proposals.begin(field)
  await proposals.send('')
  t.strictSame(service.sent.at(-1), ['propose', 'title', 'Harbour', {}], 'without a state there is no base')
})

t.test('once the page is gone nothing is read any more', async (t) => {
  const { proposals, service } = open()
  proposals.end()
  proposals.hear(viewOf('a'))
  await turn()
  t.strictSame(service.sent, [])
})

t.test('the script of proposals comes with the first that is open, and only with one of this entity', async (t) => {
  const { deps } = open()
  const heard: string[] = []
  let [loads, missing, isAway] = [0, 0, true]
  const door = createProposalsDoor({
    ...deps,
    load: async () => {
      loads++
      if (isAway) throw new Error('The service is away')
      return {
        createProposalsPanel: (): ProposalsPanel => ({
          hear: ({ id }) => {
            heard.push(id)
          },
          begin: () => {
            heard.push('begin')
          },
          end: () => {
            heard.push('end')
          },
          view: () => 'shown'
        })
      }
    },
    onMissing: () => {
      missing++
    }
  })
  door.end()
  t.equal(door.view(field), undefined)
  await door.hear(viewOf('other', { entityId: '2' }))
  await door.hear(viewOf('ended', { until: 0 }))
  t.equal(loads, 0)
  await door.hear(viewOf('a'))
  await door.begin(field)
  t.strictSame([loads, missing, heard], [2, 1, []])
  isAway = false
  await Promise.all([door.hear(viewOf('b')), door.hear(viewOf('c'))])
  await door.begin(field)
  await door.hear(viewOf('b', { until: 0 }))
  door.end()
  t.equal(loads, 3)
  t.strictSame(heard, ['b', 'c', 'begin', 'b', 'end'])
  t.equal(door.view(field), 'shown')
})
