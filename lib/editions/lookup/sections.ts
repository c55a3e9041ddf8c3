import type { Caller } from '../../http/calls.ts'
import { identifiers, primaryData, resources, type Resource } from '../../drupal/document.ts'
import { attributeOf, publicName, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { refusal } from '../translate/failures.ts'
import { pageQuery, PAGE_MAX, type Parameters } from '../translate/query.ts'
import { rowsOf } from '../translate/verify.ts'
import { LABELS, labelOf, SECTION_MAX } from './looks.ts'

/** How many resource types of sections are read, and how many pages of each. */
export const TYPES_MAX = 3
export const PAGES_MAX = 2

/** The sections of a list. */
export interface Sections {
  /** What `section` of a search takes, and what it is called. */
  sections: Array<{ id: string; label: string }>
  /** Whether these are all that the caller may see. */
  isComplete: boolean
}

interface SectionsContext {
  site: Pick<Site, 'cms' | 'catalog' | 'model'>
  /** The field with the section, by its internal name. */
  field: string
}

interface SectionRows {
  rows: Resource[]
  more: boolean
}

/** @returns a function that reads the sections of a list (`readSections`) */
export function createSections(
  site: SectionsContext['site'],
  field: string
): (caller: Caller) => Promise<Sections> {
  const context: SectionsContext = { site, field }
  return (caller) => readSections(context, caller)
}

/**
 * Reads what the sections of a list are. Drupal does not tell editors which bundles a reference
 * takes: the newest 50 rows of each bundle show it, and the first 100 entities of these are read.
 * Of a field of texts there are those that these rows have.
 * @throws {Failure} as the CMS refuses; CMS_INVALID_RESPONSE
 */
export async function readSections(context: SectionsContext, caller: Caller): Promise<Sections> {
  const { catalog, model } = context.site
  const { field } = context
  const pages = await Promise.all(
    (await catalog.editions(caller)).map((collection) => readNewest(context, collection, caller))
  )
  const rows = pages.flatMap((page) => page.rows)
  const name = publicName(model, field)
  const targets = rows.flatMap(({ relationships }) => identifiers(relationships?.[name]))
  const types = [...new Set(targets.map(({ type }) => type))]
  if (types.length === 0) {
    const isComplete = pages.every(({ more }) => !more)
    return { sections: textsIn(rows, field, model), isComplete }
  }
  const all = await catalog.all(caller)
  const ofTypes = await Promise.all(
    types.slice(0, TYPES_MAX).map((type) => {
      const collection = all.find(({ resourceType }) => resourceType === type)
      return collection
        ? readTargets(context, collection, caller)
        : { sections: [], isComplete: false }
    })
  )
  return {
    sections: ofTypes.flatMap(({ sections }) => sections),
    isComplete: types.length <= TYPES_MAX && ofTypes.every(({ isComplete }) => isComplete)
  }
}

/** The newest rows of a collection, with their sections alone. */
async function readNewest(
  { site: { cms, model }, field }: SectionsContext,
  collection: Collection,
  caller: Caller
): Promise<SectionRows> {
  const { path, resourceType } = collection
  const fields = [model.keys.id, field].map((name) => publicName(model, name)).join(',')
  const query: Parameters = [...pageQuery(0, PAGE_MAX, model), [`fields[${resourceType}]`, fields]]
  const answer = await cms.request({ path, query, caller })
  if (answer.status >= 400) throw refusal(answer)
  const { document } = answer
  return {
    rows: rowsOf(resources(document), collection),
    more: document.links?.next !== undefined
  }
}

/** The sections of a field of texts, as rows show them. */
function textsIn(rows: Resource[], field: string, model: ContentModel): Sections['sections'] {
  const texts = rows
    .flatMap(({ attributes = {} }) => attributeOf(attributes, field, model))
    .filter((text) => typeof text === 'string')
    .filter((text) => text !== '' && text.length <= SECTION_MAX)
  return [...new Set(texts)].map((text) => ({ id: text, label: text }))
}

/** The entities of a bundle that sections are of, as far as the caller may see them. */
async function readTargets(
  { site: { cms } }: SectionsContext,
  collection: Collection,
  caller: Caller
): Promise<Sections> {
  const { path, resourceType } = collection
  const sections: Sections['sections'] = []
  for (let page = 0; page < PAGES_MAX; page++) {
    const query: Parameters = [
      [`fields[${resourceType}]`, LABELS.join(',')],
      ['page[offset]', String(page * PAGE_MAX)],
      ['page[limit]', String(PAGE_MAX)]
    ]
    const { status, document } = await cms.request({ path, query, caller })
    if (status >= 400) return { sections, isComplete: false }
    for (const resource of rowsOf(primaryData(document), collection)) {
      const label = labelOf(resource)
      if (label) sections.push({ id: resource.id, label: label.slice(0, SECTION_MAX) })
    }
    if (document.links?.next === undefined) return { sections, isComplete: true }
  }
  return { sections, isComplete: false }
}
