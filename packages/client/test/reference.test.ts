import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { ROOT } from '../../../test/app/fixtures/processes.ts'

const page = readFileSync(join(ROOT, 'docs/client.md'), 'utf8')

/** Members of the client's interfaces, by interface. */
const members = new Map(
  globSync('packages/client/src/*.ts', { cwd: ROOT }).flatMap((path) =>
    ts
      .createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.ESNext, true)
      .statements.filter(ts.isInterfaceDeclaration)
      .map((node): [string, ts.TypeElement[]] => [node.name.text, [...node.members]])
  )
)
const namesOf = (name: string) => members.get(name)!.map((member) => member.name!.getText())

/** A part of the page, from its heading to the next one. */
function part(heading: string): string {
  const start = page.indexOf(`### ${heading}\n`)
  const text = page.slice(start + 1)
  const end = text.search(/\n##/)
  return start < 0 ? '' : text.slice(0, end < 0 ? undefined : end)
}

/** What the rows of a table name in their first column. */
const namedIn = (text: string) =>
  [...text.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)/g)].map(([, name]) => name!))

for (const [heading, names] of [
  ['createClient', [...namesOf('ClientOptions'), ...namesOf('HttpOptions')]],
  ['locks', namesOf('Locks')],
  ['editions', namesOf('Editions')],
  ['Listeners', namesOf('Listener')],
  ['Errors', [...new Set([...namesOf('EditionDetails'), ...namesOf('LockDetails'), 'UNREACHABLE', 'INVALID_RESPONSE'])]]
] as const) {
  t.test(`docs/client.md names each of ${heading}, and nothing else`, async (t) => {
    t.ok(names.length > 4)
    t.strictSame(namedIn(part(heading)).sort(), [...names].sort())
  })
}

t.test('it names what a lock and an error have, and the options of methods', async (t) => {
  const locks = part('locks')
  for (const name of namesOf('Held')) t.match(locks, new RegExp(`\`${name}\\b`), name)
  for (const name of ['status', 'code', 'body', 'lock', 'locks', 'retryAfter', 'uuid', 'passes']) {
    t.match(part('Errors'), `\`${name}\``, name)
  }
  const search = namesOf('Search')
  t.ok(search.length > 8)
  for (const name of search) t.match(/`search\((.*?)\)`/.exec(part('editions'))![1], new RegExp(`\\b${name}\\b`), name)
  for (const name of ['ifMatch', 'idempotencyKey']) t.match(part('editions'), `\`${name}\``)
})

t.test('what the details of an error have is beside its code', async (t) => {
  for (const table of ['EditionDetails', 'LockDetails']) {
    for (const member of members.get(table)!) {
      const row = part('Errors')
        .split('\n')
        .find((line) => line.startsWith('|') && line.split('|')[1]!.includes(`\`${member.name!.getText()}\``))!
      const { type } = member as ts.PropertySignature
      for (const { name } of (type as ts.TypeLiteralNode).members) {
        t.match(row.split('|')[2], new RegExp(`\`(?:error\\.)?${name!.getText()}\``), `${member.name!.getText()}: ${name!.getText()}`)
      }
    }
  }
})
