import type { Tool } from './tool.ts'
import { arrangeArticles } from './tools/arrange-articles.ts'
import { askForField } from './tools/ask-for-field.ts'
import { checkReadiness } from './tools/check-readiness.ts'
import { editField } from './tools/edit-field.ts'
import { findArticles } from './tools/find-articles.ts'
import { findEditions } from './tools/find-editions.ts'
import { proposeText } from './tools/propose-text.ts'
import { readArticle } from './tools/read-article.ts'
import { readEdition } from './tools/read-edition.ts'
import { readJournal } from './tools/read-journal.ts'
import { saveText } from './tools/save-text.ts'
import { startEditing } from './tools/start-editing.ts'
import { stopEditing } from './tools/stop-editing.ts'
import { withdrawProposal } from './tools/withdraw-proposal.ts'

/** The tools, in the order in which they are listed. */
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
  withdrawProposal
]
