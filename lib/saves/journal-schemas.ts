import { Type, type Static } from '@sinclair/typebox'
import { ref } from '../schema-parts.ts'
import { SIDES, type Side } from './journal-values.ts'

export const ENTRIES_MAX = 100

const ENTRY_ID = { pattern: '^[\\w-]{16}$', examples: ['GkYm3V-0aB9cXy_Z'] }

const Items = Type.Array(
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
)

const Time = Type.String({
  description: 'Time in UTC with milliseconds (ISO 8601)',
  examples: ['2026-11-19T10:15:30.123Z']
})

const JournalAuthor = Type.Object({
  uid: Type.Union([Type.String(), Type.Null()]),
  name: Type.Union([Type.String(), Type.Null()])
})

const KINDS = [
  'create',
  'update',
  'order',
  'close',
  'restore',
  'takeover',
  'proposed',
  'taken',
  'discarded',
  'withdrawn',
  'outside'
] as const
const OUTCOMES = ['saved', 'refused', 'uncertain'] as const

/** One save, as an editor reads it. */
export const JournalEntry = Type.Object(
  {
    id: Type.String({ description: 'The id of the entry, for `before` and for a restore' }),
    at: Time,
    by: JournalAuthor,
    kind: Type.Unsafe<(typeof KINDS)[number]>({
      type: 'string',
      enum: [...KINDS],
      description:
        '`proposed`, `taken`, `discarded` and `withdrawn`: a proposal for the field in `fields`, without its text. `outside`: a change that did not come through Quoin. With `fields`, Drupal has told it, without values'
    }),
    fields: Type.Unsafe<
      Record<
        string,
        {
          before?: Array<Record<string, unknown>>
          after?: Array<Record<string, unknown>>
          leftOut?: Side[]
        }
      >
    >({
      type: 'object',
      additionalProperties: Type.Object({
        before: Type.Optional(Items),
        after: Type.Optional(Items),
        leftOut: Type.Optional(
          Type.Array(Type.String({ enum: [...SIDES] }), {
            description: 'The values that were too large for the journal'
          })
        )
      }),
      description: 'The changed fields that the reader may see, by name'
    }),
    moreFields: Type.Optional(
      Type.Integer({ description: 'How many more fields changed. Their names are not kept' })
    ),
    outcome: Type.Unsafe<(typeof OUTCOMES)[number]>({
      type: 'string',
      enum: [...OUTCOMES],
      description: '`uncertain`: the save is under way, or its outcome is not known'
    }),
    etag: Type.Union([Type.String(), Type.Null()], {
      description: 'The entity tag after the save, as the user who saved got it'
    }),
    from: Type.Optional(
      Type.Object(JournalAuthor.properties, {
        description:
          'With `takeover`: whose lock it was. With `taken` and `discarded`: whose proposal it was'
      })
    ),
    message: Type.Optional(
      Type.String({ description: 'With `outside`: what is known of the change, in a sentence' })
    ),
    between: Type.Optional(
      Type.Array(Time, {
        description: 'With `outside`: the two times between which it was changed'
      })
    ),
    unrecorded: Type.Optional(
      Type.Integer({
        description:
          'With `outside`: how many saves through Quoin have no entry because the lock store was away'
      })
    )
  },
  {
    $id: 'JournalEntry',
    examples: [
      {
        id: 'GkYm3V-0aB9cXy_Z',
        at: '2026-11-19T10:15:30.123Z',
        by: { uid: '7', name: 'Anna' },
        kind: 'update',
        fields: { title: { before: [{ value: 'Monday' }], after: [{ value: 'Monday, late' }] } },
        outcome: 'saved',
        etag: '"8xqS1n3Jf0aZk2Lw.b7uQeX0pTtRr9yAa"'
      }
    ]
  }
)
export type JournalEntry = Static<typeof JournalEntry>

export const JournalPage = Type.Object(
  {
    data: Type.Array(ref(JournalEntry)),
    meta: Type.Object({
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'Ask for the next page with this in `before`; null at the end'
      })
    })
  },
  {
    description: 'One page, newest first',
    examples: [{ data: JournalEntry.examples, meta: { next: null } }]
  }
)
export type JournalPage = Static<typeof JournalPage>

export const JournalQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: ENTRIES_MAX,
      default: 20,
      description: 'How many entries at most; those of kind `outside` come on top'
    })
  ),
  before: Type.Optional(Type.String({ ...ENTRY_ID, description: '`meta.next` of the page before' }))
})
export type JournalQuery = Static<typeof JournalQuery>

export const RestoreBody = Type.Object(
  {
    entry: Type.String({ ...ENTRY_ID, description: 'The id of an entry' }),
    fields: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
      minItems: 1,
      maxItems: 200,
      uniqueItems: true,
      description: 'Which of its fields'
    }),
    side: Type.Unsafe<Side>({
      type: 'string',
      enum: [...SIDES],
      description: 'The values from before the save, or those after it'
    })
  },
  { examples: [{ entry: 'GkYm3V-0aB9cXy_Z', fields: ['title'], side: 'before' }] }
)
export type RestoreBody = Static<typeof RestoreBody>
