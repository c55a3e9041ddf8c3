import type { Abortable } from './abort.ts'
import type { Http, QueryValues } from './http.ts'
import { backoff, type Later } from './later.ts'
import type { LockView, OrderOperation, Petition, Presence, ProposalView } from './wire.ts'

/**
 * The part of an EventSource that the client uses (WHATWG HTML, section 9.2): the platform's, or a
 * library's.
 */
export interface EventStream {
  readonly readyState: number
  addEventListener(type: string, listener: (event: any) => void): void
  close(): void
}
export type EventStreamClass = new (url: string, init: { withCredentials: boolean }) => EventStream

/** A save of an edition, as feeds and boards tell it. */
export interface Saved {
  entityType: string
  entityId: string
  /** The entity tag now, as it is for who saved it; null where Drupal has saved without Quoin. */
  etag: string | null
  /** Who saved it, where that is known. */
  uid?: string
  name?: string
  fields: string[]
  /**
   * Of a board: what was done to the running order that `fields` names, where exactly that has made
   * the present state of the one with the tag `from`. The part of a tag before its dot counts.
   */
  from?: string
  operations?: OrderOperation[]
}

export interface Listener {
  /**
   * Receives all present locks: at first, after each change, and when the stream is back after
   * `down`.
   * @param isStale whether the service still cannot read the locks: these are the last that it
   *   knew, without expired ones
   * @param isWhole whether the service sent all of them: at first, when the stream is back, and
   *   when what is followed has changed, such as the rows of a list
   */
  locks(locks: LockView[], isStale?: boolean, isWhole?: boolean): void
  /**
   * Called when the stream breaks off, or the service cannot read the locks. The last locks may be
   * out of date. The stream comes back by itself.
   */
  down?(): void
  /** Receives an event for each save of the edition. */
  saved?(saved: Saved): void
  /** Receives what users ask the holders of locks for; with `until` 0 when that is over. */
  requested?(petition: Petition): void
  /**
   * Receives who has an entity open, when they open it and as long as they go on; with `until` 0
   * when they have left. After a call of `locks` with `isWhole` all of them are told again.
   */
  present?(presence: Presence): void
  /**
   * Receives the proposals that are open, and each new one; with `until` 0 when it was taken,
   * discarded or withdrawn. After a call of `locks` with `isWhole` all of them are told again.
   */
  proposed?(proposal: ProposalView): void
}

/**
 * Follows the locks at a path until `signal` is aborted, or the returned function is called. All
 * other options go into the query.
 */
export type Subscribe = (path: string, listener: Listener, options?: Abortable) => () => void

const CLOSED = 2

/**
 * After so many milliseconds for each second between heartbeats a stream is opened again: when
 * three have been missed.
 */
const MISSED_MS = 3000

export interface FeedDeps {
  http: Pick<Http, 'streamUrl' | 'needAddress'>
  EventSource: EventStreamClass | undefined
  later: Later
}

/**
 * Follows event streams of locks, and opens them again when they break off. All who follow the same
 * share one stream.
 */
export function createFeed(deps: FeedDeps): Subscribe {
  const streams = new Map<string, ReturnType<typeof openStream>>()

  /** @throws {TypeError} where there is no EventSource, or the service has no address */
  return function subscribe(path, listener, { signal, ...query } = {}) {
    if (!deps.EventSource) throw new TypeError('Give createClient an EventSource')
    deps.http.needAddress()
    if (signal?.aborted) return () => {}
    const key = path + JSON.stringify(query)
    const stream =
      streams.get(key) ?? openStream(deps, path, query as QueryValues, () => streams.delete(key))
    streams.set(key, stream)
    const leave = stream(listener)

    function stop(): void {
      signal?.removeEventListener('abort', stop)
      leave()
    }
    signal?.addEventListener('abort', stop)
    return stop
  }
}

/** Tells one listener something, or all. */
type Tell = (name: keyof Listener, ...news: unknown[]) => void

/** A listener that throws does not keep the others from hearing. */
function teller(listener: Listener, isIn: (tell: Tell) => boolean): Tell {
  const tell: Tell = (name, ...news) =>
    queueMicrotask(() => {
      if (isIn(tell)) (listener[name] as ((...news: unknown[]) => void) | undefined)?.(...news)
    })
  return tell
}

/** A sign, as a stream tells it. */
type Sign = Petition | Presence | ProposalView
type SignEvent = 'requested' | 'present' | 'proposed'

/** What a stream has told of locks, and since the last snapshot of signs. */
function createRecord() {
  let locks = new Map<string, LockView>()
  const signs = new Map<string, Parameters<Tell>>()
  return {
    signs,
    locks: () => [...locks.values()],
    snapshot({ data }: { data: LockView[] }): void {
      locks = new Map(data.map((lock) => [keyOf(lock), lock]))
      signs.clear()
    },
    locked(lock: LockView): void {
      locks.set(keyOf(lock), lock)
    },
    released(lock: LockView): void {
      locks.delete(keyOf(lock))
    },
    sign(name: SignEvent, sign: Sign): void {
      const key = name + keyOf(sign) + ('id' in sign ? sign.id : sign.userData.uid)
      if (sign.until) signs.set(key, [name, sign])
      else signs.delete(key)
    }
  }
}

interface Connection {
  /** A new stream is about to be opened. */
  begin: () => void
  breakOff: () => void
  /** What to do with each type of event. */
  events: Record<string, (data: any) => void>
}

/** Keeps a stream open: opens it again when it breaks off, is refused or falls silent. */
function keepOpen(
  { http, EventSource, later }: FeedDeps,
  path: string,
  query: QueryValues,
  { begin, breakOff, events }: Connection
) {
  let source: EventStream | undefined
  let isClosed = false
  let failures = 0
  /** Ends the wait for the next event, or for the next try. */
  let cancel = () => {}
  /** How long a stream may be silent, in milliseconds; 0 if the service does not say. */
  let silenceMs = 0

  /** The platform does not notice every lost connection. */
  function listen(): void {
    cancel()
    if (silenceMs) {
      cancel = later(silenceMs, () => {
        source!.close()
        breakOff()
        open()
      })
    }
  }

  function retry(): void {
    breakOff()
    cancel()
    cancel = later(backoff(++failures), open)
  }

  async function open(): Promise<void> {
    const url = await http.streamUrl(path, query).catch(() => undefined)
    if (isClosed) return
    if (!url) return retry()
    const stream = (source = new EventSource!(url, { withCredentials: true }))
    const on = (type: string, run: (data: any) => void) =>
      stream.addEventListener(type, ({ data }) => {
        if (isClosed) return
        const news = data && JSON.parse(data)
        if (type === 'heartbeat') silenceMs = news.seconds * MISSED_MS || silenceMs
        listen()
        run(news)
      })
    begin()
    listen()
    for (const type in events) on(type, events[type]!)
    // Anything but 200 ends an EventSource for good.
    on('error', () => (stream.readyState === CLOSED ? retry() : breakOff()))
  }

  open()
  return {
    /** The stream has told something, so the next failure is the first. */
    succeed(): void {
      failures = 0
    },
    close(): void {
      isClosed = true
      cancel()
      source?.close()
    }
  }
}

/**
 * Opens the stream at a path. It ends when the last listener leaves.
 * @returns adds a listener. One that comes later is told at once what the others know
 */
function openStream(
  deps: FeedDeps,
  path: string,
  query: QueryValues,
  onEnd: () => void
): (listener: Listener) => () => void {
  const tells = new Set<Tell>()
  const record = createRecord()
  /** Whether there was a snapshot, and one since the stream was opened last. */
  let [wasKnown, isKnown] = [false, false]
  let isDown = false
  let isStale = false

  const tellAll: Tell = (...news) => {
    for (const tell of tells) tell(...news)
  }

  function deliver(isWhole?: boolean, tell = tellAll): void {
    tell('locks', record.locks(), isStale, isWhole)
  }

  function change(isWhole?: boolean): void {
    isDown &&= isStale
    connection.succeed()
    deliver(isWhole)
  }

  function breakOff(): void {
    if (isDown) return
    isDown = true
    tellAll('down')
  }

  const onLock = (name: 'locked' | 'released') => (lock: LockView) => {
    record[name](lock)
    change()
  }
  const onSign = (name: SignEvent) => (sign: Sign) => {
    record.sign(name, sign)
    tellAll(name, sign)
  }
  // A snapshot follows.
  const freshen = () => {
    isStale = false
  }
  const connection = keepOpen(deps, path, query, {
    begin() {
      isKnown = isStale = false
    },
    breakOff,
    events: {
      snapshot(snapshot) {
        record.snapshot(snapshot)
        wasKnown = isKnown = true
        change(true)
      },
      locked: onLock('locked'),
      released: onLock('released'),
      heartbeat() {
        // The stream came back by itself and nothing has changed: no snapshot follows.
        if (isDown && isKnown && !isStale) change()
      },
      saved: (saved) => tellAll('saved', saved),
      requested: onSign('requested'),
      present: onSign('present'),
      proposed: onSign('proposed'),
      stale() {
        isStale = true
        breakOff()
      },
      open: freshen,
      live: freshen
    }
  })

  return (listener) => {
    const tell = teller(listener, (tell) => tells.has(tell))
    tells.add(tell)
    if (wasKnown) deliver(true, tell)
    for (const sign of record.signs.values()) tell(...sign)
    if (isDown) tell('down')
    return () => {
      if (!tells.delete(tell) || tells.size) return
      connection.close()
      onEnd()
    }
  }
}

function keyOf({ entityType, entityId, fieldName }: Partial<LockView>): string {
  return `${entityType}/${entityId}/${fieldName}`
}
