import type { Abortable } from './abort.ts'
import type { Http, QueryValues } from './http.ts'
import { backoff, type Later } from './later.ts'
import type { LockView, Petition, Presence } from './wire.ts'

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
  fields: string[]
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
}

const CLOSED = 2

/**
 * After so many milliseconds for each second between heartbeats a stream is opened again: when
 * three have been missed.
 */
const MISSED_MS = 3000

export interface FeedDeps {
  http: Http
  EventSource: EventStreamClass | undefined
  later: Later
}

/** Follows event streams of locks, and opens them again when they break off. */
export function createFeed({ http, EventSource, later }: FeedDeps) {
  /**
   * Follows the locks at a path until `signal` is aborted, or the returned function is called. All
   * other options go into the query.
   * @throws {TypeError} where there is no EventSource
   */
  return function subscribe(
    path: string,
    listener: Listener,
    { signal, ...query }: Abortable = {}
  ): () => void {
    if (!EventSource) throw new TypeError('Give createClient an EventSource')
    let presentLocks = new Map<string, LockView>()
    let source: EventStream | undefined
    let isKnown = false
    let isDown = false
    let isStale = false
    let isStopped = false
    let failures = 0
    /** Ends the wait for the next event, or for the next try. */
    let cancel = () => {}
    /** How long a stream may be silent, in milliseconds; 0 if the service does not say. */
    let silenceMs = 0

    /**
     * Opens the stream again when it is silent for too long: the platform does not notice every
     * lost connection.
     */
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

    function deliver(isWhole?: boolean): void {
      isDown &&= isStale
      failures = 0
      listener.locks([...presentLocks.values()], isStale, isWhole)
    }

    function breakOff(): void {
      if (isDown) return
      isDown = true
      listener.down?.()
    }

    function retry(): void {
      breakOff()
      cancel()
      if (!isStopped) cancel = later(backoff(++failures), open)
    }

    async function open(): Promise<void> {
      const url = await http.streamUrl(path, query as QueryValues).catch(() => undefined)
      if (isStopped) return
      if (!url) return retry()
      const stream = (source = new EventSource!(url, { withCredentials: true }))
      const on = (type: string, run: (data: any) => void) =>
        stream.addEventListener(type, ({ data }) => {
          if (!isStopped) {
            listen()
            run(data && JSON.parse(data))
          }
        })
      isKnown = isStale = false
      listen()
      on('snapshot', ({ data }: { data: LockView[] }) => {
        presentLocks = new Map(data.map((lock) => [keyOf(lock), lock]))
        isKnown = true
        deliver(true)
      })
      on('locked', (lock: LockView) => {
        presentLocks.set(keyOf(lock), lock)
        deliver()
      })
      on('released', (lock: LockView) => {
        presentLocks.delete(keyOf(lock))
        deliver()
      })
      on('heartbeat', ({ seconds }: { seconds: number }) => {
        silenceMs = seconds * MISSED_MS || silenceMs
        listen()
        // The stream came back by itself and nothing has changed: no snapshot follows.
        if (isDown && isKnown && !isStale) deliver()
      })
      on('saved', (data) => listener.saved?.(data))
      on('requested', (data) => listener.requested?.(data))
      on('present', (data) => listener.present?.(data))
      on('stale', () => {
        isStale = true
        breakOff()
      })
      // A snapshot follows.
      on('open', () => {
        isStale = false
      })
      on('live', () => {
        isStale = false
      })
      // Anything but 200 ends an EventSource for good.
      on('error', () => (stream.readyState === CLOSED ? retry() : breakOff()))
    }

    function stop(): void {
      isStopped = true
      signal?.removeEventListener('abort', stop)
      cancel()
      source?.close()
    }

    if (signal?.aborted) return stop
    signal?.addEventListener('abort', stop)
    open()
    return stop
  }
}

function keyOf({ entityType, entityId, fieldName }: LockView): string {
  return `${entityType}/${entityId}/${fieldName}`
}
