import { Type } from '@sinclair/typebox'
import { ANSWER_MAX, fittingRows } from '../answer-size.ts'
import { readToEdit } from '../edition-field.ts'
import { findingRow } from '../finding-rows.ts'
import { defineTool } from '../tool.ts'
import { authorOf, countWrite, saveOnce } from '../writing.ts'
import { EditionId } from './arguments.ts'
import { Tag } from './places.ts'

/** For the tag, and what is around the findings. */
const HEAD_MAX = 1000

export const closeEdition = defineTool({
  name: 'close_edition',
  needs: 'close',
  scope: 'close',
  title: 'Close an edition',
  description:
    'Closes an edition if check_readiness finds no blockers. Answers the new tag, and in since what came up meanwhile. NOT_READY: see blockers.',
  input: Type.Object({ id: EditionId, tag: Tag }, { additionalProperties: false }),
  writes: true,
  replaces: true,
  async run(call, args) {
    const { id, tag: ifMatch } = args
    const { services, request } = call
    await readToEdit(call, id)
    await countWrite(call)
    const editor = {
      ...authorOf(call),
      mayView: (entity: Parameters<typeof request.may>[1]) => request.may('view', entity)
    }
    return saveOnce(call, 'close_edition', args, async (attempt) => {
      const options = { ifMatch, attempt }
      const { uuid, etag, since } = await services.closing.close(
        id,
        request.caller,
        editor,
        options
      )
      const findings = since && fittingRows(since.map(findingRow), ANSWER_MAX - HEAD_MAX)
      return {
        result: { saved: true, tag: etag, since: findings },
        done: { uuid, etag }
      }
    })
  }
})
