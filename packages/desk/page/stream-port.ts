import type { Listener, Subscribe } from '../../client/src/client.ts'
import type { Need, News, Port, Want, WindowState } from './streams.ts'

/**
 * How often a window says what it wants, in milliseconds. Browsers let windows in the background do
 * so once a minute.
 */
const BEAT_MS = 20_000

/** After so many words without an answer the other end counts as gone. */
const UNANSWERED = 3

export interface StreamPortDeps {
  /** Opens the way to what has the streams. */
  connect: () => Port<WindowState, News>
  uid: string
  /** Where the service is: an absolute address. */
  url: string
  headers: () => Record<string, string> | Promise<Record<string, string>>
  need: () => Need
  /** Whether the streams share one connection, as by HTTP/2. */
  isMultiplexed: boolean
}

/** A window's side of its event streams, which something else has: a worker for all windows. */
export function createStreamPort({ connect, headers, need, ...fixed }: StreamPortDeps) {
  const wants = new Map<number, Want & { listener: Listener }>()
  let lastId = 0
  let unanswered = 0
  let isPlanned = false
  let said: WindowState | undefined
  let port = open()

  function open(): Port<WindowState, News> {
    unanswered = 0
    const newPort = connect()
    newPort.onmessage = ({ data: [id, name, ...news] }) => {
      unanswered = 0
      const listener = wants.get(id!)?.listener
      ;(listener?.[name!] as ((...news: unknown[]) => void) | undefined)?.(...news)
    }
    return newPort
  }

  /** Says what the window wants now, once for all changes of the same moment. */
  async function say(): Promise<void> {
    if (isPlanned) return
    isPlanned = true
    const credentials = await Promise.resolve()
      .then(headers)
      .catch(() => ({}))
    isPlanned = false
    unanswered++
    said = {
      ...fixed,
      headers: credentials,
      need: need(),
      wants: [...wants.values()].map(({ id, path, query }) => ({ id, path, query }))
    }
    port.postMessage(said)
  }

  /** Opens another way to the streams, where the present one leads nowhere. */
  function reconnect(): void {
    for (const { listener } of wants.values()) listener.down?.()
    // A late word of the other end would come twice.
    port.onmessage = null
    port = open()
    say()
  }

  setInterval(() => {
    if (wants.size === 0) return
    if (unanswered >= UNANSWERED) reconnect()
    else say()
  }, BEAT_MS)

  const subscribe: Subscribe = (path, listener, { signal, ...query } = {}) => {
    const id = ++lastId
    const stop = () => {
      signal?.removeEventListener('abort', stop)
      if (wants.delete(id)) say()
    }
    if (signal?.aborted) return stop
    signal?.addEventListener('abort', stop)
    wants.set(id, { id, path, query, listener })
    say()
    return stop
  }

  return {
    subscribe,
    /** The window is seen, or not any more. */
    say,
    reconnect,
    /** The page goes. After another word it is there again. */
    leave(): void {
      if (said) port.postMessage({ ...said, wants: [] })
    }
  }
}
