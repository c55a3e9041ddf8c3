import { Type, type Static } from '@sinclair/typebox'
import { LockView } from '../locks/schemas.ts'
import { ref } from '../schema-parts.ts'

/** An edition's lock board. */
export const LockBoard = Type.Object({
  data: Type.Array(ref(LockView), { description: "The edition's own locks, then those of its articles in their order" }),
  meta: Type.Object({
    entities: Type.Integer({ description: 'How many entities are on the board: the edition and its articles' }),
    count: Type.Integer({ description: 'How many locks are in data' })
  })
}, { $id: 'LockBoard', examples: [{ data: LockView.examples, meta: { entities: 13, count: 1 } }] })
export type LockBoard = Static<typeof LockBoard>
