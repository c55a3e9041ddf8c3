import { createFeed } from '../../client/src/feed.ts'
import { createHttp } from '../../client/src/http.ts'
import { later } from '../../client/src/later.ts'
import type { News, Port, WindowState } from './streams.ts'

/** The name of the worker's script, which the build puts in. */
declare const STREAMS_WORKER: string

/** How long a window that nobody sees keeps its streams where it has its own, in milliseconds. */
const HIDDEN_MS = 10_000

/** Takes the address of a script (Trusted Types). */
interface ScriptPolicy {
  createScriptURL: (address: string) => string
}

interface TrustedTypes {
  createPolicy: (name: string, rules: ScriptPolicy) => ScriptPolicy
}

/**
 * Connects this window with the worker that has the event streams of all windows of this browser.
 * Where there is no such worker, as in older browsers on Android, the window has its own streams,
 * and soon none once it is hidden.
 *
 * @param onFail the worker cannot be had: from now on the window has its own streams
 */
export function connectStreams(onFail: () => void): () => Port<WindowState, News> {
  let isAlone = !('SharedWorker' in window)
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes }
  const rules: ScriptPolicy = { createScriptURL: (address) => address }
  const policy = trustedTypes?.createPolicy('quoin-worker', rules) ?? rules

  function startWorker(): Port<WindowState, News> {
    const worker = new SharedWorker(policy.createScriptURL(`desk/files/${STREAMS_WORKER}`))
    worker.onerror = () => {
      isAlone = true
      onFail()
    }
    return worker.port as Port<WindowState, News>
  }

  function serveHere(): Port<WindowState, News> {
    const { port1, port2 } = new MessageChannel()
    const feedOf = (url: string, headers: () => Record<string, string>) =>
      createFeed({ http: createHttp({ url, headers }), EventSource, later })
    import('./streams.ts').then(
      ({ createStreams }) => {
        createStreams({ feedOf, hiddenMs: HIDDEN_MS, later })(port2 as Port<News, WindowState>)
      },
      // Nobody answers then, so the window tries it again.
      () => {}
    )
    return port1 as Port<WindowState, News>
  }

  return () => {
    if (isAlone) return serveHere()
    try {
      return startWorker()
    } catch {
      // The browser forbids it here.
      isAlone = true
      return serveHere()
    }
  }
}
