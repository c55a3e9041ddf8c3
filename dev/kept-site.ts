import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Change, Kept } from '../packages/drupal-stand-in/store.ts'

/** Beyond that a start drops what older revisions were, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024

/**
 * What was changed in the sample CMS, in a file: one change a line, as JSON. So the CMS has the
 * editions of an earlier life, as the lock store beside it has the locks of them.
 * @throws {Error} with one sentence for the user, where the file holds something else
 */
export function keepSite(file: string): Kept {
  const changes = changesIn(file)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, changes.map(lineOf).join(''))
  return { changes, keep: (change) => appendFileSync(file, lineOf(change)) }
}

const lineOf = (change: Change): string => `${JSON.stringify(change)}\n`

/** A process that is killed may leave the last line incomplete: nobody was answered about it. */
function changesIn(file: string): Change[] {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8')
  const lines = text.split('\n').slice(0, -1)
  try {
    const changes = lines.map((line) => JSON.parse(line) as Change)
    return text.length > MAX_BYTES ? newestOf(changes) : changes
  } catch (error) {
    throw new Error(
      `${file} is not what the sample CMS wrote: remove it, or start with --fresh, which forgets the locks too.`,
      { cause: error }
    )
  }
}

/** The last change of each entity, in the order in which the entities were first changed. */
function newestOf(changes: Change[]): Change[] {
  const newest = new Map<string, Change>()
  for (const change of changes) {
    const { entityType, uuid } = change.removed ?? change.saved
    newest.set(`${entityType} ${uuid}`, change)
  }
  return [...newest.values()]
}
