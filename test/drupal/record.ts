/**
 * `node test/drupal/record.ts`: sends the requests that were recorded of Drupal 10.1.6 to the Drupal at hand, and keeps
 * its answers beside theirs, in test/fixtures/recordings. Each request meets a site of its own: the content of
 * test/fixtures/site.ts, the history of test/fixtures/histories.ts, and the same time of day.
 * With a regular expression it renews those whose names match.
 */
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { historyOf } from '../fixtures/histories.ts'
import { recordings, type Recording, type Version } from '../fixtures/recordings.ts'
import { bodyOf, clock, example, sender } from '../fixtures/replay.ts'
import { recordedSite } from '../fixtures/site.ts'
import { startSite } from './site.ts'

/** Lists of what core's standard profile configures, and pages of its theme, which the site here has not; and what shows the time of the clock. */
const LEFT_OUT =
  /^(?:jsonapi-config-(?:field-(?:storage|config)-(?:node-with|without)|node-type)|jsonapi-individual-404-unknown-bundle|rest-get-(?:accept-json-no-format|without-format)|rest-post-created-with-custom-format$)/

const KEPT_HEADERS = [
  'allow',
  'cache-control',
  'content-language',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'set-cookie',
  'vary',
  'www-authenticate',
  'x-drupal-cache',
  'x-drupal-dynamic-cache'
]

const switches = {
  readOnly: "\\Drupal::configFactory()->getEditable('jsonapi.settings')->set('read_only', TRUE)->save();",
  maintenance: "\\Drupal::state()->set('system.maintenance_mode', TRUE);",
  maxAge: "\\Drupal::configFactory()->getEditable('system.performance')->set('cache.page.max_age', 900)->save();",
  filterAccess: 'publishing_set_filter_hook(FALSE);'
}

const content = recordedSite()
const uuids = new Set(content.entities.map(({ uuid }) => uuid))
const site = await startSite({ workers: 1 })
const folder = join(site.root, 'sites/default')
const recorder = new URL('recorder', import.meta.url).pathname
const json = (value: unknown) => `json_decode(base64_decode('${Buffer.from(JSON.stringify(value)).toString('base64')}'), TRUE)`

/** Answers to requests are made at this time, in seconds. */
function setTime(seconds: number): void {
  writeFileSync(join(folder, 'now'), String(seconds))
}

let copies = 0
let ownUuids: Record<string, string> = {}

/** Each request has a copy of the database: what Drupal writes after its answer is in nobody's way. */
function freshDatabase(): void {
  copies++
  copyFileSync(join(folder, 'site.sqlite'), join(folder, `copy-${copies}.sqlite`))
  writeFileSync(join(folder, 'database'), `copy-${copies}.sqlite`)
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `copy-${copies - 2}.sqlite${end}`), { force: true })
}

async function record(one: Recording): Promise<Recording> {
  freshDatabase()
  const { seeds = [], settings = {}, now = clock, before } = historyOf(one, uuids)
  const changes = Object.keys(settings).map((name) => switches[name as keyof typeof switches])
  if (seeds.length + changes.length > 0) {
    await site.php(`require '${recorder}/seed.php'; foreach (${json(seeds)} as $seed) { seed($seed); } ${changes.join('\n')}`)
  }
  setTime(now / 1000)
  const send = sender(site.url)
  await before?.(send)
  const answer = await send(one)
  const body = await bodyOf(answer, typeof one.response.body === 'number')
  const headers = Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => (answer.headers.get(name) === null ? [] : [[name, answer.headers.get(name)!]]))
  )
  return { ...one, response: JSON.parse(anonymous(JSON.stringify({ status: answer.status, headers, body: shortened(body) }))) }
}

/** With the recorded uuids, without the site's address, its sessions and its tokens. */
function anonymous(text: string): string {
  const named = Object.entries(ownUuids).reduce((renamed, [own, recorded]) => renamed.replaceAll(own, recorded), text)
  return named
    .replaceAll(JSON.stringify(site.url).slice(1, -1), example)
    .replaceAll(site.url, example)
    .replace(/(SESS[0-9a-f]+=)[^;"]+/g, '$1<shortened>')
    .replace(/("(?:csrf|logout)_token":)"[^"]*"/g, '$1"<shortened>"')
}

/** Of a page only its beginning. */
function shortened(body: any): unknown {
  const text = body?.__non_json__
  return typeof text === 'string' && text.startsWith('<!DOCTYPE') ? { __non_json__: '<!DOCTYPE html>' } : body
}

try {
  ownUuids = JSON.parse(await site.php(`$content = ${json(content)}; return require '${recorder}/content.php';`))
  await site.php("\\Drupal::database()->query('PRAGMA wal_checkpoint(TRUNCATE)')->fetchAll();")
  const settings = readFileSync(join(folder, 'settings.php'), 'utf8')
  writeFileSync(
    join(folder, 'settings.php'),
    `${settings}\n$databases['default']['default']['database'] = $app_root . '/' . $site_path . '/' . file_get_contents(__DIR__ . '/database');\n`
  )
  const index = readFileSync(join(site.root, 'index.php'), 'utf8')
  setTime(clock / 1000)
  freshDatabase()
  writeFileSync(
    join(site.root, 'index.php'),
    index.replace(
      '<?php',
      "<?php\n$_SERVER['REQUEST_TIME'] = (int) file_get_contents(__DIR__ . '/sites/default/now');\n$_SERVER['REQUEST_TIME_FLOAT'] = (float) $_SERVER['REQUEST_TIME'];\n"
    )
  )
  const file = new URL(`../fixtures/recordings/drupal-${site.version}.ndjson.gz`, import.meta.url)
  const made: Recording[] = []
  const only = new RegExp(process.argv[2] ?? '.')
  for (const one of recordings(({ name }) => !LEFT_OUT.test(name) && only.test(name))) {
    made.push(await record(one))
    if (made.length % 20 === 0) console.log(`${made.length} ${one.name}`)
  }
  const earlier = existsSync(file)
    ? recordings(({ name }) => !LEFT_OUT.test(name) && !made.some((one) => one.name === name), site.version as Version)
    : []
  const all = [...earlier, ...made].sort((one, other) => (one.name < other.name ? -1 : 1))
  writeFileSync(file, gzipSync(all.map((one) => `${JSON.stringify(one)}\n`).join(''), { level: 9 }))
  console.log(`${made.length} recordings, of ${all.length} in ${file.pathname}`)
} finally {
  await site.stop()
}
