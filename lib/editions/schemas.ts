import { Type, type IntegerOptions, type Static, type TInteger } from '@sinclair/typebox'
import { texts } from '../errors.ts'
import { UUID_PATTERN } from '../patterns.ts'
import { ref } from '../schema-parts.ts'
import { LIST_ORDERS, type Sort } from './translate/order.ts'

/**
 * Largest offset of a list, and its largest limit; that of a list which also tells where its rows
 * are placed or locked.
 */
export const OFFSET_MAX = 100_000
export const LIMIT_MAX = 500
export const DETAILED_MAX = 50

/** An edition in core REST's JSON; which fields it has is the CMS's business. */
export const Edition = Type.Unsafe<Record<string, unknown>>({
  $id: 'Edition',
  description: "An entity in the JSON of Drupal core's REST endpoints: every field a list of items",
  type: 'object',
  additionalProperties: true,
  examples: [
    {
      id: [{ value: 12 }],
      uuid: [{ value: 'ceea8601-33e7-4005-8409-18a46e1916e1' }],
      type: [
        {
          target_id: 'daily',
          target_type: 'publisher_container_type',
          target_uuid: 'da70793f-d6da-4c24-9a08-6ee507503fc5'
        }
      ],
      status: [{ value: true }],
      title: [{ value: 'Monday' }],
      field_key: [{ value: 'daily-2026-11-16' }],
      field_articles: [
        {
          target_id: 4,
          target_type: 'node',
          target_uuid: '5488028b-da9e-41aa-aa6a-f0b640c7436e',
          url: '/node/4'
        }
      ]
    }
  ]
})

export type Edition = Static<typeof Edition>

/** The body of a create: the same JSON, with any of its fields. */
export const EditionBody = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  examples: [
    {
      type: [{ target_id: 'daily' }],
      title: [{ value: 'Monday' }],
      field_key: [{ value: 'daily-2031-01-06' }],
      field_articles: [{ target_id: 4 }]
    }
  ]
})

/** The same to change one. */
export const EditionChange = Type.Unsafe<Record<string, unknown>>({
  ...EditionBody,
  examples: [{ title: [{ value: 'Monday, late' }] }]
})

/** An article, as a reference of core REST names it. */
export const ArticleRef = Type.Object({
  target_id: Type.Optional(
    Type.Union([Type.Integer(), Type.String({ minLength: 1, maxLength: 255 }), Type.Null()], {
      description: 'Its id; null for what the order refers to though it is gone'
    })
  ),
  target_uuid: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Its uuid. It counts if an id is there too'
    })
  ),
  target_type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Its entity type, if the field takes several'
    })
  )
})
export type ArticleRef = Static<typeof ArticleRef>

export const OrderOperation = Type.Object(
  {
    op: Type.Unsafe<'insert' | 'move' | 'remove'>({
      type: 'string',
      enum: ['insert', 'move', 'remove']
    }),
    article: ArticleRef,
    before: Type.Optional(ArticleRef),
    after: Type.Optional(ArticleRef),
    at: Type.Optional(Type.Unsafe<'start' | 'end'>({ type: 'string', enum: ['start', 'end'] })),
    occurrence: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'Which occurrence, if the article is in the order several times. Default: 1, the first'
      })
    )
  },
  { description: 'An insert and a move have one of `before`, `after` and `at`' }
)
export type OrderOperation = Static<typeof OrderOperation>

export const OrderChange = Type.Object(
  {
    field: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          'One of the fields of the content model that hold articles; the first by default'
      })
    ),
    operations: Type.Array(OrderOperation, {
      minItems: 1,
      maxItems: 100,
      description: 'Applied in their order, all or none'
    })
  },
  {
    examples: [
      {
        operations: [
          { op: 'insert', article: { target_id: 9 }, at: 'end' },
          { op: 'remove', article: { target_id: 7 } }
        ]
      }
    ]
  }
)
export type OrderChange = Static<typeof OrderChange>

export const EditionParams = Type.Object({
  id: Type.String({
    pattern: `^(?:[1-9][0-9]{0,18}|${UUID_PATTERN})$`,
    description: 'Integer id or uuid',
    examples: ['12', 'ceea8601-33e7-4005-8409-18a46e1916e1']
  })
})
export type EditionParams = Static<typeof EditionParams>

export const ReadHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({
      description:
        'The ETag of an earlier answer. If neither the edition nor the urls of its references have changed, the answer is 304'
    })
  ),
  'if-match': Type.Optional(
    Type.String({
      description: 'Read only an edition that still has one of these ETags, otherwise 412'
    })
  )
})
export type ReadHeaders = Static<typeof ReadHeaders>

export const ReadinessHeaders = Type.Object({
  'if-none-match': Type.Optional(
    Type.String({
      description: 'The ETag of an earlier answer. If nothing has changed since, the answer is 304'
    })
  ),
  'x-user-uid': Type.Optional(
    Type.String({
      description:
        'With AUTH=none: the uid of the user who asks, percent-encoded unless it is visible ASCII, whose own locks neither block nor warn',
      examples: ['7']
    })
  )
})

/**
 * 1 to 255 characters: a String of RFC 9651 (section 3.3.3), or the same without quotes, as most
 * clients send it, and without spaces and commas.
 */
const IDEMPOTENCY_KEY = String.raw`^(?:"(?:[ !#-\[\]-~]|\\["\\]){1,255}"|[!#-+\--\[\]-~]{1,255})$`

export const CreateHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: IDEMPOTENCY_KEY,
      description:
        'Names this request: 1 to 255 characters of visible ASCII and spaces in quotes, such as a random UUID. Without quotes, spaces and commas it is the same key. However often the request is sent with the same key and body within a day, it is done once',
      examples: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"']
    })
  ),
  'x-csrf-token': Type.Optional(
    Type.String({
      description:
        "The token that Drupal's /session/token answers. Needed with a session cookie that is passed on to Drupal (CMS_AUTH=passthrough)",
      examples: ['X2tva2VuLW9mLWEtc2Vzc2lvbl9mcm9tLURydXBhbA']
    })
  ),
  'x-user-uid': Type.Optional(
    Type.String({
      description:
        "The uid of the user who wants this, percent-encoded unless it is visible ASCII. Another caller is answered 403 USER_CHANGED. With AUTH=none it says who calls, so that EDITION_LOCKS=enforce can compare it with the uid of a lock; without it every lock counts as another user's",
      examples: ['7']
    })
  )
})

export const UpdateHeaders = Type.Object({
  ...CreateHeaders.properties,
  'if-match': Type.Optional(
    Type.String({
      description:
        'The ETag that you read. The change is refused (412) when any field that you are shown has another value by now'
    })
  ),
  'lock-match': Type.Optional(
    Type.String({
      description:
        'The versions of your own locks, as entity tags. Where the save respects locks, another lock of yours is as good as that of another user. Without it all your locks let the save pass; those of an agent do not'
    })
  )
})
export type UpdateHeaders = Static<typeof UpdateHeaders>

export const SearchParams = Type.Object({
  bundle: Type.String({
    minLength: 1,
    maxLength: 64,
    description:
      "`publisher_container` for all editions, or a bundle, or an edition type, or the name of one of the content model's lists",
    examples: ['publisher_container', 'daily', 'special', 'article']
  })
})
export type SearchParams = Static<typeof SearchParams>

export const KeyParams = Type.Object({
  bundle: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'A bundle of editions, or an edition type',
    examples: ['daily']
  }),
  key: Type.String({
    minLength: 1,
    maxLength: 255,
    description: "The edition's key in the publishing system",
    examples: ['daily-2031-01-06']
  })
})
export type KeyParams = Static<typeof KeyParams>

export const ListedParams = Type.Object({
  bundle: Type.String({
    minLength: 1,
    maxLength: 64,
    description: "The name of one of the content model's lists",
    examples: ['article']
  }),
  id: EditionParams.properties.id
})
export type ListedParams = Static<typeof ListedParams>

export const ListedSections = Type.Pick(ListedParams, ['bundle'])

/**
 * A parameter that a caller may leave out and a handler always has: validation fills in the
 * default.
 */
function withDefault(options: IntegerOptions & { default: number }): TInteger {
  return Type.Optional(Type.Integer(options))
}

/** RFC 3339, section 5.6. */
const DATE_TIME = String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+\-]\d{2}:\d{2})$`

/** Before validation `leniently` removes empty and unknown parameters. */
export const SearchQuery = Type.Object({
  q: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'Substring of the title, or the exact key',
      examples: ['november']
    })
  ),
  status: Type.Optional(
    Type.Unsafe<0 | 1>({ type: 'integer', enum: [0, 1], description: '1 published, 0 not' })
  ),
  type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Edition type; only for lists of editions',
      examples: ['daily']
    })
  ),
  key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Exact key; only for lists of editions',
      examples: ['daily-2026-11-16']
    })
  ),
  section: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'The section: the uuid of what the field refers to that the content model names, or its text, exactly; only for lists of what editions are made of'
    })
  ),
  changedFrom: Type.Optional(
    Type.String({
      pattern: DATE_TIME,
      description:
        'Changed at this time or later: a time with an offset (RFC 3339), such as 2026-11-18T00:00:00Z',
      examples: ['2026-11-18T00:00:00Z']
    })
  ),
  changedBefore: Type.Optional(
    Type.String({
      pattern: DATE_TIME,
      description:
        'Changed before this time: a time with an offset (RFC 3339), such as 2026-11-19T00:00:00Z',
      examples: ['2026-11-19T00:00:00Z']
    })
  ),
  sort: Type.Optional(
    Type.Unsafe<Sort>({
      type: 'string',
      enum: Object.keys(LIST_ORDERS),
      description:
        'By integer id or by the time of the last change, with a minus the greatest first; `-id` without it. The same times are sorted by id, in the same direction'
    })
  ),
  limit: withDefault({
    minimum: 1,
    maximum: LIMIT_MAX,
    default: 20,
    description: `How many rows at most; more is taken as ${LIMIT_MAX}, with placed=1, unplaced=1 or locks=1 as ${DETAILED_MAX}`
  }),
  offset: withDefault({
    minimum: 0,
    maximum: OFFSET_MAX,
    default: 0,
    description: 'How many rows to leave out first'
  }),
  total: Type.Optional(
    Type.Unsafe<1>({
      type: 'integer',
      enum: [1],
      description: '1 has the total counted, even when that takes more requests to the CMS'
    })
  ),
  placed: Type.Optional(
    Type.Unsafe<1>({
      type: 'integer',
      enum: [1],
      description:
        '1 adds which editions hold each row; only for lists of what editions are made of'
    })
  ),
  unplaced: Type.Optional(
    Type.Unsafe<1>({
      type: 'integer',
      enum: [1],
      description:
        '1 leaves out what an edition holds; only for lists of what editions are made of. `offset` counts these rows too, a page may have fewer rows than `limit`, and `next` leads on'
    })
  ),
  locks: Type.Optional(
    Type.Unsafe<1>({ type: 'integer', enum: [1], description: '1 adds who is at work in each row' })
  ),
  _format: Type.Optional(
    Type.Unsafe<'json'>({
      type: 'string',
      enum: ['json'],
      description: 'Has no effect. Clients of core REST send it'
    })
  )
})
export type SearchQuery = Static<typeof SearchQuery>

/**
 * Reads a query string leniently, as forms and caches send it: empty and unknown parameters count
 * as absent, and a limit above the largest counts as the largest.
 */
export function leniently(query: Record<string, unknown>): Record<string, unknown> {
  const meant = Object.entries(query).filter(
    ([name, value]) => value !== '' && Object.hasOwn(SearchQuery.properties, name)
  )
  const most = meant.some(([name]) => ['placed', 'unplaced', 'locks'].includes(name))
    ? DETAILED_MAX
    : LIMIT_MAX
  return Object.fromEntries(
    meant.map(([name, value]) => [
      name,
      name === 'limit' && isAbove(most, value) ? String(most) : value
    ])
  )
}

function isAbove(most: number, value: unknown): boolean {
  return typeof value === 'string' && /^[1-9]\d*$/.test(value) && Number(value) > most
}

export const OrderChanged = Type.Object(
  {
    data: ref(Edition),
    meta: Type.Object({
      operations: Type.Array(
        Type.Object({
          outcome: Type.Unsafe<'done' | 'already'>({
            type: 'string',
            enum: ['done', 'already'],
            description: '`already`: the order was as the operation asks for'
          })
        })
      )
    })
  },
  {
    description: 'The edition as it is now, with all its fields, and what each operation came to',
    examples: [
      {
        data: Edition['examples'][0],
        meta: { operations: [{ outcome: 'done' }, { outcome: 'already' }] }
      }
    ]
  }
)
export type OrderChanged = Static<typeof OrderChanged>

/** An edition that holds an article. */
export const Placement = Type.Object(
  {
    id: Type.String(),
    uuid: Type.String(),
    bundle: Type.String(),
    label: Type.String(),
    published: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Null where the caller is not shown it, and where editions have no status'
    })
  },
  {
    examples: [
      {
        id: '12',
        uuid: 'ceea8601-33e7-4005-8409-18a46e1916e1',
        bundle: 'daily',
        label: 'Monday',
        published: true
      }
    ]
  }
)
export type Placement = Static<typeof Placement>

export const NamedList = Type.Object(
  {
    data: Type.Array(Type.Object({ id: Type.String(), label: Type.String() }))
  },
  {
    description: 'Machine names and labels',
    examples: [
      {
        data: [
          { id: 'daily', label: 'Daily Editions' },
          { id: 'special', label: 'Special Editions' }
        ]
      }
    ]
  }
)

/** The sections of a list. */
export const SectionList = Type.Object(
  {
    data: Type.Array(Type.Object({ id: Type.String(), label: Type.String() })),
    meta: Type.Object({
      isComplete: Type.Boolean({
        description: 'Whether these are all sections that the caller may see'
      })
    })
  },
  {
    description: 'What `section` of a search takes, and what each is called',
    examples: [
      {
        data: [{ id: '0b2f6f4c-1f5e-4a57-8a3c-2f9a6c1a7d11', label: 'Sport' }],
        meta: { isComplete: true }
      }
    ]
  }
)

/** A failure of an edition endpoint: core REST's form, and more. */
export const EditionFailure = Type.Object(
  {
    message: Type.String(),
    statusCode: Type.Integer(),
    error: Type.String(),
    code: Type.String(),
    uuid: Type.Optional(
      Type.String({
        description:
          'The uuid of an edition whose write has an unknown outcome, or of the edition that is in the way. Location has its path. Repeat a create with it'
      })
    ),
    order: Type.Optional(
      Type.Array(
        Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
        { description: 'With ORDER_CONFLICT: the present running order, as the items of its field' }
      )
    ),
    blockers: Type.Optional(
      Type.Array(
        Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
        {
          description:
            'With NOT_READY: what keeps the edition from being closed. `warnings` beside it are what an editor should know besides'
        }
      )
    ),
    violations: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))
    )
  },
  {
    $id: 'EditionFailure',
    additionalProperties: true,
    examples: [
      {
        message: texts.noSuch('edition', '999'),
        statusCode: 404,
        error: 'Not Found',
        code: 'NOT_FOUND'
      }
    ]
  }
)
