import fs, { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { forget, openSite } from '../../dev/kept-site.ts'
import { createStore, type Change } from '../../packages/drupal-stand-in/store.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { everything } from '../scope.ts'

const MIB = 1024 * 1024
const content = newspaper()

function edition(uuid: string, revision: number, title = 'Made here'): Change {
  return {
    saved: { entityType: 'publisher_container', bundle: 'daily', uuid, id: revision, revision, fields: { title: [{ value: title }] } }
  }
}

const removal = (uuid: string): Change => ({ removed: { entityType: 'publisher_container', uuid } })

function directory(t: Test): { dataDir: string; path: string; open: () => ReturnType<typeof openSite> } {
  const dataDir = join(emptyDirectory(t), 'data')
  return { dataDir, path: join(dataDir, 'cms.ndjson'), open: () => openSite(dataDir, content) }
}

t.test('a next life has the changes of an earlier one, but for a line that a kill left incomplete', async (t) => {
  const { path, open } = directory(t)
  const first = open()
  t.strictSame([first.kept.changes, first.notice], [[], undefined])
  first.kept.keep(edition('a', 61))
  first.kept.keep(removal('a'))
  const whole = readFileSync(path, 'utf8')
  t.strictSame(open().kept.changes, [edition('a', 61), removal('a')])
  t.equal(readFileSync(path, 'utf8'), whole)

  for (const length of [1, 20, JSON.stringify(edition('b', 62)).length]) {
    writeFileSync(path, whole + JSON.stringify(edition('b', 62)).slice(0, length))
    const { kept, notice } = open()
    t.strictSame([kept.changes, notice], [[edition('a', 61), removal('a')], undefined])
    t.equal(readFileSync(path, 'utf8'), whole, 'what comes next does not go on in that line')
  }
})

t.test('a file that is broken or of another release is told and set aside with the locks', async (t) => {
  const { dataDir, path, open } = directory(t)
  open().kept.keep(edition('a', 61))
  const [heading, line] = readFileSync(path, 'utf8').split('\n') as [string, string]
  const other = directory(t)
  openSite(other.dataDir, singleBundleNewspaper())
  for (const [text, said] of [
    ['mine\n', /^\S+cms\.ndjson is of another release of Quoin, or broken\. It is in \S+set-aside\/ now, with the locks/],
    ['', /another release/],
    [`${line}\n`, /another release/],
    [readFileSync(other.path, 'utf8'), /another release/],
    [`${heading}\n${line}\n{"saved":{"entityType":"publisher_con\n${line}\n`, /cms\.ndjson is broken in line 3\./],
    [`${heading}\n{"saved":{"entityType":"node"}}\n`, /broken in line 2/],
    [`${heading}\nnull\n`, /broken in line 2/]
  ] as const) {
    writeFileSync(path, text)
    mkdirSync(join(dataDir, 'dynamodb'))
    const { kept, notice } = open()
    t.match(notice, said)
    t.strictSame(kept.changes, [])
    t.equal(readFileSync(join(dataDir, 'set-aside/cms.ndjson'), 'utf8'), text, 'what was there can still be had')
    t.strictSame(readdirSync(dataDir).sort(), ['cms.ndjson', 'set-aside'], 'and nothing of the locks is left')
    t.equal(open().notice, undefined, 'it is told once')
  }
  fs.truncateSync(path, 129 * MIB)
  t.match(open().notice, /cms\.ndjson is too large/)
})

t.test('locks without a file of the sample CMS are of another CMS', async (t) => {
  const { dataDir, open } = directory(t)
  mkdirSync(join(dataDir, 'dynamodb'), { recursive: true })
  t.match(open().notice, /^The lock store has locks of another CMS\. It is in \S+set-aside\/ now/)
  t.strictSame(readdirSync(join(dataDir, 'set-aside')), ['dynamodb'])
})

t.test('forget leaves nothing', async (t) => {
  const { dataDir, path, open } = directory(t)
  open()
  mkdirSync(join(dataDir, 'dynamodb'))
  writeFileSync(path, 'mine\n')
  open()
  mkdirSync(join(dataDir, 'dynamodb'))
  forget(dataDir)
  t.strictSame(readdirSync(dataDir), [])
  forget(join(dataDir, 'nowhere'))
})

t.test('a large file drops older revisions while it grows, and gives no id twice', async (t) => {
  const { path, open } = directory(t)
  const { keep } = open().kept
  const text = 'x'.repeat(MIB)
  keep(edition('gone', 70))
  keep(removal('gone'))
  for (let revision = 71; revision < 100; revision++) keep(edition('a', revision, text))
  t.ok(statSync(path).size <= 16 * MIB)
  const { kept } = open()
  t.strictSame(kept.changes.slice(0, 2), [edition('gone', 70), removal('gone')])
  t.strictSame(kept.changes.at(-1), edition('a', 99, text))
  t.notOk(existsSync(`${path}.new`))
  const { insert } = createStore(content.entities, { ...kept, keep: () => {} })
  t.equal(insert({ entityType: 'publisher_container', bundle: 'daily', uuid: 'b', fields: {} }).id, 100)
})

if (everything) {
  t.test('a full file takes no more, and keeps what it has', async (t) => {
    const { path, open } = directory(t)
    const { keep } = open().kept
    const text = 'x'.repeat(15 * MIB)
    for (let id = 61; id < 65; id++) keep(edition(`n${id}`, id, text))
    t.throws(() => keep(edition('one-more', 65, text)), {
      message: `${path} is full: start with --fresh, which forgets the editions and the locks.`
    })
    t.ok(statSync(path).size <= 64 * MIB)
    const { kept, notice } = open()
    t.strictSame([kept.changes.length, notice], [4, undefined])
  })
}

t.test('a change that is written in part leaves no broken line', async (t) => {
  const { path, open } = directory(t)
  const { keep } = open().kept
  keep(edition('a', 61))
  const append = fs.appendFileSync
  mock.method(fs, 'appendFileSync', (to: string, line: string) => {
    append(to, line.slice(0, 20))
    throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  })
  syncBuiltinESMExports()
  t.throws(() => keep(edition('b', 62)), { code: 'ENOSPC' })
  mock.restoreAll()
  syncBuiltinESMExports()
  keep(edition('c', 63))
  t.strictSame(open().kept.changes, [edition('a', 61), edition('c', 63)])
  t.ok(existsSync(path))
})
