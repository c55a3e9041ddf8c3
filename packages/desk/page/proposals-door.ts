import type { ProposalView } from '../../client/src/client.ts'
import type { Field } from './field.ts'
import type { ProposalsDeps } from './proposals.ts'

/** The proposals for the fields of an edition, with what a field shows of them. */
export interface ProposalsPanel {
  /** Takes in what a stream tells of a proposal. */
  hear: (proposal: ProposalView) => void
  /** Begins to write a proposal for a field. */
  begin: (field: Field) => void
  end: () => void
  view: (field: Field) => unknown
}

/** Loads the script of proposals. */
export type LoadProposals = () => Promise<{
  createProposalsPanel: (deps: ProposalsDeps) => ProposalsPanel
}>

export interface DoorOfProposalsDeps extends ProposalsDeps {
  load: LoadProposals
  /** Told that the script cannot be had: the service is away, or of another release. */
  onMissing: () => void
}

export type ProposalsDoor = ReturnType<typeof createProposalsDoor>

/** The proposals of an edition, whose script comes with the first of them. */
export function createProposalsDoor({ load, onMissing, ...deps }: DoorOfProposalsDeps) {
  let panel: ProposalsPanel | undefined
  let opening: Promise<ProposalsPanel | undefined> | undefined

  async function open(): Promise<ProposalsPanel | undefined> {
    if (panel) return panel
    opening ??= load()
      .then((module) => (panel = module.createProposalsPanel(deps)))
      .catch(() => undefined)
      .finally(() => {
        opening = undefined
      })
    return opening
  }

  return {
    async hear(proposal: ProposalView): Promise<void> {
      const { type, id } = deps.entity()
      if (proposal.entityType !== type || proposal.entityId !== id) return
      if (proposal.until > 0 || panel) (await open())?.hear(proposal)
    },

    async begin(field: Field): Promise<void> {
      const opened = await open()
      if (opened) opened.begin(field)
      else onMissing()
    },

    view: (field: Field): unknown => panel?.view(field),
    end: (): void => panel?.end()
  }
}
