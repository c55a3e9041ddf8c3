import { inCall, type Caller, type CallLimits } from '../http/calls.ts'
import { arrangeArticles } from './arrange.ts'
import { listBundles, listEditionTypes } from './bundles.ts'
import { closeInTurn, type CloseOptions } from './close.ts'
import { createEditionContext, type EditionsOptions } from './context.ts'
import { createEdition, type CreateResult } from './create.ts'
import { inspectEdition, type Inspection } from './inspect.ts'
import { readListed, readListSections, readLooks } from './lists.ts'
import type { Labels } from './lookup/labels.ts'
import type { Looks } from './lookup/looks.ts'
import type { FieldSamples } from './lookup/samples.ts'
import type { Sections } from './lookup/sections.ts'
import type { Rearrangement } from './order/operations.ts'
import { probeCms } from './probe.ts'
import {
  readBareEdition,
  readEdition,
  readEditionLabels,
  readEditionSamples,
  readSavedEdition
} from './read.ts'
import type { SaveOptions, UpdateOptions, UpdateResult } from './save/options.ts'
import type { OrderChange } from './schemas.ts'
import { searchBundleOrList, type EditionPage, type SearchRequest } from './search.ts'
import type { Named } from './site/catalog.ts'
import type { EditionJson } from './translate/edition-json.ts'
import type { EditionText } from './translate/texts.ts'
import { updateEdition } from './update.ts'

/**
 * Editions as the routes see them. All verbs also throw the failures of the CMS
 * (lib/http/client.ts, lib/drupal/client.ts, translate/failures.ts).
 */
export interface Editions {
  /**
   * Creates an edition. Where the edition with the body's uuid is there already and has the same
   * fields, answers with that one: so a caller can repeat a create whose outcome is not known.
   * @returns `isNew`: whether this call, or an earlier attempt at it, has created it
   * @throws {Failure} UNPROCESSABLE without a bundle, with one that does not exist, or as Drupal
   *   validates; CONFLICT where another edition has the uuid.
   */
  create(
    body: Record<string, unknown>,
    caller: Caller,
    options?: SaveOptions
  ): Promise<CreateResult>
  /**
   * Changes the fields of the body that differ. Writes nothing where none differs, as core REST.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, STALE_EDIT, UNPROCESSABLE, CMS_FORBIDDEN,
   *   EDITION_BUSY; what `permit` of its turn throws.
   */
  update(
    id: string,
    body: Record<string, unknown>,
    caller: Caller,
    options?: UpdateOptions
  ): Promise<UpdateResult>
  /**
   * Inserts, moves and removes articles of the running order, as it is when the save has its turn:
   * all operations or none. Where somebody else saves first, they are applied to the order that is
   * there then.
   * @param id integer id or uuid
   * @throws {Failure} as update, and BAD_REQUEST, ORDER_CONFLICT
   */
  arrange(
    id: string,
    change: OrderChange,
    caller: Caller,
    options?: UpdateOptions
  ): Promise<UpdateResult & { outcomes: Rearrangement['outcomes'] }>
  /**
   * Reads an edition.
   * @param id integer id or uuid
   * @param ifMatch the If-Match header field
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED.
   */
  read(id: string, caller: Caller, ifMatch?: string): Promise<EditionText>
  /**
   * The answer to a change that was saved before, to who may change the edition.
   * @throws {Failure} NOT_FOUND, CMS_FORBIDDEN
   */
  replay(id: string, caller: Caller): Promise<EditionText>
  /**
   * An edition with the state of its articles, neither from a copy nor from a read that began
   * before.
   * @throws {Failure} NOT_FOUND.
   */
  inspect(id: string, caller: Caller): Promise<Inspection>
  /**
   * Sets the field that closes an edition, as the content model says, when the save has its turn.
   * @param options.check looks at the edition then, and throws where it may not be closed
   * @param options.again looks once more, after the save
   * @returns the results of both looks. `after` is null if the second look failed: the edition is
   *   closed nevertheless. Both are null if an earlier attempt has closed it
   * @throws {Failure} as update; what `check` throws
   */
  close<Look>(
    id: string,
    caller: Caller,
    options: CloseOptions<Look>
  ): Promise<UpdateResult & { before: Look | null; after: Look | null }>
  /**
   * An edition without the urls of its references, which Drupal answers sooner.
   * @throws {Failure} NOT_FOUND.
   */
  bare(id: string, caller: Caller): Promise<EditionJson>
  /**
   * Lists editions, or the entities of one of the content model's lists.
   * @param bundle of editions, an edition type, the entity type of editions, or the name of a list
   * @throws {Failure} NOT_FOUND for an unknown bundle; BAD_REQUEST for an unknown edition type, and
   *   for what only lists of the other kind have; PLACED_UNKNOWN
   */
  search(bundle: string, search: SearchRequest, caller: Caller): Promise<EditionPage>
  /**
   * Reads an entity of one of the content model's lists.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED
   */
  readListed(list: string, id: string, caller: Caller, ifMatch?: string): Promise<EditionText>
  /**
   * The labels of an edition's articles and other references, whether they are published, and the
   * articles' images and sections, as far as the caller may see them.
   * @throws {Failure} NOT_FOUND.
   */
  labels(id: string, caller: Caller): Promise<Labels>
  /**
   * The images and sections of at most `LOOKS_MAX` rows of a list, as far as the content model
   * names them.
   * @throws {Failure} NOT_FOUND.
   */
  looks(list: string, uuids: string[], caller: Caller): Promise<Looks>
  /**
   * The sections of a list, for searches of it.
   * @throws {Failure} NOT_FOUND; BAD_REQUEST where the content model names no field for them
   */
  sections(list: string, caller: Caller): Promise<Sections>
  /**
   * What an edition's empty fields hold in the newest others of its bundle.
   * @throws {Failure} NOT_FOUND.
   */
  samples(id: string, caller: Caller): Promise<FieldSamples>
  /** The bundles of editions, with their labels. */
  bundles(caller: Caller): Promise<Named[]>
  /** The edition types, with their labels. */
  types(caller: Caller): Promise<Named[]>
  /** Call this when an edition was saved outside: no save rests on what was read before. */
  outdate(uuid: string): void
  /** How old the oldest data may be that an answer to this caller is made from, in milliseconds. */
  age(caller: Caller): number
  /**
   * Resolves when the CMS answers. The text advises the operator, where there is something to mend.
   */
  probe(caller: Caller): Promise<string | undefined>
}

/**
 * The editions of a site.
 * @param deps.limits of each verb, which then throws LIST_TOO_DEEP, TOO_LARGE, CMS_TIMEOUT,
 *   OVERLOADED and CALLER_GONE too
 */
export function createEditions({
  limits,
  ...options
}: EditionsOptions & { limits?: CallLimits }): Editions {
  const context = createEditionContext(options)
  const limited = <T>(caller: Caller, work: () => Promise<T>) =>
    limits ? inCall(caller, limits, work) : work()
  return {
    create: (body, caller, options) =>
      limited(caller, () => createEdition(context, body, caller, options)),
    update: (id, body, caller, options) =>
      limited(caller, () => updateEdition(context, id, body, caller, options)),
    arrange: (id, change, caller, options) =>
      limited(caller, () => arrangeArticles(context, id, change, caller, options)),
    close: (id, caller, options) =>
      limited(caller, () => closeInTurn(context, id, caller, options)),
    read: (id, caller, ifMatch) => limited(caller, () => readEdition(context, id, caller, ifMatch)),
    replay: (id, caller) => limited(caller, () => readSavedEdition(context, id, caller)),
    bare: (id, caller) => limited(caller, () => readBareEdition(context, id, caller)),
    inspect: (id, caller) => limited(caller, () => inspectEdition(context, id, caller)),
    labels: (id, caller) => limited(caller, () => readEditionLabels(context, id, caller)),
    samples: (id, caller) => limited(caller, () => readEditionSamples(context, id, caller)),
    search: (bundle, query, caller) =>
      limited(caller, () => searchBundleOrList(context, bundle, query, caller)),
    readListed: (list, id, caller, ifMatch) =>
      limited(caller, () => readListed(context, list, id, caller, ifMatch)),
    looks: (list, uuids, caller) => limited(caller, () => readLooks(context, list, uuids, caller)),
    sections: (list, caller) => limited(caller, () => readListSections(context, list, caller)),
    bundles: (caller) => limited(caller, () => listBundles(context, caller)),
    types: (caller) => limited(caller, () => listEditionTypes(context, caller)),
    probe: (caller) => limited(caller, () => probeCms(context, caller)),
    outdate: context.saves.outdate,
    age: options.site.age
  }
}
