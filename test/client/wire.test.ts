import type { Static } from '@sinclair/typebox'
import t from 'tap'
import type * as Wire from '../../packages/client/src/wire.ts'
import type { EditionJson, Item } from '../../lib/editions/translate/read.ts'
import type { EditionBody, EditionList, NamedList } from '../../lib/editions/schemas.ts'
import type { FailureCode } from '../../lib/errors.ts'
import type { Draft, Entity, Holder, LockRecord, LockView } from '../../lib/locks/schemas.ts'

/** Whether two types have the same members, and each may stand for the other. */
type Same<One, Other> = [keyof One, keyof Other, One, Other] extends [keyof Other, keyof One, Other, One] ? true : false

/** The client's own types, and those that the service validates and documents by: `tsc` fails where they differ. */
const same: [
  Same<Wire.Item, Item>,
  Same<Wire.Edition, EditionJson>,
  Same<Wire.EditionBody, Static<typeof EditionBody>>,
  Same<Omit<Wire.EditionPage, 'data'>, Omit<Static<typeof EditionList>, 'data'>>,
  Same<Wire.Named, Static<typeof NamedList>['data'][number]>,
  Same<Wire.LockedEntity, Entity>,
  Same<Wire.Holder, Holder>,
  Same<Wire.LockView, LockView>,
  Same<Wire.LockRecord, LockRecord>,
  Same<Wire.Draft, Draft>,
  Same<Wire.FailureCode, FailureCode>
] = [true, true, true, true, true, true, true, true, true, true, true]

t.test("the client's types are those of the service", async (t) => {
  t.ok(same.every(Boolean))
})
