/** How long after the last keystroke a text goes to the lock, in milliseconds. */
const REST_MS = 400

/** How long after the first keystroke a text goes to the lock at the latest, in milliseconds. */
const LONGEST_MS = 2000

/** How long to wait after the lock service did not answer, in milliseconds. */
const AGAIN_MS = 5000

/** Calls `keep` when the writer pauses, and every two seconds while the writer does not. */
export function createDebounce(keep: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let latest: number | undefined

  function stop(): void {
    clearTimeout(timer)
    latest = undefined
  }

  return {
    /** To be called at each keystroke. */
    delay(): void {
      latest ??= Date.now() + LONGEST_MS
      clearTimeout(timer)
      timer = setTimeout(keep, Math.min(REST_MS, latest - Date.now()))
    },
    /** To be called when the text could not be kept for the moment. */
    retry(): void {
      stop()
      timer = setTimeout(keep, AGAIN_MS)
    },
    /** To be called when the text is kept, or need not be kept any more. */
    stop
  }
}
