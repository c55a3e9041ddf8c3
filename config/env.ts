import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { contentModel, type ContentModel } from '../lib/editions/model.ts'
import { PACKAGE_ROOT } from '../lib/package-root.ts'
import type { BudgetLimits } from '../lib/saves/budgets.ts'
import { AuthEnvironment, readAuth, type AuthConfig } from './auth.ts'
import {
  CmsAuthEnvironment,
  OAUTH_CLIENT,
  readCmsAuth,
  withOauthClient,
  type CmsAuth
} from './cms-auth.ts'
import { itemsIn } from './edges.ts'
import { EventsEnvironment, readEvents, type EventsConfig } from './events.ts'
import { misspelt } from './misspelt.ts'
import { fileOf, SECRETS, withSecretFiles } from './secret-files.ts'
import { readService, type ServiceConfig } from './service.ts'
import { httpUrl, inGroup, setting } from './setting.ts'
import { removedSettings, REMOVED } from './removed.ts'
import { TelemetryEnvironment, tracesOf } from './telemetry.ts'

const ServiceEnvironment = inGroup('The service', {
  HOST: setting(Type.String({ default: '127.0.0.1', minLength: 1 }), {
    description: 'Where to listen.',
    turn: 'callers are on other machines, as in a container: 0.0.0.0, or :: for IPv6 alone. `/metrics` listens there too.',
    allowed: 'an address or host name to listen on'
  }),
  PORT: setting(Type.Integer({ default: 3000, minimum: 0, maximum: 65535 }), {
    description: 'The port to listen on. With 0 the system picks a free one.',
    turn: 'something else has the port.',
    allowed: 'an integer from 0 to 65535'
  }),
  HOSTS: setting(Type.Optional(Type.String({ format: 'hosts' })), {
    description:
      'With AUTH=none: the names that callers may use, such as that of a balancer or of a container. An IP address, localhost and HOST need no entry. Any other name is answered 421.',
    turn: 'you serve it by a name with AUTH=none.',
    allowed:
      'names that this service goes by, separated by commas, such as quoin.example.org: no port, no *',
    example: 'quoin.example.org'
  }),
  CORS_ORIGINS: setting(Type.Optional(Type.String({ format: 'origins' })), {
    description: 'The origins whose pages may call from a browser.',
    turn: 'a page of another origin calls Quoin from the browser.',
    allowed:
      'origins as browsers send them, separated by commas, such as https://desk.example.org: no path, no *',
    example: 'https://desk.example.org,http://localhost:5173',
    unset: 'none'
  }),
  RATE_LIMIT: setting(Type.Integer({ default: 0, minimum: 0, maximum: 1_000_000 }), {
    description:
      'How many requests a minute one caller may make of one instance, or of all that share EVENTS_BUS_URL.',
    turn: 'callers are not your own programs, or one of them has run away.',
    allowed: 'requests a minute and caller, an integer from 0 (any number) to 1000000'
  }),
  TRUST_PROXY: setting(Type.Optional(Type.String({ format: 'networks' })), {
    description:
      "The balancers in front. Quoin believes their `X-Forwarded-For`, which has the caller's address.",
    turn: 'a balancer is in front: without it all callers have its address, in the log and for RATE_LIMIT.',
    allowed:
      'addresses or networks of the balancers in front, separated by commas, such as 10.0.0.0/16,::1',
    example: '10.0.0.0/16',
    unset: 'none'
  }),
  DESK: setting(Type.Union([Type.Literal('on'), Type.Literal('off')], { default: 'off' }), {
    description: 'Whether Quoin serves [the page /desk](desk.md).',
    turn: 'editors should try Quoin before your own UI is there.',
    allowed: 'on or off',
    dev: 'on'
  }),
  MCP: setting(
    Type.Union(
      [
        Type.Literal('off'),
        Type.Literal('on'),
        Type.String({
          format: 'url',
          pattern:
            '^(?:https://[\\w.:[\\]-]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d+)?)(?:/[\\w.~-]+)*/mcp$'
        })
      ],
      { default: 'off' }
    ),
    {
      description:
        'Whether [agents](agents.md) have tools at /mcp, by the Model Context Protocol. It takes 150 ms of CPU at the start, and 17 MiB. With AUTH=jwt its value may be the address at which agents reach /mcp: then /mcp is [a protected resource](agents.md#oauth), which takes tokens with this audience alone, and their scopes say which tools they allow.',
      turn: 'agents should read and propose; the address, where they log in by OAuth.',
      allowed:
        'off, on, or the public address of /mcp, by https, or by http on this machine, without a query, such as https://quoin.example.org/mcp (needs AUTH=jwt)'
    }
  ),
  MCP_ALLOW: setting(
    Type.Optional(
      Type.String({
        pattern: '^\\s*(?:publish|close|restore)\\s*(?:,\\s*(?:publish|close|restore)\\s*)*$'
      })
    ),
    {
      description:
        'With MCP: what agents may do beside reading, editing and proposing. Each adds [a tool](agents.md#tools) with a scope of its name.',
      turn: 'agents should do more than write.',
      allowed: 'of publish, close and restore those that agents may do, separated by commas',
      example: 'close,restore',
      unset: 'none'
    }
  )
})

const WatchingEnvironment = inGroup('Log, metrics and traces', {
  LOG_LEVEL: setting(
    Type.String({ default: 'info', pattern: '^(?:fatal|error|warn|info|debug|trace|silent)$' }),
    {
      description: 'The lowest level of lines in the log.',
      turn: 'you look for something (debug), or the lines of requests cost too much (warn).',
      allowed: 'one of fatal, error, warn, info, debug, trace, silent'
    }
  ),
  METRICS_PORT: setting(Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })), {
    description: 'The port on which Prometheus finds `/metrics`.',
    turn: 'Prometheus or another scraper watches it. Production should.',
    allowed: 'an integer from 0 to 65535',
    example: 9464,
    unset: 'no metrics'
  })
})

const StoreEnvironment = inGroup('The lock table', {
  ENVIRONMENT: setting(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }), {
    description:
      'The first part of the key of every lock, so that several environments can share a table. No name may be another with a hyphen behind it, such as `prod` and `prod-eu`: their keys could meet.',
    turn: 'always: choose it once. Another value starts with no locks.',
    allowed: 'the first part of every record key, 1 to 64 of A-Z a-z 0-9 _ . -',
    example: 'production',
    dev: 'local'
  }),
  DATA_STATE_TABLE: setting(
    Type.String({ default: 'DataState', pattern: '^[A-Za-z0-9_.-]{3,255}$' }),
    {
      description: 'The table of the locks.',
      turn: 'your tables have names of a scheme.',
      allowed: "a DynamoDB table's name, 3 to 255 of A-Z a-z 0-9 _ . -"
    }
  ),
  AWS_REGION: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description:
      "The table's region. AWS_DEFAULT_REGION, which the AWS command line takes, counts where it is not set. Credentials come from the AWS SDK's own chain.",
    turn: 'always, on AWS.',
    allowed:
      'the AWS region of the table, such as eu-central-1 (needed unless DYNAMODB_ENDPOINT is set)',
    example: 'eu-central-1',
    unset: 'required unless DYNAMODB_ENDPOINT is set'
  }),
  DYNAMODB_ENDPOINT: setting(
    Type.Optional(Type.String({ format: 'url', pattern: '^https?://[^/?#@\\s]+/?$' })),
    {
      description: 'A local or compatible engine in place of AWS.',
      turn: 'the table is not on AWS.',
      allowed: 'the origin of a local or compatible engine, such as http://127.0.0.1:8000',
      example: 'http://127.0.0.1:8000',
      unset: 'AWS',
      dev: 'an embedded engine'
    }
  )
})

const LocksEnvironment = inGroup('Locks and drafts', {
  LOCK_LEASE_SECONDS: setting(Type.Integer({ default: 0, minimum: 0, maximum: 31_536_000 }), {
    description: 'How long a lock holds unless its holder renews it.',
    turn: 'locks of people who went home stay in the way, and your UI renews those that it holds, as the desk does.',
    allowed: 'seconds, an integer from 0 (locks stay until they are released) to 31536000',
    dev: '120'
  }),
  LOCK_REFUSED_STATUS: setting(
    Type.Union([Type.Literal('423'), Type.Literal('200')], { default: '423' }),
    {
      description:
        'The status of the answer "Field is locked by another user". Its `success` is false in either case.',
      turn: 'the UI is older than Quoin and cannot be changed.',
      allowed: '423, or 200 for a UI whose HTTP client throws on any other status'
    }
  ),
  DRAFT_DAYS: setting(Type.Integer({ default: 30, minimum: 1, maximum: 3650 }), {
    description:
      'How long Quoin keeps the text of a lock that somebody else took over or released, or that has expired.',
    turn: 'a rule says how long texts of people are kept, or drafts take too much of the table.',
    allowed: 'days, an integer from 1 to 3650'
  })
})

const CmsEnvironment = inGroup('Drupal', {
  CMS_URL: setting(httpUrl(), {
    description: 'Where Drupal is.',
    turn: 'always.',
    allowed: "Drupal's origin, with a path if it lives under one, such as https://cms.example.org",
    example: 'https://cms.example.org',
    dev: 'a sample CMS'
  }),
  CMS_JSONAPI_PATH: setting(
    Type.String({ default: '/jsonapi', pattern: '^(?:/[A-Za-z0-9_.~-]+)+$' }),
    {
      description: 'The path of JSON:API below CMS_URL. It also carries a language prefix.',
      turn: 'Drupal has JSON:API elsewhere, as jsonapi_extras can set, or editions are in another language than its default one.',
      allowed: 'the path of JSON:API, such as /jsonapi or /fr/jsonapi'
    }
  ),
  CMS_TIMEOUT_MS: setting(Type.Integer({ default: 10_000, minimum: 1, maximum: 600_000 }), {
    description:
      'The deadline of one request to Drupal, a second try included. Half of it is for the connection.',
    turn: 'Drupal takes longer for its slowest page of editions, or callers give up sooner.',
    allowed: 'milliseconds, an integer from 1 to 600000'
  }),
  CMS_MODULE_SECRET: setting(Type.Optional(Type.String({ pattern: '^[!-~]{32,512}$' })), {
    description:
      'What Quoin and [its Drupal module](drupal.md#the-module) sign by what they tell each other; settings.php has the same. With it, saves that do not come through Quoin respect locks, and Quoin hears of them.',
    turn: "editors also work in Drupal's own forms.",
    allowed:
      '32 to 512 visible characters of ASCII, without spaces, such as `openssl rand -base64 48` makes',
    unset: 'the module tells Quoin nothing'
  })
})

const EditionsEnvironment = inGroup('Editions', {
  EDITION_LOCKS: setting(
    Type.Union([Type.Literal('off'), Type.Literal('enforce')], { default: 'off' }),
    {
      description:
        'With `enforce` Quoin refuses to save an edition over fields that others have locked.',
      turn: 'all who save editions also take locks.',
      allowed: 'off or enforce'
    }
  ),
  JOURNAL_DAYS: setting(Type.Integer({ default: 30, minimum: 0, maximum: 3650 }), {
    description: 'How long [the journal](journal.md) keeps an entry of each save.',
    turn: 'a rule says how long it may or must be known who saved what.',
    allowed: 'days, an integer from 0 (no journal) to 3650'
  }),
  CONTENT_MODEL: setting(
    Type.String({ default: join(PACKAGE_ROOT, 'config/content-model.json'), minLength: 1 }),
    {
      description:
        "[The site's names](content-model.md) for the entity type of editions, its bundles, keys and fields.",
      turn: 'always, but for a site with the default names: `npm run model` writes the file.',
      allowed: 'the path of a content model file'
    }
  )
})

/**
 * The settings as the environment holds them, in the order of the documents.
 * @internal Not in the declarations of the package: its type cannot be named outside.
 */
export const Environment = Type.Object({
  ...ServiceEnvironment,
  ...WatchingEnvironment,
  ...StoreEnvironment,
  ...LocksEnvironment,
  ...EventsEnvironment,
  ...AuthEnvironment,
  ...CmsEnvironment,
  ...CmsAuthEnvironment,
  ...EditionsEnvironment
})

/** All that is read: the settings, and what is named as others name it. */
const Variables = Type.Object({ ...Environment.properties, ...TelemetryEnvironment })
type Variables = Static<typeof Variables>

/** The settings that must have a value: of their own, or their default. */
const REQUIRED: readonly string[] = Environment.required

/** What MCP_ALLOW allows agents. */
export type AgentPermission = 'publish' | 'close' | 'restore'

/** The settings as the application uses them. */
export interface Config {
  host: string
  port: number
  /**
   * By what names callers may call with AUTH=none, besides addresses, loopback names and `host`.
   */
  hosts: string[]
  /** Whose pages may call from a browser. */
  corsOrigins: string[]
  /** How many requests a minute a caller may make; 0: any number. */
  rateLimit: number
  /** Whose X-Forwarded-For is believed: addresses and networks. */
  trustedProxies: string[]
  logLevel: string
  /** On which port of `host` Prometheus finds the metrics, if anywhere. */
  metrics?: { port: number }
  /** Where the traces go, if anywhere. */
  traces?: { url: string; headers?: string }
  /** What logs and traces say of this service. */
  service: ServiceConfig
  /** First part of the key of every lock record. */
  environment: string
  table: string
  locks: {
    /** How long a lock holds that is not renewed; 0: until it is released. */
    leaseSeconds: number
    /** The same of an agent's lock; two minutes unless it is said. No setting says it. */
    agentLeaseSeconds?: number
    /** How long the text of a displaced lock is kept. */
    draftDays: number
    /** How event streams are served. */
    feed: EventsConfig
  }
  /** What instances tell each other by, if anything. */
  bus?: { url: string }
  dynamodb: { region: string; endpoint?: string }
  /** How callers are known; absent with AUTH=none. */
  auth?: AuthConfig
  cms: {
    /** Without a slash at the end. */
    url: string
    jsonapiPath: string
    timeoutMs: number
    /**
     * How old a copy may be that a read is answered with while the CMS is down; 0: none is. Five
     * minutes unless it is said. No setting says it.
     */
    staleSeconds?: number
    /**
     * Of a caller's cookies, the names of those that go to the CMS besides Drupal's session
     * cookies.
     */
    cookieNames: string[]
    auth: CmsAuth
    /** What Quoin and its Drupal module sign by. */
    moduleSecret?: string
  }
  contentModel: ContentModel
  /** Whether an edition's fields that others have locked cannot be saved. */
  enforceLocks: boolean
  /** How long the journal keeps an entry of each save; 0: there is no journal. */
  journalDays: number
  /**
   * The status of "Field is locked by another user": 423, or 200 for clients that throw on any
   * other.
   */
  lockRefusedStatus: number
  /** Whether the page /desk is served. */
  desk: boolean
  /** Whether agents have tools at /mcp. */
  mcp: boolean
  /** The audience of the tokens for /mcp, where that is a protected resource: its public address. */
  mcpPublicUrl?: string
  /** What agents may do beside reading, editing and proposing. */
  mcpAllow: readonly AgentPermission[]
  /** How many writes each agent may ask for there. No setting says it. */
  agentWrites?: Partial<BudgetLimits>
}

/** Thrown by `readConfig`: every missing and every wrong setting at once, one line each. */
export class SettingsError extends Error {
  readonly problems: string[]

  constructor(problems: string[], options?: ErrorOptions) {
    super(
      `Quoin cannot start with these settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
      options
    )
    this.name = 'SettingsError'
    this.problems = problems
  }
}

/** The settings that say which lock table, and where. */
const STORE_SETTINGS = ['DATA_STATE_TABLE', 'AWS_REGION', 'DYNAMODB_ENDPOINT']

/**
 * What a region of AWS is called. All that the SDK knows match, and those that AWS may add. Not
 * `eu-central-1a`, which is a zone of one.
 */
const REGION =
  /^(?:af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(?:-(?:de|gov|iso[a-z]?))?-(?:central|(?:north|south)(?:east|west)?|east|west)-\d{1,2}$/

/**
 * Reads the settings from an environment such as `process.env`. A variable set to nothing counts as
 * not set.
 * @throws {SettingsError} naming all that is missing or wrong.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const problems: string[] = []
  const env = withOauthClient(withSecretFiles(environment, problems))
  const settings = readSettings(env, problems)
  const cmsAuth = readCmsAuth(settings, env, problems)
  const auth = readAuth(settings, env['CMS_AUTH'], problems)
  checkMcp(settings, env['CMS_AUTH'], problems)
  const model = readContentModel(settings.CONTENT_MODEL, problems)
  if (problems.length > 0 || !model) {
    throw new SettingsError([...problems, ...misspeltSettings(env)])
  }

  return {
    host: settings.HOST,
    port: settings.PORT,
    hosts: settings.HOSTS ? itemsIn(settings.HOSTS) : [],
    corsOrigins: settings.CORS_ORIGINS ? itemsIn(settings.CORS_ORIGINS) : [],
    rateLimit: settings.RATE_LIMIT,
    trustedProxies: settings.TRUST_PROXY ? itemsIn(settings.TRUST_PROXY) : [],
    logLevel: settings.LOG_LEVEL,
    ...(settings.METRICS_PORT !== undefined && {
      metrics: { port: settings.METRICS_PORT }
    }),
    ...tracesOf(settings),
    service: readService(settings, env['OTEL_RESOURCE_ATTRIBUTES']),
    environment: settings.ENVIRONMENT,
    locks: {
      leaseSeconds: settings.LOCK_LEASE_SECONDS,
      draftDays: settings.DRAFT_DAYS,
      feed: readEvents(settings)
    },
    ...(settings.EVENTS_BUS_URL !== undefined && { bus: { url: settings.EVENTS_BUS_URL } }),
    ...storeOf(settings),
    ...(auth && { auth }),
    cms: cmsOf(settings, cmsAuth),
    contentModel: model,
    enforceLocks: settings.EDITION_LOCKS === 'enforce',
    journalDays: settings.JOURNAL_DAYS,
    lockRefusedStatus: Number(settings.LOCK_REFUSED_STATUS),
    desk: settings.DESK === 'on',
    mcp: settings.MCP !== 'off',
    ...(isAddress(settings.MCP) && { mcpPublicUrl: settings.MCP }),
    mcpAllow: itemsIn(settings.MCP_ALLOW ?? '').filter(Boolean) as AgentPermission[]
  }
}

/**
 * Adds to the problems what would let the token of an agent go where it must not, or leave /mcp
 * open to others than its operator thinks. Source: MCP 2026-07-28, Authorization: a server must not
 * pass on the token that it was sent.
 * @param cmsAuth CMS_AUTH as it was set, without its default
 */
function checkMcp({ MCP, AUTH }: Variables, cmsAuth: string | undefined, problems: string[]): void {
  if (MCP !== 'off' && AUTH === 'jwt' && cmsAuth === 'passthrough') {
    problems.push(
      'CMS_AUTH is passthrough, but with AUTH=jwt and MCP the token of an agent must not go on to Drupal: name a service account (basic, session or oauth), or set MCP=off'
    )
  }
  if (isAddress(MCP) && AUTH !== 'jwt') {
    problems.push(
      'MCP is an address, but /mcp takes tokens of its own only with AUTH=jwt: set AUTH=jwt, or MCP=on'
    )
  }
}

/** Whether MCP is the public address of /mcp. */
function isAddress(mcp: string): boolean {
  return mcp !== 'on' && mcp !== 'off'
}

/**
 * The environment variables that are no settings, a sentence for each: those that were, and those
 * that look misspelt.
 */
export function misspeltSettings(env: Record<string, string | undefined>): string[] {
  const others = Object.fromEntries(
    Object.entries(env).filter(([name]) => !Object.hasOwn(REMOVED, name))
  )
  return [
    ...removedSettings(env),
    ...misspelt(others, [
      ...Object.keys(Variables.properties),
      ...OAUTH_CLIENT,
      ...SECRETS.map(fileOf)
    ])
  ]
}

/**
 * Reads only what says where the lock table is; no other setting has to be there.
 * @throws {SettingsError} naming all of that which is missing or wrong.
 */
export function readStoreConfig(
  env: Record<string, string | undefined>
): Pick<Config, 'table' | 'dynamodb'> {
  const problems: string[] = []
  const settings = readSettings(env, problems, STORE_SETTINGS)
  if (problems.length > 0) throw new SettingsError(problems)
  return storeOf(settings)
}

/** The settings that say where Drupal is, and with which account to ask it. */
const CMS_SETTINGS = [...Object.keys(CmsEnvironment), ...Object.keys(CmsAuthEnvironment)]

/**
 * Reads only what says where Drupal is, and where the content model file is to be, if that is said;
 * the file need not be there.
 * @throws {SettingsError} naming all of that which is missing or wrong.
 */
export function readCmsConfig(
  environment: Record<string, string | undefined>
): Pick<Config, 'cms'> & { modelFile?: string } {
  const problems: string[] = []
  const env = withOauthClient(withSecretFiles(environment, problems))
  const settings = readSettings(env, problems, CMS_SETTINGS)
  const auth = readCmsAuth(settings, env, problems)
  if (problems.length > 0) throw new SettingsError([...problems, ...misspeltSettings(env)])
  return {
    cms: cmsOf(settings, auth),
    ...(env['CONTENT_MODEL'] && { modelFile: env['CONTENT_MODEL'] })
  }
}

/**
 * The settings of the CMS, and the content model.
 * @throws {SettingsError} with every missing and every wrong one of them
 */
export function readSiteConfig(
  environment: Record<string, string | undefined>
): Pick<Config, 'cms' | 'contentModel'> {
  const problems: string[] = []
  const env = withOauthClient(withSecretFiles(environment, problems))
  const settings = readSettings(env, problems, [...CMS_SETTINGS, 'CONTENT_MODEL'])
  const auth = readCmsAuth(settings, env, problems)
  const model = readContentModel(settings.CONTENT_MODEL, problems)
  if (problems.length > 0) throw new SettingsError([...problems, ...misspeltSettings(env)])
  return { cms: cmsOf(settings, auth), contentModel: model! }
}

function cmsOf(settings: Variables, auth: CmsAuth): Config['cms'] {
  return {
    url: settings.CMS_URL.replace(/\/+$/, ''),
    jsonapiPath: settings.CMS_JSONAPI_PATH,
    timeoutMs: settings.CMS_TIMEOUT_MS,
    cookieNames: settings.CMS_COOKIES ? itemsIn(settings.CMS_COOKIES) : [],
    auth,
    ...(settings.CMS_MODULE_SECRET !== undefined && { moduleSecret: settings.CMS_MODULE_SECRET })
  }
}

/** The settings with their defaults. Adds missing and wrong settings to the problems. */
function readSettings(
  env: Record<string, string | undefined>,
  problems: string[],
  names = Object.keys(Variables.properties)
): Variables {
  const entries = Object.entries(Variables.properties)
    .filter(([name]) => env[name])
    .map(([name, schema]) => [name, parse(schema, env[name]!)])
  const settings = Value.Default(Variables, Object.fromEntries(entries)) as Variables

  for (const [name, schema] of Object.entries(Variables.properties).filter(([name]) =>
    names.includes(name)
  )) {
    const value = settings[name as keyof Variables]
    if (value === undefined && REQUIRED.includes(name)) {
      problems.push(`${name} is missing: ${schema.allowed}`)
    } else if (value !== undefined && !Value.Check(schema, value)) {
      problems.push(`${name} is ${printable(name, env[name]!)} but must be ${schema.allowed}`)
    }
  }
  if (names.includes('AWS_REGION') && !settings.DYNAMODB_ENDPOINT) {
    if (!env['AWS_REGION'] && env['AWS_DEFAULT_REGION']) {
      settings.AWS_REGION = env['AWS_DEFAULT_REGION']
    }
    checkRegion(settings.AWS_REGION, env, problems)
  }
  return settings
}

function checkRegion(
  region: string | undefined,
  env: Record<string, string | undefined>,
  problems: string[]
): void {
  const { allowed } = Variables.properties.AWS_REGION
  if (region === undefined) problems.push(`AWS_REGION is missing: ${allowed}`)
  else if (!REGION.test(region)) {
    const name = env['AWS_REGION'] ? 'AWS_REGION' : 'AWS_DEFAULT_REGION'
    problems.push(`${name} is ${printable(name, region)} but must be ${allowed}`)
  }
}

function storeOf({
  DATA_STATE_TABLE: table,
  AWS_REGION: region = 'local',
  DYNAMODB_ENDPOINT: endpoint
}: Variables): Pick<Config, 'table' | 'dynamodb'> {
  return {
    table,
    dynamodb: {
      region,
      ...(endpoint && { endpoint })
    }
  }
}

/**
 * The value of a variable, in the type of its schema. Only plain digits are a number: not 1e3, 0x50
 * or true.
 */
function parse(schema: TSchema, text: string): string | number {
  return schema['type'] === 'integer' && /^[0-9]+$/.test(text) ? Number(text) : text
}

/**
 * The settings whose value is not printed. AUTH_KEYS may have the key itself in place of its
 * path.
 */
const SECRET = new Set([
  'OTEL_EXPORTER_OTLP_HEADERS',
  'CMS_PASSWORD',
  'CMS_CLIENT_SECRET',
  'AUTH_KEYS'
])

/** A wrong value as it may be printed: without a password, also without one inside a URL. */
function printable(name: string, text: string): string {
  return SECRET.has(name)
    ? 'not right'
    : JSON.stringify(text.replace(text.includes('//') ? /(?<=\/\/).*@/ : /^.*@/, '…@'))
}

function readContentModel(path: string, problems: string[]): ContentModel | undefined {
  try {
    return contentModel(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    problems.push(`CONTENT_MODEL is ${JSON.stringify(path)} but ${(error as Error).message}`)
    return undefined
  }
}
