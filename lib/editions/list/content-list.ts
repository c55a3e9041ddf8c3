import type { Caller } from '../../http/calls.ts'
import { createFinder } from '../lookup/finder.ts'
import { createListLooks } from '../lookup/list-looks.ts'
import { createSections } from '../lookup/sections.ts'
import { createResources } from '../lookup/resources.ts'
import type { ContentModel, List } from '../model.ts'
import { listSite } from '../site/list-site.ts'
import type { Site } from '../site/site.ts'
import { createTexts, type EditionText } from '../translate/texts.ts'
import { createRows } from './rows.ts'
import { createSearch } from './search.ts'

/** A list of the content model, and what its entities are read with. */
export interface ContentList {
  /** The content model in which the entities of the list are the editions. */
  model: ContentModel
  /** Its field with the section of an entity. */
  section: string | undefined
  rows: ReturnType<typeof createRows>
  /** @param id integer id or uuid */
  read(id: string, caller: Caller): Promise<EditionText>
  /** Its sections; undefined where it names no field for them. */
  sections: ReturnType<typeof createSections> | undefined
  looks: ReturnType<typeof createListLooks>
  /** Whether JSON:API has any of its bundles. */
  isExposed(caller: Caller): Promise<boolean>
}

export function createContentList(editionSite: Site, name: string, list: List): ContentList {
  const site = listSite(editionSite, name, list)
  const resources = createResources(site)
  const find = createFinder(site, resources)
  const texts = createTexts(site)
  return {
    model: site.model,
    section: list.section,
    rows: createRows(site, createSearch(site, resources), texts),
    read: async (id, caller) => texts.editionOf(await find(id, caller)),
    sections: list.section === undefined ? undefined : createSections(site, list.section),
    looks: createListLooks(site, list),
    isExposed: async (caller) => (await site.catalog.editions(caller)).length > 0
  }
}
