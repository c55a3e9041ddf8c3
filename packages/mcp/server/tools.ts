import type { Tool } from './tool.ts'
import { arrangeArticles } from './tools/arrange-articles.ts'
import { askForField } from './tools/ask-for-field.ts'
import { editField } from './tools/edit-field.ts'
import { saveText } from './tools/save-text.ts'
import { startEditing } from './tools/start-editing.ts'
import { stopEditing } from './tools/stop-editing.ts'
import { proposeText } from './tools/propose-text.ts'
import { withdrawProposal } from './tools/withdraw-proposal.ts'
import { readEdition } from './tools/read-edition.ts'

/** The tools, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  readEdition,
  editField,
  arrangeArticles,
  startEditing,
  saveText,
  stopEditing,
  askForField,
  proposeText,
  withdrawProposal
]
