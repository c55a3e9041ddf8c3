/** How long the text rests after a keystroke before it is kept in the lock, in milliseconds. */
const REST_MS = 400

/** How long at most, where there are ever more keystrokes. */
const LONGEST_MS = 2000

/** How long to wait after the lock service did not answer, in milliseconds. */
const AGAIN_MS = 5000

/** Says when a text that is typed is to be kept: when its writer pauses, and now and then while he does not. */
export function createPauses (keep: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let latest: number | undefined

  function stop (): void {
    clearTimeout(timer)
    latest = undefined
  }

  return {
    /** There was a keystroke. */
    typed (): void {
      latest ??= Date.now() + LONGEST_MS
      clearTimeout(timer)
      timer = setTimeout(keep, Math.min(REST_MS, latest - Date.now()))
    },
    /** It could not be kept for the moment. */
    failed (): void {
      stop()
      timer = setTimeout(keep, AGAIN_MS)
    },
    /** It is kept, or has to be no more. */
    stop
  }
}
