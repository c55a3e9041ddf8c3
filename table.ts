import { readStoreConfig } from './config/env.ts'
import { createStore } from './lib/table/client.ts'
import { provision } from './lib/table/provision.ts'
import { report } from './lib/findings.ts'
import { giveUp, loadEnvFile } from './server.ts'

// `npm run table`: makes the lock table that the settings name, or sees whether it is as it should be.
try {
  loadEnvFile()
  const { table, dynamodb } = readStoreConfig(process.env)
  const { client, destroy } = createStore(dynamodb)
  process.exitCode = (await report(
    provision({ client, table, local: dynamodb.endpoint !== undefined }),
    console.log
  ))
    ? 0
    : 1
  destroy()
} catch (error) {
  giveUp(error)
}
