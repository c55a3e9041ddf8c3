import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { emptyDirectory, ROOT, runNode } from '../../../test/app/fixtures/processes.ts'
import { needsDynoxide, startEngine } from '../../../test/locks/fixtures/engines.ts'

const command = (verb: string) => ['-r', join(ROOT, 'config/node-version.cjs'), join(ROOT, 'cli.ts'), verb]

async function run(
  t: Test,
  verb: 'doctor' | 'model' | 'table' | 'types',
  env: Record<string, string>,
  cwd = emptyDirectory(t),
  args: string[] = []
) {
  const { ended, output } = runNode(t, [...command(verb), ...args], { env, cwd })
  const code = await ended
  const { stdout, stderr } = output()
  return { code, lines: stdout.split('\n').slice(0, -1), stderr }
}

t.test('npm run table and then npm run doctor on a store and a site that are right', needsDynoxide, async (t) => {
  const { endpoint, client } = await startEngine(t, 'dynoxide')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const store = { DATA_STATE_TABLE: 'Locks', DYNAMODB_ENDPOINT: endpoint }
  const env = {
    ...store,
    ENVIRONMENT: 'test',
    CMS_URL: await cms.listen(),
    CMS_AUTH: 'session',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor'
  }

  t.match(
    await run(t, 'doctor', env),
    {
      code: 1,
      stderr: '',
      lines: [
        /^ok/,
        '!    table Locks: there is no such table: make it with npm run table, or correct DATA_STATE_TABLE and AWS_REGION',
        /^ok {3}CMS: /
      ]
    },
    'and goes on with the CMS'
  )
  t.match(
    await run(t, 'table', store),
    { code: 0, stderr: '', lines: [/^ok {3}table Locks: made/, /^ok {3}time to live: turned on/, /^- {4}point-in-time recovery/] },
    'which needs no other settings'
  )
  const { code, lines, stderr } = await run(t, 'doctor', env)
  t.strictSame({ code, stderr }, { code: 0, stderr: '' })
  t.strictSame(lines.slice(0, 4), [
    'ok   settings: none is missing or wrong',
    'ok   table Locks: is there, partition key env_entityType_entityId (S), sort key fieldName (S)',
    'ok   time to live: is on, by removeAt',
    'ok   PutItem, GetItem, Query and DeleteItem: work, as tried with a record that is removed again'
  ])
  t.ok(lines.includes('ok   filters: editor finds what there is'))
  t.strictSame(lines.slice(-2), [
    'ok   journal: Drupal has no older state than it of 35 editions',
    'ok   locks: there are none of publisher_container after the newest, 60'
  ])
  t.match((await run(t, 'doctor', { ...env, JOURNAL_DAYS: '0' })).lines.slice(-2), [/^ok {3}core REST: /, /^ok {3}locks: /])
  t.equal((await client.send(new ScanCommand({ TableName: 'Locks' }))).Count, 0)
  t.match((await run(t, 'table', store)).lines, [/^ok {3}table Locks: is there/, /^ok {3}time to live: is on/, /^-/])
})

t.test('wrong settings are all told, exit with 1, and no secret is among them', async (t) => {
  const secrets = { CMS_PASSWORD: 'hunter2\n', CMS_CLIENT_SECRET: 'hunter2', CMS_URL: 'https://ada:hunter2@cms.example' }
  const cwd = emptyDirectory(t)
  writeFileSync(join(cwd, '.env'), 'PORT=http\n')
  const doctor = await run(t, 'doctor', { ...secrets, AWS_REGION: 'eu-central-1', CMS_AUTH: 'basic' }, cwd)
  t.match(doctor, {
    code: 1,
    stderr: '',
    lines: [
      '!    PORT is "http" but must be an integer from 0 to 65535',
      /^! {4}ENVIRONMENT is missing: /,
      /^! {4}CMS_URL is "https:\/\/…@cms\.example" but must be /,
      /^! {4}CMS_PASSWORD is not right but must be /,
      /^! {4}CMS_USER is missing: /,
      '-    the lock table and the CMS: the settings have to be right first'
    ]
  })
  t.equal(doctor.lines.length, 6)
  t.notMatch(doctor.lines.join('\n'), /hunter2/)

  const table = await run(t, 'table', { ...secrets, DATA_STATE_TABLE: 'a b' }, cwd)
  t.match(table, {
    code: 1,
    lines: [],
    stderr: /^Quoin cannot start with these settings:\n {2}DATA_STATE_TABLE is "a b" but .*\n {2}AWS_REGION is missing: .*\n$/
  })

  const unreadable = emptyDirectory(t)
  mkdirSync(join(unreadable, '.env'))
  t.match(await run(t, 'doctor', {}, unreadable), { code: 1, lines: [/^! {4}\.env cannot be read: /, /^-/], stderr: '' })
})

t.test('an issuer, a store and a CMS that are away are told, and exit with 1', async (t) => {
  const nowhere = { DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' }
  const jwt = { AUTH: 'jwt', AUTH_KEYS: 'http://127.0.0.1:9', AUTH_ISSUER: 'x', AUTH_AUDIENCE: 'x' }
  const [doctor, table, nobody] = await Promise.all([
    run(t, 'doctor', {
      ...nowhere,
      ...jwt,
      ENVIRONMENT: 'test',
      CMS_URL: 'http://127.0.0.1:9',
      CMS_AUTH: 'basic',
      CMS_USER: 'ada',
      CMS_PASSWORD: 'hunter2'
    }),
    run(t, 'table', nowhere),
    run(t, 'table', { ...nowhere, AWS_PROFILE: 'nobody', AWS_EC2_METADATA_DISABLED: 'true' })
  ])
  t.match(doctor, {
    code: 1,
    stderr: '',
    lines: [
      /^ok/,
      /^! {4}issuer: its keys cannot be fetched from http:\/\/127\.0\.0\.1:9 /,
      /^! {4}table DataState: there was no answer \(connect ECONNREFUSED 127\.0\.0\.1:9\)/,
      /^! {4}CMS: http:\/\/127\.0\.0\.1:9 cannot be reached/,
      /^- {4}the rest of the CMS/
    ]
  })
  t.notMatch(doctor.lines.join('\n'), /hunter2/)
  t.match(table, { code: 1, stderr: '', lines: [/^! {4}table DataState: there was no answer/] })
  t.match(nobody, { code: 1, lines: [/^! {4}table DataState: there are no AWS credentials: set AWS_PROFILE/] })
})

t.test('npm run model writes the file that CONTENT_MODEL names, never over one that is there unless told', async (t) => {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const cwd = emptyDirectory(t)
  const env = { CMS_URL: await cms.listen(), CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const read = (name: string) => JSON.parse(readFileSync(join(cwd, name), 'utf8'))

  const first = await run(t, 'model', env, cwd)
  t.match(first, { code: 0, stderr: '' })
  t.match(first.lines.slice(-2), [
    /^ok {3}content-model.json: written; look at what is guessed/,
    '-    CONTENT_MODEL: Quoin reads the file once this setting names it: CONTENT_MODEL=content-model.json'
  ])
  t.match(read('content-model.json'), { $schema: /config\/content-model\.schema\.json$/, entityType: 'publisher_container' })

  const before = cms.requests
  t.match(await run(t, 'model', env, cwd), { code: 1, lines: [/^! {4}content-model.json is there already: /] })
  t.equal(cms.requests, before, 'nothing is asked then')
  writeFileSync(join(cwd, 'named.json'), '{}')
  const named = { ...env, CONTENT_MODEL: 'named.json' }
  t.match(await run(t, 'model', named, cwd), { code: 1, lines: [/^! {4}named.json is there already/] })
  t.match((await run(t, 'model', named, cwd, ['--force', '--entity-type=publisher_container'])).lines.at(-1), /^ok {3}named.json: written/)
  t.equal(read('named.json').entityType, 'publisher_container')
  t.match(await run(t, 'model', named, cwd, ['--force', '--entity-type=issue']), { code: 1 })
  t.equal(read('named.json').entityType, 'publisher_container', 'what is there stays where none can be written')
  t.match(await run(t, 'model', named, cwd, ['--force', '--bundles=special,']), { code: 0 })
  t.strictSame(Object.keys(read('named.json').bundles), ['special'])

  t.match(await run(t, 'model', {}, cwd, ['--force']), { code: 1, stderr: /CMS_URL is missing/ })
  t.match(await run(t, 'model', { ...env, CMS_PASSWORD: '' }, cwd, ['--force']), { code: 1, stderr: /CMS_PASSWORD is missing/ })
  t.match(await run(t, 'model', env, cwd, ['--all']), { code: 1, stderr: /--entity-type=<name>, --bundles=<name>,<name> and --force/ })
  const { lines } = await run(
    t,
    'doctor',
    { ...named, ENVIRONMENT: 'test', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', EVENTS_BUS_URL: 'redis://quoin:hunter2@127.0.0.1:9' },
    cwd
  )
  t.match(lines.at(-3), /^ok {3}content model: as the site shows it in entityType, /)
  t.match(lines.at(-2), /^- {4}content model: decimalFields: the site does not show it/)
  t.match(lines.at(-1), /^ok {3}core REST: Quoin shows edition \d+ of \w+ as it does$/)
  t.match(lines[1], /^! {4}bus: redis:\/\/127\.0\.0\.1:9 does not answer as it should \(connect ECONNREFUSED 127\.0\.0\.1:9\)/)
})

t.test('npm run types:content writes a file of types, never over one that something else has written unless told', async (t) => {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const cwd = emptyDirectory(t)
  const env = { CMS_URL: await cms.listen(), CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8')
  for (let times = 0; times < 2; times++) {
    t.match(await run(t, 'types', env, cwd), { code: 0, stderr: '' }, 'also over its own')
    t.match(read('content.ts'), /^\/\/ Written by `quoin types` from what [^]*^export type Edition = DailyEdition \| SpecialEdition$/m)
  }
  writeFileSync(join(cwd, 'own.ts'), 'export {}')
  const before = cms.requests
  t.match(await run(t, 'types', env, cwd, ['own.ts']), {
    code: 1,
    lines: [/^! {4}own.ts is there already, and something else has written it: /]
  })
  t.strictSame([cms.requests, read('own.ts')], [before, 'export {}'], 'nothing is asked then')
  t.match((await run(t, 'types', env, cwd, ['own.ts', '--force'])).lines.at(-1), 'ok   own.ts: written, for createClient<Edition, Lists>()')
  t.match(read('own.ts'), /^export interface Article \{$/m)

  writeFileSync(join(cwd, 'model.json'), JSON.stringify({ bundles: { special: 'Special' } }))
  t.match(await run(t, 'types', { ...env, CONTENT_MODEL: 'model.json' }, cwd), { code: 0 })
  t.match(read('content.ts'), /^export type Edition = SpecialEdition$/m)
  t.match(await run(t, 'types', { ...env, CONTENT_MODEL: 'none.json' }, cwd), { code: 1, stderr: /CONTENT_MODEL is "none.json" but / })
  t.match(await run(t, 'types', { ...env, CMS_PASSWORD: '' }, cwd), { code: 1, stderr: /CMS_PASSWORD is missing/ })
  t.match(await run(t, 'types', env, cwd, ['a.ts', 'b.ts']), { code: 1, stderr: /It writes one file, but was given a.ts b.ts/ })
  t.match(await run(t, 'types', env, cwd, ['--all']), { code: 1, stderr: /content.ts by default, and --force/ })
  t.match(await run(t, 'types', { ...env, CMS_URL: 'http://127.0.0.1:9' }, cwd, ['c.ts']), {
    code: 1,
    lines: [/cannot be reached/, /^- {4}the types/]
  })
})
