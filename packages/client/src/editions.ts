import { unlessAborted, type Abortable } from './abort.ts'
import type { Edition, EditionBody, NoLists, OfBundle, OfList, Row } from './content.ts'
import type { Listener, Subscribe } from './feed.ts'
import type { QuoinError } from './error.ts'
import type { Answer, Http } from './http.ts'
import { backoff, type Later } from './later.ts'
import type {
  EditionPage,
  Finding,
  JournalEntry,
  LockView,
  Named,
  OrderOperation,
  OrderOutcome,
  Placement,
  Readiness,
  Restore
} from './wire.ts'

export interface ReadEdition<AnEdition = Edition> {
  edition: AnEdition
  /**
   * Names this state of the edition, for `ifMatch`; undefined only where a proxy has left it out.
   */
  etag: string | undefined
  /** Only of a copy, given while the CMS is down: how old it is, in seconds. */
  age?: number
}

/** A save that may be sent again. */
export interface Repeatable extends Abortable {
  /**
   * Names the save, so that it is done once however often it is sent; by default 16 random bytes. 1
   * to 255 letters, digits, commas and hyphens.
   */
  idempotencyKey?: string | undefined
}

/** What a change is made on. */
export interface Conditions extends Repeatable {
  /** The `etag` that was read: PRECONDITION_FAILED when the edition has moved on. */
  ifMatch?: string | undefined
}

export interface ArrangedEdition<AnEdition = Edition> extends ReadEdition<AnEdition> {
  /** What each operation came to. */
  operations: OrderOutcome[]
}

export interface ReadReadiness extends Readiness {
  /** Names the state of all that was looked at; undefined only where a proxy has left it out. */
  etag: string | undefined
}

export interface ClosedEdition<AnEdition = Edition> extends ReadEdition<AnEdition> {
  /** What came between the check and the save; null where the service could not look again. */
  since: Finding[] | null
}

export interface JournalPage {
  data: JournalEntry[]
  /** `next`: `before` of the next page; null at the end. */
  meta: { next: string | null }
}

export interface Search extends Abortable {
  /**
   * A bundle, an edition type, or one of the content model's lists such as `article`; without it,
   * editions of all bundles.
   */
  bundle?: string | undefined
  /** Part of the title, or the exact key. */
  q?: string | undefined
  status?: 0 | 1 | undefined
  type?: string | undefined
  key?: string | undefined
  /**
   * The section: the uuid of what the field refers to, or its text, exactly; of lists such as
   * `article` alone.
   */
  section?: string | undefined
  /** Changed at this time or later, such as `2026-11-18T00:00:00Z`. */
  changedFrom?: string | undefined
  /** Changed before this time. */
  changedBefore?: string | undefined
  /**
   * By integer id or by the time of the last change, with a minus the greatest first; `-id` without
   * it.
   */
  sort?: '-id' | 'id' | '-changed' | 'changed' | undefined
  /** How many a page holds at most, 1 to 500; more is taken as 500. */
  limit?: number | undefined
  /** How many to leave out first. */
  offset?: number | undefined
  /** Count the total, whatever it costs. */
  total?: boolean | undefined
  /**
   * Say which editions hold each row; of lists such as `article` alone. A page has 50 rows at most
   * then.
   */
  placed?: boolean | undefined
  /**
   * Leave out what an edition holds; of lists such as `article` alone. A page may have fewer rows
   * than `limit` then, even none, and 50 at most.
   */
  unplaced?: boolean | undefined
  /** Say who is at work in each row. A page has 50 rows at most then. */
  locks?: boolean | undefined
}

export interface Page<AnEdition = Edition> {
  editions: AnEdition[]
  limit: number
  offset: number
  hasMore: boolean
  /** How many there are in all; null where that is not known. */
  total: number | null
  /** With `unplaced`: the offset of the next page; null where there is none. */
  next?: number | null
  /** By the uuid of each row, the editions that hold it, the newest first. */
  placed?: Record<string, Placement[]>
  /** By the uuid of each row, the locks on it; null while the lock store does not answer. */
  locks?: Record<string, LockView[]> | null
  /** Only of a copy, given while the CMS is down: how old it is, in seconds. */
  age?: number
}

export interface Sections {
  /** What a search takes, and what it is called. */
  sections: Named[]
  /** Whether these are all that the user may see. */
  isComplete: boolean
}

export interface Board {
  /** The edition's own locks, then those of its articles in their order. */
  locks: LockView[]
  /** How many entities are looked at: the edition and its articles. */
  entities: number
  /** How many locks there are. */
  count: number
}

export interface EditionsDeps {
  http: Http
  feed: Subscribe
  later: Later
  /**
   * The site's name for editions, under which the service lists those of all bundles; by default
   * that of its own content model.
   */
  entityType?: string | undefined
}

/**
 * Editions: created, changed, read, listed and searched.
 *
 * @template AnEdition what editions have: one type, or a union with one for each bundle
 * @template Lists what the content model's lists have, by name, such as `{ article: Article }`
 */
export interface Editions<AnEdition extends object = Edition, Lists extends object = NoLists> {
  /**
   * Creates an edition in a bundle, and answers the whole of it.
   * @throws {QuoinError} UNPROCESSABLE, with `body.violations`; CONFLICT
   */
  create<Bundle extends string>(
    bundle: Bundle,
    body: EditionBody<OfBundle<AnEdition, Bundle>>,
    options?: Repeatable
  ): Promise<ReadEdition<OfBundle<AnEdition, Bundle>>>
  /**
   * Changes the fields in `body`, and answers the whole edition.
   * @throws {QuoinError} PRECONDITION_FAILED; FIELD_LOCKED, with `body.locks`; UNPROCESSABLE, with
   *   `body.violations`
   */
  update(
    id: string | number,
    body: EditionBody<AnEdition>,
    options?: Conditions
  ): Promise<ReadEdition<AnEdition>>
  /**
   * Puts fields back as an entry of the journal has them, before or after its save, and answers
   * the whole edition.
   */
  restore(id: string | number, body: Restore, options?: Conditions): Promise<ReadEdition<AnEdition>>
  /**
   * Creates the edition of a bundle with a key, or changes the fields in `body`, and answers the
   * whole edition.
   */
  upsert<Bundle extends string>(
    bundle: Bundle,
    key: string,
    body: EditionBody<OfBundle<AnEdition, Bundle>>,
    options?: Conditions
  ): Promise<ReadEdition<OfBundle<AnEdition, Bundle>>>
  /**
   * Inserts, moves and removes articles of the running order, all of them or none, and answers the
   * whole edition. Whatever others change at the same time stays.
   * @param options.field which of the fields that hold articles; the content model's first by
   *   default
   * @throws {QuoinError} ORDER_CONFLICT, with `body.order`, where a neighbour or an article to move
   *   is not there
   */
  arrange(
    id: string | number,
    operations: OrderOperation[],
    options?: Conditions & { field?: string | undefined }
  ): Promise<ArrangedEdition<AnEdition>>
  /** Says what speaks against closing an edition. The user's own locks are in nobody's way. */
  readiness(id: string | number, options?: Abortable): Promise<ReadReadiness>
  /**
   * Closes an edition that is ready.
   * @throws {QuoinError} NOT_READY, with `body.blockers` and `body.warnings`
   */
  close(id: string | number, options?: Conditions): Promise<ClosedEdition<AnEdition>>
  /**
   * The journal of an edition, the newest entry first.
   * @param options.before `meta.next` of the page before
   */
  journal(
    id: string | number,
    options?: Abortable & { limit?: number | undefined; before?: string | undefined }
  ): Promise<JournalPage>
  /**
   * Reads an edition by its integer id or its uuid.
   * @param options.list one of the content model's lists, such as `article`, of which it is
   */
  read<List extends string | undefined = undefined>(
    id: string | number,
    options?: Abortable & { list?: List }
  ): Promise<ReadEdition<OfList<AnEdition, Lists, List>>>
  /**
   * The pages of a search, the newest editions first unless `sort` says otherwise. A page is read
   * when the loop asks for it.
   */
  search<Bundle extends string | undefined = undefined>(
    search?: Search & { bundle?: Bundle }
  ): AsyncGenerator<Page<Row<AnEdition, Lists, Bundle>>, void, undefined>
  /** The bundles of editions, with their labels. */
  bundles(options?: Abortable): Promise<Named[]>
  /** The edition types, with their labels. */
  types(options?: Abortable): Promise<Named[]>
  /**
   * The sections of one of the content model's lists, for `section` of a search.
   * @throws {QuoinError} BAD_REQUEST where the content model names none
   */
  sections(list: string, options?: Abortable): Promise<Sections>
  /** The lock board of an edition: who is at work in it and in its articles. */
  locks(id: string | number, options?: Abortable): Promise<Board>
  /**
   * Follows the lock board of an edition until `signal` is aborted, or the returned function is
   * called.
   */
  subscribe(id: string | number, listener: Listener, options?: Abortable): () => void
  /**
   * Follows one page of a search until `signal` is aborted, or the returned function is called: the
   * locks on its rows, and the saves of these. `locks` is called too when rows have come or gone.
   */
  watch(search: Search, listener: Listener): () => void
}

/** The same for an edition of any site, as the code below is compiled. */
type AnyEditions = {
  [Name in keyof Editions]: (...sent: Parameters<Editions[Name]>) => ReturnType<Editions[Name]>
}

/** How often a save is sent whose outcome is not known. */
const TRIES = 3

/** Editions of a service. Every operation throws a QuoinError. */
export function createEditions<AnEdition extends object = Edition, Lists extends object = NoLists>({
  http,
  feed,
  later,
  entityType = 'publisher_container'
}: EditionsDeps): Editions<AnEdition, Lists> {
  async function create(
    bundle: string,
    body: EditionBody,
    options?: Repeatable
  ): Promise<ReadEdition> {
    return readIn(
      await save('/api/collection', { type: [{ target_id: bundle }], ...body }, options)
    )
  }

  async function upsert(
    bundle: string,
    key: string,
    body: EditionBody,
    options?: Conditions
  ): Promise<ReadEdition> {
    return readIn(await save(pathOf(key, bundle, '/by-key'), body, options, 'PUT'))
  }

  /** A save that answers the whole edition. */
  function saver<Body extends object>(path = '') {
    return async (id: string | number, body: Body, options?: Conditions): Promise<ReadEdition> =>
      readIn(await save(pathOf(id) + path, body, options))
  }

  async function arrange(
    id: string | number,
    operations: OrderOperation[],
    { field, ...options }: Conditions & { field?: string | undefined } = {}
  ): Promise<ArrangedEdition> {
    return saveWhole(`${pathOf(id)}/articles`, { field, operations }, options)
  }

  async function readiness(id: string | number, options?: Abortable): Promise<ReadReadiness> {
    const { body, headers } = await http.send<Readiness>('GET', `${pathOf(id)}/readiness`, {
      ...options,
      isMeant: true
    })
    return { ...body, etag: tagIn(headers) }
  }

  async function close(id: string | number, options?: Conditions): Promise<ClosedEdition> {
    return saveWhole(`${pathOf(id)}/close`, {}, options)
  }

  async function journal(
    id: string | number,
    {
      signal,
      ...query
    }: Abortable & { limit?: number | undefined; before?: string | undefined } = {}
  ): Promise<JournalPage> {
    return (await http.send<JournalPage>('GET', `${pathOf(id)}/journal`, { query, signal })).body
  }

  /** Sends a save whose answer has the edition and something about the save. */
  async function saveWhole<Meta>(
    path: string,
    sent: object,
    options?: Conditions
  ): Promise<ReadEdition & Meta> {
    const {
      body: { data, meta },
      headers
    } = await save<{ data: Edition; meta: Meta }>(path, sent, options)
    return { ...readIn({ body: data, headers }), ...meta }
  }

  /**
   * Sends a save, for any state of the edition or, with `ifMatch`, for one. While the outcome is
   * not known it sends the save again under the same key, three times in all and with pauses. The
   * service saves once.
   */
  async function save<Body>(
    path: string,
    body: object,
    {
      ifMatch,
      idempotencyKey: key = String(crypto.getRandomValues(new Uint8Array(16))),
      signal
    }: Conditions = {},
    method = 'POST'
  ): Promise<Answer<Body>> {
    for (let tries = 1; ; tries++) {
      try {
        return await http.send(method, path, {
          body,
          headers: {
            ...(key && { 'idempotency-key': `"${key}"` }),
            ...(ifMatch && { 'if-match': ifMatch })
          },
          signal
        })
      } catch (error) {
        const { code, status, uuid, retryAfter } = { ...(error as QuoinError) }
        if (tries === 1 && code === 'STORE_UNAVAILABLE') {
          // Nothing was saved. Without its memory of keys the service can save all the same, but is
          // asked once.
          key = ''
          tries = TRIES - 1
        } else {
          // Nothing answered, or a proxy before Quoin did, or Quoin does not know the outcome, or
          // is still at it.
          if (
            tries === TRIES ||
            !(
              status < 300 ||
              code === 'IDEMPOTENCY_KEY_BUSY' ||
              (status > 500 && (uuid || code === 'INVALID_RESPONSE'))
            )
          ) {
            throw error
          }
          await unlessAborted(
            new Promise<void>((resolve) => {
              later(backoff(tries, retryAfter), resolve)
            }),
            signal
          )
        }
      }
    }
  }

  async function read(
    id: string | number,
    options?: Abortable & { list?: string | undefined }
  ): Promise<ReadEdition> {
    return readIn(await http.send('GET', pathOf(id, options?.list), options))
  }

  async function* search({
    bundle = entityType,
    offset = 0,
    signal,
    ...filters
  }: Search = {}): AsyncGenerator<Page, void, undefined> {
    let hasNext: boolean
    do {
      const answer = await http.send<EditionPage>(
        'GET',
        `/api/collections/${encodeURIComponent(bundle)}`,
        { query: { ...filters, offset }, signal }
      )
      const { data, meta, links } = answer.body
      yield { editions: data, ...meta, ...ageIn(answer) }
      hasNext = links.next !== undefined
      offset = meta.next ?? offset + meta.limit
    } while (hasNext)
  }

  /** A read of machine names and labels. */
  function reader(path: string) {
    return async (options?: Abortable): Promise<Named[]> =>
      (await http.send<{ data: Named[] }>('GET', path, options)).body.data
  }

  async function sections(list: string, options?: Abortable): Promise<Sections> {
    const {
      body: { data, meta }
    } = await http.send<{ data: Named[]; meta: Omit<Sections, 'sections'> }>(
      'GET',
      pathOf('sections', list),
      options
    )
    return { sections: data, ...meta }
  }

  async function locks(id: string | number, options?: Abortable): Promise<Board> {
    const {
      body: { data: locks, meta }
    } = await http.send<{ data: LockView[]; meta: Omit<Board, 'locks'> }>(
      'GET',
      `${pathOf(id)}/locks`,
      options
    )
    return { locks, ...meta }
  }

  function subscribe(id: string | number, listener: Listener, options?: Abortable): () => void {
    return feed(`${pathOf(id)}/locks/events`, listener, options)
  }

  function watch({ bundle = entityType, ...search }: Search, listener: Listener): () => void {
    return feed(pathOf('events', bundle), listener, search)
  }

  const editions: AnyEditions = {
    create,
    update: saver<EditionBody>(),
    restore: saver<Restore>('/restore'),
    upsert,
    arrange,
    readiness,
    close,
    journal,
    read,
    search,
    bundles: reader('/api/collection/bundles'),
    types: reader('/api/publisher-edition/bundles'),
    sections,
    locks,
    subscribe,
    watch
  }
  return editions as unknown as Editions<AnEdition, Lists>
}

/** @param list of the content model, of which it is; without it an edition */
function pathOf(id: string | number, list?: string, by = ''): string {
  return `/api/collection${list ? `s/${encodeURIComponent(list)}${by}` : ''}/${encodeURIComponent(id)}`
}

/**
 * A proxy that compresses makes the entity tag weak, which If-Match does not take. It names the
 * state of the edition all the same.
 */
function readIn(answer: Answer<Edition>): ReadEdition {
  return { edition: answer.body, etag: tagIn(answer.headers), ...ageIn(answer) }
}

function tagIn(headers: Headers): string | undefined {
  return headers.get('etag')?.replace(/^W\//, '')
}

/** A copy is marked by Cache-Status; Age alone may be that of a cache on the way. */
function ageIn({ headers }: Answer<unknown>): { age?: number } {
  return headers.get('cache-status')?.startsWith('quoin;')
    ? { age: Number(headers.get('age')) }
    : {}
}
