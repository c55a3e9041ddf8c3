import type { QuoinError } from '../../client/src/client.ts'
import { createBackground } from '../page/background.ts'
import { createDisk } from '../page/disk.ts'
import { createDraftStorage } from '../page/draft-storage.ts'
import { isAtRisk } from '../page/drafts.ts'
import { createSession, type Session } from '../page/edition.ts'
import type { Looks } from '../page/finder.ts'
import { createForbidden } from '../page/forbidden.ts'
import type { Labels } from '../page/labels.ts'
import { createSamples } from '../page/samples.ts'
import type { Connection } from './context.ts'

/** An element that shows an edition. */
export interface Viewer {
  /** There is something new to see: of its reader, or of others. */
  refresh: () => void
  plan: () => void
  announce: (text: string) => void
  onSave: (fieldNames: string[], etag: string | undefined) => void
  onRefuse: (fieldNames: string[], error: QuoinError) => void
}

interface Shared {
  session: Session
  viewers: Set<Viewer>
}

/** The editions that elements of a page show, of one Quoin and user. */
interface Desk {
  open: Map<string, Shared>
  background: ReturnType<typeof createBackground<Session & { viewers: Set<Viewer> }>>
  make: (id: string) => Shared
}

const desks = new WeakMap<Connection, Desk>()

/**
 * Opens an edition for an element. Elements that show the same edition share a session, so that they
 * read and lock once.
 * @returns the session, and what leaves it: once nobody shows it, it is closed as soon as its locks
 *   and Drupal have everything
 */
export function enter(connection: Connection, id: string, viewer: Viewer) {
  const desk = desks.get(connection) ?? createDesk(connection)
  desks.set(connection, desk)
  const left = desk.background.take(id)
  const shared =
    desk.open.get(id) ?? (left && { session: left, viewers: left.viewers }) ?? desk.make(id)
  desk.open.set(id, shared)
  shared.viewers.add(viewer)
  shared.session.presence.see(!document.hidden)

  function leave(): void {
    shared.viewers.delete(viewer)
    if (shared.viewers.size > 0) return
    shared.session.presence.end()
    desk.open.delete(id)
    desk.background.add(Object.assign(shared.session, { viewers: shared.viewers }))
  }

  return { session: shared.session, leave }
}

function createDesk({ url, settings, user, client, ask }: Connection): Desk {
  const open = new Map<string, Shared>()
  const background = createBackground<Session & { viewers: Set<Viewer> }>()
  const samples = createSamples((id) => ask(`api/desk/samples/${encodeURIComponent(id)}`))
  const isHere = new URL(url).origin === location.origin
  // Another Quoin may have an edition with the same id.
  const uid = isHere ? user.uid : `${user.uid} ${url}`
  const forbidden = createForbidden({ window, uid })
  const storage = createDraftStorage({
    disk: createDisk(window),
    window,
    uid,
    onChange: () => refresh(all().flatMap(({ viewers }) => [...viewers]))
  })
  const all = () => [...open.values()]
  const sessions = () => [...all().map(({ session }) => session), ...background.all()]

  function refresh(viewers: Iterable<Viewer>): void {
    background.settle()
    for (const viewer of viewers) viewer.refresh()
  }

  function make(id: string): Shared {
    const viewers = new Set<Viewer>()
    const session = createSession(
      {
        client,
        settings,
        user,
        samples,
        storage,
        forbidden,
        labelsOf: (id) => ask<Labels>(`api/desk/labels/${encodeURIComponent(id)}`),
        looksOf: (list, uuids, signal) =>
          ask<Looks>(`api/desk/looks/${encodeURIComponent(list)}?uuids=${uuids.join(',')}`, signal),
        loadJournal: () => Promise.reject(new Error('An element has no history')),
        loadProposals: () => Promise.reject(new Error('An element has no proposals')),
        onChange: () => refresh(viewers),
        onNews: () => viewers.forEach((viewer) => viewer.plan()),
        // Several elements would say the same.
        announce: (text) => [...viewers][0]?.announce(text),
        notify() {},
        onSave: (names, etag) => viewers.forEach((viewer) => viewer.onSave(names, etag)),
        onRefuse: (names, error) => viewers.forEach((viewer) => viewer.onRefuse(names, error))
      },
      id
    )
    return { session, viewers }
  }

  addEventListener('pagehide', () => {
    storage.keep()
    for (const session of sessions()) session.keep()
  })
  addEventListener('beforeunload', (event) => {
    const isUnsaved =
      storage.isAtRisk ||
      isAtRisk(sessions().flatMap(({ fields }) => fields)) ||
      sessions().some(({ orders }) => orders.some(({ isSaving }) => isSaving))
    if (isUnsaved) event.preventDefault()
  })
  addEventListener('visibilitychange', () => {
    for (const { session } of all()) session.presence.see(!document.hidden)
  })
  return { open, background, make }
}
