/**
 * A state that changes by itself while somebody subscribes to it. `subscribe` is as Svelte's stores
 * have it, and `subscribe` with `get` as React's `useSyncExternalStore` takes them.
 */
export interface Live<State> {
  /** The present state: another object after each change. */
  get(): State
  /**
   * Calls `run` with the present state, and after each change until the returned function is
   * called. The first subscriber begins the requests and streams behind the state, the last one to
   * leave ends them.
   */
  subscribe(run: (state: State) => void): () => void
}

/** A state with what changes it. */
export interface LiveState<State> extends Live<State> {
  /** Does nothing while nobody subscribes. */
  put(change: Partial<State>): void
}

/**
 * @param first the state while nobody subscribes
 * @param begin called at the first subscriber; its signal is aborted when the last one has left
 */
export function createLive<State extends object>(
  first: State,
  begin: (signal: AbortSignal, live: LiveState<State>) => void
): LiveState<State> {
  const runs = new Set<(state: State) => void>()
  let state = first
  let controller: AbortController | undefined

  const live: LiveState<State> = {
    get: () => state,
    put(change) {
      if (!controller) return
      state = { ...state, ...change }
      for (const run of runs) run(state)
    },
    subscribe(run) {
      // The same function may be given twice.
      const own = (state: State) => run(state)
      runs.add(own)
      if (!controller) {
        controller = new AbortController()
        begin(controller.signal, live)
      }
      run(state)
      return () => {
        if (!runs.delete(own) || runs.size) return
        controller!.abort()
        controller = undefined
        state = first
      }
    }
  }
  return live
}
