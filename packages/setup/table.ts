import { readStoreConfig } from '../../config/env.ts'
import { createStore } from '../../lib/table/client.ts'
import { giveUp, loadEnvFile } from '../../server.ts'
import { report } from './diagnosis.ts'
import { provision } from './table/provision.ts'

/** `quoin table`: makes the lock table that the settings name, or checks it. */
export async function table(): Promise<void> {
  try {
    loadEnvFile()
    const { table, dynamodb } = readStoreConfig(process.env)
    const { client, destroy } = createStore(dynamodb)
    const diagnoses = provision({ client, table, local: dynamodb.endpoint !== undefined })
    process.exitCode = (await report(diagnoses, console.log)) ? 0 : 1
    destroy()
  } catch (error) {
    giveUp(error)
  }
}
