import type { Client, Proposal, ProposalView } from '../../client/src/client.ts'
import type { createDrafts } from './drafts.ts'
import { failureOf, persist } from './failures.ts'
import type { Field } from './field.ts'
import { reasonOf } from './reasons.ts'
import type { createRestoration } from './restoration.ts'
import { sayHere } from './texts-proposals.ts'
import { nameOf } from './words.ts'

export interface ProposalsDeps {
  locks: Pick<
    Client['locks'],
    'proposals' | 'propose' | 'takeProposal' | 'discardProposal' | 'withdrawProposal'
  >
  entity: () => { type: string; id: string }
  /** The uid of who sits here. */
  uid: string
  /** The state of the edition that is shown here. */
  etag: () => string | undefined
  labelOf: (fieldName: string) => string
  drafts: Pick<ReturnType<typeof createDrafts>, 'add' | 'forget'>
  restoration: Pick<ReturnType<typeof createRestoration>, 'choiceOf' | 'restore'>
  onChange: () => void
  announce: (words: string) => void
}

/** How soon after a read another one may follow, in milliseconds. */
const AGAIN_MS = 500

/** A proposal that is written here. */
export interface Writing {
  fieldName: string
  text: string
  /** Whether something was typed, which is kept. */
  isTyped: boolean
  isSent: boolean
}

export type Proposals = ReturnType<typeof createProposals>

/** The open proposals for the fields of an edition, and what becomes of the user's own. */
export function createProposals({
  locks,
  entity,
  uid,
  etag,
  labelOf,
  drafts,
  restoration,
  onChange,
  announce
}: ProposalsDeps) {
  let all: Proposal[] = []
  let writing: Writing | undefined
  /** What is to be said at a field: what became of a proposal, or why it was not taken or sent. */
  const words = new Map<string, string>()
  let isClosed = false
  let isLoading = false
  let isOutdated = false

  /** Reads the proposals with their texts, once for all that are told meanwhile. */
  async function load(): Promise<void> {
    isOutdated = true
    if (isLoading || isClosed) return
    isLoading = true
    isOutdated = false
    try {
      all = await locks.proposals(entity())
    } finally {
      isLoading = false
      onChange()
    }
    if (isOutdated) setTimeout(() => persist(load, () => isClosed), AGAIN_MS)
  }

  function tell(fieldName: string, text: string): void {
    words.set(fieldName, text)
    announce(text)
    onChange()
  }

  /** Says what became of a proposal of the user's own. */
  async function tellOutcome({ fieldName, id }: ProposalView): Promise<void> {
    const settled = await locks.proposals({ ...entity(), fieldName }, { settled: true })
    const { outcome, by } = settled.find((one) => one.id === id)?.settled ?? {}
    if (outcome === undefined || outcome === 'withdrawn') return
    const name = by ? nameOf(by) : sayHere('somebody')
    tell(
      fieldName,
      sayHere(outcome === 'taken' ? 'wasTaken' : 'wasDiscarded', {
        name,
        label: labelOf(fieldName)
      })
    )
  }

  /** Settles a proposal. One that somebody else has settled is open no longer either way. */
  async function settle({ id, fieldName }: Proposal, act: 'take' | 'discard' | 'withdraw') {
    words.delete(fieldName)
    all = all.filter((one) => one.id !== id)
    onChange()
    try {
      await locks[`${act}Proposal`](entity(), id)
    } catch (error) {
      const failure = failureOf(error)
      if (failure.status === 404 || failure.status === 409) return
      tell(fieldName, sayHere('notSettled', { reason: reasonOf(failure) }))
      persist(load, () => isClosed)
    }
  }

  return {
    of: (fieldName: string): Proposal[] => all.filter((one) => one.fieldName === fieldName),
    isOwn: ({ userData }: Proposal): boolean => userData.uid === uid,
    wordsAt: (fieldName: string): string | undefined => words.get(fieldName),
    choiceOf: restoration.choiceOf,

    hear(proposal: ProposalView): void {
      const { id, fieldName, userData, until } = proposal
      const isKnown = all.some((one) => one.id === id)
      if (until === 0) {
        all = all.filter((one) => one.id !== id)
        if (isKnown && userData.uid === uid) {
          persist(
            () => tellOutcome(proposal),
            () => isClosed
          )
        }
        return onChange()
      }
      if (isKnown) return
      if (userData.uid !== uid) {
        announce(sayHere('hasProposed', { name: nameOf(userData), label: labelOf(fieldName) }))
      }
      persist(load, () => isClosed)
    },

    /** Puts what is chosen of a proposal into its field, as a step that can be taken back. */
    async take(field: Field, proposal: Proposal): Promise<void> {
      const label = field.shape.label
      await restoration.restore(field, proposal.payload!, sayHere('asProposed', { label }))
      await settle(proposal, 'take')
    },
    discard: (proposal: Proposal) => settle(proposal, 'discard'),
    withdraw: (proposal: Proposal) => settle(proposal, 'withdraw'),

    get writing() {
      return writing
    },
    begin({ shape: { name }, text }: Field): void {
      words.delete(name)
      writing = { fieldName: name, text, isTyped: false, isSent: false }
      onChange()
    },
    /** What is typed is kept like any text that is in no lock. */
    type(text: string): void {
      const { fieldName, text: before, isTyped } = writing!
      if (isTyped) drafts.forget({ fieldName, payload: before })
      drafts.add({ fieldName, payload: text })
      writing = { ...writing!, text, isTyped: true }
    },
    giveUp(): void {
      writing = undefined
      onChange()
    },
    async send(reason: string): Promise<void> {
      const { fieldName, text } = writing!
      writing = { ...writing!, isSent: true }
      onChange()
      const base = etag()
      try {
        const proposal = await locks.propose({ ...entity(), fieldName }, text, {
          ...(base !== undefined && { base }),
          ...(reason !== '' && { reason })
        })
        all = [proposal, ...all.filter(({ id }) => id !== proposal.id)]
        drafts.forget({ fieldName, payload: text })
        writing = undefined
        tell(fieldName, sayHere('isProposed', { label: labelOf(fieldName) }))
      } catch (error) {
        writing = { ...writing!, isSent: false }
        tell(fieldName, sayHere('notProposed', { reason: reasonOf(failureOf(error)) }))
      }
    },

    end(): void {
      isClosed = true
    }
  }
}
