import type { RefusalListener } from '../drupal/refusals.ts'
import { createContentList, type ContentList } from './list/content-list.ts'
import { createPlacements } from './list/placements.ts'
import { createRows } from './list/rows.ts'
import { createSearch } from './list/search.ts'
import { createContents } from './lookup/contents.ts'
import { createFinder, type Load } from './lookup/finder.ts'
import { createLabels } from './lookup/labels.ts'
import { createReferences, type References } from './lookup/references.ts'
import { createResources, type Resources } from './lookup/resources.ts'
import { createSamples } from './lookup/samples.ts'
import { publicName, type ContentModel } from './model.ts'
import { createBases, type Bases } from './save/bases.ts'
import { createPermissions, type Permissions } from './save/permissions.ts'
import type { Recorder } from './save/recorder.ts'
import { createSaveQueue, type SaveQueue, type Turns } from './save/save-queue.ts'
import type { SavedChange } from './save/told-operations.ts'
import type { Site } from './site/site.ts'
import type { EditionJson } from './translate/edition-json.ts'
import { read, type LoadedEdition } from './translate/read.ts'
import { createTexts, type EditionTexts } from './translate/texts.ts'

export interface EditionsOptions {
  site: Site
  /** Turns that saves take with those of other instances. */
  turns?: Turns
  /** Records every save. */
  recorder?: Recorder | undefined
  /** Called with the uuid of each edition that was saved, or may have been. */
  onSave?: (uuid: string) => void
  /** Called with each change that was saved. */
  onUpdate?: (change: SavedChange) => void
  /**
   * Called when an entity is not found for a caller, and when a list is refused. The client of the
   * CMS itself reports what a single answer refuses (lib/drupal/refusals.ts).
   */
  onRefusal?: RefusalListener
}

/** What the verbs of editions work with. */
export interface EditionContext {
  site: Site
  /** The content model of the site. */
  model: ContentModel
  /** Reads and writes editions as JSON:API resources. */
  resources: Resources
  /** Finds an edition by its integer id or uuid. */
  find: Load
  /** Finds the uuids of references. */
  references: References
  /** Makes the JSON and the entity tag of editions. */
  texts: EditionTexts
  /** Lists editions as texts. */
  rows: ReturnType<typeof createRows>
  /** Finds the editions that hold the rows of a list. */
  placements: ReturnType<typeof createPlacements>
  /** Reads an edition with the state of its articles. */
  contents: ReturnType<typeof createContents>
  /** Reads the labels and the looks of an edition's references. */
  labels: ReturnType<typeof createLabels>
  /** Reads what other editions hold in the fields that are empty in one. */
  samples: ReturnType<typeof createSamples>
  /** The lists of the content model, by their names. */
  lists: ReadonlyMap<string, ContentList>
  /** Does the saves of one edition one after the other. */
  saves: SaveQueue
  /** What callers were answered last of each edition. */
  bases: Bases
  /** Who may change which edition. */
  permissions: Permissions
  /** The JSON:API name of the time of change. A type without one has no precondition in Drupal. */
  changedAttribute: string | undefined
  recorder: Recorder | undefined
  onSave: (uuid: string) => void
  onUpdate: (change: SavedChange) => void
  onRefusal: RefusalListener
}

export function createEditionContext({
  site,
  turns,
  recorder,
  onSave = () => {},
  onUpdate = () => {},
  onRefusal = () => {}
}: EditionsOptions): EditionContext {
  const { model } = site
  const { changed } = model.keys
  const resources = createResources(site)
  const find = createFinder(site, resources)
  const search = createSearch(site, resources)
  const texts = createTexts(site)
  return {
    site,
    model,
    resources,
    find,
    references: createReferences(site),
    texts,
    rows: createRows(site, search, texts),
    placements: createPlacements(site, resources),
    contents: createContents(site),
    labels: createLabels(site, find),
    samples: createSamples({
      model,
      load: find,
      jsonOf: (edition) => editionJson(site, edition),
      newest: async (bundle, limit, caller) =>
        (await search(bundle, { limit, offset: 0, total: false }, caller)).rows
    }),
    lists: new Map(
      Object.entries(model.lists).map(([name, list]) => [name, createContentList(site, name, list)])
    ),
    saves: createSaveQueue({ turns }),
    bases: createBases(site),
    permissions: createPermissions(resources),
    changedAttribute: changed === null ? undefined : publicName(model, changed),
    recorder,
    onSave,
    onUpdate,
    onRefusal
  }
}

/** An edition in core REST's JSON, as an object. */
export function editionJson(
  { model, planFor }: Pick<Site, 'model' | 'planFor'>,
  { resource, urlOf }: LoadedEdition
): EditionJson {
  return read(resource, model, urlOf, planFor(resource))
}
