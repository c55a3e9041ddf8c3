import type { Account } from '../../lib/drupal/accounts.ts'
import { createJsonapi } from '../../lib/drupal/client.ts'
import type { Collection } from '../../lib/editions/site/catalog.ts'
import { newCaller } from '../../lib/http/calls.ts'
import type { Http } from '../../lib/http/client.ts'
import { commandFor } from '../../lib/package-root.ts'
import { unchecked, type Diagnosis } from './diagnosis.ts'
import { entryPointDiagnosis, identity, loggedInOnce } from './doctor/cms.ts'
import { createAsk, type Ask } from './survey/ask.ts'
import { collectionsOf } from './survey/survey.ts'

/** A Drupal that a command asks, and writes down what it shows. */
export interface SiteToAsk {
  http: Http
  /** Drupal's address, for the reader. */
  url: string
  jsonapiPath: string
  /** The service account; without one Drupal is asked as anonymous. */
  account?: Account
}

/** A Drupal that has answered. */
export interface OpenSite {
  ask: Ask
  /** Who asks. */
  name: string
  collections: Collection[]
}

/**
 * Asks a Drupal for its entry point, and who asks; says what it found.
 * @param verb of the command that asks
 * @throws {Failure} of a Drupal that does not answer as it should
 */
export async function* openSite(
  { http, url, jsonapiPath, account }: SiteToAsk,
  verb: 'model' | 'types'
): AsyncGenerator<Diagnosis, OpenSite> {
  // Before anything is sent with credentials: to a wrong address they would look wrong.
  yield entryPointDiagnosis(
    await createJsonapi({ http, jsonapiPath }).request({ path: '', caller: newCaller() }),
    url + jsonapiPath
  )
  const ask = createAsk({ http, jsonapiPath, ...(account && { account: loggedInOnce(account) }) })
  const name = account ? yield* identity(ask.cms, () => collectionsOf(ask)) : 'anonymous'
  if (name === 'anonymous') {
    yield unchecked(
      'CMS account',
      `anonymous sees little; CMS_AUTH=basic CMS_USER=<name> CMS_PASSWORD=<password> ${commandFor(verb)} asks as one of your users`
    )
  }
  return { ask, name, collections: await collectionsOf(ask) }
}
