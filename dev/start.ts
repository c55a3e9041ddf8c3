import { parseArgs } from 'node:util'
import { readConfig, SettingsError } from '../config/env.ts'
import { createStore } from '../lib/table/client.ts'
import { createTable } from '../lib/table/definition.ts'
import { docsStart } from '../plugins/external/openapi.ts'
import { giveUp, loadEnvFile, serve } from '../server.ts'
import { createCms } from '../packages/drupal-stand-in/cms.ts'
import { commands } from './commands.ts'
import { newspaper } from './content.ts'
import type { EmbeddedEngine } from './dynamodb.ts'
import { DevEnvironment } from './environment.ts'
import { forget, openSite, type KeptSite } from './kept-site.ts'

/**
 * Who installs Quoin as a package gets no engine: production needs none, and it is built for the
 * machine it runs on.
 */
const MISSING_ENGINE =
  'DYNAMODB_ENDPOINT is missing, and the embedded engine is not installed: npm install --save-dev dynalite@4 classic-level@3'

/**
 * Starts the embedded engine.
 * @param prepare what is done with the directory before the engine opens its files there
 * @throws {SettingsError} where it cannot be had
 */
async function startEngine(dataDir: string, prepare: () => void): Promise<EmbeddedEngine> {
  try {
    const { startDynamodb } = await import('./dynamodb.ts')
    return await startDynamodb(dataDir, prepare)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
    throw new SettingsError([isMissing ? MISSING_ENGINE : message], { cause: error })
  }
}

/** @throws {SettingsError} where the arguments are not understood */
function freshIn(args: string[]): boolean {
  try {
    return parseArgs({ args, options: { fresh: { type: 'boolean', default: false } } }).values.fresh
  } catch (error) {
    throw new SettingsError([
      `${(error as Error).message}\nThere is --fresh, which forgets the locks and editions of an earlier life.`
    ])
  }
}

/**
 * `npm run dev`: the application with a lock store and a CMS of its own, unless the settings name
 * others. Both keep what they have in DATA_DIR; `--fresh` forgets it first.
 */
async function start(args: string[]): Promise<void> {
  const isFresh = freshIn(args)
  const env: Record<string, string | undefined> = {
    ...process.env,
    ENVIRONMENT: process.env.ENVIRONMENT || 'local',
    DESK: process.env.DESK || 'on',
    // The lock of a tab that crashed ends by itself.
    LOCK_LEASE_SECONDS: process.env.LOCK_LEASE_SECONDS || '120'
  }
  const embeddedParts: string[] = []
  /** Where the lock store keeps its files, and so the sample CMS; none where the store is another. */
  const dataDir = env.DYNAMODB_ENDPOINT
    ? undefined
    : env.DATA_DIR || DevEnvironment.DATA_DIR.default!

  const sample = env.CMS_URL ? undefined : newspaper()
  let site: KeptSite | undefined
  if (dataDir !== undefined) {
    const engine = await startEngine(dataDir, () => {
      if (isFresh) forget(dataDir)
      if (sample) site = openSite(dataDir, sample)
    })
    env.DYNAMODB_ENDPOINT = engine.endpoint
    // The embedded engine takes any; a profile of the user's may be incomplete or ask for a login.
    delete process.env.AWS_PROFILE
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' })
    embeddedParts.push(`locks in ${dataDir}/ (an embedded DynamoDB engine)`)
  }
  if (sample) {
    env.CMS_URL = await createCms({ content: sample, ...(site && { kept: site.kept }) }).listen()
    Object.assign(env, {
      CMS_JSONAPI_PATH: '/jsonapi',
      CMS_AUTH: 'basic',
      CMS_USER: 'editor',
      CMS_PASSWORD: 'editor'
    })
    embeddedParts.push(
      `editions in a sample CMS at ${env.CMS_URL} (in ${dataDir === undefined ? 'memory' : `${dataDir}/`}; user editor, password editor)`
    )
  }

  const settings = readConfig(env)
  const { contentModel } = settings
  const config = {
    ...settings,
    contentModel: { ...(sample && { timeZone: sample.timeZone }), ...contentModel }
  }
  if (!process.env.DYNAMODB_ENDPOINT) {
    const { client, destroy } = createStore(config.dynamodb)
    await createTable(client, config.table)
    destroy()
  }
  const address = await serve(config)
  console.log(
    [
      '',
      `Quoin listens on ${address} (its API: ${address}/${docsStart()})`,
      ...(config.desk
        ? [`  its desk: ${address}/desk?as=anna, and beside it ${address}/desk?as=ben`]
        : []),
      ...embeddedParts.map((part) => `  ${part}`),
      ...(site?.notice === undefined ? [] : ['', site.notice]),
      '',
      'Try:',
      ...commands(address, config.contentModel).map((command) => `  ${command}`),
      ''
    ].join('\n')
  )
}

/**
 * `quoin dev`: starts it, and ends the process where it cannot.
 * @param args what stands behind the verb
 */
export async function dev(args: string[]): Promise<void> {
  try {
    loadEnvFile()
    await start(args)
  } catch (error) {
    giveUp(error)
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) await dev(process.argv.slice(2))
