import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Failure } from '../errors.ts'
import type { Item, Key } from '../table/item.ts'
import type { Moment } from './record.ts'

/**
 * What a user shows the others, as the table keeps it. It ends by itself, at a Unix time in
 * seconds.
 */
export const StoredSign = Type.Object({
  uid: Type.String(),
  name: Type.Optional(Type.String()),
  until: Type.Integer()
})
export type StoredSign = Static<typeof StoredSign>

/** A petition as the table keeps it. */
export const StoredPetition = Type.Object({ ...StoredSign.properties, fieldName: Type.String() })
export type StoredPetition = Static<typeof StoredPetition>

/** What tells of an open proposal, as the table keeps it. The text is elsewhere. */
export const StoredProposal = Type.Object({
  ...StoredSign.properties,
  id: Type.String(),
  fieldName: Type.String(),
  agent: Type.Optional(Type.String()),
  principal: Type.Optional(Type.String()),
  /** Of text, base and reason: who sends them again leaves no second proposal. */
  digest: Type.Optional(Type.String())
})
export type StoredProposal = Static<typeof StoredProposal>

/**
 * Signs of one kind: the member of a record that has them, and whether a value there is one of
 * them.
 */
export interface SignKind<Sign extends StoredSign> {
  member: 'petitions' | 'lookers' | 'proposals'
  isSign(value: unknown): value is Sign
  /** What to say where too many users change the signs of one entity at once. */
  busy: string
}

export const PETITIONS: SignKind<StoredPetition> = {
  member: 'petitions',
  isSign: (value) => Value.Check(StoredPetition, value),
  busy: 'Too many users ask for fields of this entity at once; try again'
}

export const LOOKERS: SignKind<StoredSign> = {
  member: 'lookers',
  isSign: (value) => Value.Check(StoredSign, value),
  busy: 'Too many users open this entity at once; try again'
}

export const PROPOSALS: SignKind<StoredProposal> = {
  member: 'proposals',
  isSign: (value) => Value.Check(StoredProposal, value),
  busy: 'Too many users leave or settle proposals for this entity at once; try again'
}

/**
 * The sort keys of the records that have an entity's signs. No field has them: a field's name has
 * 255 characters at most. They stand among the entity's locks, so that the one Query by which a
 * feed reads these finds them too.
 */
const SORT_KEYS: Record<SignKind<StoredSign>['member'], string> = {
  petitions: 'petitions'.padStart(256, '#'),
  lookers: 'lookers'.padStart(256, '#'),
  proposals: 'proposals'.padStart(256, '#')
}
const ALL_SORT_KEYS = new Set(Object.values(SORT_KEYS))

/** The key of the record that has the signs of one kind. @param name its partition key */
export function signsKey({ member }: SignKind<StoredSign>, name: string): Key {
  return { env_entityType_entityId: name, fieldName: SORT_KEYS[member] }
}

/** Makes the next signs of those that stand. It may be called again, with what stands then. */
export type SignEdit<Sign> = (present: Sign[]) => Sign[]

/** Changes of one entity that are written together: what each throws, in their order. */
export interface SignBatch<Sign> {
  edits: Array<SignEdit<Sign>>
  refusals: Promise<unknown[]>
}

/**
 * The changes of the signs of one kind that this instance has to write, by the record's partition
 * key.
 */
export interface SignQueue<Sign extends StoredSign> {
  kind: SignKind<Sign>
  /** The batch that is not begun yet. */
  waiting: Map<string, SignBatch<Sign>>
  /** The end of the last batch. */
  ends: Map<string, Promise<unknown>>
}

export function newSignQueue<Sign extends StoredSign>(kind: SignKind<Sign>): SignQueue<Sign> {
  return { kind, waiting: new Map(), ends: new Map() }
}

/**
 * Refuses a sign beyond the most that there may be.
 * @throws {Failure} TOO_MANY_REQUESTS, until the first of them ends
 */
export function refuseBeyond(
  signs: StoredSign[],
  most: number,
  what: string,
  { now }: Moment
): void {
  if (signs.length < most) return
  const seconds = Math.min(...signs.map(({ until }) => until)) - now
  throw new Failure(
    'TOO_MANY_REQUESTS',
    `${most} users already ${what}, the most allowed; try again in ${seconds} s`,
    { headers: { 'retry-after': String(seconds) } }
  )
}

/** Whether a record has signs of an entity. */
export function hasSigns({ fieldName }: { fieldName: string }): boolean {
  return ALL_SORT_KEYS.has(fieldName)
}

/** The signs of one kind that stand. @param records those of the entity's signs */
export function signsIn<Sign extends StoredSign>(
  records: Item[],
  kind: SignKind<Sign>,
  moment: Moment
): Sign[] {
  return standingSigns(
    records.find(({ fieldName }) => fieldName === SORT_KEYS[kind.member]),
    kind,
    moment
  )
}

/**
 * The signs of a record that stand. Leaves out what has another form: another program wrote it, or
 * a later release.
 */
export function standingSigns<Sign extends StoredSign>(
  record: Item | undefined,
  { member, isSign }: SignKind<Sign>,
  { now }: Moment
): Sign[] {
  const signs = record?.[member]
  return Array.isArray(signs) ? signs.filter(isSign).filter(({ until }) => until > now) : []
}
