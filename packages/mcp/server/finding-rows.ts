import type { Finding } from '../../../lib/boards/schemas.ts'
import type { FindingCode } from '../../../lib/editions/model.ts'
import { shortened } from './answer-size.ts'
import { lockRow, personRow, timesOf } from './lock-rows.ts'

/** What the codes of findings say, without a name in it. */
export const FINDINGS: Readonly<Record<FindingCode, string>> = {
  LOCKED: 'Somebody is editing the field.',
  LOCK_IDLE: 'Somebody has opened the field and typed nothing yet.',
  DRAFT_KEPT: 'A text that somebody typed is kept: a person restores or discards it.',
  ARTICLE_UNPUBLISHED: 'The article is not published.',
  ARTICLE_GONE: 'The article is gone: take it out of the running order.',
  ARTICLE_HIDDEN: 'You may not see the article, or whether it is published.',
  ARTICLE_TWICE: 'The article is in the edition more than once.',
  FIELD_EMPTY: 'The field is empty, or you may not see it.',
  ORDER_EMPTY: 'The edition has no articles.'
}

/** A finding as agents are shown it: whose lock or text it is stands in values. */
export function findingRow({
  code,
  entityType,
  entityId,
  fieldName,
  lock,
  draft
}: Finding): object {
  return {
    code,
    entityType,
    entityId,
    ...(fieldName !== undefined && { fieldName: shortened(fieldName) }),
    ...(lock && { lock: lockRow(lock) }),
    ...(draft && {
      draft: {
        ...personOf(draft),
        ...timesOf({ since: draft.timestamp, displacedAt: draft.displacedAt })
      }
    })
  }
}

function personOf({ userData, fieldName }: NonNullable<Finding['draft']>): object {
  return { fieldName: shortened(fieldName), author: personRow(userData) }
}

/** What the codes of these findings say, each once. */
export function meaningsOf(findings: Finding[]): Partial<Record<FindingCode, string>> {
  return Object.fromEntries(findings.map(({ code }) => [code, FINDINGS[code]]))
}
