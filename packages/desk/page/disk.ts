import type { Disk, StoredDraft } from './draft-storage.ts'

/** The browser's database of the desk, and its only object store. */
const DATABASE = 'quoin-desk'
const TEXTS = 'texts'

/** How long the browser's storage may take to answer, in milliseconds. */
const PATIENCE_MS = 3000

/**
 * The IndexedDB of a window. It writes with the durability "strict": a transaction is over once the
 * system has written it to the disk (Indexed Database API 3.0, section 2.7.2). localStorage is there
 * seconds or minutes later.
 */
export function createDisk(window: { readonly indexedDB: IDBFactory }): Disk {
  let opening: Promise<IDBDatabase> | undefined
  let opened: IDBDatabase | undefined
  let lose = () => {}

  /** Opens the database. A request without an answer stays the only one. */
  function open(): Promise<IDBDatabase> {
    opening ??= request(window).then(
      (database) => {
        opened = database
        const forget = () => {
          database.close()
          opening = opened = undefined
          lose()
        }
        database.onclose = forget
        database.onversionchange = forget
        return database
      },
      (error) => {
        opening = undefined
        throw error
      }
    )
    return within(opening)
  }

  async function transact(
    mode: IDBTransactionMode,
    durability: IDBTransactionDurability,
    act: (texts: IDBObjectStore, transaction: IDBTransaction) => void
  ): Promise<void> {
    // A page that is closed waits for nothing.
    const database = opened ?? (await open())
    const transaction = database.transaction(TEXTS, mode, { durability })
    const end = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error ?? new Error('It was aborted'))
    })
    act(transaction.objectStore(TEXTS), transaction)
    // One that hangs would hold up all that come after it.
    await within(end, () => transaction.abort())
  }

  return {
    async read(prefix) {
      let values: unknown[] = []
      await transact('readonly', 'default', (texts) => {
        const found = texts.getAll(IDBKeyRange.bound(prefix, `${prefix}\uffff`))
        found.onsuccess = () => {
          values = found.result
        }
      })
      return values
    },
    put: (text) =>
      transact('readwrite', 'strict', (texts, transaction) => {
        texts.put(text)
        // What is committed is kept also when the page ends now.
        transaction.commit()
      }),
    remove: (key, payload) =>
      transact('readwrite', 'default', (texts, transaction) => {
        if (payload === undefined) {
          texts.delete(key)
          return transaction.commit()
        }
        const found = texts.get(key)
        found.onsuccess = () => {
          if ((found.result as StoredDraft | undefined)?.payload === payload) texts.delete(key)
        }
      }),
    onLose(listener) {
      lose = listener
    }
  }
}

/** Asks for the database. A browser that forbids it may throw already when it is named. */
async function request(window: { readonly indexedDB: IDBFactory }): Promise<IDBDatabase> {
  const opening = window.indexedDB.open(DATABASE, 1)
  return new Promise((resolve, reject) => {
    opening.onupgradeneeded = () => opening.result.createObjectStore(TEXTS, { keyPath: 'key' })
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error ?? new Error('It could not be opened'))
  })
}

/** Waits for the browser's storage no longer than it may take. */
async function within<Result>(answer: Promise<Result>, stop = () => {}): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new DOMException('The storage does not answer', 'TimeoutError'))
      stop()
    }, PATIENCE_MS)
  })
  return Promise.race([answer, silence]).finally(() => clearTimeout(timer))
}
