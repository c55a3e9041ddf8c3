import type { Tool } from './tool.ts'
import { readEdition } from './tools/read-edition.ts'

/** The tools, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [readEdition]
