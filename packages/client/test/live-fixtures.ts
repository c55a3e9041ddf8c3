import type { Test } from 'tap'
import { createClient, QuoinError, type Client, type ErrorCode, type Held, type Listener } from '../src/client.ts'
import { anna } from './fixtures.ts'

/** A call that waits for its answer. */
export interface Call {
  name: string
  sent: any[]
  /** Whether its signal is aborted. */
  readonly isAborted: boolean
  resolve(answer?: unknown): Promise<void>
  reject(error: unknown): Promise<void>
}

/** A client whose calls wait until the test answers them. */
export interface Stage {
  client: Client
  calls: Call[]
  /** The last call of this name. */
  last(name: string): Call
  /** The listener of the only stream that is open. */
  stream(): Listener
  /** The paths of the streams that are open. */
  streams(): string[]
}

/** Lets promises come to their ends. */
export async function settle(): Promise<void> {
  for (let times = 0; times < 10; times++) await Promise.resolve()
}

export function createStage(): Stage {
  const calls: Call[] = []
  const open = new Map<Listener, string>()

  function call(name: string) {
    return (...sent: any[]): Promise<any> => {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const { signal } = (sent.at(-1) ?? {}) as { signal?: AbortSignal }
      signal?.addEventListener('abort', () => reject(signal.reason))
      calls.push({
        name,
        sent,
        get isAborted() {
          return signal?.aborted === true
        },
        resolve(answer) {
          resolve(answer)
          return settle()
        },
        reject(error) {
          reject(error)
          return settle()
        }
      })
      return promise
    }
  }

  const client = createClient({
    url: 'http://quoin.invalid',
    user: anna,
    subscribe(path, listener, { signal } = {}) {
      open.set(listener, path)
      const stop = () => {
        open.delete(listener)
      }
      signal!.addEventListener('abort', stop)
      return stop
    }
  })
  for (const name of ['acquire', 'overwrite', 'attend', 'leave'] as const) client.locks[name] = call(name)
  for (const name of ['read', 'update'] as const) client.editions[name] = call(name)
  return {
    client,
    calls,
    last: (name) => calls.findLast((one) => one.name === name)!,
    stream: () => [...open.keys()][0]!,
    streams: () => [...open.values()]
  }
}

/** A lock that the client holds, as far as a page sees it, and what was done to it. */
export function createHeld({ found, isTyped = false }: { found?: string; isTyped?: boolean } = {}) {
  const done: string[] = []
  const failures: QuoinError[] = []
  let typed = isTyped
  async function act(what: string): Promise<void> {
    done.push(what)
    const failure = failures.shift()
    if (failure) throw failure
  }
  const held = {
    found,
    get isTyped() {
      return typed
    },
    save(text: string) {
      typed = true
      return act(text)
    },
    release: () => act('release')
  } as Held
  return { held, done, failures }
}

export function failure(code: ErrorCode, status = 423, body: unknown = {}): QuoinError {
  return new QuoinError(status, code, code, { body })
}

/** What a live state tells its subscriber, the latest last, until the test ends. */
export function followed<State>(
  t: Test,
  live: { subscribe(run: (state: State) => void): () => void }
): { states: State[]; stop: () => void } {
  const states: State[] = []
  const stop = live.subscribe((state) => states.push(state))
  t.teardown(stop)
  return { states, stop }
}

/** A lock as streams tell it. */
export const lockOf = (uid: string, name: string, fieldName = 'title') => ({
  entityType: 'node',
  entityId: '42',
  fieldName,
  timestamp: 1,
  userData: { uid, name }
})
