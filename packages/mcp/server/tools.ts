import type { Config } from '../../../config/env.ts'
import type { Tool } from './tool.ts'
import { arrangeArticles } from './tools/arrange-articles.ts'
import { askForField } from './tools/ask-for-field.ts'
import { checkReadiness } from './tools/check-readiness.ts'
import { closeEdition } from './tools/close-edition.ts'
import { editField } from './tools/edit-field.ts'
import { findArticles } from './tools/find-articles.ts'
import { findEditions } from './tools/find-editions.ts'
import { proposeText } from './tools/propose-text.ts'
import { publishEdition } from './tools/publish-edition.ts'
import { readArticle } from './tools/read-article.ts'
import { readEdition } from './tools/read-edition.ts'
import { readJournal } from './tools/read-journal.ts'
import { restoreFields } from './tools/restore-fields.ts'
import { saveText } from './tools/save-text.ts'
import { startEditing } from './tools/start-editing.ts'
import { stopEditing } from './tools/stop-editing.ts'
import { withdrawProposal } from './tools/withdraw-proposal.ts'

/** All tools, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  findEditions,
  findArticles,
  readEdition,
  readArticle,
  checkReadiness,
  readJournal,
  editField,
  arrangeArticles,
  startEditing,
  saveText,
  stopEditing,
  askForField,
  proposeText,
  withdrawProposal,
  publishEdition,
  closeEdition,
  restoreFields
]

const GIVING_BACK = new Set(TOOLS.filter(({ givesBack }) => givesBack).map(({ name }) => name))

/** Whether a message calls a tool that gives back what an agent has. @param body not checked yet */
export function isGivingBack(body: unknown): boolean {
  const { method, params } = (body ?? {}) as {
    method?: unknown
    params?: { name?: unknown } | null
  }
  return method === 'tools/call' && GIVING_BACK.has(String(params?.name))
}

/** Whether the settings allow a tool. */
export function isAllowed({ needs }: Tool, { mcpAllow }: Pick<Config, 'mcpAllow'>): boolean {
  return needs === undefined || mcpAllow.includes(needs)
}
