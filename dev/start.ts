import { readConfig, SettingsError } from '../config/env.ts'
import { createStore } from '../lib/dynamodb/client.ts'
import { createTable } from '../lib/dynamodb/table.ts'
import { giveUp, loadEnvFile, serve } from '../server.ts'
import { createCms } from '../packages/drupal-stand-in/cms.ts'
import { newspaper } from './content.ts'
import { startDynamodb } from './dynamodb.ts'
import { DevEnvironment } from './environment.ts'

/** `npm run dev`: the application with a lock store and a CMS of its own, unless the settings name others. */
async function start (): Promise<void> {
  const env: Record<string, string | undefined> = { ...process.env, ENVIRONMENT: process.env.ENVIRONMENT || 'local', DESK: process.env.DESK || 'on' }
  const embedded: string[] = []

  if (!env.DYNAMODB_ENDPOINT) {
    const dataDir = env.DATA_DIR || DevEnvironment.DATA_DIR.default!
    const engine = await startDynamodb(dataDir).catch((error: Error) => { throw new SettingsError([error.message], { cause: error }) })
    env.DYNAMODB_ENDPOINT = engine.endpoint
    // The embedded engine takes any; a profile of the user's may be incomplete or ask for a login.
    delete process.env.AWS_PROFILE
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' })
    embedded.push(`locks in ${dataDir}/ (an embedded DynamoDB engine)`)
  }
  if (!env.CMS_URL) {
    env.CMS_URL = await createCms({ content: newspaper() }).listen()
    Object.assign(env, { CMS_JSONAPI_PATH: '/jsonapi', CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' })
    embedded.push(`editions in a sample CMS at ${env.CMS_URL} (in memory; user editor, password editor)`)
  }

  const config = readConfig(env)
  if (!process.env.DYNAMODB_ENDPOINT) {
    const { client, destroy } = createStore(config.dynamodb)
    await createTable(client, config.table)
    destroy()
  }
  const address = await serve(config)
  console.log([
    '',
    `Quoin listens on ${address} (its API: ${address}/docs)`,
    ...(config.desk ? [`  its desk: ${address}/desk?as=anna, and beside it ${address}/desk?as=ben`] : []),
    ...embedded.map((part) => `  ${part}`),
    '',
    'Try:',
    `  curl -X POST ${address}/api/cloud/data-state/node/1 -H 'content-type: application/json' -d '{"fieldName":"title","userData":{"uid":"7","name":"Anna"},"payload":"A headline"}'`,
    `  curl '${address}/api/collections/publisher_container?limit=2'`,
    ''
  ].join('\n'))
}

try {
  loadEnvFile()
  await start()
} catch (error) {
  giveUp(error)
}
