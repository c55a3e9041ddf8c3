import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { maxHeaderSize } from 'node:http'
import { dirname, join } from 'node:path'
import t from 'tap'
import { MARGIN, USER_DATA_LIMIT } from '#lib/locks/record.ts'
import { LIST_LIMIT, WHOLE_MS } from '#lib/table/bounds.ts'
import { ITEM_LIMIT } from '#lib/table/item.ts'
import { Environment } from '../../config/env.ts'
import { BODY_LIMIT, fastifyOptions } from '../../config/fastify.ts'
import { DEADLINES, REQUESTS } from '#lib/editions/limits.ts'
import { ARTICLES_MAX } from '#lib/boards/readiness.ts'
import { PAGES_MAX, TYPES_MAX } from '#lib/editions/lookup/sections.ts'
import { UNPLACED_PAGES } from '#lib/editions/search.ts'
import { PLACED_PAGES } from '#lib/editions/list/placements.ts'
import { DETAILED_MAX, LIMIT_MAX, OFFSET_MAX, OrderChange, SearchParams, SearchQuery } from '#lib/editions/schemas.ts'
import { PAGE_MAX } from '#lib/editions/translate/query.ts'
import { contentModel, ContentModel } from '#lib/editions/model.ts'
import { JournalQuery, ENTRIES_MAX as JOURNAL_PAGE_MAX } from '#lib/saves/journal-schemas.ts'
import { ENTRY_MAX, VALUE_MAX } from '#lib/saves/journal-values.ts'
import { DRAFTS_MAX } from '#lib/locks/draft.ts'
import { SETTLEMENT_MARGIN } from '#lib/locks/proposal.ts'
import { PROPOSALS_OF_ENTITY, PROPOSALS_OF_FIELD, SETTLED_MAX } from '#lib/locks/proposals.ts'
import { readsPerSecond } from '#lib/locks/pace.ts'
import { Entity as LockedEntity, LockRequest } from '#lib/locks/schemas.ts'
import { BACKLOG_BYTES } from '#lib/http/backlog.ts'
import { ROOT } from './fixtures/processes.ts'

const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/README.md', 'test/**/README.md'], {
  cwd: ROOT,
  exclude: (name) => name === 'node_modules' || name === 'site'
})
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Without blocks of code, in which a bracket is no link. */
const prose = (text: string) => text.replace(/^ *```.*?^ *```$/gms, '').replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]]/g, ' '))

/** The anchors of a document's headings, as the hosts of repositories make them. */
function anchorsOf(path: string): string[] {
  return [...prose(read(path)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  )
}

t.test('every link between the documents leads to a file, and to a heading where it names one', async (t) => {
  t.ok(documents.length > 20)
  for (const document of documents) {
    for (const [, link] of prose(read(document)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link!)) continue
      const [file, anchor] = link!.split('#') as [string, string?]
      const path = file === '' ? document : join(dirname(document), file)
      if (!existsSync(join(ROOT, path))) t.fail(`${document} has a link to ${link}, which does not exist`)
      else if (anchor !== undefined && !anchorsOf(path).includes(anchor)) {
        t.fail(`${document} has a link to ${link}, but there is no such heading`)
      }
    }
  }
})

t.test('every page of docs/ can be reached from README', async (t) => {
  const reached = new Set<string>()
  const open = ['README.md']
  for (const document of open) {
    if (reached.has(document)) continue
    reached.add(document)
    for (const [, link] of prose(read(document)).matchAll(/\]\(([^)\s#]+\.md)[^)\s]*\)/g)) {
      if (!/^https?:/.test(link!)) open.push(join(dirname(document), link!))
    }
  }
  t.strictSame(
    documents.filter((document) => !reached.has(document)),
    []
  )
})

t.test('README is read in two minutes', async (t) => {
  t.ok(read('README.md').split('\n').length <= 150)
})

t.test('the commands that the documents name are there', async (t) => {
  const { scripts, bin } = JSON.parse(read('package.json')) as { scripts: Record<string, string>; bin: Record<string, string> }
  for (const document of documents) {
    const text = read(document)
    for (const [, script] of text.matchAll(/\bnpm run ([\w:]+(?:-\w+)*)/g)) t.ok(scripts[script!], `${document}: npm run ${script}`)
    for (const [, file] of text.matchAll(/\bdocker run .* quoin node (\S+)/g)) {
      t.equal(file, bin['quoin'], document)
    }
  }
})

t.test('the documents name packed packages by their versions', async (t) => {
  const versionOf = (path: string) => (JSON.parse(read(path)) as { version: string }).version
  const versions = {
    quoin: versionOf('package.json'),
    'quoin-client': versionOf('packages/client/package.json'),
    'quoin-desk': versionOf('packages/desk/package.json')
  }
  const packed = documents.flatMap((document) => [...read(document).matchAll(/\b(quoin|quoin-client|quoin-desk)-(\d[\w.-]*)\.tgz/g)])
  t.ok(packed.length >= 3)
  for (const [file, name, version] of packed) t.equal(version, versions[name as keyof typeof versions], file)
})

t.test('the Drupal module says the version of Quoin', async (t) => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  t.match(read('packages/drupal-module/quoin/quoin.info.yml'), `\nversion: ${version}\n`)
  t.match(read('packages/drupal-module/quoin/src/ModuleHeader.php'), `VERSION = '${version}'`)
})

t.test('the files that the documents name are there', async (t) => {
  for (const document of documents.filter((document) => document !== 'CHANGELOG.md')) {
    for (const [file] of read(document).matchAll(
      /(?<![\w./-])(?:config|dev|docs|lib|packages|plugins|routes|test)\/[\w./-]+\.(?:cjs|json|md|sh|ts|ya?ml)\b/g
    )) {
      t.ok(existsSync(join(ROOT, file)) || existsSync(join(ROOT, dirname(document), file)), `${document}: ${file}`)
    }
  }
})

/** Variables in the documents' commands that are no settings of the service. */
const NO_SETTINGS = [
  'Q',
  'E',
  'K',
  'CLOSE',
  'ENTRY',
  'ORDER',
  'DRUPAL_ROOT',
  'FUZZ_SEED',
  'HISTORIES',
  'SOAK_SECONDS',
  'QUOIN_URL',
  'QUOIN_TOKEN',
  'QUOIN_AGENT'
]

t.test('every block of commands in the documents can be read by a shell, and sets what there is', async (t) => {
  let blocks = 0
  for (const document of documents) {
    for (const [, block] of read(document).matchAll(/^ *```(?:sh|bash|shell)\n(.*?)^ *```$/gms)) {
      blocks++
      const { status, stderr } = spawnSync('sh', ['-n'], { input: block!, encoding: 'utf8' })
      t.strictSame({ status, stderr }, { status: 0, stderr: '' }, `${document}: ${block}`)
      // The bodies of requests are no commands.
      const commands = block!.replace(/'[^']*'/g, "''").replace(/#.*$/gm, '')
      for (const [, name] of commands.matchAll(/(?:^|\s)([A-Z][A-Z_]*)=/g)) {
        t.ok([...Object.keys(Environment.properties), ...NO_SETTINGS].includes(name!), `${document}: ${name}`)
      }
      for (const [, file] of commands.matchAll(/(?:^|[\s@])(?:file:\/\/)?(?:\.\/)?((?:config|packages|test)\/\S+)/g)) {
        t.ok(existsSync(join(ROOT, file!)), `${document}: ${file}`)
      }
    }
  }
  t.ok(blocks >= 10)
})

t.test('the example of a content model is whole, and says of every member what it is', async (t) => {
  const [, commented] = /^```jsonc\n(.*?)^```$/ms.exec(read('docs/content-model.md'))!
  const example: Record<string, unknown> = JSON.parse(commented!.replace(/^ *\/\/.*$/gm, ''))
  const { properties } = ContentModel
  t.strictSame(Object.keys(example), Object.keys(properties), 'in the order of the schema')
  for (const member of ['keys', 'fields'] as const) {
    t.strictSame(Object.keys(example[member] as object), Object.keys(properties[member].properties))
  }
  t.match(contentModel(example), JSON.parse(JSON.stringify(example, (name, value) => (name === '$comment' ? undefined : value))))
  for (const member of [...Object.keys(properties).filter((name) => name !== 'fields'), ...Object.keys(properties.fields.properties)]) {
    t.match(commented, new RegExp(`^ *// .*\\.\n *"${member.replace('$', '\\$')}":`, 'm'), `${member} has a comment`)
  }
})

/** A number as docs/limits.md has it. */
const written = (number: number) => (number >= 10_000 ? new Intl.NumberFormat('en').format(number).replaceAll(',', ' ') : String(number))

t.test('docs/limits.md has the figures of the code', async (t) => {
  const page = read('docs/limits.md')
  const sources = globSync(['config/*.ts', 'lib/{auth,http,drupal,editions,locks,saves,table}/**/*.ts', 'plugins/**/*.ts'], { cwd: ROOT })
    .map(read)
    .join('\n')
  const has = (figure: string) => t.match(page, new RegExp(`^\\|.*${figure.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`, 'm'), figure)
  const MiB = (bytes: number) => `${bytes / 1024 / 1024} MiB`
  const { requestTimeout, keepAliveTimeout, connectionTimeout, http, routerOptions } = fastifyOptions
  const { type, id } = LockedEntity.properties

  has(`a request's body | ${MiB(BODY_LIMIT)} |`)
  has(`path, query and header fields together | ${maxHeaderSize / 1024} KiB |`)
  has(`one parameter in a path | ${routerOptions.maxParamLength} characters |`)
  has(`until the header has arrived | ${http.headersTimeout / 1000} seconds |`)
  has(`until the whole request has arrived | ${requestTimeout / 1000} seconds |`)
  has(`on which no byte moves, either way | ${connectionTimeout / 60_000} minutes |`)
  has(`an idle connection | ${keepAliveTimeout / 1000} seconds,`)
  has(`\`{type}\` in the path | ${/\{1,(\d+)\}/.exec(type.pattern!)![1]} of`)
  has(`\`{id}\` in the path | ${/\{1,(\d+)\}/.exec(id.pattern!)![1]} of`)
  has(`\`fieldName\` | ${LockRequest.properties.fieldName.maxLength} characters |`)
  has(`\`userData\` | ${USER_DATA_LIMIT} bytes of JSON`)
  has(`a lock with its text | ${written(ITEM_LIMIT)} bytes (DynamoDB's 400 KiB), of which ${MARGIN} are`)
  has(`a list of locks, drafts or proposals | ${MiB(LIST_LIMIT)} |`)
  has(`for one field; for all fields of one entity | ${PROPOSALS_OF_FIELD}; ${PROPOSALS_OF_ENTITY} | 429 \`TOO_MANY_REQUESTS\`, until`)
  has(`settled proposals of one field and author | ${SETTLED_MAX} |`)
  has(`all that is kept of it | ${written(ITEM_LIMIT)} bytes, of which ${SETTLEMENT_MARGIN} are`)
  has(`begins nothing more after ${WHOLE_MS / 1000} seconds`)
  has(`drafts of one field and user | ${DRAFTS_MAX} |`)
  has(`reads of the table for all streams of one instance | ${readsPerSecond(500)} a second |`)
  has(`what waits for all slow watchers | ${MiB(BACKLOG_BYTES)} |`)
  has(`\`limit\` of a list | ${LIMIT_MAX} (${SearchQuery.properties.limit.default} without one) | taken as ${LIMIT_MAX} |`)
  has(`\`limit\` of a list with \`placed=1\`, \`unplaced=1\` or \`locks=1\` | ${DETAILED_MAX} | taken as ${DETAILED_MAX} |`)
  has(`rows that are looked at for one page with \`unplaced=1\` | ${UNPLACED_PAGES * PAGE_MAX} |`)
  has(
    `bundles of sections that [are listed](lists.md#articles-by-section-time-and-place); entities of each | ${TYPES_MAX}; ${PAGES_MAX * PAGE_MAX} |`
  )
  has(`editions of one bundle that \`placed=1\` looks at, for each field that holds articles | ${PLACED_PAGES * PAGE_MAX} |`)
  const { operations } = OrderChange.properties
  has(`operations on the running order in one request | ${operations.maxItems} |`)
  has(`\`occurrence\` in such an operation | ${operations.items.properties.occurrence.maximum} |`)
  has(`articles of an edition whose readiness is asked, or that is closed | ${ARTICLES_MAX} | 413 \`TOO_LARGE\` |`)
  has(`a value in the [journal](journal.md); all of one entry | ${VALUE_MAX / 1024} KiB of JSON; ${ENTRY_MAX / 1024} KiB |`)
  has(`\`limit\` of the journal | ${JOURNAL_PAGE_MAX} (${JournalQuery.properties.limit.default} without one) |`)
  has(`\`offset\` of a list | ${written(OFFSET_MAX)} |`)
  has(`\`q\`, \`type\` and \`key\` | ${SearchQuery.properties.q.maxLength} characters each |`)
  has(`\`{bundle}\` in the path | ${SearchParams.properties.bundle.maxLength} characters |`)
  has(`the probe of \`/health/ready\` | ${REQUESTS} | ${DEADLINES} T |`)

  const fixed: Array<[figure: string, constant: string]> = [
    ['a list by change looks ahead, to merge it with others | [24]', 'LOOKAHEAD = 24'],
    ['until 5 seconds pass without a byte', 'REST_MS = 5000'],
    ['connections of one instance | 10 000, and half of the', 'CONNECTIONS = 10_000'],
    ['and half of the file descriptors', 'SHARE = 0.5'],
    ['the bodies of 64 KiB and more, of all requests under way', 'LARGE_BODY = 64 * 1024'],
    ['32 MiB together, counted as they arrive', 'LARGE_BODIES = 32 * 1024 * 1024'],
    ['smaller bodies, of all requests under way | 16 MiB', 'SMALL_BODIES = 16 * 1024 * 1024'],
    ['if that is more than 5 seconds, else the one', 'UNDISTURBED_MS = 5000'],
    ['the pace of a body | 8 KiB a second', 'bytesPerSecond: 8 * 1024'],
    ['and 10 seconds without a byte', 'graceMs: 10_000'],
    ['connections to METRICS_PORT | 100', 'CONNECTIONS = 100'],
    ['large answers, of 64 KiB and more, each', 'LARGE_ANSWER = 64 * 1024'],
    ['an eighth of the heap together', 'SHARE = 1 / 8'],
    ['though something waits for it | 60 seconds | closed', 'STALLED_MS = 60_000'],
    ['of which the caller takes nothing | 60 seconds |', 'graceMs: 60_000'],
    ['beyond those 60 seconds | 8 KiB a second: 1 MiB takes', 'bytesPerSecond: 8 * 1024'],
    ['on its way for more than 10 seconds', 'UNDISTURBED_MS = 10_000'],
    ['half a second, five seconds in a row', 'LATE_MS = 500'],
    ['half a second, five seconds in a row', 'LATE_SAMPLES = 5'],
    ['nesting of `userData` | 32 levels |', 'LEVELS = 32'],
    ['entity tags in one `If-Match` of a lock | 100 |', 'MOST_TAGS = 100'],
    ['fields that [an agent](who-calls.md#agents) locks at once | 3, of all entities', 'AGENT_LOCKS_MAX = 3'],
    ['of an agent, which renews its lock meanwhile, for a person | 3 |', 'RELEASES_MAX = 3'],
    ['a takeover that waits for others of the same field | 5 seconds |', 'TURN_MS = 5000'],
    ['16, for 5 seconds', 'RECENT = 16'],
    ['an answer of Drupal | 16 MiB |', 'LARGEST_BODY = 16 * 1024 * 1024'],
    ['connections to Drupal | 64 |', 'connections: 64'],
    ['the same of writes alone | 10 | 503 `CMS_UNAVAILABLE` for 5 seconds', 'FAILURES = 10'],
    ["difference between the issuer's clock and Quoin's | 30 seconds |", 'LEEWAY_SECONDS = 30'],
    ['a minute; 15 while Drupal is away', 'STALE_MS = 15 * 60_000'],
    ['that Quoin remembers | 10 000 of each |', 'MOST = 10_000']
  ]
  for (const [figure, constant] of fixed) {
    has(figure)
    t.ok(sources.includes(constant), `${constant}, for "${figure}"`)
  }
})

t.test('docs/limits.md names settings that exist, with their defaults', async (t) => {
  const rows = [...read('docs/limits.md').matchAll(/^\| .* \| (.*) \| .* \| ([A-Z_]+) \|$/gm)]
  t.ok(rows.length >= 8)
  for (const [row, , name] of rows) t.ok(Object.hasOwn(Environment.properties, name!), row)
  const limits = new Map(rows.map(([, limit, name]) => [name, limit]))
  t.equal(limits.get('DRAFT_DAYS'), `${Environment.properties.DRAFT_DAYS.default} days`)
})

t.test('the words that are Quoin’s own are few', async (t) => {
  const [, words] = /^## Words\n([^]*?)^## /m.exec(read('CONTRIBUTING.md'))!
  const rows = words!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
  t.ok(rows.length > 20 && rows.length <= 40, `${rows.length} words`)
})
