import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Edition, OrderOperation, Placement } from '../editions/schemas.ts'
import { FINDING_CODES, type FindingCode } from '../editions/model.ts'
import { Draft, LockView, Petition, Presence, ProposalView } from '../locks/schemas.ts'
import { ref } from '../schema-parts.ts'

const { payload: _payload, ...draft } = Draft.properties

/** A draft without its text. */
export const KeptDraft = Type.Object(draft, { $id: 'KeptDraft' })

/** An edition's lock board. */
export const LockBoard = Type.Object(
  {
    data: Type.Array(ref(LockView), {
      description: "The edition's own locks, then those of its articles in their order"
    }),
    meta: Type.Object({
      entities: Type.Integer({
        description: 'How many entities are on the board: the edition and its articles'
      }),
      count: Type.Integer({ description: 'How many locks are in data' })
    })
  },
  { $id: 'LockBoard', examples: [{ data: LockView.examples, meta: { entities: 13, count: 1 } }] }
)
export type LockBoard = Static<typeof LockBoard>

/** What an editor should know of before an edition is closed. */
export const Finding = Type.Object(
  {
    code: Type.Unsafe<FindingCode>({ type: 'string', enum: [...FINDING_CODES] }),
    message: Type.String({ description: 'A sentence for an editor' }),
    entityType: Type.String({
      description: 'Type and id of what it is about: the edition or an article, as locks name it'
    }),
    entityId: Type.String(),
    fieldName: Type.Optional(Type.String()),
    lock: Type.Optional(ref(LockView)),
    draft: Type.Optional(ref(KeptDraft))
  },
  {
    $id: 'Finding',
    examples: [
      {
        code: 'ARTICLE_UNPUBLISHED',
        message: 'Node 20 is not published',
        entityType: 'node',
        entityId: '20'
      }
    ]
  }
)
export type Finding = Static<typeof Finding>

export const Readiness = Type.Object(
  {
    ready: Type.Boolean({ description: 'Whether there are no blockers' }),
    blockers: Type.Array(ref(Finding), {
      description:
        'The findings that keep the edition from being closed. The content model says which ones do'
    }),
    warnings: Type.Array(ref(Finding), {
      description: 'The other findings, for the editor to know'
    }),
    proposals: Type.Integer({
      description: 'How many proposals are open, for the edition and its articles'
    })
  },
  {
    $id: 'Readiness',
    examples: [{ ready: false, blockers: Finding.examples, warnings: [], proposals: 0 }]
  }
)
export type Readiness = Static<typeof Readiness>

export const Closed = Type.Object(
  {
    data: ref(Edition),
    meta: Type.Object({
      since: Type.Union([Type.Array(ref(Finding)), Type.Null()], {
        description:
          'The findings that are new since the check; null if Quoin could not check again after the save'
      })
    })
  },
  {
    description: 'The edition as it is now, with all its fields',
    examples: [{ data: Edition['examples'][0], meta: { since: [] } }]
  }
)
export type Closed = Static<typeof Closed>

/** A save of an edition, as event streams tell it. */
export const Saved = Type.Object(
  {
    entityType: Type.String({ description: 'Type and id of the edition, as locks name it' }),
    entityId: Type.String(),
    etag: Type.Union([Type.String(), Type.Null()], {
      description:
        'The entity tag now, as it is for who saved it; null where Drupal has saved without Quoin'
    }),
    uid: Type.Optional(Type.String({ description: 'Who saved it, where that is known' })),
    name: Type.Optional(Type.String()),
    fields: Type.Array(Type.String(), { description: 'The fields that changed' }),
    from: Type.Optional(
      Type.String({
        description:
          'The entity tag of the state that `operations` were done to: the part before the dot counts'
      })
    ),
    operations: Type.Optional(
      Type.Array(OrderOperation, {
        description: 'What was done to the running order; only of a lock board'
      })
    )
  },
  {
    $id: 'Saved',
    examples: [
      {
        entityType: 'node',
        entityId: '1',
        etag: '"V3IySZ4BnJ6dH0qk"',
        uid: '7',
        fields: ['title']
      }
    ]
  }
)
export type Saved = Static<typeof Saved>

/** What an event of a stream has in its lines; its data is JSON. */
function streamEvent(names: string[], data: TSchema, hasId = true) {
  return Type.Object({
    event: Type.Unsafe<string>({ type: 'string', enum: names }),
    ...(hasId && { id: Type.String({ description: 'Names the state after the event' }) }),
    data
  })
}

/** An event of a stream: of the locks of an entity, of a lock board or of a list. */
export const StreamEvent = Type.Unsafe<object>({
  $id: 'StreamEvent',
  description: 'One Server-Sent Event, with its data parsed as JSON',
  oneOf: [
    streamEvent(
      ['snapshot'],
      Type.Object(
        {
          data: Type.Array(ref(LockView)),
          meta: Type.Optional(Type.Object(LockBoard.properties.meta.properties))
        },
        { description: 'All locks; `meta` is there on a lock board and of a list' }
      )
    ),
    streamEvent(['locked', 'released'], ref(LockView)),
    streamEvent(['requested'], ref(Petition)),
    streamEvent(['present'], ref(Presence)),
    streamEvent(['proposed'], ref(ProposalView)),
    streamEvent(['saved'], ref(Saved), false),
    streamEvent(
      ['heartbeat'],
      Type.Object({
        seconds: Type.Integer({
          description: 'Since the last heartbeat, or the beginning: the next one may take as long'
        })
      }),
      false
    ),
    streamEvent(['stale', 'live'], Type.Object({}), false)
  ]
})

/** The schemas that the events of a stream refer to. */
export const STREAM_SCHEMAS = [LockView, Petition, Presence, ProposalView, Saved, StreamEvent]

/** Lists by the uuids of rows. */
function byUuid<T extends TSchema>(item: T, description: string) {
  return Type.Unsafe<Record<string, Array<Static<T>>>>({
    type: 'object',
    additionalProperties: Type.Array(item),
    description
  })
}

/** One page of editions, or of what they are made of. */
export const EditionList = Type.Object(
  {
    data: Type.Array(ref(Edition)),
    meta: Type.Object({
      limit: Type.Integer(),
      offset: Type.Integer(),
      hasMore: Type.Boolean(),
      total: Type.Union([Type.Integer(), Type.Null()], {
        description:
          'How many rows there are in all that the caller may see. It is known when the page is the last one, when total=1 asks for it, or when the CMS counts and hides nothing from the caller; otherwise null'
      }),
      next: Type.Optional(
        Type.Union([Type.Integer(), Type.Null()], {
          description: 'With unplaced=1: the offset of the next page; null where there is none'
        })
      ),
      placed: Type.Optional(
        byUuid(
          Placement,
          'With placed=1: by the uuid of each row, the editions that hold it and that the caller may see, the newest first'
        )
      ),
      locks: Type.Optional(
        Type.Union(
          [
            byUuid(
              ref(LockView),
              'By the uuid of each row, the locks on it; an empty list where there are none'
            ),
            Type.Null()
          ],
          { description: 'With locks=1; null while the lock store does not answer' }
        )
      )
    }),
    links: Type.Object({
      self: Type.String(),
      next: Type.Optional(Type.String()),
      prev: Type.Optional(Type.String())
    })
  },
  {
    description: 'One page, newest first unless sort says otherwise',
    examples: [
      {
        data: Edition['examples'],
        meta: { limit: 1, offset: 0, hasMore: true, total: null },
        links: {
          self: '/api/collections/daily?limit=1&offset=0',
          next: '/api/collections/daily?limit=1&offset=1'
        }
      }
    ]
  }
)

export type EditionList = Static<typeof EditionList>
