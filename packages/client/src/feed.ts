import type { Http } from './http.ts'
import { backoff, type Later } from './later.ts'
import type { LockView } from './wire.ts'

/** What is used of an EventSource (WHATWG HTML, section 9.2), be it the platform's or a library's. */
export interface EventStream {
  readonly readyState: number
  addEventListener (type: string, listener: (event: any) => void): void
  close (): void
}
export type EventStreamClass = new (url: string, init: { withCredentials: boolean }) => EventStream

export interface Listener {
  /**
   * Hears of all locks as they are now: at first, after each change, and when the stream stands again after `down`.
   * @param isStale after `down`, the service still cannot read the locks: these are the last it knew, without expired ones
   */
  locks (locks: LockView[], isStale?: boolean): void
  /** Hears that the stream broke off, or that the service cannot read the locks: what was told last may be out of date. It comes back by itself. */
  down? (): void
}

const CLOSED = 2

/** So many heartbeats have to stay away before a stream is given up. */
const MISSED = 3

export interface FeedDeps {
  http: Http
  EventSource: EventStreamClass | undefined
  later: Later
}

/** Event streams of locks that come back by themselves. */
export function createFeed ({ http, EventSource, later }: FeedDeps) {
  /**
   * Follows the locks at a path until `signal` is aborted, or the returned function is called.
   * @throws {TypeError} where there is no EventSource
   */
  return function subscribe (path: string, { locks: tell, down }: Listener, signal?: AbortSignal): () => void {
    if (!EventSource) throw new TypeError('Give createClient an EventSource: there is none here')
    const Source = EventSource
    let present = new Map<string, LockView>()
    let source: EventStream | undefined
    let isKnown = false
    let isDown = false
    let isStale = false
    let isStopped = false
    let failures = 0
    let cancel = () => {}
    let rest = () => {}
    /** How long a stream may say nothing; 0 where the service does not say. */
    let silenceMs = 0

    /** Gives the stream up when nothing more comes: of a connection that died without a word the platform tells nothing. */
    function listen (): void {
      rest()
      if (silenceMs > 0) {
        rest = later(silenceMs, () => {
          source!.close()
          fell()
          open()
        })
      }
    }

    function told (): void {
      isDown &&= isStale
      failures = 0
      tell([...present.values()], isStale)
    }

    function fell (): void {
      if (isDown || isStopped) return
      isDown = true
      down?.()
    }

    function again (): void {
      if (!isStopped) cancel = later(backoff(++failures), open)
    }

    async function open (): Promise<void> {
      const url = await http.streamUrl(path).catch(() => undefined)
      if (isStopped) return
      if (url === undefined) {
        fell()
        return again()
      }
      const opened = source = new Source(url, { withCredentials: true })
      const on = (type: string, run: (data: any) => void) => opened.addEventListener(type, (event) => {
        if (!isStopped) {
          listen()
          run(event.data && JSON.parse(event.data))
        }
      })
      isKnown = isStale = false
      listen()
      on('snapshot', ({ data }: { data: LockView[] }) => {
        present = new Map(data.map((lock) => [keyOf(lock), lock]))
        isKnown = true
        told()
      })
      on('locked', (lock: LockView) => {
        present.set(keyOf(lock), lock)
        told()
      })
      on('released', (lock: LockView) => {
        present.delete(keyOf(lock))
        told()
      })
      on('heartbeat', ({ seconds }: { seconds: number }) => {
        silenceMs = seconds * 1000 * MISSED || silenceMs
        listen()
        // Come back by itself, and nothing has changed: no snapshot follows.
        if (isDown && isKnown && !isStale) told()
      })
      on('open', () => { isStale = false })
      on('stale', () => {
        isStale = true
        fell()
      })
      // A snapshot follows.
      on('live', () => { isStale = false })
      on('error', () => {
        fell()
        // Anything but 200 ends an EventSource for good.
        if (opened.readyState !== CLOSED) return
        rest()
        again()
      })
    }

    function stop (): void {
      isStopped = true
      signal?.removeEventListener('abort', stop)
      cancel()
      rest()
      source?.close()
    }

    if (signal?.aborted) return stop
    signal?.addEventListener('abort', stop)
    open()
    return stop
  }
}

function keyOf ({ entityType, entityId, fieldName }: LockView): string {
  return `${entityType}/${entityId}/${fieldName}`
}
