import { createDraftStorage, type Disk, type OldStorage, type StoredDraft } from '../page/draft-storage.ts'

/**
 * What a browser keeps of a page on its disk, with room for so many letters in a text. While there is a `failure`, every
 * call fails by it; `waiting` are the calls that have no answer yet while it `hangs`.
 */
export function diskOf(room = Infinity) {
  const stored = new Map<string, StoredDraft>()
  const disk = {
    stored,
    failure: undefined as Error | undefined,
    hangs: false,
    waiting: [] as Array<() => void>,
    /** How often a text was put. */
    puts: 0,
    lose: () => {},
    get length() {
      return stored.size
    },
    async read(prefix: string) {
      await answer()
      return [...stored.values()].filter(({ key }) => key.startsWith(prefix))
    },
    async put(text: StoredDraft) {
      disk.puts++
      await answer()
      if (JSON.stringify(text).length > room) throw new DOMException('There is no room', 'QuotaExceededError')
      stored.set(text.key, structuredClone(text))
    },
    async remove(key: string, payload?: string) {
      await answer()
      if (payload === undefined || stored.get(key)?.payload === payload) stored.delete(key)
    },
    onLose(listener: () => void) {
      disk.lose = listener
    }
  }
  async function answer(): Promise<void> {
    if (disk.hangs) await new Promise<void>((resolve) => disk.waiting.push(resolve))
    if (disk.failure) throw disk.failure
  }
  return disk satisfies Disk
}

export type FakeDisk = ReturnType<typeof diskOf>

/** The texts of an editor, as a window of theirs has them. */
export async function draftStorageOf(disk: Disk, { uid = 'anna', old = storeOf() as OldStorage, onChange = () => {} } = {}) {
  const storage = createDraftStorage({ disk, window: { localStorage: old }, uid, onChange })
  await storage.ready
  return storage
}

/** What a browser's localStorage has. */
export function storeOf() {
  const stored = new Map<string, string>()
  return {
    get length() {
      return stored.size
    },
    key: (index: number) => [...stored.keys()][index] ?? null,
    getItem: (key: string) => stored.get(key) ?? null,
    setItem(key: string, value: string) {
      stored.set(key, value)
    },
    removeItem: (key: string) => {
      stored.delete(key)
    }
  }
}
