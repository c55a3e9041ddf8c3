import { Type } from '@sinclair/typebox'
import type { Attempt } from '../../../../lib/editions/save/attempt.ts'
import { Failure, type FailureCode } from '../../../../lib/errors.ts'
import {
  foresee,
  isSame,
  itemsFor,
  keptText,
  readField,
  refusePublishing,
  type EditionField
} from '../edition-field.ts'
import { giveBack, stays, takeLock, type TakenLock } from '../locking.ts'
import { defineTool, type WritingCall } from '../tool.ts'
import { authorOf, countWrite, saveOnce, type DoneOnce } from '../writing.ts'
import { EditionId } from './arguments.ts'
import { FieldName, Tag, Version } from './places.ts'

/** A change of one field. */
interface FieldEdit {
  id: string
  field: string
  /** The value as the agent gives it, and as it is saved. */
  value: unknown
  items: unknown
  tag: string
  version: string | undefined
}

export const editField = defineTool({
  name: 'edit_field',
  scope: 'edit',
  title: 'Change a field of an edition',
  description:
    'Replaces the value of one field of an edition: locks it, saves, gives the lock back. Answers the new tag. Articles cannot be saved: propose_text. Called again with the same arguments it saves once.',
  input: Type.Object(
    {
      id: EditionId,
      field: FieldName,
      value: Type.Union(
        [Type.String(), Type.Number(), Type.Boolean(), Type.Null(), Type.Array(Type.Unknown())],
        { description: 'The text or value, the list of all items, or null to empty it' }
      ),
      tag: Tag,
      version: Type.Optional({ ...Version, description: 'Of your lock, if you hold the field' }),
      check: Type.Optional(Type.Boolean({ description: 'Only foresee, write nothing' }))
    },
    { additionalProperties: false }
  ),
  writes: true,
  replaces: true,
  async run(call, { check = false, ...args }) {
    const { id, field, value, tag, version } = args
    refusePublishing(call.model, field)
    const present = await readField(call, id, field)
    const items = itemsFor(value, field, present, call.model)
    if (check) return checkEdit(call, present, { field, tag, version }, items)
    await countWrite(call)
    return saveOnce(call, 'edit_field', args, (attempt) =>
      editLocked(call, present, { id, field, value, items, tag, version }, attempt)
    )
  }
})

async function checkEdit(
  call: WritingCall,
  present: EditionField,
  expected: { field: string; tag: string; version: string | undefined },
  items: unknown
): Promise<object> {
  const isChanged = !isSame(present.items, items)
  const forecast = await foresee(call, present, expected, isChanged)
  return { ...forecast, ...(isChanged && { stored: present.items }) }
}

/** Saves a field under its lock, which is given back in every case. */
async function editLocked(
  call: WritingCall,
  { entity }: EditionField,
  { id, field, value, items, tag, version }: FieldEdit,
  attempt: Attempt
): Promise<DoneOnce> {
  const { services, request } = call
  const lock = await takeLock(call, entity, field, { version, payload: keptText(value) })
  const taken = { entity, fieldName: field, lock }
  const options = { ...authorOf(call), ifMatch: tag, lockVersions: [lock.version], attempt }
  const { uuid, etag } = await services.editions
    .update(id, { [field]: items }, request.caller, options)
    .catch((error) => giveBackUnsaved(call, taken, error))
  const endsAt = await giveBack(call, taken, false)
  return {
    result: { saved: true, tag: etag, ...(endsAt !== undefined && { ownLock: stays(endsAt) }) },
    done: { uuid, etag }
  }
}

/** Failures of a caller who may not have been told that nothing was saved. */
const UNTOLD: readonly FailureCode[] = ['CALLER_GONE', 'REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN']

/**
 * Gives the lock of a failed save back. Where it is not sure that nothing was saved, and that the
 * agent is told so, the text is kept as a draft.
 * @throws the failure, which says so where the lock stays
 */
async function giveBackUnsaved(
  call: WritingCall,
  taken: TakenLock,
  error: unknown
): Promise<never> {
  const isRefused =
    error instanceof Failure && error.statusCode < 500 && !UNTOLD.includes(error.code)
  const endsAt = await giveBack(call, taken, !isRefused)
  if (endsAt === undefined || !(error instanceof Failure)) throw error
  const { code, message, cause, details, headers, isLogged } = error
  throw new Failure(code, message, {
    cause,
    headers,
    isLogged,
    details: { ...details, ownLock: stays(endsAt) }
  })
}
