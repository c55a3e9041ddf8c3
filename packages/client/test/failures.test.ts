import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { ROOT } from '../../../test/app/fixtures/processes.ts'

/** Details by the code of their failure. */
type Table = Record<string, string[]>

/**
 * Where a failure gets its details in a way that its call does not show, and which these are. The
 * codes are those of any failure that is handed on.
 */
const ELSEWHERE: Record<string, string> = {
  'lib/editions/save/outcome.ts': 'uuid',
  'lib/locks/release.ts': 'failed'
}

const parse = (path: string): ts.SourceFile =>
  ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.ESNext, true)

function nodesIn(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = []
  node.forEachChild((child) => {
    children.push(child)
  })
  return [node, ...children.flatMap(nodesIn)]
}

/** The names of an object's members, or of those of either object that it may be. */
function membersOf(node: ts.Expression): string[] | undefined {
  if (ts.isConditionalExpression(node)) {
    const either = [membersOf(node.whenTrue), membersOf(node.whenFalse)]
    return either.every((names) => names !== undefined) ? either.flat() : undefined
  }
  return ts.isObjectLiteralExpression(node) ? node.properties.map(({ name }) => name!.getText()) : undefined
}

/** The details of the failures that the service's code throws, by their codes, and of those that are handed on. */
function thrown(paths: string[]): { known: Table; elsewhere: string[] } {
  const known: Table = {}
  const elsewhere: string[] = []
  for (const path of paths) {
    for (const node of nodesIn(parse(path))) {
      if (!ts.isNewExpression(node) || node.expression.getText() !== 'Failure') continue
      const [code, , options] = node.arguments!
      if (!options || !ts.isObjectLiteralExpression(options)) continue
      const details = options.properties.find((property) => property.name?.getText() === 'details')
      if (!details) continue
      const names = ts.isPropertyAssignment(details) ? membersOf(details.initializer) : undefined
      if (names && ts.isStringLiteral(code!)) known[code.text] = [...new Set([...(known[code.text] ?? []), ...names])].sort()
      else elsewhere.push(path)
    }
  }
  return { known, elsewhere }
}

/** The members of the client's tables, by code. */
function declared(name: string): Table {
  const table = nodesIn(parse('packages/client/src/failures.ts')).find(
    (node): node is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(node) && node.name.text === name
  )!
  return Object.fromEntries(
    table.members.map((member) => [
      member.name!.getText(),
      nodesIn(member)
        .filter(ts.isPropertySignature)
        .slice(1)
        .map(({ name }) => name.getText())
    ])
  )
}

const sources = globSync(['app.ts', '{lib,plugins,routes}/**/*.ts'], { cwd: ROOT })

t.test('the table of what errors have in their bodies is what the service throws', async (t) => {
  const { known, elsewhere } = thrown(sources)
  t.strictSame(elsewhere.sort(), Object.keys(ELSEWHERE))
  const [editions, locks] = [declared('EditionDetails'), declared('LockDetails')]
  const all: Table = {}
  for (const [code, names] of [...Object.entries(editions), ...Object.entries(locks)]) {
    const own = names.filter((name) => !Object.values(ELSEWHERE).includes(name))
    if (own.length > 0) all[code] = [...(all[code] ?? []), ...own].sort()
  }
  t.strictSame(all, known)
  t.strictSame(locks['STORE_UNAVAILABLE'], ['failed'])
  t.strictSame(locks['STORE_FAILED'], ['failed'])
})

t.test('details that the table does not have are found', async (t) => {
  const { known } = thrown(sources)
  t.strictSame(Object.keys(known).sort(), ['FIELD_LOCKED', 'FORBIDDEN', 'LOCK_CHANGED', 'NOT_READY', 'ORDER_CONFLICT', 'UNPROCESSABLE'])
  t.strictSame(known['FIELD_LOCKED'], ['lock', 'locks'])
})

t.test('failures that only editions have, or only locks, come from nowhere else', async (t) => {
  const codesIn = (pattern: string[]) =>
    globSync(pattern, { cwd: ROOT }).flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(/'([A-Z]+(?:_[A-Z]+)+|UNPROCESSABLE)'/g)].map(([, code]) => code!)
    )
  const ofLocks = new Set(
    codesIn(['lib/locks/**/*.ts', 'routes/lock*.ts', 'routes/drafts.ts', 'routes/petitions.ts', 'routes/presence.ts'])
  )
  const ofEditions = new Set(
    codesIn([
      'lib/editions/**/*.ts',
      'lib/boards/**/*.ts',
      'lib/saves/**/*.ts',
      'routes/{editions,closing,upserts,boards,lists,journal}.ts'
    ])
  )
  for (const code of ['NOT_READY', 'ORDER_CONFLICT', 'UNPROCESSABLE']) {
    t.strictSame([ofEditions.has(code), ofLocks.has(code)], [true, false], code)
  }
  for (const code of ['LOCK_CHANGED', 'FIELD_NOT_LOCKED']) t.strictSame([ofEditions.has(code), ofLocks.has(code)], [false, true], code)
})
