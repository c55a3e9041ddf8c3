import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { OAUTH_CLIENT } from '../../config/cms-auth.ts'
import { Environment, misspeltSettings, readCmsConfig, readConfig, readStoreConfig } from '../../config/env.ts'
import { REMOVED } from '../../config/removed.ts'
import { fileOf, SECRETS } from '../../config/secret-files.ts'
import { TelemetryEnvironment } from '../../config/telemetry.ts'
import { envExample, settings, settingsPage } from '../../dev/settings.ts'
import { problemsOf } from '../helper.ts'
import { emptyDirectory, ROOT } from './fixtures/processes.ts'
import manifest from '../../package.json' with { type: 'json' }

const enough = { ENVIRONMENT: 'test', CMS_URL: 'https://cms.example', AWS_REGION: 'eu-central-1' }

t.test('what is not set has the defaults of the contract', async (t) => {
  const { contentModel, ...config } = readConfig(enough)
  t.strictSame(config, {
    host: '127.0.0.1',
    port: 3000,
    hosts: [],
    corsOrigins: [],
    rateLimit: 0,
    trustedProxies: [],
    logLevel: 'info',
    service: { name: 'quoin', version: manifest.version, environment: 'test' },
    environment: 'test',
    table: 'DataState',
    locks: {
      leaseSeconds: 0,
      draftDays: 30,
      feed: { pollMs: 500, watchersPerCaller: 1000 }
    },
    dynamodb: { region: 'eu-central-1' },
    cms: {
      url: 'https://cms.example',
      jsonapiPath: '/jsonapi',
      timeoutMs: 10_000,
      cookieNames: [],
      auth: { kind: 'passthrough' }
    },
    enforceLocks: false,
    journalDays: 30,
    lockRefusedStatus: 423,
    desk: false,
    mcp: false,
    mcpAllow: []
  })
  t.match(
    contentModel,
    JSON.parse(readFileSync(join(ROOT, 'config/content-model.json'), 'utf8')),
    "the content model is the repository's own"
  )
})

t.test('every setting is taken as it is set', async (t) => {
  const file = join(emptyDirectory(t), 'model.json')
  writeFileSync(file, '{"entityType":"issue"}')
  const { contentModel, ...config } = readConfig({
    HOST: '::1',
    PORT: '0',
    HOSTS: 'quoin, Quoin_2.example.org',
    CORS_ORIGINS: 'https://desk.example:8443,http://[::1]:5173 , http://xn--rger-koa.example',
    RATE_LIMIT: '600',
    TRUST_PROXY: '10.0.0.0/8, 192.0.2.7 ,::1,2001:db8::/32',
    LOG_LEVEL: 'silent',
    METRICS_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/otlp/',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb=, x=1',
    OTEL_SERVICE_NAME: 'locks',
    ENVIRONMENT: 'a.B_c-9',
    DATA_STATE_TABLE: 'Locks.of-us_1',
    LOCK_LEASE_SECONDS: '300',
    LOCK_REFUSED_STATUS: '200',
    DRAFT_DAYS: '7',
    EVENTS_POLL_MS: '100',
    EVENTS_BUS_URL: 'rediss://quoin:secret@bus.example:6380/2',
    DYNAMODB_ENDPOINT: 'http://127.0.0.1:8000',
    CMS_URL: 'https://host.example:8443/cms//',
    CMS_JSONAPI_PATH: '/fr/jsonapi',
    CMS_AUTH: 'basic',
    CMS_USER: 'Ada L.',
    CMS_PASSWORD: 'a:b c"é',
    CMS_COOKIES: 'SimpleSAMLAuthToken , mod_auth_openidc_session',
    EDITION_LOCKS: 'enforce',
    JOURNAL_DAYS: '0',
    DESK: 'on',
    MCP: 'on',
    MCP_ALLOW: 'publish, restore',
    CMS_TIMEOUT_MS: '600000',
    CONTENT_MODEL: file,
    UNKNOWN: 'is ignored'
  })
  t.strictSame(config, {
    host: '::1',
    port: 0,
    hosts: ['quoin', 'Quoin_2.example.org'],
    corsOrigins: ['https://desk.example:8443', 'http://[::1]:5173', 'http://xn--rger-koa.example'],
    rateLimit: 600,
    trustedProxies: ['10.0.0.0/8', '192.0.2.7', '::1', '2001:db8::/32'],
    logLevel: 'silent',
    metrics: { port: 0 },
    traces: { url: 'http://127.0.0.1:4318/otlp/v1/traces', headers: 'api-key=a%2Cb=, x=1' },
    service: { name: 'locks', version: manifest.version, environment: 'a.B_c-9' },
    environment: 'a.B_c-9',
    table: 'Locks.of-us_1',
    locks: {
      leaseSeconds: 300,
      draftDays: 7,
      feed: { pollMs: 100, watchersPerCaller: 1000 }
    },
    bus: { url: 'rediss://quoin:secret@bus.example:6380/2' },
    dynamodb: { region: 'local', endpoint: 'http://127.0.0.1:8000' },
    cms: {
      url: 'https://host.example:8443/cms',
      jsonapiPath: '/fr/jsonapi',
      timeoutMs: 600_000,
      cookieNames: ['SimpleSAMLAuthToken', 'mod_auth_openidc_session'],
      auth: { kind: 'basic', user: 'Ada L.', password: 'a:b c"é' }
    },
    enforceLocks: true,
    journalDays: 0,
    lockRefusedStatus: 200,
    desk: true,
    mcp: true,
    mcpAllow: ['publish', 'restore']
  })
  t.equal(contentModel.entityType, 'issue')
  t.equal(contentModel.fields.key, 'field_key', 'what a content model leaves out keeps its default')

  const account = { CMS_USER: 'quoin', CMS_PASSWORD: 'secret', CMS_CLIENT_ID: 'id', CMS_CLIENT_SECRET: 'key' }
  const auth = (kind: string) => readConfig({ ...enough, ...account, CMS_AUTH: kind }).cms.auth
  t.strictSame(auth('session'), { kind: 'session', user: 'quoin', password: 'secret' })
  t.strictSame(auth('oauth'), { kind: 'oauth', clientId: 'id', clientSecret: 'key' })
  t.strictSame(auth('passthrough'), { kind: 'passthrough' }, 'an account that is not used is left out')
})

t.test('each wrong setting is named, with what it is and what is allowed', async (t) => {
  const wrong: Record<string, string[]> = {
    HOST: [],
    PORT: ['-1', '65536', '3000.5', '1e3', '0x50', 'true', ' 80 ', '٣', 'http', '99999999999999999999'],
    CORS_ORIGINS: [
      '*',
      'https://*',
      'https://*.example',
      'null',
      'desk.example',
      'https://desk.example/',
      'https://desk.example/path',
      'https://desk.example?x',
      'https://Desk.example',
      'https://desk.example:443',
      'http://desk.example:80',
      'http://desk.example:99999',
      'ftp://desk.example',
      'http://',
      'http://ärger.example',
      'https://a b',
      'https://desk.example,',
      ',',
      'https://desk.example https://other.example',
      'https://desk.example;http://x'
    ],
    HOSTS: [
      '*',
      '*.example.org',
      'quoin:3000',
      'https://quoin.example.org',
      'quoin.example.org/',
      'a b',
      'a,',
      ',',
      '.example.org',
      'a..b',
      'ä.example',
      `${'x'.repeat(64)}.org`,
      '[::1]'
    ],
    RATE_LIMIT: ['-1', '1000001', '1.5', '60/m'],
    TRUST_PROXY: [
      '1',
      'true',
      '*',
      'localhost',
      '10.0.0',
      '10.0.0.0/',
      '10.0.0.0/0',
      '::/0',
      '10.0.0.0/33',
      '10.0.0.0/8/8',
      '::1/129',
      '10.0.0.0/08',
      '10.0.0.1,',
      '10.0.0.1;10.0.0.2'
    ],
    LOG_LEVEL: ['verbose', 'INFO', '30', 'info '],
    METRICS_PORT: ['-1', '65536', 'yes'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['127.0.0.1:4318', 'grpc://host:4317', 'http://host?x=1', 'http://host:abc'],
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ['127.0.0.1:4318', 'http://host:99999/v1/traces'],
    OTEL_SERVICE_NAME: [],
    ENVIRONMENT: ['a/b', 'a b', 'é', 'x'.repeat(65), '-\n'],
    DATA_STATE_TABLE: ['ab', 'Data State', 'x'.repeat(256), 'arn:aws:dynamodb'],
    LOCK_LEASE_SECONDS: ['-1', '31536001', '1.5', '5m'],
    LOCK_REFUSED_STATUS: ['409', '0', 'ok'],
    DRAFT_DAYS: ['0', '3651', '1.5', 'x'],
    EVENTS_POLL_MS: ['99', '60001', '0.5s'],
    EVENTS_BUS_URL: [
      'bus.example:6379',
      'http://bus.example',
      'redis://',
      'redis://bus.example/keys',
      'redis://bus.example:port',
      'redis://bus.example?db=1'
    ],
    AWS_REGION: [],
    DYNAMODB_ENDPOINT: ['127.0.0.1:8000', 'ftp://host', 'http://host/path', 'http://host?x', 'http://', 'http://a b', 'http://host:80000'],
    CMS_URL: [
      'cms.example',
      'ftp://cms.example',
      'https://',
      'https://cms.example?x=1',
      'https://cms.example/#top',
      'https://cms example',
      'http://cms.example:80800',
      'https://%zz',
      'http://[::1'
    ],
    CMS_JSONAPI_PATH: ['jsonapi', '/', '/jsonapi/', '//jsonapi', '/json api', '/jsonapi?x'],
    CMS_AUTH: ['Basic', 'digest', 'constructor', 'true'],
    CMS_USER: ['a:b'],
    CMS_COOKIES: ['a b', 'a;b', 'a=b', 'a,', ',a', ',', 'ä', 'a,,b', '"a"'],
    EDITION_LOCKS: ['on', 'Enforce', 'true'],
    JOURNAL_DAYS: ['-1', '3651', 'never'],
    DESK: ['On', 'true', '1', 'yes'],
    CMS_TIMEOUT_MS: ['0', '-1', '600001', '1.5', '10s', '1e4']
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const problems = problemsOf({ ...enough, [name]: value })
      t.match(problems, [`${name} is ${JSON.stringify(value)} but must be `], `${name}=${value}`)
      t.equal(problems.length, 1, `${name}=${value} is one problem`)
    }
  }
})

t.test('everything that is missing or wrong is reported at once, one line each', async (t) => {
  t.strictSame(
    problemsOf({}).map((problem) => problem.split(':')[0]),
    ['ENVIRONMENT is missing', 'CMS_URL is missing', 'AWS_REGION is missing']
  )
  const problems = problemsOf({ PORT: 'x', LOG_LEVEL: 'x', CMS_AUTH: 'session', CMS_TIMEOUT_MS: '0', CONTENT_MODEL: '/nowhere' })
  t.strictSame(
    problems.map((problem) => problem.split(' ')[0]),
    ['PORT', 'LOG_LEVEL', 'ENVIRONMENT', 'CMS_URL', 'CMS_TIMEOUT_MS', 'AWS_REGION', 'CMS_USER', 'CMS_PASSWORD', 'CONTENT_MODEL']
  )
  t.strictSame(
    problemsOf({ ...enough, CMS_AUTH: 'oauth' }).map((problem) => problem.split(':')[0]),
    ['CMS_USER is missing', 'CMS_PASSWORD is missing']
  )
  t.throws(() => readConfig({ PORT: 'x' }), {
    name: 'SettingsError',
    message:
      /^Quoin cannot start with these settings:\n {2}PORT is "x" but .*\n {2}ENVIRONMENT is missing: [^\n]*\n {2}CMS_URL [^\n]*\n {2}AWS_REGION [^\n]*$/
  })
})

t.test('the command that asks a CMS needs nothing but where it is, and an account', async (t) => {
  const { cms, modelFile } = readCmsConfig({
    CMS_URL: 'https://cms.example/',
    CMS_AUTH: 'basic',
    CMS_USER: 'ada',
    CMS_PASSWORD: 'x',
    CONTENT_MODEL: '/nowhere.json',
    PORT: 'x',
    CMS_COOKIES: 'sso'
  })
  t.match(cms, {
    url: 'https://cms.example',
    jsonapiPath: '/jsonapi',
    cookieNames: ['sso'],
    auth: { kind: 'basic', user: 'ada', password: 'x' }
  })
  t.equal(modelFile, '/nowhere.json', 'which need not be there')
  t.notOk('modelFile' in readCmsConfig({ CMS_URL: 'https://cms.example' }))
  t.throws(() => readCmsConfig({ CMS_AUTH: 'basic' }), {
    name: 'SettingsError',
    problems: [/^CMS_URL is missing/, /^CMS_USER is missing/, /^CMS_PASSWORD is missing/]
  })
})

t.test('the settings of the lock table can be read without the others, in the same words', async (t) => {
  t.strictSame(readStoreConfig({ AWS_REGION: 'eu-central-1', PORT: 'x' }), { table: 'DataState', dynamodb: { region: 'eu-central-1' } })
  t.strictSame(readStoreConfig({ DATA_STATE_TABLE: 'Locks', DYNAMODB_ENDPOINT: 'http://127.0.0.1:8000' }), {
    table: 'Locks',
    dynamodb: { region: 'local', endpoint: 'http://127.0.0.1:8000' }
  })
  for (const wrong of [{}, { DATA_STATE_TABLE: 'a b' }, { DATA_STATE_TABLE: 'a b', DYNAMODB_ENDPOINT: 'ftp://a:secret@b' }]) {
    const problems = problemsOf({ ...enough, AWS_REGION: '', ...wrong })
    t.ok(problems.length > 0)
    t.throws(() => readStoreConfig(wrong), { name: 'SettingsError', problems })
  }
})

t.test('a variable whose name is near that of a setting is told, no other is', async (t) => {
  const near: Array<[name: string, setting: string]> = [
    ['CMS_TIMEOUT', 'CMS_TIMEOUT_MS'],
    ['CMS_ULR', 'CMS_URL'],
    ['CMS_USER_NAME', 'CMS_USER'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['ENVIROMENT', 'ENVIRONMENT'],
    ['LOCK_LEASE_SECOND', 'LOCK_LEASE_SECONDS'],
    ['cors_origins', 'CORS_ORIGINS'],
    ['QUOIN_CMS_URL', 'CMS_URL'],
    ['LEASE_SECONDS', 'LOCK_LEASE_SECONDS'],
    ['JSONAPI_PATH', 'CMS_JSONAPI_PATH'],
    ['EVENTS_POLL_SECONDS', 'EVENTS_POLL_MS'],
    ['JOURNAL_SECONDS', 'JOURNAL_DAYS'],
    ['CMS_PASSWORD_FIEL', 'CMS_PASSWORD_FILE']
  ]
  for (const [name, setting] of near) {
    t.strictSame(misspeltSettings({ [name]: '1' }), [`${name} is not a setting; do you mean ${setting}?`], name)
  }
  const others = [
    'PATH',
    'HOME',
    'HOSTNAME',
    'HOSTS',
    'PORTS',
    'PWD',
    'TERM',
    'LANG',
    'NODE_OPTIONS',
    'NODE_ENV',
    'AWS_PROFILE',
    'AWS_ACCESS_KEY_ID',
    'AWS_DEFAULT_REGION',
    'OTEL_LOG_LEVEL',
    'SOME_CMS_URL',
    'BACKUP_DAYS',
    'npm_config_cache',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    'QUOIN_PORT',
    'CMS_PORT',
    'KUBERNETES_PORT',
    'DATA_DIR'
  ]
  t.strictSame(misspeltSettings(Object.fromEntries(others.map((name) => [name, '1']))), [])
  t.strictSame(misspeltSettings({ CMS_TIMEOUT: '', LOG_LEVEL: 'info' }), [], 'nothing, and what is right')
  t.strictSame(misspeltSettings(Object.fromEntries(SECRETS.map((name) => [fileOf(name), 'x']))), [], 'nor the file of a secret')
  t.strictSame(misspeltSettings({ LOG_LEVELS: 'x', LOG_LEVEL: 'info' }), [], 'a setting that is there already is not meant')
  t.match(problemsOf({ ENVIRONMENT: 'test', AWS_REGION: 'us-east-1', CMS_ULR: 'x' }), [
    /^CMS_URL is missing/,
    'CMS_ULR is not a setting; do you mean CMS_URL?'
  ])
})

t.test('every near miss of a setting is told, whatever its prefix', async (t) => {
  const names = Object.keys(Environment.properties).filter((name) => name.length >= 8 && name.includes('_'))
  t.ok(names.length > 20)
  for (const name of names) {
    const swapped = name.slice(0, -3) + name.at(-2) + name.at(-3) + name.at(-1)
    for (const near of [swapped, `${name}S`, `${name}_X`, name.slice(0, -1), name.toLowerCase(), `QUOIN_${name}`]) {
      if (Object.hasOwn(Environment.properties, near)) continue
      t.match(misspeltSettings({ [near]: '1' }), [/ is not a setting; do you mean /], near)
    }
  }
})

t.test('AWS_REGION is a region of AWS, and AWS_DEFAULT_REGION counts where it is not set', async (t) => {
  const { AWS_REGION: _, ...regionless } = enough
  const regionOf = (env: Record<string, string>) => readConfig({ ...regionless, ...env }).dynamodb.region
  t.equal(regionOf({ AWS_DEFAULT_REGION: 'eu-west-1' }), 'eu-west-1')
  t.equal(regionOf({ AWS_DEFAULT_REGION: 'eu-west-1', AWS_REGION: 'us-east-1' }), 'us-east-1')
  t.equal(regionOf({ AWS_DEFAULT_REGION: 'eu-west-1', AWS_REGION: '' }), 'eu-west-1')
  t.equal(readStoreConfig({ AWS_DEFAULT_REGION: 'eu-west-1' }).dynamodb.region, 'eu-west-1')
  for (const region of [
    'frankfurt',
    'eu-centrall-1',
    'eu_central_1',
    'EU-CENTRAL-1',
    'eu-central-1a',
    'eu-central',
    ' eu-central-1',
    'https://x'
  ]) {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION']) {
      t.match(
        problemsOf({ ...regionless, [name]: region }),
        [new RegExp(`^${name} is ".*" but must be the AWS region of the table, such as eu-central-1`)],
        region
      )
    }
  }
  t.equal(regionOf({ AWS_REGION: 'anywhere', DYNAMODB_ENDPOINT: 'http://127.0.0.1:8000' }), 'anywhere', 'an engine of your own has any')
  const sdk = createRequire(createRequire(import.meta.url).resolve('@aws-sdk/client-dynamodb'))
  const partitions = readFileSync(
    join(dirname(sdk.resolve('@aws-sdk/core')), '../dist-es/submodules/client/util-endpoints/lib/aws/partitions.js'),
    'utf8'
  )
  const regions = [...partitions.matchAll(/"([a-z]{2,4}(?:-[a-z]+)+-\d+)": \{/g)].map(([, region]) => region!)
  t.ok(regions.length > 30)
  for (const region of regions) t.equal(regionOf({ AWS_REGION: region }), region)
})

t.test('a variable that is set to nothing counts as not set', async (t) => {
  const empty = Object.fromEntries(Object.keys(Environment.properties).map((name) => [name, '']))
  t.strictSame(problemsOf(empty), problemsOf({}))
  t.strictSame(readConfig({ ...empty, ...enough }), readConfig(enough))
})

t.test('no secret is ever repeated', async (t) => {
  const secrets = {
    CMS_PASSWORD: 'hunter2\n',
    CMS_CLIENT_SECRET: 'hunter2\n',
    CMS_URL: 'https://ada:hunter2@cms.example',
    DYNAMODB_ENDPOINT: 'http://ada:hunter2@host'
  }
  for (const CMS_AUTH of ['basic', 'oauth', 'session', 'nonsense']) {
    const said = problemsOf({ ...enough, ...secrets, CMS_AUTH })
    t.match(said.join('\n'), /CMS_PASSWORD is not right but must be /)
    t.match(said.join('\n'), /CMS_URL is "https:\/\/…@cms\.example"/, 'a password within a URL is taken out')
    t.notMatch(said.join('\n'), /hunter2/)
  }
})

t.test('a secret may be in a file', async (t) => {
  const directory = emptyDirectory(t)
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const basic = { ...enough, CMS_AUTH: 'basic', CMS_USER: 'ada' }
  const oauth = { ...enough, CMS_AUTH: 'oauth', CMS_CLIENT_ID: 'id' }
  for (const [text, secret] of [
    ['hunter2', 'hunter2'],
    ['hunter2\n', 'hunter2'],
    ['hunter2\r\n', 'hunter2'],
    [' hunter2 ', ' hunter2 ']
  ] as const) {
    t.strictSame(readConfig({ ...basic, CMS_PASSWORD_FILE: file('password', text) }).cms.auth, {
      kind: 'basic',
      user: 'ada',
      password: secret
    })
    t.strictSame(readConfig({ ...oauth, CMS_CLIENT_SECRET_FILE: file('secret', text) }).cms.auth, {
      kind: 'oauth',
      clientId: 'id',
      clientSecret: secret
    })
  }
  const absent = join(directory, 'absent')
  const url = 'redis://:hunter2@bus.example'
  t.strictSame(readConfig({ ...enough, EVENTS_BUS_URL_FILE: file('bus', `${url}\n`) }).bus, { url })
  t.match(problemsOf({ ...basic, CMS_PASSWORD_FILE: absent }), [/^CMS_PASSWORD_FILE is .* but ENOENT/])
  t.equal(problemsOf({ ...basic, CMS_PASSWORD_FILE: absent }).length, 1, 'the password itself is not missed too')
  t.strictSame(problemsOf({ ...oauth, CMS_CLIENT_SECRET_FILE: directory }), [
    `CMS_CLIENT_SECRET_FILE is ${JSON.stringify(directory)} but EISDIR: illegal operation on a directory, read`
  ])
  t.strictSame(
    problemsOf({ PORT: 'x', CMS_AUTH: 'basic', CMS_PASSWORD_FILE: absent, EVENTS_BUS_URL: url, EVENTS_BUS_URL_FILE: absent }).map(
      (problem) => problem.split(' ')[0]
    ),
    ['EVENTS_BUS_URL', 'EVENTS_BUS_URL_FILE', 'CMS_PASSWORD_FILE', 'PORT', 'ENVIRONMENT', 'CMS_URL', 'AWS_REGION', 'CMS_USER'],
    'all at once'
  )
  t.match(
    readConfig({
      ...enough,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      OTEL_EXPORTER_OTLP_HEADERS_FILE: file('headers', 'api-key=hunter2\n')
    }).traces,
    { headers: 'api-key=hunter2' }
  )
  for (const headers of ['hunter2', 'api-key=hunter2,', 'a b=hunter2', 'a=hunter2\n\n']) {
    t.strictSame(problemsOf({ ...enough, OTEL_EXPORTER_OTLP_HEADERS_FILE: file('headers', headers) }), [
      'OTEL_EXPORTER_OTLP_HEADERS is not right but must be header fields as name=value, separated by commas, such as api-key=secret; other letters percent-encoded'
    ])
  }
  t.match(problemsOf({ ...basic, CMS_PASSWORD_FILE: file('empty', '\n') }), [/^CMS_PASSWORD_FILE is .* but that file is empty$/])
  t.strictSame(problemsOf({ ...basic, CMS_PASSWORD: 'x', CMS_PASSWORD_FILE: file('password', 'hunter2') }), [
    'CMS_PASSWORD and CMS_PASSWORD_FILE are both set: set only one of them'
  ])
  const wrong = problemsOf({ ...basic, CMS_PASSWORD_FILE: file('password', 'hunter2\n\n') })
  t.match(wrong, [/^CMS_PASSWORD is not right but must be/], 'a control character')
  t.notMatch(wrong.join(), /hunter2/)
  for (const url of ['redis://quoin:hunter2@bus.example:x', 'redis:quoin:hunter2@bus.example']) {
    const [problem] = problemsOf({ ...enough, EVENTS_BUS_URL_FILE: file('bus', url) })
    t.match(problem, /^EVENTS_BUS_URL is ".*…@bus\.example(?::x)?" but must be/, url)
    t.notMatch(problem, /hunter2/, url)
  }
})

t.test('a content model that cannot be used is a wrong setting', async (t) => {
  const directory = emptyDirectory(t)
  const cases: Array<[content: string, problem: RegExp]> = [
    ['{"entityType":', /but .*JSON/],
    ['', /but .*JSON/],
    ['[]', /its member \/ is not right/],
    ['null', /its member \/ is not right/],
    ['{"entityTyp":"issue"}', /its member \/entityTyp is not right: Unexpected property/],
    ['{"keys":{"lable":"title"}}', /its member \/keys\/lable is not right/],
    ['{"fields":{"key":5}}', /its member \/fields\/key is not right: Expected union value/],
    ['{"timestampFields":"changed"}', /its member \/timestampFields is not right: Expected array/]
  ]
  for (const [content, problem] of cases) {
    const file = join(directory, 'model.json')
    writeFileSync(file, content)
    const problems = problemsOf({ ...enough, CONTENT_MODEL: file })
    t.equal(problems.length, 1, content)
    t.match(problems[0], problem, content)
    t.ok(problems[0]!.startsWith(`CONTENT_MODEL is ${JSON.stringify(file)} but `), 'the file is named')
  }
  t.match(problemsOf({ ...enough, CONTENT_MODEL: join(directory, 'absent.json') }), [/CONTENT_MODEL is .* but ENOENT/])
  t.match(problemsOf({ ...enough, CONTENT_MODEL: directory }), [/CONTENT_MODEL is .* but EISDIR/])
})

t.test('docs/settings.md and .env.example are what npm run settings makes', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8')
  t.equal(page, settingsPage(page), 'run npm run settings')
  t.equal(readFileSync(join(ROOT, '.env.example'), 'utf8'), envExample(), 'run npm run settings')
  t.throws(() => settingsPage('# Settings'), /must have the lines/)
})

t.test('every setting says what the documents need', async (t) => {
  const documented = settings()
  t.strictSame(
    documented.map(({ name }) => name),
    [...Object.keys(Environment.properties), 'DATA_DIR']
  )
  for (const { name, group, description, allowed } of documented) {
    t.match(description, /^[A-Z[].*\.$/s, `${name}: a sentence`)
    t.match(allowed, /^[^|\n]+[^.|\n]$|\. -$/, `${name}: what comes behind "must be"`)
    t.ok(group, name)
  }
})

t.test('every secret may be in a file', async (t) => {
  const names = [...Object.keys(Environment.properties), ...Object.keys(TelemetryEnvironment), ...OAUTH_CLIENT]
  t.strictSame(names.filter((name) => /PASSWORD$|SECRET$|TOKEN$|HEADERS$|BUS_URL$/.test(name)).sort(), [...SECRETS].sort())
  const [, rule] = /\*\*Secrets in files\.\*\*(.*)/.exec(readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'))!
  for (const name of SECRETS) if (name !== 'CMS_CLIENT_SECRET') t.ok(rule!.includes(name), name)
})

t.test('.env.example changes nothing as it is, and is right with every line taken in', async (t) => {
  const example = envExample()
  const lines = new Map([...example.matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))
  t.strictSame(
    [...lines.keys()],
    settings().map(({ name }) => name)
  )
  t.notMatch(example, /^[^#\n]/m, 'every line is a comment')
  for (const [name, { default: value }] of Object.entries(Environment.properties)) {
    if (value === undefined) continue
    t.equal(
      name === 'CONTENT_MODEL' ? resolve(ROOT, lines.get(name)!) : lines.get(name),
      String(value),
      `${name} is shown with its default`
    )
  }
  t.strictSame(problemsOf({ ...Object.fromEntries(lines), CONTENT_MODEL: '' }), [])
})

t.test('a user may have 100 event streams, and an address half of all', async (t) => {
  const per = (env: Record<string, string>) => readConfig({ ...enough, ...env }).locks.feed.watchersPerCaller
  t.equal(per({}), 1000)
  const jwt = {
    AUTH: 'jwt',
    CMS_AUTH: 'passthrough',
    AUTH_KEYS: 'https://issuer.example/keys',
    AUTH_ISSUER: 'issuer',
    AUTH_AUDIENCE: 'quoin'
  }
  t.equal(per(jwt), 100)
})

t.test('there are 40 settings at most, and each says when to set it', async (t) => {
  const documented = settings()
  t.ok(documented.length <= 40, `${documented.length} settings`)
  for (const { name, turn } of documented) t.match(turn, /^[^|\n]+\.$/, name)
})

t.test('what was a setting is told with what is in its place, and is no near miss', async (t) => {
  const names = Object.keys(REMOVED)
  t.ok(names.length > 15)
  for (const name of names) {
    t.notOk(Object.hasOwn(Environment.properties, name), name)
    t.strictSame(misspeltSettings({ [name]: '1' }), [`${name} is no longer a setting: ${REMOVED[name]}`])
    for (const [word] of REMOVED[name]!.matchAll(/\b[A-Z]+_[A-Z_]+\b/g)) {
      t.ok(Object.hasOwn(Environment.properties, word), `${name}: ${word}`)
    }
  }
  t.strictSame(misspeltSettings({ SHUTDOWN_GRACE_MS: '' }), [])
  t.match(
    problemsOf({ ...enough, AUTH: 'jwt', CMS_AUTH: 'passthrough', AUTH_JWKS_URL: 'https://id.example/jwks' }).at(-1),
    /^AUTH_JWKS_URL is no longer/
  )
})

t.test('the account of CMS_AUTH=oauth goes by the names of simple_oauth too', async (t) => {
  const oauth = { ...enough, CMS_AUTH: 'oauth' }
  const account = { kind: 'oauth', clientId: 'id', clientSecret: 'key' }
  t.strictSame(readConfig({ ...oauth, CMS_USER: 'id', CMS_PASSWORD: 'key' }).cms.auth, account)
  t.strictSame(readConfig({ ...oauth, CMS_CLIENT_ID: 'id', CMS_CLIENT_SECRET: 'key', CMS_USER: 'ada' }).cms.auth, account)
  t.match(problemsOf({ ...enough, CMS_AUTH: 'basic', CMS_CLIENT_ID: 'id', CMS_CLIENT_SECRET: 'key' }), [
    /^CMS_USER is missing/,
    /^CMS_PASSWORD is missing/
  ])
})

t.test('the variables of others are documented, and no setting of Quoin', async (t) => {
  const [, others] = /\*\*Variables of others\*\*(.*)/.exec(readFileSync(join(ROOT, 'docs/settings.md'), 'utf8'))!
  for (const name of Object.keys(TelemetryEnvironment)) {
    t.ok(others!.includes(name), name)
    t.notOk(Object.hasOwn(Environment.properties, name), name)
  }
})
