import { hash } from 'node:crypto'
import { agentOf } from '../agents.ts'
import { REMOVE_AT } from '../table/definition.ts'
import { all, expressionOf, namesOf, rule, valuesIn } from '../table/expression.ts'
import {
  keyOf,
  storedAgain,
  type Item,
  type Key,
  type StoredItem,
  type StoredValue
} from '../table/item.ts'
import { isOfUser, uidValues } from './record.ts'
import type { Proposal, ProposalRequest, ProposalsQuery } from './schemas.ts'

/**
 * How many bytes of the largest item a proposal leaves free for what its settlement adds: a uid and
 * a name of 255 characters each, and what is around them.
 */
export const SETTLEMENT_MARGIN = 2400

/** The longest name of a user that is shown, in characters. A lock may have a longer one. */
const LONGEST_NAME = 255

/** Who settles a proposal; nobody is known where a request names nobody. */
export type Settler = { uid: string; name?: string | undefined } | undefined

/** What became of a proposal. */
export type Settled = Omit<NonNullable<Proposal['settled']>, 'by'> & { by?: NonNullable<Settler> }

/**
 * The partition key of an entity's proposals. No entity has it: `#` is in no type, no id and no
 * environment.
 */
function proposalsKey(recordKey: string): string {
  return `${recordKey}#proposals`
}

/** How the ids of all proposals for a field begin: with half of the hash of its name. */
function idsOf(fieldName: string): string {
  return hash('sha256', fieldName, 'base64url').slice(0, 22)
}

/** The id of a proposal, which is its sort key too. @param unique made as a version is */
export function proposalId(fieldName: string, unique: string): string {
  return `${idsOf(fieldName)}${unique}`
}

/** What two requests of one author for one field have in common that say the same. */
export function digestOf({
  payload,
  base,
  reason
}: Pick<Proposal, 'payload' | 'base' | 'reason'>): string {
  return hash('sha256', JSON.stringify([payload, base, reason]), 'base64url').slice(0, 22)
}

export function proposalKey(recordKey: string, id: string): Key {
  return { env_entityType_entityId: proposalsKey(recordKey), fieldName: id }
}

/**
 * Who has left a proposal: of an agent, and of nobody else, it says so.
 * @throws {Failure} BAD_REQUEST for a uid that begins as an agent's and is none
 */
export function proposerOf({ uid, name }: ProposalRequest['userData']): Proposal['userData'] {
  const agent = agentOf(String(uid))
  return {
    uid: String(uid),
    ...(name !== undefined && [...name].length <= LONGEST_NAME && { name }),
    ...(agent && { agent: agent.name, principal: agent.principal })
  }
}

/** The item that keeps a proposal. */
export function proposalItem(
  key: Key,
  version: string,
  { id: _id, fieldName, userData, until, ...members }: Omit<Proposal, 'settled'>
): StoredItem & { version: string } {
  return {
    ...key,
    version,
    field: fieldName,
    userData: mapOf(userData),
    ...storedAgain(members),
    [REMOVE_AT]: until
  }
}

/** The item of a proposal once it is settled. The text stays for its author, unless it was taken. */
export function settledItem(
  record: Item,
  version: string,
  { outcome, at, by }: Settled
): StoredItem & { version: string } {
  const { payload: _payload, ...members } = record
  return {
    ...storedAgain(outcome === 'taken' ? members : record),
    ...keyOf(record),
    version,
    settled: new Map<string, StoredValue>([
      ['outcome', outcome],
      ['at', at],
      ...(by ? [['by', mapOf(by)] as const] : [])
    ])
  }
}

/** What became of a proposal; undefined while nobody has settled it. */
export function settlementOf(record: Item): Settled | undefined {
  return record['settled'] as Settled | undefined
}

/** A proposal as it is shown. */
export function shownProposal({
  env_entityType_entityId: _key,
  fieldName: id,
  version: _version,
  field,
  [REMOVE_AT]: until,
  ...members
}: Item): Proposal {
  return { id, fieldName: field, ...members, until } as unknown as Proposal
}

/** A consistent query for the settled proposals of an entity: all, those of a field, or of a user. */
export function settledOf(
  recordKey: string,
  { fieldName, uid }: ProposalsQuery,
  now: number,
  payloads = true
) {
  const keys =
    fieldName === undefined ? '#key = :key' : '#key = :key AND begins_with(#fieldName, :field)'
  const isShown = all(rule('#removeAt > :now'), rule('attribute_exists(#settled)'))
  const filter = expressionOf(uid === undefined ? isShown : all(isShown, isOfUser))
  const projection = payloads ? '' : '#key, #fieldName, #settled'
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filter.text,
    ...(projection && { ProjectionExpression: projection }),
    ExpressionAttributeNames: namesOf(keys, filter.text, projection),
    ExpressionAttributeValues: {
      ...valuesIn(filter, { ':now': now, ...uidValues(uid) }),
      ':key': proposalsKey(recordKey),
      ...(fieldName !== undefined && { ':field': idsOf(fieldName) })
    }
  }
}

function mapOf(members: Record<string, string | undefined>): Map<string, StoredValue> {
  return new Map(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
}
