import { Failure } from '../../lib/errors.ts'
import { listModel } from '../../lib/editions/site/list-site.ts'
import type { Collection } from '../../lib/editions/site/catalog.ts'
import type { ContentModel } from '../../lib/editions/model.ts'
import { commandFor } from '../../lib/package-root.ts'
import { ok, unchecked, wrong, type Diagnosis } from './diagnosis.ts'
import { openSite, type SiteToAsk } from './site.ts'
import { cmsAdvice } from './doctor/advice.ts'
import { type Ask } from './survey/ask.ts'
import type { Storage } from './survey/fields.ts'
import { configuredIn, labelsIn, listConfig } from './survey/survey.ts'
import { fieldTypes } from './types/fields.ts'
import { typesText, type BundleType } from './types/file.ts'

export interface TypesToWrite extends SiteToAsk {
  model: ContentModel
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
  model,
  write,
  ...site
}: TypesToWrite): AsyncGenerator<Diagnosis> {
  try {
    const { ask, name, collections } = yield* openSite(site, 'types')
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
    write(typesText({ editions, lists }, `${site.url} shows to ${name}`))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    yield cmsAdvice(error, site.url)
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
  const own = collections.filter(
    (collection) =>
      collection.entityType === entityType &&
      (!bundles || Object.hasOwn(bundles, collection.bundle))
  )
  const storages = await storagesOf(ask, collections, entityType)
  const labels = await labelsOf(ask, collections, model)
  const types: BundleType[] = []
  for (const { bundle, path } of own.slice(0, BUNDLES)) {
    const { rows, hidden, refused } = await ask.list(path, [], PAGES)
    if (refused) throw refused
    const fields = fieldTypes({ rows, model, bundle, storages })
    types.push({ bundle, label: bundles?.[bundle] ?? labels.get(bundle) ?? bundle, fields })
    yield told(`${what}: ${bundle}`, { seen: rows.length, hidden }, fields)
  }
  if (own.length > BUNDLES) {
    yield unchecked(
      what,
      `${own.length - BUNDLES} bundles are left out: at most ${BUNDLES} are written`
    )
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
