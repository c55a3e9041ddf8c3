import { Failure } from '../../lib/errors.ts'
import type { Account } from '../../lib/drupal/accounts.ts'
import { createJsonapi } from '../../lib/drupal/client.ts'
import { listModel } from '../../lib/editions/site/list-site.ts'
import type { Collection } from '../../lib/editions/site/catalog.ts'
import type { ContentModel } from '../../lib/editions/model.ts'
import { newCaller } from '../../lib/http/calls.ts'
import type { Http } from '../../lib/http/client.ts'
import { commandFor } from '../../lib/package-root.ts'
import { ok, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { cmsAdvice } from './doctor/advice.ts'
import { entryPointDiagnosis, identity, loggedInOnce } from './doctor/cms.ts'
import { createAsk, type Ask } from './survey/ask.ts'
import type { Storage } from './survey/fields.ts'
import { collectionsOf, configuredIn, labelsIn, listConfig } from './survey/survey.ts'
import { fieldTypes } from './types/fields.ts'
import { typesText, type BundleType } from './types/file.ts'

export interface TypesToWrite {
  http: Http
  /** Drupal's address, for the reader. */
  url: string
  jsonapiPath: string
  model: ContentModel
  /** The service account; without one Drupal is asked as anonymous. */
  account?: Account
  /** Writes the file. */
  write: (text: string) => void
}

/** How many pages of entities of a bundle are looked at, and how many bundles of an entity type. */
const PAGES = 4
const BUNDLES = 100

/** How many fields a line names. */
const NAMED = 20

/**
 * Asks a Drupal for the fields of editions, and of what the content model's lists have, and writes
 * them as types of TypeScript. It says in which nobody has a value: these are unknown.
 */
export async function* writeTypes({
  http,
  url,
  jsonapiPath,
  model,
  account,
  write
}: TypesToWrite): AsyncGenerator<Diagnosis> {
  try {
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
        `anonymous sees little; CMS_AUTH=basic CMS_USER=<name> CMS_PASSWORD=<password> ${commandFor('types')} asks as one of your users`
      )
    }
    const collections = await collectionsOf(ask)
    const editions = yield* bundleTypes(ask, collections, model, 'editions')
    if (editions.length === 0) {
      yield wrong(
        `editions: JSON:API has no ${model.entityType} of the content model's bundles`,
        `see with ${commandFor('doctor')} whether the content model is right`
      )
      return
    }
    const lists: Array<{ name: string; bundles: BundleType[] }> = []
    for (const [list, described] of Object.entries(model.lists)) {
      const bundles = yield* bundleTypes(ask, collections, listModel(described, model), list)
      if (bundles.length > 0) lists.push({ name: list, bundles })
      else yield unchecked(list, `JSON:API has no ${described.entityType} of the list's bundles`)
    }
    write(typesText({ editions, lists }, `${url} shows to ${name}`))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    yield cmsAdvice(error, url)
    yield unchecked('the types', 'correct the above first; no file is written')
  }
}

/**
 * The bundles of an entity type with their fields.
 * @param model of editions, or of a list as if its entities were editions
 */
async function* bundleTypes(
  ask: Ask,
  collections: Collection[],
  model: ContentModel,
  what: string
): AsyncGenerator<Diagnosis, BundleType[]> {
  const { entityType, bundles } = model
  const own = collections
    .filter(
      (collection) =>
        collection.entityType === entityType &&
        (!bundles || Object.hasOwn(bundles, collection.bundle))
    )
    .slice(0, BUNDLES)
  const storages = await storagesOf(ask, collections, entityType)
  const labels = await labelsOf(ask, collections, model)
  const types: BundleType[] = []
  for (const { bundle, path } of own) {
    const { rows, hidden, refused } = await ask.list(path, [], PAGES)
    if (refused) throw refused
    const fields = fieldTypes({ rows, model, bundle, storages })
    types.push({ bundle, label: bundles?.[bundle] ?? labels.get(bundle) ?? bundle, fields })
    yield told(`${what}: ${bundle}`, { seen: rows.length, hidden }, fields)
  }
  return types
}

function told(
  what: string,
  { seen, hidden }: { seen: number; hidden: number },
  fields: ReturnType<typeof fieldTypes>
): Diagnosis {
  const note = hidden > 0 ? `, ${hidden} more are hidden` : ''
  if (seen === 0) return unchecked(what, `none can be seen${note}, so no field is known`)
  const unknown = fields.filter(({ isUnknown }) => isUnknown).map(({ name }) => name)
  const counted = `${what}: ${fields.length} fields, as ${seen} show them${note}`
  if (unknown.length === 0) return ok(counted)
  const more = unknown.length > NAMED ? ` and ${unknown.length - NAMED} more` : ''
  return unchecked(
    counted,
    `none has a value in ${unknown.slice(0, NAMED).join(', ')}${more}, so their items are unknown`
  )
}

async function storagesOf(
  ask: Ask,
  collections: Collection[],
  entityType: string
): Promise<Storage[] | undefined> {
  const query: Array<[string, string]> = [['filter[entity_type]', entityType]]
  return configuredIn(await listConfig(ask, collections, 'field_storage_config', query))
}

/** What people call the bundles, as far as the account may see it. */
async function labelsOf(
  ask: Ask,
  collections: Collection[],
  { bundleEntityType }: ContentModel
): Promise<Map<string, string>> {
  const rows =
    bundleEntityType === null ? [] : (await listConfig(ask, collections, bundleEntityType, [])).rows
  return labelsIn(rows)
}
