import { Type, type Static } from '@sinclair/typebox'
import { ENTITY_ID_PATTERN, LOCK_TYPE_PATTERN, UUID_PATTERN } from '../patterns.ts'
import { ref } from '../schema-parts.ts'

/** How many fields a question or a notice may name. */
export const FIELDS_MAX = 500

/** How many saves one request may tell. */
export const SAVES_MAX = 50

/** How long ago a save may be that is told, in milliseconds: the module keeps it no longer. */
export const AGE_MAX = 7 * 86_400_000

const EntityType = Type.String({
  pattern: `^${LOCK_TYPE_PATTERN}$`,
  description: "Drupal's entity type",
  examples: ['node']
})
const EntityId = Type.String({
  pattern: `^${ENTITY_ID_PATTERN}$`,
  description: 'The id of the entity; its uuid where it has no integer id',
  examples: ['4711']
})
const Uuid = Type.String({
  pattern: `^${UUID_PATTERN}$`,
  description: 'The uuid of the entity',
  examples: ['5488028b-da9e-41aa-aa6a-f0b640c7436e']
})
const Language = Type.String({
  pattern: '^[A-Za-z0-9-]{1,32}$',
  description: 'The language of the translation that is saved',
  examples: ['en']
})
const Fields = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
  maxItems: FIELDS_MAX,
  uniqueItems: true,
  description: "The fields that differ, by Drupal's names",
  examples: [['title', 'field_articles']]
})
const Uid = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Drupal's uid of who saves",
  examples: ['7']
})
const Name = Type.String({
  maxLength: 255,
  description: 'What Drupal calls who saves',
  examples: ['Anna']
})

const Subject = { type: EntityType, id: EntityId, uuid: Uuid, language: Language }

/** A save that does not come through Quoin, before it is made. */
export const SaveQuestion = Type.Object(
  { ...Subject, fields: Fields, uid: Uid },
  { $id: 'SaveQuestion' }
)
export type SaveQuestion = Static<typeof SaveQuestion>

/** The locks in its way. */
export const SaveVerdict = Type.Object(
  {
    locks: Type.Array(
      Type.Object({
        fieldName: Type.String(),
        uid: Type.Union([Type.String(), Type.Null()]),
        name: Type.Union([Type.String(), Type.Null()])
      }),
      { description: 'Whose lock each field has that others hold, an entry a field' }
    )
  },
  {
    $id: 'SaveVerdict',
    examples: [{ locks: [{ fieldName: 'title', uid: '8', name: 'Bob' }] }]
  }
)
export type SaveVerdict = Static<typeof SaveVerdict>

/** A save that did not come through Quoin, after it was made. */
export const OutsideSave = Type.Object(
  {
    notice: Type.String({
      pattern: `^${UUID_PATTERN}$`,
      description: 'The id of what is told: a save that is told again has the same',
      examples: ['0b1e6a3c-6f0e-4a6b-9a53-0d1a4b1a4a11']
    }),
    kind: Type.Unsafe<'insert' | 'update' | 'delete'>({
      type: 'string',
      enum: ['insert', 'update', 'delete'],
      description: 'What was done'
    }),
    ...Subject,
    bundle: Type.Optional(
      Type.String({ maxLength: 64, description: 'The bundle of the entity', examples: ['daily'] })
    ),
    revision: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The revision that Drupal now shows by itself, if the save made one'
      })
    ),
    changed: Type.Optional(
      Type.Object(
        {
          before: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e11 })),
          after: Type.Integer({ minimum: 0, maximum: 1e11 })
        },
        { description: 'Its time of change before and after, in Unix seconds' }
      )
    ),
    fields: Fields,
    uid: Uid,
    name: Name,
    age: Type.Integer({
      minimum: 0,
      maximum: AGE_MAX,
      description: 'How long ago it was saved, in milliseconds'
    })
  },
  { $id: 'OutsideSave' }
)
export type OutsideSave = Static<typeof OutsideSave>

export const OutsideSaves = Type.Object({
  saves: Type.Array(ref(OutsideSave), { minItems: 1, maxItems: SAVES_MAX })
})

export const SavesHeard = Type.Object(
  { heard: Type.Integer({ description: 'How many saves Quoin knows of now, all that were told' }) },
  { examples: [{ heard: 1 }] }
)
