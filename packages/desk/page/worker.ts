import { createFeed } from '../../client/src/feed.ts'
import { createHttp } from '../../client/src/http.ts'
import { later } from '../../client/src/later.ts'
import { createStreams, type News, type Port, type WindowState } from './streams.ts'

// A shared worker: it has the event streams of all windows of this browser.

/** How long a window that nobody sees keeps its streams, in milliseconds. */
const HIDDEN_MS = 300_000

const serve = createStreams({
  feedOf: (url, headers) => createFeed({ http: createHttp({ url, headers }), EventSource, later }),
  hiddenMs: HIDDEN_MS,
  later
})

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  serve(port as Port<News, WindowState>)
})
