import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { ROOT } from './fixtures/processes.ts'

const DOCUMENT = 'docs/memories.md'

/** What is made anew for each request, although a function makes it whose name begins as those of contexts do. */
const OF_ONE_REQUEST = new Set(['lib/http/aborter.ts listeners'])

const CONTAINER = /\bnew (LRUCache|Map|Set|WeakMap|WeakSet)\b/g
/** The rest of the line behind an empty container. One that is filled where it is made is a table of constants. */
const EMPTY = /^(?:<.*>)?\(\)/
const TOP_LEVEL_FUNCTION = /^(?:export )?(?:default )?(?:async )?function (\w+)/
/** The functions that put together what lives as long as the process. All of plugins/ do. */
const MAKER = /^(?:create|new|open)[A-Z]|Context$/

/** What a file keeps longer than a request, by name. */
function memoriesIn(path: string, text: string): string[] {
  const names: string[] = []
  const lines = text.split('\n')
  let maker: string | undefined
  for (const [index, line] of lines.entries()) {
    if (/^\S/.test(line) && !/^[)}\]]/.test(line)) maker = TOP_LEVEL_FUNCTION.exec(line)?.[1] ?? undefined
    for (const { 0: container, 1: kind, index: at } of line.matchAll(CONTAINER)) {
      const isEmpty = EMPTY.test(line.slice(at + container.length))
      const isModuleLevel = maker === undefined && /^(?:export )?const /.test(line)
      const isOfMaker = maker !== undefined && (MAKER.test(maker) || path.startsWith('plugins/')) && isOwnStatement(lines, index)
      if (kind === 'LRUCache' || (isEmpty && (isModuleLevel || isOfMaker))) names.push(nameOf(line.slice(0, at), maker))
    }
  }
  return [...new Set(names)].filter((name) => !OF_ONE_REQUEST.has(`${path} ${name}`))
}

/** Whether a line belongs to the function of the file's top level itself, or to an object in it, and not to a function within. */
function isOwnStatement(lines: string[], index: number): boolean {
  const indentOf = (line: string) => /^ */.exec(line)![0].length
  let indent = indentOf(lines[index]!)
  for (let at = index; at > 0 && indent > 0; at--) {
    const line = lines[at]!
    if (line.trim() === '' || indentOf(line) >= indent) continue
    indent = indentOf(line)
    if (indent > 0 && /=> \{$|\bfunction\b|^\s*\w+ ?\([^=]*\)(?:: .*)? \{$|^\s*\).* \{$|^\s*(?:if|for|while)\b/.test(line)) return false
  }
  return /^ *(?:const |\w+: new |return |fastify\.decorate)/.test(lines[index]!)
}

/** The member, the constant or the decorator that is filled; else the function that makes it. @param before the line up to there */
function nameOf(before: string, maker: string | undefined): string {
  const [, member] = /(\w+): $/.exec(before) ?? []
  const [, constant, decorator] = /(?:\bconst (\w+)\b|decorate\('(\w+)')/.exec(before) ?? []
  return member ?? constant ?? decorator ?? maker ?? before.trim()
}

/** The rows of the table: a file, and the names of what it keeps. */
function rowsOf(text: string): string[] {
  return [...text.matchAll(/^\| (.*?)\[([^\]]+)\]\(\.\.\/\2\) \|/gm)].flatMap(([, cell, path]) =>
    [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => `${path} ${name}`)
  )
}

t.test('docs/memories.md has each memory of the process, and no other', async (t) => {
  const paths = globSync('{lib,plugins,routes}/**/*.ts', { cwd: ROOT })
  const memories = paths.flatMap((path) => memoriesIn(path, readFileSync(`${ROOT}/${path}`, 'utf8')).map((name) => `${path} ${name}`))
  const rows = rowsOf(readFileSync(`${ROOT}/${DOCUMENT}`, 'utf8'))
  const missing = memories.filter((memory) => !rows.includes(memory))
  const gone = rows.filter((row) => !memories.includes(row))
  const rowFor = (memory: string) =>
    memory.replace(/^(\S+) (\w+)$/, 'add to the table: | `$2`, [$1](../$1) | what | how long | how large | what ends it |')
  t.strictSame(missing.map(rowFor), [], `what ${DOCUMENT} lacks`)
  t.strictSame(
    gone.map((row) => `take out of the table: ${row}`),
    [],
    `what ${DOCUMENT} has that is gone`
  )
  t.equal(new Set(rows).size, rows.length, 'each once')
  t.ok(memories.length > 40)
})
