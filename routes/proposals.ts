import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { ownOnly, ownSettler, ownUserData } from '../lib/auth/own.ts'
import {
  Entity,
  OwnProposalRequest,
  Proposal,
  ProposalList,
  ProposalParams,
  ProposalRequest,
  ProposalsListed,
  ProposalsQuery,
  Proposed,
  SettleQuery
} from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import type { Handler } from './handler.ts'
import { doneAnswer, lockAnswers } from './lock-answers.ts'
import { askingFor } from './own-or-all.ts'

const {
  wrong,
  otherMethod,
  missingProposal,
  settledProposal,
  largeProposal,
  largeBody,
  largeList,
  otherType,
  notYourProposal,
  withoutBase,
  fullOfProposals,
  broken,
  unavailable
} = lockAnswers

/** Proposals: texts that users leave for fields that they do not hold. */
export default async function proposals(fastify: FastifyInstance) {
  for (const schema of [Proposal, ProposalList, ProposalsListed, Proposed]) {
    fastify.addSchema(schema)
  }

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/api/cloud/data-state/:type/:id/proposals', { schema: proposeSchema(fastify) }, propose)
    .get('/api/cloud/data-state/:type/:id/proposals', { schema: listSchema }, list)
    .delete('/api/cloud/data-state/:type/:id/proposals/:proposal', { schema: settleSchema }, settle)
}

const proposeSchema = ({ authenticates }: FastifyInstance) => ({
  operationId: 'proposeText',
  tags: ['locks'],
  summary: 'Propose a text for a field that you do not hold',
  description:
    'Nothing is locked, and nothing is taken from whoever holds the field. Whoever watches the entity gets the event `proposed`, without the text. It is open until somebody takes or discards it, or you withdraw it, for DRAFT_DAYS at most. At most 5 proposals for one field are open at once, and 20 for all fields of one entity.',
  params: Entity,
  body: Type.Unsafe<OwnProposalRequest>(authenticates ? OwnProposalRequest : ProposalRequest),
  response: {
    201: ref(Proposed, { description: 'The proposal' }),
    400: wrong,
    405: otherMethod,
    413: largeProposal,
    415: otherType,
    428: withoutBase,
    429: fullOfProposals,
    500: broken,
    503: unavailable
  }
})

const propose: Handler<ReturnType<typeof proposeSchema>> = async function (request, reply) {
  const { params, body, identity: user } = request
  const proposal = { ...body, userData: ownUserData(user, body.userData) }
  await request.demandLock('edit', params)
  const data = await this.locks.proposals.propose(params, proposal)
  reply.code(201)
  return { success: true, data }
}

const listSchema = {
  operationId: 'listProposals',
  tags: ['locks'],
  summary: 'List the open proposals for an entity, or what became of yours',
  description:
    'Open proposals are shown to everybody who may edit the entity. With `settled=1` the answer has those that were taken, discarded or withdrawn, each for DRAFT_DAYS after it was left: your own, those of others to administrators alone.',
  params: Entity,
  querystring: ProposalsQuery,
  response: {
    200: ref(ProposalsListed, { description: 'The proposals found; empty when there are none' }),
    400: wrong,
    405: otherMethod,
    413: largeList,
    500: broken,
    503: unavailable
  }
}

const list: Handler<typeof listSchema> = async function (request) {
  const { params, query } = request
  if (!query.settled) {
    await request.demand('edit', params)
    return { success: true, data: await this.locks.proposals.list(params, query) }
  }
  const caller = await askingFor('edit', request, params, query.uid)
  return { success: true, data: await this.locks.proposals.list(params, ownOnly(caller, query)) }
}

const settleSchema = {
  operationId: 'settleProposal',
  tags: ['locks'],
  summary: 'Take, discard or withdraw a proposal',
  description:
    'Its author withdraws it. Others who may edit the entity discard it, or with `taken=1` say that they have taken its text, which you then save as any other. An agent withdraws its own, and settles no others.',
  params: ProposalParams,
  querystring: SettleQuery,
  response: {
    200: doneAnswer('Settled'),
    400: wrong,
    403: notYourProposal,
    404: missingProposal,
    405: otherMethod,
    409: settledProposal,
    413: largeBody,
    415: otherType,
    500: broken,
    503: unavailable
  }
}

const settle: Handler<typeof settleSchema> = async function (request) {
  const {
    params: { proposal, ...entity },
    query: { taken, uid, name },
    identity: user
  } = request
  const by = ownSettler(user, { uid, name })
  await request.demand('edit', entity)
  await this.locks.proposals.settle(entity, proposal, { by, isTaken: taken === 1 })
  return { success: true }
}
