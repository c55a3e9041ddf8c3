import { Type } from '@sinclair/typebox'
import { ANSWER_MAX, fittingRows } from '../answer-size.ts'
import { findingRow, meaningsOf } from '../finding-rows.ts'
import { defineTool } from '../tool.ts'
import { EditionId } from './arguments.ts'

/** For the numbers and the meanings of the codes. */
const HEAD_MAX = 1500

export const checkReadiness = defineTool({
  name: 'check_readiness',
  title: 'Check whether an edition is ready',
  description:
    'Says what speaks against closing an edition: its fields, its articles, locks and kept texts of others. Closes nothing.',
  scope: 'read',
  input: Type.Object(
    {
      id: EditionId,
      from: Type.Optional(Type.Integer({ minimum: 0, description: 'As `more` says' }))
    },
    { additionalProperties: false }
  ),
  async run({ request, services, agent }, { id, from = 0 }) {
    await request.demand('view', services.boards.edition(id))
    const { ready, blockers, warnings } = await services.closing.readiness(id, request.caller, {
      uid: agent?.uid ?? request.uid,
      mayView: (entity) => request.may('view', entity)
    })
    const findings = [...blockers, ...warnings].slice(from)
    const rows = findings.map((finding) => ({
      ...(blockers.includes(finding) && { blocks: true }),
      ...findingRow(finding)
    }))
    const shown = fittingRows(rows, ANSWER_MAX - HEAD_MAX)
    return {
      ready,
      blockers: blockers.length,
      warnings: warnings.length,
      findings: shown,
      meanings: meaningsOf(findings),
      ...(shown.length < rows.length && { more: { from: from + shown.length } })
    }
  }
})
