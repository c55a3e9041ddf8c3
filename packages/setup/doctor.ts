import { misspeltSettings, readConfig, SettingsError, type Config } from '../../config/env.ts'
import { checkBus } from './doctor/bus.ts'
import { checkCms } from './doctor/cms.ts'
import { checkIssuer } from './doctor/issuer.ts'
import type { Records } from './doctor/restored.ts'
import { checkStore } from './doctor/store.ts'
import { createLocks } from '../../lib/locks/locks.ts'
import { createJournal } from '../../lib/saves/journal.ts'
import { createStore, type Store } from '../../lib/table/client.ts'
import { ok, report, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { createHttp } from '../../lib/http/client.ts'
import { channelOf, countsOf } from '../../plugins/app/bus.ts'
import { accountOf } from '../../plugins/app/editions.ts'
import { giveUp, loadEnvFile } from '../../server.ts'

/**
 * What is right and wrong with the settings, the issuer's keys, the bus, the lock table and the
 * CMS.
 */
async function* examine(): AsyncGenerator<Diagnosis> {
  try {
    loadEnvFile()
    const config = readConfig(process.env)
    yield ok('settings: none is missing or wrong')
    for (const warning of misspeltSettings(process.env)) yield unchecked('settings', warning)
    if (config.auth?.kind === 'jwt' && 'jwksUrl' in config.auth.jwt.keys) {
      yield await checkIssuer(config.auth.jwt.keys.jwksUrl)
    }
    if (config.bus) {
      yield* checkBus({
        url: config.bus.url,
        channel: channelOf(config),
        counts: config.rateLimit > 0 ? countsOf(config) : undefined
      })
    }
    const store = createStore(config.dynamodb)
    try {
      const isTableRight = yield* table(config, store)
      yield* cms(config, isTableRight ? recordsIn(config, store) : undefined)
    } finally {
      store.destroy()
    }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    for (const problem of error.problems) yield wrong(problem)
    yield unchecked('the lock table and the CMS', 'the settings have to be right first')
  }
}

/** @returns whether nothing is wrong with the table */
async function* table(
  { table, environment, enforceLocks, dynamodb }: Config,
  { client }: Store
): AsyncGenerator<Diagnosis, boolean> {
  const local = dynamodb.endpoint !== undefined
  let isRight = true
  for await (const diagnosis of checkStore({ client, table, environment, enforceLocks, local })) {
    if (diagnosis.state === 'wrong') isRight = false
    yield diagnosis
  }
  return isRight
}

/** What the table has of editions. */
function recordsIn(
  { table, environment, journalDays: days, locks, contentModel: model }: Config,
  { client, clock: { time } }: Store
): Records {
  const at = { client, table, environment, time }
  const journal = days === 0 ? undefined : createJournal({ ...at, days, model, warn: () => {} })
  return { locks: createLocks({ ...at, ...locks }), journal }
}

async function* cms(
  { cms: { auth, jsonapiPath, ...at }, contentModel: model }: Config,
  records: Records | undefined
): AsyncGenerator<Diagnosis> {
  const http = createHttp(at)
  const account = accountOf(auth, { http, jsonapiPath })
  try {
    yield* checkCms({
      http,
      url: at.url,
      jsonapiPath,
      model,
      ...(account && { account }),
      ...(records && { records })
    })
  } finally {
    await http.close()
  }
}

/** `quoin doctor`: says what is wrong with a setup and what to do. It changes nothing. */
export async function doctor(): Promise<void> {
  try {
    process.exitCode = (await report(examine(), console.log)) ? 0 : 1
  } catch (error) {
    giveUp(error)
  }
}
