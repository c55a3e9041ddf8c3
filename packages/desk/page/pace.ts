/** How often the page shows what others do, in milliseconds. */
const NEWS_MS = 200

/**
 * When to show what others do: at once, but not all the time where many are at work. What the
 * reader does is shown without it.
 */
export function createPace(draw: () => void) {
  let drawnAt = -Infinity
  let timer: ReturnType<typeof setTimeout> | undefined

  return {
    /** There is something new to see. */
    plan(): void {
      timer ??= setTimeout(draw, drawnAt + NEWS_MS - performance.now())
    },

    /** All is being drawn. */
    note(): void {
      clearTimeout(timer)
      timer = undefined
      drawnAt = performance.now()
    }
  }
}
