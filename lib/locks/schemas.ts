import { Type, type Static } from '@sinclair/typebox'
import { texts } from '../errors.ts'
import { LOCK_TYPE_PATTERN } from '../patterns.ts'
import { ref } from '../schema-parts.ts'

/** Which entity: the path of every endpoint. */
export const Entity = Type.Object({
  type: Type.String({
    pattern: `^${LOCK_TYPE_PATTERN}$`,
    description: 'Entity type: 1 to 64 of A-Z a-z 0-9 _',
    examples: ['node']
  }),
  id: Type.String({
    pattern: '^[A-Za-z0-9_.:-]{1,128}$',
    description: 'Entity id: 1 to 128 of A-Z a-z 0-9 _ . : -',
    examples: ['4711']
  })
})
export type Entity = Static<typeof Entity>

const FieldName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'The field that is locked',
  examples: ['field_headline']
})
const Uid = Type.String({ minLength: 1, description: "A user's id", examples: ['7'] })
const Seconds = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Unix time in seconds',
  examples: [1767225600]
})

const USER_DATA =
  'Who holds the lock, and whatever else the UI puts there. The client puts `typedAt` there, once there is something to say: when its user last typed, as Unix time in seconds'

/**
 * What POST and PUT take. Other top-level members are ignored; all members of `userData` are kept.
 */
export const LockRequest = Type.Object(
  {
    fieldName: FieldName,
    userData: Type.Object(
      {
        uid: Type.Union(
          [
            Type.String({ minLength: 1 }),
            Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })
          ],
          { description: "The user's id; kept as a string" }
        ),
        name: Type.Optional(Type.String({ description: 'The name that other users see' }))
      },
      { additionalProperties: true, description: USER_DATA }
    ),
    payload: Type.Optional(Type.String({ description: "The field's text, kept with the lock" })),
    timestamp: Type.Optional({
      ...Seconds,
      description: "Unix time in seconds. Default: the server's clock"
    })
  },
  {
    additionalProperties: true,
    examples: [
      {
        fieldName: 'field_headline',
        userData: { uid: '7', name: 'Ada' },
        payload: 'Water found on Mars'
      }
    ]
  }
)
export type LockRequest = Static<typeof LockRequest>

const { uid, ...otherProperties } = LockRequest.properties.userData.properties

/**
 * The same with authentication: the uid and the name may be left out. The authenticated name has
 * precedence.
 */
export const OwnLockRequest = Type.Object(
  {
    ...LockRequest.properties,
    userData: Type.Optional(
      Type.Object(
        {
          uid: Type.Optional({ ...uid, description: "The caller's own id, and no other" }),
          ...otherProperties
        },
        { additionalProperties: true, description: USER_DATA }
      )
    )
  },
  {
    additionalProperties: true,
    examples: [
      { fieldName: 'field_headline', payload: 'Water found on Mars' },
      ...LockRequest['examples']
    ]
  }
)
export type OwnLockRequest = Static<typeof OwnLockRequest>

export const ListQuery = Type.Object({
  fieldName: Type.Optional({
    ...FieldName,
    description: 'Only the lock of this field. excludeUid is then ignored'
  }),
  excludeUid: Type.Optional(
    Type.String({ description: 'Leave out the locks of this user', examples: ['8'] })
  ),
  payload: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1, description: '0 leaves the texts out', examples: [0] })
  )
})
export type ListQuery = Static<typeof ListQuery>

export const ReleaseQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only the lock of this field' }),
  uid: Type.Optional({
    ...Uid,
    description: 'Only locks of this user. At least one of the two is needed'
  })
})
export type ReleaseQuery = Static<typeof ReleaseQuery>

/** The same as a body, where a page that closes sends it. */
export const ReleaseRequest = Type.Union(
  [
    Type.Object(
      {
        fieldName: Type.Optional(FieldName),
        uid: Type.Optional(LockRequest.properties.userData.properties.uid)
      },
      { additionalProperties: true }
    ),
    Type.Null()
  ],
  { description: 'The same parameters, if they are not in the query', examples: [{ uid: '7' }] }
)
export type ReleaseRequest = Static<typeof ReleaseRequest>

export const FeedHeaders = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      description:
        'The id of the last event that you received. If nothing has changed since, no snapshot is sent',
      examples: ['2jmj7l5rSw0yVb_vlWAYkK']
    })
  )
})
export type FeedHeaders = Static<typeof FeedHeaders>

export const DraftsQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only drafts of this field' }),
  uid: Type.Optional({ ...Uid, description: "Only drafts of this user's texts" }),
  draft: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Only the draft with this id',
      examples: ['Zm9vYmFyYmF6cXV4']
    })
  )
})
export type DraftsQuery = Static<typeof DraftsQuery>

const IfMatch = Type.Optional(
  Type.String({
    description:
      'Act only on a lock in one of these versions (values of ETag), otherwise 412. * means any version'
  })
)

/** Conditions in the header of a request. */
export const PostHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({
      pattern: '^\\s*\\*\\s*$',
      description:
        '* takes the field only if nobody has it, not even another tab of the same user; otherwise 412'
    })
  ),
  'if-match': IfMatch
})
export type PostHeaders = Static<typeof PostHeaders>
export const ChangeHeaders = Type.Object({ 'if-match': IfMatch })
export type ChangeHeaders = Static<typeof ChangeHeaders>
export const ListHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({
      description: 'The ETag of an earlier answer. If nothing has changed since, the answer is 304'
    })
  )
})
export type ListHeaders = Static<typeof ListHeaders>

/** Who holds a field and since when; never the payload. */
export const Holder = Type.Object(
  {
    fieldName: FieldName,
    timestamp: Seconds,
    userData: Type.Object(
      { uid: Uid, name: Type.Optional(Type.String()) },
      { additionalProperties: true, description: USER_DATA }
    ),
    expiresAt: Type.Optional({
      ...Seconds,
      description: 'Unix time in seconds when the lock ends unless it is renewed'
    })
  },
  {
    $id: 'Holder',
    examples: [
      { fieldName: 'field_headline', timestamp: 1767225600, userData: { uid: '7', name: 'Ada' } }
    ]
  }
)
export type Holder = Static<typeof Holder>

/** A lock as feeds and boards show it: on what, whose and since when; never the payload. */
export const LockView = Type.Object(
  {
    entityType: Entity.properties.type,
    entityId: Entity.properties.id,
    ...Holder.properties,
    version: Type.Optional(
      Type.String({ description: 'Changes with every write. ETag has it in quotes' })
    )
  },
  {
    $id: 'LockView',
    examples: [
      {
        entityType: 'node',
        entityId: '4711',
        fieldName: 'field_headline',
        timestamp: 1767225600,
        userData: { uid: '7', name: 'Ada' },
        version: 'Zm9vYmFyYmF6cXV4'
      }
    ]
  }
)
export type LockView = Static<typeof LockView>

/** Whose sign it is. */
const SignUser = Type.Object({
  uid: { ...Uid, maxLength: 255 },
  name: Type.Optional(Type.String({ maxLength: 255 }))
})

/** What asks the holder of a lock for it. Other members are ignored. */
export const PetitionRequest = Type.Object(
  {
    fieldName: FieldName,
    userData: Type.Object(
      {
        uid: Type.Union(
          [SignUser.properties.uid, LockRequest.properties.userData.properties.uid.anyOf[1]],
          { description: 'The id of the user who asks' }
        ),
        name: Type.Optional(
          Type.String({ maxLength: 255, description: 'The name that the holder sees' })
        )
      },
      { additionalProperties: true }
    )
  },
  {
    additionalProperties: true,
    examples: [{ fieldName: 'field_headline', userData: { uid: '8', name: 'Bob' } }]
  }
)
export type PetitionRequest = Static<typeof PetitionRequest>

/** The same where it is known who calls. */
export const OwnPetitionRequest = Type.Object(
  {
    fieldName: FieldName,
    userData: Type.Optional(
      Type.Object(
        {
          uid: Type.Optional({
            ...PetitionRequest.properties.userData.properties.uid,
            description: "The caller's own id, and no other"
          }),
          name: PetitionRequest.properties.userData.properties.name
        },
        { additionalProperties: true }
      )
    )
  },
  {
    additionalProperties: true,
    examples: [{ fieldName: 'field_headline' }, ...PetitionRequest['examples']]
  }
)
export type OwnPetitionRequest = Static<typeof OwnPetitionRequest>

export const PetitionQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only requests for this field' }),
  uid: Type.Optional({
    ...Uid,
    description: 'Only requests of this user. At least one of the two is needed'
  })
})
export type PetitionQuery = Static<typeof PetitionQuery>

/** A petition as feeds and boards show it. */
export const Petition = Type.Object(
  {
    entityType: Entity.properties.type,
    entityId: Entity.properties.id,
    fieldName: FieldName,
    userData: SignUser,
    until: { ...Seconds, description: 'Unix time in seconds when the request ends; 0: it is over' }
  },
  {
    $id: 'Petition',
    examples: [
      {
        entityType: 'node',
        entityId: '4711',
        fieldName: 'field_headline',
        userData: { uid: '8', name: 'Bob' },
        until: 1767225660
      }
    ]
  }
)
export type Petition = Static<typeof Petition>

const Looker = Type.Object(
  {
    uid: {
      ...PetitionRequest.properties.userData.properties.uid,
      description: 'The id of the user who looks on'
    },
    name: Type.Optional(
      Type.String({ maxLength: 255, description: 'The name that the others see' })
    )
  },
  { additionalProperties: true }
)

/** Who looks on at an entity. Other members are ignored. */
export const PresenceRequest = Type.Object(
  { userData: Looker },
  { additionalProperties: true, examples: [{ userData: { uid: '8', name: 'Bob' } }] }
)
export type PresenceRequest = Static<typeof PresenceRequest>

/** The same where it is known who calls. */
export const OwnPresenceRequest = Type.Object(
  {
    userData: OwnPetitionRequest.properties.userData
  },
  { additionalProperties: true, examples: [{}, ...PresenceRequest['examples']] }
)
export type OwnPresenceRequest = Static<typeof OwnPresenceRequest>

export const PresenceQuery = Type.Object({
  uid: Type.Optional({
    ...Uid,
    description: 'The user who has left. With authentication it may be left out'
  })
})
export type PresenceQuery = Static<typeof PresenceQuery>

/** Who looks on, as feeds and boards show it. */
export const Presence = Type.Object(
  {
    entityType: Entity.properties.type,
    entityId: Entity.properties.id,
    userData: SignUser,
    until: {
      ...Seconds,
      description: 'Unix time in seconds when that ends, unless it goes on; 0: the user has left'
    }
  },
  {
    $id: 'Presence',
    examples: [
      {
        entityType: 'node',
        entityId: '4711',
        userData: { uid: '8', name: 'Bob' },
        until: 1767225690
      }
    ]
  }
)
export type Presence = Static<typeof Presence>

/** Who has left a proposal. Of an agent it says so. */
const Proposer = Type.Object({
  ...SignUser.properties,
  agent: Type.Optional(Type.String({ description: 'The name of an agent; absent of a person' })),
  principal: Type.Optional(
    Type.String({ description: 'The uid of the user that the agent works for' })
  )
})

const ProposalId = Type.String({
  pattern: '^[\\w-]{38}$',
  description: 'The id of the proposal',
  examples: ['Zm9vYmFyYmF6cXV4Zm9vYmFyGkYm3V-0aB9cXy']
})
export const ProposalParams = Type.Object({ ...Entity.properties, proposal: ProposalId })
export type ProposalParams = Static<typeof ProposalParams>

const proposed = {
  fieldName: FieldName,
  payload: Type.String({ description: 'The text that is proposed for the field' }),
  base: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        'The state that the text was made from: the ETag of the edition, or the version of the lock, that its author has read. An agent has to send it'
    })
  ),
  reason: Type.Optional(
    Type.String({ maxLength: 500, description: 'Why, for whoever takes or discards it' })
  )
}

/** A text that somebody proposes for a field. Other members are ignored. */
export const ProposalRequest = Type.Object(
  { ...proposed, userData: PetitionRequest.properties.userData },
  {
    additionalProperties: true,
    examples: [
      {
        fieldName: 'field_headline',
        userData: { uid: '8', name: 'Bob' },
        payload: 'Water found on Mars',
        reason: 'The study calls it water'
      }
    ]
  }
)
export type ProposalRequest = Static<typeof ProposalRequest>

/** The same where it is known who calls. */
export const OwnProposalRequest = Type.Object(
  { ...proposed, userData: OwnPetitionRequest.properties.userData },
  {
    additionalProperties: true,
    examples: [
      { fieldName: 'field_headline', payload: 'Water found on Mars' },
      ...ProposalRequest['examples']
    ]
  }
)
export type OwnProposalRequest = Static<typeof OwnProposalRequest>

export const ProposalsQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only proposals for this field' }),
  uid: Type.Optional({ ...Uid, description: 'Only proposals of this user' }),
  settled: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1,
      description: '1: those that were taken, discarded or withdrawn, in place of the open ones',
      examples: [1]
    })
  )
})
export type ProposalsQuery = Static<typeof ProposalsQuery>

export const SettleQuery = Type.Object({
  taken: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1, description: '1: the text was taken', examples: [1] })
  ),
  uid: Type.Optional({
    ...Uid,
    maxLength: 255,
    description: 'Who settles it. With authentication it may be left out'
  }),
  name: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'What this user is called. With authentication it is ignored',
      examples: ['Ada']
    })
  )
})
export type SettleQuery = Static<typeof SettleQuery>

const PROPOSAL_OUTCOMES = ['taken', 'discarded', 'withdrawn'] as const
export type ProposalOutcome = (typeof PROPOSAL_OUTCOMES)[number]

/** A proposal, with its text. */
export const Proposal = Type.Object(
  {
    id: ProposalId,
    fieldName: FieldName,
    userData: Proposer,
    payload: Type.Optional(
      Type.String({ description: 'The text. Of a proposal that was taken it is not kept' })
    ),
    base: proposed.base,
    reason: proposed.reason,
    createdAt: { ...Seconds, description: 'Unix time in seconds when it was left' },
    until: { ...Seconds, description: 'Unix time in seconds until when it is kept' },
    settled: Type.Optional(
      Type.Object(
        {
          outcome: Type.Unsafe<ProposalOutcome>({ type: 'string', enum: [...PROPOSAL_OUTCOMES] }),
          at: Seconds,
          by: Type.Optional(
            Type.Object(
              { uid: Uid, name: Type.Optional(Type.String()) },
              { description: 'Who settled it. Absent when a request named nobody' }
            )
          )
        },
        { description: 'What became of it. Absent while it is open' }
      )
    )
  },
  {
    $id: 'Proposal',
    examples: [
      {
        id: 'Zm9vYmFyYmF6cXV4Zm9vYmFyGkYm3V-0aB9cXy',
        fieldName: 'field_headline',
        userData: { uid: 'agent:planner:7', name: 'Planner', agent: 'planner', principal: '7' },
        payload: 'Water found on Mars',
        base: '"V3IySZ4BnJ6dH0qk"',
        reason: 'The study calls it water',
        createdAt: 1767225600,
        until: 1769817600
      }
    ]
  }
)
export type Proposal = Static<typeof Proposal>

export const ProposalList = Type.Object(
  {
    Items: Type.Array(ref(Proposal), { description: 'The newest first' }),
    Count: Type.Integer({ description: 'How many are in Items' })
  },
  { $id: 'ProposalList' }
)
export type ProposalList = Static<typeof ProposalList>

export const ProposalsListed = Type.Object(
  { success: Type.Literal(true), data: ref(ProposalList) },
  {
    $id: 'ProposalsListed',
    examples: [{ success: true, data: { Items: Proposal.examples, Count: 1 } }]
  }
)

export const Proposed = Type.Object(
  { success: Type.Literal(true), data: ref(Proposal) },
  { $id: 'Proposed', examples: [{ success: true, data: Proposal.examples[0] }] }
)

/** An open proposal as feeds and boards show it; never the text. */
export const ProposalView = Type.Object(
  {
    entityType: Entity.properties.type,
    entityId: Entity.properties.id,
    fieldName: FieldName,
    id: ProposalId,
    userData: Proposer,
    until: {
      ...Seconds,
      description: 'Unix time in seconds until when it is kept; 0: it is open no longer'
    }
  },
  {
    $id: 'ProposalView',
    examples: [
      {
        entityType: 'node',
        entityId: '4711',
        fieldName: 'field_headline',
        id: 'Zm9vYmFyYmF6cXV4Zm9vYmFyGkYm3V-0aB9cXy',
        userData: { uid: 'agent:planner:7', name: 'Planner', agent: 'planner', principal: '7' },
        until: 1769817600
      }
    ]
  }
)
export type ProposalView = Static<typeof ProposalView>

/** A lock as the table keeps it. */
export const LockRecord = Type.Object(
  {
    env_entityType_entityId: Type.String({ description: '<environment>-<type>-<id>' }),
    ...Holder.properties,
    payload: Type.Optional(Type.String()),
    version: LockView.properties.version,
    removeAt: Type.Optional({
      ...Seconds,
      description: 'Unix time in seconds after which DynamoDB may delete the record'
    })
  },
  {
    $id: 'LockRecord',
    additionalProperties: true,
    examples: [
      {
        env_entityType_entityId: 'production-node-4711',
        fieldName: 'field_headline',
        timestamp: 1767225600,
        userData: { uid: '7', name: 'Ada' },
        payload: 'Water found on Mars',
        version: 'Zm9vYmFyYmF6cXV4'
      }
    ]
  }
)
export type LockRecord = Static<typeof LockRecord>

/** Every record found, in the form of the document client's query result. */
export const LockList = Type.Object(
  {
    Items: Type.Array(ref(LockRecord), { description: 'Ordered by fieldName' }),
    Count: Type.Integer({ description: 'How many are in Items' }),
    ScannedCount: Type.Integer({
      description: 'How many records there were before excludeUid left some out'
    })
  },
  { $id: 'LockList' }
)
export type LockList = Static<typeof LockList>

export const Done = Type.Object(
  { success: Type.Literal(true) },
  { $id: 'Done', examples: [{ success: true }] }
)
export type Done = Static<typeof Done>

export const Listed = Type.Object(
  { success: Type.Literal(true), data: ref(LockList) },
  {
    $id: 'Listed',
    examples: [{ success: true, data: { Items: LockRecord.examples, Count: 1, ScannedCount: 1 } }]
  }
)

/** The text of a lock that somebody else took over or released, or that has expired. */
export const Draft = Type.Object(
  {
    id: Type.String({ description: 'Unique among the drafts of the field' }),
    ...Holder.properties,
    payload: Type.String({ description: 'The text that the lock held' }),
    version: Type.Optional(
      Type.String({ description: 'The version of the lock that held the text' })
    ),
    displacedAt: {
      ...Seconds,
      description: 'Unix time in seconds when the lock was taken over, released or expired'
    },
    displacedBy: Type.Optional(
      Type.Object(
        { uid: Uid, name: Type.Optional(Type.String()) },
        {
          description:
            'Who displaced the lock. Absent when the field was released without a uid, or when the lock expired. When the text fills its record, a name that makes more than 128 bytes with the uid is left out, and a longer uid ends in …'
        }
      )
    )
  },
  {
    $id: 'Draft',
    additionalProperties: true,
    examples: [
      {
        id: 'Zm9vYmFyYmF6cXV4',
        fieldName: 'field_headline',
        timestamp: 1767225600,
        userData: { uid: '7', name: 'Ada' },
        payload: 'Water found on Mars',
        version: 'Zm9vYmFyYmF6cXV4',
        displacedAt: 1767229200,
        displacedBy: { uid: '8', name: 'Bob' }
      }
    ]
  }
)
export type Draft = Static<typeof Draft>

export const DraftList = Type.Object(
  {
    Items: Type.Array(ref(Draft), { description: 'The newest first' }),
    Count: Type.Integer({ description: 'How many are in Items' })
  },
  { $id: 'DraftList' }
)
export type DraftList = Static<typeof DraftList>

export const DraftsListed = Type.Object(
  { success: Type.Literal(true), data: ref(DraftList) },
  {
    $id: 'DraftsListed',
    examples: [{ success: true, data: { Items: Draft.examples, Count: 1 } }]
  }
)

/** Every failure of the lock endpoints. */
export const LockFailure = Type.Object(
  {
    success: Type.Literal(false),
    message: Type.String(),
    error: Type.Object({
      name: Type.String(),
      code: Type.String(),
      message: Type.String(),
      lock: Type.Optional(ref(Holder)),
      failed: Type.Optional(
        Type.Array(Type.String(), {
          description: 'The fields that are still locked after an incomplete DELETE'
        })
      )
    })
  },
  {
    $id: 'LockFailure',
    examples: [
      {
        success: false,
        message: 'Error: Server error',
        error: {
          name: 'ServiceUnavailableError',
          code: 'STORE_UNAVAILABLE',
          message: texts.storeUnavailable
        }
      }
    ]
  }
)
