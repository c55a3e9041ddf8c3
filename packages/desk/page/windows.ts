/**
 * How often a window says what it shows, in milliseconds. Browsers let windows in the background do
 * so once a minute.
 */
const BEAT_MS = 20_000

/** After how long without a word a window counts as closed, in milliseconds. */
const SILENT_MS = 150_000

/** What windows tell each other. */
interface Word {
  uid: string
  from: string
  /** The edition that it shows, if any. */
  id?: string | undefined
  /** Whether the others are to say what they show. */
  isAsking: boolean
}

export interface WindowsDeps {
  /** A BroadcastChannel that all windows of the desk in this browser have. */
  channel: { postMessage: (word: Word) => void; onmessage: unknown }
  uid: string
  onChange: () => void
}

export type Windows = ReturnType<typeof createWindows>

/** Knows which editions the same user has open in other windows of this browser. */
export function createWindows({ channel, uid, onChange }: WindowsDeps) {
  const from = String(Math.random())
  const others = new Map<string, { id: string; heardAt: number }>()
  let shownId: string | undefined

  function say(isAsking: boolean): void {
    channel.postMessage({ uid, from, id: shownId, isAsking })
  }

  channel.onmessage = ({ data }: { data: Word }) => {
    if (data.uid !== uid) return
    if (data.id === undefined) others.delete(data.from)
    else others.set(data.from, { id: data.id, heardAt: Date.now() })
    if (data.isAsking && shownId !== undefined) say(false)
    onChange()
  }
  setInterval(() => {
    if (shownId !== undefined) say(false)
  }, BEAT_MS)

  return {
    /** This window shows an edition, or none. */
    show(id: string | undefined): void {
      if (id === shownId) return
      shownId = id
      say(id !== undefined)
    },
    /** Whether another window shows this edition. */
    isElsewhere: (id: string): boolean =>
      [...others.values()].some(
        (other) => other.id === id && Date.now() - other.heardAt < SILENT_MS
      )
  }
}
