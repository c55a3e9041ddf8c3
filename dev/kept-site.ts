import { hash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { CmsContent } from '../packages/drupal-stand-in/cms.ts'
import type { Change, Kept } from '../packages/drupal-stand-in/store.ts'

/** The file of the sample CMS in DATA_DIR: a heading, then one change a line, as JSON. */
const FILE = 'cms.ndjson'

/** The directory of the lock store beside it. */
export const LOCKS = 'dynamodb'

/** Where both go that do not belong to this release. */
const ASIDE = 'set-aside'

/** A release that keeps changes in another form counts this up. */
const FORMAT = 1

/** Beyond that older revisions are dropped, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024

/** Beyond that the sample CMS takes no more changes. */
const FULL_BYTES = 4 * MAX_BYTES

const KeptEntity = Type.Object({
  entityType: Type.String(),
  bundle: Type.String(),
  uuid: Type.String(),
  id: Type.Union([Type.Integer(), Type.String()]),
  revision: Type.Integer(),
  fields: Type.Record(Type.String(), Type.Array(Type.Record(Type.String(), Type.Unknown())))
})
const KeptChange = Type.Union([
  Type.Object({ saved: KeptEntity }),
  Type.Object({ removed: Type.Pick(KeptEntity, ['entityType', 'uuid']) })
])

/** The file, open for more changes. */
interface SiteFile {
  path: string
  heading: string
  bytes: number
  /** At how many bytes older revisions are dropped. */
  limit: number
}

/** What the sample CMS has of earlier lives. */
export interface KeptSite {
  kept: Kept
  /** What was set aside and why, in a sentence; undefined where nothing was. */
  notice?: string
}

/** Forgets the locks and the editions of earlier lives. */
export function forget(dataDir: string): void {
  for (const name of [FILE, LOCKS, ASIDE]) {
    rmSync(join(dataDir, name), { recursive: true, force: true })
  }
}

/**
 * Opens what the sample CMS keeps in `dataDir`. So the CMS has the editions of an earlier life, as
 * the lock store beside it has the locks of them. A file that is broken, or of another release, is
 * set aside together with the locks: they are of editions that are not there.
 * @throws {Error} where the directory cannot be read or written
 */
export function openSite(dataDir: string, content: CmsContent): KeptSite {
  mkdirSync(dataDir, { recursive: true })
  const path = join(dataDir, FILE)
  const heading = `${JSON.stringify({ format: FORMAT, content: fingerprint(content) })}\n`
  const found = changesIn(path, heading, existsSync(join(dataDir, LOCKS)))
  if (found.problem !== undefined) setAside(dataDir)
  const file = { path, heading, bytes: 0, limit: MAX_BYTES }
  if (found.isWhole && found.bytes <= MAX_BYTES) file.bytes = found.bytes
  else rewrite(file, found.bytes > MAX_BYTES ? newestOf(found.changes) : found.changes)
  return {
    kept: { changes: found.changes, keep: (change) => append(file, change) },
    ...(found.problem !== undefined && {
      notice: `${found.problem}. It is in ${join(dataDir, ASIDE)}/ now, with the locks that belong to it, and the sample CMS begins anew.`
    })
  }
}

/** Tells contents apart: changes of one mean nothing to another. */
function fingerprint({ entities }: CmsContent): string {
  return hash('sha256', JSON.stringify(entities), 'base64url').slice(0, 16)
}

interface Found {
  changes: Change[]
  bytes: number
  /** Whether the file may stay as it is. */
  isWhole: boolean
  /** Why the file is of no use. */
  problem?: string
}

/**
 * The changes in a file. A process that is killed may leave the last line incomplete: nobody was
 * answered about it.
 */
function changesIn(path: string, heading: string, hasLocks: boolean): Found {
  const nothing = { changes: [], bytes: 0, isWhole: false }
  if (!existsSync(path)) {
    return hasLocks ? { ...nothing, problem: `The lock store has locks of another CMS` } : nothing
  }
  if (statSync(path).size > 2 * FULL_BYTES) return { ...nothing, problem: `${path} is too large` }
  const text = readFileSync(path, 'utf8')
  if (!text.startsWith(heading)) {
    return { ...nothing, problem: `${path} is of another release of Quoin, or broken` }
  }
  const lines = text.split('\n')
  const rest = lines.pop()
  const changes: Change[] = []
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue
    const change = parsed(line)
    if (change === undefined) {
      return { ...nothing, problem: `${path} is broken in line ${index + 1}` }
    }
    changes.push(change)
  }
  return { changes, bytes: Buffer.byteLength(text), isWhole: rest === '' }
}

function parsed(line: string): Change | undefined {
  try {
    const change: unknown = JSON.parse(line)
    return Value.Check(KeptChange, change) ? (change as Change) : undefined
  } catch {
    return undefined
  }
}

/** Moves the file and the locks away; what was moved there before goes. */
function setAside(dataDir: string): void {
  const aside = join(dataDir, ASIDE)
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside)
  for (const name of [FILE, LOCKS]) {
    if (existsSync(join(dataDir, name))) renameSync(join(dataDir, name), join(aside, name))
  }
}

function lineOf(change: Change): string {
  return `${JSON.stringify(change)}\n`
}

/** @throws {Error} where the file is full, or cannot be written; the change is not kept then */
function append(file: SiteFile, change: Change): void {
  const line = lineOf(change)
  const bytes = Buffer.byteLength(line)
  if (file.bytes + bytes > file.limit) {
    rewrite(file, newestOf(changesIn(file.path, file.heading, false).changes))
    file.limit = Math.max(MAX_BYTES, 2 * file.bytes)
  }
  if (file.bytes + bytes > FULL_BYTES) {
    throw new Error(
      `${file.path} is full: start with --fresh, which forgets the editions and the locks.`
    )
  }
  try {
    appendFileSync(file.path, line)
  } catch (error) {
    // Or the next change would go on in the middle of this one.
    truncateSync(file.path, file.bytes)
    throw error
  }
  file.bytes += bytes
}

/** Writes the file anew. Whoever ends meanwhile leaves the old one or the new one, each whole. */
function rewrite(file: SiteFile, changes: Change[]): void {
  const text = file.heading + changes.map(lineOf).join('')
  const next = `${file.path}.new`
  writeFileSync(next, text, { flush: true })
  renameSync(next, file.path)
  file.bytes = Buffer.byteLength(text)
}

/**
 * The last state of each entity, in the order in which the entities were first changed. One that
 * was removed keeps its id, so that no other gets it.
 */
function newestOf(changes: Change[]): Change[] {
  const newest = new Map<string, Change[]>()
  for (const change of changes) {
    const { entityType, uuid } = change.removed ?? change.saved
    const key = `${entityType} ${uuid}`
    const last = newest.get(key)?.find(({ removed }) => !removed)
    newest.set(key, change.removed && last ? [last, change] : [change])
  }
  return [...newest.values()].flat()
}
