import type { Listener, Subscribe } from '../../client/src/client.ts'
import type { Later } from '../../client/src/later.ts'

/**
 * How many streams are open at once: a browser has six connections to a host for HTTP/1.1, and two
 * of them stay for requests.
 */
const MOST = 4

/** The same where they share one connection: by HTTP/2 that has some 100 streams. */
const MOST_SHARED = 32

/** After so many milliseconds without a word a window counts as closed, or as frozen. */
const SILENT_MS = 150_000

/**
 * How much a window needs its streams: somebody sees it, or it holds a lock that others may ask
 * for, or neither.
 */
export type Need = 'seen' | 'holds' | 'hidden'

const NEEDS: Need[] = ['hidden', 'holds', 'seen']

/** All that a window says of itself, each time that something changes, and at intervals. */
export interface WindowState {
  uid: string
  /** Where the service is: an absolute address. */
  url: string
  /** The header fields with its credentials. */
  headers: Record<string, string>
  need: Need
  /** Whether the streams share one connection, as by HTTP/2. */
  isMultiplexed: boolean
  wants: Want[]
}

export interface Want {
  /** The window's own name for it. */
  id: number
  path: string
  query: object
}

/** What a window is told: something for the listener of a want, or that its word has arrived. */
export type News = [id: number, name: keyof Listener, ...news: unknown[]] | []

/** One end of a channel of messages. */
export interface Port<Sent, Received> {
  postMessage: (message: Sent) => void
  onmessage: ((event: { data: Received }) => void) | null
}

/** A want of a window, and what ends its stream while that is open. */
interface Followed {
  key: string
  begin: () => () => void
  end: (() => void) | undefined
  down: () => void
}

/** A window, and since when its need is what it is. */
interface Client {
  need: Need
  since: number
  followed: Map<number, Followed>
}

export interface StreamsDeps {
  /** Makes what follows the streams of a user. @param headers the user's newest credentials */
  feedOf: (url: string, headers: () => Record<string, string>) => Subscribe
  /** How long a window that nobody sees keeps its streams, in milliseconds. */
  hiddenMs: number
  later: Later
  now?: () => number
}

interface StreamsContext extends Required<StreamsDeps> {
  /** The windows that want streams. */
  clients: Set<Client>
  /** By service and user. */
  feeds: Map<string, Subscribe>
  credentials: Map<string, Record<string, string>>
  most: number
  /** Ends the wait for the moment when a hidden window loses its streams. */
  cancel: () => void
}

/**
 * Opens the event streams of windows. Windows of a user that follow the same share one. No more
 * than four are open, or 32 where they share a connection: those of windows that are seen, then of
 * those that hold locks, then of those that were hidden last. The others are told that theirs are
 * down, until there is room.
 *
 * @returns serves the window at a port
 */
export function createStreams(deps: StreamsDeps): (port: Port<News, WindowState>) => void {
  const context: StreamsContext = {
    now: Date.now,
    ...deps,
    clients: new Set(),
    feeds: new Map(),
    credentials: new Map(),
    most: MOST,
    cancel: () => {}
  }
  return (port) => serve(context, port)
}

function serve(context: StreamsContext, port: Port<News, WindowState>): void {
  const { clients, later, now } = context
  const client: Client = { need: 'hidden', since: now(), followed: new Map() }
  let forget = () => {}

  function take(state: WindowState): void {
    context.most = state.isMultiplexed ? MOST_SHARED : MOST
    if (state.need !== client.need) Object.assign(client, { need: state.need, since: now() })
    follow(context, client, state, port)
    if (client.followed.size > 0) clients.add(client)
    else clients.delete(client)
    arrange(context)
  }

  port.onmessage = ({ data: state }) => {
    forget()
    forget = later(SILENT_MS, () => take({ ...state, wants: [] }))
    take(state)
    port.postMessage([])
  }
}

/** Takes in what a window wants now. */
function follow(
  context: StreamsContext,
  { followed }: Client,
  state: WindowState,
  port: Port<News, WindowState>
): void {
  const { url, uid, wants } = state
  const ids = new Set(wants.map(({ id }) => id))
  for (const [id, { end }] of followed) {
    if (ids.has(id)) continue
    end?.()
    followed.delete(id)
  }
  const feed = feedFor(context, state)
  for (const { id, path, query } of wants) {
    if (followed.has(id)) continue
    const listener = listenerAt(port, id)
    followed.set(id, {
      key: JSON.stringify([url, uid, path, query]),
      begin: () => feed(path, listener, query),
      end: undefined,
      down: listener.down!
    })
  }
}

/** The feed of a window's user, which calls with the newest credentials of the user's windows. */
function feedFor(
  { feeds, credentials, feedOf }: StreamsContext,
  { url, uid, headers }: WindowState
): Subscribe {
  const key = `${url} ${uid}`
  credentials.set(key, headers)
  const feed = feeds.get(key) ?? feedOf(url, () => credentials.get(key)!)
  feeds.set(key, feed)
  return feed
}

/** Tells a window whatever is told to a listener. */
function listenerAt(port: Port<News, WindowState>, id: number): Listener {
  const tell =
    (name: keyof Listener) =>
    (...news: unknown[]) => {
      port.postMessage([id, name, ...news])
    }
  return {
    locks: tell('locks'),
    down: tell('down'),
    saved: tell('saved'),
    requested: tell('requested'),
    present: tell('present'),
    proposed: tell('proposed')
  }
}

/** Opens the streams that are needed most, and ends the others. */
function arrange(context: StreamsContext): void {
  const { clients, hiddenMs, later, most, now } = context
  const due = [...clients]
    .filter(({ need, since }) => need !== 'hidden' || now() - since < hiddenMs)
    .sort((a, b) => NEEDS.indexOf(b.need) - NEEDS.indexOf(a.need) || b.since - a.since)
  const wanted = new Set(
    due.flatMap(({ followed }) => [...followed.values()].map(({ key }) => key))
  )
  const open = new Set([...wanted].slice(0, most))
  const all = [...clients].flatMap(({ followed }) => [...followed.values()])
  // First those that end, so that there is room.
  for (const one of all) {
    if (!one.end || open.has(one.key)) continue
    one.end()
    one.end = undefined
    one.down()
  }
  for (const one of all) if (open.has(one.key)) one.end ??= one.begin()
  const ends = due.flatMap(({ need, since }) => (need === 'hidden' ? since + hiddenMs : []))
  context.cancel()
  context.cancel =
    ends.length > 0 ? later(Math.min(...ends) - now(), () => arrange(context)) : () => {}
}
